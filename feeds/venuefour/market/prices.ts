/** Rows of the prices channel, or of its REST twin, to the tickers of all listed markets. */
import type { Market } from "../../../engine/market/market.js";
import type { NameTable } from "../../shared/book/name-table.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { APPLIED, type Applied, DRIFT, OUTDATED } from "./applied.js";
import type { MarketEntry } from "./entry.js";
import type { FrameTimes } from "./frame-times.js";
import { applyPrice } from "./normalize.js";
import type { VenuefourWirePrice } from "./wire.js";

export class Prices {
  readonly #entries: NameTable<MarketEntry>;
  readonly #times: FrameTimes;
  /** Time of the newest row by symbol, on the present connection. Bounded by the listed markets. */
  readonly #newestMs = new Map<string, number>();

  constructor(entries: NameTable<MarketEntry>, times: FrameTimes) {
    this.#entries = entries;
    this.#times = times;
  }

  /** The connection is new: older rows than those before may come, and count. */
  reset(): void {
    this.#newestMs.clear();
  }

  /** Rows that are older than the newest change nothing; one from the far future is drift. */
  apply(market: Market, wire: VenuefourWirePrice, tsRecvNs: number): Applied {
    const { symbol, timestamp } = wire;
    if (!this.#times.isPlausible(timestamp)) return DRIFT;
    if (timestamp < barredBeforeMs(this.#newestMs.get(symbol) ?? 0, this.#times.latestMs())) return OUTDATED;
    this.#newestMs.set(symbol, timestamp);
    const hasTrade = (this.#entries.get(symbol)?.lastTradeMs ?? 0) > 0;
    applyPrice(market.ticker, wire, hasTrade, this.#times.venueNowMs(), tsRecvNs);
    return APPLIED;
  }
}
