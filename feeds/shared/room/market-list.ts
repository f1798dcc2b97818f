/**
 * The contracts that a venue lists, and the markets of those that its room follows: built from a freshly read list, and
 * kept up with it. A room defines what its list means (`ListReading`) and in which order it streams.
 *
 * Invariants: two maps for the life of the room, which only grow and whose entries are replaced; a market has the very
 * instrument of the other map. A market keeps its scale for life (ADR 20): on another scale the old book ends LIVE
 * before its successor appears, other terms are restated in place. What is delisted, halted or listed by rules that
 * cannot be read stays in both maps, HALTED and without streams, so that positions in it can be read. An empty list, or
 * one of which a row cannot even be named, halts nothing.
 */
import { type Instrument, isSameScale } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { createMarket, type Market, type MarketOptions } from "../../../engine/market/market.js";
import { isAnothers, isSameTerms, restate } from "./listing-terms.js";

/** Of one log line. */
const MAX_LOGGED_NAMES = 20;
const MAX_LOGGED_CHARS = 400;

export interface MarketListOptions {
  readonly venue: RoutableVenue;
  readonly logger: Logger;
  /** Depth tiers of every market, and how old they may be. */
  readonly market: MarketOptions;
  /** Canonical symbols that get a market (default all); of the others the contract alone is known. */
  readonly symbols?: "all" | readonly string[];
  /** Ends the streams of a market; its book is not LIVE any more. */
  readonly unstream: (market: Market) => void;
  /** Positions and orders counted before are in other lots or ticks from now on. */
  readonly onRescaled: () => void;
}

/** What one list holds. */
export interface ListReading {
  /** By canonical symbol. */
  readonly listed: ReadonlyMap<string, Instrument>;
  /** May the list hold this contract, by the venue's name, in a row that could not be read? */
  readonly mayHold: (nativeSymbol: string) => boolean;
  /** Does the list mean that this contract, which it does not list, cannot be traded? */
  readonly isGone: (instrument: Instrument) => boolean;
  /** Rows that are not listed, for the log. */
  readonly skipped: readonly string[];
}

/** Of a list that omits what is delisted. `unread`: the venue's names of rows that could not be read; "" where one has none. */
export function wholeList(
  listed: ReadonlyMap<string, Instrument>,
  unread: ReadonlySet<string>,
  skipped: readonly string[],
): ListReading {
  const isNameless = unread.has("");
  return {
    listed,
    // A row that cannot even be named may be any contract's.
    mayHold: (nativeSymbol) => isNameless || unread.has(nativeSymbol),
    isGone: () => !isNameless,
    skipped,
  };
}

export class MarketList {
  readonly #options: MarketListOptions;
  readonly #bySymbol = new Map<string, Market>();
  readonly #instruments = new Map<string, Instrument>();
  /** Events as they were last logged: each refresh finds the same again, and only a change is news. */
  readonly #logged = new Map<string, string>();
  #driftCount = 0;

  constructor(options: MarketListOptions) {
    this.#options = options;
  }

  get bySymbol(): ReadonlyMap<string, Market> {
    return this.#bySymbol;
  }

  /** Every contract known, by canonical symbol. */
  get instruments(): ReadonlyMap<string, Instrument> {
    return this.#instruments;
  }

  /** Contracts that changed their scale, name or number under the same symbol while they traded. */
  get driftCount(): number {
    return this.#driftCount;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt({ listed, isGone, mayHold, skipped }: ListReading): void {
    this.#logNews("instruments.skipped", skipped);
    for (const instrument of listed.values())
      if (!isAnothers(this.#instruments.get(instrument.symbol), instrument, mayHold)) this.#list(instrument);
    if (listed.size === 0) return;
    for (const known of this.#instruments.values()) {
      // Another contract in the symbol's place does not count.
      const isListed = listed.get(known.symbol)?.nativeSymbol === known.nativeSymbol;
      if (!isListed && isGone(known)) this.#list({ ...known, status: "HALTED" });
    }
  }

  /** The markets of these names, in their order; names of no market are logged. */
  named(names: readonly string[], find: (name: string) => Market | undefined): readonly Market[] {
    const markets = names.map(find);
    this.#logNews(
      "symbols.unlisted",
      names.filter((_name, index) => markets[index] === undefined),
    );
    return markets.filter((market) => market !== undefined);
  }

  /** Streams the markets in this order, while so many have room. */
  streamWithin(limit: number, stream: LimitedStream, markets: readonly Market[]): void {
    const leftOut: string[] = [];
    for (const market of markets) {
      const { nativeSymbol, status } = market.instrument;
      if (status !== "TRADING" || stream.streams(nativeSymbol)) continue;
      if (stream.streamedCount < limit) stream.add(market);
      else leftOut.push(nativeSymbol);
    }
    this.#logNews("markets.left-out", leftOut);
  }

  #list(instrument: Instrument): void {
    const before = this.#instruments.get(instrument.symbol);
    if (before !== undefined && isSameTerms(before, instrument)) return;
    const isRescaled = before !== undefined && !isSameScale(before, instrument);
    if (isRescaled && before.status === "TRADING") this.#driftCount++;
    this.#instruments.set(instrument.symbol, instrument);
    if (this.#isFollowed(instrument)) this.#follow(instrument);
    if (isRescaled) this.#options.onRescaled();
  }

  #isFollowed({ symbol }: Instrument): boolean {
    const { symbols = "all" } = this.#options;
    return symbols === "all" || symbols.includes(symbol);
  }

  #follow(instrument: Instrument): void {
    const { logger, market: tiers, unstream, venue } = this.#options;
    const { status, symbol } = instrument;
    const market = this.#bySymbol.get(symbol);
    if (market !== undefined) {
      logger.warn(`${venue}.instrument.changed`, { symbol, status });
      if (isSameScale(market.instrument, instrument)) {
        restate(market, instrument);
        if (status === "TRADING") return;
        unstream(market);
        // The move while it was halted is not one of a second.
        market.stats.breakSampling();
        return;
      }
      unstream(market);
    }
    this.#bySymbol.set(symbol, createMarket(instrument, tiers));
  }

  #logNews(event: string, names: readonly string[]): void {
    const { logger, venue } = this.#options;
    const text = names.slice(0, MAX_LOGGED_NAMES).join(" ").slice(0, MAX_LOGGED_CHARS);
    const isNews = this.#logged.get(event) !== text;
    this.#logged.set(event, text);
    if (isNews && names.length > 0) logger.warn(`${venue}.${event}`, { count: names.length, names: text });
  }
}

interface LimitedStream {
  /** Markets that are streamed. */
  readonly streamedCount: number;
  streams(nativeSymbol: string): boolean;
  add(market: Market): unknown;
}

/** Those of one volume keep their order. A float is good enough to rank by; it reaches no order. */
export function mostTradedFirst(
  markets: Iterable<Market>,
  volumeOf: (instrument: Instrument) => string | number | null | undefined,
): readonly Market[] {
  const volume = ({ instrument }: Market): number => Number(volumeOf(instrument) ?? 0);
  return [...markets].sort((left, right) => volume(right) - volume(left));
}
