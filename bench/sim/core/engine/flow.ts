/**
 * The synthetic crowd of one symbol: quotes around the fair price over many levels (gaps widen and sizes grow outward,
 * sizes by a power law), arrivals, cancels and takers as Poisson counts. It quotes through the matching engine,
 * so users rest in the same queues and are filled by the same takers. Floats choose prices; they become ticks of the
 * grid before they touch the book.
 */
import type { Random } from "../../../../engine/domain/random.js";
import { gaussian, poisson } from "../market/factor-model.js";
import { ceilToGrid, floorToGrid, gridStepTicks } from "../model/fixed.js";
import type { SymbolState } from "./engine-deps.js";
import type { Matching } from "./matching.js";
import { oppositeSide } from "../model/state.js";
import type { SimSide } from "../model/types.js";

export interface FlowOptions {
  /** Wall ms between market steps. Default 50. */
  readonly stepMs: number;
  /** Target level count per side. Default 200. */
  readonly levelCount: number;
  /** Quoted half spread in bps. Default 0.6. */
  readonly halfSpreadBps: number;
  /** Mean distance between neighbouring levels near the top, in bps (grows outward). Default 0.4. */
  readonly levelGapBps: number;
  /** Mean notional of a level near the top in quote units (power law, grows outward). Default 20000. */
  readonly levelNotional: number;
  /** Mean counts per second and symbol. */
  readonly quoteChangesPerSecond: number;
  readonly tradesPerSecond: number;
  /** Venue-specific deviation from the shared fair price, standard deviation in bps. Default 0.8. */
  readonly basisBps: number;
}

export const DEFAULT_FLOW: FlowOptions = {
  stepMs: 50,
  levelCount: 200,
  halfSpreadBps: 0.6,
  levelGapBps: 0.4,
  levelNotional: 20_000,
  quoteChangesPerSecond: 40,
  tradesPerSecond: 2,
  basisBps: 0.8,
};

/** Half-life of the venue's own basis is about 20 s at 50 ms steps. */
const BASIS_DECAY = 0.9983;
/** A quote this far inside the half spread (share of it) is stale and withdrawn. */
const STALE_SHARE = 0.35;
/** The best quote may be this many half spreads away before the gap is filled. */
const THIN_SHARE = 2.2;
/** Levels placed at once when a side has moved away; the rest follows in later steps. */
const REFILL_MAX = 400;
const PARETO_EXPONENT = 1.6;

export class SymbolFlow {
  readonly #state: SymbolState;
  readonly #matching: Matching;
  readonly #random: Random;
  readonly #options: FlowOptions;
  #basis = 0;

  constructor(state: SymbolState, matching: Matching, random: Random, options: FlowOptions) {
    this.#state = state;
    this.#matching = matching;
    this.#random = random;
    this.#options = options;
    this.#basis = (options.basisBps / 10_000) * gaussian(random);
  }

  /** One market step around `fairTicks` (already skewed; a float). */
  step(fairTicks: number): void {
    if (this.#state.halted) return;
    const seconds = this.#options.stepMs / 1000;
    const noise = (this.#options.basisBps / 10_000) * Math.sqrt(1 - BASIS_DECAY * BASIS_DECAY);
    this.#basis = this.#basis * BASIS_DECAY + noise * gaussian(this.#random);
    const center = fairTicks * (1 + this.#basis);
    this.#requote("BUY", center);
    this.#requote("SELL", center);
    for (let count = poisson(this.#random, this.#options.quoteChangesPerSecond * seconds); count > 0; count--)
      this.#changeQuote(center);
    for (let count = poisson(this.#random, this.#options.tradesPerSecond * seconds); count > 0; count--)
      this.#take(center);
    this.#arbitrage(center);
  }

  /** Withdraws stale quotes, fills the gap at the top, keeps the level count. */
  #requote(side: SimSide, center: number): void {
    const { book } = this.#state;
    const half = center * (this.#options.halfSpreadBps / 10_000);
    const sign = side === "BUY" ? -1 : 1;
    const stale = center + sign * half * STALE_SHARE;
    for (let rank = 0; ; ) {
      const price = book.priceAt(side, rank);
      if (price === null || (side === "BUY" ? price <= stale : price >= stale)) break;
      const house = book.houseAt(side, price);
      for (const resting of house) book.remove(resting);
      // A level held by users stays; look behind it.
      if (book.priceAt(side, rank) === price) rank++;
    }
    const best = book.bestPrice(side);
    const thin = center + sign * half * THIN_SHARE;
    if (best === null) this.#fill(side, center, this.#target(side, center), null);
    else if (side === "BUY" ? best < thin : best > thin) this.#fill(side, center, this.#target(side, center), best);
    else if (book.levelCount(side) < this.#options.levelCount * 0.9) this.#extend(side, center);
    for (let excess = book.levelCount(side) - this.#options.levelCount * 1.15; excess > 0; excess--)
      this.#dropLast(side);
  }

  /** Where the best quote belongs, rounded away from the other side. */
  #target(side: SimSide, center: number): number {
    const half = center * (this.#options.halfSpreadBps / 10_000) * (0.8 + 0.5 * this.#random.next());
    return this.#toGrid(side, side === "BUY" ? center - half : center + half);
  }

  /** Places levels outward from `fromTicks` until `untilTicks` (or the level count). */
  #fill(side: SimSide, center: number, fromTicks: number, untilTicks: number | null): void {
    let price = fromTicks;
    const max = untilTicks === null ? this.#options.levelCount : REFILL_MAX;
    for (let rank = 0; rank < max && price > 0; rank++) {
      if (untilTicks !== null && (side === "BUY" ? price <= untilTicks : price >= untilTicks)) return;
      this.#quote(side, price, rank, center);
      price = this.#outward(side, price, rank, center);
    }
  }

  #extend(side: SimSide, center: number): void {
    const { book } = this.#state;
    const count = book.levelCount(side);
    const last = book.priceAt(side, count - 1);
    if (last === null) return;
    let price = last;
    for (let rank = count; rank < count + 10; rank++) {
      price = this.#outward(side, price, rank, center);
      if (price > 0) this.#quote(side, price, rank, center);
    }
  }

  #outward(side: SimSide, priceTicks: number, rank: number, center: number): number {
    const gap = center * (this.#options.levelGapBps / 10_000) * (1 + rank / 20) * -Math.log(1 - this.#random.next());
    const step = Math.max(gap, gridStepTicks(this.#state.instrument, priceTicks));
    return this.#toGrid(side, side === "BUY" ? priceTicks - step : priceTicks + step);
  }

  #dropLast(side: SimSide): void {
    const { book } = this.#state;
    const last = book.priceAt(side, book.levelCount(side) - 1);
    if (last === null) return;
    for (const resting of book.houseAt(side, last)) book.remove(resting);
  }

  #quote(side: SimSide, priceTicks: number, rank: number, center: number): void {
    this.#matching.houseQuote(this.#state.instrument.symbol, side, priceTicks, this.#sizeLots(rank, center));
  }

  /** Pareto size around the level notional, larger outward. */
  #sizeLots(rank: number, center: number): number {
    const { instrument } = this.#state;
    const pareto = Math.min(30, (1 - this.#random.next()) ** (-1 / PARETO_EXPONENT) * 0.4);
    const notional = this.#options.levelNotional * (1 + rank / 15) * pareto;
    return this.#toLots(notional / (center / 10 ** instrument.priceDecimals));
  }

  #toLots(contracts: number): number {
    const { instrument } = this.#state;
    const lots = contracts * 10 ** instrument.qtyDecimals;
    return Math.max(1, Math.floor(lots / instrument.qtyStepLots)) * instrument.qtyStepLots;
  }

  #toGrid(side: SimSide, priceTicks: number): number {
    const { instrument } = this.#state;
    return side === "BUY" ? floorToGrid(instrument, priceTicks) : ceilToGrid(instrument, priceTicks);
  }

  /** One arrival, cancel or resize, mostly near the top. */
  #changeQuote(center: number): void {
    const { book } = this.#state;
    const side: SimSide = this.#random.next() < 0.5 ? "BUY" : "SELL";
    const rank = Math.floor(-Math.log(1 - this.#random.next()) * 8);
    const price = book.priceAt(side, rank);
    if (price === null) return;
    const kind = this.#random.next();
    if (kind < 0.4) {
      // Between this level and the next one outward.
      const inner = this.#outward(side, price, 0, center);
      this.#quote(side, inner, rank, center);
      return;
    }
    const house = book.houseAt(side, price);
    const chosen = house[Math.floor(this.#random.next() * house.length)];
    if (chosen === undefined) return;
    if (kind < 0.7) {
      const lots = this.#sizeLots(rank, center);
      if (lots < chosen.lots) book.reduce(chosen, chosen.lots - lots);
      else if (lots > chosen.lots) book.add(side, price, lots - chosen.lots, null);
      return;
    }
    // The last level of the top stays, so that a quiet book is not emptied from the inside.
    if (rank > 0 || house.length > 1 || this.#random.next() < 0.3) book.remove(chosen);
  }

  /** A taker of exponential size, sometimes large enough to walk several levels. */
  #take(center: number): void {
    const side: SimSide = this.#random.next() < 0.5 ? "BUY" : "SELL";
    const { instrument } = this.#state;
    const large = this.#random.next() < 0.05 ? 12 : 1;
    const notional = this.#options.levelNotional * 0.25 * large * -Math.log(1 - this.#random.next());
    const lots = this.#toLots(notional / (center / 10 ** instrument.priceDecimals));
    // Takers do not chase further than 30 bps.
    const limit = side === "BUY" ? Math.ceil(center * 1.003) : Math.floor(center * 0.997);
    this.#matching.houseTake(instrument.symbol, side, limit, lots);
  }

  /** Somebody takes user quotes that are better than the fair price allows. */
  #arbitrage(center: number): void {
    const { book, instrument } = this.#state;
    const half = center * (this.#options.halfSpreadBps / 10_000);
    for (const side of ["BUY", "SELL"] as const) {
      const front = book.front(side);
      if (front === null || front.owner === null) continue;
      const edge = side === "BUY" ? front.priceTicks - center : center - front.priceTicks;
      if (edge > half) this.#matching.houseTake(instrument.symbol, oppositeSide(side), front.priceTicks, front.lots);
    }
  }
}
