/**
 * The calls that wait in one lane, and whose turn is next. Of known callers: the payer (an API key, or the
 * caller itself) that used least of the lane, then first come first served. Of strangers (unproven-part.ts): the payer that
 * waits for its turn for longest.
 *
 * Who gives way in a full line: strangers to known callers, and of each kind the payer that has most calls waiting.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { Admission, LaneCall } from "./lane-gate.js";
import type { LaneBudget } from "./lanes.js";

export interface Waiter extends LaneCall {
  /** Of one who is not proven: since when it waits for its turn, over all its calls. */
  sinceMs: number;
  /** When its time is over. */
  readonly untilMs: number;
  settle: (admission: Admission) => void;
  timer: TimerHandle;
}

/** Of a stranger's call that waited: less than an answer takes. */
const LEFT_MIN_MS = 500;

export class WaitingLine {
  readonly #budget: LaneBudget;
  readonly #waiters: Waiter[] = [];

  constructor(budget: LaneBudget) {
    this.#budget = budget;
  }

  get length(): number {
    return this.#waiters.length;
  }

  push(waiter: Waiter): void {
    this.#waiters.push(waiter);
  }

  /** Returns false when it does not wait any more. */
  remove(waiter: Waiter): boolean {
    const position = this.#waiters.indexOf(waiter);
    if (position >= 0) this.#waiters.splice(position, 1);
    return position >= 0;
  }

  removeAll(): Waiter[] {
    return this.#waiters.splice(0);
  }

  /** The venue answered this caller well. */
  known(caller: string): void {
    for (const waiter of this.#waiters) if (waiter.caller === caller) waiter.isProven = true;
  }

  /** The turn of a key is over, or begins: since when all that waits at its cost waits. */
  regroup(payer: string, sinceMs: number): void {
    for (const waiter of this.#waiters) if (!waiter.isProven && waiter.payer === payer) waiter.sinceMs = sinceMs;
  }

  /** The first, among known callers, of the payer that used least of the lane. */
  next(nowMs: number): Waiter | null {
    let next: Waiter | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiters) {
      if (!waiter.isProven) continue;
      const used = this.#budget.usedBy(waiter.lane, waiter.payer, nowMs);
      if (used >= least) continue;
      next = waiter;
      least = used;
    }
    return next;
  }

  /**
   * Of the stranger that waits for its turn for longest the last call: it has the most time left. A call whose time is
   * nearly over would only waste the turn.
   */
  nextStranger(nowMs: number): Waiter | null {
    let eldest: Waiter | null = null;
    for (const waiter of this.#waiters) {
      if (waiter.isProven || waiter.untilMs - nowMs < LEFT_MIN_MS) continue;
      const isElder = eldest === null || waiter.sinceMs < eldest.sinceMs;
      if (isElder || waiter.payer === eldest?.payer) eldest = waiter;
    }
    return eldest;
  }

  /** Who gives way to this one where all places are taken; returns null when this one is refused itself. */
  displacedBy({ payer, isProven, sinceMs }: Waiter): Waiter | null {
    const youngest = youngestStranger(this.#waiters);
    if (youngest === null) return isProven ? lastOfMost(this.#waiters, payer) : null;
    if (isProven) return youngest;
    const strangers = this.#waiters.filter((waiter) => !waiter.isProven);
    return lastOfMost(strangers, payer) ?? (youngest.sinceMs > sinceMs ? youngest : null);
  }
}

function youngestStranger(waiters: readonly Waiter[]): Waiter | null {
  let youngest: Waiter | null = null;
  for (const waiter of waiters) if (!waiter.isProven && waiter.sinceMs >= (youngest?.sinceMs ?? 0)) youngest = waiter;
  return youngest;
}

/** The last call of the payer that has most of these, where that is more than `payer` has with one more. */
function lastOfMost(waiters: readonly Waiter[], payer: string | null): Waiter | null {
  const counts = new Map<string | null, number>();
  for (const waiter of waiters) counts.set(waiter.payer, (counts.get(waiter.payer) ?? 0) + 1);
  let most = (counts.get(payer) ?? 0) + 1;
  let last: Waiter | null = null;
  for (const waiter of waiters) {
    const count = counts.get(waiter.payer) ?? 0;
    if (count < most || (count === most && waiter.payer !== last?.payer)) continue;
    most = count;
    last = waiter;
  }
  return last;
}
