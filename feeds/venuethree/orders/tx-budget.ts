// hot path
/**
 * What the venue counts of our transactions (fact sheet 10): all of them, and once more those of types outside its volume
 * quota (leverage, margin mode), by a smaller number. Both count by first-layer address, whose accounts share them.
 *
 * The address of an account is known from any read of the account, and asked for once where none came by. Until it is
 * known the account is counted by its index; what it has used goes along then. An entry waits for the first answer, for
 * LEARN_WAIT_MS at most; an exit never does.
 *
 * Bounds: MAX_ACCOUNTS addresses, MAX_ASKED questions at once, one for each account in RETRY_MS.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions, Lane, Read } from "../../../engine/ports.js";
import { AccountLimiter } from "../../shared/net/account-limiter.js";
import { localReject, type RejectedOrder } from "../../shared/net/call-results.js";
import { isAddress } from "../../shared/sign/eip712.js";
import { monoMs } from "../../shared/net/weight-window.js";
import {
  TX_CANCEL_ALL,
  TX_CANCEL_ORDER,
  TX_CREATE_GROUPED_ORDERS,
  TX_CREATE_ORDER,
  TX_MODIFY_ORDER,
} from "../sign/tx.js";
import { REST_WINDOW_MS } from "../rules/limits.js";

export interface TxBudgetOptions {
  readonly clock: Clock;
  /** Transactions of an address a minute. */
  readonly sendsPerMinute: number;
  /** Those of them that are of other types than orders, cancels and changes. */
  readonly otherSendsPerMinute: number;
}

/** Reads the account, whose answer is noted on its way; whether it failed is of no interest here. */
export type ReadAccount = (options: CallOptions) => Promise<Read<unknown>>;

const MAX_ACCOUNTS = 4_096;
const MAX_ASKED = 64;
const RETRY_MS = 5_000;
const LEARN_TIMEOUT_MS = 3_000;
const LEARN_WAIT_MS = 1_000;

/** Of the volume quota: orders, cancels and changes. */
const QUOTA_TYPES: ReadonlySet<number> = new Set([
  TX_CREATE_ORDER,
  TX_CANCEL_ORDER,
  TX_CANCEL_ALL,
  TX_MODIFY_ORDER,
  TX_CREATE_GROUPED_ORDERS,
]);

export class TxBudget {
  /** Of all transactions, asked by account index. */
  readonly sends: AccountLimiter;
  readonly #others: AccountLimiter;
  readonly #clock: Clock;
  /** First-layer addresses by account index. */
  readonly #addresses = new LRUCache<string, string>({ max: MAX_ACCOUNTS });
  readonly #asked = new Map<number, Promise<unknown>>();
  /** When accounts without an answer are asked for again. */
  readonly #askAgainAtMs = new LRUCache<number, number>({ max: MAX_ACCOUNTS });

  constructor({ clock, sendsPerMinute, otherSendsPerMinute }: TxBudgetOptions) {
    this.#clock = clock;
    const countedAs = (account: string): string => this.#addresses.get(account) ?? account;
    const limiter = (limit: number): AccountLimiter =>
      new AccountLimiter(clock, [{ limit, windowMs: REST_WINDOW_MS }], MAX_ACCOUNTS, countedAs);
    this.sends = limiter(sendsPerMinute);
    this.#others = limiter(otherSendsPerMinute);
  }

  /** The venue says whose account it is; that never changes. */
  note(accountIndex: number, l1Address: string): void {
    const account = String(accountIndex);
    if (!isAddress(l1Address) || this.#addresses.has(account)) return;
    const address = l1Address.toLowerCase();
    this.#addresses.set(account, address);
    this.sends.merge(account, address);
    this.#others.merge(account, address);
  }

  /** Lower case; null while no answer of the venue has it. */
  addressOf(accountIndex: number): string | null {
    return this.#addresses.get(String(accountIndex)) ?? null;
  }

  isKnown(accountIndex: number): boolean {
    return this.#addresses.has(String(accountIndex));
  }

  /** Asks whose account it is, unless that is known or was just asked. Resolves when an entry need not wait longer. */
  async learn(accountIndex: number, lane: Lane, leftMs: number, read: ReadAccount): Promise<void> {
    if (this.isKnown(accountIndex)) return;
    const asked = this.#asked.get(accountIndex) ?? this.#ask(accountIndex, read);
    if (asked === null || lane === "exit") return;
    await within(this.#clock, asked, Math.min(LEARN_WAIT_MS, Math.max(0, leftMs / 2)));
  }

  /** Null and charged when a transaction of this type may go; only other types than the volume quota's are held back. */
  takeOther(type: number, accountIndex: number, lane: Lane): RejectedOrder | null {
    if (QUOTA_TYPES.has(type)) return null;
    const waitMs = this.#others.tryTake(String(accountIndex), 1, lane);
    if (waitMs === 0) return null;
    const text = "the venue takes few changes of leverage and margin mode a minute from all accounts of one address";
    return { ...localReject("RATE_LIMITED", "OTHER_TX_BUDGET", text), retryAfterMs: Math.ceil(waitMs) };
  }

  /** How long one more of another type would be held back; 0: not at all. */
  otherWaitMs(accountIndex: number, lane: Lane): number {
    return Math.ceil(this.#others.waitMs(String(accountIndex), 1, lane));
  }

  /** It never left this machine. */
  releaseOther(type: number, accountIndex: number, lane: Lane, takenAtMs: number): void {
    if (!QUOTA_TYPES.has(type)) this.#others.refund(String(accountIndex), 1, lane, takenAtMs);
  }

  #ask(accountIndex: number, read: ReadAccount): Promise<unknown> | null {
    const nowMs = monoMs(this.#clock);
    if (this.#asked.size >= MAX_ASKED || (this.#askAgainAtMs.get(accountIndex) ?? 0) > nowMs) return null;
    this.#askAgainAtMs.set(accountIndex, nowMs + RETRY_MS);
    // Never out of the exit lane's share.
    const asked = read({ timeoutMs: LEARN_TIMEOUT_MS, lane: "trade" })
      .catch(() => null)
      .finally(() => this.#asked.delete(accountIndex));
    this.#asked.set(accountIndex, asked);
    return asked;
  }
}
