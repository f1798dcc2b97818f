/**
 * Per-account budgets (orders per window), in a bounded map that forgets the account used longest ago.
 * Forgetting is safe: only an account idle while `maxAccounts` others were active loses its count, and
 * the venue still refuses what is too much.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { monoMs, WeightWindow } from "./weight-window.js";

export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

interface AccountUse {
  readonly windows: readonly WeightWindow[];
  blockedUntilMs: number;
}

const BUCKETS_PER_WINDOW = 20;

export class AccountLimiter {
  readonly #clock: Clock;
  readonly #limits: readonly WindowLimit[];
  readonly #maxAccounts: number;
  /** Insertion order is order of use: the first entry is the one to forget. */
  readonly #accounts = new Map<string, AccountUse>();

  constructor(clock: Clock, limits: readonly WindowLimit[], maxAccounts = 4_096) {
    this.#clock = clock;
    this.#limits = limits;
    this.#maxAccounts = maxAccounts;
  }

  get accountCount(): number {
    return this.#accounts.size;
  }

  /** 0 and charged when the account may send, else the time to wait (nothing charged). */
  tryTake(account: string, weight: number): number {
    const nowMs = monoMs(this.#clock);
    const use = this.#use(account);
    let waitMs = Math.max(0, use.blockedUntilMs - nowMs);
    for (const [index, limit] of this.#limits.entries()) {
      const window = use.windows[index];
      if (window !== undefined) waitMs = Math.max(waitMs, window.msUntilAtMost(nowMs, limit.limit - weight));
    }
    if (waitMs > 0) return waitMs;
    for (const window of use.windows) window.add(nowMs, weight);
    return 0;
  }

  /** The venue limits this account. */
  block(account: string, forMs: number): void {
    const use = this.#use(account);
    use.blockedUntilMs = Math.max(use.blockedUntilMs, monoMs(this.#clock) + forMs);
  }

  #use(account: string): AccountUse {
    let use = this.#accounts.get(account);
    if (use === undefined) {
      use = {
        windows: this.#limits.map((limit) => new WeightWindow(limit.windowMs, BUCKETS_PER_WINDOW)),
        blockedUntilMs: 0,
      };
      if (this.#accounts.size >= this.#maxAccounts) {
        const oldest = this.#accounts.keys().next();
        if (oldest.done !== true) this.#accounts.delete(oldest.value);
      }
    } else {
      this.#accounts.delete(account);
    }
    this.#accounts.set(account, use);
    return use;
  }
}
