/** One round of any row in the turn of its lane: for requests and for the keeper alike. */
import { Turns } from "../domain/turns.js";
import { Deposits } from "./deposits.js";
import { InternalTransfers } from "./internal-transfers.js";
import { laneOf, type Mode, type TransferParts } from "./transfer-parts.js";
import type { TransferRow } from "./transfer-row.js";
import { Withdrawals } from "./withdrawals.js";

export class Rounds {
  readonly turns = new Turns();
  readonly deposits: Deposits;
  readonly #withdrawals: Withdrawals;
  readonly #internals: InternalTransfers;
  readonly #parts: TransferParts;

  constructor(parts: TransferParts) {
    this.#parts = parts;
    this.deposits = new Deposits(parts);
    this.#withdrawals = new Withdrawals(parts);
    this.#internals = new InternalTransfers(parts);
  }

  isFree(row: TransferRow): boolean {
    return this.turns.isFree(laneOf(row));
  }

  /** Waits for the lane, as long as it takes. Rejects as the rounds do; nothing happens for a row that is over. */
  run(row: TransferRow, mode: Mode): Promise<void> {
    return this.inTurn(row, async () => {
      const current = this.#parts.book.current(row.transferId);
      if (current === undefined) return;
      if (current.kind === "deposit") await this.deposits.round(current, mode);
      else if (current.kind === "withdrawal") await this.#withdrawals.round(current, mode);
      else await this.#internals.round(current, mode);
    });
  }

  /** The row's lane took its request in when the row was made: to refuse it now would leave the row to itself. */
  inTurn(row: TransferRow, act: () => Promise<void>): Promise<void> {
    return this.turns.run(laneOf(row), act, true);
  }
}
