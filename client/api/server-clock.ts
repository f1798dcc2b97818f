/**
 * The service's time, which requests are signed with. It is kept against the monotonic clock, so a step of this
 * machine's own clock does not move it.
 *
 * Invariant: two calls of `unique` never give the same time, unless the service's own time was corrected in between.
 */
import type { ApiClock } from "./clock.js";

/** How far the service lets a timestamp be ahead of it. */
export const AHEAD_MS = 1_000;
/** How far behind, where a request names no window of its own. */
export const BEHIND_MS = 5_000;
/** Given times this far ahead of a corrected clock came from the wrong one. */
const LEAD_MS = AHEAD_MS / 2;

/** A time of the service, and when it was asked for and read, by our monotonic clock. */
export interface ServerTime {
  readonly serverMs: number;
  readonly sentMs: number;
  readonly receivedMs: number;
}

export class ServerClock {
  readonly #clock: ApiClock;
  /** The service's Unix ms less our monotonic ms; null before the first reading. */
  #offsetMs: number | null = null;
  #lastMs = 0;

  constructor(clock: ApiClock) {
    this.#clock = clock;
  }

  get isSet(): boolean {
    return this.#offsetMs !== null;
  }

  /** Before the first reading the time of this machine. */
  nowMs(): number {
    return Math.floor(this.#offsetMs === null ? this.#clock.wallMs() : this.#clock.monoMs() + this.#offsetMs);
  }

  /** Later than every time it gave before: a signature over it is used once. */
  unique(): number {
    this.#lastMs = Math.max(this.nowMs(), this.#lastMs + 1);
    return this.#lastMs;
  }

  /**
   * The reading counts as of the middle of its round trip. One that the present clock agrees with changes nothing: a
   * slow round trip would only make it worse.
   */
  set({ serverMs, sentMs, receivedMs }: ServerTime): void {
    const offsetMs = this.#offsetMs;
    if (offsetMs !== null && serverMs >= Math.floor(sentMs + offsetMs) && serverMs <= receivedMs + offsetMs + 1) return;
    this.#offsetMs = serverMs - (sentMs + receivedMs) / 2;
    const nowMs = this.nowMs();
    if (this.#lastMs > nowMs + LEAD_MS) this.#lastMs = nowMs;
  }
}

/**
 * Reports whether a timestamp was outside the service's window from its sending on. Then no copy of the request that a
 * browser or a proxy may have sent before this refusal was accepted either. `tookMs` must count a machine's sleep, which
 * a monotonic clock may not.
 */
export function wasNeverValid(signedMs: number, refusedAtMs: number, tookMs: number): boolean {
  return refusedAtMs - tookMs - signedMs > BEHIND_MS || signedMs - refusedAtMs > AHEAD_MS;
}

/** Returns the value where it can be a time of the service; null otherwise. */
export function timeOrNull(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}
