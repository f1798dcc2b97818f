/**
 * The record in ClickHouse, behind its port: the same code for a server, a cluster's shard and the embedded sidecar,
 * which differ by address only.
 *
 * Invariants: nothing is written before the server's version is read and its tables are up to date. A batch keeps its
 * token and one block, so that a retry is stored once. What cannot be proven stored is reported `away`, never `stored`.
 * Only a server error about the bytes themselves makes a batch `refused`. Off is decided only by replies to `start`
 * within START_WORD_MS: rows that wait for a server are not dropped because of a later reply.
 */
import { type Clock, delay } from "../../domain/clock.js";
import { Deadline, within } from "../../domain/deadline.js";
import { BYTES_REFUSED, LineSplitter, queryFailure, TABLES_GONE } from "./clickhouse-answers.js";
import { type Call, CallClient, type CallFailure, type RecordsEndpoint } from "./clickhouse-client.js";
import { assertDdlTarget, type DdlTarget, insertTarget } from "./ddl.js";
import { migrate, type Migration, MIGRATIONS } from "./migrations.js";
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

/** Oldest release that this code supports with its tables, settings and errors. */
export const OLDEST_MAJOR = 24;
/** A reply to the start within this time may turn the record off; the program goes on after it. */
export const START_WORD_MS = 5_000;

const INSERT_TIMEOUT_MS = 30_000;
const PROBE_TIMEOUT_MS = 10_000;
/** ON CLUSTER waits for every replica. */
const DDL_TIMEOUT_MS = 60_000;
const SMALL_REPLY_BYTES = 4 * 1024 * 1024;
const CLOSE_WAIT_MS = 5_000;

export function createClickHouseStore(options: ClickHouseStoreOptions): RecordsStore {
  assertDdlTarget(options.target);
  return new ClickHouseStore(options);
}

class ClickHouseStore implements RecordsStore {
  readonly #client: CallClient;
  readonly #clock: Clock;
  readonly #target: DdlTarget;
  readonly #migrations: readonly Migration[];
  readonly #insertTimeoutMs: number;
  #state: RecordsState = { state: "away", reason: "not started", version: null };
  /** Version read, tables up to date. */
  #isPrepared = false;
  #preparing: Promise<void> | null = null;
  /** 0: no cluster, or not known yet. */
  #replicaCount = 0;
  #isClosed = false;
  /** Until this time a reply may turn the record off; -1: no longer. */
  #decidesUntilNs = -1;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: ClickHouseStoreOptions) {
    this.#client = new CallClient(options.endpoint, options.clock);
    this.#clock = options.clock;
    this.#target = options.target;
    this.#migrations = options.migrations ?? MIGRATIONS;
    this.#insertTimeoutMs = options.insertTimeoutMs ?? INSERT_TIMEOUT_MS;
  }

  state(): RecordsState {
    const endpoint = this.#client.endpoint();
    if (this.#state.state === "off" || endpoint.url !== null) return this.#state;
    return { state: endpoint.isFinal ? "off" : "away", reason: endpoint.reason, version: this.#state.version };
  }

  async start(): Promise<RecordsState> {
    this.#decidesUntilNs = this.#clock.monoNs() + START_WORD_MS * 1e6;
    await this.#track(this.#prepare());
    this.#decidesUntilNs = -1;
    return this.state();
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
    await Promise.race([Promise.allSettled([...this.#underWay]), delay(this.#clock, CLOSE_WAIT_MS)]);
    this.#isPrepared = false;
    this.#enter({ state: "off", reason: "the record store was closed" });
    await this.#client.close();
  }

  async #insert(batch: RecordsBatch): Promise<InsertOutcome> {
    if ((await this.#ready(this.#insertTimeoutMs)) === null) return { outcome: "away", reason: this.state().reason };
    const columns = batch.columns ?? writtenColumns(recordTable(batch.table)).map((column) => column.name);
    const failure = await this.#call({
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
      ...(isMoney && this.#replicaCount >= QUORUM_REPLICAS_MIN ? { insert_quorum: "auto" } : {}),
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
    const timeoutMs = await this.#ready(bounds.timeoutMs);
    if (timeoutMs === null) return { ok: false, reason: "away", code: 0, text: this.state().reason };
    let thrown = false;
    const failure = await this.#call({
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

  /** Calls the record's database, and notes what the outcome shows about the server. */
  async #call(call: Omit<Call, "database">): Promise<CallFailure | null> {
    const failure = await this.#client.call({ ...call, database: this.#target.database });
    if (failure === null) this.#enter({ state: "on", reason: "" });
    else if (failure.kind === "server" && TABLES_GONE.has(failure.code)) {
      this.#isPrepared = false;
      this.#enter({ state: "away", reason: `the server lost the record's tables (${failure.name})` });
    } else if (failure.kind === "away" || failure.kind === "foreign" || failure.kind === "timeout") {
      this.#enter({ state: "away", reason: failure.text });
    }
    return failure;
  }

  /**
   * Returns the time left of a call; null if the server is not ready within it. The preparation continues for later
   * calls.
   */
  async #ready(timeoutMs: number): Promise<number | null> {
    if (this.#isPrepared) return timeoutMs;
    if (this.#isClosed || this.state().state === "off") return null;
    const deadline = new Deadline(this.#clock, timeoutMs);
    await within(this.#clock, this.#prepare(), timeoutMs);
    return this.#isPrepared ? Math.ceil(deadline.leftMs()) : null;
  }

  /** One preparation at a time; all callers wait for the same one. */
  #prepare(): Promise<void> {
    this.#preparing ??= this.#prepareOnce().finally(() => {
      this.#preparing = null;
    });
    return this.#preparing;
  }

  async #prepareOnce(): Promise<void> {
    if (this.#isPrepared || this.state().state === "off") return;
    try {
      const version = await this.#serverVersion();
      if (version === null) return;
      const result = await migrate(
        { command: (sql) => this.#command(sql), rows: (sql) => this.#rows(sql) },
        this.#target,
        this.#migrations,
      );
      if (!result.ok) return this.#enterUnfit(result.text);
      if (this.#target.cluster !== null) this.#replicaCount = await this.#replicas();
      this.#isPrepared = true;
      this.#enter({ state: "on", reason: "" });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      this.#enter({ state: "away", reason: `${error.failure.name}: ${error.failure.text}` });
    }
  }

  /** Number of replicas of the shard that is written to. */
  async #replicas(): Promise<number> {
    const rows = await this.#rows(
      `SELECT max(total_replicas) AS n FROM system.replicas WHERE database = '${this.#target.database}'`,
    );
    return Number(rows[0]?.["n"] ?? 0);
  }

  /** Returns null if there is no server this code can use; the state gives the reason. */
  async #serverVersion(): Promise<string | null> {
    let text = "";
    // No settings and no database: an old server would refuse those it does not know.
    const failure = await this.#client.call({
      sql: "SELECT version()",
      database: "",
      timeoutMs: PROBE_TIMEOUT_MS,
      bytesMax: SMALL_REPLY_BYTES,
      onChunk: (chunk) => {
        text += chunk.toString("utf8");
      },
    });
    if (failure !== null) {
      if (failure.kind === "foreign" || failure.kind === "too-large") this.#enterForeign();
      else
        this.#enter({
          state: "away",
          reason: failure.kind === "server" ? `${failure.name}: ${failure.text}` : failure.text,
        });
      return null;
    }
    const version = text.trim();
    const major = /^(\d{1,4})(\.\d+){1,4}/.exec(version)?.[1];
    if (major === undefined) {
      this.#enterForeign();
      return null;
    }
    this.#state = { ...this.#state, version };
    if (Number(major) < OLDEST_MAJOR) {
      this.#enterUnfit(`ClickHouse ${version} is too old: the record needs ${OLDEST_MAJOR} or newer`);
      return null;
    }
    return version;
  }

  /** Where ClickHouse has answered before, something in between answers for it now, and that is temporary. */
  #enterForeign(): void {
    const reason = "the server at the record's address is not ClickHouse";
    if (this.#state.version === null) this.#enterUnfit(reason);
    else this.#enter({ state: "away", reason });
  }

  /** By this reply, the server cannot be used for the record. */
  #enterUnfit(reason: string): void {
    const isAtStart = this.#clock.monoNs() <= this.#decidesUntilNs;
    this.#enter({ state: isAtStart ? "off" : "away", reason });
  }

  async #command(sql: string): Promise<void> {
    const failure = await this.#client.call({
      sql,
      database: "",
      timeoutMs: DDL_TIMEOUT_MS,
      bytesMax: SMALL_REPLY_BYTES,
      onChunk: () => {},
    });
    if (failure !== null) throw new CallError(failure);
  }

  async #rows(sql: string): Promise<RecordRow[]> {
    const rows: RecordRow[] = [];
    const lines = new LineSplitter((text) => rows.push(JSON.parse(text) as RecordRow));
    const failure = await this.#client.call({
      sql: `${sql}\nFORMAT JSONEachRow`,
      database: "",
      timeoutMs: DDL_TIMEOUT_MS,
      bytesMax: SMALL_REPLY_BYTES,
      onChunk: (chunk) => lines.push(chunk),
    });
    if (failure !== null) throw new CallError(failure);
    return rows;
  }

  #enter(change: Pick<RecordsState, "state" | "reason">): void {
    // Off is for good.
    if (this.#state.state !== "off") this.#state = { ...this.#state, ...change };
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

/** Carries a failure through `migrate`. */
class CallError extends Error {
  override readonly name = "CallError";
  readonly failure: CallFailure;

  constructor(failure: CallFailure) {
    super(failure.text);
    this.failure = failure;
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
