/**
 * What the record gets of transfers: one row for each change that is durable. Its writes go into the commit of the
 * change, so that a row is there exactly if the change is. The ledger knows no more of the record than this port.
 */
import type { StateWrite } from "../storage/state-store.js";
import type { TransferRow } from "./transfer-row.js";

export interface RecordedChange {
  readonly writes: readonly StateWrite[];
  /** The writes are durable. */
  committed(): void;
}

export interface TransferRecord {
  /** `change`: its number within the transfer, from 1 on. The same change twice is the same row. */
  changed(row: TransferRow, change: number): RecordedChange;
}

const NOTHING: RecordedChange = { writes: [], committed() {} };

export const NO_TRANSFER_RECORD: TransferRecord = { changed: () => NOTHING };
