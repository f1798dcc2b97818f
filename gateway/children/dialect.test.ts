/**
 * The dialect's bounds, with an engine that answers when told to: what a real one does in its own time cannot be
 * held still. Everything else is tested on the real engine (test/).
 */
import { pbkdf2 } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BYTES_REFUSED } from "../../engine/storage/records/clickhouse-answers.js";
import { BodySpool } from "./body-spool.js";
import type { Engine, EngineResult } from "./chdb-engine.js";
import { type Listener, startListener } from "./clickhouse-listener.js";

const EMPTY: EngineResult = { bytes: new Uint8Array(0), rowsRead: 0, bytesRead: 0, elapsed: 0 };

/** Statements wait until released; SET and USE do not. */
class HeldEngine implements Engine {
  readonly version = "26.0";
  readonly started: string[] = [];
  openCount = 0;
  readonly #releases: (() => void)[] = [];
  readonly #waiters: (() => void)[] = [];
  isHeld = true;

  open() {
    this.openCount++;
    return {
      run: async (sql: string) => {
        if (/^(SET|USE) /.test(sql)) return EMPTY;
        this.started.push(sql);
        for (const wake of this.#waiters.splice(0)) wake();
        if (this.isHeld) await new Promise<void>((resolve) => this.#releases.push(resolve));
        return EMPTY;
      },
      stream: () => {
        throw new Error("Code: 36. DB::Exception: Streaming query is not supported for query: x");
      },
      close: () => {
        this.openCount--;
      },
    };
  }

  async close() {}

  /** Resolves once so many statements have started. */
  async untilStarted(count: number): Promise<void> {
    while (this.started.length < count) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  releaseAll(): void {
    this.isHeld = false;
    for (const release of this.#releases.splice(0)) release();
  }
}

let engine: HeldEngine;
let spool: BodySpool;
let listener: Listener;
let directory: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "unwind-dialect-"));
  engine = new HeldEngine();
  spool = new BodySpool(join(directory, "spool"), { bodyBytesMax: 1_000, budgetBytes: 3_000 });
  listener = await startListener({ engine, spool, user: "u", password: "p", port: 0 });
});
afterEach(async () => {
  engine.releaseAll();
  await listener.close(1_000);
  spool.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

function send(query: string, body: string | Buffer = ""): { answer: Promise<Answer | null> } {
  const sent = request({
    host: "127.0.0.1",
    port: listener.port,
    path: `/?query=${encodeURIComponent(query)}`,
    method: "POST",
    auth: "u:p",
    agent: false,
  });
  const answer = new Promise<Answer | null>((resolve) => {
    sent.on("error", () => resolve(null));
    sent.on("response", (response: IncomingMessage) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          code: String(response.headers["x-clickhouse-exception-code"] ?? ""),
          text,
        }),
      );
      response.on("error", () => resolve(null));
    });
  });
  sent.end(body);
  return { answer };
}

describe("the dialect's bounds", () => {
  it("runs one write at a time, lets 64 wait and refuses the next with 503", async () => {
    const first = send("CREATE one");
    await engine.untilStarted(1);
    const waiting = Array.from({ length: 64 }, (_, index) => send(`CREATE w${index}`));
    const answers = Promise.all(waiting.map((call) => call.answer));
    // Which of those on the way arrive first is the kernel's affair; of 66 exactly one finds no place.
    const last = send("CREATE last");
    const outcomes = Promise.all([first.answer, answers, last.answer]);
    const refused = await Promise.race([...waiting.map((call) => call.answer), last.answer]);
    expect(refused).toMatchObject({ status: 503, code: "202" });
    expect(engine.started).toEqual(["CREATE one\n"]);
    engine.releaseAll();
    const [one, others, end] = await outcomes;
    expect([one, ...others, end].filter((answer) => answer?.status === 200).length).toBe(65);
    expect(engine.openCount).toBe(0);
  });

  it("reads on while a write runs", async () => {
    send("CREATE slow");
    await engine.untilStarted(1);
    send("SHOW TABLES");
    await engine.untilStarted(2);
    expect(engine.started[1]).toBe("SHOW TABLES\n");
  });

  it("refuses a body beyond its bound with 413, and one beyond the budget of all with 503", async () => {
    const large = await send("INSERT INTO t FORMAT CSV", Buffer.alloc(1_001)).answer;
    expect(large).toMatchObject({ status: 413, code: "307" });
    const fitting = [1, 2, 3].map(() => send("INSERT INTO t FORMAT CSV", Buffer.alloc(1_000)));
    await engine.untilStarted(1);
    // The three may still be arriving: the budget is spent once they are all held.
    while (spool.heldBytes < 3_000) await new Promise((resolve) => setImmediate(resolve));
    const refused = await send("INSERT INTO t FORMAT CSV", Buffer.alloc(1)).answer;
    expect(refused).toMatchObject({ status: 503, code: "202" });
    engine.releaseAll();
    for (const call of fitting) expect((await call.answer)?.status).toBe(200);
    // A body's file goes after its answer.
    await expect.poll(() => [spool.heldBytes, readdirSync(join(directory, "spool")).length]).toEqual([0, 0]);
  });

  it("leaves no file of a body refused while the file system is slow", async () => {
    // The pool of threads that opens files has four: while they are busy, an opening waits.
    const busy = Promise.all([1, 2, 3, 4].map((salt) => promisify(pbkdf2)("p", `${salt}`, 300_000, 64, "sha512")));
    const refused = send("INSERT INTO t FORMAT CSV", Buffer.alloc(1_001)).answer;
    await busy;
    expect(await refused).toMatchObject({ status: 413 });
    // Behind whatever the pool had still to do.
    await readdir(directory);
    await expect.poll(() => readdirSync(join(directory, "spool"))).toEqual([]);
  });

  it("makes its folder again where it was swept away", async () => {
    engine.releaseAll();
    rmSync(join(directory, "spool"), { recursive: true });
    expect(await send("INSERT INTO t FORMAT CSV", "1").answer).toMatchObject({ status: 200 });
    rmSync(join(directory, "spool"), { recursive: true });
    expect(await send("", "INSERT INTO t FORMAT CSV\n1").answer).toMatchObject({ status: 200 });
    await expect.poll(() => readdirSync(join(directory, "spool"))).toEqual([]);
  });

  it("says of its own files, and not of the bytes, that they fail: the sender is to try again", async () => {
    rmSync(join(directory, "spool"), { recursive: true });
    writeFileSync(join(directory, "spool"), "");
    for (const [query, body] of [
      ["INSERT INTO t FORMAT CSV", "1"],
      ["", "INSERT INTO t FORMAT CSV\n1"],
    ] as const) {
      const answer = await send(query, body).answer;
      expect(answer).toEqual({
        status: 500,
        code: "75",
        text: "Code: 75. DB::Exception: The request's body could not be held: ENOTDIR (CANNOT_WRITE_TO_FILE_DESCRIPTOR)\n",
      });
      expect(BYTES_REFUSED.has(Number(answer?.code))).toBe(false);
    }
    expect(engine.started).toEqual([]);
    expect(spool.heldBytes).toBe(0);
  });

  it("forgets a body whose sender stopped in the middle", async () => {
    const half = request({
      host: "127.0.0.1",
      port: listener.port,
      path: "/?query=INSERT+INTO+t+FORMAT+CSV",
      method: "POST",
      auth: "u:p",
      agent: false,
    });
    half.on("error", () => {});
    half.write(Buffer.alloc(500));
    while (spool.heldBytes < 500) await new Promise((resolve) => setImmediate(resolve));
    half.destroy();
    while (spool.heldBytes > 0) await new Promise((resolve) => setImmediate(resolve));
    await expect.poll(() => readdirSync(join(directory, "spool"))).toEqual([]);
    expect(engine.started).toEqual([]);
  });

  it("closes after what runs, and takes nothing new", async () => {
    const running = send("CREATE last");
    await engine.untilStarted(1);
    const closed = listener.close(10_000);
    expect(await send("CREATE late").answer).toBeNull();
    engine.releaseAll();
    expect((await running.answer)?.status).toBe(200);
    await closed;
  });
});
