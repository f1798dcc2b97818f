/**
 * When the accounts of one venue are looked at over REST: one after the other, never closer together than the venue's
 * pace allows, so the more accounts are polled the longer each waits.
 *
 * Invariants: at most `looksPerMinute` looks begin in any minute, whatever is added or removed; at most
 * IN_FLIGHT_MAX looks run at once; an account that was never looked at goes before all others; a venue that says
 * "slower" is left alone for as long as it asks, and whose turn it was has the next one.
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
  isFirst: boolean;
  isRunning: boolean;
  /** Monotonic ms before which it is not due. */
  dueMs: number;
}

export class PollSchedule {
  readonly #clock: Clock;
  readonly #pace: PollPace;
  readonly #entries = new Map<PollTask, Entry>();
  #inFlight = 0;
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

  add(task: PollTask): void {
    if (this.#entries.has(task)) return;
    this.#entries.set(task, { task, isFirst: true, isRunning: false, dueMs: 0 });
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

  /** The next one: never looked at first, then the one due longest. */
  #next(): Entry | null {
    let best: Entry | null = null;
    for (const entry of this.#entries.values()) {
      if (entry.isRunning) continue;
      if (best === null || rank(entry) < rank(best)) best = entry;
    }
    return best;
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
    if (pauseVenueMs > 0) this.#freeAtMs = Math.max(this.#freeAtMs, endMs + Math.min(pauseVenueMs, PAUSE_MS_MAX));
    entry.isRunning = false;
    // Refused for want of budget: it keeps its turn.
    if (pauseVenueMs === 0) {
      entry.isFirst = false;
      entry.dueMs = Math.max(nowMs + this.intervalMs, endMs + Math.min(pauseAccountMs, PAUSE_MS_MAX));
    }
    this.#arm();
  }
}

function rank(entry: Entry): number {
  return entry.isFirst ? -1 : entry.dueMs;
}
