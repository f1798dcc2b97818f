// hot path
/**
 * Scanned or decoded depth → the market's book and touch.
 *
 * Rules of this venue: every book frame is complete, so it replaces. Frames are ordered by `t`, the time of the last
 * change; `li` goes backwards among them and is not looked at. An older `t` changes nothing; the same `t` with the same
 * levels is the timer's repetition and proves the book current; the same `t` with other levels is a second change
 * within the millisecond, and on one connection the later frame is the later state.
 * Touches are ordered by `t`, then by `li`, which does not fall there. The venue sends none on subscribing, so the
 * touch is seeded from the book; at equal times the book speaks (engine/market/touch.ts).
 * A number finer than the instrument allows is protocol drift: the book turns INVALID, nothing is rounded.
 */
import { parseScaled } from "../../../engine/domain/decimal.js";
import { BOOK_LIVE, INVALID_DECODE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ScannedSide } from "../../shared/book/json-bytes.js";
import { applyLevels, scaleSide } from "../../shared/book/scanned-levels.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import type { DepthScanner } from "./scan.js";
import type { VenuefourWireBbo, VenuefourWireBook, VenuefourWireLevel } from "./wire.js";

/** The outcome of a frame. */
export const APPLIED = 0;
/** The same state again: proven current, nothing changed. */
export const PROVEN = 1;
/** Older than what is there. */
export const OUTDATED = 2;
/** Digits finer than the instrument's, or beyond the safe range: protocol drift; the tier is invalid. */
export const DRIFT = 3;
/** The book's own checks refused it (crossed, zero or disordered levels); the tier is invalid. */
export const REFUSED = 4;
export type Applied = typeof APPLIED | typeof PROVEN | typeof OUTDATED | typeof DRIFT | typeof REFUSED;

/** Stands for a REST answer where a connection's number is asked for: any connection is later news than it. */
export const REST_LINK = 0;

export class MarketApplier {
  readonly market: Market;
  readonly #priceDecimals: number;
  readonly #qtyDecimals: number;
  /** `t` of the newest book taken since the last reset: an older one never replaces it, whatever the state. */
  #bookMs = 0;
  /** Connection that brought it. */
  #bookLinkId = REST_LINK;
  /** `t` and `li` of the newest touch since the last reset, kept when the touch itself is cleared; `li` 0 for a seed. */
  #touchMs = 0;
  #touchSeq = 0;

  constructor(market: Market) {
    this.market = market;
    this.#priceDecimals = market.instrument.priceDecimals;
    this.#qtyDecimals = market.instrument.qtyDecimals;
  }

  /** Would a book of this time tell something new? Then its time also tells how long it was on its way. */
  isNews(timeMs: number): boolean {
    return timeMs > this.#bookMs && this.market.book.state === BOOK_LIVE;
  }

  /** The connection is new: nothing is known of what the venue sent meanwhile. */
  reset(): void {
    this.#bookMs = 0;
    this.#bookLinkId = REST_LINK;
    this.#touchMs = 0;
    this.#touchSeq = 0;
    this.market.book.beginSync();
    this.market.touch.clear();
    this.market.stats.breakSampling();
  }

  /** The venue's clock was found to be behind what was taken: a time that is not yet bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    this.#bookMs = barredBeforeMs(this.#bookMs, latestMs);
    if (barredBeforeMs(this.#touchMs, latestMs) === this.#touchMs) return;
    this.#touchMs = 0;
    this.#touchSeq = 0;
    this.market.touch.clear();
  }

  /** `lateNs`: how much older than its receipt the frame counts (0 unless it was delayed on its way). */
  applyBook(scanner: DepthScanner, tsRecvNs: number, lateNs: number, linkId: number): Applied {
    const { bids, asks, timeMs } = scanner;
    if (timeMs < this.#bookMs) return OUTDATED;
    if (!this.#scale(bids) || !this.#scale(asks)) return this.#drifted();
    const { book } = this.market;
    if (timeMs === this.#bookMs && book.state === BOOK_LIVE) {
      if (this.#isSameBook(bids, asks)) {
        return this.#proven(timeMs, tsRecvNs - lateNs);
      }
      // Of two connections only the newer one's word counts, or they would overwrite each other in turn.
      if (linkId < this.#bookLinkId) return OUTDATED;
    }
    this.#bookMs = timeMs;
    this.#bookLinkId = linkId;
    applyLevels(book, bids, asks);
    return this.#committed(timeMs, tsRecvNs, lateNs);
  }

  applyTouch(scanner: DepthScanner, tsRecvNs: number): Applied {
    const { bids, asks, timeMs, seq } = scanner;
    if (this.#isOldTouch(timeMs, seq)) return OUTDATED;
    if (!this.#scale(bids) || !this.#scale(asks)) return this.#touchDrifted();
    return this.#setTouch(
      bids.priceDigits[0] as number,
      bids.qtyDigits[0] as number,
      asks.priceDigits[0] as number,
      asks.qtyDigits[0] as number,
      seq,
      timeMs,
      tsRecvNs,
    );
  }

  /** The slow way, for frames the scanner declined and for REST books. Not allocation-free. */
  applyDecodedBook(wire: VenuefourWireBook, tsRecvNs: number, lateNs: number, linkId: number): Applied {
    const [bids, asks] = wire.l;
    if (wire.t < this.#bookMs) return OUTDATED;
    if (!bids.every(this.#fits) || !asks.every(this.#fits)) return this.#drifted();
    const { book } = this.market;
    if (wire.t === this.#bookMs && book.state === BOOK_LIVE) {
      if (this.#isSameDecoded(bids, asks)) {
        return this.#proven(wire.t, tsRecvNs - lateNs);
      }
      if (linkId < this.#bookLinkId) return OUTDATED;
    }
    this.#bookMs = wire.t;
    this.#bookLinkId = linkId;
    book.beginSnapshot();
    for (const level of bids) book.applyBid(this.#priceTicks(level), this.#qtyLots(level));
    for (const level of asks) book.applyAsk(this.#priceTicks(level), this.#qtyLots(level));
    return this.#committed(wire.t, tsRecvNs, lateNs);
  }

  applyDecodedTouch(wire: VenuefourWireBbo, tsRecvNs: number): Applied {
    const { bid, ask } = wire;
    if (this.#isOldTouch(wire.t, wire.li)) return OUTDATED;
    if ((bid !== null && !this.#fits(bid)) || (ask !== null && !this.#fits(ask))) return this.#touchDrifted();
    return this.#setTouch(
      bid === null ? 0 : this.#priceTicks(bid),
      bid === null ? 0 : this.#qtyLots(bid),
      ask === null ? 0 : this.#priceTicks(ask),
      ask === null ? 0 : this.#qtyLots(ask),
      wire.li,
      wire.t,
      tsRecvNs,
    );
  }

  /** In place: digits become ticks and lots. False when one does not fit. */
  #scale(side: ScannedSide): boolean {
    return scaleSide(side, this.#priceDecimals, this.#qtyDecimals);
  }

  /** Level by level in the frame's order. A frame with empty or disordered levels never equals, and is judged again. */
  #isSameBook(bids: ScannedSide, asks: ScannedSide): boolean {
    const { book } = this.market;
    if (bids.count !== book.bidCount || asks.count !== book.askCount) return false;
    for (let index = 0; index < bids.count; index++) {
      if (bids.priceDigits[index] !== book.bidTicks(index) || bids.qtyDigits[index] !== book.bidLots(index))
        return false;
    }
    for (let index = 0; index < asks.count; index++) {
      if (asks.priceDigits[index] !== book.askTicks(index) || asks.qtyDigits[index] !== book.askLots(index))
        return false;
    }
    return true;
  }

  #isSameDecoded(bids: readonly VenuefourWireLevel[], asks: readonly VenuefourWireLevel[]): boolean {
    const { book } = this.market;
    return (
      bids.length === book.bidCount &&
      asks.length === book.askCount &&
      bids.every((level, index) => this.#equals(level, book.bidTicks(index), book.bidLots(index))) &&
      asks.every((level, index) => this.#equals(level, book.askTicks(index), book.askLots(index)))
    );
  }

  #equals(level: VenuefourWireLevel, priceTicks: number, qtyLots: number): boolean {
    return this.#priceTicks(level) === priceTicks && this.#qtyLots(level) === qtyLots;
  }

  #proven(timeMs: number, tsProvenNs: number): Applied {
    this.market.book.prove(tsProvenNs);
    if (!this.market.touch.present) this.#seedTouch(timeMs, tsProvenNs);
    return PROVEN;
  }

  #committed(timeMs: number, tsRecvNs: number, lateNs: number): Applied {
    const { book, touch, stats } = this.market;
    if (!book.commit(0, timeMs, tsRecvNs - lateNs)) return REFUSED;
    if (!touch.present) this.#seedTouch(timeMs, tsRecvNs - lateNs);
    // The statistic follows the mid that a decision would use.
    if (touch.tsVenueMs <= timeMs) stats.update((book.bidTicks(0) + book.askTicks(0)) / 2, tsRecvNs);
    return APPLIED;
  }

  #seedTouch(timeMs: number, tsRecvNs: number): void {
    const { book, touch } = this.market;
    const hasBid = book.bidCount > 0;
    const hasAsk = book.askCount > 0;
    if (!hasBid && !hasAsk) return;
    if (timeMs > this.#touchMs) {
      this.#touchMs = timeMs;
      this.#touchSeq = 0;
    }
    touch.set(
      hasBid ? book.bidTicks(0) : 0,
      hasBid ? book.bidLots(0) : 0,
      hasAsk ? book.askTicks(0) : 0,
      hasAsk ? book.askLots(0) : 0,
      0,
      timeMs,
      tsRecvNs,
    );
  }

  #isOldTouch(timeMs: number, seq: number): boolean {
    return timeMs < this.#touchMs || (timeMs === this.#touchMs && seq < this.#touchSeq);
  }

  #setTouch(
    bidTicks: number,
    bidLots: number,
    askTicks: number,
    askLots: number,
    seq: number,
    timeMs: number,
    tsRecvNs: number,
  ): Applied {
    this.#touchMs = timeMs;
    this.#touchSeq = seq;
    // The venue's sequence is not given to the touch: the book has none to compare it with.
    if (!this.market.touch.set(bidTicks, bidLots, askTicks, askLots, 0, timeMs, tsRecvNs)) return REFUSED;
    if (bidLots > 0 && askLots > 0) this.market.stats.update((bidTicks + askTicks) / 2, tsRecvNs);
    return APPLIED;
  }

  #drifted(): Applied {
    this.market.book.invalidate(INVALID_DECODE);
    return DRIFT;
  }

  #touchDrifted(): Applied {
    this.market.touch.clear();
    return DRIFT;
  }

  readonly #fits = (level: VenuefourWireLevel): boolean =>
    !Number.isNaN(this.#priceTicks(level)) && !Number.isNaN(this.#qtyLots(level));

  #priceTicks(level: VenuefourWireLevel): number {
    return parseScaled(level.p, this.#priceDecimals);
  }

  #qtyLots(level: VenuefourWireLevel): number {
    return parseScaled(level.a, this.#qtyDecimals);
  }
}
