/** Rows that the server will never accept: each is counted, each table and error code has one log line. */
import type { Logger } from "../domain/logger.js";
import type { InsertOutcome } from "../storage/records/records-store.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batch } from "./batch.js";
import type { TableCounts } from "./counters.js";

export type Refused = Extract<InsertOutcome, { readonly outcome: "refused" }>;

export class RefusedRows {
  readonly #counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor(counts: Readonly<Record<RecordTableName, TableCounts>>, logger: Logger) {
    this.#counts = counts;
    this.#logger = logger;
  }

  note({ table, rowCount }: Batch, { code, name }: Refused): void {
    this.#counts[table].dropped.refused += rowCount;
    const what = `${table} ${code}`;
    if (this.#logged.has(what)) return;
    this.#logged.add(what);
    this.#logger.error("records_batch_refused", { name: table, code, errorName: name, count: rowCount });
  }
}
