/**
 * Checks whole books against the present: the venue had each book that is LIVE and called fresh within the window,
 * WINDOW_MS by default. The book checker compares each book with the moment that the book itself names, so it accepts a
 * frozen one.
 *
 * A book of an older moment is right when nothing has changed since, or has changed back.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { Market } from "../../../engine/market/market.js";
import { firstDifference, inScaleOf, MAIN_LEVELS, type TrueVenue } from "./book-checker.js";
import { nativeName } from "./local-venues.js";

/** On venuethree: two seconds without a height, the two that a proof is good for, and the delay of a busy machine. */
const WINDOW_MS = 5_000;
/** Moments of the window with which an old book is compared. */
const COMPARED_EVERY_MS = 250;
const PROBLEMS_KEPT_MAX = 20;

interface WatchedMarket {
  readonly name: string;
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly market: Market;
  readonly truth: TrueVenue;
}

export class PresentChecker {
  readonly problems: string[] = [];
  /** Samples of books that were called fresh. */
  claimCount = 0;
  /** Samples of these that the venue did not have within the last WINDOW_MS. */
  frozenCount = 0;
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #markets: WatchedMarket[] = [];

  constructor(clock: Clock, windowMs: number = WINDOW_MS) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  watch(venue: RoutableVenue, truth: TrueVenue, symbol: string, market: Market): void {
    this.#markets.push({ name: `${venue} ${symbol}`, venue, symbol, market, truth });
  }

  /** Call it often. */
  sample(): void {
    for (const watched of this.#markets) {
      const { book, maxBookAgeMs } = watched.market;
      if (book.state !== BOOK_LIVE || ageMs(book.tsProvenNs, this.#clock.monoNs()) > maxBookAgeMs) continue;
      this.claimCount++;
      if (isOfWindow(watched, this.#windowMs)) continue;
      this.frozenCount++;
      if (this.problems.length < PROBLEMS_KEPT_MAX)
        this.problems.push(`${watched.name}: fresh, and none of the venue's books of the last ${this.#windowMs} ms`);
    }
  }
}

function isOfWindow({ venue, symbol, market, truth }: WatchedMarket, windowMs: number): boolean {
  const { exchange } = truth;
  const { book, instrument } = market;
  const native = nativeName(venue, symbol);
  const nowMs = exchange.nowMs();
  const sinceMs = nowMs - windowMs;
  const oldest = exchange.market.trueBookAtTime(native, sinceMs, 1);
  // The venue is younger than the window.
  if (oldest === null) return true;
  const isTimed = venue === "venueone" || venue === "venuefour";
  const isNew = isTimed ? book.tsVenueMs >= sinceMs : (truth.seqOfNonce?.(book.seq) ?? book.seq) >= oldest.seq;
  if (isNew) return true;
  for (let atMs = sinceMs; atMs <= nowMs; atMs += COMPARED_EVERY_MS) {
    const then = exchange.market.trueBookAtTime(native, atMs, MAIN_LEVELS[venue]);
    if (then === null) continue;
    const scaled = inScaleOf(then, exchange, native, instrument.priceDecimals, instrument.qtyDecimals);
    if (firstDifference(book, scaled) === null) return true;
  }
  return false;
}
