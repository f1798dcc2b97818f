/**
 * The embedded ClickHouse engine behind a small port: one open data directory, and one session per request.
 *
 * Invariant: settings, parameters, the current database and temporary tables belong to a session, and a session ends
 * with its request (measured: opening, setting, querying and closing take under 3 ms and leave no memory behind). So
 * nothing leaks from one request into the next; a leaked deduplication token would swallow an insert.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export interface EngineResult {
  readonly bytes: Uint8Array;
  readonly rowsRead: number;
  readonly bytesRead: number;
  /** In seconds. */
  readonly elapsed: number;
}

export interface EngineSession {
  /** Runs one statement and returns its whole result. `format` is for statements without a FORMAT clause. */
  run(sql: string, format: string): Promise<EngineResult>;
  /** Returns a SELECT's result block by block; leaving a started stream early stops the engine too. */
  stream(sql: string, format: string): AsyncIterable<{ raw(): Uint8Array }>;
  /** Waits until running statements finish. */
  close(): void;
}

export interface Engine {
  readonly version: string;
  open(): EngineSession;
  /** Waits for what runs. */
  close(): Promise<void>;
}

export type EngineStart =
  | { readonly ok: true; readonly engine: Engine }
  | { readonly ok: false; readonly reason: "missing" | "locked" | "failed"; readonly text: string };

/**
 * The used part of the package. The package is optional, so its own types cannot be imported where it is not installed.
 */
interface ChdbPackage {
  readonly Session: new (path: string, options?: { connectionArgs: readonly string[] }) => ChdbSession;
  drainPending(): Promise<void>;
}

interface ChdbSession {
  queryAsync(
    sql: string,
    options: { format: string },
  ): Promise<{ bytes(): Uint8Array; rowsRead: number; bytesRead: number; elapsed: number }>;
  queryStream(sql: string, options: { format: string }): AsyncIterable<{ raw(): Uint8Array }>;
  close(): void;
}

const PACKAGE = "chdb";
export interface EngineOptions {
  readonly directory: string;
  /** Maximum for the whole engine; beyond it queries fail with MEMORY_LIMIT_EXCEEDED. */
  readonly memoryBytes: number;
}

export async function openEngine(options: EngineOptions): Promise<EngineStart> {
  const loaded = loadPackage();
  if (!loaded.ok) return loaded;
  const chdb = loaded.chdb;
  const open = () =>
    new chdb.Session(options.directory, { connectionArgs: [`--max_server_memory_usage=${options.memoryBytes}`] });
  try {
    // The first session holds the engine, and the directory's lock, until close.
    const holder = open();
    const answer = await holder.queryAsync("SELECT version()", { format: "TabSeparated" });
    const version = Buffer.from(answer.bytes()).toString("utf8").trim();
    return {
      ok: true,
      engine: {
        version,
        open: () => sessionOf(open()),
        async close() {
          holder.close();
          await chdb.drainPending();
        },
      },
    };
  } catch (error) {
    if (isHeldByAnother(options.directory))
      return { ok: false, reason: "locked", text: "another process has the record's data directory open" };
    const name = error instanceof Error ? error.name : "unknown";
    return { ok: false, reason: "failed", text: `the engine cannot open the record's data directory (${name})` };
  }
}

/** The package reports only that it failed; the locked file contains the process that holds the lock. */
function isHeldByAnother(directory: string): boolean {
  try {
    const holder = Number(/^PID: (\d{1,10})$/m.exec(readFileSync(join(directory, "status"), "utf8"))?.[1]);
    return holder !== process.pid && process.kill(holder, 0);
  } catch (error) {
    // It belongs to another user but is alive.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const MAX_TEXT_CHARS = 300;

function loadPackage(): { ok: true; chdb: ChdbPackage } | Extract<EngineStart, { ok: false }> {
  try {
    return { ok: true, chdb: createRequire(import.meta.url)(PACKAGE) as ChdbPackage };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const text = error instanceof Error ? (error.message.split("\n")[0] ?? "") : "unknown";
    if (code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND")
      return { ok: false, reason: "missing", text: "the optional package chdb is not installed" };
    // Installed without its library: an unsupported platform, or an interrupted install.
    return {
      ok: false,
      reason: "missing",
      text: `the optional package chdb does not load: ${text.slice(0, MAX_TEXT_CHARS)}`,
    };
  }
}

function sessionOf(session: ChdbSession): EngineSession {
  return {
    async run(sql, format) {
      const answer = await session.queryAsync(sql, { format });
      return {
        bytes: answer.bytes(),
        rowsRead: answer.rowsRead,
        bytesRead: answer.bytesRead,
        elapsed: answer.elapsed,
      };
    },
    stream: (sql, format) => session.queryStream(sql, { format }),
    close: () => session.close(),
  };
}
