/**
 * Work that runs beside replies: writes after the fact, late resolutions, the sweeps of old rows. Nothing here may
 * fail a request: what fails is logged. `settled` lets a shutdown wait for it.
 *
 * Bounds: each close adds a fixed few, and closes in flight are bounded; the store bounds what waits in it. Sweeps are
 * one at a time, of bounded rounds.
 */
import type { Clock } from "../domain/clock.js";
import { ServiceError } from "../domain/errors.js";
import type { Logger } from "../domain/logger.js";

const SWEEP_INTERVAL_MS = 60_000;
/** While a sweep finds full rounds it goes on at this pace. */
const SWEEP_BUSY_INTERVAL_MS = 1_000;

/** One bounded round; true when there may be more to do. */
export interface Sweepable {
  sweep(): Promise<boolean>;
}

export class Background {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #works = new Set<Promise<void>>();
  #stopped = false;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  run(what: string, work: Promise<unknown>): void {
    const guarded: Promise<void> = work
      .then(
        () => {},
        (error: unknown) => this.#logger.warn("background_failed", { what, problem: problemOf(error) }),
      )
      .finally(() => this.#works.delete(guarded));
    this.#works.add(guarded);
  }

  get size(): number {
    return this.#works.size;
  }

  /** What runs now; new work may have come when it resolves. */
  async settled(): Promise<void> {
    await Promise.all(this.#works);
  }

  startSweeps(parts: readonly Sweepable[]): void {
    this.#schedule(parts, SWEEP_INTERVAL_MS);
  }

  stopSweeps(): void {
    this.#stopped = true;
  }

  #schedule(parts: readonly Sweepable[], delayMs: number): void {
    this.#clock.setTimer(() => {
      if (!this.#stopped) this.run("sweep", this.#sweep(parts));
    }, delayMs);
  }

  async #sweep(parts: readonly Sweepable[]): Promise<void> {
    let more = false;
    try {
      for (const part of parts) more = (await part.sweep()) || more;
    } finally {
      this.#schedule(parts, more ? SWEEP_BUSY_INTERVAL_MS : SWEEP_INTERVAL_MS);
    }
  }
}

/** A word for the log; texts of foreign errors may hold anything. */
export function problemOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.name : "not an Error";
}
