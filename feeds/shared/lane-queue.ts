/**
 * Admits calls to the network: a call needs weight of its lane (lanes.ts) and a connection slot.
 *
 * Order: by lane priority, first come first served within a lane. While an `exit` call waits nothing
 * else is admitted; a waiting call of another lane does not keep lower lanes from the part held back
 * for them. Some slots are for `exit` alone, so a close never queues behind slow reads.
 *
 * Bounded: `maxQueuedPerLane` waiting calls; one more is refused at once (QUEUE_FULL). A call that can
 * not be admitted before its deadline is refused (RATE_BUDGET), and so is one heavier than its lane.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Lane } from "../../engine/ports.js";
import { LANES, type LaneBudget } from "./lanes.js";
import { monoMs } from "./weight-window.js";

export type Admission =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: "RATE_BUDGET" | "QUEUE_FULL" | "CLOSED";
      readonly retryAfterMs: number | null;
    };

export interface LaneQueueOptions {
  readonly clock: Clock;
  readonly budget: LaneBudget;
  /** Calls on the network at once. */
  readonly slots: number;
  /** Of these, slots only `exit` may take. */
  readonly exitSlots: number;
  readonly maxQueuedPerLane: number;
}

interface Waiter {
  readonly lane: Lane;
  readonly weight: number;
  readonly settle: (admission: Admission) => void;
  timer: TimerHandle;
}

const ADMITTED: Admission = { ok: true };
/** A bucket edge computed in floating point may lie a hair before the bucket turns. */
const EDGE_MS = 1;

export class LaneQueue {
  readonly #options: LaneQueueOptions;
  readonly #waiting: Readonly<Record<Lane, Waiter[]>> = {
    exit: [],
    trade: [],
    reconcile: [],
    read: [],
    background: [],
  };
  #busySlots = 0;
  #waitingCount = 0;
  #wake: TimerHandle | null = null;
  #isClosed = false;

  constructor(options: LaneQueueOptions) {
    this.#options = options;
  }

  queued(lane: Lane): number {
    return this.#waiting[lane].length;
  }

  get busySlots(): number {
    return this.#busySlots;
  }

  /** Resolves admitted (then `release` is owed) or refused. `timeoutMs` bounds the wait. */
  acquire(lane: Lane, weight: number, timeoutMs: number): Admission | Promise<Admission> {
    const { clock, budget, maxQueuedPerLane } = this.#options;
    if (this.#isClosed) return { ok: false, reason: "CLOSED", retryAfterMs: null };
    if (weight > budget.ceiling(lane)) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: null };
    const queue = this.#waiting[lane];
    const isFree = queue.length === 0 && (lane === "exit" || this.#waiting.exit.length === 0);
    if (isFree && this.#admit(lane, weight)) return ADMITTED;
    if (queue.length >= maxQueuedPerLane) {
      return { ok: false, reason: "QUEUE_FULL", retryAfterMs: this.#retryAfterMs(lane, weight) };
    }
    return new Promise((settle) => {
      const waiter: Waiter = { lane, weight, settle, timer: { id: 0 } };
      waiter.timer = clock.setTimer(() => this.#expire(waiter), timeoutMs);
      queue.push(waiter);
      this.#waitingCount++;
      this.#scheduleWake();
    });
  }

  /** The call admitted before has left the network. */
  release(): void {
    this.#busySlots--;
    this.#drain();
  }

  /** Refuses everything that waits and all that comes. */
  close(): void {
    this.#isClosed = true;
    if (this.#wake !== null) this.#options.clock.clearTimer(this.#wake);
    this.#wake = null;
    for (const lane of LANES) {
      for (const waiter of this.#waiting[lane].splice(0)) {
        this.#options.clock.clearTimer(waiter.timer);
        waiter.settle({ ok: false, reason: "CLOSED", retryAfterMs: null });
      }
    }
    this.#waitingCount = 0;
  }

  #admit(lane: Lane, weight: number): boolean {
    const { slots, exitSlots, budget, clock } = this.#options;
    if (this.#busySlots >= (lane === "exit" ? slots : slots - exitSlots)) return false;
    if (!budget.tryTake(lane, weight, monoMs(clock))) return false;
    this.#busySlots++;
    return true;
  }

  #drain(): void {
    if (this.#waitingCount === 0) return;
    for (const lane of LANES) {
      const queue = this.#waiting[lane];
      for (let head = queue[0]; head !== undefined && this.#admit(lane, head.weight); head = queue[0]) {
        queue.shift();
        this.#waitingCount--;
        this.#options.clock.clearTimer(head.timer);
        head.settle(ADMITTED);
      }
      if (lane === "exit" && queue.length > 0) break;
    }
    this.#scheduleWake();
  }

  #expire(waiter: Waiter): void {
    const queue = this.#waiting[waiter.lane];
    const position = queue.indexOf(waiter);
    if (position < 0) return;
    queue.splice(position, 1);
    this.#waitingCount--;
    const retryAfterMs = this.#retryAfterMs(waiter.lane, waiter.weight);
    waiter.settle({ ok: false, reason: "RATE_BUDGET", retryAfterMs });
    this.#drain();
  }

  #scheduleWake(): void {
    if (this.#wake !== null || this.#waitingCount === 0) return;
    const { clock, budget } = this.#options;
    const waitMs = budget.msUntilRelease(monoMs(clock));
    // Nothing spent: only a slot is missing, and `release` drains.
    if (waitMs === 0) return;
    this.#wake = clock.setTimer(() => {
      this.#wake = null;
      this.#drain();
    }, waitMs + EDGE_MS);
  }

  #retryAfterMs(lane: Lane, weight: number): number {
    const { clock, budget } = this.#options;
    return Math.ceil(budget.msUntilAvailable(lane, weight, monoMs(clock)));
  }
}
