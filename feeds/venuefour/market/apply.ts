// hot path
/**
 * Scanned or decoded depth → the market's book.
 *
 * Rules of this venue: every book frame is complete, so it replaces. Frames are ordered by `t`, the time of the last
 * change; `li` goes backwards among them and is not looked at. An older `t` changes nothing; the same `t` with the same
 * levels is the timer's repetition and proves the book current; the same `t` with other levels is a second change
 * within the millisecond, and on one connection the later frame is the later state.
 * A number finer than the instrument allows is protocol drift: the book turns INVALID, nothing is rounded.
 */
import { BOOK_LIVE, INVALID_DECODE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ScannedSide } from "../../shared/book/json-bytes.js";
import { applyLevels } from "../../shared/book/scanned-levels.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { APPLIED, type Applied, DRIFT, LevelScale, OUTDATED, PROVEN, REFUSED } from "./applied.js";
import { TouchApplier } from "./apply-touch.js";
import type { DepthScanner } from "./scan.js";
import type { VenuefourWireBook, VenuefourWireLevel } from "./wire.js";

/** In place of a connection's number for a REST answer: any connection is later news than it. */
export const REST_LINK = 0;

export class MarketApplier {
  readonly market: Market;
  readonly touch: TouchApplier;
  readonly #scale: LevelScale;
  /** `t` of the newest book taken since the last reset: an older one never replaces it, in any state. */
  #bookMs = 0;
  /** Connection that brought it. */
  #bookLinkId = REST_LINK;

  constructor(market: Market) {
    this.market = market;
    this.#scale = new LevelScale(market.instrument);
    this.touch = new TouchApplier(market, this.#scale);
  }

  /** Would a book of this time be news? Then its time also shows how long it was on its way. */
  isNews(timeMs: number): boolean {
    return timeMs > this.#bookMs && this.market.book.state === BOOK_LIVE;
  }

  /** The connection is new: nothing is known of what the venue sent meanwhile. */
  reset(): void {
    this.#bookMs = 0;
    this.#bookLinkId = REST_LINK;
    this.market.book.beginSync();
    this.touch.reset();
    this.market.stats.breakSampling();
  }

  /** The venue's clock was found to be behind what was taken: a time that has not come yet bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    this.#bookMs = barredBeforeMs(this.#bookMs, latestMs);
    this.touch.forgetBeyond(latestMs);
  }

  /** `lateNs`: how much older than its receipt the frame counts (0 unless it was delayed on its way). */
  applyBook(scanner: DepthScanner, tsRecvNs: number, lateNs: number, linkId: number): Applied {
    const { bids, asks, timeMs } = scanner;
    if (timeMs < this.#bookMs) return OUTDATED;
    if (!this.#scale.scale(bids) || !this.#scale.scale(asks)) return this.#drifted();
    const { book } = this.market;
    if (timeMs === this.#bookMs && book.state === BOOK_LIVE) {
      if (this.#isSameBook(bids, asks)) {
        return this.#proven(timeMs, tsRecvNs - lateNs);
      }
      // Of two connections only the newer one counts, or they would overwrite each other in turn.
      if (linkId < this.#bookLinkId) return OUTDATED;
    }
    this.#bookMs = timeMs;
    this.#bookLinkId = linkId;
    applyLevels(book, bids, asks);
    return this.#committed(timeMs, tsRecvNs, lateNs);
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
    const scale = this.#scale;
    book.beginSnapshot();
    for (const level of bids) book.applyBid(scale.priceTicks(level), scale.qtyLots(level));
    for (const level of asks) book.applyAsk(scale.priceTicks(level), scale.qtyLots(level));
    return this.#committed(wire.t, tsRecvNs, lateNs);
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
    return this.#scale.priceTicks(level) === priceTicks && this.#scale.qtyLots(level) === qtyLots;
  }

  #proven(timeMs: number, tsProvenNs: number): Applied {
    this.market.book.prove(tsProvenNs);
    this.touch.seed(timeMs, tsProvenNs);
    return PROVEN;
  }

  #committed(timeMs: number, tsRecvNs: number, lateNs: number): Applied {
    const { book, touch, stats } = this.market;
    if (!book.commit(0, timeMs, tsRecvNs - lateNs)) return REFUSED;
    this.touch.seed(timeMs, tsRecvNs - lateNs);
    // The statistic follows the mid that a decision would use.
    if (touch.tsVenueMs <= timeMs) stats.update((book.bidTicks(0) + book.askTicks(0)) / 2, tsRecvNs);
    return APPLIED;
  }

  #drifted(): Applied {
    this.market.book.invalidate(INVALID_DECODE);
    return DRIFT;
  }

  readonly #fits = (level: VenuefourWireLevel): boolean => this.#scale.fits(level);
}
