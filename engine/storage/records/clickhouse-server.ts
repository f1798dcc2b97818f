/**
 * The server behind the record: whether it answers, whether this code can use it, and whether its tables are up to date.
 *
 * Invariants: `ready` returns a time only once the server's version is read and its tables are up to date. Off is decided only
 * by replies to `start` within START_WORD_MS: rows that wait for a server are not dropped because of a later reply.
 */
import type { Clock } from "../../domain/clock.js";
import { Deadline, within } from "../../domain/deadline.js";
import { LineSplitter, TABLES_GONE } from "./clickhouse-answers.js";
import { type Call, CallClient, type CallFailure, type RecordsEndpoint } from "./clickhouse-client.js";
import type { DdlTarget } from "./ddl.js";
import { migrate, type Migration } from "./migrations.js";
import type { RecordRow, RecordsState } from "./records-store.js";

/** Oldest release that this code supports with its tables, settings and errors. */
const OLDEST_MAJOR = 24;
/** A reply to the start within this time may turn the record off; the program goes on after it. */
export const START_WORD_MS = 5_000;
export const SMALL_REPLY_BYTES = 4 * 1024 * 1024;

const PROBE_TIMEOUT_MS = 10_000;
/** ON CLUSTER waits for every replica. */
const DDL_TIMEOUT_MS = 60_000;

interface ClickHouseServerOptions {
  /** See ClickHouseStoreOptions. */
  readonly endpoint: () => RecordsEndpoint;
  readonly target: DdlTarget;
  readonly clock: Clock;
  readonly migrations: readonly Migration[];
}

export class ClickHouseServer {
  readonly #client: CallClient;
  readonly #clock: Clock;
  readonly #target: DdlTarget;
  readonly #migrations: readonly Migration[];
  #state: RecordsState = { state: "away", reason: "not started", version: null };
  /** Version read, tables up to date. */
  #isPrepared = false;
  #preparing: Promise<void> | null = null;
  #replicaCount = 0;
  #isEnding = false;
  /** Until this time a reply may turn the record off; -1: no longer. */
  #decidesUntilNs = -1;

  constructor(options: ClickHouseServerOptions) {
    this.#client = new CallClient(options.endpoint, options.clock);
    this.#clock = options.clock;
    this.#target = options.target;
    this.#migrations = options.migrations;
  }

  state(): RecordsState {
    const endpoint = this.#client.endpoint();
    if (this.#state.state === "off" || endpoint.url !== null) return this.#state;
    return { state: endpoint.isFinal ? "off" : "away", reason: endpoint.reason, version: this.#state.version };
  }

  /** Replicas of the shard that is written to. 0: no cluster, or not known yet. */
  get replicaCount(): number {
    return this.#replicaCount;
  }

  async start(): Promise<RecordsState> {
    this.#decidesUntilNs = this.#clock.monoNs() + START_WORD_MS * 1e6;
    await this.#prepare();
    this.#decidesUntilNs = -1;
    return this.state();
  }

  /** From now on a server that is not ready does not become so. */
  endPreparing(): void {
    this.#isEnding = true;
  }

  async close(): Promise<void> {
    this.#isPrepared = false;
    this.#enter({ state: "off", reason: "the record store was closed" });
    await this.#client.close();
  }

  /** Calls the record's database, and notes what the outcome shows about the server. */
  async call(call: Omit<Call, "database">): Promise<CallFailure | null> {
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
  async ready(timeoutMs: number): Promise<number | null> {
    if (this.#isPrepared) return timeoutMs;
    if (this.#isEnding || this.state().state === "off") return null;
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
