/** Whether a connection lives: shared by the accounts that are streamed over it. */
import type { Clock } from "../../../engine/domain/clock.js";

/** Nothing came for so long, pongs included: not proven alive. */
export const SILENT_AFTER_MS = 6_000;

export class ConnectionLife {
  readonly #clock: Clock;
  /** Monotonic ms of the last frame; null while there is no connection. */
  #frameMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A frame came, a pong at least. */
  noteFrame(): void {
    this.#frameMs = this.#clock.monoNs() / 1e6;
  }

  lost(): void {
    this.#frameMs = null;
  }

  get isAlive(): boolean {
    return this.#frameMs !== null && this.#clock.monoNs() / 1e6 - this.#frameMs <= SILENT_AFTER_MS;
  }
}
