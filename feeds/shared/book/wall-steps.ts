/**
 * Steps of our wall clock against the monotonic one: it was set, or the machine slept. Slewing moves both clocks and is no
 * step. hot path: a look costs two readings of the clock.
 */
import type { Clock } from "../../../engine/domain/clock.js";

/** The clocks moved apart by more than this. */
const STEP_MS = 100;
/** Two readings with a pause in between look like a step: so many tries without one. */
const MAX_READINGS = 3;

export class WallSteps {
  readonly #clock: Clock;
  /** Wall ms less monotonic ms, as of the last step. */
  #gapMs: number;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#gapMs = clock.wallMs() - clock.monoNs() / 1e6;
  }

  /** Steps seen. */
  get count(): number {
    return this.#count;
  }

  /** By how much the wall clock stepped since the last look, ms; below 0 where it was set back, 0 where it did not step. */
  look(): number {
    const byMs = this.#clock.wallMs() - this.#clock.monoNs() / 1e6 - this.#gapMs;
    return byMs > STEP_MS || byMs < -STEP_MS ? this.#measure() : 0;
  }

  #measure(): number {
    for (let reading = 0; reading < MAX_READINGS; reading++) {
      const beforeMs = this.#clock.monoNs() / 1e6;
      const gapMs = this.#clock.wallMs() - beforeMs;
      if (this.#clock.monoNs() / 1e6 - beforeMs > STEP_MS / 2) continue;
      const byMs = gapMs - this.#gapMs;
      if (byMs <= STEP_MS && byMs >= -STEP_MS) return 0;
      this.#gapMs += byMs;
      this.#count++;
      return byMs;
    }
    return 0;
  }
}
