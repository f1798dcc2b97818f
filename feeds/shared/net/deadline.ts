/** One time budget over several calls: each next call gets what is left. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";

export class Deadline {
  readonly #clock: Clock;
  readonly #options: CallOptions;
  readonly #startNs: number;
  readonly #payer: string | null;

  /** `payer`: who pays for each call; absent or null: as the options have it. */
  constructor(clock: Clock, options: CallOptions, payer: string | null = null) {
    this.#clock = clock;
    this.#options = options;
    this.#payer = payer ?? options.payer ?? null;
    this.#startNs = clock.monoNs();
  }

  leftMs(): number {
    return Math.floor(this.#options.timeoutMs - (this.#clock.monoNs() - this.#startNs) / 1e6);
  }

  /** Null when nothing is left: the call must not be made. */
  left(): CallOptions | null {
    const timeoutMs = this.leftMs();
    return timeoutMs > 0 ? { ...this.#options, timeoutMs, payer: this.#payer } : null;
  }
}

/** Waits for `work`, but no longer than `maxMs` of this clock; its own failure counts as done. */
export function settleWithin(clock: Clock, work: Promise<unknown>, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(resolve, maxMs);
    const done = (): void => {
      clock.clearTimer(timer);
      resolve();
    };
    work.then(done, done);
  });
}
