/**
 * A clock that moves only on command: tests and simulations run on it, so that an hour of heartbeats takes milliseconds
 * and a failing seed replays exactly.
 */
import type { Clock, TimerHandle } from "./clock.js";

interface PendingTimer {
  id: number;
  dueMs: number;
  callback: () => void;
}

export class VirtualClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  /** How far the wall clock has been set away from true time. */
  #wallStepMs = 0;
  #nextId = 1;
  readonly #pending = new Map<number, PendingTimer>();

  constructor(startMs = 1_790_000_000_000) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  wallMs(): number {
    return Math.floor(this.#nowMs + this.#wallStepMs);
  }

  /** Sets the wall clock forward or back; the monotonic clock and all timers go on unchanged. */
  stepWall(ms: number): void {
    this.#wallStepMs += ms;
  }

  /** The wall clock without the steps made by `stepWall`. */
  trueMs(): number {
    return Math.floor(this.#nowMs);
  }

  monoNs(): number {
    return Math.round((this.#nowMs - this.#startMs) * 1e6);
  }

  setTimer(callback: () => void, delayMs: number): TimerHandle {
    const id = this.#nextId++;
    this.#pending.set(id, { id, dueMs: this.#nowMs + Math.max(0, delayMs), callback });
    return { id };
  }

  clearTimer(handle: TimerHandle): void {
    this.#pending.delete(handle.id);
  }

  get pendingTimerCount(): number {
    return this.#pending.size;
  }

  /**
   * Fires every timer due within `ms`, in order of due time, then of creation. Synchronous: promises settle afterwards.
   */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let next = this.#earliest(untilMs); next !== null; next = this.#earliest(untilMs)) {
      this.#pending.delete(next.id);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
    }
    this.#nowMs = untilMs;
  }

  /** Like `advance`, but lets promise callbacks run between timers, for code that awaits. */
  async advanceAsync(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (let next = this.#earliest(untilMs); next !== null; next = this.#earliest(untilMs)) {
      this.#pending.delete(next.id);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  #earliest(untilMs: number): PendingTimer | null {
    let best: PendingTimer | null = null;
    for (const timer of this.#pending.values()) {
      if (timer.dueMs > untilMs) continue;
      if (best === null || timer.dueMs < best.dueMs || (timer.dueMs === best.dueMs && timer.id < best.id)) best = timer;
    }
    return best;
  }
}

/** Enough turns of the microtask and immediate queues for a short chain of awaits to finish. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
