/** The batches that are being filled, one batcher per table, and when they are closed. */
import type { Clock } from "../domain/clock.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import { recordTable } from "../storage/records/schema.js";
import type { Batch, TokenSource } from "./batch.js";
import { Batcher } from "./batcher.js";
import type { BufferPool } from "./buffer-pool.js";
import type { MarketTable } from "./market-drain.js";
import { MAX_ROW_BYTES } from "./outbox.js";
import type { RecorderSettings } from "./recorder-settings.js";

/**
 * While the store is away or behind, batches wait this long to grow. That makes fewer files, and inserts that grow with
 * the wait, so a slow store catches up instead of receiving small ones faster than it takes them.
 */
const AWAY_BATCH_AGE_MS = 5_000;
/** Largest row of any table, used to close a batch before it is full. */
const ROW_BYTES_MAX = 8_192;

/** Tables whose rows are collected in memory; the durable lane makes its own batches. */
type BatchedTable = MarketTable | "routing_decisions" | "latency_samples";

export interface OpenBatchesOptions {
  readonly settings: RecorderSettings;
  readonly clock: Clock;
  readonly pool: BufferPool;
  readonly token: TokenSource;
  readonly onBatch: (batch: Batch) => void;
}

export class OpenBatches {
  readonly batchers: Readonly<Record<BatchedTable, Batcher>>;
  readonly #settings: RecorderSettings;
  readonly #clock: Clock;
  /** Monotonic ns of the oldest open row; -1 while none is known. */
  #oldestNs = -1;

  constructor({ settings, clock, pool, token, onBatch }: OpenBatchesOptions) {
    this.#settings = settings;
    this.#clock = clock;
    const rowsMax = settings.batchRows;
    const batcher = (name: BatchedTable, rowBytesMax = ROW_BYTES_MAX): Batcher =>
      new Batcher({ table: recordTable(name), rowsMax, rowBytesMax, pool, token, onBatch });
    this.batchers = {
      ticks: batcher("ticks"),
      trades: batcher("trades"),
      book_snapshots: batcher("book_snapshots"),
      routing_decisions: batcher("routing_decisions", MAX_ROW_BYTES),
      latency_samples: batcher("latency_samples"),
    };
  }

  /** Rows in the open batches of a table, and figures of it that were finer than their column. */
  countsOf(table: RecordTableName): { readonly openRows: number; readonly cutCount: number } {
    return isBatched(table) ? this.batchers[table] : { openRows: 0, cutCount: 0 };
  }

  /** Closes what is due. `isBehind`: the store is away, or slower than batches arrive. */
  closeDue(isBehind: boolean): void {
    // Rows of closes and openings never wait for market rows.
    if (!isBehind) this.batchers.routing_decisions.closeAll();
    if (this.#isDue(isBehind)) this.closeAll();
  }

  closeAll(): void {
    this.#oldestNs = -1;
    for (const batcher of Object.values(this.batchers)) batcher.closeAll();
  }

  /** Reports whether the open batches are old enough, or full enough. */
  #isDue(isBehind: boolean): boolean {
    const { quietMs, busyRows, drainMs } = this.#settings;
    const nowNs = this.#clock.monoNs();
    if (this.#oldestNs < 0) {
      if (this.#openRows() === 0) return false;
      // Those rows may be as old as the previous drain.
      this.#oldestNs = nowNs - drainMs * 1e6;
    }
    const ageMs = (nowNs - this.#oldestNs) / 1e6;
    if (isBehind) return ageMs >= AWAY_BATCH_AGE_MS;
    // Chooses the drain nearest to the full time: timers are slightly late, and one drain less means a third more
    // batches.
    return ageMs + drainMs / 2 > quietMs || this.#openRows() >= busyRows;
  }

  #openRows(): number {
    let count = 0;
    for (const batcher of Object.values(this.batchers)) count += batcher.openRows;
    return count;
  }
}

export function isMarketTable(table: RecordTableName): table is MarketTable {
  return table === "ticks" || table === "trades" || table === "book_snapshots";
}

function isBatched(table: RecordTableName): table is BatchedTable {
  return isMarketTable(table) || table === "routing_decisions" || table === "latency_samples";
}
