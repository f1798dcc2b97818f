// hot path
/**
 * Ready-made ticker replies. A venue's payload is serialised again only when its ticker or its state has
 * changed; otherwise only the digits of `ageMs` and `timestamp` change, at most once per millisecond. So each
 * reply is correct to the millisecond it names, and thousands of reads in one millisecond cost one text.
 *
 * Invariant: the text equals the serialiser's output for the payload of that moment (tested).
 * Bound: one entry per listed market, and one per symbol for the aggregate.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { compareDecimals, formatScaled } from "../../engine/domain/decimal.js";
import { canonicalPriceDecimals } from "../../engine/domain/instrument.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { BookState } from "../../engine/market/book.js";
import { bestTicks } from "../../engine/market/depth-walk.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import type { BestTouch } from "../../schemas/ticker.js";
import { feedStateOf, isBookFresh } from "./market-view.js";

/** A ticker frame older than this is STALE: the slowest ticker stream of any venue sends every few seconds. */
export const TICKER_STALE_MS = 15_000;

const AGE_MARK = '"ageMs":0';

/** Payload JSON of a market whose ticker is known, with `ageMs` 0. */
export type PayloadSerialiser = (market: Market, state: FeedState) => string;

export class TickerText {
  readonly market: Market;
  /** Counts rebuilds of the texts: the same count means the same texts. */
  refreshCount = 0;
  readonly #clock: Clock;
  readonly #serialise: PayloadSerialiser;
  #tickerNs = -1;
  #bookState: BookState | -1 = -1;
  #invalidReason: Market["book"]["invalidReason"] | null = null;
  #state: FeedState | "" = "";
  #atMs = -1;
  #head = "";
  #tail = "";
  #payload = "";
  #reply = "";

  constructor(market: Market, clock: Clock, serialise: PayloadSerialiser) {
    this.market = market;
    this.#clock = clock;
    this.#serialise = serialise;
  }

  get known(): boolean {
    return this.market.ticker.known;
  }

  /** Reports whether `payload` and `reply` would return the same texts as last time. */
  isCurrent(nowMs: number): boolean {
    return (
      nowMs === this.#atMs &&
      this.market.ticker.tsRecvNs === this.#tickerNs &&
      this.market.book.state === this.#bookState &&
      // The reason why a book is broken makes it SYNCING or DOWN.
      this.market.book.invalidReason === this.#invalidReason
    );
  }

  /** The payload alone, for the aggregate. */
  payload(nowMs: number): string {
    if (!this.isCurrent(nowMs)) this.#refresh(nowMs);
    return this.#payload;
  }

  /** The whole reply of the venue's own route. */
  reply(): string {
    const nowMs = this.#clock.wallMs();
    if (!this.isCurrent(nowMs)) this.#refresh(nowMs);
    return this.#reply;
  }

  #refresh(nowMs: number): void {
    this.refreshCount += 1;
    const market = this.market;
    const age = ageMs(market.ticker.tsRecvNs, this.#clock.monoNs());
    const state = feedStateOf(market, age, TICKER_STALE_MS);
    if (market.ticker.tsRecvNs !== this.#tickerNs || state !== this.#state) {
      const text = this.#serialise(market, state);
      const at = text.indexOf(AGE_MARK);
      this.#head = text.slice(0, at + AGE_MARK.length - 1);
      this.#tail = text.slice(at + AGE_MARK.length);
      this.#tickerNs = market.ticker.tsRecvNs;
      this.#state = state;
    }
    this.#bookState = market.book.state;
    this.#invalidReason = market.book.invalidReason;
    this.#atMs = nowMs;
    this.#payload = `${this.#head}${age}${this.#tail}`;
    this.#reply = `{"success":true,"data":${this.#payload},"timestamp":${nowMs}}`;
  }
}

/** One venue's place in the aggregate: its ticker, or the JSON of its failure. */
export interface AggregatePart {
  readonly venue: RoutableVenue;
  readonly ticker: TickerText | null;
  /** Shown while there is no ticker, or it is unknown yet or withheld. */
  readonly failure: string;
  /**
   * The venue's ticker is refused because its keys are missing. Its book is public and still counts for the best touch.
   */
  readonly withheld: boolean;
}

export class AggregateText {
  readonly #parts: readonly AggregatePart[];
  readonly #clock: Clock;
  readonly #serialiseBest: (best: BestTouch) => string;
  #atMs = -1;
  #stampNs = -1;
  #states = -1;
  #refreshes = -1;
  #reply = "";

  constructor(parts: readonly AggregatePart[], clock: Clock, serialiseBest: (best: BestTouch) => string) {
    this.#parts = parts;
    this.#clock = clock;
    this.#serialiseBest = serialiseBest;
  }

  reply(): string {
    const nowMs = this.#clock.wallMs();
    // Receive times only grow within a millisecond, so an equal sum means that none moved.
    let stampNs = 0;
    let states = 0;
    let isCurrent = nowMs === this.#atMs;
    for (const part of this.#parts) {
      if (part.ticker === null) continue;
      const { ticker, book, touch } = part.ticker.market;
      stampNs += ticker.tsRecvNs + book.tsRecvNs + touch.tsRecvNs;
      states = states * 4 + book.state;
      isCurrent &&= !isShown(part) || part.ticker.isCurrent(nowMs);
    }
    if (
      isCurrent &&
      this.#refreshes === refreshesOf(this.#parts) &&
      stampNs === this.#stampNs &&
      states === this.#states
    )
      return this.#reply;
    let data = "";
    for (const part of this.#parts) {
      const text = isShown(part) ? part.ticker.payload(nowMs) : part.failure;
      data += `"${part.venue}":${text},`;
    }
    const best = this.#serialiseBest(bestTouch(this.#parts, this.#clock.monoNs()));
    this.#reply = `{"success":true,"data":{${data}"best":${best}},"timestamp":${nowMs}}`;
    this.#atMs = nowMs;
    this.#stampNs = stampNs;
    this.#states = states;
    this.#refreshes = refreshesOf(this.#parts);
    return this.#reply;
  }
}

function isShown(part: AggregatePart): part is AggregatePart & { readonly ticker: TickerText } {
  return part.ticker?.known === true && !part.withheld;
}

function refreshesOf(parts: readonly AggregatePart[]): number {
  let count = 0;
  for (const part of parts) if (part.ticker !== null) count += part.ticker.refreshCount;
  return count;
}

/** Best bid and ask over books that are live and fresh. Quote assets count one to one, as in routing by default. */
function bestTouch(parts: readonly AggregatePart[], nowNs: number): BestTouch {
  const best: BestTouch = { bid: null, ask: null, venueBid: null, venueAsk: null };
  for (const part of parts) {
    const market = part.ticker?.market;
    if (market === undefined || !isBookFresh(market, nowNs)) continue;
    const decimals = canonicalPriceDecimals(market.instrument);
    const bidTicks = bestTicks(market, "SELL");
    const askTicks = bestTicks(market, "BUY");
    if (bidTicks > 0) {
      const bid = formatScaled(bidTicks, decimals);
      if (best.bid === null || compareDecimals(bid, best.bid) > 0) {
        best.bid = bid;
        best.venueBid = part.venue;
      }
    }
    if (askTicks > 0) {
      const ask = formatScaled(askTicks, decimals);
      if (best.ask === null || compareDecimals(ask, best.ask) < 0) {
        best.ask = ask;
        best.venueAsk = part.venue;
      }
    }
  }
  return best;
}
