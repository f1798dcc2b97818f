/**
 * Admits calls to the network: a call needs weight of its lane (lanes.ts) and a connection slot.
 *
 * Order: by lane priority; within a lane the caller that used least of it, then first come first served. While an
 * `exit` call waits nothing else is admitted, unless it waits for its caller's share alone; a waiting call of another lane
 * does not keep lower lanes from the part held back for them. Some slots are for `exit` alone, so a close never queues behind slow reads.
 *
 * Bounded: `maxQueuedPerLane` waiting calls; one more is refused at once (QUEUE_FULL), unless another caller has more that
 * wait: then the last of those is. A call that can
 * not be admitted before its deadline is refused (RATE_BUDGET), and so is one heavier than its lane.
 *
 * A call may also need what another budget gives (its account's): it is taken in the turn of the admission,
 * both or neither, and a call that it is refused to is refused (RATE_BUDGET).
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

/** 0: taken. Else the time to wait, and nothing was taken. */
export type TakeOther = () => number;

export interface Entrant {
  /** Who shares the lane with others; null: our own. */
  readonly caller?: string | null;
  readonly takeOther?: TakeOther;
  /** May it take what is held back for idle lanes (lanes.ts)? */
  readonly borrowsIdle?: boolean;
}

interface Waiter {
  readonly lane: Lane;
  readonly weight: number;
  readonly caller: string | null;
  readonly takeOther: TakeOther;
  readonly borrowsIdle: boolean;
  settle: (admission: Admission) => void;
  timer: TimerHandle;
}

const ADMITTED: Admission = { ok: true };
const NOTHING_ELSE: TakeOther = () => 0;
const NO_ENTRANT: Entrant = {};
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
  acquire(
    lane: Lane,
    weight: number,
    timeoutMs: number,
    { caller = null, takeOther = NOTHING_ELSE, borrowsIdle = false }: Entrant = NO_ENTRANT,
  ): Admission | Promise<Admission> {
    const { clock, budget, maxQueuedPerLane } = this.#options;
    if (this.#isClosed) return { ok: false, reason: "CLOSED", retryAfterMs: null };
    if (weight > budget.ceiling(lane)) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: null };
    const queue = this.#waiting[lane];
    const waiter: Waiter = { lane, weight, caller, takeOther, borrowsIdle, settle: () => {}, timer: { id: 0 } };
    const isFree = queue.length === 0 && (lane === "exit" || !this.#isExitBlocked());
    const admission = isFree ? this.#admit(waiter) : null;
    if (admission !== null) return admission;
    if (queue.length >= maxQueuedPerLane && !this.#makeRoom(queue, caller)) {
      return { ok: false, reason: "QUEUE_FULL", retryAfterMs: this.#retryAfterMs(waiter) };
    }
    return new Promise((settle) => {
      waiter.settle = settle;
      waiter.timer = clock.setTimer(() => this.#expire(waiter), timeoutMs);
      queue.push(waiter);
      this.#waitingCount++;
      // Others that wait may do so for their own share alone.
      if (queue.length > 1) this.#drain();
      else this.#scheduleWake();
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

  /** Null: it has to wait. */
  #admit({ lane, weight, caller, takeOther, borrowsIdle }: Waiter): Admission | null {
    const { slots, exitSlots, budget, clock } = this.#options;
    if (this.#busySlots >= (lane === "exit" ? slots : slots - exitSlots)) return null;
    const nowMs = monoMs(clock);
    if (weight > budget.available(lane, nowMs, borrowsIdle) || budget.isBeyondShare(lane, caller, weight, nowMs))
      return null;
    const otherWaitMs = takeOther();
    if (otherWaitMs > 0) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: Math.ceil(otherWaitMs) };
    budget.charge(lane, weight, nowMs, borrowsIdle);
    budget.chargeCaller(lane, caller, weight, nowMs);
    this.#busySlots++;
    return ADMITTED;
  }

  #drain(): void {
    if (this.#waitingCount === 0) return;
    for (const lane of LANES) {
      const queue = this.#waiting[lane];
      for (let next = this.#nextOf(queue); next !== undefined; next = this.#nextOf(queue)) {
        const admission = this.#admit(next);
        if (admission === null) break;
        queue.splice(queue.indexOf(next), 1);
        this.#waitingCount--;
        this.#options.clock.clearTimer(next.timer);
        next.settle(admission);
      }
      if (lane === "exit" && this.#isExitBlocked()) break;
    }
    this.#scheduleWake();
  }

  /** The first of the caller that used least of the lane. */
  #nextOf(queue: readonly Waiter[]): Waiter | undefined {
    let next = queue[0];
    if (next === undefined || queue.length === 1) return next;
    const { budget, clock } = this.#options;
    const nowMs = monoMs(clock);
    let least = budget.usedBy(next.lane, next.caller, nowMs);
    for (const waiter of queue) {
      const used = budget.usedBy(waiter.lane, waiter.caller, nowMs);
      if (used >= least) continue;
      next = waiter;
      least = used;
    }
    return next;
  }

  /** Does an exit call wait for what the lane or the connections have to give, and not for its caller's share alone? */
  #isExitBlocked(): boolean {
    const next = this.#nextOf(this.#waiting.exit);
    if (next === undefined) return false;
    const { budget, clock } = this.#options;
    const nowMs = monoMs(clock);
    if (next.weight > budget.available("exit", nowMs)) return true;
    return !budget.isBeyondShare("exit", next.caller, next.weight, nowMs);
  }

  /** Refuses the last waiting call of the caller that has most, where that is more than `caller` has with this one. */
  #makeRoom(queue: Waiter[], caller: string | null): boolean {
    const counts = new Map<string | null, number>();
    for (const waiter of queue) counts.set(waiter.caller, (counts.get(waiter.caller) ?? 0) + 1);
    let most = (counts.get(caller) ?? 0) + 1;
    let last: Waiter | null = null;
    for (const waiter of queue) {
      const count = counts.get(waiter.caller) ?? 0;
      if (count < most || (count === most && waiter.caller !== last?.caller)) continue;
      most = count;
      last = waiter;
    }
    if (last === null) return false;
    queue.splice(queue.indexOf(last), 1);
    this.#waitingCount--;
    this.#options.clock.clearTimer(last.timer);
    last.settle({ ok: false, reason: "QUEUE_FULL", retryAfterMs: this.#retryAfterMs(last) });
    return true;
  }

  #expire(waiter: Waiter): void {
    const queue = this.#waiting[waiter.lane];
    const position = queue.indexOf(waiter);
    if (position < 0) return;
    queue.splice(position, 1);
    this.#waitingCount--;
    const retryAfterMs = this.#retryAfterMs(waiter);
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

  #retryAfterMs({ lane, weight, caller }: Waiter): number {
    const { clock, budget } = this.#options;
    const nowMs = monoMs(clock);
    const laneMs = budget.msUntilAvailable(lane, weight, nowMs);
    const shareMs = budget.isBeyondShare(lane, caller, weight, nowMs) ? budget.msUntilRelease(nowMs) : 0;
    return Math.ceil(Math.max(laneMs, shareMs));
  }
}
