/**
 * The tables of the record: what is kept of ticks, books, trades, orders, fills, decisions, transfers and latency. From
 * this one description (market-tables.ts, order-tables.ts, money-tables.ts) follow the DDL of the embedded engine and of a
 * cluster (ddl.ts) and the RowBinary encoding of the recorder; nothing else spells a column.
 *
 * Invariants: a column once released is never renamed or retyped, only added at the end by a migration, and left
 * unwritten once another replaces it, because batches of earlier versions wait in spools and outboxes; the partition
 * key of a Replacing table depends only on columns that are equal in all versions of a row (rows collapse within one
 * partition only); one batch of the recorder stays inside one partition where it can, because a batch is atomic per
 * partition, not per statement.
 *
 * All times are UTC. `rx` is our receive time (µs), `ex` the venue's (ms). Prices are Decimal(38, 18): 5 significant
 * digits of a contract of a million units need thirteen decimals and more. Market sizes are Decimal(38, 8): a trade in
 * coins worth 10^-6 can reach 10^10 units, the limit of Decimal(18, 8).
 */
import { BOOK_SNAPSHOTS, OHLCV_1M, TICKS, TRADES } from "./market-tables.js";
import { TRANSFERS } from "./money-tables.js";
import { FILLS, LATENCY_SAMPLES, ORDERS_LATEST, ORDER_EVENTS, ROUTING_DECISIONS } from "./order-tables.js";
import type { DerivedTable, RecordColumn, RecordTable, RecordTableName } from "./record-table.js";

export const RECORD_TABLES: readonly RecordTable[] = [
  TICKS,
  BOOK_SNAPSHOTS,
  TRADES,
  ORDER_EVENTS,
  FILLS,
  ROUTING_DECISIONS,
  TRANSFERS,
  LATENCY_SAMPLES,
];

export const DERIVED_TABLES: readonly DerivedTable[] = [ORDERS_LATEST, OHLCV_1M];

/** Migrations done; see migrations.ts. */
export const MIGRATIONS_TABLE = "records_meta";

const BY_NAME = new Map(RECORD_TABLES.map((table) => [table.name, table]));

export function recordTable(name: RecordTableName): RecordTable {
  return BY_NAME.get(name) as RecordTable;
}

/** The columns that rows have now, in the order in which they are written. */
export function writtenColumns(table: RecordTable): readonly RecordColumn[] {
  return columnsOfVersion(table, table.columns.length);
}

/** The columns that a row has in the version with this many columns. */
export function columnsOfVersion(table: RecordTable, columnCount: number): readonly RecordColumn[] {
  return table.columns
    .slice(0, columnCount)
    .filter(({ writtenUntil }) => writtenUntil === undefined || columnCount <= writtenUntil);
}
