/**
 * The port of the record: append batches, read history. The record is never the source of truth of an
 * order; whoever writes must live with it being away for minutes, and whoever reads with its being off.
 *
 * Invariants: nothing here throws for a reason outside this program, outcomes are values; `stored` means the
 * server acknowledged the whole batch; the same token with the same bytes is stored once however often it is
 * sent; every call ends within its time limit.
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
  /** RowBinary. Not changed by anyone until the outcome is known; kept for a retry with the same token. */
  readonly bytes: Uint8Array;
  readonly rowCount: number;
  /** Unique to these bytes (node, boot, counter): other rows under a known token are dropped by the server. A-Z a-z 0-9 _ . : - */
  readonly token: string;
}

export type InsertOutcome =
  | { readonly outcome: "stored" }
  /** The server will never take these bytes (malformed, out of range): set them aside, do not send them again. */
  | { readonly outcome: "refused"; readonly code: number; readonly name: string; readonly text: string }
  /** Not known to be stored: send the same bytes with the same token later. `reason` is a short word, fit for a log. */
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
  /** `away` includes off: `state()` says which. `refused`: the server's own error, with its code. */
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

/** `bytes` were handed out, also where the stream then failed. */
export type StreamResult = { readonly ok: true; readonly bytes: number } | (QueryFailure & { readonly bytes: number });

export interface RecordsState {
  /** off: by choice, or found at the start, until the next one (package missing, server too old). away: tried again. */
  readonly state: "on" | "off" | "away";
  /** For people; "" while on. Never holds a credential. */
  readonly reason: string;
  /** Of the server; null before its first answer. */
  readonly version: string | null;
}

export interface RecordsStore {
  /** Checks the server and brings its tables up to date. Once is enough: an away store is tried again by the calls below. */
  start(): Promise<RecordsState>;
  insert(batch: RecordsBatch): Promise<InsertOutcome>;
  /** SQL without a FORMAT clause; unqualified tables are those of the record's database. Params stand as `{name:Type}` in it. */
  query(sql: string, params: QueryParams, bounds: QueryBounds): Promise<QueryResult>;
  /** Whole lines, in order; the next chunk waits until the promise of `onChunk` resolves. A throwing `onChunk` ends it as `aborted`. */
  queryStream(
    sql: string,
    params: QueryParams,
    bounds: StreamBounds,
    onChunk: (lines: Uint8Array) => void | Promise<void>,
  ): Promise<StreamResult>;
  state(): RecordsState;
  /** Waits for calls under way up to a bound. Idempotent. */
  close(): Promise<void>;
}

/** The store where there is none: every answer says so. */
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
