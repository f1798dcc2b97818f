/**
 * When the accounts of one venue are looked at over REST: one after the other, never closer together than the venue's
 * pace allows, so the more accounts are polled the longer each waits.
 *
 * Invariants: at most `looksPerMinute` looks begin in any minute, whatever is added or removed; at most
 * IN_FLIGHT_MAX looks run at once; an account that was never looked at goes before all others; a venue that says
 * "slower" is left alone for as long as it asks, and whose turn it was goes to the back. Refused again while others
 * were answered, it is limited alone, whether the venue says so or not: it waits, and nobody else.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";

/** What a look came to. */
export interface LookResult {
  /** The venue, or our own budget for it, asks for silence: nobody is polled so long. */
  readonly pauseVenueMs: number;
  /** This account alone is left in peace so long: it was refused, and will be again. */
  readonly pauseAccountMs: number;
}

export interface PollTask {
  /** `isFirst`: somebody waits for it. May not reject. */
  look(isFirst: boolean): Promise<LookResult>;
}

export interface PollPace {
  readonly looksPerMinute: number;
  /** No account is looked at more often. */
  readonly intervalMsMin: number;
}

/** A slow venue holds at most so many looks of ours. */
const IN_FLIGHT_MAX = 4;
const MINUTE_MS = 60_000;
/** A pause is never longer, whatever the venue says: the next refusal says it again. */
const PAUSE_MS_MAX = 10 * MINUTE_MS;
/** A timer may fire a hair before its time; what is that close is due. */
const EDGE_MS = 0.5;

interface Entry {
  readonly task: PollTask;
  /** Nobody was answered yet: somebody waits. */
  isFirst: boolean;
  /** Its turn has not come yet: before all others. */
  isNew: boolean;
  isRunning: boolean;
  /** How many looks had been answered when it was refused; null: it was not, or was answered since. */
  answeredAtRefusal: number | null;
  /** Monotonic ms before which it is not due. */
  dueMs: number;
}

export class PollSchedule {
  readonly #clock: Clock;
  readonly #pace: PollPace;
  readonly #entries = new Map<PollTask, Entry>();
  #inFlight = 0;
  #answeredCount = 0;
  /** The pace is kept by this: no look begins before it. */
  #freeAtMs = 0;
  #timer: TimerHandle | null = null;
  #timerAtMs = 0;

  constructor(clock: Clock, pace: PollPace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Time between two looks at an account, as many are polled now. */
  get intervalMs(): number {
    return Math.max(this.#pace.intervalMsMin, Math.ceil(this.#entries.size * this.#gapMs));
  }

  /** `isLooked`: it was looked at just now; its next look is an interval from here. */
  add(task: PollTask, isLooked = false): void {
    if (this.#entries.has(task)) return;
    const entry = { task, isFirst: !isLooked, isNew: !isLooked, isRunning: false, answeredAtRefusal: null, dueMs: 0 };
    this.#entries.set(task, entry);
    if (isLooked) entry.dueMs = this.#nowMs() + this.intervalMs;
    this.#arm();
  }

  /** Its next look has its turn so long from now, whatever its interval says; those after it an interval apart. */
  soon(task: PollTask, afterMs: number): void {
    const dueMs = this.#nowMs() + afterMs;
    this.#entries.set(task, { task, isFirst: false, isNew: false, isRunning: false, answeredAtRefusal: null, dueMs });
    this.#arm();
  }

  /** A look that runs ends by itself. */
  remove(task: PollTask): void {
    this.#entries.delete(task);
    this.#arm();
  }

  stop(): void {
    this.#entries.clear();
    this.#arm();
  }

  get #gapMs(): number {
    return MINUTE_MS / this.#pace.looksPerMinute;
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }

  /** The next one: whose turn never came first, then the one due longest. */
  #next(): Entry | null {
    let best: Entry | null = null;
    for (const entry of this.#entries.values()) {
      if (entry.isRunning) continue;
      if (best === null || rank(entry) < rank(best)) best = entry;
    }
    return best;
  }

  /** It was refused before, and others were answered since. */
  #isLimitedAlone({ answeredAtRefusal }: Entry): boolean {
    return answeredAtRefusal !== null && this.#answeredCount > answeredAtRefusal;
  }

  #arm(): void {
    const next = this.#inFlight >= IN_FLIGHT_MAX ? null : this.#next();
    const atMs = next === null ? Number.POSITIVE_INFINITY : Math.max(next.dueMs, this.#freeAtMs);
    if (this.#timer !== null && this.#timerAtMs === atMs) return;
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    if (next === null) return;
    this.#timerAtMs = atMs;
    this.#timer = this.#clock.setTimer(
      () => {
        this.#timer = null;
        this.#turn();
      },
      Math.max(0, atMs - this.#nowMs()),
    );
  }

  #turn(): void {
    const nowMs = this.#nowMs();
    const next = this.#inFlight >= IN_FLIGHT_MAX ? null : this.#next();
    if (next !== null && Math.max(next.dueMs, this.#freeAtMs) <= nowMs + EDGE_MS) void this.#look(next, nowMs);
    this.#arm();
  }

  async #look(entry: Entry, nowMs: number): Promise<void> {
    const { task, isFirst } = entry;
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + this.#gapMs;
    entry.isRunning = true;
    this.#inFlight++;
    const { pauseVenueMs, pauseAccountMs } = await task.look(isFirst);
    this.#inFlight--;
    const endMs = this.#nowMs();
    entry.isRunning = false;
    entry.isNew = false;
    let pauseMs = pauseAccountMs;
    if (pauseVenueMs > 0) {
      if (this.#isLimitedAlone(entry)) pauseMs = Math.max(pauseMs, pauseVenueMs);
      else this.#freeAtMs = Math.max(this.#freeAtMs, endMs + Math.min(pauseVenueMs, PAUSE_MS_MAX));
      entry.answeredAtRefusal = this.#answeredCount;
    } else {
      this.#answeredCount++;
      entry.isFirst = false;
      entry.answeredAtRefusal = null;
    }
    entry.dueMs = Math.max(nowMs + this.intervalMs, endMs + Math.min(pauseMs, PAUSE_MS_MAX));
    this.#arm();
  }
}

/** Behind all that are due earlier; whose turn never came goes first. */
function rank(entry: Entry): number {
  return entry.isNew ? -1 : entry.dueMs;
}
