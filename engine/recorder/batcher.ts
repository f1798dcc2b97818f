// hot path
/**
 * Collects encoded rows of one table into batches. A batch holds one partition of the table (it is atomic per
 * partition), at most `rowsMax` rows and `bytesMax` bytes; its bytes never change once it is closed.
 *
 * Bounds: MAX_OPEN_PARTITIONS batches open at once (around midnight rows of two days mix); one more closes the oldest.
 */
import { RowWriter } from "./row-binary.js";
import type { RecordTable } from "../storage/records/record-table.js";
import { writtenColumns } from "../storage/records/schema.js";
import type { Batch, TokenSource } from "./batch.js";
import type { BufferPool } from "./buffer-pool.js";

export const MAX_OPEN_PARTITIONS = 3;

export interface BatcherOptions {
  readonly table: RecordTable;
  readonly rowsMax: number;
  /** Size of the buffer. A batch is closed when less than `rowBytesMax` is left. */
  readonly rowBytesMax: number;
  readonly pool: BufferPool;
  readonly token: TokenSource;
  readonly onBatch: (batch: Batch) => void;
}

interface OpenBatch {
  partition: number;
  rowCount: number;
  readonly writer: RowWriter;
}

export class Batcher {
  readonly table: RecordTable;
  readonly #columns: readonly string[];
  readonly #options: BatcherOptions;
  readonly #open: OpenBatch[] = [];
  #current: OpenBatch | null = null;
  #closedCuts = 0;

  constructor(options: BatcherOptions) {
    this.table = options.table;
    this.#columns = writtenColumns(options.table).map((column) => column.name);
    this.#options = options;
  }

  /**
   * Returns the writer for the next row of this partition. The caller writes the whole row and calls `added`, or
   * rewinds.
   */
  writerFor(partition: number): RowWriter {
    const current = this.#current;
    if (current !== null && current.partition === partition) return current.writer;
    return this.#switchTo(partition).writer;
  }

  /** Call once the row is complete. */
  added(): void {
    const current = this.#current;
    if (current === null) return;
    current.rowCount += 1;
    const { writer } = current;
    if (current.rowCount >= this.#options.rowsMax || writer.buffer.length - writer.at < this.#options.rowBytesMax)
      this.#close(current);
  }

  /** Rows in open batches. */
  get openRows(): number {
    let count = 0;
    for (const open of this.#open) count += open.rowCount;
    return count;
  }

  /** Figures over all batches that were finer than their column. */
  get cutCount(): number {
    let count = this.#closedCuts;
    for (const { writer } of this.#open) count += writer.cutCount;
    return count;
  }

  closeAll(): void {
    while (this.#open.length > 0) this.#close(this.#open[0] as OpenBatch);
  }

  #switchTo(partition: number): OpenBatch {
    for (const open of this.#open) {
      if (open.partition !== partition) continue;
      this.#current = open;
      return open;
    }
    if (this.#open.length >= MAX_OPEN_PARTITIONS) this.#close(this.#open[0] as OpenBatch);
    const opened = { partition, rowCount: 0, writer: new RowWriter(this.#options.pool.take()) };
    this.#open.push(opened);
    this.#current = opened;
    return opened;
  }

  #close(open: OpenBatch): void {
    this.#open.splice(this.#open.indexOf(open), 1);
    if (this.#current === open) this.#current = null;
    this.#closedCuts += open.writer.cutCount;
    if (open.rowCount === 0) {
      this.#options.pool.give(open.writer.buffer);
      return;
    }
    this.#options.onBatch({
      table: this.table.name,
      columns: this.#columns,
      bytes: open.writer.written(),
      rowCount: open.rowCount,
      token: this.#options.token(),
    });
  }
}
