/**
 * Admits calls to the network: a call needs weight of its lane (lanes.ts) and a connection slot.
 *
 * Order: by lane priority; within a lane the caller that used least of it, then first come first served. While an
 * `exit` call waits nothing else is admitted, unless it waits for its caller's share alone; a waiting call of another lane
 * does not keep lower lanes from the part held back for them. Some slots are for `exit` alone, so a close never queues behind slow reads.
 *
 * Callers of whom the venue has said nothing good yet share a small part of each lane (unproven-part.ts) and a quarter of
 * the connections, and leave half of those for `exit` alone; they come after those that are known, give way to them where
 * all places are taken, and hold up nobody.
 *
 * Bounded: `maxQueuedPerLane` waiting calls; one more is refused at once (QUEUE_FULL), unless another caller has more that
 * wait: then the last of those is. A call that can
 * not be admitted before its deadline is refused (RATE_BUDGET), and so is one heavier than its lane.
 *
 * A call may also need what another budget gives (its account's): it is taken in the turn of the admission,
 * both or neither, and a call that it is refused to is refused (RATE_BUDGET).
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Lane } from "../../../engine/ports.js";
import { LANES, type LaneBudget } from "./lanes.js";
import { UnprovenPart, UnprovenSlots } from "./unproven-part.js";
import { monoMs } from "./weight-window.js";

export type Admission =
  /** `isStranger`: as one it was let in, of the places that they share; who became known while it waited was not. */
  | { readonly ok: true; readonly isStranger?: true }
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
  /** Has the venue ever answered this caller well? Default: true. */
  readonly isProven?: boolean;
  readonly takeOther?: TakeOther;
  /** May it take what is held back for idle lanes (lanes.ts)? */
  readonly borrowsIdle?: boolean;
}

interface Waiter {
  readonly lane: Lane;
  readonly weight: number;
  readonly caller: string | null;
  isProven: boolean;
  /** Of one who is not proven: since when it waits for its turn, over all its calls. */
  readonly sinceMs: number;
  /** When its time is over. */
  readonly untilMs: number;
  readonly takeOther: TakeOther;
  readonly borrowsIdle: boolean;
  settle: (admission: Admission) => void;
  timer: TimerHandle;
}

const ADMITTED: Admission = { ok: true };
const ADMITTED_UNPROVEN: Admission = { ok: true, isStranger: true };
const NOTHING_ELSE: TakeOther = () => 0;
const NO_ENTRANT: Entrant = {};
/** However much time it gives: who asks once must not stand for long before one who asks again. */
const UNPROVEN_WAIT_MS = 5_000;
/** Of a call of theirs that waited: less than an answer takes. */
const LEFT_MIN_MS = 500;
/** Who they are together, where a lane is shared by callers; no caller has this name. */
const UNPROVEN = "\0unproven";
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
  readonly #unproven: Readonly<Record<Lane, UnprovenPart>>;
  readonly #unprovenSlots: UnprovenSlots;
  #busySlots = 0;
  #waitingCount = 0;
  #wake: TimerHandle | null = null;
  #wakeAtMs = 0;
  #isClosed = false;

  constructor(options: LaneQueueOptions) {
    this.#options = options;
    const { budget, slots, exitSlots } = options;
    const part = (lane: Lane): UnprovenPart => new UnprovenPart(budget.ceiling(lane), budget.windowMs);
    this.#unproven = {
      exit: part("exit"),
      trade: part("trade"),
      reconcile: part("reconcile"),
      read: part("read"),
      background: part("background"),
    };
    this.#unprovenSlots = new UnprovenSlots(slots, exitSlots);
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
    { caller = null, isProven = true, takeOther = NOTHING_ELSE, borrowsIdle = false }: Entrant = NO_ENTRANT,
  ): Admission | Promise<Admission> {
    const { clock, budget } = this.#options;
    if (this.#isClosed) return { ok: false, reason: "CLOSED", retryAfterMs: null };
    if (weight > budget.ceiling(lane)) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: null };
    const queue = this.#waiting[lane];
    const nowMs = monoMs(clock);
    const sinceMs = isProven || caller === null ? 0 : this.#unproven[lane].inLineSinceMs(caller, nowMs);
    const waiter: Waiter = {
      lane,
      weight,
      caller,
      isProven: isProven || caller === null,
      sinceMs,
      untilMs: nowMs + timeoutMs,
      takeOther,
      borrowsIdle,
      settle: () => {},
      timer: { id: 0 },
    };
    const isFree = queue.length === 0 && (lane === "exit" || !this.#isExitBlocked());
    const admission = isFree ? this.#admit(waiter) : null;
    if (admission !== null) return admission;
    if (!this.#hasPlace(queue, waiter)) {
      return { ok: false, reason: "QUEUE_FULL", retryAfterMs: this.#retryAfterMs(waiter) };
    }
    return new Promise((settle) => {
      waiter.settle = settle;
      const waitMs = waiter.isProven ? timeoutMs : Math.min(timeoutMs, UNPROVEN_WAIT_MS);
      waiter.timer = clock.setTimer(() => this.#expire(waiter), waitMs);
      queue.push(waiter);
      this.#waitingCount++;
      // Others that wait may do so for their own share alone.
      if (queue.length > 1) this.#drain();
      else this.#scheduleWake();
    });
  }

  /** The call admitted before has left the network. `wasProven`: as its admission says. */
  release(wasProven = true): void {
    this.#busySlots--;
    if (!wasProven) this.#unprovenSlots.release();
    this.#drain();
  }

  /** Of what a stranger took of its part of the lane nothing left this machine. */
  unsent(lane: Lane, caller: string, weight: number): void {
    this.#unproven[lane].untake(caller, weight);
  }

  /** The venue answered this caller well: it is one of those that are known, also where it waits. */
  known(caller: string): void {
    for (const lane of LANES) {
      this.#unproven[lane].refund(caller);
      for (const waiter of this.#waiting[lane]) if (waiter.caller === caller) waiter.isProven = true;
    }
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

  /** Null when it has to wait. */
  #admit({ lane, weight, caller, isProven, takeOther, borrowsIdle }: Waiter): Admission | null {
    const { slots, exitSlots, budget, clock } = this.#options;
    if (this.#busySlots >= (lane === "exit" ? slots : slots - exitSlots)) return null;
    if (!isProven && !this.#unprovenSlots.isFree(this.#busySlots)) return null;
    const nowMs = monoMs(clock);
    if (weight > budget.available(lane, nowMs, borrowsIdle)) return null;
    if (isProven ? budget.isBeyondShare(lane, caller, weight, nowMs) : this.#unproven[lane].waitMs(weight, nowMs) > 0)
      return null;
    const otherWaitMs = takeOther();
    if (otherWaitMs > 0) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: Math.ceil(otherWaitMs) };
    budget.charge(lane, weight, nowMs, borrowsIdle);
    budget.chargeCaller(lane, isProven ? caller : UNPROVEN, weight, nowMs);
    if (!isProven && caller !== null) {
      this.#unproven[lane].take(caller, weight, nowMs);
      this.#unprovenSlots.take();
    }
    this.#busySlots++;
    return isProven ? ADMITTED : ADMITTED_UNPROVEN;
  }

  #drain(): void {
    if (this.#waitingCount === 0) return;
    for (const lane of LANES) {
      this.#drainLane(lane, (queue) => this.#nextOf(queue));
      if (!this.#isHeldUp(lane)) this.#drainLane(lane, (queue) => eldestUnproven(queue, monoMs(this.#options.clock)));
      if (lane === "exit" && this.#isExitBlocked()) break;
    }
    this.#scheduleWake();
  }

  #drainLane(lane: Lane, nextOf: (queue: readonly Waiter[]) => Waiter | undefined): void {
    const queue = this.#waiting[lane];
    for (let next = nextOf(queue); next !== undefined; next = nextOf(queue)) {
      const admission = this.#admit(next);
      if (admission === null) return;
      queue.splice(queue.indexOf(next), 1);
      this.#waitingCount--;
      this.#options.clock.clearTimer(next.timer);
      next.settle(admission);
    }
  }

  /** The first of the known caller that used least of the lane. */
  #nextOf(queue: readonly Waiter[]): Waiter | undefined {
    const { budget, clock } = this.#options;
    const nowMs = monoMs(clock);
    let next: Waiter | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const waiter of queue) {
      if (!waiter.isProven) continue;
      const used = budget.usedBy(waiter.lane, waiter.caller, nowMs);
      if (used >= least) continue;
      next = waiter;
      least = used;
    }
    return next;
  }

  /** Does an exit call wait for what the lane or the connections have to give, and not for its caller's share alone? */
  #isExitBlocked(): boolean {
    return this.#isHeldUp("exit");
  }

  /** Does a known caller of the lane wait so? */
  #isHeldUp(lane: Lane): boolean {
    const next = this.#nextOf(this.#waiting[lane]);
    if (next === undefined) return false;
    const { budget, clock } = this.#options;
    const nowMs = monoMs(clock);
    if (next.weight > budget.available(lane, nowMs, next.borrowsIdle)) return true;
    return !budget.isBeyondShare(lane, next.caller, next.weight, nowMs);
  }

  /** One more may wait, where need be in the place of another. */
  #hasPlace(queue: Waiter[], waiter: Waiter): boolean {
    if (queue.length < this.#options.maxQueuedPerLane) return true;
    const youngest = youngestUnproven(queue);
    if (youngest === null) return waiter.isProven && this.#makeRoom(queue, queue, waiter.caller);
    const strangers = waiter.isProven ? [] : queue.filter(({ isProven }) => !isProven);
    if (this.#makeRoom(queue, strangers, waiter.caller)) return true;
    if (!waiter.isProven && youngest.sinceMs <= waiter.sinceMs) return false;
    this.#turnAway(queue, youngest);
    return true;
  }

  #turnAway(queue: Waiter[], waiter: Waiter): void {
    queue.splice(queue.indexOf(waiter), 1);
    this.#waitingCount--;
    this.#options.clock.clearTimer(waiter.timer);
    waiter.settle({ ok: false, reason: "QUEUE_FULL", retryAfterMs: this.#retryAfterMs(waiter) });
  }

  /** Refuses the last waiting call of the caller that has most of `among`, where that is more than `caller` has with this one. */
  #makeRoom(queue: Waiter[], among: readonly Waiter[], caller: string | null): boolean {
    const counts = new Map<string | null, number>();
    for (const waiter of among) counts.set(waiter.caller, (counts.get(waiter.caller) ?? 0) + 1);
    let most = (counts.get(caller) ?? 0) + 1;
    let last: Waiter | null = null;
    for (const waiter of among) {
      const count = counts.get(waiter.caller) ?? 0;
      if (count < most || (count === most && waiter.caller !== last?.caller)) continue;
      most = count;
      last = waiter;
    }
    if (last === null) return false;
    this.#turnAway(queue, last);
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
    if (this.#waitingCount === 0) return;
    const { clock } = this.#options;
    const nowMs = monoMs(clock);
    const waitMs = this.#wakeInMs(nowMs);
    // Nothing spent: only a slot is missing, and `release` drains.
    if (waitMs === 0 || (this.#wake !== null && nowMs + waitMs >= this.#wakeAtMs)) return;
    if (this.#wake !== null) clock.clearTimer(this.#wake);
    this.#wakeAtMs = nowMs + waitMs;
    this.#wake = clock.setTimer(() => {
      this.#wake = null;
      this.#drain();
    }, waitMs + EDGE_MS);
  }

  /** When weight comes back to the lanes, or to the part of an unproven caller that waits. */
  #wakeInMs(nowMs: number): number {
    let waitMs = this.#options.budget.msUntilRelease(nowMs);
    for (const lane of LANES) {
      const eldest = eldestUnproven(this.#waiting[lane], nowMs);
      const partMs = eldest === undefined ? 0 : this.#unproven[lane].waitMs(eldest.weight, nowMs);
      if (partMs > 0) waitMs = Math.min(waitMs === 0 ? partMs : waitMs, partMs);
    }
    return waitMs;
  }

  #retryAfterMs({ lane, weight, caller, isProven }: Waiter): number {
    const { clock, budget } = this.#options;
    const nowMs = monoMs(clock);
    const laneMs = budget.msUntilAvailable(lane, weight, nowMs);
    if (!isProven) return Math.ceil(Math.max(laneMs, this.#unproven[lane].waitMs(weight, nowMs)));
    const shareMs = budget.isBeyondShare(lane, caller, weight, nowMs) ? budget.msUntilRelease(nowMs) : 0;
    return Math.ceil(Math.max(laneMs, shareMs));
  }
}

/**
 * Of those not proven the last call of the one that waits for its turn for longest: it has the most time left. A call whose
 * time is nearly over would only waste the turn.
 */
function eldestUnproven(queue: readonly Waiter[], nowMs: number): Waiter | undefined {
  let eldest: Waiter | undefined;
  for (const waiter of queue) {
    if (waiter.isProven || waiter.untilMs - nowMs < LEFT_MIN_MS) continue;
    const isElder = eldest === undefined || waiter.sinceMs < eldest.sinceMs;
    if (isElder || waiter.caller === eldest?.caller) eldest = waiter;
  }
  return eldest;
}

function youngestUnproven(queue: readonly Waiter[]): Waiter | null {
  let youngest: Waiter | null = null;
  for (const waiter of queue) if (!waiter.isProven && waiter.sinceMs >= (youngest?.sinceMs ?? 0)) youngest = waiter;
  return youngest;
}
