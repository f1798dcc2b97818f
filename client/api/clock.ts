/** Time as the client needs it, and its default. Tests pass their own. */

export interface ApiClock {
  /** Unix ms of this machine, which may be wrong. */
  wallMs(): number;
  /** Monotonic ms. */
  monoMs(): number;
  /** Calls once; the returned function prevents it. */
  after(ms: number, callback: () => void): () => void;
}

/** Longest wait of a timer in browsers and Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const SYSTEM_CLOCK: ApiClock = {
  wallMs: () => Date.now(),
  monoMs: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
