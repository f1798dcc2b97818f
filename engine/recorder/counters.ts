/**
 * The outcome of every row, per table. Invariant (checked by tests after every step of a random history): accepted +
 * recovered = stored + all dropped + pending, where pending is counted at the rows themselves, never derived.
 */
import type { RecordTableName } from "../storage/records/record-table.js";
import { RECORD_TABLES } from "../storage/records/schema.js";

export const DROP_REASONS = [
  /** The ring was full: the oldest rows were dropped. */
  "ring",
  /** Recording is off. */
  "off",
  /** The volume is short, or the embedded store has reached its size: shedding.ts. */
  "room",
  /** A figure did not fit its column. */
  "range",
  /** Batches arrived faster than the disk took them. */
  "memory",
  /** The spool reached its bound: the oldest files were dropped. */
  "spool-full",
  "disk-full",
  "disk-error",
  /** The server will never accept the batch; it is kept for a person to look at. */
  "refused",
  /** The store could not answer whether it has, or had, these trades: earlier-trades.ts. */
  "unasked",
  /** A spool file was damaged. */
  "torn",
] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export interface TableCounts {
  /** Rows accepted from listeners and closes since the start. */
  accepted: number;
  /** Rows found at the start, left by an earlier one. */
  recovered: number;
  stored: number;
  readonly dropped: Record<DropReason, number>;
  /** Rows ever written to the disk spool; they are stored or dropped later. */
  spooled: number;
  batchesStored: number;
}

export function createCounts(): Record<RecordTableName, TableCounts> {
  const none = (): Record<DropReason, number> =>
    Object.fromEntries(DROP_REASONS.map((reason) => [reason, 0])) as Record<DropReason, number>;
  return Object.fromEntries(
    RECORD_TABLES.map(({ name }) => [
      name,
      { accepted: 0, recovered: 0, stored: 0, dropped: none(), spooled: 0, batchesStored: 0 },
    ]),
  ) as Record<RecordTableName, TableCounts>;
}

export function droppedRows(counts: TableCounts): number {
  return DROP_REASONS.reduce((sum, reason) => sum + counts.dropped[reason], 0);
}
