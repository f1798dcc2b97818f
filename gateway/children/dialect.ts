/**
 * The ClickHouse HTTP dialect over the embedded engine, so that the ordinary client speaks to it as to a server. The
 * path of a request is query string → body → session (database, settings, parameters) → statement → reply.
 *
 * Invariants: only callers with the password are served. A request's settings end with its session. An insert is
 * acknowledged after the engine returned, never before. Every queue and body has a bound, beyond it 503 or 413. It is
 * not a server: no users, roles, progress, KILL QUERY.
 */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodySpool, HeldBody } from "./body-spool.js";
import type { Engine, EngineSession } from "./chdb-engine.js";
import { type DialectRequest, quoteText, readDialectRequest } from "./clickhouse-request.js";
import { sendError, sendResult, sendStream, sendText } from "./clickhouse-response.js";
import { enterSession, undoStatements } from "./dialect-session.js";
import { EngineError } from "./engine-error.js";
import { outputFormat } from "./formats.js";
import { KeptSessions } from "./kept-sessions.js";
import { Lane } from "./lane.js";
import { scanStatement, type Statement } from "./statement.js";

/** One writer keeps the order of batches; readers share the rest. */
const WRITES_AT_ONCE = 1;
const READS_AT_ONCE = 3;
const WAITING_MAX = 64;
/** Most requests whose body or reply is under way, all together; one more gets 503. */
const REQUESTS_MAX = 256;
/** Longest statement without an insert's data. The engine's own max_query_size is 256 KiB. */
const STATEMENT_BYTES_MAX = 1 << 20;
/** Most bytes of rows and blocks of a reply that is built as a whole, before formatting. */
const WHOLE_RESULT_BYTES_MAX = 256 * 1024 * 1024;
const DEFAULT_FORMAT = "TabSeparated";

export interface DialectOptions {
  readonly engine: Engine;
  readonly spool: BodySpool;
  readonly user: string;
  readonly password: string;
}

const BAD_ARGUMENTS = 36;
const READONLY = 164;
const REQUIRED_PASSWORD = 194;
const TOO_MANY = 202;
const ABORTED = 236;
const TOO_MANY_BYTES = 307;
const AUTHENTICATION_FAILED = 516;

export class Dialect {
  readonly #engine: Engine;
  readonly #spool: BodySpool;
  readonly #secret: Buffer;
  readonly #writes = new Lane("the writer", WRITES_AT_ONCE, WAITING_MAX);
  readonly #reads = new Lane("a reader", READS_AT_ONCE, WAITING_MAX);
  readonly #kept: KeptSessions;
  #openCount = 0;

  constructor(options: DialectOptions) {
    this.#engine = options.engine;
    this.#spool = options.spool;
    this.#secret = digest(`${options.user}:${options.password}`);
    this.#kept = new KeptSessions(() => options.engine.open());
  }

  async idle(): Promise<void> {
    await this.#writes.idle();
    await this.#reads.idle();
  }

  close(): void {
    this.#kept.close();
  }

  /** Never rejects. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    // A caller that disconnects during a reply is no fault of this process.
    response.on("error", () => gone.abort());
    this.#openCount++;
    try {
      await this.#answer(request, response, gone.signal);
    } catch (error) {
      sendError(response, EngineError.of(error, ""), "");
    } finally {
      this.#openCount--;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const url = new URL(request.url ?? "/", "http://store");
    if (url.pathname === "/ping") return sendText(response, 200, "Ok.\n");
    if (url.pathname !== "/") return sendText(response, 404, "There is no handle for this path.\n");
    if (request.method !== "GET" && request.method !== "POST")
      return sendText(response, 405, "Only GET and POST are served.\n");
    this.#authenticate(request);
    if (this.#openCount > REQUESTS_MAX) throw new EngineError(TOO_MANY, "Too many simultaneous queries");
    const asked = readDialectRequest(url.searchParams, request.headers);
    const queryId = asked.queryId === "" ? randomUUID() : asked.queryId;
    try {
      if ((request.headers["content-type"] ?? "").startsWith("multipart/"))
        throw new EngineError(BAD_ARGUMENTS, "Multipart bodies are not taken: send parameters in the query string");
      if (request.method === "GET" && asked.query === "") return sendText(response, 200, "Ok.\n");
      const job = await this.#receive(request, asked);
      try {
        if (request.method === "GET" && job.statement.kind !== "read")
          throw new EngineError(READONLY, "Cannot execute query in readonly mode: use POST");
        await this.#perform(job, { request: asked, queryId, readonly: request.method === "GET", response, signal });
      } finally {
        job.body?.release();
      }
    } catch (error) {
      sendError(response, EngineError.of(error, ""), queryId);
    }
  }

  /** Basic credentials, or the pair of headers that some clients send instead. */
  #authenticate(request: IncomingMessage): void {
    const basic = /^Basic ([A-Za-z0-9+/=]{1,1024})$/.exec(request.headers.authorization ?? "")?.[1];
    const user = request.headers["x-clickhouse-user"];
    const given =
      basic !== undefined
        ? Buffer.from(basic, "base64").toString("utf8")
        : typeof user === "string"
          ? `${user}:${String(request.headers["x-clickhouse-key"] ?? "")}`
          : null;
    if (given === null) throw new EngineError(REQUIRED_PASSWORD, "Credentials are required");
    if (!timingSafeEqual(digest(given), this.#secret))
      throw new EngineError(AUTHENTICATION_FAILED, "Authentication failed: password is incorrect, or no such user");
  }

  /** Splits a body into a statement and, for an insert, its data in a file. */
  async #receive(request: IncomingMessage, asked: DialectRequest): Promise<Job> {
    const head = Buffer.from(asked.query, "utf8");
    const scanned = scanStatement(head.toString("latin1"));
    if (scanned.kind === "insert-data" && isBlank(head, scanned.dataStart)) {
      const body = await this.#spool.toFile(request);
      return { statement: checked(scanned), sql: "", body };
    }
    const rest = await this.#spool.toMemory(request);
    try {
      const bytes = head.length === 0 ? rest.bytes : Buffer.concat([head, Buffer.from("\n"), rest.bytes]);
      const statement = checked(head.length === 0 ? scanStatement(bytes.toString("latin1")) : scanned);
      if (statement.kind === "insert-data" && statement.format !== "Values") {
        const body = await this.#spool.bytesToFile(bytes.subarray(statement.dataStart));
        return { statement, sql: "", body };
      }
      if (statement.kind !== "insert-data" && bytes.length > STATEMENT_BYTES_MAX)
        throw new EngineError(TOO_MANY_BYTES, `The statement is larger than ${STATEMENT_BYTES_MAX} bytes`);
      return { statement, sql: bytes.toString("utf8"), body: null };
    } finally {
      rest.release();
    }
  }

  async #perform(job: Job, call: Call): Promise<void> {
    if (job.statement.kind === "empty") throw new EngineError(62, "Syntax error: Empty query");
    const lane = job.statement.kind === "read" ? this.#reads : this.#writes;
    await lane.run(call.signal, () =>
      call.request.sessionId === "" ? this.#inFreshSession(job, call) : this.#inKeptSession(job, call),
    );
  }

  async #inFreshSession(job: Job, call: Call): Promise<void> {
    const session = this.#engine.open();
    try {
      await enterSession(session, call.request, call.readonly);
      const reply = await execute(session, job, call, true);
      reply();
    } finally {
      session.close();
    }
  }

  /** What the statement itself sets stays in the session; settings in the query string apply to this request only. */
  async #inKeptSession(job: Job, call: Call): Promise<void> {
    const { sessionId, sessionCheck, sessionSeconds } = call.request;
    const session = this.#kept.take(sessionId, sessionCheck);
    let reply = () => {};
    let isClean = false;
    try {
      const undo = await undoStatements(session, call.request);
      try {
        await enterSession(session, call.request, call.readonly);
        reply = await execute(session, job, call, false);
      } finally {
        for (const sql of undo) await session.run(sql, "Null");
        isClean = true;
      }
    } finally {
      if (isClean) this.#kept.give(sessionId, sessionSeconds);
      else this.#kept.drop(sessionId);
    }
    // The session is free before its caller can send the next request.
    reply();
  }
}

/** Runs the statement; the returned function sends the reply, unless it was streamed already. */
function execute(session: EngineSession, job: Job, call: Call, mayStream: boolean): Promise<() => void> {
  return job.body === null ? ask(session, job, call, mayStream) : insert(session, job.statement, job.body, call);
}

async function insert(session: EngineSession, statement: Statement, body: HeldBody, call: Call): Promise<() => void> {
  // The head was decoded as latin1 to keep byte offsets; its text is UTF-8.
  const text = (part: string) => Buffer.from(part, "latin1").toString("utf8");
  const source = `FROM INFILE ${quoteText(body.path)} COMPRESSION 'none'`;
  const sql = `${text(statement.insertHead)} ${source} ${text(statement.insertSettings)} FORMAT ${statement.format}`;
  try {
    const result = await session.run(sql, "Null");
    return () =>
      sendResult(call.response, {
        queryId: call.queryId,
        format: DEFAULT_FORMAT,
        bytes: new Uint8Array(0),
        gzip: false,
        // The engine writes all rows it reads from the body, including repeats under a known token.
        summary: summary(result.rowsRead, body.byteCount, result.rowsRead, result.elapsed),
      });
  } catch (error) {
    throw EngineError.of(error, body.path);
  }
}

async function ask(session: EngineSession, job: Job, call: Call, mayStream: boolean): Promise<() => void> {
  const { statement } = job;
  const isRead = statement.kind === "read";
  const format = (isRead ? statement.format : "") || call.request.defaultFormat || DEFAULT_FORMAT;
  const reply = { queryId: call.queryId, format, gzip: call.request.gzip };
  if (isRead && mayStream && !call.request.waitForEnd && outputFormat(format).blocks !== "whole") {
    const blocks = startStream(session, job.sql, format);
    if (blocks !== null) {
      await sendStream(call.response, { ...reply, blocks, signal: call.signal });
      return () => {};
    }
  }
  if (isRead && !call.readonly && !call.request.settings.has("max_result_bytes"))
    await session.run(`SET max_result_bytes = ${WHOLE_RESULT_BYTES_MAX}, result_overflow_mode = 'throw'`, "Null");
  const result = await session.run(job.sql, format);
  if (call.signal.aborted) throw new EngineError(ABORTED, "The caller went away");
  return () =>
    sendResult(call.response, {
      ...reply,
      bytes: result.bytes,
      summary: summary(result.rowsRead, result.bytesRead, 0, result.elapsed),
    });
}

interface Job {
  readonly statement: Statement;
  /** "" for an insert whose data is in `body`. */
  readonly sql: string;
  readonly body: HeldBody | null;
}

interface Call {
  readonly request: DialectRequest;
  readonly queryId: string;
  readonly readonly: boolean;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** Returns null where the engine cannot stream the statement (SHOW, DESCRIBE …); such results are small. */
function startStream(session: EngineSession, sql: string, format: string): AsyncIterable<{ raw(): Uint8Array }> | null {
  try {
    return session.stream(sql, format);
  } catch (error) {
    if (error instanceof Error && NOT_STREAMED.test(error.message)) return null;
    throw error;
  }
}

const NOT_STREAMED = /^Code: 36\. DB::Exception: Streaming query is not supported/;

function checked(statement: Statement): Statement {
  if (statement.refusal !== null) throw new EngineError(statement.refusal.code, statement.refusal.text);
  return statement;
}

function isBlank(bytes: Buffer, from: number): boolean {
  return bytes.subarray(from).toString("latin1").trim() === "";
}

function summary(readRows: number, readBytes: number, writtenRows: number, seconds: number): string {
  return JSON.stringify({
    read_rows: String(readRows),
    read_bytes: String(readBytes),
    written_rows: String(writtenRows),
    written_bytes: String(writtenRows === 0 ? 0 : readBytes),
    total_rows_to_read: "0",
    result_rows: String(writtenRows),
    result_bytes: "0",
    elapsed_ns: String(Math.round(seconds * 1e9)),
  });
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
