/**
 * What each caller used of one lane over a window, in a bounded map that forgets the caller seen longest ago. Forgetting
 * is safe: a forgotten caller counts as a new one, and the lane itself stays counted.
 */
import { WeightWindow } from "./weight-window.js";

const BUCKETS_PER_WINDOW = 20;
const MAX_CALLERS = 1_024;
const UNKNOWN = -1;
/** What differences of sums may leave where nothing is left. */
const ROUNDING = 1e-6;

export class CallerShares {
  readonly #windowMs: number;
  /** Insertion order is order of use: the first entry is the one to forget. */
  readonly #windows = new Map<string, WeightWindow>();
  readonly #bucketMs: number;
  /** What is used changes by `add` and where a bucket of the windows turns. */
  #bucket = -1;
  #active = UNKNOWN;
  #growth = UNKNOWN;
  #growthShare = UNKNOWN;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
    this.#bucketMs = windowMs / BUCKETS_PER_WINDOW;
  }

  used(caller: string, nowMs: number): number {
    return this.#windows.get(caller)?.used(nowMs) ?? 0;
  }

  add(caller: string, weight: number, nowMs: number): void {
    this.#forget();
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
   * What is to be left to the others of a caller: each below `share` as much again as it used, up to its share. `noCallers`:
   * names of those who do not count among them. Asked again in the same state it costs the same for any number of callers:
   * who is refused asks again and again.
   */
  growth(share: number, caller: string, noCallers: readonly string[], nowMs: number): number {
    this.#turn(nowMs);
    if (this.#growth === UNKNOWN || this.#growthShare !== share) {
      this.#growth = 0;
      for (const window of this.#windows.values()) this.#growth += growthOf(window.used(nowMs), share);
      this.#growthShare = share;
    }
    let growth = this.#growth - growthOf(this.used(caller, nowMs), share);
    for (const other of noCallers) growth -= growthOf(this.used(other, nowMs), share);
    return growth > ROUNDING ? growth : 0;
  }

  /** Callers with some use. */
  activeCount(nowMs: number): number {
    this.#turn(nowMs);
    if (this.#active !== UNKNOWN) return this.#active;
    this.#active = 0;
    for (const window of this.#windows.values()) if (window.used(nowMs) > 0) this.#active++;
    return this.#active;
  }

  #turn(nowMs: number): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    if (bucket === this.#bucket) return;
    this.#bucket = bucket;
    this.#forget();
  }

  #forget(): void {
    this.#active = UNKNOWN;
    this.#growth = UNKNOWN;
  }
}

function growthOf(used: number, share: number): number {
  return Math.min(used, Math.max(0, share - used));
}
