/**
 * What each caller used of one lane over a window, in a bounded map that forgets the caller seen longest ago. Forgetting
 * is safe: a forgotten caller counts as a new one, and the lane itself stays counted.
 */
import { WeightWindow } from "./weight-window.js";

const BUCKETS_PER_WINDOW = 20;
const MAX_CALLERS = 1_024;

export class CallerShares {
  readonly #windowMs: number;
  /** Insertion order is order of use: the first entry is the one to forget. */
  readonly #windows = new Map<string, WeightWindow>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  used(caller: string, nowMs: number): number {
    return this.#windows.get(caller)?.used(nowMs) ?? 0;
  }

  add(caller: string, weight: number, nowMs: number): void {
    let window = this.#windows.get(caller);
    if (window === undefined) {
      window = new WeightWindow(this.#windowMs, BUCKETS_PER_WINDOW);
      const oldest = this.#windows.size >= MAX_CALLERS ? this.#windows.keys().next() : null;
      if (oldest !== null && oldest.done !== true) this.#windows.delete(oldest.value);
    } else {
      this.#windows.delete(caller);
    }
    this.#windows.set(caller, window);
    window.add(nowMs, weight);
  }

  /**
   * What is to be left to the others of those named here: each below `share` as much again as it used, up to its share.
   * `isOther`: counts among them.
   */
  growth(share: number, nowMs: number, isOther: (caller: string) => boolean): number {
    let growth = 0;
    for (const [caller, window] of this.#windows) {
      const used = isOther(caller) ? window.used(nowMs) : 0;
      growth += Math.min(used, Math.max(0, share - used));
    }
    return growth;
  }

  /** Callers with some use. */
  activeCount(nowMs: number): number {
    let count = 0;
    for (const window of this.#windows.values()) if (window.used(nowMs) > 0) count++;
    return count;
  }
}
