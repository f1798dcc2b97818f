/** The count of a store that is written to goes on by itself, so that a backup of any minute differs from the next one. */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import type { StateStore } from "../state-store.js";

/** What was opened shortly before a backup of the same run may be forgotten for no longer than this. */
const BEAT_MS = 60_000;

export class InstanceBeat {
  readonly #clock: Clock;
  readonly #store: Pick<StateStore, "status">;
  readonly #count: () => Promise<void>;
  #timer: TimerHandle | null = null;
  #batches = 0;
  #isStopped = false;

  /** `count`: may reject; the store says so wherever it is written to. */
  constructor(clock: Clock, store: Pick<StateStore, "status">, count: () => Promise<void>) {
    this.#clock = clock;
    this.#store = store;
    this.#count = count;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#batches = this.#store.status().batchCount;
    this.#timer = this.#clock.setTimer(() => {
      const isWritten = this.#store.status().batchCount !== this.#batches;
      const counted = isWritten ? this.#count() : Promise.resolve();
      void counted.catch(() => {}).finally(() => this.start());
    }, BEAT_MS);
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
  }
}
