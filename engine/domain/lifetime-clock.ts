/**
 * The time by which what lives for a stated time is judged: our wall clock, but never more ahead of the start of
 * this process than has passed since. A wall clock set forward ends nothing before its time; one set back lets it live
 * longer. After a restart the wall clock alone counts.
 */
import type { Clock } from "./clock.js";

export class LifetimeClock {
  readonly #clock: Clock;
  /** Wall ms less monotonic ms at the start. */
  readonly #originMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#originMs = clock.wallMs() - clock.monoNs() / 1e6;
  }

  nowMs(): number {
    return Math.min(this.#clock.wallMs(), Math.floor(this.#originMs + this.#clock.monoNs() / 1e6));
  }
}
