/**
 * One spooled batch as one file: everything needed to send it again, and a checksum that reveals a torn file.
 *
 *   "UWSPOOL1" | header length u32 LE | crc32 of the payload u32 LE | header JSON | payload
 *
 * The name contains order, table and rows, so that an unreadable file is still counted:
 * `000000000042-ticks-8192.rows`.
 */
import { unlinkSync } from "node:fs";
import { crc32 } from "node:zlib";
import type { RecordTableName } from "../storage/records/record-table.js";
import { RECORD_TABLES } from "../storage/records/schema.js";
import type { Batch } from "./batch.js";

const MAGIC = Buffer.from("UWSPOOL1", "latin1");
const PREFIX_BYTES = MAGIC.length + 8;
/** Column names and a token; a larger header means damage. */
const HEADER_BYTES_MAX = 64 * 1024;

export interface SpoolName {
  readonly order: number;
  readonly table: RecordTableName;
  readonly rowCount: number;
}

export function spoolFileName(name: SpoolName): string {
  return `${String(name.order).padStart(12, "0")}-${name.table}-${name.rowCount}.rows`;
}

/** Returns null for a name that is not ours. */
export function parseSpoolFileName(text: string): SpoolName | null {
  const match = /^(\d{12})-([a-z_]+)-(\d{1,9})\.rows$/.exec(text);
  const table = RECORD_TABLES.find(({ name }) => name === match?.[2]);
  if (match === null || table === undefined) return null;
  return { order: Number(match[1]), table: table.name, rowCount: Number(match[3]) };
}

/** Returns parts, so that the payload is not copied. */
export function encodeSpoolFile(batch: Batch): readonly Uint8Array[] {
  const { table, columns, rowCount, token, bytes } = batch;
  const header = Buffer.from(JSON.stringify({ table, columns, rowCount, token, byteCount: bytes.length }), "utf8");
  const prefix = Buffer.alloc(PREFIX_BYTES);
  MAGIC.copy(prefix);
  prefix.writeUInt32LE(header.length, MAGIC.length);
  prefix.writeUInt32LE(crc32(bytes, crc32(header)), MAGIC.length + 4);
  return [prefix, header, bytes];
}

/** Returns null for a file that is torn or not ours. */
export function decodeSpoolFile(file: Buffer): Batch | null {
  if (file.length < PREFIX_BYTES || !file.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const headerBytes = file.readUInt32LE(MAGIC.length);
  if (headerBytes > HEADER_BYTES_MAX || PREFIX_BYTES + headerBytes > file.length) return null;
  const header = file.subarray(PREFIX_BYTES, PREFIX_BYTES + headerBytes);
  const bytes = file.subarray(PREFIX_BYTES + headerBytes);
  if (crc32(bytes, crc32(header)) !== file.readUInt32LE(MAGIC.length + 4)) return null;
  // The checksum shows that encodeSpoolFile wrote this.
  const { table, columns, rowCount, token } = JSON.parse(header.toString("utf8")) as Omit<Batch, "bytes">;
  return { table, columns, rowCount, token, bytes };
}

export function byteLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** The next start finds what cannot be removed now. */
export function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone already, or may not be removed.
  }
}
