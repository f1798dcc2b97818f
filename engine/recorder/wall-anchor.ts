// hot path
/**
 * Converts monotonic receive times to wall-clock microseconds, from one pair of readings of both clocks and the
 * difference since. Rows keep the order and the spacing of the monotonic clock; the next `check` follows a step of the
 * wall clock.
 */
import type { Clock } from "../domain/clock.js";

/** A smaller difference is the resolution of the milliseconds, or drift too small for a step back. */
const STEP_MIN_US = 5_000;

export class WallAnchor {
  readonly #clock: Clock;
  /** Wall µs at monotonic 0. */
  #baseUs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#baseUs = this.#measure();
  }

  /** Call at intervals. */
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
