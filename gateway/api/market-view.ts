/**
 * The rooms as the routes see them: which symbols are listed and where, and the error for one that is not.
 * Keeps no state; a room's markets may grow at any time.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import { resolveSymbol } from "../../engine/domain/symbol.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import {
  BOOK_INVALID,
  BOOK_LIVE,
  type BookState,
  INVALID_DISCONNECTED,
  INVALID_REFUSED,
} from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import { isTradingRoom, type MarketRoom } from "../../engine/ports.js";

/** Symbols shown to a caller who asked for an unknown one. */
export const PREVIEW_SYMBOLS = 20;
/** First in every preview, if listed. */
const MAJORS = ["BTC", "ETH", "SOL"];

export class MarketView {
  readonly rooms: readonly MarketRoom[];
  readonly #byVenue: ReadonlyMap<RoutableVenue, MarketRoom>;

  constructor(rooms: readonly MarketRoom[]) {
    this.rooms = rooms;
    this.#byVenue = new Map(rooms.map((room) => [room.venue, room]));
  }

  room(venue: RoutableVenue): MarketRoom | null {
    return this.#byVenue.get(venue) ?? null;
  }

  /** Venues of the interface that this process does not run. */
  unconfigured(): RoutableVenue[] {
    return ROUTABLE_VENUES.filter((venue) => !this.#byVenue.has(venue));
  }

  market(venue: RoutableVenue, symbol: string): Market | null {
    return this.#byVenue.get(venue)?.markets.get(symbol) ?? null;
  }

  /** Includes contracts that are known and not followed: an account's holdings in them are counted by these. */
  instrument(venue: RoutableVenue, symbol: string): Instrument | null {
    const room = this.#byVenue.get(venue);
    if (room === undefined) return null;
    const known = isTradingRoom(room) ? room.instruments?.get(symbol) : undefined;
    return room.markets.get(symbol)?.instrument ?? known ?? null;
  }

  isListed(symbol: string): boolean {
    for (const room of this.rooms) if (room.markets.has(symbol)) return true;
    return false;
  }

  /** Returns the canonical symbol of the caller's text; throws UNKNOWN_SYMBOL when no venue lists it. */
  resolve(text: string): string {
    const symbol = resolveSymbol(text, (candidate) => this.isListed(candidate));
    if (symbol !== null) return symbol;
    throw this.unknownSymbol(text, null);
  }

  /** Like `resolve`, for one venue. */
  resolveOn(venue: RoutableVenue, text: string): string {
    const room = this.#byVenue.get(venue);
    const symbol = room === undefined ? null : resolveSymbol(text, (candidate) => room.markets.has(candidate));
    if (symbol !== null) return symbol;
    throw this.unknownSymbol(text, venue);
  }

  unknownSymbol(text: string, venue: RoutableVenue | null): ServiceError {
    const availableSymbols = this.preview(venue);
    return new ServiceError("UNKNOWN_SYMBOL", {
      symbol: text,
      where: venue === null ? "" : ` on ${venue}`,
      preview: availableSymbols.join(", ") || "none yet",
      ...(venue === null ? {} : { exchange: venue }),
      availableSymbols,
    });
  }

  /** Returns at most PREVIEW_SYMBOLS listed symbols: the majors, then in alphabetical order. */
  preview(venue: RoutableVenue | null): string[] {
    const listed = new Set<string>();
    for (const room of this.rooms) {
      if (venue === null || room.venue === venue) for (const symbol of room.markets.keys()) listed.add(symbol);
    }
    const majors = MAJORS.filter((symbol) => listed.delete(symbol));
    return [...majors, ...[...listed].sort()].slice(0, PREVIEW_SYMBOLS);
  }

  /** Returns the room; throws VENUE_UNAVAILABLE when it is not configured. */
  requireRoom(venue: RoutableVenue): MarketRoom {
    const room = this.#byVenue.get(venue);
    if (room === undefined) throw venueUnavailable(venue, "NOT_CONFIGURED");
    return room;
  }
}

export function venueUnavailable(exchange: RoutableVenue, reason: "NOT_CONFIGURED" | "NO_DATA_YET"): ServiceError {
  return new ServiceError("VENUE_UNAVAILABLE", { exchange, reason });
}

const BOOK_STATE_WORDS = ["EMPTY", "SYNCING", "LIVE", "INVALID"] as const;

export function bookStateWord(state: BookState): (typeof BOOK_STATE_WORDS)[number] {
  return BOOK_STATE_WORDS[state];
}

/** LIVE and proven current within the venue's own limit. */
export function isBookFresh(market: Market, nowNs: number): boolean {
  return market.book.state === BOOK_LIVE && ageMs(market.book.tsProvenNs, nowNs) <= market.maxBookAgeMs;
}

/**
 * State of one market's feed. The book decides: it is invalidated first when anything breaks, so a
 * ticker beside a broken book is not LIVE. `ageLimitMs` bounds the age of the data shown.
 */
export function feedStateOf(market: Market, shownAgeMs: number, ageLimitMs: number): FeedState {
  const book = market.book;
  const isGone = book.invalidReason === INVALID_DISCONNECTED || book.invalidReason === INVALID_REFUSED;
  if (book.state === BOOK_INVALID && isGone) return "DOWN";
  if (book.state !== BOOK_LIVE) return "SYNCING";
  return shownAgeMs > ageLimitMs ? "STALE" : "LIVE";
}
