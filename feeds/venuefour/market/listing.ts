/**
 * The listed contracts of the venue and their markets: built from the venue's list, kept up with it, and handed to the
 * market stream.
 *
 * Invariant: a market keeps its scale for life; the book of one that was delisted or re-scaled leaves LIVE before its
 * successor appears.
 */
import { type Instrument, isSameScale } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import { canRestate, isAnothers, isSameTerms, restate } from "../../shared/room/listing-terms.js";
import type { VenuefourMarketList } from "./decode.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import type { MarketStream } from "./stream.js";
import { buildInstruments, foldName, type InstrumentList } from "./symbols.js";
import type { VenuefourWirePrice } from "./wire.js";

/** Names in one log line. */
const MAX_LOGGED_NAMES = 20;

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
  readonly #options: VenuefourMarketsOptions;
  readonly #bySymbol = new Map<string, Market>();
  readonly #byNativeSymbol = new Map<string, Market>();
  readonly #instruments = new Map<string, Instrument>();
  #driftCount = 0;
  #badRowCount = 0;
  #lastSkipped = "";

  constructor(options: VenuefourMarketsOptions) {
    this.#options = options;
  }

  /** One map for the life of the room; it grows and its entries are replaced. */
  get bySymbol(): ReadonlyMap<string, Market> {
    return this.#bySymbol;
  }

  /** Of all markets; grows and has its entries replaced with them. */
  get instruments(): ReadonlyMap<string, Instrument> {
    return this.#instruments;
  }

  byNativeSymbol(nativeSymbol: string): Market | undefined {
    return this.#byNativeSymbol.get(nativeSymbol);
  }

  /** Contracts that changed their scale or name under the same symbol. */
  get driftCount(): number {
    return this.#driftCount;
  }

  /** Unreadable rows of the list, all loads together. */
  get badRowCount(): number {
    return this.#badRowCount;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt(list: VenuefourMarketList, prices: readonly VenuefourWirePrice[], tsRecvNs: number): void {
    this.#badRowCount += list.badCount;
    const instruments = buildInstruments(list.markets, this.#options.fees, this.#instruments);
    this.#reportSkipped(instruments.skipped);
    // A row that could not be read may be any contract's: then none loses its symbol to another, and nothing is taken for delisted.
    const isWhole = list.badCount === 0;
    const skipped = new Set(instruments.skipped);
    const mayHold = (nativeSymbol: string): boolean => !isWhole || skipped.has(nativeSymbol);
    const listed = new Set<string>();
    for (const instrument of instruments.bySymbol.values()) {
      if (isAnothers(this.#instruments.get(instrument.symbol), instrument, mayHold)) continue;
      listed.add(instrument.symbol);
      this.#list(instrument);
    }
    // A list without a perpetual is none of ours.
    if (isWhole && instruments.bySymbol.size > 0) {
      for (const [symbol, market] of this.#bySymbol) if (!listed.has(symbol)) this.#delist(symbol, market);
    }
    const stream = this.#options.stream;
    for (const price of prices) stream.applyPrice(price, tsRecvNs);
    this.#streamMarkets(instruments, prices);
  }

  #list(instrument: Instrument): void {
    const known = this.#bySymbol.get(instrument.symbol);
    if (known !== undefined && isSameTerms(known.instrument, instrument)) return;
    if (known !== undefined && canRestate(known.instrument, instrument)) {
      this.#options.logger.warn("venuefour.instrument.changed", { symbol: instrument.symbol });
      restate(known, instrument);
      this.#keep(known);
      return;
    }
    if (known !== undefined) {
      if (known.instrument.status === "TRADING") {
        // Another grid or name under the same symbol: the old book means nothing any more.
        this.#driftCount++;
        this.#options.logger.warn("venuefour.instrument.changed", { symbol: instrument.symbol });
      }
      this.#options.stream.remove(known.instrument.nativeSymbol);
      this.#byNativeSymbol.delete(known.instrument.nativeSymbol);
    }
    const isRescaled = known !== undefined && !isSameScale(known.instrument, instrument);
    this.#keep(createMarket(instrument, { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 }));
    if (isRescaled) this.#options.onRescaled();
  }

  /** The market stays in the map, halted and without a book: positions in it must still be readable. */
  #delist(symbol: string, market: Market): void {
    if (market.instrument.status === "HALTED") return;
    this.#options.logger.warn("venuefour.instrument.delisted", { symbol });
    this.#options.stream.remove(market.instrument.nativeSymbol);
    this.#keep({ ...market, instrument: { ...market.instrument, status: "HALTED" } });
  }

  #keep(market: Market): void {
    this.#bySymbol.set(market.instrument.symbol, market);
    this.#byNativeSymbol.set(market.instrument.nativeSymbol, market);
    this.#instruments.set(market.instrument.symbol, market.instrument);
  }

  /** Most traded first, within the connections allowed. */
  #streamMarkets(instruments: InstrumentList, prices: readonly VenuefourWirePrice[]): void {
    const { logger, maxMarkets } = this.#options;
    const stream = this.#options.stream;
    let leftOutCount = 0;
    for (const market of byVolume(this.#wanted(instruments), prices)) {
      if (stream.streamedCount < maxMarkets) stream.add(market);
      else if (!stream.streams(market.instrument.nativeSymbol)) leftOutCount++;
    }
    if (leftOutCount > 0) logger.warn("venuefour.markets.left-out", { count: leftOutCount, limit: maxMarkets });
  }

  #wanted(instruments: InstrumentList): readonly Market[] {
    const { symbols, logger } = this.#options;
    if (symbols === "all") return [...this.#bySymbol.values()];
    const wanted: Market[] = [];
    for (const text of symbols) {
      const symbol = instruments.bySymbol.has(text) ? text : instruments.byFoldedName.get(foldName(text))?.symbol;
      const market = symbol === undefined ? undefined : this.#bySymbol.get(symbol);
      if (market === undefined) logger.warn("venuefour.symbol.unlisted", { symbol: text });
      else wanted.push(market);
    }
    return wanted;
  }

  /** Each refresh finds the same: only a change is news. */
  #reportSkipped(skipped: readonly string[]): void {
    const names = skipped.slice(0, MAX_LOGGED_NAMES).join(" ");
    if (skipped.length > 0 && names !== this.#lastSkipped)
      this.#options.logger.warn("venuefour.instruments.skipped", { count: skipped.length, names });
    this.#lastSkipped = names;
  }
}

/** Most traded first; markets without a volume keep the venue's order behind them. */
export function byVolume(markets: readonly Market[], prices: readonly VenuefourWirePrice[]): readonly Market[] {
  // A float is good enough to rank by; it reaches no order.
  const volumes = new Map(prices.map((price) => [price.symbol, Number(price.volume_24h ?? 0)]));
  const volumeOf = (market: Market): number => volumes.get(market.instrument.nativeSymbol) ?? 0;
  return [...markets].sort((left, right) => volumeOf(right) - volumeOf(left));
}
