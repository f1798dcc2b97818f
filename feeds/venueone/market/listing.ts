/**
 * The listed contracts of the venue and their markets (feeds/shared/room/market-list.ts), read from its universe, whose
 * rows are numbered by their place, and the contexts that come with it. Streams go to the most traded first, within the
 * venue's subscription limit.
 *
 * Invariant: a number is believed only from a list that lost no row.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { MarketList, mostTradedFirst } from "../../shared/room/market-list.js";
import type { VenueoneWireUniverse } from "./decode.js";
import { DEEP_BOOK_MAX_AGE_MS, FAST_BOOK_MAX_AGE_MS } from "../rules/limits.js";
import { applyContext } from "./normalize.js";
import type { MarketStream } from "./stream.js";
import { buildInstruments } from "./symbols.js";

export interface VenueoneMarketsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clockOffset: ClockOffset;
  readonly stream: MarketStream;
  readonly symbols: "all" | readonly string[];
  readonly fees: FeeRates;
  /** Coins the subscription limit allows to stream. */
  readonly maxCoins: number;
  /** Positions and orders counted before are in other lots or ticks from now on. */
  readonly onRescaled: () => void;
}

export class VenueoneMarkets {
  readonly bySymbol: ReadonlyMap<string, Market>;
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly #options: VenueoneMarketsOptions;
  readonly #list: MarketList;
  /** The venue's names by their numbers, of the last list believed. */
  #names: readonly string[] = [];
  /** Places that the last list gave to names nobody knew; empty: none. */
  #renamed = "";
  #refusedCount = 0;

  constructor(options: VenueoneMarketsOptions) {
    const { logger, stream, onRescaled } = options;
    this.#options = options;
    this.#list = new MarketList({
      venue: "venueone",
      logger,
      market: { deepTier: true, maxBookAgeMs: FAST_BOOK_MAX_AGE_MS, maxDeepAgeMs: DEEP_BOOK_MAX_AGE_MS },
      unstream: ({ instrument }) => stream.remove(instrument.nativeSymbol),
      onRescaled,
    });
    this.bySymbol = this.#list.bySymbol;
    this.instruments = this.#list.instruments;
  }

  /** Contracts that changed their scale or number under the same name, and lists that had lost rows. */
  get driftCount(): number {
    return this.#list.driftCount + this.#refusedCount;
  }

  /** By the last list believed, which keeps what is delisted; null: it is not in it. */
  numberOf(coin: string): number | null {
    const number = this.#names.indexOf(coin);
    return number < 0 ? null : number;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt(universe: VenueoneWireUniverse): void {
    const { fees, logger } = this.#options;
    const names = universe.meta.universe.map(({ name }) => name);
    const named = new Set(names);
    const isRenamedFirst = this.#isRenamedFirst(names, named);
    if (isRenamedFirst || this.#hasLostRows(names, named)) {
      this.#refusedCount++;
      logger.warn("venueone.universe.lost-rows", { count: names.length, knownCount: this.#names.length });
      return;
    }
    // Assets that are missing at the end of a list keep their numbers.
    this.#names = [...names, ...this.#names.slice(names.length)];
    const { bySymbol, byCoin, skipped } = buildInstruments(universe.meta, fees, this.instruments);
    const unspoken = new Set(skipped);
    this.#list.adopt({
      listed: bySymbol,
      // The venue never removes an asset: one that is not named, or cannot be represented here, still exists.
      mayHold: (coin) => !named.has(coin) || unspoken.has(coin),
      // It is delisted in that list. An asset that is not named keeps its state, unless its number is another's.
      isGone: ({ nativeId, nativeSymbol }) => named.has(nativeSymbol) || this.#names[nativeId] !== nativeSymbol,
      skipped,
    });
    this.#fillTickers(universe, byCoin);
    this.#streamMarkets(universe);
  }

  /**
   * An asset's number is its place, and it keeps it: where one is missing and others have moved, rows were lost on the
   * way, and orders by such numbers would go to other contracts.
   */
  #hasLostRows(names: readonly string[], named: ReadonlySet<string>): boolean {
    const known = this.#names;
    if (known.every((name) => named.has(name))) return false;
    const isShort = names.length < known.length;
    const wasKnown = new Set(known);
    return names.some(
      (name, place) => place < known.length && name !== known[place] && (isShort || wasKnown.has(name)),
    );
  }

  /**
   * A known place has a name that is new, and its own is gone: a row was lost before one that was just listed, or the
   * asset has another name from now on. That is adopted when the next list shows it too.
   */
  #isRenamedFirst(names: readonly string[], named: ReadonlySet<string>): boolean {
    const places = this.#names.flatMap((known, place) => {
      const name = names[place];
      return name === undefined || name === known || named.has(known) ? [] : `${place} ${name}`;
    });
    const renamed = places.join(", ");
    const isFirst = renamed !== "" && renamed !== this.#renamed;
    this.#renamed = renamed;
    return isFirst;
  }

  /** Of assets that are in the list under the number known. A streamed ticker is newer than this. */
  #fillTickers({ contexts, meta }: VenueoneWireUniverse, spoken: ReadonlyMap<string, Instrument>): void {
    const { clock, clockOffset, stream } = this.#options;
    const venueNowMs = Math.round(clock.wallMs() + clockOffset.offsetMs);
    for (const { instrument, ticker } of this.bySymbol.values()) {
      const { nativeId, nativeSymbol } = instrument;
      const context = meta.universe[nativeId]?.name === nativeSymbol ? contexts[nativeId] : undefined;
      if (context === undefined || !spoken.has(nativeSymbol)) continue;
      if (ticker.known && stream.streams(nativeSymbol)) continue;
      applyContext(ticker, context, venueNowMs, clock.monoNs());
    }
  }

  /** Most traded first, within the venue's subscription limit; what the account streams need is left free. */
  #streamMarkets({ contexts, meta }: VenueoneWireUniverse): void {
    const { symbols, stream, maxCoins } = this.#options;
    const volumes = new Map(meta.universe.map(({ name }, index) => [name, contexts[index]?.dayNtlVlm]));
    const wanted =
      symbols === "all" ? this.bySymbol.values() : this.#list.named(symbols, (symbol) => this.bySymbol.get(symbol));
    this.#list.streamWithin(
      maxCoins,
      stream,
      mostTradedFirst(wanted, ({ nativeSymbol }) => volumes.get(nativeSymbol)),
    );
  }
}
