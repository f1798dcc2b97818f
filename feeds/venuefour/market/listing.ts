/**
 * The listed contracts of the venue and their markets (feeds/shared/room/market-list.ts), and the prices that come with
 * them. Streams go to the most traded first, within the connections allowed.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import type { Market } from "../../../engine/market/market.js";
import { MarketList, mostTradedFirst, wholeList } from "../../shared/room/market-list.js";
import type { VenuefourMarketList } from "./decode.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import type { MarketStream } from "./stream.js";
import { buildInstruments, foldName, type InstrumentList } from "./symbols.js";
import type { VenuefourWirePrice } from "./wire.js";

export interface VenuefourMarketsOptions {
  readonly logger: Logger;
  readonly stream: MarketStream;
  /** Canonical symbols, or the venue's own names in any case. */
  readonly symbols: "all" | readonly string[];
  readonly fees: FeeRates;
  /** Contracts that the connections allowed can carry. */
  readonly maxMarkets: number;
  /** Positions and orders counted before are in other lots or ticks from now on. */
  readonly onRescaled: () => void;
}

export class VenuefourMarkets {
  readonly bySymbol: ReadonlyMap<string, Market>;
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly #options: VenuefourMarketsOptions;
  readonly #list: MarketList;
  #byNativeSymbol: ReadonlyMap<string, Market> = new Map();
  #badRowCount = 0;

  constructor(options: VenuefourMarketsOptions) {
    const { logger, stream, onRescaled } = options;
    this.#options = options;
    this.#list = new MarketList({
      venue: "venuefour",
      logger,
      market: { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 },
      unstream: ({ instrument }) => stream.remove(instrument.nativeSymbol),
      onRescaled,
    });
    this.bySymbol = this.#list.bySymbol;
    this.instruments = this.#list.instruments;
  }

  byNativeSymbol(nativeSymbol: string): Market | undefined {
    return this.#byNativeSymbol.get(nativeSymbol);
  }

  get driftCount(): number {
    return this.#list.driftCount;
  }

  /** Unreadable rows of the list, all loads together. */
  get badRowCount(): number {
    return this.#badRowCount;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt(list: VenuefourMarketList, prices: readonly VenuefourWirePrice[], tsRecvNs: number): void {
    const { fees, maxMarkets, stream } = this.#options;
    this.#badRowCount += list.badCount;
    const built = buildInstruments(list.markets, fees, this.instruments);
    // A row that could not be read has no name.
    const unread = new Set(list.badCount > 0 ? [...built.skipped, ""] : built.skipped);
    this.#list.adopt(wholeList(built.bySymbol, unread, built.skipped));
    const all = [...this.bySymbol.values()];
    this.#byNativeSymbol = new Map(all.map((market) => [market.instrument.nativeSymbol, market]));
    for (const price of prices) stream.applyPrice(price, tsRecvNs);
    this.#list.streamWithin(maxMarkets, stream, byVolume(this.#wanted(built), prices));
  }

  #wanted({ bySymbol, byFoldedName }: InstrumentList): Iterable<Market> {
    const { symbols } = this.#options;
    if (symbols === "all") return this.bySymbol.values();
    return this.#list.named(symbols, (text) => {
      const symbol = bySymbol.has(text) ? text : byFoldedName.get(foldName(text))?.symbol;
      return symbol === undefined ? undefined : this.bySymbol.get(symbol);
    });
  }
}

/** Most traded first; markets without a volume keep the venue's order behind them. */
export function byVolume(markets: Iterable<Market>, prices: readonly VenuefourWirePrice[]): readonly Market[] {
  const volumes = new Map(prices.map(({ symbol, volume_24h }) => [symbol, volume_24h]));
  return mostTradedFirst(markets, ({ nativeSymbol }) => volumes.get(nativeSymbol));
}
