/**
 * The listed contracts of the venue and their markets: built from the venue's list, kept up with it,
 * and handed to the market stream within the venue's subscription limit.
 *
 * Invariant: a market keeps its scale for life; books of one that was delisted or re-scaled leave LIVE before its
 * successor appears.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { type Instrument, isSameScale } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { canRestate, isAnothers, isSameTerms, restate } from "../../shared/room/listing-terms.js";
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
  readonly #options: VenueoneMarketsOptions;
  readonly #bySymbol = new Map<string, Market>();
  readonly #instruments = new Map<string, Instrument>();
  /** The venue's names by their numbers, of the last list believed. */
  #names: readonly string[] = [];
  /** Places that the last list gave to names nobody knew; empty: none. */
  #renamed = "";
  #driftCount = 0;

  constructor(options: VenueoneMarketsOptions) {
    this.#options = options;
  }

  /** One map for the life of the room; it grows and its entries are replaced. */
  get bySymbol(): ReadonlyMap<string, Market> {
    return this.#bySymbol;
  }

  get instruments(): ReadonlyMap<string, Instrument> {
    return this.#instruments;
  }

  /** Contracts that changed their scale or number under the same name, and lists that had lost rows. */
  get driftCount(): number {
    return this.#driftCount;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt(universe: VenueoneWireUniverse): void {
    const { clock, clockOffset, fees, logger, stream } = this.#options;
    const names = universe.meta.universe.map(({ name }) => name);
    const named = new Set(names);
    const isRenamedFirst = this.#isRenamedFirst(names, named);
    if (isRenamedFirst || this.#hasLostRows(names, named)) {
      this.#driftCount++;
      logger.warn("venueone.universe.lost-rows", { count: names.length, knownCount: this.#names.length });
      return;
    }
    // What a list leaves out at its end keeps its number.
    this.#names = [...names, ...this.#names.slice(names.length)];
    const list = buildInstruments(universe.meta, fees, this.#instruments);
    if (list.skipped.length > 0)
      logger.warn("venueone.instruments.skipped", {
        count: list.skipped.length,
        names: list.skipped.slice(0, 20).join(" "),
      });
    const skipped = new Set(list.skipped);
    // An asset never leaves the list: one that is not named, or cannot be spoken, is there all the same.
    const mayHold = (coin: string): boolean => !named.has(coin) || skipped.has(coin);
    for (const instrument of list.bySymbol.values())
      if (!isAnothers(this.#instruments.get(instrument.symbol), instrument, mayHold)) this.#list(instrument);
    if (list.bySymbol.size > 0) this.#delistNamed(named, list.bySymbol);
    const venueNowMs = Math.round(clock.wallMs() + clockOffset.offsetMs);
    for (const [index, context] of universe.contexts.entries()) {
      const instrument = list.byCoin.get(universe.meta.universe[index]?.name ?? "");
      const market = instrument === undefined ? undefined : this.#bySymbol.get(instrument.symbol);
      if (instrument === undefined || market?.instrument.nativeId !== index) continue;
      if (market.instrument.nativeSymbol !== instrument.nativeSymbol) continue;
      // A streamed ticker is newer than this.
      if (market.ticker.known && stream.streams(instrument.nativeSymbol)) continue;
      applyContext(market.ticker, context, venueNowMs, clock.monoNs());
    }
    this.#streamMarkets(universe);
  }

  /**
   * An asset's number is its place, and it keeps it: where one is missing and others stand elsewhere rows were lost on the
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
   * asset has another name from now on. That is believed when the next list says it too.
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

  #list(instrument: Instrument): void {
    const known = this.#bySymbol.get(instrument.symbol);
    if (known !== undefined && isSameTerms(known.instrument, instrument)) return;
    if (known !== undefined && canRestate(known.instrument, instrument)) {
      this.#options.logger.warn("venueone.instrument.changed", { symbol: instrument.symbol });
      this.#instruments.set(instrument.symbol, instrument);
      restate(known, instrument);
      return;
    }
    if (known !== undefined) {
      // Another scale or id under the same name: the old books mean nothing any more.
      this.#driftCount++;
      this.#options.logger.warn("venueone.instrument.changed", { symbol: instrument.symbol });
      this.#options.stream.remove(known.instrument.nativeSymbol);
    }
    this.#instruments.set(instrument.symbol, instrument);
    if (known !== undefined && !isSameScale(known.instrument, instrument)) this.#options.onRescaled();
    this.#bySymbol.set(
      instrument.symbol,
      createMarket(instrument, {
        deepTier: true,
        maxBookAgeMs: FAST_BOOK_MAX_AGE_MS,
        maxDeepAgeMs: DEEP_BOOK_MAX_AGE_MS,
      }),
    );
  }

  /**
   * An asset never leaves the venue's list, it is delisted in it: of one that the list does not name nothing is said, but
   * where its number is another's.
   */
  #delistNamed(named: ReadonlySet<string>, listed: ReadonlyMap<string, Instrument>): void {
    for (const [symbol, market] of this.#bySymbol)
      if (!isListed(listed.get(symbol), market) && (named.has(market.instrument.nativeSymbol) || this.#isTaken(market)))
        this.#delist(symbol, market);
  }

  #isTaken({ instrument: { nativeId, nativeSymbol } }: Market): boolean {
    return this.#names[nativeId] !== nativeSymbol;
  }

  /** The market stays in the map, halted and without a book: positions in it must still be readable. */
  #delist(symbol: string, market: Market): void {
    if (market.instrument.status === "HALTED") return;
    this.#options.logger.warn("venueone.instrument.delisted", { symbol });
    this.#options.stream.remove(market.instrument.nativeSymbol);
    const instrument: Instrument = { ...market.instrument, status: "HALTED" };
    this.#instruments.set(symbol, instrument);
    this.#bySymbol.set(symbol, { ...market, instrument });
  }

  /** Most traded first, within the venue's subscription limit; what the account streams need is left free. */
  #streamMarkets(universe: VenueoneWireUniverse): void {
    const { symbols, logger, stream, maxCoins } = this.#options;
    const volume = new Map<string, number>();
    for (const [index, asset] of universe.meta.universe.entries()) {
      // A float is good enough to rank by; it reaches no order.
      volume.set(asset.name, Number(universe.contexts[index]?.dayNtlVlm ?? 0));
    }
    const wanted = symbols === "all" ? [...this.#bySymbol.keys()] : symbols;
    const markets = wanted.map((symbol) => this.#bySymbol.get(symbol)).filter((market) => market !== undefined);
    for (const symbol of wanted) if (!this.#bySymbol.has(symbol)) logger.warn("venueone.symbol.unlisted", { symbol });
    const byVolume = (market: Market): number => volume.get(market.instrument.nativeSymbol) ?? 0;
    markets.sort((left, right) => byVolume(right) - byVolume(left));
    for (const market of markets) {
      if (stream.stats().streamedCount >= maxCoins) break;
      stream.add(market);
    }
  }
}

/** Another contract in the symbol's place does not count. */
function isListed(listed: Instrument | undefined, { instrument }: Market): boolean {
  return listed?.nativeSymbol === instrument.nativeSymbol;
}
