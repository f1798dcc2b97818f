/** Transactions the venue took, with their outcome (fact sheet 6.4): by hash, by sequence, by account. */
import type { VenueAccount } from "../records/accounts.js";
import { heightAt, microseconds } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import type { Transaction } from "../wire/transaction.js";

/** 2 also says "executed" of what the sequencer refused; the difference is in `ae`. */
const STATUS = { failed: 0, pending: 1, executed: 2 } as const;

export interface ApplicationError {
  readonly code: number;
  readonly message: string;
}

export interface StoredTransaction {
  readonly hash: string;
  readonly transaction: Transaction;
  readonly account: VenueAccount;
  readonly sequenceIndex: number;
  readonly queuedMs: number;
  executedMs: number;
  status: number;
  /** Null means accepted, or not executed yet. */
  error: ApplicationError | null;
}

const KEPT_MAX = 50_000;
const FIRST_SEQUENCE = 9_000_000_000;

export class Transactions {
  readonly #byHash = new Map<string, StoredTransaction>();
  readonly #bySequence = new Map<number, StoredTransaction>();
  #next = FIRST_SEQUENCE;

  accept(transaction: Transaction, hash: string, account: VenueAccount, nowMs: number): StoredTransaction {
    const stored: StoredTransaction = {
      hash,
      transaction,
      account,
      sequenceIndex: this.#next++,
      queuedMs: nowMs,
      executedMs: 0,
      status: STATUS.pending,
      error: null,
    };
    this.#byHash.set(hash, stored);
    this.#bySequence.set(stored.sequenceIndex, stored);
    if (this.#bySequence.size > KEPT_MAX) {
      const oldest = this.#bySequence.values().next();
      if (oldest.done === false) this.#drop(oldest.value);
    }
    return stored;
  }

  executed(stored: StoredTransaction, error: ApplicationError | null, nowMs: number): void {
    stored.executedMs = nowMs;
    stored.status = STATUS.executed;
    stored.error = error;
  }

  /** Died before it was executed. */
  failed(stored: StoredTransaction, nowMs: number): void {
    stored.executedMs = nowMs;
    stored.status = STATUS.failed;
  }

  byHash(hash: string): StoredTransaction | null {
    return this.#byHash.get(hash) ?? null;
  }

  bySequence(sequenceIndex: number): StoredTransaction | null {
    return this.#bySequence.get(sequenceIndex) ?? null;
  }

  /** Newest first. */
  of(account: VenueAccount): readonly StoredTransaction[] {
    return [...this.#bySequence.values()].filter((stored) => stored.account === account).reverse();
  }

  #drop(stored: StoredTransaction): void {
    this.#bySequence.delete(stored.sequenceIndex);
    if (this.#byHash.get(stored.hash) === stored) this.#byHash.delete(stored.hash);
  }
}

/** Row of `tx`, `accountTxs` and `account_tx`. `event_info` is empty until it was executed. */
export function printTransaction(stored: StoredTransaction): Row {
  const { transaction, account, queuedMs, executedMs } = stored;
  const done = executedMs > 0;
  return {
    hash: stored.hash,
    type: transaction.type,
    info: transaction.text,
    event_info: stored.status === STATUS.executed ? eventInfo(stored) : "",
    status: stored.status,
    transaction_index: done ? stored.sequenceIndex % 1_000 : 0,
    l1_address: account.l1Address,
    account_index: account.index,
    nonce: transaction.nonce,
    expire_at: transaction.expiredAtMs,
    block_height: done ? heightAt(executedMs) : 0,
    queued_at: queuedMs,
    executed_at: executedMs,
    sequence_index: stored.sequenceIndex,
    parent_hash: "",
    api_key_index: transaction.apiKeyIndex,
    transaction_time: microseconds(done ? executedMs : queuedMs, stored.sequenceIndex),
    committed_at: 0,
    verified_at: 0,
  };
}

/** `ae` is empty, or itself the JSON text of the refusal. */
function eventInfo({ transaction, error }: StoredTransaction): string {
  const [order] = transaction.orders;
  return JSON.stringify({
    ...(order === undefined ? {} : { m: order.marketIndex }),
    ae: error === null ? "" : JSON.stringify(error),
  });
}
