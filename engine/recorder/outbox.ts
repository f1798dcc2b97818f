/**
 * The durable lane. Fills, order events, routing decisions and transfers wait in the state store until the record store
 * has acknowledged them. They are written in the same atomic batch as the state they report.
 *
 *   row ──one commit──→ claimed batch (token, exact bytes; its rows are gone) ──insert──→ stored ──next commit──→ removed
 *
 * Invariant: a row is in the state store or in the record at any moment; after a crash the same bytes are sent again
 * under the same token, so the record has each row once.
 *
 * Bounds: rows are never dropped, so their number has no hard maximum. Past `rowsMax` or `bytesMax` (default 512 MiB,
 * about a million rows of closes) `backlogged` is true, which the service reports as not ready, and closes go on; up to
 * them the rows only take disk space. Unlimited growth ends at the state store's own minimum of free disk, below which
 * no close starts. CLAIM_ROWS rows a cycle, BATCH_BYTES_MAX a batch, REFUSED_ROWS_MAX refused rows kept.
 *
 * One drainer per state store: with a shared store one service has the role.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { Random } from "../domain/random.js";
import type { InsertOutcome, RecordsStore } from "../storage/records/records-store.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import { recordTable } from "../storage/records/schema.js";
import { MAX_BATCH_ROWS, MAX_SCAN_ROWS, type StateStore, type StateWrite } from "../storage/state-store.js";
import type { TokenSource } from "./batch.js";
import type { TableCounts } from "./counters.js";
import {
  decodeOutboxBatch,
  encodeOutboxBatch,
  makeOutboxBatch,
  splitOutboxBatch,
  type OutboxBatch,
} from "./outbox-batch.js";
import { type Refused, RefusedRows } from "./refused-rows.js";
import { RetryPause } from "./retry-pause.js";
import { insertSafely } from "./shipper.js";

const ROWS = "record-rows";
const BATCHES = "record-batches";
const REFUSED = "record-refused";

/** Written to the state store with a close, or with a change of a transfer. In the order of claiming. */
export const DURABLE_TABLES = ["routing_decisions", "fills", "transfers", "order_events"] as const;
export type DurableTable = (typeof DURABLE_TABLES)[number];

/** With the batches themselves this leaves room for acknowledged ones in one commit of the state store. */
const CLAIM_ROWS = 240;
/** For all tables but that of order events, which gets the rest of the claim, at least as much. */
const CLAIM_ROWS_EACH = 60;
/** Below MAX_VALUE_BYTES with its header. */
const BATCH_BYTES_MAX = 900_000;
export const MAX_ROW_BYTES = 64 * 1024;
export const REFUSED_ROWS_MAX = 10_000;
export const DEFAULT_BACKLOG_ROWS = 1_000_000;
export const DEFAULT_BACKLOG_BYTES = 512 << 20;
const DRAIN_DELAY_MS = 250;

export interface OutboxOptions {
  readonly stateStore: StateStore;
  readonly store: RecordsStore;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly token: TokenSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rowsMax?: number;
  readonly bytesMax?: number;
}

/** Returns the write that puts a row into the outbox. `unique` names it within its table; `partition` is its month. */
export function outboxWrite(table: DurableTable, partition: number, unique: string, row: Uint8Array): StateWrite {
  const columnCount = recordTable(table).columns.length;
  return { namespace: ROWS, key: `${table}|${columnCount}|${partition}|${unique}`, value: row };
}

interface Backlog {
  readonly rows: number;
  readonly bytes: number;
  readonly backlogged: boolean;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #rowsMax: number;
  readonly #bytesMax: number;
  readonly #rows: Record<DurableTable, number> = {
    routing_decisions: 0,
    fills: 0,
    transfers: 0,
    order_events: 0,
  };
  #bytes = 0;
  /** Claimed and not acknowledged, oldest first. */
  #batches: OutboxBatch[] = [];
  /** Acknowledged but still in the state store; removed with the next commit. */
  #acknowledged: string[] = [];
  #refusedKept = 0;
  #running: Promise<void> | null = null;
  #timer: TimerHandle | null = null;
  #stopped = false;
  #wasBacklogged = false;
  readonly #pause: RetryPause;
  readonly #refusedRows: RefusedRows;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#pause = new RetryPause(options.random);
    this.#refusedRows = new RefusedRows(options.counts, options.logger);
    this.#rowsMax = options.rowsMax ?? DEFAULT_BACKLOG_ROWS;
    this.#bytesMax = options.bytesMax ?? DEFAULT_BACKLOG_BYTES;
  }

  /** Adopts what an earlier start left, and begins to drain. Call before the first close. */
  async start(): Promise<void> {
    const { counts, stateStore } = this.#options;
    await scanAll(stateStore, BATCHES, (key, value) => {
      const batch = decodeOutboxBatch(key, value);
      this.#batches.push(batch);
      this.#bytes += batch.bytes.length;
      counts[batch.table].recovered += batch.rowCount;
    });
    await scanAll(stateStore, ROWS, (key, value) => {
      const table = tableOf(key);
      this.#rows[table] += 1;
      this.#bytes += value.length;
      counts[table].recovered += 1;
    });
    await scanAll(stateStore, REFUSED, () => {
      this.#refusedKept += 1;
    });
    this.#checkBacklog();
    this.#schedule(0);
  }

  /** Call when the rows among the writes of a commit are durable. */
  committed(writes: readonly StateWrite[]): void {
    let any = false;
    for (const { namespace, key, value } of writes) {
      if (namespace !== ROWS || value === null) continue;
      const table = tableOf(key);
      this.#rows[table] += 1;
      this.#bytes += value.length;
      this.#options.counts[table].accepted += 1;
      any = true;
    }
    if (!any) return;
    this.#checkBacklog();
    this.#schedule(DRAIN_DELAY_MS);
  }

  pendingRows(table: RecordTableName): number {
    let rows = isDurable(table) ? this.#rows[table] : 0;
    for (const batch of this.#batches) if (batch.table === table) rows += batch.rowCount;
    return rows;
  }

  backlog(): Backlog {
    const rows = DURABLE_TABLES.reduce((sum, table) => sum + this.pendingRows(table), 0);
    return { rows, bytes: this.#bytes, backlogged: rows > this.#rowsMax || this.#bytes > this.#bytesMax };
  }

  /** Tries once to send everything now; returns true when nothing is left. */
  async flush(): Promise<boolean> {
    await this.#running;
    this.#run();
    await this.#running;
    return this.backlog().rows === 0;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
    await this.#running;
  }

  /** An earlier wake replaces a later one, but never the pause after a failure. */
  #schedule(delayMs: number): void {
    if (this.#stopped || this.#running !== null || this.#timer !== null) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = null;
      this.#run();
    }, delayMs);
  }

  #run(): void {
    if (this.#running !== null) return;
    if (this.#timer !== null) {
      this.#options.clock.clearTimer(this.#timer);
      this.#timer = null;
    }
    this.#running = this.#drain()
      .catch((error: unknown) => {
        // The state store refused, or there is a bug: every row is where it was.
        this.#options.logger.warn("outbox_failed", { errorName: error instanceof Error ? error.name : "unknown" });
        return "failed" as const;
      })
      .then((end) => {
        this.#running = null;
        this.#checkBacklog();
        if (end !== "empty") this.#schedule(this.#pause.nextMs());
        else {
          this.#pause.reset();
          // Rows that were committed during the last check.
          if (this.backlog().rows > 0) this.#schedule(DRAIN_DELAY_MS);
        }
      });
  }

  async #drain(): Promise<"empty" | "away"> {
    for (;;) {
      if (this.#batches.length === 0 && !(await this.#claim())) return "empty";
      const sending = this.#batches.slice(0, DURABLE_TABLES.length);
      const outcomes = await Promise.all(sending.map((batch) => insertSafely(this.#options.store, batch)));
      let away = false;
      for (const [index, batch] of sending.entries()) {
        const outcome = outcomes[index] as InsertOutcome;
        if (outcome.outcome === "stored") this.#stored(batch);
        else if (outcome.outcome === "refused") await this.#refused(batch, outcome);
        else away = true;
      }
      if (away) return "away";
      this.#pause.reset();
      if (this.#stopped) return "away";
    }
  }

  /**
   * Turns rows into batches and removes what is acknowledged, in one commit. Returns false when there was nothing to
   * do.
   */
  async #claim(): Promise<boolean> {
    const { stateStore, token } = this.#options;
    const writes: StateWrite[] = [];
    const claimed: OutboxBatch[] = [];
    let quota = CLAIM_ROWS;
    for (const table of DURABLE_TABLES) {
      const limit = table === "order_events" ? quota : Math.min(quota, CLAIM_ROWS_EACH);
      const rows = await stateStore.scan(ROWS, { prefix: `${table}|`, limit });
      const group = rows[0] === undefined ? "" : groupOf(rows[0].key);
      const taken: Uint8Array[] = [];
      let byteCount = 0;
      for (const { key, value } of rows) {
        if (groupOf(key) !== group || (taken.length > 0 && byteCount + value.length > BATCH_BYTES_MAX)) break;
        taken.push(value);
        byteCount += value.length;
        writes.push({ namespace: ROWS, key, value: null });
      }
      if (taken.length === 0) continue;
      quota -= taken.length;
      const batch = makeOutboxBatch(table, columnCountOf(group), token(), taken);
      writes.push({ namespace: BATCHES, key: batch.token, value: encodeOutboxBatch(batch) });
      claimed.push(batch);
    }
    // A refused batch is acknowledged in many parts: parts without room here go with the next claim.
    const removed = this.#acknowledged.slice(0, MAX_BATCH_ROWS - writes.length);
    for (const key of removed) writes.push({ namespace: BATCHES, key, value: null });
    if (writes.length === 0) return false;
    await stateStore.commit({ writes });
    this.#acknowledged = this.#acknowledged.slice(removed.length);
    for (const batch of claimed) {
      this.#rows[batch.table as DurableTable] -= batch.rowCount;
      this.#batches.push(batch);
    }
    return claimed.length > 0 || this.#acknowledged.length > 0;
  }

  #stored(batch: OutboxBatch): void {
    this.#forget(batch);
    this.#acknowledged.push(batch.token);
    const counts = this.#options.counts[batch.table];
    counts.stored += batch.rowCount;
    counts.batchesStored += 1;
  }

  /** Splits the batch until it holds only the row that the server refuses, which is set aside. */
  async #refused(batch: OutboxBatch, outcome: Refused): Promise<void> {
    const { stateStore, token } = this.#options;
    const gone: StateWrite = { namespace: BATCHES, key: batch.token, value: null };
    if (batch.rowCount > 1) {
      const halves = splitOutboxBatch(batch, token);
      const puts = halves.map((half) => ({ namespace: BATCHES, key: half.token, value: encodeOutboxBatch(half) }));
      await stateStore.commit({ writes: [gone, ...puts] });
      const at = this.#batches.indexOf(batch);
      this.#batches.splice(at, 1, ...halves);
      return;
    }
    const keep = this.#refusedKept < REFUSED_ROWS_MAX;
    const kept = keep ? [{ namespace: REFUSED, key: batch.token, value: encodeOutboxBatch(batch) }] : [];
    await stateStore.commit({ writes: [gone, ...kept] });
    if (keep) this.#refusedKept += 1;
    this.#forget(batch);
    this.#refusedRows.note(batch, outcome);
  }

  #forget(batch: OutboxBatch): void {
    this.#batches.splice(this.#batches.indexOf(batch), 1);
    this.#bytes = Math.max(0, this.#bytes - batch.bytes.length);
  }

  #checkBacklog(): void {
    const { rows, backlogged } = this.backlog();
    if (backlogged === this.#wasBacklogged) return;
    this.#wasBacklogged = backlogged;
    if (backlogged) this.#options.logger.error("records_backlog", { count: rows });
    else this.#options.logger.info("records_backlog_gone", { count: rows });
  }
}

async function scanAll(
  stateStore: StateStore,
  namespace: string,
  each: (key: string, value: Uint8Array) => void,
): Promise<void> {
  let after: string | undefined;
  for (;;) {
    const rows = await stateStore.scan(namespace, {
      prefix: "",
      limit: MAX_SCAN_ROWS,
      ...(after === undefined ? {} : { after }),
    });
    for (const { key, value } of rows) each(key, value);
    after = rows.at(-1)?.key;
    if (rows.length < MAX_SCAN_ROWS || after === undefined) return;
  }
}

function isDurable(table: RecordTableName): table is DurableTable {
  return (DURABLE_TABLES as readonly string[]).includes(table);
}

/** The table of a key from outboxWrite. */
function tableOf(key: string): DurableTable {
  return key.slice(0, key.indexOf("|")) as DurableTable;
}

/** table|columns|partition: the rows of one batch share it. */
function groupOf(key: string): string {
  let end = -1;
  for (let bars = 0; bars < 3; bars++) end = key.indexOf("|", end + 1);
  return key.slice(0, end);
}

function columnCountOf(group: string): number {
  return Number(group.split("|")[1]);
}
