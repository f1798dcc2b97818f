/** One round of any row in the turn of its lane: for requests and for the keeper alike. */
import { ServiceError } from "../domain/errors.js";
import { Turns } from "../domain/turns.js";
import { isPayoutAwaited } from "./act-steps.js";
import { Deposits } from "./deposits.js";
import { InternalTransfers } from "./internal-transfers.js";
import { laneOf, type Mode, type TransferParts } from "./transfer-parts.js";
import { depositStep, isEnded, type TransferRow } from "./transfer-row.js";
import { Withdrawals } from "./withdrawals.js";

export class Rounds {
  readonly turns = new Turns();
  readonly deposits: Deposits;
  readonly #withdrawals: Withdrawals;
  readonly #internals: InternalTransfers;
  readonly #parts: TransferParts;
  /** Rows that an earlier start made. */
  readonly #earlier: ReadonlySet<string>;

  /** After the ledger is read, and before anything is added to it. */
  constructor(parts: TransferParts) {
    this.#parts = parts;
    this.#earlier = new Set(Array.from(parts.book.open(), ({ transferId }) => transferId));
    this.deposits = new Deposits(parts);
    this.#withdrawals = new Withdrawals(parts);
    this.#internals = new InternalTransfers(parts);
  }

  /**
   * Waits for the lane, as long as it takes, and for the count of the store to be outside of it. Rejects with RESTORED_STORE
   * and STORE_UNAVAILABLE, and as the rounds do; nothing happens for a row that is over.
   */
  run(row: TransferRow, mode: Mode): Promise<void> {
    return this.inTurn(row, async () => {
      const current = this.#parts.book.current(row.transferId);
      if (current === undefined) return;
      await this.#mayAct(current, mode);
      if (current.kind === "deposit") await this.deposits.round(current, mode);
      else if (current.kind === "withdrawal") await this.#withdrawals.round(current, mode);
      else await this.#internals.round(current, mode);
    });
  }

  /** How long the row may rest after its round; null: as any that does not move. Infinity: nobody looks by the clock. */
  restMs(row: TransferRow): number | null {
    return row.kind === "withdrawal" ? this.#withdrawals.restMs(row) : null;
  }

  /** For the operator: the next round looks at the outside, whatever it did before. False: each round does. */
  lookAgain(row: TransferRow): boolean {
    if (row.kind !== "withdrawal" || !isPayoutAwaited(row)) return false;
    this.#withdrawals.lookAgain(row);
    return true;
  }

  /** The row's lane took its request in when the row was made: to refuse it now would leave the row to itself. */
  inTurn(row: TransferRow, act: () => Promise<void>): Promise<void> {
    return this.turns.run(laneOf(row), act, true);
  }

  async #mayAct(row: TransferRow, mode: Mode): Promise<void> {
    const { instance } = this.#parts;
    const { transferId } = row;
    if (instance === null) return;
    try {
      instance.assertNotRestored();
      await instance.outside();
      const isEarlier = mode === "kept" || this.#earlier.has(transferId);
      if (isEarlier && mayBeAhead(row)) await instance.vouched();
    } catch (error) {
      // The row may go on once it may.
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.code, { ...error.context, transferId, isUnsettled: true }, { cause: error });
    }
  }
}

/**
 * What comes next of it needs the co-signer in any case. Until that has been met, a store that was put back with its file
 * looks like the newest one, and what the lost one did looks like a reason to fail.
 */
function mayBeAhead(row: TransferRow): boolean {
  if (row.kind === "deposit") return !isEnded(row) && depositStep(row)?.mined?.succeeded !== true;
  return row.kind === "withdrawal" && row.state === "created";
}
