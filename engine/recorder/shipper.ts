/**
 * Brings batches of market data into the store: fresh ones directly, those it could not place through the spool.
 *
 *   offer → queue (bounded) → insert ──stored──→ counted, buffer used again
 *                      │         ├──refused──→ set aside, counted, logged once
 *                      └─over──→ └──away────→ spool → replay, oldest first, beside fresh ones
 *
 * While the store is away only one probe at a time is sent (store-reach.ts); everything else goes to the spool.
 * Invariant: each row is stored, dropped and counted, or held in exactly one place.
 *
 * Bounds: `queueBytesMax` in memory (beyond it the oldest waiting batch goes to the spool), `inFlightMax` inserts of
 * fresh batches and one of the spool.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { Random } from "../domain/random.js";
import type { InsertOutcome, RecordsStore } from "../storage/records/records-store.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batch } from "./batch.js";
import type { BufferPool } from "./buffer-pool.js";
import type { TableCounts } from "./counters.js";
import { type Refused, RefusedRows } from "./refused-rows.js";
import type { Spool, SpooledBatch } from "./spool.js";
import { StoreReach } from "./store-reach.js";

export const DEFAULT_QUEUE_BYTES = 64 << 20;
export const DEFAULT_IN_FLIGHT = 2;

export interface ShipperOptions {
  readonly store: RecordsStore;
  readonly spool: Spool;
  readonly pool: BufferPool;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly queueBytesMax?: number;
  readonly inFlightMax?: number;
}

export class Shipper {
  readonly #options: ShipperOptions;
  readonly #reach: StoreReach;
  readonly #refusedRows: RefusedRows;
  readonly #queueBytesMax: number;
  readonly #inFlightMax: number;
  readonly #queue: Batch[] = [];
  #queueBytes = 0;
  readonly #inFlight = new Set<Batch>();
  #replaying: Promise<void> | null = null;
  #stopped = false;
  readonly #idleWaiters = new Set<() => void>();

  constructor(options: ShipperOptions) {
    const { clock, random, counts, logger, spool } = options;
    this.#options = options;
    this.#reach = new StoreReach({ clock, random, logger, spool, replay: () => this.#replay() });
    this.#refusedRows = new RefusedRows(counts, logger);
    this.#queueBytesMax = options.queueBytesMax ?? DEFAULT_QUEUE_BYTES;
    this.#inFlightMax = options.inFlightMax ?? DEFAULT_IN_FLIGHT;
  }

  /** Begins with what an earlier start left in the spool. */
  start(): void {
    this.#replay();
  }

  /**
   * Whether the store is away, or slower than batches arrive: another small batch would only wait behind the others.
   */
  get behind(): boolean {
    return this.#reach.isAway || this.#queue.length > 0;
  }

  /** Rows in memory: waiting or being inserted. The spool counts its own. */
  pendingRows(table: RecordTableName): number {
    let rows = 0;
    for (const batch of this.#queue) if (batch.table === table) rows += batch.rowCount;
    for (const batch of this.#inFlight) if (batch.table === table) rows += batch.rowCount;
    return rows;
  }

  offer(batch: Batch): void {
    if (!this.#reach.admitsFresh()) {
      this.#options.spool.put(batch);
      return;
    }
    this.#queue.push(batch);
    this.#queueBytes += batch.bytes.length;
    while (this.#queueBytes > this.#queueBytesMax && this.#queue.length > 1) this.#spoolOldest();
    this.#pump();
  }

  /** Resolves when no batch is in memory any more; the caller limits the wait. */
  idle(): Promise<void> {
    if (this.#queue.length === 0 && this.#inFlight.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.add(resolve));
  }

  /** Resolves when the file calls of the replay have ended. Only after `stop`; the caller limits the wait. */
  async settled(): Promise<void> {
    await this.#replaying;
  }

  /** Ends all sending. What is in memory goes to the spool, inserts under way too: their token makes that safe. */
  stop(): void {
    this.#stopped = true;
    this.#reach.stop();
    for (const batch of this.#inFlight) this.#options.spool.put(batch, true);
    this.#inFlight.clear();
    while (this.#queue.length > 0) this.#spoolOldest();
    this.#resolveIdle();
  }

  #spoolOldest(): void {
    const batch = this.#queue.shift();
    if (batch === undefined) return;
    this.#queueBytes -= batch.bytes.length;
    this.#options.spool.put(batch);
  }

  #pump(): void {
    while (!this.#stopped && this.#inFlight.size < this.#inFlightMax) {
      const batch = this.#queue.shift();
      if (batch === undefined) return;
      this.#queueBytes -= batch.bytes.length;
      this.#inFlight.add(batch);
      void this.#send(batch);
    }
  }

  async #send(batch: Batch): Promise<void> {
    const outcome = await insertSafely(this.#options.store, batch);
    // Stopped meanwhile: the batch is in the spool, and counted there.
    if (!this.#inFlight.delete(batch)) return;
    if (outcome.outcome === "stored") {
      this.#stored(batch);
      this.#options.pool.recycle(batch.bytes);
    } else if (outcome.outcome === "refused") {
      this.#refused(batch, outcome);
      void this.#options.spool.keepRefused(batch);
    } else {
      this.#options.spool.put(batch, true);
      this.#wentAway(outcome.reason);
    }
    this.#pump();
    this.#resolveIdle();
    // Batches that a full queue moved there while the store was slow.
    if (!this.#reach.isAway) this.#replay();
  }

  #replay(): void {
    if (this.#replaying !== null || this.#stopped) return;
    this.#replaying = this.#replayAll().finally(() => {
      this.#replaying = null;
    });
  }

  async #replayAll(): Promise<void> {
    const { spool, store } = this.#options;
    while (!this.#stopped) {
      const spooled: SpooledBatch | null = await spool.oldest();
      if (spooled === null) {
        // There is nothing to probe with here (the disk may refuse everything): the next fresh batch is the probe.
        this.#reach.probeWithFresh();
        return;
      }
      const { batch } = spooled;
      const outcome = await insertSafely(store, batch);
      // The folder may belong to the next start by now; it sends the file again, under the same token.
      if (this.#stopped) return;
      if (outcome.outcome === "away") {
        this.#wentAway(outcome.reason);
        return;
      }
      if (outcome.outcome === "stored") {
        // Counted in the same turn in which the spool removes it.
        this.#stored(batch);
        await spool.sent(spooled);
      } else {
        this.#refused(batch, outcome);
        await spool.setAside(spooled);
      }
    }
  }

  #stored(batch: Batch): void {
    const counts = this.#options.counts[batch.table];
    counts.stored += batch.rowCount;
    counts.batchesStored += 1;
    this.#reach.answered();
  }

  #refused(batch: Batch, outcome: Refused): void {
    this.#reach.answered();
    this.#refusedRows.note(batch, outcome);
  }

  #wentAway(reason: string): void {
    if (this.#stopped) return;
    this.#reach.missed(reason);
    while (this.#queue.length > 0) this.#spoolOldest();
  }

  #resolveIdle(): void {
    if (this.#queue.length > 0 || this.#inFlight.size > 0) return;
    for (const waiter of this.#idleWaiters) waiter();
    this.#idleWaiters.clear();
  }
}

/** A store that throws breaks its contract; the rows are as safe as with a store that is away. */
export async function insertSafely(store: RecordsStore, batch: Batch): Promise<InsertOutcome> {
  try {
    return await store.insert(batch);
  } catch (error) {
    return { outcome: "away", reason: error instanceof Error ? error.name : "threw" };
  }
}
