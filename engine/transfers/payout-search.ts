/**
 * One search of a chain for payments: where it has got to, and when it goes on. It serves any number of rows, each from the
 * time of its act on.
 *
 * Bounds: the pause doubles from one second to an hour; a new row begins with the shortest again.
 */
import type { Clock } from "../domain/clock.js";

const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 3_600_000;
/** Of a search that has more to read: it leaves the endpoints' calls to others. */
const PAUSE_BEHIND_MS = 5_000;

export class PayoutSearch {
  readonly #clock: Clock;
  /** Rows that it serves, and since when. */
  readonly #rows = new Map<string, number>();
  /** Of rows whose height is not known yet: the earliest time that a payment may have. */
  #sinceMs: number | null = null;
  #height: number | null = null;
  #pauseMs = PAUSE_MIN_MS;
  #dueNs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#dueNs = clock.monoNs();
  }

  /** From this height on; null: `sinceMs` is to be turned into one first. */
  get height(): number | null {
    return this.#sinceMs === null ? this.#height : null;
  }

  get sinceMs(): number {
    return this.#sinceMs ?? 0;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  get isDue(): boolean {
    return this.#leftMs() <= 0;
  }

  has(transferId: string): boolean {
    return this.#rows.has(transferId);
  }

  /** Nothing where it is one of them. */
  join(transferId: string, sinceMs: number): void {
    if (this.#rows.has(transferId)) return;
    this.#rows.set(transferId, this.#clock.monoNs());
    this.#sinceMs = Math.min(this.#sinceMs ?? sinceMs, sinceMs);
    this.#pauseMs = PAUSE_MIN_MS;
    this.wake();
  }

  leave(transferId: string): void {
    this.#rows.delete(transferId);
  }

  /** Since when it is served, by the clock that nobody sets. */
  servedMs(transferId: string): number {
    return (this.#clock.monoNs() - (this.#rows.get(transferId) ?? this.#clock.monoNs())) / 1e6;
  }

  startAt(height: number): void {
    this.#sinceMs = null;
    this.#height = Math.min(this.#height ?? height, height);
  }

  /** All below was searched. */
  pass(height: number): void {
    this.#height = height;
  }

  wake(): void {
    this.#dueNs = this.#clock.monoNs();
  }

  /** `isBehind`: there is more to read now. */
  rest(isBehind: boolean): void {
    this.#dueNs = this.#clock.monoNs() + (isBehind ? PAUSE_BEHIND_MS : this.#pauseMs) * 1e6;
    if (!isBehind) this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MAX_MS);
  }

  /** To rest until it goes on, or a part of that: one of few lengths (due-rows.ts). */
  restMs(): number {
    let restMs = PAUSE_MIN_MS;
    while (2 * restMs <= this.#leftMs()) restMs *= 2;
    return restMs;
  }

  #leftMs(): number {
    return (this.#dueNs - this.#clock.monoNs()) / 1e6;
  }
}
