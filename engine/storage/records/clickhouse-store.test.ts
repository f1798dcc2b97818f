/**
 * The store with servers it cannot use: too old, not ClickHouse at all, gone, silent, stopping. On loopback, with
 * hand-written replies; the sidecar's tests use the real engine.
 */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createClickHouseStore } from "./clickhouse-store.js";
import { DERIVED_TABLES, RECORD_TABLES } from "./schema.js";
import { createOffStore, type RecordsBatch, type RecordsStore } from "./records-store.js";

const PASSWORD = "canary-7f3a";
const BOUNDS = { timeoutMs: 5_000, rowsMax: 10, bytesMax: 10_000 };
const BATCH: RecordsBatch = { table: "ticks", bytes: new Uint8Array([1]), rowCount: 1, token: "t:1" };

const servers: Server[] = [];
const stores: RecordsStore[] = [];

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<{ url: string; server: Server; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      asked.push(body);
      listener(request, response);
    });
  });
  // The server never closes a connection that the client keeps.
  server.keepAliveTimeout = 0;
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, asked };
}

/** On virtual time: no reply is late unless a test moves it. */
function open(url: string, clock = new VirtualClock()): RecordsStore {
  const store = createClickHouseStore({
    endpoint: () => ({ url, username: "u", password: PASSWORD }),
    target: { database: "unwind", cluster: null },
    clock,
  });
  stores.push(store);
  return store;
}

describe("the ClickHouse store", () => {
  it("refuses a server that is too old, by name, and writes nothing to it", async () => {
    const { url, asked } = await serve((_request, response) => response.end("18.16.1\n"));
    const store = open(url);
    const off = {
      state: "off",
      reason: "ClickHouse 18.16.1 is too old: the record needs 24 or newer",
      version: "18.16.1",
    };
    expect(await store.start()).toEqual(off);
    expect(await store.insert(BATCH)).toEqual({ outcome: "away", reason: off.reason });
    expect(await store.query("SELECT 1", {}, BOUNDS)).toMatchObject({ ok: false, reason: "away", text: off.reason });
    expect(store.state()).toEqual(off);
    expect(asked).toEqual(["SELECT version()"]);
  });

  it.each([
    ["23.8.1.2992", "off"],
    ["9.9", "off"],
    ["24.1.1.2048", "away"],
    ["26.7.2.1", "away"],
  ])("reads version %s as %s", async (version, state) => {
    let count = 0;
    const { url } = await serve((_request, response) => {
      if (count++ === 0) response.end(`${version}\n`);
      else {
        response.writeHead(500);
        response.end("Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)\n");
      }
    });
    expect(await open(url).start()).toMatchObject({ state, version });
  });

  it.each([
    ["a page", 200, "<html>hello</html>"],
    ["nothing", 200, ""],
    ["not found", 404, "<html>not found</html>"],
    ["a login", 401, "who are you"],
  ])("refuses a server that is not ClickHouse: %s", async (_name, status, body) => {
    const { url } = await serve((_request, response) => {
      response.writeHead(status);
      response.end(body);
    });
    expect(await open(url).start()).toEqual({
      state: "off",
      reason: "the server at the record's address is not ClickHouse",
      version: null,
    });
  });

  it("is away where something else answers in place of a server that was ClickHouse before", async () => {
    const replies = ["26.7.2.1\n", null, "<html>not found</html>", "26.7.2.1\n", null];
    const { url } = await serve((_request, response) => {
      const reply = replies.shift() ?? null;
      if (reply === null) response.writeHead(500);
      response.end(reply ?? "Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)\n");
    });
    const store = open(url);
    expect(await store.start()).toMatchObject({ state: "away", version: "26.7.2.1" });
    const reason = "the server at the record's address is not ClickHouse";
    expect(await store.insert(BATCH)).toEqual({ outcome: "away", reason });
    expect(store.state()).toMatchObject({ state: "away" });
    expect(await store.insert(BATCH)).toMatchObject({ outcome: "away", reason: expect.stringContaining("READ_ONLY") });
  });

  it.each([
    ["a proxy's 404", 404, "<html>not found</html>", "the server at the record's address is not ClickHouse"],
    ["a server that is too old", 200, "18.16.1\n", "ClickHouse 18.16.1 is too old: the record needs 24 or newer"],
  ])(
    "is away, never off, where it had no such reply by the end of the start: %s",
    async (_name, status, body, reason) => {
      const replies: [number, string][] = [
        [503, "<html>busy</html>"],
        [status, body],
        [503, "<html>busy</html>"],
      ];
      const { url } = await serve((_request, response) => {
        const [code, text] = replies.shift() ?? [500, "Code: 242. DB::Exception: readonly. (TABLE_IS_READ_ONLY)"];
        response.writeHead(code);
        response.end(text);
      });
      const store = open(url);
      expect(await store.start()).toMatchObject({ state: "away" });
      expect(await store.insert(BATCH)).toEqual({ outcome: "away", reason });
      expect(store.state()).toMatchObject({ state: "away", reason });
      expect(await store.insert(BATCH)).toEqual({ outcome: "away", reason: "answered with status 503" });
    },
  );

  it("is away where the reply that would turn it off comes after the start has ended", async () => {
    const clock = new VirtualClock();
    let answer = (): void => {};
    let onRequest = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      onRequest = resolve;
    });
    const { url } = await serve((_request, response) => {
      answer = () => {
        response.writeHead(404);
        response.end("<html>not found</html>");
      };
      onRequest();
    });
    const started = open(url, clock).start();
    await arrived;
    clock.advance(5_001);
    answer();
    expect(await started).toMatchObject({ state: "away" });
  });

  it.each([
    [2, null],
    [3, "auto"],
  ])("requires a quorum for money tables where one replica of %i may be down", async (replicas, quorum) => {
    const quorums: (string | null)[] = [];
    const columns = [...RECORD_TABLES, ...DERIVED_TABLES].flatMap(({ name, columns: of }) =>
      of.map((column) => ({ table: name, name: column.name })),
    );
    const answers: readonly (readonly [RegExp, string])[] = [
      [/SELECT version\(\)/, "26.7.2.1\n"],
      [/FROM system\.columns/, columns.map((row) => `${JSON.stringify(row)}\n`).join("")],
      [/FROM system\.replicas/, `{"n":${replicas}}\n`],
    ];
    const { url, asked } = await serve((request, response) => {
      const query = new URL(request.url ?? "/", "http://x").searchParams;
      const sql = `${query.get("query") ?? ""} ${asked.at(-1) ?? ""}`;
      if (/INSERT INTO unwind\.fills/.test(sql)) quorums.push(query.get("insert_quorum"));
      response.end(answers.find(([pattern]) => pattern.test(sql))?.[1] ?? "");
    });
    const cluster = { name: "main", keeperPath: "/clickhouse/tables" };
    const store = createClickHouseStore({
      endpoint: () => ({ url, username: "u", password: PASSWORD }),
      target: { database: "unwind", cluster },
      clock: new VirtualClock(),
    });
    stores.push(store);
    expect(await store.start()).toMatchObject({ state: "on" });
    expect(await store.insert({ ...BATCH, table: "fills" })).toEqual({ outcome: "stored" });
    expect(quorums).toEqual([quorum]);
  });

  it("treats a refused login as temporary, and shows no credential", async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(403);
      response.end(
        "Code: 516. DB::Exception: u: Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)",
      );
    });
    const store = open(url);
    const state = await store.start();
    expect(state).toMatchObject({ state: "away", reason: expect.stringContaining("AUTHENTICATION_FAILED") });
    expect(JSON.stringify([state, await store.insert(BATCH), await store.query("SELECT 1", {}, BOUNDS)])).not.toContain(
      PASSWORD,
    );
  });

  it("is away while a proxy answers for a starting server, and while nothing listens, and tries again at each call", async () => {
    const { url, server, asked } = await serve((_request, response) => {
      response.writeHead(503);
      response.end("<html>busy</html>");
    });
    const store = open(url);
    expect(await store.start()).toMatchObject({ state: "away", reason: "answered with status 503" });
    expect(await store.insert(BATCH)).toMatchObject({ outcome: "away" });
    expect(asked.length).toBe(2);
    server.closeAllConnections();
    server.close();
    await once(server, "close");
    // A kept connection may be reset before a new one is refused.
    expect(await store.insert(BATCH)).toEqual({
      outcome: "away",
      reason: expect.stringMatching(/^no answer: (ECONNREFUSED|ECONNRESET|EPIPE|.*socket.*)/),
    });
    expect(store.state().state).toBe("away");
  });

  it("gives up on a server that accepts and stays silent, at its time limit", async () => {
    const clock = new VirtualClock();
    let onRequest = () => {};
    const arrived = new Promise<void>((resolve) => {
      onRequest = resolve;
    });
    const { url } = await serve(() => onRequest());
    const store = open(url, clock);
    const started = store.start();
    await arrived;
    clock.advance(9_999);
    expect(store.state().reason).toBe("not started");
    clock.advance(1);
    expect(await started).toMatchObject({ state: "away", reason: "no answer within 10000 ms" });
  });

  it("answers within the time of the call while the tables are still being created", async () => {
    const clock = new VirtualClock();
    let makeTables = () => {};
    const asking = new Promise<void>((resolve) => {
      makeTables = resolve;
    });
    let isAsked = false;
    const { url } = await serve((_request, response) => {
      // The version comes first; the request that creates tables is never answered.
      if (isAsked) makeTables();
      else response.end("26.7.2.1\n");
      isAsked = true;
    });
    const store = open(url, clock);
    const read = store.query("SELECT 1", {}, BOUNDS);
    await asking;
    const write = store.insert(BATCH);
    clock.advance(BOUNDS.timeoutMs);
    expect(await read).toMatchObject({ ok: false, reason: "away" });
    clock.advance(30_000 - BOUNDS.timeoutMs);
    expect(await write).toMatchObject({ outcome: "away" });
  });

  it("is away when the reply breaks off, and never reports stored", async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "Content-Length": 100 });
      response.write("26.7");
      setImmediate(() => response.destroy());
    });
    expect(await open(url).start()).toMatchObject({ state: "away" });
  });

  it("is off once closed, and can be closed twice", async () => {
    const { url } = await serve((_request, response) => response.end("18.16.1\n"));
    const store = open(url);
    await store.close();
    await store.close();
    expect(store.state()).toMatchObject({ state: "off", reason: "the record store was closed" });
    expect(await store.insert(BATCH)).toMatchObject({ outcome: "away" });
  });

  it("refuses names that are no identifiers before it sends anything", () => {
    const endpoint = () => ({ url: "http://127.0.0.1:1", username: "", password: "" });
    for (const database of ["a b", "", "x;--", "1a"])
      expect(() =>
        createClickHouseStore({ endpoint, target: { database, cluster: null }, clock: new VirtualClock() }),
      ).toThrow(RangeError);
  });
});

describe("the off store", () => {
  it("answers everything with its reason", async () => {
    const store = createOffStore("switched off");
    expect(await store.start()).toEqual({ state: "off", reason: "switched off", version: null });
    expect(await store.insert(BATCH)).toEqual({ outcome: "away", reason: "off" });
    expect(await store.query("SELECT 1", {}, BOUNDS)).toMatchObject({ ok: false, text: "switched off" });
    const stream = await store.queryStream("SELECT 1", {}, { ...BOUNDS, format: "JSONEachRow" }, () => {});
    expect(stream).toMatchObject({ ok: false, bytes: 0 });
    await store.close();
  });
});
