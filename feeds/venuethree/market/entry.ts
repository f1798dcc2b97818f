// hot path
/**
 * One market as the streams write it: applies decoded frames to its book, touch, ticker and statistics, and keeps the
 * witnesses that distinguish a quiet book from one whose stream died (market/quiet-probe.ts).
 *
 * Witnesses: the ticker stream says the best bid and offer at each engine nonce; market statistics say the mid. Both
 * come over subscriptions of their own.
 */
import { parseScaledRounded } from "../../../engine/domain/decimal.js";
import { BOOK_LIVE, INVALID_DISCONNECTED } from "../../../engine/market/book.js";
import { doubleMidTicks } from "../../../engine/market/depth-walk.js";
import type { Market } from "../../../engine/market/market.js";
import { isTouchNewer } from "../../../engine/market/touch.js";
import type { Subscription } from "../../shared/net/subscriptions.js";
import { BookChain, CHAIN_APPLIED, type ChainResult } from "./sync.js";
import { FRAME_SNAPSHOT, type VenuethreeFrame } from "./frame.js";
import { MAX_REMEMBERED_TRADES, OVERDUE_MS } from "../rules/limits.js";
import { applyStats } from "./normalize.js";
import type { VenuethreeWireStats } from "./wire.js";

const NS_PER_MS = 1e6;
/** The venue prints the mid on the price grid: the true one may lie half a tick to either side; one more is tolerance. */
const MID_TOLERANCE_DOUBLE_TICKS = 3;

export class MarketSlot {
  readonly market: Market;
  readonly marketId: number;
  readonly chain: BookChain;
  /** Of the book's channel; null before it was subscribed. What it delivers clears it of having killed a connection. */
  books: Subscription | null = null;
  /** Liveness of the ticker stream; null before it was subscribed. */
  touch: Subscription | null = null;
  /** Monotonic ns since when a newer ticker differs from the book; -1 while none does. */
  contradictedNs = -1;
  /** Twice the mid of the last statistics in ticks; 0 before. */
  #statsDoubleMid = 0;
  #statsNs = 0;
  /** Of the last audit (or of the first look), monotonic ns. */
  auditedNs = -1;
  isAuditing = false;
  hasStats = false;
  lateCount = 0;
  brokenTouchCount = 0;
  readonly #tradeIds = new Set<string>();

  constructor(market: Market) {
    this.market = market;
    this.marketId = market.instrument.nativeId;
    this.chain = new BookChain(market.book);
  }

  /** `tsRecvNs`: as of when the frame counts (its receipt, or earlier if it was held up on its way). */
  onBook(frame: VenuethreeFrame, kind: number, tsRecvNs: number, linkId: number): ChainResult {
    this.books?.alive(tsRecvNs, linkId);
    const { chain, market } = this;
    const result = kind === FRAME_SNAPSHOT ? chain.onSnapshot(frame, tsRecvNs) : chain.onUpdate(frame, tsRecvNs);
    if (result === CHAIN_APPLIED) {
      market.stats.update(doubleMidTicks(market) / 2, tsRecvNs);
      this.#noteContradiction(tsRecvNs);
    }
    return result;
  }

  /** Returns false for an impossible one. */
  onTicker(frame: VenuethreeFrame, tsRecvNs: number, linkId: number): boolean {
    this.touch?.alive(tsRecvNs, linkId);
    const { touch, stats } = this.market;
    if (frame.nonce < touch.seq) {
      this.lateCount++;
      return true;
    }
    const { touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, nonce, tsVenueMs } = frame;
    if (!touch.set(touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, nonce, tsVenueMs, tsRecvNs)) {
      this.brokenTouchCount++;
      return false;
    }
    stats.update(doubleMidTicks(this.market) / 2, tsRecvNs);
    this.#noteContradiction(tsRecvNs);
    return true;
  }

  onStats(wire: VenuethreeWireStats, tsVenueMs: number, tsRecvNs: number): void {
    const { ticker, instrument } = this.market;
    this.hasStats = true;
    applyStats(ticker, wire, instrument.priceDecimals, tsVenueMs, tsRecvNs);
    // Printed finer than the grid by some: halves of a tick are kept.
    const doubleMid =
      wire.mid_price === null ? Number.NaN : 2 * parseScaledRounded(wire.mid_price, instrument.priceDecimals, "floor");
    this.#statsDoubleMid = doubleMid > 0 ? doubleMid : 0;
    this.#statsNs = tsRecvNs;
  }

  /** False for a print seen before; each subscription repeats the last ones. */
  isNewTrade(tradeId: string): boolean {
    if (this.#tradeIds.has(tradeId)) return false;
    if (this.#tradeIds.size >= MAX_REMEMBERED_TRADES) {
      const oldest = this.#tradeIds.values().next();
      if (oldest.done !== true) this.#tradeIds.delete(oldest.value);
    }
    this.#tradeIds.add(tradeId);
    return true;
  }

  /** A newer ticker differs, and the update that would explain it is overdue. */
  isOverdue(nowNs: number): boolean {
    return this.contradictedNs >= 0 && nowNs - this.contradictedNs > OVERDUE_MS * NS_PER_MS;
  }

  /** Statistics younger than the book by more than an update may take show another mid: a hint, no proof. */
  isMidSuspect(): boolean {
    const { book } = this.market;
    if (this.#statsDoubleMid === 0 || book.state !== BOOK_LIVE || book.bidCount === 0 || book.askCount === 0)
      return false;
    if (this.#statsNs - book.tsRecvNs < OVERDUE_MS * NS_PER_MS || this.auditedNs > this.#statsNs) return false;
    const doubleMid = book.bidTicks(0) + book.askTicks(0);
    return Math.abs(doubleMid - this.#statsDoubleMid) > MID_TOLERANCE_DOUBLE_TICKS;
  }

  /** A ticker stream that fell silent does no harm while the book, once it is newer, says the same. */
  isTouchConsistent(): boolean {
    const { touch, book } = this.market;
    return book.state !== BOOK_LIVE || !touch.present || isTouchNewer(touch, book) || this.#isSameTop();
  }

  /** The ticker was found wrong, or its stream dead. */
  dropTouch(): void {
    this.market.touch.clear();
    this.contradictedNs = -1;
  }

  /** The connection is gone: nothing here is current any more. */
  onDown(): void {
    this.chain.invalidate(INVALID_DISCONNECTED);
    this.dropTouch();
    this.market.stats.breakSampling();
    this.#statsDoubleMid = 0;
  }

  #noteContradiction(tsRecvNs: number): void {
    const { touch, book } = this.market;
    if (book.state !== BOOK_LIVE || !isTouchNewer(touch, book) || this.#isSameTop()) this.contradictedNs = -1;
    else if (this.contradictedNs < 0) this.contradictedNs = tsRecvNs;
  }

  #isSameTop(): boolean {
    const { touch, book } = this.market;
    const isSameBid =
      book.bidCount === 0
        ? touch.bidLots === 0
        : book.bidTicks(0) === touch.bidTicks && book.bidLots(0) === touch.bidLots;
    const isSameAsk =
      book.askCount === 0
        ? touch.askLots === 0
        : book.askTicks(0) === touch.askTicks && book.askLots(0) === touch.askLots;
    return isSameBid && isSameAsk;
  }
}
