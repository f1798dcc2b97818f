// hot path
/**
 * One order book in preallocated typed arrays.
 *
 * Layout: each side is a price ladder near the touch and a sorted array beyond it (ladder-side.ts),
 * integers below 2^53 throughout. Sides grow by doubling up to MAX_LEVELS; beyond that the book is
 * INVALID. Nothing allocates in steady state.
 *
 * States: EMPTY → SYNCING → LIVE → INVALID. A room invalidates first and repairs after; readers check
 * `state === BOOK_LIVE`. After each `commit` the touched part is checked (order, sign, crossing).
 */
import { type Changed, NO_LISTENER } from "./changed.js";
import { LadderSide } from "./ladder-side.js";

export const BOOK_EMPTY = 0;
export const BOOK_SYNCING = 1;
export const BOOK_LIVE = 2;
export const BOOK_INVALID = 3;
export type BookState = typeof BOOK_EMPTY | typeof BOOK_SYNCING | typeof BOOK_LIVE | typeof BOOK_INVALID;

/** A book with more levels per side counts as broken. */
export const MAX_LEVELS = 65_536;

/** The interface of a book; the class is below. */
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

  /**
   * Enters SYNCING. Readers no longer see the content, which is dropped at the next snapshot. `reason`: why a LIVE book
   * has to.
   */
  beginSync(reason?: string): void;
  /** Drops all levels and starts a replacement; state stays what it was until commit. */
  beginSnapshot(): void;
  /**
   * Sets an absolute quantity; 0 removes, and removing an unknown level is normal. A negative, fractional or non-finite
   * input marks the change as broken: commit will invalidate.
   */
  applyBid(priceTicks: number, qtyLots: number): void;
  applyAsk(priceTicks: number, qtyLots: number): void;
  /**
   * Ends a snapshot or a batch of changes: checks invariants, stamps, becomes LIVE. Returns false, with the book
   * INVALID, if a check failed.
   */
  commit(seq: number, tsVenueMs: number, tsRecvNs: number): boolean;
  /** Records a proof of currency without a change. */
  prove(tsRecvNs: number): void;
  invalidate(reason: string): void;
  /** Returns to EMPTY. */
  clear(): void;
}

/** The fixed set of reasons. Rooms pass the first group to `invalidate`; the book itself finds the second. */
export const INVALID_GAP = "SEQUENCE_GAP";
export const INVALID_DISCONNECTED = "DISCONNECTED";
export const INVALID_DECODE = "DECODE_ERROR";
export const INVALID_PROBE_MISMATCH = "PROBE_MISMATCH";
/** The venue does not serve this market's stream, while it serves others. */
export const INVALID_REFUSED = "SUBSCRIPTION_REFUSED";
export const INVALID_CROSSED = "CROSSED";
export const INVALID_BAD_LEVEL = "BAD_LEVEL";
export const INVALID_TOO_MANY_LEVELS = "TOO_MANY_LEVELS";

/** Its stream fell silent: the book is not known to be wrong, and not known to be current. */
export const LOST_SILENT = "SILENT";

/** Told why a book has left LIVE and is to be brought back. */
export interface BookLost {
  lost(reason: string): void;
}

const NOBODY_ASKS: BookLost = { lost() {} };

/** tsProvenNs before the first commit. */
export const NEVER_PROVEN_NS = -1;

/**
 * A batch of changes is accepted only by a LIVE book or after `beginSnapshot`: a delta can never revive a book that is
 * EMPTY, SYNCING or INVALID (`commit` then returns false and changes nothing). Between the first change of a batch and
 * its `commit` the content may be crossed. The caller runs from one to the other without yielding, so no reader sees
 * it.
 */
export class Book implements BookApi {
  /** For the tight loops of engine/market; other readers use the level accessors. */
  readonly bids: LadderSide;
  readonly asks: LadderSide;
  /** Runs after each commit and whenever the book leaves LIVE. */
  onChange: Changed = NO_LISTENER;
  /** Told once whenever the book leaves LIVE, but not when it is cleared. */
  onLost: BookLost = NOBODY_ASKS;
  #state: BookState = BOOK_EMPTY;
  #invalidReason = "";
  /** Whether changes are accepted: the book is LIVE, or inside a snapshot. */
  #open = false;
  /** Reason found since the last commit, "" if none. */
  #broken = "";
  #seq = 0;
  #tsVenueMs = 0;
  #tsRecvNs = 0;
  #tsProvenNs = NEVER_PROVEN_NS;

  /**
   * `stepTicks`: the venue's price increment, one rung of the ladder. `maxLevels`: per side; a test passes a small one.
   */
  constructor(stepTicks = 1, maxLevels: number = MAX_LEVELS) {
    this.bids = new LadderSide(maxLevels, stepTicks);
    this.asks = new LadderSide(maxLevels, stepTicks);
  }

  get state(): BookState {
    return this.#state;
  }

  get invalidReason(): string {
    return this.#invalidReason;
  }

  /** 0 while not LIVE: readers see a book only while it is LIVE. */
  get bidCount(): number {
    return this.#state === BOOK_LIVE ? this.bids.count : 0;
  }

  get askCount(): number {
    return this.#state === BOOK_LIVE ? this.asks.count : 0;
  }

  get seq(): number {
    return this.#seq;
  }

  get tsVenueMs(): number {
    return this.#tsVenueMs;
  }

  get tsRecvNs(): number {
    return this.#tsRecvNs;
  }

  get tsProvenNs(): number {
    return this.#tsProvenNs;
  }

  bidTicks(levelIndex: number): number {
    return this.#state === BOOK_LIVE ? this.bids.keyAt(levelIndex) : Number.NaN;
  }

  bidLots(levelIndex: number): number {
    return this.#state === BOOK_LIVE ? this.bids.lotsAt(levelIndex) : Number.NaN;
  }

  askTicks(levelIndex: number): number {
    return this.#state === BOOK_LIVE ? -this.asks.keyAt(levelIndex) : Number.NaN;
  }

  askLots(levelIndex: number): number {
    return this.#state === BOOK_LIVE ? this.asks.lotsAt(levelIndex) : Number.NaN;
  }

  beginSync(reason: string = INVALID_DISCONNECTED): void {
    const wasLive = this.#state === BOOK_LIVE;
    this.#state = BOOK_SYNCING;
    this.#invalidReason = "";
    this.#open = false;
    this.#broken = "";
    if (!wasLive) return;
    this.onChange.changed();
    this.onLost.lost(reason);
  }

  beginSnapshot(): void {
    this.bids.beginLoad();
    this.asks.beginLoad();
    this.#open = true;
    this.#broken = "";
  }

  applyBid(priceTicks: number, qtyLots: number): void {
    if (!this.#open) return;
    if (!(priceTicks > 0) || !isQty(qtyLots)) this.#broken = INVALID_BAD_LEVEL;
    else if (!this.bids.apply(priceTicks, qtyLots)) this.#broken = refusalOf(priceTicks);
  }

  applyAsk(priceTicks: number, qtyLots: number): void {
    if (!this.#open) return;
    if (!(priceTicks > 0) || !isQty(qtyLots)) this.#broken = INVALID_BAD_LEVEL;
    else if (!this.asks.apply(-priceTicks, qtyLots)) this.#broken = refusalOf(priceTicks);
  }

  commit(seq: number, tsVenueMs: number, tsRecvNs: number): boolean {
    if (!this.#open) return false;
    const bids = this.bids;
    const asks = this.asks;
    bids.finishLoad();
    asks.finishLoad();
    if (this.#broken !== "") {
      this.invalidate(this.#broken);
      return false;
    }
    // Order and sign hold by construction (isQty, LadderSide.apply); only crossing is left to check.
    if (bids.count > 0 && asks.count > 0 && bids.bestKey >= -asks.bestKey) {
      this.invalidate(INVALID_CROSSED);
      return false;
    }
    this.#seq = seq;
    this.#tsVenueMs = tsVenueMs;
    this.#tsRecvNs = tsRecvNs;
    // A proof of a book that has left LIVE does not apply to its successor.
    if (this.#state !== BOOK_LIVE || tsRecvNs > this.#tsProvenNs) this.#tsProvenNs = tsRecvNs;
    this.#state = BOOK_LIVE;
    this.#invalidReason = "";
    this.onChange.changed();
    return true;
  }

  /** Only a LIVE book can be proven current. */
  prove(tsRecvNs: number): void {
    if (this.#state === BOOK_LIVE && tsRecvNs > this.#tsProvenNs) this.#tsProvenNs = tsRecvNs;
  }

  invalidate(reason: string): void {
    const wasLive = this.#state === BOOK_LIVE;
    this.#state = BOOK_INVALID;
    this.#invalidReason = reason;
    this.#open = false;
    this.#broken = "";
    this.onChange.changed();
    if (wasLive) this.onLost.lost(reason);
  }

  clear(): void {
    this.bids.clear();
    this.asks.clear();
    this.#state = BOOK_EMPTY;
    this.#invalidReason = "";
    this.#open = false;
    this.#broken = "";
    this.#seq = 0;
    this.#tsVenueMs = 0;
    this.#tsRecvNs = 0;
    this.#tsProvenNs = NEVER_PROVEN_NS;
    this.onChange.changed();
  }
}

/**
 * The ladder checks the price: inside its window a price is right by its place, and only beyond it is the price
 * examined.
 */
function isQty(qtyLots: number): boolean {
  return qtyLots >= 0 && qtyLots <= Number.MAX_SAFE_INTEGER && Math.floor(qtyLots) === qtyLots;
}

/** Cold path: finds why the ladder refused the level. */
function refusalOf(priceTicks: number): string {
  return Number.isSafeInteger(priceTicks) ? INVALID_TOO_MANY_LEVELS : INVALID_BAD_LEVEL;
}
