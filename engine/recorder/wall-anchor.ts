// hot path
/**
 * Monotonic receive times as wall-clock microseconds: one pair of readings of both clocks, and the difference since.
 * Rows keep the order and the spacing of the monotonic clock; a step of the wall clock is followed at the next `check`.
 */
import type { Clock } from "../domain/clock.js";

/** A smaller difference is the milliseconds' own grain, and drift that is not worth a step back. */
const STEP_MIN_US = 5_000;

export class WallAnchor {
  readonly #clock: Clock;
  /** Wall µs at monotonic 0. */
  #baseUs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#baseUs = this.#measure();
  }

  /** Call now and then. */
  check(): void {
    const measured = this.#measure();
    if (Math.abs(measured - this.#baseUs) >= STEP_MIN_US) this.#baseUs = measured;
  }

  toUs(monoNs: number): number {
    return this.#baseUs + Math.floor(monoNs / 1000);
  }

  #measure(): number {
    return this.#clock.wallMs() * 1000 - Math.floor(this.#clock.monoNs() / 1000);
  }
}
