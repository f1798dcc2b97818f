/**
 * Index, mark and funding of one symbol. The index is the fair price; the mark follows it plus the smoothed premium of
 * the book; the funding rate is the average premium clamped around the interest part, settled at whole
 * multiples of the interval since the epoch.
 */
import type { Random } from "../../../../engine/domain/random.js";
import { CandleSeries } from "./tape.js";
import type { SimInstrument, SimMark } from "../model/types.js";

/** Weight of a new observation in the smoothed premium (about 10 s at 50 ms). */
const PREMIUM_WEIGHT = 0.005;
/** Interest part of the rate: 0.01 % per 8 h, as both venues document. */
const INTEREST_E8_PER_8H = 10_000;
const CLAMP_E8 = 50_000;
const EIGHT_HOURS_MS = 8 * 3600 * 1000;
const FUNDING_BACKFILL = 200;
const E8 = 100_000_000;

export interface FundingPoint {
  readonly rateE8: number;
  readonly tsMs: number;
  readonly markE8: number;
}

export class MarkState {
  readonly #instrument: SimInstrument;
  markE8: number;
  indexE8: number;
  #premium = 0;
  #premiumSum = 0;
  #premiumCount = 0;
  nextFundingMs: number;
  readonly funding: FundingPoint[] = [];
  /** Candles of mark and index in E8 (the tick type of these series). */
  readonly markCandles = new CandleSeries();
  readonly indexCandles = new CandleSeries();

  constructor(instrument: SimInstrument, random: Random, nowMs: number, fairPrice: number) {
    this.#instrument = instrument;
    this.indexE8 = toE8(fairPrice);
    this.markE8 = this.indexE8;
    const interval = instrument.fundingIntervalMs;
    this.nextFundingMs = (Math.floor(nowMs / interval) + 1) * interval;
    for (let back = FUNDING_BACKFILL; back >= 1; back--) {
      const rateE8 = this.#interest() + Math.round((random.next() - 0.5) * 0.6 * this.#interest());
      this.funding.push({ rateE8, tsMs: this.nextFundingMs - back * interval, markE8: this.indexE8 });
    }
    // The past of mark and index is drawn once, without volume.
    const asTicks: SimInstrument = { ...instrument, priceDecimals: 8, qtyDecimals: 0 };
    this.markCandles.backfill(random, nowMs, this.markE8, 0, 0, asTicks);
    this.indexCandles.backfill(random, nowMs, this.indexE8, 0, 0, asTicks);
  }

  /** One observation: fair price and the book's middle (or null when a side is empty). */
  update(fairPrice: number, middle: number | null, tsMs: number): void {
    if (middle !== null) this.#premium += PREMIUM_WEIGHT * (middle / fairPrice - 1 - this.#premium);
    this.#premiumSum += this.#premium;
    this.#premiumCount++;
    this.indexE8 = toE8(fairPrice);
    this.markE8 = toE8(fairPrice * (1 + this.#premium));
    this.markCandles.add(tsMs, this.markE8, 0, 0n, false, 0);
    this.indexCandles.add(tsMs, this.indexE8, 0, 0n, false, 0);
  }

  /** Rate that would be charged now: premium + clamp(interest − premium), per interval. */
  rateE8(): number {
    const share = this.#instrument.fundingIntervalMs / EIGHT_HOURS_MS;
    const average = this.#premiumCount === 0 ? 0 : (this.#premiumSum / this.#premiumCount) * E8 * share;
    const clamped = Math.max(-CLAMP_E8 * share, Math.min(CLAMP_E8 * share, this.#interest() - average));
    return Math.round(average + clamped);
  }

  /** Ends the interval; returns the rate charged. */
  settle(): FundingPoint {
    const point = { rateE8: this.rateE8(), tsMs: this.nextFundingMs, markE8: this.markE8 };
    this.funding.push(point);
    if (this.funding.length > 2000) this.funding.splice(0, 1000);
    this.nextFundingMs += this.#instrument.fundingIntervalMs;
    this.#premiumSum = 0;
    this.#premiumCount = 0;
    return point;
  }

  snapshot(openInterestLots: number, tsMs: number): SimMark {
    return {
      symbol: this.#instrument.symbol,
      markE8: this.markE8,
      indexE8: this.indexE8,
      fundingRateE8: this.rateE8(),
      nextFundingMs: this.nextFundingMs,
      openInterestLots,
      tsMs,
    };
  }

  #interest(): number {
    return Math.round((INTEREST_E8_PER_8H * this.#instrument.fundingIntervalMs) / EIGHT_HOURS_MS);
  }
}

function toE8(price: number): number {
  return Math.max(1, Math.round(price * E8));
}
