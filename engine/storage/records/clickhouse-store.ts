/**
 * The record in ClickHouse, behind its port: the same code for a server, a cluster's shard and the embedded sidecar,
 * which differ by address only.
 *
 * Invariants: nothing is written before the server is ready (clickhouse-server.ts). A batch keeps its token and one
 * block, so that a retry is stored once. What cannot be proven stored is reported `away`, never `stored`. Only a server
 * error about the bytes themselves makes a batch `refused`.
 */
import { type Clock, delay } from "../../domain/clock.js";
import { BYTES_REFUSED, LineSplitter, queryFailure } from "./clickhouse-answers.js";
import type { RecordsEndpoint } from "./clickhouse-client.js";
import { ClickHouseServer, SMALL_REPLY_BYTES } from "./clickhouse-server.js";
import { assertDdlTarget, type DdlTarget, insertTarget } from "./ddl.js";
import { type Migration, MIGRATIONS } from "./migrations.js";
import {
  type InsertOutcome,
  MAX_BATCH_BYTES,
  MAX_TOKEN_CHARS,
  type QueryBounds,
  type QueryFailure,
  type QueryParams,
  type QueryResult,
  type RecordRow,
  type RecordsBatch,
  type RecordsState,
  type RecordsStore,
  type StreamBounds,
  type StreamResult,
} from "./records-store.js";
import { recordTable, writtenColumns } from "./schema.js";

export interface ClickHouseStoreOptions {
  /** Read at each call: a sidecar moves. A server's is constant. */
  readonly endpoint: () => RecordsEndpoint;
  readonly target: DdlTarget;
  readonly clock: Clock;
  /** Time of one insert, from the first byte to the acknowledgement. */
  readonly insertTimeoutMs?: number;
  /** For tests of upgrades. */
  readonly migrations?: readonly Migration[];
}

const INSERT_TIMEOUT_MS = 30_000;
const CLOSE_WAIT_MS = 5_000;

export function createClickHouseStore(options: ClickHouseStoreOptions): RecordsStore {
  assertDdlTarget(options.target);
  return new ClickHouseStore(options);
}

class ClickHouseStore implements RecordsStore {
  readonly #server: ClickHouseServer;
  readonly #clock: Clock;
  readonly #target: DdlTarget;
  readonly #insertTimeoutMs: number;
  #isClosed = false;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: ClickHouseStoreOptions) {
    const { endpoint, clock, target, migrations = MIGRATIONS } = options;
    this.#server = new ClickHouseServer({ endpoint, clock, target, migrations });
    this.#clock = clock;
    this.#target = target;
    this.#insertTimeoutMs = options.insertTimeoutMs ?? INSERT_TIMEOUT_MS;
  }

  state(): RecordsState {
    return this.#server.state();
  }

  async start(): Promise<RecordsState> {
    return this.#track(this.#server.start());
  }

  async insert(batch: RecordsBatch): Promise<InsertOutcome> {
    assertBatch(batch);
    return this.#track(this.#insert(batch));
  }

  async query(sql: string, params: QueryParams, bounds: QueryBounds): Promise<QueryResult> {
    return this.#track(this.#query(sql, params, bounds));
  }

  async queryStream(
    sql: string,
    params: QueryParams,
    bounds: StreamBounds,
    onChunk: (lines: Uint8Array) => void | Promise<void>,
  ): Promise<StreamResult> {
    return this.#track(this.#queryStream(sql, params, bounds, onChunk));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#server.endPreparing();
    await Promise.race([Promise.allSettled([...this.#underWay]), delay(this.#clock, CLOSE_WAIT_MS)]);
    await this.#server.close();
  }

  async #insert(batch: RecordsBatch): Promise<InsertOutcome> {
    if ((await this.#server.ready(this.#insertTimeoutMs)) === null)
      return { outcome: "away", reason: this.state().reason };
    const columns = batch.columns ?? writtenColumns(recordTable(batch.table)).map((column) => column.name);
    const failure = await this.#server.call({
      sql: `INSERT INTO ${insertTarget(this.#target, batch.table)} (${columns.join(", ")}) FORMAT RowBinary`,
      settings: this.#insertSettings(batch),
      body: batch.bytes,
      timeoutMs: this.#insertTimeoutMs,
      bytesMax: SMALL_REPLY_BYTES,
      onChunk: () => {},
    });
    if (failure === null) return { outcome: "stored" };
    if (failure.kind === "server" && BYTES_REFUSED.has(failure.code))
      return { outcome: "refused", code: failure.code, name: failure.name, text: failure.text };
    return { outcome: "away", reason: failure.kind === "server" ? failure.name : failure.text };
  }

  #insertSettings(batch: RecordsBatch): Record<string, string | number> {
    const isMoney = recordTable(batch.table).fsync;
    return {
      insert_deduplication_token: batch.token,
      // Acknowledged after storage, and at once: the server's own batching would add a wait, or lose rows.
      async_insert: 0,
      insert_deduplicate: 1,
      deduplicate_blocks_in_dependent_materialized_views: 1,
      // The same bytes must become the same blocks each time: one block, read by one thread.
      max_insert_block_size: Math.max(BLOCK_ROWS_MIN, batch.rowCount + 1),
      input_format_parallel_parsing: 0,
      // A reconnect may bring one old trade for each of many days.
      max_partitions_per_insert_block: PARTITIONS_MAX,
      ...(isMoney && this.#server.replicaCount >= QUORUM_REPLICAS_MIN ? { insert_quorum: "auto" } : {}),
    };
  }

  async #query(sql: string, params: QueryParams, bounds: QueryBounds): Promise<QueryResult> {
    const rows: RecordRow[] = [];
    let isOver = false;
    const lines = new LineSplitter((text) => {
      if (rows.length < bounds.rowsMax) rows.push(JSON.parse(text) as RecordRow);
      else isOver = true;
    });
    const failure = await this.#read(sql, params, { ...bounds, format: "JSONEachRow" }, (chunk) => {
      lines.push(chunk);
      // Leaves the rest unread.
      if (isOver) throw new RangeError("too many rows");
    });
    if (isOver) return { ok: false, reason: "too-large", code: 0, text: `more than ${bounds.rowsMax} rows` };
    return failure ?? { ok: true, rows };
  }

  async #queryStream(
    sql: string,
    params: QueryParams,
    bounds: StreamBounds,
    onChunk: (lines: Uint8Array) => void | Promise<void>,
  ): Promise<StreamResult> {
    let bytes = 0;
    let carry: Buffer = Buffer.alloc(0);
    const hand = async (chunk: Buffer) => {
      if (chunk.length === 0) return;
      bytes += chunk.length;
      await onChunk(chunk);
    };
    const failure = await this.#read(sql, params, bounds, async (chunk) => {
      const whole = carry.length === 0 ? chunk : Buffer.concat([carry, chunk]);
      const end = whole.lastIndexOf(NEWLINE) + 1;
      carry = whole.subarray(end);
      await hand(whole.subarray(0, end));
    });
    if (failure !== null) return { ...failure, bytes };
    await hand(carry);
    return { ok: true, bytes };
  }

  async #read(
    sql: string,
    params: QueryParams,
    bounds: StreamBounds,
    onChunk: (chunk: Buffer) => void | Promise<void>,
  ): Promise<QueryFailure | null> {
    const timeoutMs = await this.#server.ready(bounds.timeoutMs);
    if (timeoutMs === null) return { ok: false, reason: "away", code: 0, text: this.state().reason };
    let thrown = false;
    const failure = await this.#server.call({
      sql: `${sql}\nFORMAT ${bounds.format}`,
      params,
      settings: {
        readonly: 2,
        max_execution_time: (bounds.timeoutMs / 1_000).toFixed(3),
        // Bare numbers would lose digits in JSON.
        output_format_json_quote_decimals: 1,
        output_format_json_quote_64bit_integers: 1,
        output_format_json_named_tuples_as_objects: 1,
      },
      timeoutMs,
      bytesMax: bounds.bytesMax,
      ...(bounds.signal === undefined ? {} : { signal: bounds.signal }),
      async onChunk(chunk) {
        try {
          await onChunk(chunk);
        } catch (error) {
          thrown = true;
          throw error;
        }
      },
    });
    if (thrown) return { ok: false, reason: "aborted", code: 0, text: "the reader ended it" };
    return failure === null ? null : queryFailure(failure);
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }
}

/**
 * A majority of two is both, so one replica down would stop every insert. With two replicas the write waits for one of
 * them.
 */
const QUORUM_REPLICAS_MIN = 3;
const NEWLINE = 0x0a;
const BLOCK_ROWS_MIN = 1 << 20;
const PARTITIONS_MAX = 1_000;

const TOKEN = /^[A-Za-z0-9_.:-]+$/;

/** A batch that breaks these is a bug of the caller, and throws. */
function assertBatch(batch: RecordsBatch): void {
  if (batch.token.length > MAX_TOKEN_CHARS || !TOKEN.test(batch.token)) throw new RangeError("records batch: token");
  if (batch.bytes.byteLength === 0 || batch.bytes.byteLength > MAX_BATCH_BYTES)
    throw new RangeError("records batch: bytes");
  if (!Number.isInteger(batch.rowCount) || batch.rowCount < 1) throw new RangeError("records batch: rowCount");
  const known = new Set(recordTable(batch.table).columns.map((column) => column.name));
  if (batch.columns?.some((column) => !known.has(column)) === true) throw new RangeError("records batch: column");
}
