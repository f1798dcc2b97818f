/**
 * The port of the record: append batches, read history. The record is never the source of truth of an order. Writers
 * must work while it is away for minutes, and readers while it is off.
 *
 * Invariants: nothing here throws for a reason outside this program; outcomes are values. `stored` means the server
 * acknowledged the whole batch. The same token with the same bytes is stored once however often it is sent. Every call
 * ends within its time limit.
 */
import type { RecordTableName } from "./record-table.js";

/** Longest batch token; see `insert`. */
export const MAX_TOKEN_CHARS = 128;
/** Largest batch in bytes. */
export const MAX_BATCH_BYTES = 64 * 1024 * 1024;

export interface RecordsBatch {
  readonly table: RecordTableName;
  /** All columns of the schema in its order, or those named. */
  readonly columns?: readonly string[];
  /** RowBinary. Must not change until the outcome is known; kept for a retry with the same token. */
  readonly bytes: Uint8Array;
  readonly rowCount: number;
  /**
   * Unique to these bytes (node, boot, counter): the server drops other rows under a known token. A-Z a-z 0-9 _ . : -
   */
  readonly token: string;
}

export type InsertOutcome =
  | { readonly outcome: "stored" }
  /** The server will never accept these bytes (malformed, out of range): set them aside, do not send them again. */
  | { readonly outcome: "refused"; readonly code: number; readonly name: string; readonly text: string }
  /**
   * Not known to be stored: send the same bytes with the same token later. `reason` is a short word, suitable for a
   * log.
   */
  | { readonly outcome: "away"; readonly reason: string };

export type QueryParams = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface QueryBounds {
  readonly timeoutMs: number;
  /** More rows end the query as `too-large`; put a LIMIT into the SQL as well. */
  readonly rowsMax: number;
  readonly bytesMax: number;
  readonly signal?: AbortSignal;
}

export type QueryFailure = {
  readonly ok: false;
  /** `away` includes off; `state()` tells them apart. `refused`: the server's own error, with its code. */
  readonly reason: "away" | "refused" | "timeout" | "too-large" | "aborted";
  /** ClickHouse's error number; 0 where the server gave none. */
  readonly code: number;
  readonly text: string;
};

/** One row of JSONEachRow: 64-bit integers and decimals arrive as strings, all digits kept. */
export type RecordRow = Readonly<Record<string, unknown>>;

export type QueryResult = { readonly ok: true; readonly rows: readonly RecordRow[] } | QueryFailure;

export interface StreamBounds {
  readonly format: "JSONEachRow" | "CSVWithNames" | "CSV";
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal?: AbortSignal;
}

/** `bytes` were handed out, even where the stream then failed. */
export type StreamResult = { readonly ok: true; readonly bytes: number } | (QueryFailure & { readonly bytes: number });

export interface RecordsState {
  /**
   * off: by choice, or found at the start, until the next start (package missing, server too old). away: tried again.
   */
  readonly state: "on" | "off" | "away";
  /** For people; "" while on. Never contains a credential. */
  readonly reason: string;
  /** Version of the server; null before its first reply. */
  readonly version: string | null;
}

export interface RecordsStore {
  /**
   * Checks the server and brings its tables up to date. One call is enough: the calls below try an away store again.
   */
  start(): Promise<RecordsState>;
  insert(batch: RecordsBatch): Promise<InsertOutcome>;
  /**
   * SQL without a FORMAT clause; unqualified tables are those of the record's database. Params are written
   * `{name:Type}` in it.
   */
  query(sql: string, params: QueryParams, bounds: QueryBounds): Promise<QueryResult>;
  /**
   * Delivers whole lines, in order; the next chunk waits until the promise of `onChunk` resolves. A throwing `onChunk`
   * ends it as `aborted`.
   */
  queryStream(
    sql: string,
    params: QueryParams,
    bounds: StreamBounds,
    onChunk: (lines: Uint8Array) => void | Promise<void>,
  ): Promise<StreamResult>;
  state(): RecordsState;
  /** Waits for calls under way up to a time limit. Idempotent. */
  close(): Promise<void>;
}

/** A store for a service without a record: every call returns the reason. */
export function createOffStore(reason: string): RecordsStore {
  const state: RecordsState = { state: "off", reason, version: null };
  const failure = { ok: false, reason: "away", code: 0, text: reason } as const;
  return {
    start: async () => state,
    insert: async () => ({ outcome: "away", reason: "off" }),
    query: async () => failure,
    queryStream: async () => ({ ...failure, bytes: 0 }),
    state: () => state,
    close: async () => {},
  };
}
