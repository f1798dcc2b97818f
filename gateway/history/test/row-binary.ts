/**
 * Test rows as RowBinary by the schema: slow, general, and independent of the recorder's encoder, so that the two
 * cannot share a mistake. A column that a row does not name is 0, empty or null, and its owner is the one without a key.
 */
import type { RecordTableName } from "../../../engine/storage/records/record-table.js";
import { recordTable, writtenColumns } from "../../../engine/storage/records/schema.js";

export type TestValue = string | number | bigint | boolean | null | readonly (string | number | bigint | null)[];
export type TestRow = Readonly<Record<string, TestValue>>;

export function rowBinary(table: RecordTableName, rows: readonly TestRow[]): Buffer {
  const owned = rows.map((row) => ({ owner: "local", ...row }));
  return columnsBinary(writtenColumns(recordTable(table)), owned);
}

/** With the columns of any version. */
export function columnsBinary(
  columns: readonly { readonly name: string; readonly type: string }[],
  rows: readonly TestRow[],
): Buffer {
  const pieces: Buffer[] = [];
  for (const row of rows) for (const column of columns) pieces.push(encode(column.type, row[column.name] ?? null));
  return Buffer.concat(pieces);
}

function encode(type: string, value: unknown): Buffer {
  const inner = /^(Nullable|LowCardinality|Array)\((.*)\)$/.exec(type);
  if (inner?.[1] === "LowCardinality") return encode(inner[2] as string, value);
  if (inner?.[1] === "Nullable")
    return value === null ? Buffer.from([1]) : Buffer.concat([Buffer.from([0]), encode(inner[2] as string, value)]);
  if (inner?.[1] === "Array") {
    const items = (value ?? []) as readonly unknown[];
    return Buffer.concat([varint(items.length), ...items.map((item) => encode(inner[2] as string, item))]);
  }
  if (type === "String") {
    const bytes = Buffer.from(String(value ?? ""), "utf8");
    return Buffer.concat([varint(bytes.length), bytes]);
  }
  if (type.startsWith("Enum8")) {
    const code = new RegExp(`'${String(value ?? "BUY")}' = (\\d+)`).exec(type)?.[1];
    return integer(BigInt(code as string), 1);
  }
  const decimal = /^Decimal\((\d+), (\d+)\)$/.exec(type);
  if (decimal !== null)
    return integer(scaled(String(value ?? 0), Number(decimal[2])), Number(decimal[1]) > 18 ? 16 : 8);
  if (type === "Float32") {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(Number(value ?? 0));
    return bytes;
  }
  const width = { UInt8: 1, UInt32: 4, UInt64: 8 }[type] ?? (type.startsWith("DateTime64") ? 8 : null);
  if (width === null) throw new Error(`no encoding of ${type}`);
  return integer(BigInt((value ?? 0) as bigint), width);
}

function varint(length: number): Buffer {
  const bytes: number[] = [];
  let rest = length;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

function integer(value: bigint, width: number): Buffer {
  const bytes = Buffer.alloc(width);
  let rest = BigInt.asUintN(width * 8, value);
  for (let index = 0; index < width; index++, rest >>= 8n) bytes[index] = Number(rest & 0xffn);
  return bytes;
}

function scaled(text: string, places: number): bigint {
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  if (fraction.length > places) throw new Error(`${text} is finer than ${places} places`);
  const value = BigInt(whole + fraction.padEnd(places, "0"));
  return text.startsWith("-") ? -value : value;
}
