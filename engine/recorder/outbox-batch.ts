/**
 * A claimed batch of the outbox as one value of the state store: its bytes are fixed here, so that after a crash, a
 * restart or a new encoder exactly the same bytes are sent again.
 *
 *   header length u32 LE | header JSON | rows, one after the other
 */
import type { RecordTableName } from "../storage/records/record-table.js";
import { columnsOfVersion, recordTable } from "../storage/records/schema.js";
import type { Batch } from "./batch.js";

export interface OutboxBatch extends Batch {
  /** Number of columns of the table when its rows were made. */
  readonly columnCount: number;
  /** Where each row ends, used to split a refused batch. */
  readonly rowBytes: readonly number[];
}

interface Header {
  readonly table: RecordTableName;
  readonly columnCount: number;
  readonly rowBytes: readonly number[];
}

export function makeOutboxBatch(
  table: RecordTableName,
  columnCount: number,
  token: string,
  rows: readonly Uint8Array[],
): OutboxBatch {
  return {
    table,
    columnCount,
    columns: columnNames(table, columnCount),
    bytes: Buffer.concat(rows),
    rowCount: rows.length,
    token,
    rowBytes: rows.map((row) => row.length),
  };
}

export function encodeOutboxBatch(batch: OutboxBatch): Uint8Array {
  const header: Header = { table: batch.table, columnCount: batch.columnCount, rowBytes: batch.rowBytes };
  const headerBytes = Buffer.from(JSON.stringify(header), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(headerBytes.length);
  return Buffer.concat([length, headerBytes, batch.bytes]);
}

/** Decodes a value that encodeOutboxBatch wrote under the key `token`. */
export function decodeOutboxBatch(token: string, value: Uint8Array): OutboxBatch {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const start = 4 + bytes.readUInt32LE(0);
  const { table, columnCount, rowBytes } = JSON.parse(bytes.toString("utf8", 4, start)) as Header;
  return {
    table,
    columnCount,
    columns: columnNames(table, columnCount),
    bytes: bytes.subarray(start),
    rowCount: rowBytes.length,
    token,
    rowBytes,
  };
}

/** Splits a batch into two halves under new tokens: one of them holds the row that the server refuses. */
export function splitOutboxBatch(batch: OutboxBatch, token: () => string): [OutboxBatch, OutboxBatch] {
  const rows: Uint8Array[] = [];
  let at = 0;
  for (const length of batch.rowBytes) {
    rows.push(batch.bytes.subarray(at, at + length));
    at += length;
  }
  const middle = Math.ceil(rows.length / 2);
  const { columnCount } = batch;
  return [
    makeOutboxBatch(batch.table, columnCount, token(), rows.slice(0, middle)),
    makeOutboxBatch(batch.table, columnCount, token(), rows.slice(middle)),
  ];
}

/** Columns are only ever added at the end, so their number identifies a version of the table. */
function columnNames(table: RecordTableName, columnCount: number): readonly string[] {
  return columnsOfVersion(recordTable(table), columnCount).map((column) => column.name);
}
