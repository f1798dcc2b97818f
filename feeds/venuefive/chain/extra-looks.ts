/**
 * Looks at the head beside those of its interval, for who found nothing there to read at. They are made in our own share of
 * the endpoints' calls, which the share of nobody who asks bounds: so there are as many in a time as leave the interval its
 * own, and who comes later finds what the last look found.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { monoMs, WeightWindow } from "../../shared/net/weight-window.js";
import type { ChainHeads } from "./heads.js";

const LOOKS_MAX = 10;
const WINDOW_MS = 10_000;
/** One that an endpoint holds up for longer has old answers of the others. */
const SHARED_MS = 500;

export class ExtraLooks {
  readonly #heads: Pick<ChainHeads, "look">;
  readonly #clock: Clock;
  readonly #made = new WeightWindow(WINDOW_MS);
  #running: { readonly startedAtMs: number; readonly ended: Promise<void> } | null = null;

  constructor(heads: Pick<ChainHeads, "look">, clock: Clock) {
    this.#heads = heads;
    this.#clock = clock;
  }

  /** Who comes soon after one began waits for that one. */
  look(): Promise<void> {
    const startedAtMs = monoMs(this.#clock);
    if (this.#running !== null && startedAtMs - this.#running.startedAtMs < SHARED_MS) return this.#running.ended;
    if (this.#made.used(startedAtMs) >= LOOKS_MAX) return this.#running?.ended ?? Promise.resolve();
    this.#made.add(startedAtMs, 1);
    const ended: Promise<void> = this.#heads.look().finally(() => {
      if (this.#running?.ended === ended) this.#running = null;
    });
    this.#running = { startedAtMs, ended };
    return ended;
  }
}
