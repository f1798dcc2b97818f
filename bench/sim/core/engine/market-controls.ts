/** What the venue, its control API and tests do to markets from outside: halts, grids, skew, quotes of the house. */
import type { FairPrices } from "../market/fair-prices.js";
import { checkInstrument } from "./instrument-check.js";
import type { Ledger } from "../money/ledger.js";
import type { Markets } from "./markets.js";
import type { Matching } from "./matching.js";
import type { SimGrid } from "../model/types.js";

export interface MarketControlsDeps {
  readonly markets: Markets;
  readonly matching: Matching;
  readonly ledger: Ledger;
  readonly prices: FairPrices;
}

export class MarketControls {
  readonly #deps: MarketControlsDeps;

  constructor(deps: MarketControlsDeps) {
    this.#deps = deps;
  }

  /** Stops or resumes trading of a symbol (refusal HALTED). */
  setHalted(symbol: string, halted: boolean): void {
    this.#deps.markets.state(symbol).halted = halted;
  }

  /**
   * Opens the symbol on another grid: decimals and steps are taken from `grid`. Its book must be empty, and nobody may
   * hold orders or positions in it. See listing-change.ts.
   */
  setGrid(symbol: string, grid: SimGrid): void {
    const { markets, matching, ledger } = this.#deps;
    const state = markets.state(symbol);
    const { instrument, book, triggers } = state;
    const isHeld = ledger.openInterestLots(symbol) !== 0 || triggers.size > 0;
    if (isHeld || book.best("BUY") !== null || book.best("SELL") !== null)
      throw new RangeError(`${symbol}: positions, orders or quotes are on the present grid`);
    const { priceDecimals, qtyDecimals, priceStepTicks, qtyStepLots } = grid;
    // The object itself: streams and rooms hold on to it.
    Object.assign(instrument, { priceDecimals, qtyDecimals, priceStepTicks, qtyStepLots });
    checkInstrument(instrument);
    markets.reopen(state, matching);
  }

  /** Sets the house's whole quantity at one level (recordings as market; `flow: null`). Crossing user orders are matched first. */
  setHouseLevel(symbol: string, side: "BUY" | "SELL", priceTicks: number, qtyLots: number): void {
    const { book } = this.#deps.markets.state(symbol);
    let house = book.houseAt(side, priceTicks);
    const present = house.reduce((sum, resting) => sum + resting.lots, 0);
    if (qtyLots > present) {
      this.#deps.matching.houseQuote(symbol, side, priceTicks, qtyLots - present);
      return;
    }
    // Withdrawals come off the back of the queue: the front keeps its time priority.
    for (let excess = present - qtyLots; excess > 0; house = house.slice(0, -1)) {
      const last = house[house.length - 1];
      if (last === undefined) return;
      const lots = Math.min(excess, last.lots);
      book.reduce(last, lots);
      excess -= lots;
    }
  }

  /** Moves this venue's whole market by `bps`, at once or linearly over `rampMs`. */
  setPriceSkew(bps: number, rampMs: number): void {
    this.#deps.prices.setSkew(bps, rampMs);
  }

  priceSkewBps(): number {
    return this.#deps.prices.skewBps();
  }

  /** Venues that publish by time call this when they publish, so that trueBookAtTime is exact within the millisecond. */
  rememberPublication(symbol: string, tsMs: number): void {
    const { book } = this.#deps.markets.state(symbol);
    book.history.rememberPublication(tsMs, book.seq);
  }
}
