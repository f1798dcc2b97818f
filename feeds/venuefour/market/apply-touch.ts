// hot path
/**
 * Scanned or decoded best levels → the market's touch.
 *
 * Touches are ordered by `t`, then by `li`, which does not fall there. The venue sends none on subscribing, so the
 * touch is seeded from the book; at equal times the book decides (engine/market/touch.ts).
 */
import type { Market } from "../../../engine/market/market.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { APPLIED, type Applied, DRIFT, type LevelScale, OUTDATED, REFUSED } from "./applied.js";
import type { DepthScanner } from "./scan.js";
import type { VenuefourWireBbo } from "./wire.js";

export class TouchApplier {
  readonly #market: Market;
  readonly #scale: LevelScale;
  /** `t` and `li` of the newest touch since the last reset, kept when the touch itself is cleared; `li` 0 for a seed. */
  #timeMs = 0;
  #seq = 0;

  constructor(market: Market, scale: LevelScale) {
    this.#market = market;
    this.#scale = scale;
  }

  reset(): void {
    this.#timeMs = 0;
    this.#seq = 0;
    this.#market.touch.clear();
  }

  /** A touch whose time has not come yet is dropped, and bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    if (barredBeforeMs(this.#timeMs, latestMs) !== this.#timeMs) this.reset();
  }

  apply(scanner: DepthScanner, tsRecvNs: number): Applied {
    const { bids, asks, timeMs, seq } = scanner;
    if (this.#isOld(timeMs, seq)) return OUTDATED;
    if (!this.#scale.scale(bids) || !this.#scale.scale(asks)) return this.#drifted();
    return this.#set(
      bids.priceDigits[0] as number,
      bids.qtyDigits[0] as number,
      asks.priceDigits[0] as number,
      asks.qtyDigits[0] as number,
      seq,
      timeMs,
      tsRecvNs,
    );
  }

  /** For frames the scanner declined. Not allocation-free. */
  applyDecoded({ ask, bid, li, t }: VenuefourWireBbo, tsRecvNs: number): Applied {
    if (this.#isOld(t, li)) return OUTDATED;
    const scale = this.#scale;
    if (!scale.fits(bid) || !scale.fits(ask)) return this.#drifted();
    const bidTicks = scale.priceTicks(bid);
    const askTicks = scale.priceTicks(ask);
    return this.#set(bidTicks, scale.qtyLots(bid), askTicks, scale.qtyLots(ask), li, t, tsRecvNs);
  }

  /** From the book, where the market has no touch. */
  seed(timeMs: number, tsRecvNs: number): void {
    const { book, touch } = this.#market;
    const hasBid = book.bidCount > 0;
    const hasAsk = book.askCount > 0;
    if (touch.present || (!hasBid && !hasAsk)) return;
    if (timeMs > this.#timeMs) {
      this.#timeMs = timeMs;
      this.#seq = 0;
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

  #isOld(timeMs: number, seq: number): boolean {
    return timeMs < this.#timeMs || (timeMs === this.#timeMs && seq < this.#seq);
  }

  #set(
    bidTicks: number,
    bidLots: number,
    askTicks: number,
    askLots: number,
    seq: number,
    timeMs: number,
    tsRecvNs: number,
  ): Applied {
    this.#timeMs = timeMs;
    this.#seq = seq;
    const { stats, touch } = this.#market;
    // The venue's sequence is not given to the touch: the book has none to compare it with.
    if (!touch.set(bidTicks, bidLots, askTicks, askLots, 0, timeMs, tsRecvNs)) return REFUSED;
    if (bidLots > 0 && askLots > 0) stats.update((bidTicks + askTicks) / 2, tsRecvNs);
    return APPLIED;
  }

  #drifted(): Applied {
    this.#market.touch.clear();
    return DRIFT;
  }
}
