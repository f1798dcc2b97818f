/** Pauses between tries to reach a store that is away: jittered, and doubled by each failure in a row up to a maximum. */
import type { Random } from "../domain/random.js";

const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 10_000;
const DOUBLINGS_MAX = 10;

export class RetryPause {
  readonly #random: Random;
  #failures = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the pause after one more failure. */
  nextMs(): number {
    const limitMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures, DOUBLINGS_MAX));
    this.#failures += 1;
    return limitMs * (0.5 + 0.5 * this.#random.next());
  }

  /** The store answered. */
  reset(): void {
    this.#failures = 0;
  }
}
