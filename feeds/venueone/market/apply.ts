// hot path
/**
 * Scanned or decoded depth → the market's books and touch.
 *
 * Rules of this venue: every book frame is complete, so it replaces; there are no sequence numbers, so
 * the venue time decides: a frame that is not newer than the book changes nothing (the overlap of two
 * connections, a repeated snapshot); an unchanged book resent with a new time proves it current.
 * A number finer than the instrument allows is protocol drift: the book turns INVALID, nothing is rounded.
 */
import { parseScaled } from "../../../engine/domain/decimal.js";
import { BOOK_LIVE, type Book, INVALID_DECODE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ScannedSide } from "../../shared/book/json-bytes.js";
import { applyLevels, scaleSide } from "../../shared/book/scanned-levels.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import type { DepthScanner } from "./scan.js";
import type { VenueoneWireBbo, VenueoneWireBook, VenueoneWireLevel } from "./wire.js";

/** The outcome of a frame. */
export const APPLIED = 0;
/** Not newer than what is there. */
export const OUTDATED = 1;
/** Digits finer than the instrument's, or beyond the safe range: protocol drift; the tier is invalid. */
export const DRIFT = 2;
/** The book's own checks refused it (crossed, zero or disordered levels); the tier is invalid. */
export const REFUSED = 3;
export type Applied = typeof APPLIED | typeof OUTDATED | typeof DRIFT | typeof REFUSED;

/** Which tier a frame belongs to. Both use one channel; the socket it came on decides. */
export const TIER_FAST = 0;
export const TIER_DEEP = 1;
export type Tier = typeof TIER_FAST | typeof TIER_DEEP;

export class MarketApplier {
  readonly market: Market;
  readonly #priceDecimals: number;
  readonly #qtyDecimals: number;
  /** Venue time of the newest frame taken per tier since the last reset: an older one never replaces it, whatever the state. */
  readonly #newestMs = new Float64Array(2);

  constructor(market: Market) {
    this.market = market;
    this.#priceDecimals = market.instrument.priceDecimals;
    this.#qtyDecimals = market.instrument.qtyDecimals;
  }

  /** The connection is new: nothing is known of what the venue sent meanwhile. */
  reset(tier: Tier): void {
    this.#newestMs[tier] = 0;
    this.#tier(tier)?.beginSync();
    if (tier === TIER_FAST) {
      this.market.touch.clear();
      this.market.stats.breakSampling();
    }
  }

  /** The venue's clock was found to be behind what was taken: a time that is not yet bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    const newestMs = this.#newestMs;
    newestMs[TIER_FAST] = barredBeforeMs(newestMs[TIER_FAST] as number, latestMs);
    newestMs[TIER_DEEP] = barredBeforeMs(newestMs[TIER_DEEP] as number, latestMs);
    const { touch } = this.market;
    if (barredBeforeMs(touch.tsVenueMs, latestMs) < touch.tsVenueMs) touch.clear();
  }

  /** `lateNs`: how much older than its receipt the frame counts (0 unless it was delayed on its way). */
  applyBook(scanner: DepthScanner, tier: Tier, tsRecvNs: number, lateNs: number): Applied {
    const book = this.#tier(tier);
    if (book === null || !this.#isNewer(book, tier, scanner.timeMs)) return OUTDATED;
    if (!this.#scale(scanner.bids) || !this.#scale(scanner.asks)) return this.#drifted(book);
    const { bids, asks } = scanner;
    applyLevels(book, bids, asks);
    return this.#committed(book, tier, scanner.timeMs, tsRecvNs, lateNs);
  }

  applyTouch(scanner: DepthScanner, tsRecvNs: number): Applied {
    if (scanner.timeMs < this.market.touch.tsVenueMs) return OUTDATED;
    if (!this.#scale(scanner.bids) || !this.#scale(scanner.asks)) return this.#touchDrifted();
    const { bids, asks } = scanner;
    return this.#setTouch(
      bids.count > 0 ? (bids.priceDigits[0] as number) : 0,
      bids.count > 0 ? (bids.qtyDigits[0] as number) : 0,
      asks.count > 0 ? (asks.priceDigits[0] as number) : 0,
      asks.count > 0 ? (asks.qtyDigits[0] as number) : 0,
      scanner.timeMs,
      tsRecvNs,
    );
  }

  /** The slow way, for frames the scanner declined and for REST books. Not allocation-free. */
  applyDecodedBook(wire: VenueoneWireBook, tier: Tier, tsRecvNs: number, lateNs: number): Applied {
    const book = this.#tier(tier);
    if (book === null || !this.#isNewer(book, tier, wire.time)) return OUTDATED;
    const [bids, asks] = wire.levels;
    if (!bids.every(this.#fits) || !asks.every(this.#fits)) return this.#drifted(book);
    book.beginSnapshot();
    for (const level of bids) book.applyBid(this.#priceTicks(level), this.#qtyLots(level));
    for (const level of asks) book.applyAsk(this.#priceTicks(level), this.#qtyLots(level));
    return this.#committed(book, tier, wire.time, tsRecvNs, lateNs);
  }

  applyDecodedTouch(wire: VenueoneWireBbo, tsRecvNs: number): Applied {
    if (wire.time < this.market.touch.tsVenueMs) return OUTDATED;
    const [bid, ask] = wire.bbo;
    if ((bid !== null && !this.#fits(bid)) || (ask !== null && !this.#fits(ask))) return this.#touchDrifted();
    return this.#setTouch(
      bid === null ? 0 : this.#priceTicks(bid),
      bid === null ? 0 : this.#qtyLots(bid),
      ask === null ? 0 : this.#priceTicks(ask),
      ask === null ? 0 : this.#qtyLots(ask),
      wire.time,
      tsRecvNs,
    );
  }

  /** A book that lost its state takes a repeated frame again, but never an older one. */
  #isNewer(book: Book, tier: Tier, timeMs: number): boolean {
    const newestMs = this.#newestMs[tier] as number;
    if (timeMs < newestMs || (timeMs === newestMs && book.state === BOOK_LIVE)) return false;
    this.#newestMs[tier] = timeMs;
    return true;
  }

  #tier(tier: Tier): Book | null {
    return tier === TIER_FAST ? this.market.book : this.market.deep;
  }

  /** In place: digits become ticks and lots. False when one does not fit. */
  #scale(side: ScannedSide): boolean {
    return scaleSide(side, this.#priceDecimals, this.#qtyDecimals);
  }

  #committed(book: Book, tier: Tier, timeMs: number, tsRecvNs: number, lateNs: number): Applied {
    if (!book.commit(0, timeMs, tsRecvNs - lateNs)) return REFUSED;
    // The statistic follows the mid that a decision would use; the deep tier is older by design.
    if (tier === TIER_FAST && this.market.touch.tsVenueMs <= timeMs) {
      this.market.stats.update((book.bidTicks(0) + book.askTicks(0)) / 2, tsRecvNs);
    }
    return APPLIED;
  }

  #setTouch(
    bidTicks: number,
    bidLots: number,
    askTicks: number,
    askLots: number,
    timeMs: number,
    tsRecvNs: number,
  ): Applied {
    // A level with quantity 0 is no level on this venue.
    if (!this.market.touch.set(bidTicks, bidLots, askTicks, askLots, 0, timeMs, tsRecvNs)) return REFUSED;
    if (bidLots > 0 && askLots > 0) this.market.stats.update((bidTicks + askTicks) / 2, tsRecvNs);
    return APPLIED;
  }

  #drifted(book: Book): Applied {
    book.invalidate(INVALID_DECODE);
    return DRIFT;
  }

  #touchDrifted(): Applied {
    this.market.touch.clear();
    return DRIFT;
  }

  readonly #fits = (level: VenueoneWireLevel): boolean =>
    !Number.isNaN(this.#priceTicks(level)) && !Number.isNaN(this.#qtyLots(level));

  #priceTicks(level: VenueoneWireLevel): number {
    return parseScaled(level.px, this.#priceDecimals);
  }

  #qtyLots(level: VenueoneWireLevel): number {
    return parseScaled(level.sz, this.#qtyDecimals);
  }
}
