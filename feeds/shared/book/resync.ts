/**
 * Recovery of one symbol whose book lost its continuity: at most one in flight, full-jitter backoff,
 * bounded buffer, escalation.
 *
 *   idle --start--> loading --snapshot--> apply --synced--> idle
 *                      ^                    |retry / load failed
 *                      +---- backoff <------+        every `escalateAfter` tries: onEscalate
 *
 * The room invalidates its book first, then calls `start`, and offers every frame that arrives
 * meanwhile. Overflow of the buffer drops the **oldest** frames: a snapshot taken later bridges the
 * newest ones, and if it does not, `apply` returns `retry`.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Random } from "../../../engine/domain/random.js";
import { type BackoffPolicy, fullJitterMs } from "../net/backoff.js";

export type ApplyVerdict = "synced" | "retry";

/** A load that did not go out: the way to the venue is shut (breaker, budget) for so long. */
export class LoadRefused {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    this.retryAfterMs = retryAfterMs;
  }
}

/** A refused load proves nothing about the venue, so it is tried again as soon as the way is open, all symbols spread over this. */
const REFUSED_SPREAD: BackoffPolicy = { baseMs: 250, capMs: 250 };

export interface ResyncOptions<Frame, Snapshot> {
  readonly clock: Clock;
  readonly random: Random;
  readonly backoff: BackoffPolicy;
  /** Comes before each wait of the backoff, where tries at once would cost too much. Default: none. */
  readonly leastWaitMs?: number;
  readonly maxBufferedFrames: number;
  /** Failed tries after which `onEscalate` is called, and again after as many more. */
  readonly escalateAfter: number;
  /** Reads a snapshot; null when that failed. Bounded by its own timeout. */
  readonly load: () => Promise<Snapshot | LoadRefused | null>;
  /** Builds the book from the snapshot and the frames received since the start, oldest first. */
  readonly apply: (snapshot: Snapshot, frames: readonly Frame[]) => ApplyVerdict;
  readonly onEscalate: (attemptCount: number) => void;
}

export class Resync<Frame, Snapshot> {
  readonly #options: ResyncOptions<Frame, Snapshot>;
  #frames: Frame[] = [];
  /** Grows with every start and cancel: an answer of an earlier run finds itself outdated. */
  #runId = 0;
  #isRunning = false;
  #attemptCount = 0;
  #timer: TimerHandle | null = null;
  #startCount = 0;
  #overflowCount = 0;

  constructor(options: ResyncOptions<Frame, Snapshot>) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Recoveries started since construction. */
  get startCount(): number {
    return this.#startCount;
  }

  /** Frames dropped from full buffers. */
  get overflowCount(): number {
    return this.#overflowCount;
  }

  get bufferedCount(): number {
    return this.#frames.length;
  }

  /** Starts a recovery; false when one is in flight already, which then goes on. */
  start(): boolean {
    if (this.#isRunning) return false;
    this.#isRunning = true;
    this.#startCount++;
    this.#attemptCount = 0;
    this.#frames = [];
    this.#attempt(++this.#runId);
    return true;
  }

  /** Keeps a frame for the recovery in flight; false when none is, and the caller applies it itself. */
  offer(frame: Frame): boolean {
    if (!this.#isRunning) return false;
    if (this.#frames.length >= this.#options.maxBufferedFrames) {
      this.#frames.shift();
      this.#overflowCount++;
    }
    this.#frames.push(frame);
    return true;
  }

  /** Drops the recovery (socket gone, symbol gone); nothing of it acts later. */
  cancel(): void {
    this.#runId++;
    this.#isRunning = false;
    this.#frames = [];
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #attempt(runId: number): void {
    this.#options.load().then(
      (snapshot) => this.#loaded(runId, snapshot),
      // A rejecting loader is a failed try; loaders report causes themselves.
      () => this.#loaded(runId, null),
    );
  }

  #loaded(runId: number, snapshot: Snapshot | LoadRefused | null): void {
    if (runId !== this.#runId) return;
    if (snapshot instanceof LoadRefused) {
      this.#retryIn(runId, snapshot.retryAfterMs + fullJitterMs(REFUSED_SPREAD, 0, this.#options.random));
      return;
    }
    if (snapshot !== null && this.#options.apply(snapshot, this.#frames) === "synced") {
      this.#isRunning = false;
      this.#frames = [];
      return;
    }
    // `apply` may have cancelled or restarted.
    if (runId !== this.#runId) return;
    const { random, backoff, escalateAfter, leastWaitMs = 0, onEscalate } = this.#options;
    this.#attemptCount++;
    if (this.#attemptCount % escalateAfter === 0) onEscalate(this.#attemptCount);
    if (runId !== this.#runId) return;
    this.#retryIn(runId, leastWaitMs + fullJitterMs(backoff, this.#attemptCount - 1, random));
  }

  #retryIn(runId: number, delayMs: number): void {
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = null;
      this.#attempt(runId);
    }, delayMs);
  }
}
