/**
 * Fee rates per account and contract, read from the venue and kept for an hour. A miss never delays a
 * close past its positions deadline: the caller races the read against it and falls back to the
 * instrument's default; a read that comes late still fills the cache for the next close.
 *
 * Keys are keyed hashes of accounts, so the cache holds no account label.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import type { FeeRates } from "../../domain/position.js";

export const FEE_CACHE_MAX_ACCOUNTS = 10_000;
export const FEE_CACHE_TTL_MS = 3_600_000;

export class FeeCache {
  readonly #clock: Clock;
  readonly #rates: LRUCache<string, { readonly rates: FeeRates; readonly expiresNs: number }>;

  constructor(clock: Clock, maxAccounts = FEE_CACHE_MAX_ACCOUNTS) {
    this.#clock = clock;
    this.#rates = new LRUCache({ max: maxAccounts });
  }

  get(key: string): FeeRates | null {
    const entry = this.#rates.get(key);
    if (entry === undefined) return null;
    if (this.#clock.monoNs() < entry.expiresNs) return entry.rates;
    this.#rates.delete(key);
    return null;
  }

  set(key: string, rates: FeeRates): void {
    this.#rates.set(key, { rates, expiresNs: this.#clock.monoNs() + FEE_CACHE_TTL_MS * 1e6 });
  }

  get size(): number {
    return this.#rates.size;
  }
}
