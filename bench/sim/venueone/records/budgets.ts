/**
 * Request budgets: weight per IP and minute, and requests per account. Invariant: a refused request costs nothing and
 * moves no window.
 */
import type { VenueAccount } from "./venue.js";
import { E12_PER_USD } from "./venue.js";

const MINUTE_MS = 60_000;
/** An exhausted account still gets one request through per this long. */
const OVER_BUDGET_INTERVAL_MS = 10_000;
/** Addresses tracked; overflow forgets the oldest, which errs in the client's favour. */
const KEYS_MAX = 10_000;

interface Bucket {
  readonly startMs: number;
  weight: number;
}

/** Sliding minute in one-second buckets. */
export class MinuteBudget {
  readonly #limitPerMinute: number;
  readonly #windows = new Map<string, Bucket[]>();

  constructor(limitPerMinute: number) {
    this.#limitPerMinute = limitPerMinute;
  }

  /** Spends when it fits. */
  trySpend(key: string, weight: number, nowMs: number): boolean {
    const buckets = this.#recent(key, nowMs);
    const used = buckets.reduce((sum, bucket) => sum + bucket.weight, 0);
    if (used + weight > this.#limitPerMinute) return false;
    add(buckets, weight, nowMs);
    return true;
  }

  /** Spends even past the limit: for costs known only after the work is done. */
  charge(key: string, weight: number, nowMs: number): void {
    if (weight > 0) add(this.#recent(key, nowMs), weight, nowMs);
  }

  #recent(key: string, nowMs: number): Bucket[] {
    let buckets = this.#windows.get(key);
    if (buckets === undefined) {
      buckets = [];
      this.#windows.set(key, buckets);
      const oldest = this.#windows.size > KEYS_MAX ? this.#windows.keys().next().value : undefined;
      if (oldest !== undefined) this.#windows.delete(oldest);
    }
    while ((buckets[0]?.startMs ?? nowMs) <= nowMs - MINUTE_MS) buckets.shift();
    return buckets;
  }
}

function add(buckets: Bucket[], weight: number, nowMs: number): void {
  const startMs = nowMs - (nowMs % 1000);
  const last = buckets.at(-1);
  if (last?.startMs === startMs) last.weight += weight;
  else buckets.push({ startMs, weight });
}

/** Requests an account may have sent so far; cancels have a larger cap of their own. */
export function addressCap(account: VenueAccount, base: number, isCancel: boolean): number {
  const cap = base + Number(account.volumeE12 / E12_PER_USD) + account.requestsReserved;
  return isCancel ? Math.min(cap + 100_000, 2 * cap) : cap;
}

/** Whether an action of `count` items may pass; the caller adds them to `requestsUsed` once it is admitted. */
export function withinAddressBudget(account: VenueAccount, count: number, cap: number, nowMs: number): boolean {
  if (account.requestsUsed + count <= cap) return true;
  if (nowMs - account.lastOverBudgetMs < OVER_BUDGET_INTERVAL_MS) return false;
  account.lastOverBudgetMs = nowMs;
  return true;
}
