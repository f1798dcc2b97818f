/** Reads RowBinary rows back by the schema, decimals as plain text: independent of the encoders. */
import { formatScaledBig } from "../../domain/decimal.js";
import type { RecordTableName } from "../../storage/records/record-table.js";
import { recordTable, writtenColumns } from "../../storage/records/schema.js";

export type ReadValue = string | number | null | readonly (string | number | null)[];

type ReadRow = Readonly<Record<string, ReadValue>>;

export function readRows(table: RecordTableName, bytes: Uint8Array): ReadRow[] {
  const reader = new Reader(Buffer.from(bytes));
  const rows: ReadRow[] = [];
  while (!reader.isAtEnd)
    rows.push(
      Object.fromEntries(writtenColumns(recordTable(table)).map(({ name, type }) => [name, reader.value(type)])),
    );
  return rows;
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(type: string): ReadValue {
    const inner = /^(Nullable|Array|LowCardinality)\((.*)\)$/.exec(type);
    const of = inner?.[2] ?? "";
    if (inner?.[1] === "LowCardinality") return this.value(of);
    if (inner?.[1] === "Nullable") return this.#integer(1) === 1n ? null : this.value(of);
    if (inner?.[1] === "Array") return Array.from({ length: this.#varint() }, () => this.value(of) as string);
    if (type === "String") {
      const end = this.#varint() + this.#at;
      const text = this.#bytes.toString("utf8", this.#at, end);
      this.#at = end;
      return text;
    }
    const decimal = /^Decimal\((\d+), (\d+)\)$/.exec(type);
    if (decimal !== null) return formatScaledBig(this.#integer(Number(decimal[1]) > 18 ? 16 : 8), Number(decimal[2]));
    if (type === "Float32") {
      this.#at += 4;
      return this.#bytes.readFloatLE(this.#at - 4);
    }
    if (type === "UInt32") return Number(this.#integer(4));
    return String(this.#integer(type === "UInt8" || type.startsWith("Enum8") ? 1 : 8));
  }

  /** Little-endian two's complement; the unsigned integers here never reach the sign bit. */
  #integer(width: number): bigint {
    let value = 0n;
    for (let index = 0; index < width; index++)
      value |= BigInt(this.#bytes[this.#at + index] ?? 0) << BigInt(8 * index);
    this.#at += width;
    return BigInt.asIntN(8 * width, value);
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }
}
