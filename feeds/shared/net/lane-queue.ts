/**
 * Admits calls to the network in turn: what a call needs is lane-gate.ts, whose turn it is in a lane waiting-line.ts.
 *
 * Order: by lane priority. While an `exit` call waits nothing else is admitted, unless it waits for its caller's share
 * alone; a waiting call of another lane does not keep lower lanes from the part held back for them. Strangers come after
 * callers that are known, and hold up no other call.
 *
 * Bounded: `maxQueuedPerLane` waiting calls; one more is refused at once (QUEUE_FULL), unless another gives way to it. A
 * call that cannot be admitted before its deadline is refused (RATE_BUDGET), and so is one heavier than its lane.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Lane } from "../../../engine/ports.js";
import { type Admission, LaneGate, type LaneGateOptions, type TakeOther } from "./lane-gate.js";
import { LANES } from "./lanes.js";
import { type Waiter, WaitingLine } from "./waiting-line.js";
import { monoMs } from "./weight-window.js";

export interface LaneQueueOptions extends LaneGateOptions {
  readonly clock: Clock;
  readonly maxQueuedPerLane: number;
}

export interface Entrant {
  /** Whose credentials it carries; null: our own. */
  readonly caller?: string | null;
  /** Who shares the lane with others: an API key, or the caller itself. Default: the caller. */
  readonly payer?: string | null;
  /** Has the venue ever answered this caller well? Default: true. */
  readonly isProven?: boolean;
  readonly takeOther?: TakeOther;
  /** May it take what is held back for idle lanes (lanes.ts)? */
  readonly borrowsIdle?: boolean;
}

const NOTHING_ELSE: TakeOther = () => 0;
const NO_ENTRANT: Entrant = {};
/** However much time it gives: a stranger that asks once must not be before one that asks again for long. */
const UNPROVEN_WAIT_MS = 5_000;
/** A bucket edge computed in floating point may lie a hair before the bucket turns. */
const EDGE_MS = 1;

export class LaneQueue {
  readonly #options: LaneQueueOptions;
  readonly #gate: LaneGate;
  readonly #lines: Readonly<Record<Lane, WaitingLine>>;
  #waitingCount = 0;
  #wake: TimerHandle | null = null;
  #wakeAtMs = 0;
  #isClosed = false;

  constructor(options: LaneQueueOptions) {
    this.#options = options;
    this.#gate = new LaneGate(options);
    const { budget } = options;
    this.#lines = {
      exit: new WaitingLine(budget),
      trade: new WaitingLine(budget),
      reconcile: new WaitingLine(budget),
      read: new WaitingLine(budget),
      background: new WaitingLine(budget),
    };
  }

  queued(lane: Lane): number {
    return this.#lines[lane].length;
  }

  get busySlots(): number {
    return this.#gate.busySlots;
  }

  /** Resolves admitted (then `release` is owed) or refused. `timeoutMs` bounds the wait. */
  acquire(
    lane: Lane,
    weight: number,
    timeoutMs: number,
    {
      caller = null,
      payer = caller,
      isProven = true,
      takeOther = NOTHING_ELSE,
      borrowsIdle = false,
    }: Entrant = NO_ENTRANT,
  ): Admission | Promise<Admission> {
    const { clock, budget } = this.#options;
    if (this.#isClosed) return { ok: false, reason: "CLOSED", retryAfterMs: null };
    if (weight > budget.ceiling(lane)) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: null };
    const line = this.#lines[lane];
    const nowMs = monoMs(clock);
    const waiter: Waiter = {
      lane,
      weight,
      caller,
      payer,
      isProven: isProven || caller === null,
      sinceMs: isProven || caller === null ? 0 : this.#gate.strangerSinceMs(lane, payer ?? caller, nowMs),
      untilMs: nowMs + timeoutMs,
      takeOther,
      borrowsIdle,
      settle: () => {},
      timer: { id: 0 },
    };
    const isFree = line.length === 0 && (lane === "exit" || !this.#isHeldUp("exit", nowMs));
    const admission = isFree ? this.#gate.admit(waiter, nowMs) : null;
    if (admission !== null) return admission;
    if (line.length >= this.#options.maxQueuedPerLane) {
      const displaced = line.displacedBy(waiter);
      if (displaced === null)
        return { ok: false, reason: "QUEUE_FULL", retryAfterMs: this.#gate.retryAfterMs(waiter, nowMs) };
      this.#refuse(displaced, "QUEUE_FULL");
    }
    return this.#wait(waiter, waiter.isProven ? timeoutMs : Math.min(timeoutMs, UNPROVEN_WAIT_MS));
  }

  /** The call admitted before is over. `wasProven`: as of its admission. */
  release(wasProven = true): void {
    this.#gate.release(wasProven);
    this.#drain();
  }

  /** A stranger's call was not sent: what it took of its part of the lane comes back. */
  unsent(lane: Lane, caller: string, weight: number): void {
    this.#gate.untake(lane, caller, weight);
  }

  /** The venue answered this caller well: it is one of those that are known, also where it waits. */
  known(caller: string): void {
    for (const lane of LANES) {
      this.#gate.refund(lane, caller);
      this.#lines[lane].known(caller);
    }
    this.#drain();
  }

  /** Refuses everything that waits and all that comes. */
  close(): void {
    this.#isClosed = true;
    if (this.#wake !== null) this.#options.clock.clearTimer(this.#wake);
    this.#wake = null;
    for (const lane of LANES) {
      for (const waiter of this.#lines[lane].removeAll()) {
        this.#options.clock.clearTimer(waiter.timer);
        waiter.settle({ ok: false, reason: "CLOSED", retryAfterMs: null });
      }
    }
    this.#waitingCount = 0;
  }

  #wait(waiter: Waiter, waitMs: number): Promise<Admission> {
    return new Promise((settle) => {
      waiter.settle = settle;
      waiter.timer = this.#options.clock.setTimer(() => {
        if (this.#refuse(waiter, "RATE_BUDGET")) this.#drain();
      }, waitMs);
      const line = this.#lines[waiter.lane];
      line.push(waiter);
      this.#waitingCount++;
      // Others that wait may do so for their own share alone.
      if (line.length > 1) this.#drain();
      else this.#scheduleWake();
    });
  }

  /** Returns false when it does not wait any more. */
  #refuse(waiter: Waiter, reason: "RATE_BUDGET" | "QUEUE_FULL"): boolean {
    const { clock } = this.#options;
    if (!this.#lines[waiter.lane].remove(waiter)) return false;
    this.#waitingCount--;
    clock.clearTimer(waiter.timer);
    waiter.settle({ ok: false, reason, retryAfterMs: this.#gate.retryAfterMs(waiter, monoMs(clock)) });
    return true;
  }

  #drain(): void {
    if (this.#waitingCount === 0) return;
    const nowMs = monoMs(this.#options.clock);
    for (const lane of LANES) {
      const line = this.#lines[lane];
      let next = line.next(nowMs);
      while (next !== null && this.#admit(next, nowMs)) next = line.next(nowMs);
      if (!this.#isHeldUp(lane, nowMs)) {
        next = line.nextStranger(nowMs);
        while (next !== null && this.#admit(next, nowMs)) next = line.nextStranger(nowMs);
      }
      if (lane === "exit" && this.#isHeldUp("exit", nowMs)) break;
    }
    this.#scheduleWake();
  }

  /** Returns false when it has to go on waiting. */
  #admit(waiter: Waiter, nowMs: number): boolean {
    const admission = this.#gate.admit(waiter, nowMs);
    if (admission === null) return false;
    const { caller, isProven, lane, payer } = waiter;
    this.#lines[lane].remove(waiter);
    // A key may have many accounts in line: after its turn all of them wait behind who came meanwhile.
    if (!isProven && payer !== null && payer !== caller)
      this.#lines[lane].regroup(payer, this.#gate.strangerSinceMs(lane, payer, nowMs));
    this.#waitingCount--;
    this.#options.clock.clearTimer(waiter.timer);
    waiter.settle(admission);
    return true;
  }

  /** Does a known caller of the lane wait for what the lane or the connections have to give? */
  #isHeldUp(lane: Lane, nowMs: number): boolean {
    const next = this.#lines[lane].next(nowMs);
    return next !== null && this.#gate.isHeldUp(next, nowMs);
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
      const eldest = this.#lines[lane].nextStranger(nowMs);
      const partMs = eldest === null ? 0 : this.#gate.strangerWaitMs(lane, eldest.weight, nowMs);
      if (partMs > 0) waitMs = Math.min(waitMs === 0 ? partMs : waitMs, partMs);
    }
    return waitMs;
  }
}
