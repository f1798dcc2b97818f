/**
 * Sees to it that a venue's clock is measured when there is need: after a step of our wall clock or a sleep of the
 * machine, and while frames contradict what is known. A request that names a time of the venue waits for that.
 *
 * Bounds: one measurement at a time; those that frames ask for begin MIN_PAUSE_MS apart, UNPROVEN_PAUSE_MS after a step;
 * while frames contradict what was just measured, twice as long after each, up to MAX_PAUSE_MS, until CALM_MS passed or a
 * measurement agreed with them.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { OrderSender } from "../../../engine/ports.js";
import { localReject, refusedOf } from "../net/call-results.js";
import type { ClockOffset } from "./clock-offset.js";
import { Deadline, settleWithin } from "../net/deadline.js";

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 32_000;
const UNPROVEN_PAUSE_MS = 1_000;
const CALM_MS = 60_000;
/** A venue's clock that moved by more has stepped. */
const MOVED_MS = 1_000;
/** A step during the first measurement makes it prove nothing. */
const MAX_TRIES = 2;

export interface ClockCheckOptions {
  readonly clock: Clock;
  readonly clockOffset: ClockOffset;
  /** One round trip, reported to `clockOffset`; bounded in time. */
  readonly measure: () => Promise<unknown>;
}

export class ClockCheck {
  readonly #options: ClockCheckOptions;
  #pending: Promise<void> | null = null;
  /** Monotonic ms. */
  #startedMs = Number.NEGATIVE_INFINITY;
  #pauseMs = MIN_PAUSE_MS;

  constructor(options: ClockCheckOptions) {
    this.#options = options;
    options.clockOffset.onDoubt = () => this.#ask();
  }

  /** False: the venue gave no usable answer in that time. */
  async proven(withinMs: number): Promise<boolean> {
    const { clock, clockOffset } = this.#options;
    const deadline = new Deadline(clock, { timeoutMs: withinMs, lane: "exit" });
    for (let tries = 0; tries < MAX_TRIES && !clockOffset.isProven; tries++) {
      const left = deadline.left();
      if (left === null) break;
      await settleWithin(clock, this.#measure(), left.timeoutMs);
    }
    return clockOffset.isProven;
  }

  /** Of each frame while there is doubt. */
  #ask(): void {
    if (this.#pending !== null) return;
    const { clock, clockOffset } = this.#options;
    const sinceMs = clock.monoNs() / 1e6 - this.#startedMs;
    if (sinceMs < MIN_PAUSE_MS) return;
    if (!clockOffset.isProven) {
      if (sinceMs < UNPROVEN_PAUSE_MS) return;
    } else {
      if (sinceMs < this.#pauseMs) return;
      this.#pauseMs = sinceMs > CALM_MS ? MIN_PAUSE_MS : Math.min(MAX_PAUSE_MS, 2 * this.#pauseMs);
    }
    // Whoever needs the answer asks the offset.
    void this.#measure();
  }

  #measure(): Promise<void> {
    if (this.#pending !== null) return this.#pending;
    const { clock, clockOffset, measure } = this.#options;
    this.#startedMs = clock.monoNs() / 1e6;
    const beforeMs = clockOffset.offsetMs;
    const done = (): void => {
      this.#pending = null;
      // The frames were right: the next ones to contradict are asked for as soon.
      if (Math.abs(clockOffset.offsetMs - beforeMs) > MOVED_MS) this.#pauseMs = MIN_PAUSE_MS;
    };
    this.#pending = measure().then(done, done);
    return this.#pending;
  }
}

/**
 * A room's orders, whose switch names no time before the venue's is proven: one guessed wrong fires late by the step, or
 * takes away the orders of a caller who lives. Ending a switch names none.
 */
export function withProvenTimes(orders: OrderSender, clock: Clock, check: ClockCheck): OrderSender {
  const schedule = orders.scheduleCancel;
  if (schedule === undefined) return orders;
  return {
    ...orders,
    scheduleCancel: async (session, atMs, options) => {
      if (atMs === null) return schedule(session, null, options);
      const aheadMs = atMs - clock.wallMs();
      const beganNs = clock.monoNs();
      const deadline = new Deadline(clock, options);
      const isProven = await check.proven(options.timeoutMs);
      const left = deadline.left();
      if (!isProven || left === null) return refusedOf(UNPROVEN);
      // The wall clock may have been set meanwhile: what the caller means is a time from then.
      const spentMs = (clock.monoNs() - beganNs) / 1e6;
      return schedule(session, Math.round(clock.wallMs() + aheadMs - spentMs), left);
    },
  };
}

const UNPROVEN = localReject("VENUE_STATE", "CLOCK_UNPROVEN", "the venue's time is not known since our clock stepped");
