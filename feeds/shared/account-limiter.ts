/**
 * Per-account budgets (orders per window), in a bounded map that forgets the account used longest ago.
 * Forgetting is safe: only an account idle while `maxAccounts` others were active loses its count, and
 * the venue still refuses what is too much.
 *
 * Invariant: what is not a way out leaves a quarter of each window to the account's ways out; those may use everything.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Lane } from "../../engine/ports.js";
import { LANE_SHARES } from "./lanes.js";
import { monoMs, WeightWindow } from "./weight-window.js";

export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

interface UsedWindow {
  readonly limit: number;
  /** What others than ways out may use. */
  readonly limitOfOthers: number;
  readonly all: WeightWindow;
  readonly others: WeightWindow;
}

interface AccountUse {
  readonly windows: readonly UsedWindow[];
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
  tryTake(account: string, weight: number, lane: Lane): number {
    const nowMs = monoMs(this.#clock);
    const use = this.#use(account);
    const waitMs = waitOf(use, weight, lane, nowMs);
    if (waitMs > 0) return waitMs;
    for (const window of use.windows) {
      window.all.add(nowMs, weight);
      if (lane !== "exit") window.others.add(nowMs, weight);
    }
    return 0;
  }

  /** As `tryTake`, and nothing is charged. */
  waitMs(account: string, weight: number, lane: Lane): number {
    const use = this.#accounts.get(account) ?? this.#newUse();
    return waitOf(use, weight, lane, monoMs(this.#clock));
  }

  /** Of what was taken at `takenAtMs` nothing left this machine. */
  giveBack(account: string, weight: number, lane: Lane, takenAtMs: number): void {
    const nowMs = monoMs(this.#clock);
    for (const window of this.#accounts.get(account)?.windows ?? []) {
      window.all.remove(nowMs, weight, takenAtMs);
      if (lane !== "exit") window.others.remove(nowMs, weight, takenAtMs);
    }
  }

  /** The venue limits this account. */
  block(account: string, forMs: number): void {
    const use = this.#use(account);
    use.blockedUntilMs = Math.max(use.blockedUntilMs, monoMs(this.#clock) + forMs);
  }

  #use(account: string): AccountUse {
    let use = this.#accounts.get(account);
    if (use === undefined) {
      use = this.#newUse();
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
  #newUse(): AccountUse {
    const windows = this.#limits.map(({ limit, windowMs }) => ({
      limit,
      limitOfOthers: limit - Math.floor(limit * LANE_SHARES.exit),
      all: new WeightWindow(windowMs, BUCKETS_PER_WINDOW),
      others: new WeightWindow(windowMs, BUCKETS_PER_WINDOW),
    }));
    return { windows, blockedUntilMs: 0 };
  }
}

function waitOf(use: AccountUse, weight: number, lane: Lane, nowMs: number): number {
  let waitMs = Math.max(0, use.blockedUntilMs - nowMs);
  for (const { limit, limitOfOthers, all, others } of use.windows) {
    waitMs = Math.max(waitMs, all.msUntilAtMost(nowMs, limit - weight));
    if (lane !== "exit") waitMs = Math.max(waitMs, others.msUntilAtMost(nowMs, limitOfOthers - weight));
  }
  return waitMs;
}
