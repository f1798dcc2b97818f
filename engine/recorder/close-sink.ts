/**
 * What closes leave in the record: rows of the durable lane for the outbox, and notes that may be lost.
 *
 * Invariant: with recording off no row is made, and every row that would have been is counted.
 */
import type { DecisionEvent } from "../orders/conclude/decision-event.js";
import type { OrderEvent } from "../orders/conclude/order-events.js";
import type { ConcludedTrade, RecordedRun, RecordSink } from "../orders/conclude/record-sink.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { StateWrite } from "../storage/state-store.js";
import type { Batcher } from "./batcher.js";
import type { CloseRows } from "./close-rows.js";
import type { TableCounts } from "./counters.js";
import { monthOf } from "./durable-rows.js";
import type { Outbox } from "./outbox.js";

export interface CloseSinkOptions {
  readonly rows: CloseRows;
  readonly outbox: Pick<Outbox, "committed">;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  /** Collects the notes. */
  readonly batcher: Batcher;
  /** Distinguishes the notes of this start from those of all others. */
  readonly noteId: string;
  readonly isOff: () => boolean;
}

export class CloseSink implements RecordSink {
  readonly #options: CloseSinkOptions;
  #noteCount = 0;

  constructor(options: CloseSinkOptions) {
    this.#options = options;
  }

  decisionWrites(concluded: ConcludedTrade): readonly StateWrite[] {
    return this.#unlessOff(this.#options.rows.decision(concluded));
  }

  eventWrites(run: RecordedRun, events: readonly OrderEvent[]): readonly StateWrite[] {
    return this.#unlessOff(this.#options.rows.events(run, events));
  }

  committed(writes: readonly StateWrite[]): void {
    this.#options.outbox.committed(writes);
  }

  note(event: DecisionEvent): void {
    const { rows, batcher, noteId, isOff } = this.#options;
    const counts = this.#options.counts.routing_decisions;
    counts.accepted += 1;
    if (isOff()) {
      counts.dropped.off += 1;
      return;
    }
    this.#noteCount += 1;
    const row = rows.noted(event, `${noteId}:${this.#noteCount}`);
    const writer = batcher.writerFor(monthOf(event.tsMs));
    writer.reserve(row.length);
    writer.raw(row);
    batcher.added();
  }

  /** With recording off, rows in the outbox would never be removed. */
  #unlessOff(writes: readonly StateWrite[]): readonly StateWrite[] {
    if (!this.#options.isOff()) return writes;
    for (const { key } of writes) {
      const counts = this.#options.counts[key.slice(0, key.indexOf("|")) as RecordTableName];
      counts.accepted += 1;
      counts.dropped.off += 1;
    }
    return [];
  }
}
