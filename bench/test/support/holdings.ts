/** What traders held on the venues at any time, put together from the venues' own fills. */
import type { SimFill } from "../../sim/core/types.js";
import { type FourTrader, type FourVenue, type FourVenues, nativeName } from "./four-venues.js";

/** Two stamps of one clock, taken on either side of a socket. */
const CLOCK_MS = 5;

export class Holdings {
  readonly #four: FourVenues;
  readonly #initialLots: ReadonlyMap<string, number>;
  readonly #fills = new Map<string, readonly SimFill[]>();

  /** `initialLots`: by venue, trader and symbol, as `baselineOf` names them. */
  constructor(four: FourVenues, initialLots: ReadonlyMap<string, number>) {
    this.#four = four;
    this.#initialLots = initialLots;
  }

  /** The largest position in that direction within the two moments, base units at 10^-12. */
  mostHeld(
    venue: FourVenue,
    trader: FourTrader,
    symbol: string,
    direction: "LONG" | "SHORT",
    fromMs: number,
    untilMs: number,
  ): bigint {
    const name = `${venue} ${trader.label} ${symbol}`;
    let lots = this.#initialLots.get(name) ?? 0;
    let most = 0;
    const sign = direction === "LONG" ? 1 : -1;
    for (const fill of this.#fillsOf(name, venue, trader, symbol)) {
      if (fill.tsMs > untilMs + CLOCK_MS) break;
      if (fill.tsMs >= fromMs - CLOCK_MS) most = Math.max(most, sign * lots, sign * fill.positionAfterLots);
      lots = fill.positionAfterLots;
    }
    most = Math.max(most, sign * lots);
    const { qtyDecimals } = this.#four.venues[venue].exchange.instruments.get(nativeName(venue, symbol)) ?? {
      qtyDecimals: 0,
    };
    return BigInt(most) * 10n ** BigInt(12 - qtyDecimals);
  }

  #fillsOf(name: string, venue: FourVenue, trader: FourTrader, symbol: string): readonly SimFill[] {
    let fills = this.#fills.get(name);
    if (fills === undefined) {
      const { exchange } = this.#four.venues[venue];
      fills = exchange
        .allOrders(trader.accountIds[venue], nativeName(venue, symbol))
        .flatMap((order) => order.fills)
        .sort((left, right) => left.tradeId - right.tradeId);
      this.#fills.set(name, fills);
    }
    return fills;
  }
}
