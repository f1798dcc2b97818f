/**
 * Decides when the accounts of one venue are polled over REST: one after the other, never closer together than the
 * venue's pace allows. So each account waits longer the more accounts are polled.
 *
 * Invariants: at most `looksPerMinute` polls begin in any minute, whatever is added or removed. At most IN_FLIGHT_MAX
 * run at once. An account that was never polled goes before all others. After a rate limit the venue is not polled for
 * as long as it requests, and the refused account goes to the back. If it is refused again while others were answered,
 * the limit is taken as its own, even if the venue does not name it: only that account waits.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";

/** Outcome of one poll. */
export interface LookResult {
  /** The venue, or our own budget for it, requires a pause: no account is polled for this long. */
  readonly pauseVenueMs: number;
  /** Only this account is not polled for this long: it was refused, and would be again. */
  readonly pauseAccountMs: number;
}

export interface PollTask {
  /** `isFirst`: a caller waits for it. May not reject. */
  look(isFirst: boolean): Promise<LookResult>;
}

export interface PollPace {
  readonly looksPerMinute: number;
  /** No account is polled more often. */
  readonly intervalMsMin: number;
}

/** Most polls under way at once, for a venue that answers slowly. */
const IN_FLIGHT_MAX = 4;
const MINUTE_MS = 60_000;
/** No pause is longer, whatever the venue requests: its next refusal requests it again. */
const PAUSE_MS_MAX = 10 * MINUTE_MS;
/** A timer may fire slightly early; whatever is due within this time counts as due. */
const EDGE_MS = 0.5;

interface Entry {
  readonly task: PollTask;
  /** No reply has come yet: a caller waits. */
  isFirst: boolean;
  /** Its first turn is still to come: it goes before all others. */
  isNew: boolean;
  isRunning: boolean;
  /** Number of polls answered at the time of its refusal; null if it was not refused, or answered since. */
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
  /** Keeps the pace: no poll begins before this time. */
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

  /** Time between two polls of an account, at the present number of accounts. */
  get intervalMs(): number {
    return Math.max(this.#pace.intervalMsMin, Math.ceil(this.#entries.size * this.#gapMs));
  }

  /** `isLooked`: it was just polled; its next poll is one interval from now. */
  add(task: PollTask, isLooked = false): void {
    if (this.#entries.has(task)) return;
    const entry = { task, isFirst: !isLooked, isNew: !isLooked, isRunning: false, answeredAtRefusal: null, dueMs: 0 };
    this.#entries.set(task, entry);
    if (isLooked) entry.dueMs = this.#nowMs() + this.intervalMs;
    this.#arm();
  }

  /** Sets its next poll this long from now, whatever its interval; later ones are one interval apart. */
  soon(task: PollTask, afterMs: number): void {
    const dueMs = this.#nowMs() + afterMs;
    this.#entries.set(task, { task, isFirst: false, isNew: false, isRunning: false, answeredAtRefusal: null, dueMs });
    this.#arm();
  }

  /** A poll under way ends by itself. */
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

  /** The next account: one that never had a turn first, then the one due longest. */
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

/** Sort key: behind all that are due earlier; an account that never had a turn goes first. */
function rank(entry: Entry): number {
  return entry.isNew ? -1 : entry.dueMs;
}
