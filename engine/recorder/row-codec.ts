/**
 * Encodes any row of the schema as RowBinary, by column name: for rows that come one at a time. Market data has its own
 * encoders (market-rows.ts), which a test compares with this one.
 *
 * Invariant: all columns that are written now are written in the schema's order; a value that does not fit its column,
 * or is missing, makes the row bad and no part of it is kept.
 */
import type { ColumnType, RecordTable } from "../storage/records/record-table.js";
import { writtenColumns } from "../storage/records/schema.js";
import type { RowWriter } from "./row-binary.js";

type Scalar = string | number | boolean | null;
/** Decimals as plain text, 64-bit integers as number or digits, times as integers of the column's unit. */
export type RowValues = Readonly<Record<string, Scalar | readonly Scalar[]>>;

type WriteValue = (writer: RowWriter, value: Scalar | readonly Scalar[] | undefined) => void;

export interface RowCodec {
  readonly table: RecordTable;
  /** Returns false when the row did not fit; the writer is then where it was. */
  write(writer: RowWriter, row: RowValues): boolean;
  /**
   * Writes the row in any case, with an empty value (null, "0", "", none) where a value does not fit; returns the names
   * of those columns. For rows that must not be lost over one odd figure.
   */
  writeAnyway(writer: RowWriter, row: RowValues): string[];
}

export function createRowCodec(table: RecordTable): RowCodec {
  const columns = writtenColumns(table).map(({ name, type }) => ({
    name,
    write: writerOf(type),
    nothing: nothingOf(type),
  }));
  return {
    table,
    write(writer, row) {
      const start = writer.at;
      writer.bad = false;
      for (const { name, write } of columns) {
        // Wide enough for every fixed type; strings and arrays reserve their own room.
        writer.reserve(32);
        write(writer, row[name]);
      }
      if (!writer.bad) return true;
      writer.rewind(start);
      return false;
    },
    writeAnyway(writer, row) {
      const replaced: string[] = [];
      for (const { name, write, nothing } of columns) {
        const start = writer.at;
        writer.bad = false;
        writer.reserve(32);
        write(writer, row[name]);
        if (!writer.bad) continue;
        writer.rewind(start);
        write(writer, nothing);
        replaced.push(name);
      }
      return replaced;
    },
  };
}

function nothingOf(type: ColumnType): Scalar | readonly Scalar[] {
  if (type.startsWith("Nullable")) return null;
  if (type.startsWith("Array")) return [];
  if (type.startsWith("Decimal")) return "0";
  if (type.startsWith("Enum8")) return "BUY";
  return type.endsWith("String") || type.endsWith("(String)") ? "" : 0;
}

function writerOf(type: ColumnType): WriteValue {
  const inner = /^(Nullable|Array)\((.*)\)$/.exec(type);
  if (inner === null) return scalarWriter(type);
  const write = writerOf(inner[2] as ColumnType);
  if (inner[1] === "Nullable") {
    return (writer, value) => {
      const isNull = value === null;
      writer.u8(isNull ? 1 : 0);
      if (!isNull) write(writer, value);
    };
  }
  return (writer, value) => {
    if (!Array.isArray(value)) {
      writer.bad = true;
      return;
    }
    writer.varint(value.length);
    for (const item of value as readonly Scalar[]) {
      writer.reserve(32);
      write(writer, item);
    }
  };
}

function scalarWriter(type: ColumnType): WriteValue {
  const decimal = /^Decimal\((18|38), (\d+)\)$/.exec(type);
  if (decimal !== null) {
    const scale = Number(decimal[2]);
    const wide = decimal[1] === "38";
    return (writer, value) => {
      if (typeof value !== "string") writer.bad = true;
      else if (wide) writer.decimal128Text(value, scale);
      else writer.decimal64Text(value, scale);
    };
  }
  switch (type) {
    case "DateTime64(6, 'UTC')":
    case "DateTime64(3, 'UTC')":
      return number((writer, value) => writer.i64(value));
    case "UInt64":
      return (writer, value) => {
        if (typeof value === "string") writer.u64Text(value);
        else if (typeof value === "number") writer.u64(value);
        else writer.bad = true;
      };
    case "UInt32":
      return number((writer, value) => {
        if (!Number.isInteger(value)) writer.bad = true;
        else writer.u32(value);
      });
    case "UInt8":
      return (writer, value) => {
        if (typeof value === "boolean") writer.u8(value ? 1 : 0);
        else if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 256) writer.u8(value);
        else writer.bad = true;
      };
    case "Float32":
      return number((writer, value) => writer.f32(value));
    case "Enum8('BUY' = 1, 'SELL' = 2)":
      return (writer, value) => {
        if (value !== "BUY" && value !== "SELL") writer.bad = true;
        else writer.u8(value === "BUY" ? 1 : 2);
      };
    case "String":
    case "LowCardinality(String)":
      return (writer, value) => {
        if (typeof value !== "string") writer.bad = true;
        else writer.text(value);
      };
    default:
      throw new RangeError(`no encoding for the column type ${type}`);
  }
}

function number(write: (writer: RowWriter, value: number) => void): WriteValue {
  return (writer, value) => {
    if (typeof value !== "number") writer.bad = true;
    else write(writer, value);
  };
}
