// hot path
/**
 * One order book in preallocated typed arrays.
 *
 * Layout: each side is a pair of Float64Array (ticks, lots; integers below 2^53), sorted **best
 * last**, so that a change near the touch moves few elements. Sides grow by doubling up to
 * MAX_LEVELS; beyond that the book is INVALID. Nothing allocates in steady state.
 *
 * States: EMPTY → SYNCING → LIVE → INVALID. A room invalidates first and repairs after; readers ask
 * `state === BOOK_LIVE`. After each `commit` the touched part is checked (order, sign, crossing).
 */

export const BOOK_EMPTY = 0;
export const BOOK_SYNCING = 1;
export const BOOK_LIVE = 2;
export const BOOK_INVALID = 3;
export type BookState = typeof BOOK_EMPTY | typeof BOOK_SYNCING | typeof BOOK_LIVE | typeof BOOK_INVALID;

/** Levels per side beyond which a book is taken for broken. */
export const MAX_LEVELS = 65_536;

/** API contract; see the class below. */
export interface BookApi {
  readonly state: BookState;
  /** Why the book is INVALID; "" otherwise. One of a fixed set of constants, never built text. */
  readonly invalidReason: string;
  readonly bidCount: number;
  readonly askCount: number;
  /** Level 0 is the best. NaN beyond the count. */
  bidTicks(levelIndex: number): number;
  bidLots(levelIndex: number): number;
  askTicks(levelIndex: number): number;
  askLots(levelIndex: number): number;
  /** Venue sequence of the last commit (0 where the venue has none), venue time ms, monotonic receive ns. */
  readonly seq: number;
  readonly tsVenueMs: number;
  readonly tsRecvNs: number;
  /** Monotonic ns of the last frame, heartbeat or probe that proved the book current. */
  readonly tsProvenNs: number;

  /** Enters SYNCING; content is kept out of readers' sight and dropped at the next snapshot. */
  beginSync(): void;
  /** Drops all levels and starts a replacement; state stays what it was until commit. */
  beginSnapshot(): void;
  /** Absolute quantity; 0 removes; removing an unknown level is normal. Negative, fractional or non-finite input marks the change as broken: commit will invalidate. */
  applyBid(priceTicks: number, qtyLots: number): void;
  applyAsk(priceTicks: number, qtyLots: number): void;
  /** Ends a snapshot or a batch of changes: checks invariants, stamps, becomes LIVE; false and INVALID if a check failed. */
  commit(seq: number, tsVenueMs: number, tsRecvNs: number): boolean;
  /** Marks a proof of currency without a change. */
  prove(tsRecvNs: number): void;
  invalidate(reason: string): void;
  /** Back to EMPTY. */
  clear(): void;
}
