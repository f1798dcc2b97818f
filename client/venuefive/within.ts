/** Time limits of what is asked outside, and the pause between two looks. */
import type { TradingClock, TradingConfig } from "./options.js";

export const TIMED_OUT = Symbol("timed out");

/** Rejects where `work` does; what it does after the time is ignored. No timer is left. */
export function within<T>(clock: TradingClock, ms: number, work: Promise<T>): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(TIMED_OUT));
    work.then(resolve, reject).finally(cancel);
  });
}

export const pause = (clock: TradingClock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));

/** False where `look` does not find it within the time that reads may be behind. */
export async function isShown({ clock, timeouts }: TradingConfig, look: () => Promise<boolean>): Promise<boolean> {
  const endMs = clock.monoMs() + timeouts.lagMs;
  while (!(await look())) {
    if (clock.monoMs() >= endMs) return false;
    await pause(clock, timeouts.pollMs);
  }
  return true;
}
