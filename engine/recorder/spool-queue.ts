/**
 * Batches on their way to the spool's folder: they wait in memory and are written one after the other.
 *
 * Bound: `bytesMax` waiting; beyond it the oldest waiting batch is dropped and counted. A full disk refuses only the
 * present batch; the next batch tries again.
 */
import type { Logger } from "../domain/logger.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batch } from "./batch.js";
import type { DropReason, TableCounts } from "./counters.js";
import type { SpoolFile, SpoolFolder } from "./spool-folder.js";

const FULL_CODES = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

export interface SpoolQueueOptions {
  readonly folder: SpoolFolder;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly logger: Logger;
  readonly bytesMax: number;
  /** The file is written, and the batch no longer waits: adds the file in the same turn. */
  readonly onWritten: (file: SpoolFile, first: boolean) => void;
}

export class SpoolQueue {
  readonly #options: SpoolQueueOptions;
  /** The first is being written. */
  readonly #waiting: { readonly batch: Batch; readonly first: boolean }[] = [];
  #byteCount = 0;
  #writing: Promise<void> | null = null;
  /** The disk refused the last batch. */
  #isFull = false;

  constructor(options: SpoolQueueOptions) {
    this.#options = options;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  /** Resolves when nothing waits any more; null when nothing does. */
  get writing(): Promise<void> | null {
    return this.#writing;
  }

  rows(table: RecordTableName): number {
    let rows = 0;
    for (const { batch } of this.#waiting) if (batch.table === table) rows += batch.rowCount;
    return rows;
  }

  /** `first`: its file goes before all others. */
  push(batch: Batch, first: boolean): void {
    this.#waiting.push({ batch, first });
    this.#byteCount += batch.bytes.length;
    // The first may be half written.
    while (this.#byteCount > this.#options.bytesMax && this.#waiting.length > 1) this.#dropAt(1, "memory");
    this.#writing ??= this.#writeAll();
  }

  /** Drops what waits of these tables; what is being written remains. */
  drop(tables: ReadonlySet<RecordTableName>, reason: DropReason): void {
    for (let at = this.#waiting.length - 1; at >= 1; at--) {
      const waiting = this.#waiting[at];
      if (waiting !== undefined && tables.has(waiting.batch.table)) this.#dropAt(at, reason);
    }
  }

  async #writeAll(): Promise<void> {
    const { folder, onWritten } = this.#options;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { batch, first } = next;
      const written = await folder.write(batch, first).then(
        (file) => ({ file }),
        (failure: unknown) => ({ failure }),
      );
      this.#waiting.shift();
      this.#byteCount -= batch.bytes.length;
      if ("file" in written) {
        this.#isFull = false;
        onWritten(written.file, first);
      } else this.#refusedByDisk(batch, written.failure);
    }
    // In the same turn as the last check of the queue.
    this.#writing = null;
  }

  #refusedByDisk(batch: Batch, failure: unknown): void {
    const { counts, logger } = this.#options;
    const code = failure instanceof Error && "code" in failure ? String(failure.code) : "unknown";
    counts[batch.table].dropped[FULL_CODES.has(code) ? "disk-full" : "disk-error"] += batch.rowCount;
    if (!this.#isFull) logger.error("spool_write_failed", { reason: code, name: batch.table });
    this.#isFull = true;
  }

  #dropAt(at: number, reason: DropReason): void {
    const dropped = this.#waiting.splice(at, 1)[0];
    if (dropped === undefined) return;
    const { table, bytes, rowCount } = dropped.batch;
    this.#byteCount -= bytes.length;
    this.#options.counts[table].dropped[reason] += rowCount;
  }
}
