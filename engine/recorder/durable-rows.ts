/**
 * Rows of the durable lane, encoded for the outbox.
 *
 * Invariant: a row is always made; a figure that does not fit its column is left out, logged, and kept in `detail` where
 * the table has one.
 */
import type { Logger } from "../domain/logger.js";
import { recordTable } from "../storage/records/schema.js";
import type { StateWrite } from "../storage/state-store.js";
import { type DurableTable, MAX_ROW_BYTES, outboxWrite } from "./outbox.js";
import { RowWriter } from "./row-binary.js";
import { createRowCodec, type RowCodec, type RowValues } from "./row-codec.js";

export const DETAIL_CHARS_MAX = 16_384;

export class DurableRows<Table extends DurableTable> {
  readonly #logger: Logger;
  readonly #writer = new RowWriter(Buffer.alloc(4096));
  readonly #codecs: ReadonlyMap<DurableTable, RowCodec>;
  readonly #cuts = new Map<string, number>();

  constructor(tables: readonly Table[], logger: Logger) {
    this.#logger = logger;
    this.#codecs = new Map(tables.map((table) => [table, createRowCodec(recordTable(table))]));
  }

  /** Number of figures that lost some of their digits. */
  cutCount(table: string): number {
    return this.#cuts.get(table) ?? 0;
  }

  /** `unique` names the row within its table; `atMs` is what the table is partitioned by. */
  write(table: Table, atMs: number, unique: string, row: RowValues): StateWrite {
    return outboxWrite(table, monthOf(atMs), unique, this.encode(table, row));
  }

  encode(table: Table, row: RowValues): Buffer {
    const writer = this.#writer;
    const codec = this.#codecs.get(table) as RowCodec;
    writer.begin(writer.buffer);
    const replaced = codec.writeAnyway(writer, row);
    this.#cuts.set(table, this.cutCount(table) + writer.cutCount);
    if (replaced.length > 0) {
      const kept = Object.fromEntries(replaced.map((name) => [name, row[name] ?? null]));
      this.#logger.error("record_figures_left_out", { name: table, problem: replaced.join(",").slice(0, 200) });
      if ("detail" in row && !replaced.includes("detail")) {
        writer.rewind(0);
        codec.writeAnyway(writer, { ...row, detail: detailText({ leftOut: kept }) });
      }
    }
    if (writer.at > MAX_ROW_BYTES && "detail" in row) {
      writer.rewind(0);
      codec.writeAnyway(writer, { ...row, detail: "" });
    }
    return Buffer.from(writer.written());
  }
}

export function detailText(detail: unknown): string {
  const text = JSON.stringify(detail);
  return text.length > DETAIL_CHARS_MAX ? "" : text;
}

/** UTC year and month, in the form of toYYYYMM. */
export function monthOf(atMs: number): number {
  const date = new Date(atMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}
