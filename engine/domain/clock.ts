/**
 * Time comes in through this port, never from `Date` or `performance` directly:
 * durations use the monotonic clock, timestamps the wall clock, and tests advance
 * a virtual one (virtual-clock.ts).
 */

export type TimerHandle = { readonly id: number };

export interface Clock {
  /** Unix epoch, integer ms. For timestamps only: it may step. */
  wallMs(): number;
  /** Monotonic ns since an arbitrary origin; a safe integer for 104 days of uptime. */
  monoNs(): number;
  /** One-shot timer. `delayMs` is clamped at 0. A throwing callback is a bug. */
  setTimer(callback: () => void, delayMs: number): TimerHandle;
  clearTimer(handle: TimerHandle): void;
}

/** Resolves after `delayMs` of this clock. */
export function delay(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(resolve, delayMs);
  });
}

/** The real clock. Timers do not keep the process alive. */
export function createSystemClock(): Clock {
  const timers = new Map<number, NodeJS.Timeout>();
  let nextId = 1;
  return {
    wallMs: () => Date.now(),
    monoNs: () => Math.round(performance.now() * 1e6),
    setTimer(callback, delayMs) {
      const id = nextId++;
      const timeout = setTimeout(
        () => {
          timers.delete(id);
          callback();
        },
        Math.max(0, delayMs),
      );
      timeout.unref();
      timers.set(id, timeout);
      return { id };
    },
    clearTimer(handle) {
      const timeout = timers.get(handle.id);
      if (timeout === undefined) return;
      clearTimeout(timeout);
      timers.delete(handle.id);
    },
  };
}
