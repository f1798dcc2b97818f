/**
 * Looks at one venue, one at a time and a gap apart, the one that is due first.
 *
 * Bound: one look and one timer; what is due is its owner's list.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";

export interface PacedLook {
  readonly dueNs: number;
  look(): Promise<void>;
}

export class PacedReads {
  readonly #clock: Clock;
  readonly #gapMs: number;
  readonly #next: () => PacedLook | null;
  #timer: TimerHandle | null = null;
  #freeNs = 0;
  #looking: Promise<void> | null = null;
  #stopped = false;

  constructor(clock: Clock, gapMs: number, next: () => PacedLook | null) {
    this.#clock = clock;
    this.#gapMs = gapMs;
    this.#next = next;
  }

  /** What is due may have changed. */
  wake(): void {
    if (this.#looking !== null || this.#stopped) return;
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    const next = this.#next();
    if (next === null) return;
    const delayMs = Math.max(0, Math.max(next.dueNs, this.#freeNs) - this.#clock.monoNs()) / 1e6;
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = null;
      this.#looking = this.#look();
    }, delayMs);
  }

  /** Resolves with the end of a look that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    await this.#looking;
  }

  async #look(): Promise<void> {
    this.#freeNs = this.#clock.monoNs() + this.#gapMs * 1e6;
    try {
      await this.#next()?.look();
    } finally {
      this.#looking = null;
      this.wake();
    }
  }
}
