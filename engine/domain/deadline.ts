/** Every wait in the program has a time limit; these are the two ways to set one. */
import type { Clock } from "./clock.js";

export type Within<T> = { readonly done: true; readonly value: T } | { readonly done: false };

/** Returns the promise's value if it settles in time. A late rejection is observed, so it does not end the process. */
export function within<T>(clock: Clock, promise: Promise<T>, timeoutMs: number): Promise<Within<T>> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(() => resolve({ done: false }), timeoutMs);
    promise.then(
      (value) => {
        clock.clearTimer(timer);
        resolve({ done: true, value });
      },
      (error: unknown) => {
        clock.clearTimer(timer);
        reject(error instanceof Error ? error : new Error("rejected with no Error"));
      },
    );
  });
}

/** Monotonic count-down for one request. */
export class Deadline {
  readonly #clock: Clock;
  readonly #startNs: number;
  readonly #limitMs: number;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#startNs = clock.monoNs();
    this.#limitMs = limitMs;
  }

  elapsedMs(): number {
    return (this.#clock.monoNs() - this.#startNs) / 1e6;
  }

  /** Never below 0. */
  leftMs(): number {
    return Math.max(0, this.#limitMs - this.elapsedMs());
  }
}
