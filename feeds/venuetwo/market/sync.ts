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
 * which a later snapshot makes up for. Ignored diffs in a row are a break: the venue's ids have begun again, and what
 * was ordered by the old ones would never change any more.
 */
import { type Book, INVALID_GAP } from "../../../engine/market/book.js";
import type { VenuetwoFrame } from "./frame.js";
import {
  MAX_BUFFERED_DIFFS,
  MAX_BUFFERED_LEVELS,
  MAX_IDLE_DIFFS,
  MAX_LATE_DIFFS,
  MAX_LATE_DIFFS_ELSEWHERE,
  MAX_OLDER_SNAPSHOTS,
} from "../rules/limits.js";

/** The outcome of a diff. */
export const DIFF_APPLIED = 0;
/** Duplicate, late, or older than the snapshot. */
export const DIFF_IGNORED = 1;
export const DIFF_BUFFERED = 2;
/** The chain broke here; the diff is the first of the new buffer. */
export const DIFF_GAP = 3;
/** The book refused the result (crossed, impossible level). */
export const DIFF_BROKEN = 4;
/** The ids began again below what was known: a book is broken by it, and so is everything else ordered by them. */
export const DIFF_RESTARTED = 5;
export type DiffResult =
  | typeof DIFF_APPLIED
  | typeof DIFF_IGNORED
  | typeof DIFF_BUFFERED
  | typeof DIFF_GAP
  | typeof DIFF_BROKEN
  | typeof DIFF_RESTARTED;

/**
 * `synced`: LIVE. `waiting`: taken, no diff covers it yet: confirm it by another one later. `tooOld`: the
 * buffer begins after it: fetch again. `broken`: impossible content: fetch again.
 */
export type SnapshotResult = "synced" | "waiting" | "tooOld" | "broken";

/** A diff, or a snapshot, whose ids of a diff mean nothing then. */
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
  /** A snapshot that no diff has covered yet. */
  #pending: BufferedDiff | null = null;
  /** LIVE since a snapshot, and no diff applied yet: the next one must cover the snapshot instead of chaining. */
  #isBridging = false;
  /** `u` of the last change in the book; -1 while not LIVE. */
  #lastId = -1;
  /** Connection of the last applied diff. */
  #linkId = 0;
  /** Ignored diffs since the last one taken, those of a standby not counted. */
  #lateCount = 0;
  /** Snapshots in a row older than the one that waits. */
  #olderCount = 0;
  /** Id of the best levels that the book shows; -1 while it shows none. */
  #shallowId = -1;
  /** Best levels in a row older than those shown. */
  #shallowLateCount = 0;
  #bufferedMax = MAX_BUFFERED_DIFFS;

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

  /** A snapshot is there that no diff has covered yet. */
  get isWaiting(): boolean {
    return this.#pending !== null;
  }

  /** The book shows the best levels alone. */
  get isShallow(): boolean {
    return this.#shallowId >= 0;
  }

  get bufferedCount(): number {
    return this.#buffer.length;
  }

  /** Starts over: nothing known is kept, diffs are buffered from now on. For a fresh connection. */
  begin(): void {
    this.#forget();
    if (!this.isShallow) this.book.beginSync();
  }

  /** A snapshot is being fetched: diffs buffered so far are kept. */
  beginSync(): void {
    this.#lastId = -1;
    this.#pending = null;
    if (!this.isShallow) this.book.beginSync();
  }

  /** Has the snapshot been asked for? While its turn has not come the newest diffs are enough: it will be newer than the others. */
  expectSnapshot(isExpected: boolean): void {
    this.#bufferedMax = isExpected ? MAX_BUFFERED_DIFFS : MAX_IDLE_DIFFS;
    this.#trim();
  }

  /** Invalidates from outside (protocol drift, probe mismatch) and drops the buffer. Does not call `onBroken`. */
  invalidate(reason: string): void {
    this.#forget();
    this.#shallowId = -1;
    this.book.invalidate(reason);
  }

  /** The diffs are lost (connection, unreadable frame): best levels that are shown come over another and stay. */
  lose(reason: string): void {
    this.#forget();
    if (!this.isShallow) this.book.invalidate(reason);
  }

  /** The stream of the best levels is lost; a chain has nothing to do with it. */
  loseShallow(reason: string): void {
    if (!this.isShallow) return;
    this.#shallowId = -1;
    this.book.invalidate(reason);
  }

  /** Takes the best levels as a whole; false when the book is no better for it (a chain is there, late, impossible). */
  onShallow(frame: VenuetwoFrame, tsRecvNs: number): boolean {
    if (this.#lastId >= 0) return false;
    if (frame.lastId < this.#shallowId && ++this.#shallowLateCount < MAX_LATE_DIFFS) return false;
    this.#shallowLateCount = 0;
    this.book.beginSnapshot();
    applyLevels(this.book, frame);
    const isTaken = this.book.commit(frame.lastId, frame.tsEventMs, tsRecvNs);
    this.#shallowId = isTaken ? frame.lastId : -1;
    return isTaken;
  }

  /**
   * `linkId` names the connection the diff came over. Two connections cut the same changes into diffs
   * as they like, so between diffs of different links covering is asked for instead of chaining; a
   * diff of a standby link that is ahead of the primary is left for the primary to bring.
   */
  onDiff(frame: VenuetwoFrame, tsRecvNs: number, linkId = 0, isStandby = false): DiffResult {
    if (this.#lastId < 0)
      return this.#pending === null
        ? this.#push(frame, tsRecvNs)
        : this.#onDiffWhileWaiting(frame, tsRecvNs, this.#pending);
    if (frame.lastId <= this.#lastId && !(this.#isBridging && frame.lastId === this.#lastId)) {
      this.ignoredCount++;
      if (isStandby) return DIFF_IGNORED;
      const isOwn = !this.#isBridging && linkId === this.#linkId;
      return this.#isRestart(isOwn) ? this.#restart(frame, tsRecvNs) : DIFF_IGNORED;
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
    this.#lateCount = 0;
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

  /** `frame` holds a decoded snapshot (`lastId` = lastUpdateId), asked for at `askedNs`. Ignored unless a sync is under way. */
  onSnapshot(frame: VenuetwoFrame, askedNs: number): SnapshotResult {
    if (this.#lastId >= 0) return "synced";
    const id = frame.lastId;
    this.#dropBelow(id);
    const first = this.#buffer[0];
    if (first !== undefined && !covers(first.firstId, first.lastId, first.prevId, id)) {
      this.#pending = null;
      return "tooOld";
    }
    const before = this.#pending;
    // A lagging server may answer the second read with an older state: the newer one stays, unless no answer is newer any more.
    if (before !== null && id < before.lastId) {
      if (++this.#olderCount >= MAX_OLDER_SNAPSHOTS) this.#keepPending(frame, askedNs);
      return "waiting";
    }
    const snapshot = this.#keepPending(frame, askedNs);
    if ((first === undefined && before === null) || !this.#reachesShallow(snapshot)) return "waiting";
    return this.#goLive(snapshot) ? "synced" : "broken";
  }

  /** Takes a whole book that needs no chain (partial depth streams); false when it is impossible. */
  replace(frame: VenuetwoFrame, tsRecvNs: number): boolean {
    this.#forget();
    this.#shallowId = -1;
    this.book.beginSnapshot();
    applyLevels(this.book, frame);
    if (!this.book.commit(frame.lastId, frame.tsEventMs, tsRecvNs)) return false;
    this.#lastId = frame.lastId;
    this.appliedCount++;
    return true;
  }

  #keepPending(frame: VenuetwoFrame, tsRecvNs: number): BufferedDiff {
    this.#olderCount = 0;
    this.#pending = copyOf(frame, tsRecvNs);
    return this.#pending;
  }

  /** A snapshot waits: does the chain that begins here cover it? */
  #onDiffWhileWaiting(frame: VenuetwoFrame, tsRecvNs: number, snapshot: BufferedDiff): DiffResult {
    if (frame.lastId < snapshot.lastId) {
      this.ignoredCount++;
      return this.#isRestart(false) ? this.#restart(frame, tsRecvNs) : DIFF_IGNORED;
    }
    this.#push(frame, tsRecvNs);
    const first = this.#buffer[0];
    if (first === undefined || !covers(first.firstId, first.lastId, first.prevId, snapshot.lastId)) {
      // Older than what streams: this snapshot is worthless, another must be fetched.
      this.#pending = null;
      this.#onBroken();
      return DIFF_BUFFERED;
    }
    if (!this.#reachesShallow(snapshot)) return DIFF_BUFFERED;
    return this.#goLive(snapshot) ? DIFF_APPLIED : DIFF_BROKEN;
  }

  /** Would the book be no older than what it shows already? */
  #reachesShallow(snapshot: BufferedDiff): boolean {
    const last = this.#buffer[this.#buffer.length - 1];
    return (last?.lastId ?? snapshot.lastId) >= this.#shallowId;
  }

  /** The snapshot with all buffered diffs becomes the book: one commit, so that nothing between is seen. */
  #goLive(snapshot: BufferedDiff): boolean {
    const buffer = this.#buffer;
    for (let index = 1; index < buffer.length; index++) {
      if ((buffer[index] as BufferedDiff).prevId === (buffer[index - 1] as BufferedDiff).lastId) continue;
      // A gap inside the buffer: what follows it may still serve the next snapshot.
      this.#invalidateForGap();
      for (const rest of buffer.slice(index)) this.#keep(rest);
      this.#onBroken();
      return false;
    }
    const last = buffer[buffer.length - 1] ?? snapshot;
    this.book.beginSnapshot();
    applyBuffered(this.book, snapshot);
    for (const diff of buffer) applyBuffered(this.book, diff);
    this.syncCount++;
    this.#forget();
    this.#shallowId = -1;
    if (!this.book.commit(last.lastId, last.tsVenueMs, last.tsRecvNs)) {
      if (buffer.length > 0) this.#onBroken();
      return false;
    }
    this.#lastId = last.lastId;
    this.#isBridging = buffer.length === 0;
    this.appliedCount += buffer.length;
    return true;
  }

  /** One more diff was ignored: is that too many? `isOwn`: of the connection the book lives by. */
  #isRestart(isOwn: boolean): boolean {
    this.#lateCount++;
    return this.#lateCount >= (isOwn ? MAX_LATE_DIFFS : MAX_LATE_DIFFS_ELSEWHERE);
  }

  #restart(frame: VenuetwoFrame, tsRecvNs: number): DiffResult {
    this.#break(frame, tsRecvNs);
    return DIFF_RESTARTED;
  }

  #break(frame: VenuetwoFrame, tsRecvNs: number): DiffResult {
    this.#invalidateForGap();
    this.#push(frame, tsRecvNs);
    this.#onBroken();
    return DIFF_GAP;
  }

  #invalidateForGap(): void {
    this.lose(INVALID_GAP);
    this.gapCount++;
  }

  #push(frame: VenuetwoFrame, tsRecvNs: number): DiffResult {
    return this.#keep(copyOf(frame, tsRecvNs));
  }

  #keep(diff: BufferedDiff): DiffResult {
    const last = this.#buffer[this.#buffer.length - 1];
    const isLate = last !== undefined && diff.lastId <= last.lastId;
    if (isLate) {
      this.ignoredCount++;
      if (!this.#isRestart(true)) return DIFF_BUFFERED;
      this.#buffer = [];
      this.#bufferedLevels = 0;
    }
    this.#lateCount = 0;
    this.#buffer.push(diff);
    this.#bufferedLevels += diff.bidCount + diff.askCount;
    this.#trim();
    return isLate ? DIFF_RESTARTED : DIFF_BUFFERED;
  }

  #trim(): void {
    while (this.#buffer.length > this.#bufferedMax || this.#bufferedLevels > MAX_BUFFERED_LEVELS) {
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
    this.#pending = null;
    this.#isBridging = false;
    this.#lastId = -1;
    this.#lateCount = 0;
    this.#olderCount = 0;
  }
}

/** Returns true when the diff brings a book at `id` to the diff's own end, with nothing missing between. */
function covers(firstId: number, lastId: number, prevId: number, id: number): boolean {
  return id <= lastId && (firstId <= id || prevId <= id);
}

function copyOf(frame: VenuetwoFrame, tsRecvNs: number): BufferedDiff {
  const { firstId, lastId, prevId, tsEventMs, bidCount, askCount } = frame;
  const figures = new Float64Array(2 * (bidCount + askCount));
  figures.set(frame.bidTicks.subarray(0, bidCount), 0);
  figures.set(frame.bidLots.subarray(0, bidCount), bidCount);
  figures.set(frame.askTicks.subarray(0, askCount), 2 * bidCount);
  figures.set(frame.askLots.subarray(0, askCount), 2 * bidCount + askCount);
  return { firstId, lastId, prevId, tsVenueMs: tsEventMs, tsRecvNs, bidCount, askCount, figures };
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
