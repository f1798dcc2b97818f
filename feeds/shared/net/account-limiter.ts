/**
 * Per-account budgets (orders per window), in a bounded map that forgets the account used longest ago.
 * Forgetting is safe: only an account idle while `maxAccounts` others were active loses its count, and
 * the venue still refuses what is too much.
 *
 * Invariant: calls that are no exits keep a quarter of each window free for the account's exits; those may use everything.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Lane } from "../../../engine/ports.js";
import { LANE_SHARES } from "./lanes.js";
import { monoMs, WeightWindow } from "./weight-window.js";

export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/** What an account may spend beside the lanes of its venue. Lanes other than exit keep a part of it free for exits. */
export interface AccountBudget {
  /** 0 and charged when the account may send, else the time to wait (nothing charged). */
  tryTake(account: string, weight: number, lane: Lane): number;
  /** As `tryTake`, and nothing is charged. */
  waitMs(account: string, weight: number, lane: Lane): number;
  /** Of what was taken at `takenAtMs` nothing left this machine. */
  refund(account: string, weight: number, lane: Lane, takenAtMs: number): void;
  /** The venue limits this account. */
  block(account: string, forMs: number): void;
  /** The venue's own count of what the account has used, also by keys that are not known to be its. */
  reportUsed?(account: string, used: number): void;
}

interface UsedWindow {
  readonly limit: number;
  /** What others than exits may use. */
  readonly limitOfOthers: number;
  readonly all: WeightWindow;
  readonly others: WeightWindow;
  /** Spent elsewhere, by the venue's count; delays all but exits, since the venue does not say when it comes back. */
  readonly elsewhere: WeightWindow;
}

interface AccountUse {
  readonly windows: readonly UsedWindow[];
  blockedUntilMs: number;
}

const BUCKETS_PER_WINDOW = 20;

export class AccountLimiter implements AccountBudget {
  readonly #clock: Clock;
  readonly #limits: readonly WindowLimit[];
  readonly #maxAccounts: number;
  readonly #countedAs: (account: string) => string;
  /** Insertion order is order of use: the first entry is the one to forget. */
  readonly #accounts = new Map<string, AccountUse>();

  /** `countedAs`: whose budget the account shares. Default: each has its own. */
  constructor(
    clock: Clock,
    limits: readonly WindowLimit[],
    maxAccounts = 4_096,
    countedAs: (account: string) => string = (account) => account,
  ) {
    this.#clock = clock;
    this.#limits = limits;
    this.#maxAccounts = maxAccounts;
    this.#countedAs = countedAs;
  }

  get accountCount(): number {
    return this.#accounts.size;
  }

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

  waitMs(account: string, weight: number, lane: Lane): number {
    const use = this.#accounts.get(this.#countedAs(account)) ?? this.#newUse();
    return waitOf(use, weight, lane, monoMs(this.#clock));
  }

  refund(account: string, weight: number, lane: Lane, takenAtMs: number): void {
    const nowMs = monoMs(this.#clock);
    for (const window of this.#accounts.get(this.#countedAs(account))?.windows ?? []) {
      window.all.remove(nowMs, weight, takenAtMs);
      if (lane !== "exit") window.others.remove(nowMs, weight, takenAtMs);
    }
  }

  block(account: string, forMs: number): void {
    const use = this.#use(account);
    use.blockedUntilMs = Math.max(use.blockedUntilMs, monoMs(this.#clock) + forMs);
  }

  reportUsed(account: string, used: number): void {
    const nowMs = monoMs(this.#clock);
    for (const { all, elsewhere } of this.#use(account).windows) {
      const unknown = used - all.used(nowMs) - elsewhere.used(nowMs);
      if (Number.isFinite(unknown) && unknown > 0) elsewhere.add(nowMs, unknown);
    }
  }

  /** The account turns out to share the budget of another: what it has used of its own goes along. */
  merge(account: string, into: string): void {
    const nowMs = monoMs(this.#clock);
    const used = this.#accounts.get(account);
    if (used === undefined || account === into) return;
    this.#accounts.delete(account);
    const shared = this.#use(into);
    shared.blockedUntilMs = Math.max(shared.blockedUntilMs, used.blockedUntilMs);
    for (const [index, window] of shared.windows.entries()) {
      const own = used.windows[index];
      if (own === undefined) continue;
      window.all.addAll(nowMs, own.all);
      window.others.addAll(nowMs, own.others);
      window.elsewhere.addAll(nowMs, own.elsewhere);
    }
  }

  #use(asked: string): AccountUse {
    const account = this.#countedAs(asked);
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
      elsewhere: new WeightWindow(windowMs, BUCKETS_PER_WINDOW),
    }));
    return { windows, blockedUntilMs: 0 };
  }
}

function waitOf(use: AccountUse, weight: number, lane: Lane, nowMs: number): number {
  let waitMs = Math.max(0, use.blockedUntilMs - nowMs);
  for (const { limit, limitOfOthers, all, others, elsewhere } of use.windows) {
    waitMs = Math.max(waitMs, all.msUntilAtMost(nowMs, limit - weight));
    if (lane === "exit") continue;
    const foreign = elsewhere.used(nowMs);
    waitMs = Math.max(waitMs, others.msUntilAtMost(nowMs, limitOfOthers - weight));
    // Together they would be too much: whichever of the two gives it back sooner.
    if (foreign > 0 && foreign + all.used(nowMs) > limitOfOthers - weight)
      waitMs = Math.max(waitMs, soonerOf(all, elsewhere, limitOfOthers - weight, nowMs));
  }
  return waitMs;
}

/** A lower bound of when both together are at most `target`. */
function soonerOf(one: WeightWindow, two: WeightWindow, target: number, nowMs: number): number {
  const [ofOne, ofTwo] = [one.used(nowMs), two.used(nowMs)];
  const waitMs = Math.min(one.msUntilAtMost(nowMs, target - ofTwo), two.msUntilAtMost(nowMs, target - ofOne));
  return Number.isFinite(waitMs) ? Math.max(1, waitMs) : MIN_WAIT_MS;
}

/** Said where no window alone gives enough back. */
const MIN_WAIT_MS = 1_000;
