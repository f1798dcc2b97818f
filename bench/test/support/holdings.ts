/** What traders held on the venues at any time, computed from the venues' own fills. */
import type { SimFill } from "../../sim/core/model/types.js";
import type { FourTrader, FourVenue, FourVenues } from "./four-venues.js";
import { nativeName } from "./local-venues.js";

/** Most by which two stamps of one clock differ when a socket is between them. */
export const CLOCK_MS = 5;

/** Base units at 10^-12, never negative. */
interface Held {
  readonly least: bigint;
  readonly most: bigint;
}

export class Holdings {
  readonly #four: FourVenues;
  readonly #initialLots: ReadonlyMap<string, number>;
  readonly #fills = new Map<string, readonly SimFill[]>();

  /** `initialLots`: by venue, trader and symbol, as `baselineOf` names them. */
  constructor(four: FourVenues, initialLots: ReadonlyMap<string, number>) {
    this.#four = four;
    this.#initialLots = initialLots;
  }

  /** Returns the largest position in that direction between the two moments, base units at 10^-12. */
  mostHeld(...where: Parameters<Holdings["heldWithin"]>): bigint {
    return this.heldWithin(...where).most;
  }

  /** Returns the smallest position; 0 where it was flat or reversed. */
  leastHeld(...where: Parameters<Holdings["heldWithin"]>): bigint {
    return this.heldWithin(...where).least;
  }

  /**
   * Returns what was held in that direction between the two moments. `isKnown` selects fills that count at any moment,
   * such as those that their owner knew before.
   */
  heldWithin(
    venue: FourVenue,
    trader: FourTrader,
    symbol: string,
    direction: "LONG" | "SHORT",
    fromMs: number,
    untilMs: number,
    isKnown: (fill: SimFill) => boolean = (fill) => fill.tsMs < fromMs - CLOCK_MS,
  ): Held {
    const name = `${venue} ${trader.label} ${symbol}`;
    const sign = direction === "LONG" ? 1 : -1;
    let lots = sign * (this.#initialLots.get(name) ?? 0);
    let [least, most] = [lots, lots];
    for (const fill of this.#fillsOf(name, venue, trader, symbol)) {
      if (fill.tsMs > untilMs + CLOCK_MS) break;
      lots = sign * fill.positionAfterLots;
      [least, most] = isKnown(fill) ? [lots, lots] : [Math.min(least, lots), Math.max(most, lots)];
    }
    return { least: this.#baseUnits(venue, symbol, least), most: this.#baseUnits(venue, symbol, most) };
  }

  #baseUnits(venue: FourVenue, symbol: string, lots: number): bigint {
    const { qtyDecimals } = this.#four.venues[venue].exchange.instruments.get(nativeName(venue, symbol)) ?? {
      qtyDecimals: 0,
    };
    return BigInt(Math.max(0, lots)) * 10n ** BigInt(12 - qtyDecimals);
  }

  #fillsOf(name: string, venue: FourVenue, trader: FourTrader, symbol: string): readonly SimFill[] {
    let fills = this.#fills.get(name);
    if (fills === undefined) {
      const { exchange } = this.#four.venues[venue];
      fills = exchange.orders
        .all(trader.accountIds[venue], nativeName(venue, symbol))
        .flatMap((order) => order.fills)
        .sort((left, right) => left.tradeId - right.tradeId);
      this.#fills.set(name, fills);
    }
    return fills;
  }
}
