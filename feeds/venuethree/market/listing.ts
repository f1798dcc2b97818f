/**
 * The listed contracts of the venue and their markets (feeds/shared/room/market-list.ts), read from orderBookDetails, and
 * the figures of the day that come with them. Streams go to the most traded first.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { MarketList, mostTradedFirst, wholeList } from "../../shared/room/market-list.js";
import type { DetailsAnswer } from "./decode-slow.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import { applyStats } from "./normalize.js";
import type { MarketStream } from "./stream.js";
import { buildInstruments } from "./symbols.js";
import type { VenuethreeWireStats } from "./wire.js";

export interface VenuethreeMarketsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clockOffset: ClockOffset;
  readonly stream: MarketStream;
  /** Canonical symbols, or all that are listed. */
  readonly symbols: "all" | readonly string[];
  readonly fees: FeeRates;
  /** Positions and orders counted before are in other lots or ticks from now on. */
  readonly onRescaled: () => void;
}

export class VenuethreeMarkets {
  readonly bySymbol: ReadonlyMap<string, Market>;
  /** Every contract known; those that are wanted have a market too. */
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly #options: VenuethreeMarketsOptions;
  readonly #list: MarketList;

  constructor(options: VenuethreeMarketsOptions) {
    const { logger, stream, symbols, onRescaled } = options;
    this.#options = options;
    this.#list = new MarketList({
      venue: "venuethree",
      logger,
      symbols,
      market: { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 },
      // Halted markets accept subscriptions and stay silent (sheet): theirs are given back.
      unstream: (market) => stream.remove(market),
      onRescaled,
    });
    this.bySymbol = this.#list.bySymbol;
    this.instruments = this.#list.instruments;
  }

  get driftCount(): number {
    return this.#list.driftCount;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt({ broken, markets }: DetailsAnswer): void {
    const { fees, stream } = this.#options;
    const { bySymbol, skipped } = buildInstruments(markets, fees, this.instruments);
    const unread = new Set(broken);
    for (const { nativeSymbol, reason } of skipped) if (reason !== "lessPreferred") unread.add(nativeSymbol);
    const names = [...broken, ...skipped.map(({ nativeSymbol }) => nativeSymbol)];
    this.#list.adopt(wholeList(bySymbol, unread, names));
    const statsById = new Map(markets.map(({ stats }) => [stats.market_id, stats]));
    this.#fillTickers(statsById);
    const trading = [...this.bySymbol.values()].filter(({ instrument }) => instrument.status === "TRADING");
    stream.add(mostTradedFirst(trading, ({ nativeId }) => statsById.get(nativeId)?.daily_quote_token_volume));
  }

  /** The figures of the day come from here; prices and funding only while the stream has not spoken. */
  #fillTickers(statsById: ReadonlyMap<number, VenuethreeWireStats>): void {
    const { clock, clockOffset, stream } = this.#options;
    const nowMs = Math.round(clock.wallMs() + clockOffset.offsetMs);
    for (const market of this.bySymbol.values()) {
      const { nativeId, priceDecimals } = market.instrument;
      const stats = statsById.get(nativeId);
      if (stats === undefined) continue;
      const row = stream.hasStats(market)
        ? { ...stats, mark_price: null, index_price: null, last_trade_price: null }
        : stats;
      applyStats(market.ticker, row, priceDecimals, nowMs, clock.monoNs());
    }
  }
}
