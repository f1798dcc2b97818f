/** The rows of the ledger that are not over, in memory: all of them, and those of one account. */
import { isOpen, type TransferRow } from "./transfer-row.js";

export interface OpenRow {
  readonly row: TransferRow;
  /** As it is in the store. */
  readonly value: Uint8Array;
  /** Number of the change that made it what it is, from 1. */
  readonly change: number;
}

export class OpenRows {
  readonly #byId = new Map<string, OpenRow>();
  readonly #byAccount = new Map<string, Map<string, OpenRow>>();

  get(transferId: string): OpenRow | undefined {
    return this.#byId.get(transferId);
  }

  all(): Iterable<OpenRow> {
    return this.#byId.values();
  }

  /** What requests and rounds look at: the rows of others, however many, cost them nothing. */
  of(account: string): Iterable<OpenRow> {
    return this.#byAccount.get(account)?.values() ?? [];
  }

  /** In the place of what it was before. One that is over goes. */
  set(held: OpenRow): void {
    const { transferId, account } = held.row;
    const own = this.#byAccount.get(account) ?? new Map<string, OpenRow>();
    if (isOpen(held.row)) {
      this.#byId.set(transferId, held);
      this.#byAccount.set(account, own.set(transferId, held));
      return;
    }
    this.#byId.delete(transferId);
    own.delete(transferId);
    if (own.size === 0) this.#byAccount.delete(account);
  }
}
