/**
 * May a call go on the network now? It needs weight of its lane (lanes.ts) and a connection slot, some of which are for
 * `exit` alone, so a close never queues behind slow reads.
 *
 * Callers that the venue has never answered well share a small part of each lane (unproven-part.ts) and a quarter of
 * the connections, and keep half of those free for `exit` alone.
 *
 * A call may also need what another budget gives (its account's): it is taken in the turn of the admission, both or
 * neither, and a call that it is refused to is refused (RATE_BUDGET).
 */
import type { Lane } from "../../../engine/ports.js";
import { type LaneBudget, UNPROVEN } from "./lanes.js";
import { UnprovenPart, UnprovenSlots } from "./unproven-part.js";

export type Admission =
  /** `isStranger`: it was admitted as one, to the places that they share; a caller that became known while it waited was not. */
  | { readonly ok: true; readonly isStranger?: true }
  | {
      readonly ok: false;
      readonly reason: "RATE_BUDGET" | "QUEUE_FULL" | "CLOSED";
      readonly retryAfterMs: number | null;
    };

/** 0: taken. Else the time to wait, and nothing was taken. */
export type TakeOther = () => number;

export interface LaneCall {
  readonly lane: Lane;
  readonly weight: number;
  /** Whose credentials it carries; null: our own. */
  readonly caller: string | null;
  /** Who shares the lane with others: the API key that asks, else the caller. */
  readonly payer: string | null;
  /** The venue has answered this caller well. */
  isProven: boolean;
  readonly takeOther: TakeOther;
  /** It may take what is held back for idle lanes. */
  readonly borrowsIdle: boolean;
}

export interface LaneGateOptions {
  readonly budget: LaneBudget;
  /** Calls on the network at once. */
  readonly slots: number;
  /** Of these, slots only `exit` may take. */
  readonly exitSlots: number;
}

const ADMITTED: Admission = { ok: true };
const ADMITTED_UNPROVEN: Admission = { ok: true, isStranger: true };

export class LaneGate {
  readonly #options: LaneGateOptions;
  readonly #unproven: Readonly<Record<Lane, UnprovenPart>>;
  readonly #unprovenSlots: UnprovenSlots;
  #busySlots = 0;

  constructor(options: LaneGateOptions) {
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

  get busySlots(): number {
    return this.#busySlots;
  }

  /** Returns null when it has to wait; once admitted, `release` is owed. */
  admit({ lane, weight, caller, payer, isProven, takeOther, borrowsIdle }: LaneCall, nowMs: number): Admission | null {
    const { slots, exitSlots, budget } = this.#options;
    if (this.#busySlots >= (lane === "exit" ? slots : slots - exitSlots)) return null;
    if (!isProven && !this.#unprovenSlots.isFree(this.#busySlots)) return null;
    if (weight > budget.available(lane, nowMs, borrowsIdle)) return null;
    if (isProven ? budget.isBeyondShare(lane, payer, weight, nowMs) : this.strangerWaitMs(lane, weight, nowMs) > 0)
      return null;
    const otherWaitMs = takeOther();
    if (otherWaitMs > 0) return { ok: false, reason: "RATE_BUDGET", retryAfterMs: Math.ceil(otherWaitMs) };
    budget.charge(lane, weight, nowMs, borrowsIdle);
    budget.chargeCaller(lane, isProven ? payer : UNPROVEN, weight, nowMs);
    if (!isProven && caller !== null) {
      this.#unproven[lane].take(caller, payer ?? caller, weight, nowMs);
      this.#unprovenSlots.take();
    }
    this.#busySlots++;
    return isProven ? ADMITTED : ADMITTED_UNPROVEN;
  }

  /** The call admitted before is over. `wasProven`: as of its admission. */
  release(wasProven: boolean): void {
    this.#busySlots--;
    if (!wasProven) this.#unprovenSlots.release();
  }

  /** Does the lane or the connections lack what the call needs, and not its caller's share alone? */
  isHeldUp({ lane, weight, payer, borrowsIdle }: LaneCall, nowMs: number): boolean {
    const { budget } = this.#options;
    if (weight > budget.available(lane, nowMs, borrowsIdle)) return true;
    return !budget.isBeyondShare(lane, payer, weight, nowMs);
  }

  retryAfterMs({ lane, weight, payer, isProven }: LaneCall, nowMs: number): number {
    const { budget } = this.#options;
    const laneMs = budget.msUntilAvailable(lane, weight, nowMs);
    if (!isProven) return Math.ceil(Math.max(laneMs, this.strangerWaitMs(lane, weight, nowMs)));
    const shareMs = budget.isBeyondShare(lane, payer, weight, nowMs) ? budget.msUntilRelease(nowMs) : 0;
    return Math.ceil(Math.max(laneMs, shareMs));
  }

  /** When who pays for a stranger got in line for its turn, over all its calls; now for a new one. */
  strangerSinceMs(lane: Lane, payer: string, nowMs: number): number {
    return this.#unproven[lane].inLineSinceMs(payer, nowMs);
  }

  /** Until the part that strangers share of the lane has so much; 0: it has. */
  strangerWaitMs(lane: Lane, weight: number, nowMs: number): number {
    return this.#unproven[lane].waitMs(weight, nowMs);
  }

  /** A stranger's call was not sent: what it took of its part of the lane comes back. */
  untake(lane: Lane, caller: string, weight: number): void {
    this.#unproven[lane].untake(caller, weight);
  }

  /** The venue answered this caller well: what it took of the lane was no stranger's. */
  refund(lane: Lane, caller: string): void {
    this.#unproven[lane].refund(caller);
  }
}
