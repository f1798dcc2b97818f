/**
 * The official client behind one narrow call: send SQL, read bytes, within a time limit, failures as values. It knows
 * no tables. The address is read at each call, because a sidecar may come back at another.
 *
 * Invariant: credentials are in the client's configuration alone: its own logger is off, and failure texts contain only
 * the server's words or a socket's error code.
 */
import { Readable } from "node:stream";
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from "@clickhouse/client";
import type { Clock } from "../../domain/clock.js";

/** Where a server is. `isFinal`: it will never come. */
export type RecordsEndpoint =
  | { readonly url: string; readonly username: string; readonly password: string }
  | { readonly url: null; readonly isFinal: boolean; readonly reason: string };

export type CallFailure = {
  /** `foreign`: the reply is not ClickHouse's. */
  readonly kind: "server" | "away" | "foreign" | "timeout" | "aborted" | "too-large";
  /** The server's number; 0 if it gave none. */
  readonly code: number;
  /** The server's name for it (`UNKNOWN_TABLE`), or a word of ours. */
  readonly name: string;
  readonly text: string;
};

export interface Call {
  readonly sql: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Data of an insert; the SQL then ends in FORMAT. */
  readonly body?: Uint8Array;
  /** "" means none: before it exists. */
  readonly database: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** A longer reply in bytes is cut off; Infinity for no limit. */
  readonly bytesMax: number;
  /** Gets each chunk; the next waits for it. */
  readonly onChunk: (chunk: Buffer) => void | Promise<void>;
}

const CONNECTIONS_MAX = 16;
/** Idle connections are dropped before a default server (10 s, older ones 3 s) drops them under a request. */
const IDLE_SOCKET_MS = 2_500;
/** The client's own limit; each call has a shorter one. */
const CLIENT_TIMEOUT_MS = 3_600_000;

export class CallClient {
  readonly #endpoint: () => RecordsEndpoint;
  readonly #clock: Clock;
  #client: ClickHouseClient | null = null;
  #clientKey = "";

  constructor(endpoint: () => RecordsEndpoint, clock: Clock) {
    this.#endpoint = endpoint;
    this.#clock = clock;
  }

  endpoint(): RecordsEndpoint {
    return this.#endpoint();
  }

  /** Returns null when done, with all bytes handed out. */
  async call(call: Call): Promise<CallFailure | null> {
    const endpoint = this.#endpoint();
    if (endpoint.url === null) return { kind: "away", code: 0, name: "NOT_STARTED", text: endpoint.reason };
    const limit = new AbortController();
    const timer = this.#clock.setTimer(() => limit.abort(), call.timeoutMs);
    const signal = call.signal === undefined ? limit.signal : AbortSignal.any([limit.signal, call.signal]);
    try {
      return await this.#exchange(this.#clientOf(endpoint), call, signal);
    } catch (error) {
      if (call.signal?.aborted === true) return { kind: "aborted", code: 0, name: "ABORTED", text: "the caller left" };
      if (limit.signal.aborted)
        return { kind: "timeout", code: 0, name: "TIMEOUT", text: `no answer within ${call.timeoutMs} ms` };
      return failureOf(error);
    } finally {
      this.#clock.clearTimer(timer);
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    this.#clientKey = "";
    await client?.close();
  }

  async #exchange(client: ClickHouseClient, call: Call, signal: AbortSignal): Promise<CallFailure | null> {
    signal.throwIfAborted();
    const { stream, response_headers, http_status_code } = await client.exec({
      query: call.sql,
      abort_signal: signal,
      // The database is a key of the query string like any setting, because the client's own option is the same for all
      // calls.
      clickhouse_settings: { ...call.settings, ...(call.database === "" ? {} : { database: call.database }) },
      // Only status and headers distinguish a server's refusal from a proxy's.
      ignore_error_response: true,
      ...(call.params === undefined ? {} : { query_params: { ...call.params } }),
      // One buffer, one chunk: nothing is copied while sending.
      ...(call.body === undefined ? {} : { values: Readable.from([call.body], { objectMode: false }) }),
    });
    // Aborting the request does not end a reply that has begun to arrive.
    const cut = () => stream.destroy();
    signal.addEventListener("abort", cut, { once: true });
    try {
      const status = http_status_code ?? 200;
      if (status >= 300) return errorReply(status, await firstBytes(stream, ERROR_BYTES_MAX));
      const tag = response_headers?.["x-clickhouse-exception-tag"];
      return await pour(stream, typeof tag === "string" ? tag : "", call, signal);
    } finally {
      signal.removeEventListener("abort", cut);
      stream.destroy();
    }
  }

  /** Keeps one client per address and password; creates a new one when they change. */
  #clientOf(endpoint: Extract<RecordsEndpoint, { url: string }>): ClickHouseClient {
    const key = JSON.stringify([endpoint.url, endpoint.username, endpoint.password]);
    if (this.#client !== null && this.#clientKey === key) return this.#client;
    // The old one's requests end by themselves: its server is gone.
    void this.#client?.close().catch(() => {});
    this.#client = createClient({
      url: endpoint.url,
      username: endpoint.username,
      password: endpoint.password,
      request_timeout: CLIENT_TIMEOUT_MS,
      max_open_connections: CONNECTIONS_MAX,
      keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_MS },
      compression: { request: false, response: false },
      // It would print queries and addresses to the console.
      log: { level: ClickHouseLogLevel.OFF },
    });
    this.#clientKey = key;
    return this.#client;
  }
}

/** Passes on the reply's data as it arrives. */
async function pour(stream: Readable, tag: string, call: Call, signal: AbortSignal): Promise<CallFailure | null> {
  const reader = new TailReader(tag);
  let byteCount = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    byteCount += chunk.length;
    if (byteCount > call.bytesMax)
      return { kind: "too-large", code: 0, name: "TOO_LARGE", text: `more than ${call.bytesMax} bytes` };
    const safe = reader.push(chunk);
    if (safe.length > 0) await call.onChunk(safe);
  }
  signal.throwIfAborted();
  const { rest, problem } = reader.end();
  if (rest.length > 0) await call.onChunk(rest);
  return problem;
}

async function firstBytes(stream: Readable, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    byteCount += chunk.length;
    if (byteCount >= bytesMax) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Statuses of a proxy, or of a server that starts or stops: they may be temporary. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
const ERROR_BYTES_MAX = 64 * 1024;

function errorReply(status: number, body: string): CallFailure {
  if (/^Code: \d+/.test(body)) return serverFailure(body);
  if (PASSING_STATUSES.has(status))
    return { kind: "away", code: 0, name: `HTTP_${status}`, text: `answered with status ${status}` };
  return {
    kind: "foreign",
    code: 0,
    name: `HTTP_${status}`,
    text: `answered with status ${status}, not as ClickHouse does`,
  };
}

/**
 * Holds back the end of a reply until it is known to be data. A server that fails in mid-result appends its error:
 * newer ones between tags announced in the headers, older ones as a last line.
 */
class TailReader {
  readonly #marker: Buffer;
  #held: Buffer = EMPTY;

  constructor(tag: string) {
    this.#marker = tag === "" ? EMPTY : Buffer.from(`\r\n__exception__\r\n${tag}\r\n`, "latin1");
  }

  /** Returns what is certainly data. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const marked = this.#marker.length === 0 ? -1 : bytes.indexOf(this.#marker);
    const cut = marked >= 0 ? marked : Math.max(0, bytes.length - HELD_BYTES);
    this.#held = bytes.subarray(cut);
    return bytes.subarray(0, cut);
  }

  end(): { rest: Buffer; problem: CallFailure | null } {
    const text = this.#held.toString("utf8");
    const marked = this.#marker.length === 0 ? -1 : this.#held.indexOf(this.#marker);
    if (marked >= 0)
      return {
        rest: this.#held.subarray(0, marked),
        problem: serverFailure(this.#held.subarray(marked + this.#marker.length).toString("utf8")),
      };
    const untagged = UNTAGGED.exec(text);
    if (untagged !== null)
      return {
        rest: this.#held.subarray(0, Buffer.byteLength(text.slice(0, untagged.index))),
        problem: serverFailure(text.slice(untagged.index)),
      };
    return { rest: this.#held, problem: null };
  }
}

const EMPTY = Buffer.alloc(0);
/** Longest error text that is searched for; the server cuts its own well below. */
const HELD_BYTES = 16 * 1024;
/** At the start of a line, and none of our lines begins so: JSON begins with a brace, CSV quotes its text. */
const UNTAGGED = /(?<=^|\n)Code: \d+\. DB::Exception: [^\n]*\([A-Z0-9_]+\)[^\n]*\n?$/;
/** Old servers wrote `Code: 47, e.displayText() = DB::Exception: …` without a name. */
const SERVER_TEXT = /^Code: (?<code>\d+)[.,](?: DB::Exception:| e\.displayText\(\) = DB::Exception:)? ?(?<text>.*)$/s;
const NAME_IN_TEXT = /\((?<name>(?=[A-Z0-9_]*[A-Z]{3})[A-Z0-9_]+)\)/g;
const MAX_TEXT_CHARS = 500;

function serverFailure(body: string): CallFailure {
  const match = SERVER_TEXT.exec(body.trim())?.groups;
  const text = match?.text ?? body;
  const name = [...text.matchAll(NAME_IN_TEXT)].at(-1)?.groups?.name;
  return {
    kind: "server",
    code: Number(match?.code ?? 0),
    name: name ?? "UNKNOWN",
    text: text.trim().slice(0, MAX_TEXT_CHARS),
  };
}

/**
 * Describes a failure of the request itself. An error that the client throws for its own reasons has no socket code.
 */
function failureOf(error: unknown): CallFailure {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  const name = typeof code === "string" ? code : "NO_ANSWER";
  return { kind: "away", code: 0, name, text: `no answer: ${name}` };
}
