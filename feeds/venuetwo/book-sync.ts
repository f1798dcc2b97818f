// hot path
/**
 * Keeps one book equal to the venue's, by the venue's rule for diff streams (README.md, local book):
 *
 *   buffer diffs → snapshot at id L → drop diffs with u < L → the first applied one covers L
 *   (U ≤ L ≤ u) → from then on each diff's pu equals the u before it.
 *
 * Invariant: the book is LIVE only while that chain is unbroken. Whatever breaks it (a gap, figures out
 * of range, a crossed result) invalidates the book first; then `resync` is asked for, once per break.
 *
 * Decided here: a diff whose u is not above what was applied is a duplicate or came late, and is
 * ignored. A diff between whose pu and U the snapshot falls (pu ≤ L < U) covers L too: the venue changed
 * nothing of this symbol between pu and U. A quiet market, where no diff comes to cover the snapshot,
 * goes LIVE with a second snapshot that finds the stream still silent. Buffers are bounded; overflow drops the oldest,
 * which a later snapshot makes up for.
 */
import { type Book, INVALID_GAP } from "../../engine/market/book.js";
import type { VenuetwoFrame } from "./frame.js";
import { MAX_BUFFERED_DIFFS, MAX_BUFFERED_LEVELS } from "./limits.js";

/** What became of a diff. */
export const DIFF_APPLIED = 0;
/** Duplicate, late, or older than the snapshot. */
export const DIFF_IGNORED = 1;
export const DIFF_BUFFERED = 2;
/** The chain broke here; the diff is the first of the new buffer. */
export const DIFF_GAP = 3;
/** The book refused the result (crossed, impossible level). */
export const DIFF_BROKEN = 4;
export type DiffResult =
  | typeof DIFF_APPLIED
  | typeof DIFF_IGNORED
  | typeof DIFF_BUFFERED
  | typeof DIFF_GAP
  | typeof DIFF_BROKEN;

/**
 * `synced`: LIVE. `waiting`: taken, no diff covers it yet: confirm it by another one later. `tooOld`: the
 * buffer begins after it: fetch again. `broken`: impossible content: fetch again.
 */
export type SnapshotResult = "synced" | "waiting" | "tooOld" | "broken";

interface BufferedDiff {
  readonly firstId: number;
  readonly lastId: number;
  readonly prevId: number;
  readonly tsVenueMs: number;
  readonly tsRecvNs: number;
  readonly bidCount: number;
  readonly askCount: number;
  /** bid ticks, bid lots, ask ticks, ask lots, one after the other. */
  readonly figures: Float64Array;
}

export class BookSync {
  readonly book: Book;
  readonly #onBroken: () => void;
  #buffer: BufferedDiff[] = [];
  #bufferedLevels = 0;
  /** Id of a snapshot that lies in the book, uncommitted, until a diff covers it; -1 if none. */
  #pendingId = -1;
  #pendingVenueMs = 0;
  #pendingRecvNs = 0;
  /** LIVE since a snapshot, and no diff applied yet: the next one must cover the snapshot instead of chaining. */
  #isBridging = false;
  /** `u` of the last change in the book; -1 while not LIVE. */
  #lastId = -1;
  /** Connection of the last applied diff. */
  #linkId = 0;

  gapCount = 0;
  ignoredCount = 0;
  droppedCount = 0;
  appliedCount = 0;
  syncCount = 0;

  /** `onBroken` is called once after each invalidation made here; it must not call back synchronously into `onSnapshot`. */
  constructor(book: Book, onBroken: () => void) {
    this.book = book;
    this.#onBroken = onBroken;
  }

  get isLive(): boolean {
    return this.#lastId >= 0;
  }

  /** A snapshot lies in the book that no diff has covered yet. */
  get isWaiting(): boolean {
    return this.#pendingId >= 0;
  }

  get bufferedCount(): number {
    return this.#buffer.length;
  }

  /** Starts over: nothing known is kept, diffs are buffered from now on. For a fresh connection. */
  begin(): void {
    this.#forget();
    this.book.beginSync();
  }

  /** A snapshot is being fetched: diffs buffered so far are kept. */
  beginSync(): void {
    this.#lastId = -1;
    this.#pendingId = -1;
    this.book.beginSync();
  }

  /** Invalidates from outside (connection lost, protocol drift, probe mismatch) and drops the buffer. Does not call `onBroken`. */
  invalidate(reason: string): void {
    this.#forget();
    this.book.invalidate(reason);
  }

  /**
   * `linkId` names the connection the diff came over. Two connections cut the same changes into diffs
   * as they like, so between diffs of different links covering is asked for instead of chaining; a
   * diff of a standby link that is ahead of the primary is left for the primary to bring.
   */
  onDiff(frame: VenuetwoFrame, tsRecvNs: number, linkId = 0, isStandby = false): DiffResult {
    if (this.#lastId < 0)
      return this.#pendingId >= 0 ? this.#onDiffWhileWaiting(frame, tsRecvNs) : this.#push(frame, tsRecvNs);
    if (frame.lastId <= this.#lastId && !(this.#isBridging && frame.lastId === this.#lastId)) {
      this.ignoredCount++;
      return DIFF_IGNORED;
    }
    if (frame.prevId !== this.#lastId) {
      const mayCover = this.#isBridging || linkId !== this.#linkId;
      if (!mayCover || !covers(frame.firstId, frame.lastId, frame.prevId, this.#lastId)) {
        if (!isStandby) return this.#break(frame, tsRecvNs);
        this.ignoredCount++;
        return DIFF_IGNORED;
      }
    }
    this.#linkId = linkId;
    this.#isBridging = false;
    this.#lastId = frame.lastId;
    applyLevels(this.book, frame);
    if (!this.book.commit(frame.lastId, frame.tsEventMs, tsRecvNs)) {
      // The book has invalidated itself, with its reason.
      this.#forget();
      this.#onBroken();
      return DIFF_BROKEN;
    }
    this.appliedCount++;
    return DIFF_APPLIED;
  }

  /** `frame` holds a decoded snapshot (`lastId` = lastUpdateId). Ignored unless a sync is under way. */
  onSnapshot(frame: VenuetwoFrame, tsRecvNs: number): SnapshotResult {
    if (this.#lastId >= 0) return "synced";
    const id = frame.lastId;
    this.#dropBelow(id);
    const first = this.#buffer[0];
    if (first !== undefined && !covers(first.firstId, first.lastId, first.prevId, id)) {
      this.#pendingId = -1;
      return "tooOld";
    }
    const isConfirmed = first === undefined && this.#pendingId >= 0;
    // A lagging server may answer the second read with an older state: the newer one stays.
    if (id < this.#pendingId) return "waiting";
    this.#load(frame, tsRecvNs);
    if (first === undefined && !isConfirmed) return "waiting";
    return this.#goLive() ? "synced" : "broken";
  }

  /** Takes a whole book that needs no chain (partial depth streams); false when it is impossible. */
  replace(frame: VenuetwoFrame, tsRecvNs: number): boolean {
    this.#forget();
    this.book.beginSnapshot();
    applyLevels(this.book, frame);
    if (!this.book.commit(frame.lastId, frame.tsEventMs, tsRecvNs)) return false;
    this.#lastId = frame.lastId;
    this.appliedCount++;
    return true;
  }

  /** Loads the snapshot into the book without committing it. */
  #load(frame: VenuetwoFrame, tsRecvNs: number): void {
    this.book.beginSnapshot();
    applyLevels(this.book, frame);
    this.#pendingId = frame.lastId;
    this.#pendingVenueMs = frame.tsEventMs;
    this.#pendingRecvNs = tsRecvNs;
  }

  /** A snapshot waits in the book: does this diff cover it? */
  #onDiffWhileWaiting(frame: VenuetwoFrame, tsRecvNs: number): DiffResult {
    if (frame.lastId < this.#pendingId) {
      this.ignoredCount++;
      return DIFF_IGNORED;
    }
    const isCovered = covers(frame.firstId, frame.lastId, frame.prevId, this.#pendingId);
    this.#push(frame, tsRecvNs);
    if (!isCovered) {
      // Older than what streams: this snapshot is worthless, another must be fetched.
      this.#pendingId = -1;
      this.#onBroken();
      return DIFF_BUFFERED;
    }
    return this.#goLive() ? DIFF_APPLIED : DIFF_BROKEN;
  }

  /** Commits the snapshot in the book with all buffered diffs, one commit for each. */
  #goLive(): boolean {
    const buffer = this.#buffer;
    this.#lastId = this.#pendingId;
    this.#pendingId = -1;
    this.#isBridging = true;
    this.syncCount++;
    if (buffer.length === 0) {
      if (this.book.commit(this.#lastId, this.#pendingVenueMs, this.#pendingRecvNs)) return true;
      this.#forget();
      return false;
    }
    this.#buffer = [];
    this.#bufferedLevels = 0;
    for (let index = 0; index < buffer.length; index++) {
      const diff = buffer[index] as BufferedDiff;
      if (!this.#isBridging && diff.prevId !== this.#lastId) {
        if (diff.lastId <= this.#lastId) {
          this.ignoredCount++;
          continue;
        }
        // A gap inside the buffer: what follows it may still serve the next snapshot.
        this.#invalidateForGap();
        for (const rest of buffer.slice(index)) this.#keep(rest);
        this.#onBroken();
        return false;
      }
      this.#isBridging = false;
      this.#lastId = diff.lastId;
      applyBuffered(this.book, diff);
      if (!this.book.commit(diff.lastId, diff.tsVenueMs, diff.tsRecvNs)) {
        this.#forget();
        this.#onBroken();
        return false;
      }
      this.appliedCount++;
    }
    return true;
  }

  #break(frame: VenuetwoFrame, tsRecvNs: number): DiffResult {
    this.#invalidateForGap();
    this.#push(frame, tsRecvNs);
    this.#onBroken();
    return DIFF_GAP;
  }

  #invalidateForGap(): void {
    this.#forget();
    this.book.invalidate(INVALID_GAP);
    this.gapCount++;
  }

  #push(frame: VenuetwoFrame, tsRecvNs: number): DiffResult {
    const { bidCount, askCount } = frame;
    const figures = new Float64Array(2 * (bidCount + askCount));
    figures.set(frame.bidTicks.subarray(0, bidCount), 0);
    figures.set(frame.bidLots.subarray(0, bidCount), bidCount);
    figures.set(frame.askTicks.subarray(0, askCount), 2 * bidCount);
    figures.set(frame.askLots.subarray(0, askCount), 2 * bidCount + askCount);
    this.#keep({
      firstId: frame.firstId,
      lastId: frame.lastId,
      prevId: frame.prevId,
      tsVenueMs: frame.tsEventMs,
      tsRecvNs,
      bidCount,
      askCount,
      figures,
    });
    return DIFF_BUFFERED;
  }

  #keep(diff: BufferedDiff): void {
    const last = this.#buffer[this.#buffer.length - 1];
    if (last !== undefined && diff.lastId <= last.lastId) {
      this.ignoredCount++;
      return;
    }
    this.#buffer.push(diff);
    this.#bufferedLevels += diff.bidCount + diff.askCount;
    while (this.#buffer.length > MAX_BUFFERED_DIFFS || this.#bufferedLevels > MAX_BUFFERED_LEVELS) {
      if (!this.#shift()) break;
    }
  }

  #dropBelow(id: number): void {
    while ((this.#buffer[0]?.lastId ?? id) < id) this.#shift();
  }

  #shift(): boolean {
    const diff = this.#buffer.shift();
    if (diff === undefined) return false;
    this.#bufferedLevels -= diff.bidCount + diff.askCount;
    this.droppedCount++;
    return true;
  }

  #forget(): void {
    this.#buffer = [];
    this.#bufferedLevels = 0;
    this.#pendingId = -1;
    this.#isBridging = false;
    this.#lastId = -1;
  }
}

/** Does the diff bring a book that stands at `id` to the diff's own end, with nothing missing between? */
function covers(firstId: number, lastId: number, prevId: number, id: number): boolean {
  return id <= lastId && (firstId <= id || prevId <= id);
}

function applyLevels(book: Book, frame: VenuetwoFrame): void {
  const { bidTicks, bidLots, bidCount, askTicks, askLots, askCount } = frame;
  for (let index = 0; index < bidCount; index++) book.applyBid(bidTicks[index] as number, bidLots[index] as number);
  for (let index = 0; index < askCount; index++) book.applyAsk(askTicks[index] as number, askLots[index] as number);
}

function applyBuffered(book: Book, diff: BufferedDiff): void {
  const { figures, bidCount, askCount } = diff;
  const asksAt = 2 * bidCount;
  for (let index = 0; index < bidCount; index++) {
    book.applyBid(figures[index] as number, figures[bidCount + index] as number);
  }
  for (let index = 0; index < askCount; index++) {
    book.applyAsk(figures[asksAt + index] as number, figures[asksAt + askCount + index] as number);
  }
}
