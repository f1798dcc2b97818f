/**
 * The listed contracts of the venue and their markets (feeds/shared/room/market-list.ts), read from exchangeInfo. No stream
 * reports a listing (sheet, market streams), so the list is read again every LIST_EVERY_MS, and at once when prices come
 * that do not fit it.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Market } from "../../../engine/market/market.js";
import { MarketList, wholeList } from "../../shared/room/market-list.js";
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

const MAX_NAME_CHARS = 32;
/** Rows that are no contract here are not logged: nothing in them can be held. */
const UNREADABLE: ReadonlySet<SkipReason> = new Set(["malformed", "unsafeRange", "offGrid"]);

export class VenuetwoMarkets {
  readonly bySymbol: ReadonlyMap<string, Market>;
  /** Every contract known; those that are wanted have a market too. */
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly #list: MarketList;
  readonly #stream: VenuetwoMarketsOptions["stream"];

  constructor({ logger, stream, symbols, onRescaled }: VenuetwoMarketsOptions) {
    this.#stream = stream;
    this.#list = new MarketList({
      venue: "venuetwo",
      logger,
      symbols,
      market: { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 },
      unstream: (market) => stream.remove(market),
      onRescaled,
    });
    this.bySymbol = this.#list.bySymbol;
    this.instruments = this.#list.instruments;
  }

  /** A freshly read list: all of it, or (when it could not be read) not called at all. */
  adopt({ instruments, skipped }: SymbolLoad): void {
    const refused = skipped.filter(({ reason }) => UNREADABLE.has(reason));
    const unread = new Set(refused.map(({ nativeSymbol }) => nativeSymbol));
    const names = refused.map(({ nativeSymbol, reason }) => `${nativeSymbol.slice(0, MAX_NAME_CHARS)}:${reason}`);
    this.#list.adopt(wholeList(instruments, unread, names));
    this.#stream.add([...this.bySymbol.values()].filter(({ instrument }) => instrument.status === "TRADING"));
  }
}
