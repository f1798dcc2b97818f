/**
 * The listed contracts of the venue and their markets: built from the venue's list, kept up with it, and handed to the
 * market stream, most traded first.
 *
 * Invariant: a market keeps its scale for life; the book of one that was halted or listed again on another scale leaves
 * LIVE before its successor appears.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { type Instrument, isSameScale } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { canRestate, isAnothers, isSameTerms, restate } from "../../shared/room/listing-terms.js";
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

const MAX_LOGGED_NAMES = 20;

export class VenuethreeMarkets {
  readonly #options: VenuethreeMarketsOptions;
  readonly #bySymbol = new Map<string, Market>();
  readonly #instruments = new Map<string, Instrument>();
  #driftCount = 0;

  constructor(options: VenuethreeMarketsOptions) {
    this.#options = options;
  }

  /** One map for the life of the room; it grows and its entries are replaced. */
  get bySymbol(): ReadonlyMap<string, Market> {
    return this.#bySymbol;
  }

  /** Every contract known, by canonical symbol; those that are wanted have a market too. One that leaves the list stays, halted. */
  get instruments(): ReadonlyMap<string, Instrument> {
    return this.#instruments;
  }

  /** Contracts that changed their scale or number under the same name. */
  get driftCount(): number {
    return this.#driftCount;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt(details: DetailsAnswer): void {
    const { logger, fees, stream } = this.#options;
    const { bySymbol, skipped } = buildInstruments(details.markets, fees, this.#instruments);
    const names = [...details.broken, ...skipped.map(({ nativeSymbol }) => nativeSymbol)];
    if (names.length > 0) {
      logger.warn("venuethree.instruments.skipped", {
        count: names.length,
        names: names.slice(0, MAX_LOGGED_NAMES).join(" ").slice(0, 400),
      });
    }
    const unread = new Set(details.broken);
    for (const { nativeSymbol, reason } of skipped) if (reason !== "lessPreferred") unread.add(nativeSymbol);
    // A row that cannot even be named may be any contract's.
    const mayHold = (nativeSymbol: string): boolean => unread.has(nativeSymbol) || unread.has("");
    const listed = new Set<string>();
    for (const instrument of bySymbol.values()) {
      if (isAnothers(this.#instruments.get(instrument.symbol), instrument, mayHold)) continue;
      listed.add(instrument.symbol);
      if (this.#isWanted(instrument)) this.#list(instrument);
      else this.#know(instrument);
    }
    // An empty answer is no list, and by one of which a row cannot be named nothing is taken for delisted.
    if (bySymbol.size > 0 && !unread.has("")) this.#haltUnlisted(listed);
    const statsById = new Map(details.markets.map(({ stats }) => [stats.market_id, stats]));
    this.#fillTickers(statsById);
    // A float is good enough to rank by; it reaches no order.
    const volume = ({ instrument }: Market): number =>
      Number(statsById.get(instrument.nativeId)?.daily_quote_token_volume ?? 0);
    const trading = [...this.#bySymbol.values()].filter(({ instrument }) => instrument.status === "TRADING");
    stream.add(trading.sort((left, right) => volume(right) - volume(left)));
  }

  #isWanted(instrument: Instrument): boolean {
    const { symbols } = this.#options;
    return symbols === "all" || symbols.includes(instrument.symbol);
  }

  #list(instrument: Instrument): void {
    const known = this.#bySymbol.get(instrument.symbol);
    if (known !== undefined && isSameTerms(known.instrument, instrument)) return;
    if (known !== undefined && canRestate(known.instrument, instrument)) {
      this.#options.logger.warn("venuethree.instrument.changed", { symbol: instrument.symbol });
      this.#instruments.set(instrument.symbol, instrument);
      restate(known, instrument);
      return;
    }
    if (known !== undefined) {
      const { logger, stream } = this.#options;
      if (!isSameScale(known.instrument, instrument)) this.#driftCount++;
      logger.warn("venuethree.instrument.changed", { symbol: instrument.symbol, status: instrument.status });
      // Halted markets accept subscriptions and stay silent (sheet): theirs are given back.
      stream.remove(known);
    }
    this.#know(instrument);
    this.#bySymbol.set(
      instrument.symbol,
      createMarket(instrument, { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 }),
    );
  }

  #haltUnlisted(listed: ReadonlySet<string>): void {
    for (const market of this.#bySymbol.values()) {
      if (!listed.has(market.instrument.symbol)) this.#list({ ...market.instrument, status: "HALTED" });
    }
    for (const [symbol, instrument] of this.#instruments) {
      if (!listed.has(symbol) && instrument.status !== "HALTED")
        this.#instruments.set(symbol, { ...instrument, status: "HALTED" });
    }
  }

  #know(instrument: Instrument): void {
    const before = this.#instruments.get(instrument.symbol);
    this.#instruments.set(instrument.symbol, instrument);
    if (before !== undefined && !isSameScale(before, instrument)) this.#options.onRescaled();
  }

  /** The figures of the day come from here; prices and funding only while the stream has not spoken. */
  #fillTickers(statsById: ReadonlyMap<number, VenuethreeWireStats>): void {
    const { clock, clockOffset, stream } = this.#options;
    const nowMs = Math.round(clock.wallMs() + clockOffset.offsetMs);
    for (const market of this.#bySymbol.values()) {
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
