/**
 * Compares the books that a room shows with the venue's true book: at every commit of every tier, and again whenever a
 * reader looks. It trusts none of the room's own counters.
 *
 * The truth of a commit: on venuetwo and venuethree the book after the update id or nonce that the commit names; on
 * venueone and venuefour, which have no such number, the book at the time that the frame names, as deep as the tier is.
 *
 * Invariant: a book that was LIVE and different from the truth, even for one commit, is counted for good.
 */
import { type Book, BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { MarketRoom } from "../../../engine/ports.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import type { SimBookSnapshot, SimInstrument, SimLevel } from "../../sim/core/model/types.js";
import { nativeName } from "./local-venues.js";

/** Levels of each venue's main tier, and of venueone's deep one. */
export const MAIN_LEVELS: Readonly<Record<RoutableVenue, number>> = {
  venueone: 5,
  venuetwo: Number.MAX_SAFE_INTEGER,
  venuethree: Number.MAX_SAFE_INTEGER,
  venuefour: 10,
};
const DEEP_LEVELS = 20;

/** The judge's side of one venue. */
export interface TrueVenue {
  readonly exchange: SimExchange;
  /** Change id of the venue's engine for the number on the wire, where they can differ. */
  seqOfNonce?(nonce: number): number;
}

export type TrueVenues = Readonly<Partial<Record<RoutableVenue, TrueVenue>>>;
const DIFFERENCES_KEPT_MAX = 20;
/** Longer than any stream of a venue takes (diffs of 100 ms, recoveries within the routing age of 2 s). */
const FROZEN_MS = 3_000;
const FROZEN_LOOKS_MIN = 100;

interface Progress {
  readonly seqOf: () => number;
  /** Sequence of the book when it was first seen behind; -1 while it is not behind. */
  heldSeq: number;
  sinceMs: number;
  /** Samples since then. */
  samples: number;
}

export interface CheckCounts {
  readonly commitCount: number;
  readonly levelCount: number;
  readonly readCount: number;
  readonly touchCount: number;
  readonly differenceCount: number;
  /** Commits that the venue's history no longer covers; a test demands 0. */
  readonly unjudgedCount: number;
}

/** One book under watch. */
export interface WatchedBook {
  readonly name: string;
  readonly venue: RoutableVenue;
  readonly book: Book;
  /** Readers' samples since the first time LIVE, and the number of them that found it LIVE. */
  sampleCount: number;
  liveCount: number;
  commitCount: number;
  /** Monotonic receive time of the newest commit, ns. */
  lastCommitNs: number;
}

export class BookChecker {
  readonly books: WatchedBook[] = [];
  readonly differences: string[] = [];
  #commitCount = 0;
  #levelCount = 0;
  #readCount = 0;
  #touchCount = 0;
  #differenceCount = 0;
  #unjudgedCount = 0;
  readonly #touches: (() => void)[] = [];

  /** Watches every market of the rooms from now on. */
  watch(venues: TrueVenues, rooms: readonly MarketRoom[], symbols: readonly string[]): void {
    for (const room of rooms) {
      const { venue } = room;
      const truth = venues[venue];
      if (truth === undefined) throw new Error(`no judge of ${venue}`);
      for (const symbol of symbols) {
        const market = room.markets.get(symbol);
        if (market === undefined) throw new Error(`${venue} lists no ${symbol}`);
        this.watchMarket(venue, truth, symbol, market);
      }
    }
  }

  watchMarket(venue: RoutableVenue, truth: TrueVenue, symbol: string, market: Market): void {
    const judge = (depth: number) => (book: Book) =>
      truthOf(venue, truth, symbol, market, book.seq, book.tsVenueMs, depth);
    this.watchBook(`${venue} ${symbol} book`, venue, market.book, judge(MAIN_LEVELS[venue]));
    if (market.deep !== null) this.watchBook(`${venue} ${symbol} deep`, venue, market.deep, judge(DEEP_LEVELS));
    this.#touches.push(() => this.#checkTouch(`${venue} ${symbol} touch`, venue, truth, symbol, market));
  }

  /** `truth` returns the true levels at the book's sequence; null when the venue cannot tell. */
  /**
   * Every book is also checked against time: while LIVE it must move when the venue's does. `seqOf` returns the venue's
   * sequence now.
   */
  watchProgress(book: Book, seqOf: () => number): void {
    this.#progress.set(book, { seqOf, heldSeq: -1, sinceMs: 0, samples: 0 });
  }

  watchBook(name: string, venue: RoutableVenue, book: Book, truth: (book: Book) => SimBookSnapshot | null): void {
    const watched: WatchedBook = { name, venue, book, sampleCount: 0, liveCount: 0, commitCount: 0, lastCommitNs: -1 };
    this.books.push(watched);
    this.#truths.set(watched, truth);
    const commit = book.commit.bind(book);
    // Wraps the method on the instance, so that the checker sees every commit and misses none between two samples.
    book.commit = (seq, tsVenueMs, tsRecvNs) => {
      const isLive = commit(seq, tsVenueMs, tsRecvNs);
      if (isLive) {
        this.#commitCount++;
        watched.commitCount++;
        watched.lastCommitNs = tsRecvNs;
        this.#compare(watched, truth, "at commit");
      }
      return isLive;
    };
  }

  readonly #progress = new Map<Book, Progress>();
  readonly #truths = new Map<WatchedBook, (book: Book) => SimBookSnapshot | null>();

  /** Takes a reader's sample. Call it often, between the room's own turns. */
  sample(): void {
    for (const watched of this.books) {
      const isLive = watched.book.state === BOOK_LIVE;
      if (watched.sampleCount > 0 || isLive) watched.sampleCount++;
      if (!isLive) continue;
      watched.liveCount++;
      this.#readCount++;
      const truth = this.#truths.get(watched);
      if (truth !== undefined) this.#compare(watched, truth, "at read");
      this.#checkProgress(watched);
    }
    for (const check of this.#touches) check();
  }

  /** Shares of samples count from this call on. */
  restartSamples(): void {
    for (const watched of this.books) {
      watched.sampleCount = 0;
      watched.liveCount = 0;
    }
  }

  get allLive(): boolean {
    return this.books.every(({ book }) => book.state === BOOK_LIVE);
  }

  /** Returns whether every book is LIVE by a commit received after this moment of the monotonic clock. */
  isRenewedSince(monoNs: number): boolean {
    return this.books.every((watched) => watched.book.state === BOOK_LIVE && watched.lastCommitNs > monoNs);
  }

  /** Returns the smallest share of samples in which a book was LIVE, after its first time. */
  liveShareMin(): number {
    return Math.min(
      ...this.books.map(({ sampleCount, liveCount }) => (sampleCount === 0 ? 0 : liveCount / sampleCount)),
    );
  }

  counts(): CheckCounts {
    return {
      commitCount: this.#commitCount,
      levelCount: this.#levelCount,
      readCount: this.#readCount,
      touchCount: this.#touchCount,
      differenceCount: this.#differenceCount,
      unjudgedCount: this.#unjudgedCount,
    };
  }

  #compare(watched: WatchedBook, truth: (book: Book) => SimBookSnapshot | null, when: string): void {
    const { book, name } = watched;
    const expected = truth(book);
    if (expected === null) {
      this.#unjudgedCount++;
      return;
    }
    this.#levelCount += expected.bids.length + expected.asks.length;
    const problem = firstDifference(book, expected);
    if (problem !== null) this.#differs(`${name} ${when}, seq ${book.seq}, venue time ${book.tsVenueMs}: ${problem}`);
  }

  /** A commit that equals the truth of its own time says nothing about now: a frozen book stays right for ever. */
  #checkProgress({ book, name }: WatchedBook): void {
    const progress = this.#progress.get(book);
    if (progress === undefined) return;
    const nowMs = performance.now();
    const isCurrent = progress.seqOf() === book.seq;
    if (isCurrent || progress.heldSeq !== book.seq) {
      progress.heldSeq = isCurrent ? -1 : book.seq;
      progress.sinceMs = nowMs;
      progress.samples = 0;
      return;
    }
    progress.samples++;
    // Counts samples as well as time, because a paused machine takes no samples.
    if (nowMs - progress.sinceMs < FROZEN_MS || progress.samples < FROZEN_LOOKS_MIN) return;
    this.#differs(`${name} at read: is at seq ${book.seq} under LIVE, the venue's is ${progress.seqOf()}`);
    progress.sinceMs = nowMs;
    progress.samples = 0;
  }

  /** The touch streams override the book, so the same truth applies to them. */
  #checkTouch(name: string, venue: RoutableVenue, truth: TrueVenue, symbol: string, market: Market): void {
    const { touch } = market;
    if (!touch.present) return;
    const expected = truthOf(venue, truth, symbol, market, touch.seq, touch.tsVenueMs, 1);
    if (expected === null) {
      this.#unjudgedCount++;
      return;
    }
    this.#touchCount++;
    const [bid, ask] = [expected.bids[0], expected.asks[0]];
    const isSame =
      touch.bidTicks === (bid?.priceTicks ?? 0) &&
      touch.bidLots === (bid?.qtyLots ?? 0) &&
      touch.askTicks === (ask?.priceTicks ?? 0) &&
      touch.askLots === (ask?.qtyLots ?? 0);
    if (!isSame) {
      this.#differs(
        `${name}, seq ${touch.seq}, venue time ${touch.tsVenueMs}: ${touch.bidTicks}×${touch.bidLots} / ${touch.askTicks}×${touch.askLots}, truth ${levelText(bid)} / ${levelText(ask)}`,
      );
    }
  }

  #differs(text: string): void {
    this.#differenceCount++;
    if (this.differences.length < DIFFERENCES_KEPT_MAX) this.differences.push(text);
  }
}

/** venuefour's touch carries the time of the change, its book the time of the push. Both are times of its engine. */
function truthOf(
  venue: RoutableVenue,
  truth: TrueVenue,
  symbol: string,
  market: Market,
  seq: number,
  tsVenueMs: number,
  depth: number,
): SimBookSnapshot | null {
  const { exchange } = truth;
  const native = nativeName(venue, symbol);
  const { priceDecimals, qtyDecimals } = market.instrument;
  const snapshot =
    venue === "venueone" || venue === "venuefour"
      ? exchange.market.trueBookAtTime(native, tsVenueMs, depth)
      : exchange.market.trueBook(native, truth.seqOfNonce?.(seq) ?? seq, depth);
  return snapshot === null ? null : inScaleOf(snapshot, exchange, native, priceDecimals, qtyDecimals);
}

/** The venue's integers in the instrument's decimals. */
export function inScaleOf(
  snapshot: SimBookSnapshot,
  exchange: SimExchange,
  native: string,
  priceDecimals: number,
  qtyDecimals: number,
): SimBookSnapshot {
  const own = exchange.instruments.get(native) as SimInstrument;
  if (own.priceDecimals === priceDecimals && own.qtyDecimals === qtyDecimals) return snapshot;
  const priceFactor = 10 ** (priceDecimals - own.priceDecimals);
  const qtyFactor = 10 ** (qtyDecimals - own.qtyDecimals);
  const scale = ({ priceTicks, qtyLots, orderCount }: SimLevel): SimLevel => ({
    priceTicks: Math.round(priceTicks * priceFactor),
    qtyLots: Math.round(qtyLots * qtyFactor),
    orderCount,
  });
  return { ...snapshot, bids: snapshot.bids.map(scale), asks: snapshot.asks.map(scale) };
}

export function firstDifference(book: Book, expected: SimBookSnapshot): string | null {
  const { bids, asks } = expected;
  if (book.bidCount !== bids.length || book.askCount !== asks.length) {
    return `${book.bidCount} bids and ${book.askCount} asks, truth ${bids.length} and ${asks.length}`;
  }
  for (const [index, level] of bids.entries()) {
    if (book.bidTicks(index) !== level.priceTicks || book.bidLots(index) !== level.qtyLots) {
      return `bid ${index} is ${book.bidTicks(index)}×${book.bidLots(index)}, truth ${levelText(level)}`;
    }
  }
  for (const [index, level] of asks.entries()) {
    if (book.askTicks(index) !== level.priceTicks || book.askLots(index) !== level.qtyLots) {
      return `ask ${index} is ${book.askTicks(index)}×${book.askLots(index)}, truth ${levelText(level)}`;
    }
  }
  return null;
}

function levelText(level: SimLevel | undefined): string {
  return level === undefined ? "nothing" : `${level.priceTicks}×${level.qtyLots}`;
}
