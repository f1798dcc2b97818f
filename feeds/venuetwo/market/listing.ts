/**
 * The listed contracts of the venue and their markets: built from exchangeInfo, kept up with it, and handed to the market
 * stream. No stream reports a listing (sheet, market streams), so the list is read again every LIST_EVERY_MS, and at
 * once when prices come that do not fit it.
 *
 * Invariant: a market keeps its scale for life; the book of one that was halted, dropped from the list or listed again on
 * another scale leaves LIVE before its successor appears. What the list once held stays in the maps, halted, so that
 * positions in it can be read.
 */
import { type Instrument, isSameScale } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { createMarket, type Market } from "../../../engine/market/market.js";
import { isAnothers, isSameTerms, restate } from "../../shared/room/listing-terms.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import type { MarketStream } from "./stream.js";
import type { SkipReason, SymbolLoad } from "./symbols.js";

export interface VenuetwoMarketsOptions {
  readonly logger: Logger;
  readonly stream: Pick<MarketStream, "add" | "remove">;
  /** Canonical symbols, or all that are listed. */
  readonly symbols: "all" | readonly string[];
  /** Positions and orders counted before are in other lots or ticks from now on. */
  readonly onRescaled: () => void;
}

const MAX_LOGGED_NAMES = 10;
const UNREADABLE: ReadonlySet<SkipReason> = new Set(["malformed", "unsafeRange", "offGrid"]);
const isUnread = ({ reason }: { readonly reason: SkipReason }): boolean => UNREADABLE.has(reason);

export class VenuetwoMarkets {
  /** One map for the life of the room; it grows and its entries are replaced. */
  readonly bySymbol: Map<string, Market> = new Map();
  /** Every contract known; those that are wanted have a market too, the very same instrument in it. */
  readonly instruments: Map<string, Instrument> = new Map();
  readonly #options: VenuetwoMarketsOptions;
  #loggedRefusals = "";

  constructor(options: VenuetwoMarketsOptions) {
    this.#options = options;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. True if it changed anything. */
  adopt(load: SymbolLoad): boolean {
    this.#logRefusals(load);
    // An empty answer is no list: nothing that trades is halted by it.
    if (load.instruments.size === 0 && this.instruments.size > 0) return false;
    let isChanged = false;
    // A row that cannot even be named may be any contract's: then nothing is taken for delisted.
    const unread = new Set(load.skipped.filter(isUnread).map(({ nativeSymbol }) => nativeSymbol));
    const mayHold = (nativeSymbol: string): boolean => unread.has(nativeSymbol) || unread.has("");
    const listed = new Set<string>();
    for (const instrument of load.instruments.values()) {
      if (isAnothers(this.instruments.get(instrument.symbol), instrument, mayHold)) continue;
      listed.add(instrument.symbol);
      if (this.#list(instrument)) isChanged = true;
    }
    if (unread.has("")) return isChanged;
    for (const [symbol, instrument] of this.instruments) {
      if (listed.has(symbol)) continue;
      if (this.#list({ ...instrument, status: "HALTED" })) isChanged = true;
    }
    return isChanged;
  }

  #list(instrument: Instrument): boolean {
    const { symbol } = instrument;
    const before = this.instruments.get(symbol);
    if (before !== undefined && isSameTerms(before, instrument)) return false;
    this.instruments.set(symbol, instrument);
    if (before !== undefined && !isSameScale(before, instrument)) this.#options.onRescaled();
    if (!this.#isWanted(instrument)) return true;
    const { logger, stream } = this.#options;
    const market = this.bySymbol.get(symbol);
    if (market !== undefined) logger.warn("venuetwo.instrument-changed", { symbol, status: instrument.status });
    if (market !== undefined && isSameScale(market.instrument, instrument)) {
      restate(market, instrument);
      // Halted markets have no stream to speak of.
      if (instrument.status !== "TRADING") stream.remove(market);
      else if (before?.status !== "TRADING") stream.add([market]);
      return true;
    }
    if (market !== undefined) stream.remove(market);
    const fresh = createMarket(instrument, { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 });
    this.bySymbol.set(symbol, fresh);
    if (instrument.status === "TRADING") stream.add([fresh]);
    return true;
  }

  #isWanted(instrument: Instrument): boolean {
    const { symbols } = this.#options;
    return symbols === "all" || symbols.includes(instrument.symbol);
  }

  /** Each load finds the same: only a change is news. */
  #logRefusals(load: SymbolLoad): void {
    const refused = load.skipped.filter(isUnread).slice(0, MAX_LOGGED_NAMES);
    const text = refused.map(({ nativeSymbol, reason }) => `${nativeSymbol.slice(0, 32)} ${reason}`).join(", ");
    if (text === this.#loggedRefusals) return;
    this.#loggedRefusals = text;
    for (const { nativeSymbol, reason } of refused)
      this.#options.logger.warn("venuetwo.instrument-refused", { symbol: nativeSymbol.slice(0, 32), reason });
  }
}
