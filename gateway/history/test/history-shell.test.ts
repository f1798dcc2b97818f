/**
 * The routes with a scripted store: refusals, failures before and during a reply, readers that are slow, stop or leave.
 * Sockets are real; nothing waits for time to pass except the one limit under test.
 */
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { RecordRow } from "../../../engine/storage/records/records-store.js";
import type { HistoryOptions } from "../../api/routes/history.js";
import { ALICE, BOB, createTestAuth, signed, type TestKey } from "../../test/test-keys.js";
import { PIECE_BYTES } from "../export-reply.js";
import { DEFAULT_READ_LIMITS } from "../records-reader.js";
import { type HistoryServer, startHistoryServer } from "./history-server.js";
import { rawGet, readAll } from "./raw-reader.js";
import { aborted, failure, ScriptedStore } from "./scripted-store.js";

const servers: HistoryServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.stop();
});

async function start(store: ScriptedStore, options: Partial<HistoryOptions> = {}): Promise<HistoryServer> {
  const server = await startHistoryServer(store, options);
  servers.push(server);
  return server;
}

async function slowReader(server: HistoryServer, path: string, accept: string): Promise<Socket> {
  const socket = await rawGet(server.port, path, accept);
  sockets.push(socket);
  return socket;
}

const TICKS = "/api/history/ticks?symbol=BTC";
const details = (body: unknown) => (body as { code: string; details: Record<string, unknown> }).details;
const codeOf = (body: unknown) => (body as { code: string }).code;

function tick(seq: number): RecordRow {
  return {
    symbol: "BTC",
    exchange: "venueone",
    timestamp: 1_795_233_600_000,
    receivedAtUs: "1795233600000001",
    venueTimestamp: null,
    bid: null,
    bidSize: "0",
    ask: "97422.5",
    askSize: "2",
    markPrice: null,
    lastPrice: null,
    venueSeq: String(seq),
    source: "touch",
    k0: "1795233600000001",
    k1: "venueone",
    k2: String(seq),
    k3: "7",
    secret: "not in the schema",
  };
}

describe("a history route without a record", () => {
  it("refuses with OFF and the reason before any query", async () => {
    const store = new ScriptedStore();
    store.on = "off";
    const { client } = await start(store);
    for (const path of [TICKS, "/api/history/fills", "/api/history/execution-quality"]) {
      const reply = await client.get(path);
      expect([reply.status, codeOf(reply.body)]).toEqual([503, "RECORDS_UNAVAILABLE"]);
      expect(details(reply.body)).toEqual({ reason: "OFF", hint: "by the test" });
    }
    expect(store.asked).toEqual([]);
  });

  it("refuses with AWAY and a retry time, TIMEOUT and TOO_LARGE with advice, REFUSED without the query", async () => {
    const store = new ScriptedStore();
    const server = await start(store);
    const reasonOf = async (reason: Parameters<typeof failure>[0], accept: string) => {
      store.query_ = async () => failure(reason);
      store.stream_ = async () => ({ ...failure(reason), bytes: 0 });
      const reply = await server.client.send(TICKS, { headers: { accept } });
      expect(reply.status).toBe(503);
      expect(reply.headers["content-type"]).toBe("application/json");
      expect(reply.text).not.toContain("secret");
      return [details(reply.body).reason, reply.headers["retry-after"]];
    };
    for (const accept of ["application/json", "text/csv"]) {
      expect(await reasonOf("away", accept)).toEqual(["AWAY", "2"]);
      expect(await reasonOf("timeout", accept)).toEqual(["TIMEOUT", undefined]);
      expect(await reasonOf("too-large", accept)).toEqual(["TOO_LARGE", undefined]);
      expect(await reasonOf("refused", accept)).toEqual(["REFUSED", undefined]);
    }
    const logged = server.logLines.filter((line) => line.includes("history.query_refused"));
    expect(logged).toHaveLength(2);
    expect(logged.join()).toContain('"code":"62"');
    expect(server.logLines.join()).not.toContain("secret");
  });
});

describe("the forms and methods of a history route", () => {
  it("are listed in its 406", async () => {
    const { client } = await start(new ScriptedStore());
    const reply = await client.send(TICKS, { headers: { accept: "text/html" } });
    expect([reply.status, codeOf(reply.body)]).toEqual([406, "NOT_ACCEPTABLE"]);
    expect(details(reply.body).available).toEqual(["application/json", "text/csv", "application/x-ndjson"]);
  });

  it("answer each form with its type, and vary by Accept", async () => {
    const { client } = await start(new ScriptedStore());
    const json = await client.get(TICKS);
    expect(json.headers).toMatchObject({ "content-type": "application/json", vary: "Origin, Accept" });
    const csv = await client.send(TICKS, { headers: { accept: "text/csv" } });
    expect(csv.headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      vary: "Origin, Accept",
    });
    const lines = await client.send(TICKS, { headers: { accept: "application/x-ndjson" } });
    expect([lines.status, lines.headers["content-type"], lines.text]).toEqual([200, "application/x-ndjson", ""]);
  });

  it("include HEAD with the headers of GET, with the next cursor of an export, without reading rows", async () => {
    const store = new ScriptedStore();
    store.query_ = async () => ({ ok: true, rows: [tick(1), tick(2)] });
    const { client } = await start(store);
    const json = await client.send(TICKS, { method: "HEAD" });
    const got = await client.get(TICKS);
    expect([json.status, json.headers["content-length"]]).toEqual([200, String(Buffer.byteLength(got.text))]);
    store.asked.length = 0;
    const csv = await client.send(`${TICKS}&limit=1`, { method: "HEAD", headers: { accept: "text/csv" } });
    expect([csv.status, csv.text, store.asked.length]).toEqual([200, "", 1]);
    expect(csv.headers["x-next-cursor"]).toMatch(/\.[0-9a-f]{32}$/);
    const whole = await client.send(TICKS, { method: "HEAD", headers: { accept: "text/csv" } });
    expect([whole.status, whole.headers["x-next-cursor"], store.asked.length]).toEqual([200, undefined, 1]);
  });

  it("exclude other methods with 405, and unknown parameters with 400", async () => {
    const { client } = await start(new ScriptedStore());
    const post = await client.send(TICKS, { method: "POST", body: "{}", outside: true });
    expect([post.status, post.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect((await client.get(`${TICKS}&offset=5`)).status).toBe(400);
    expect((await client.get("/api/history/ticks?symbol=NOPE")).status).toBe(404);
    expect((await client.send("/api/history/nothing", { outside: true })).status).toBe(404);
  });
});

describe("the operator's data", () => {
  it("are refused to a foreign page that may read, and under another host name of ours, while market data are not", async () => {
    const { client } = await start(new ScriptedStore());
    for (const path of ["/api/history/fills", "/api/history/routing", "/api/history/execution-quality"]) {
      for (const headers of [{ origin: "https://desk.example" }, { host: "api.example" }]) {
        const reply = await client.send(path, { headers });
        expect([path, reply.status, codeOf(reply.body)]).toEqual([path, 403, "OPERATOR_DATA"]);
      }
    }
    expect((await client.send("/api/history/fills")).status).toBe(200);
    expect((await client.send(TICKS, { headers: { origin: "https://desk.example" } })).status).toBe(200);
  });

  it("are refused on a public address until configuration opens them", async () => {
    const closed = await start(new ScriptedStore(), { loopbackOnly: false });
    expect((await closed.client.get("/api/history/fills")).status).toBe(403);
    const open = await start(new ScriptedStore(), { loopbackOnly: false, open: true });
    expect((await open.client.send("/api/history/fills", { headers: { host: "api.example" } })).status).toBe(200);
  });
});

describe("a caller without a key, in public mode", () => {
  const FORMS = ["application/json", "text/csv", "application/x-ndjson"];
  const PATHS = ["fills", "routing", "execution-quality"].map((kind) => `/api/history/${kind}`);

  it.each(PATHS)("reads of %s what was made without a key, in every form, and of no other owner", async (path) => {
    const store = new ScriptedStore();
    const { client } = await start(store);
    const limits = path.includes("quality") ? [""] : ["", "?limit=5"];
    for (const accept of FORMS) for (const limit of limits) await client.send(path + limit, { headers: { accept } });
    expect(store.asked.length).toBeGreaterThanOrEqual(limits.length * FORMS.length);
    for (const { sql, params } of store.asked) {
      expect(sql).toContain("t.owner IN {owners:Array(String)}");
      expect(params["owners"]).toEqual(["local"]);
    }
  });

  it("reads market data as everyone does", async () => {
    const store = new ScriptedStore();
    const { client } = await start(store);
    expect((await client.get(TICKS)).status).toBe(200);
    expect(store.asked.map(({ sql }) => sql.includes("owner"))).toEqual([false]);
  });
});

describe("pages of history", () => {
  it("leave out what the schema does not list, including the sort keys", async () => {
    const store = new ScriptedStore();
    store.query_ = async () => ({ ok: true, rows: [tick(1)] });
    const { client } = await start(store);
    const reply = await client.get(TICKS);
    expect(reply.text).not.toMatch(/secret|"k0"/);
    expect(reply.body).toMatchObject({ data: { ticks: [{ venueSeq: "1" }], nextCursor: null } });
  });

  it("read one row more than they return, and continue after the last returned", async () => {
    const store = new ScriptedStore();
    store.query_ = async () => ({ ok: true, rows: [tick(3), tick(2), tick(1)] });
    const { client } = await start(store);
    const reply = await client.get(`${TICKS}&limit=2`);
    const data = (reply.body as { data: { ticks: { venueSeq: string }[]; nextCursor: string } }).data;
    expect([store.asked[0]?.params.limit, data.ticks.map((row) => row.venueSeq)]).toEqual([3, ["3", "2"]]);
    await client.get(`/api/history/ticks?limit=2&cursor=${data.nextCursor}`);
    expect(store.asked[1]?.params).toMatchObject({ after0: "1795233600000001", after2: "2", symbol: "BTC" });
  });

  it("do not separate rows that are equal in everything", async () => {
    const store = new ScriptedStore();
    store.query_ = async () => ({ ok: true, rows: [tick(3), tick(2), tick(2), tick(2)] });
    const { client } = await start(store);
    const reply = await client.get(`${TICKS}&limit=2`);
    const data = (reply.body as { data: { ticks: unknown[]; nextCursor: string } }).data;
    expect(data.ticks).toHaveLength(4);
    await client.get(`/api/history/ticks?cursor=${data.nextCursor}`);
    expect(store.asked[1]?.params).toMatchObject({ after2: "2" });
  });
});

describe("the load of history reads", () => {
  it("is limited to the reads that may run at once, and a read is accepted again when one has ended", async () => {
    const store = new ScriptedStore();
    const held: (() => void)[] = [];
    store.query_ = () => new Promise((resolve) => held.push(() => resolve({ ok: true, rows: [] })));
    const { client } = await start(store, { limits: { ...DEFAULT_READ_LIMITS, inFlightMax: 2 } });
    const waiting = [client.get(TICKS), client.get(TICKS)];
    await expect.poll(() => held.length).toBe(2);
    const refused = await client.get(TICKS);
    expect([refused.status, codeOf(refused.body), refused.headers["retry-after"]]).toEqual([503, "OVERLOADED", "1"]);
    for (const release of held.splice(0)) release();
    expect((await Promise.all(waiting)).map((reply) => reply.status)).toEqual([200, 200]);
    store.query_ = async () => ({ ok: true, rows: [] });
    expect((await client.get(TICKS)).status).toBe(200);
  });

  it("is reduced by callers who leave, and their queries end", async () => {
    const store = new ScriptedStore();
    let ended = 0;
    store.query_ = async ({ signal }) => {
      await aborted(signal);
      ended++;
      return failure("aborted");
    };
    const server = await start(store, { limits: { ...DEFAULT_READ_LIMITS, inFlightMax: 1 } });
    for (let round = 1; round <= 3; round++) {
      const socket = await slowReader(server, TICKS, "application/json");
      await expect.poll(() => store.asked.length).toBe(round);
      socket.destroy();
      await expect.poll(() => ended).toBe(round);
    }
    store.query_ = async () => ({ ok: true, rows: [] });
    expect((await server.client.get(TICKS)).status).toBe(200);
  });
});

describe("exports of history", () => {
  const LINE = `${"x".repeat(999)}\n`;
  const CHUNK = Buffer.from(LINE.repeat(512));

  /** Hands out chunks until `count`, or until the caller has left. */
  function streaming(store: ScriptedStore, count: number): { readonly given: number; readonly outcome: string } {
    const progress = { given: 0, outcome: "running" };
    store.stream_ = async ({ signal }, _, onChunk) => {
      for (let index = 0; index < count; index++) {
        if (signal?.aborted === true) {
          progress.outcome = "aborted";
          return { ...failure("aborted"), bytes: progress.given * CHUNK.length };
        }
        await onChunk(CHUNK);
        progress.given++;
      }
      progress.outcome = "done";
      return { ok: true, bytes: count * CHUNK.length };
    };
    return progress;
  }

  it("pass every byte on, in pieces of bounded size", async () => {
    const store = new ScriptedStore();
    const progress = streaming(store, 20);
    const { client, edge } = await start(store);
    const reply = await client.send(TICKS, { headers: { accept: "application/x-ndjson" } });
    expect(reply.text).toBe(LINE.repeat(512 * 20));
    expect(progress).toEqual({ given: 20, outcome: "done" });
    expect(edge.routes[0]).toMatchObject({ okCount: 1, abortedCount: 0 });
    expect(CHUNK.length).toBeGreaterThan(PIECE_BYTES);
  });

  it("wait for a reader that does not read, and send it everything once it does", async () => {
    const store = new ScriptedStore();
    const total = 200;
    const progress = streaming(store, total);
    const server = await start(store);
    const socket = await slowReader(server, TICKS, "application/x-ndjson");
    // Only the system's sockets hold data ahead of the reader: the export pauses well before the end.
    let seen = -1;
    await expect
      .poll(
        () => {
          const still = progress.given === seen && progress.given > 0;
          seen = progress.given;
          return still;
        },
        { interval: 100 },
      )
      .toBe(true);
    expect(progress.given * CHUNK.length).toBeLessThan(0.5 * total * CHUNK.length);
    expect(process.memoryUsage().external).toBeLessThan(64 << 20);
    const { text, complete } = await readAll(socket);
    expect(complete).toBe(true);
    expect(text.split("\n").filter((line) => line.endsWith("xxxx")).length).toBe(512 * total);
    expect(progress.outcome).toBe("done");
  });

  it("end the query when the reader leaves", async () => {
    const store = new ScriptedStore();
    const progress = streaming(store, 100_000);
    const server = await start(store);
    const socket = await slowReader(server, TICKS, "text/csv");
    await expect.poll(() => progress.given).toBeGreaterThan(0);
    socket.destroy();
    await expect.poll(() => progress.outcome).toBe("aborted");
    await expect.poll(() => server.edge.routes[0]?.abortedCount).toBe(1);
    // Counted once: a reply that was never complete is no 200.
    expect(server.edge.routes[0]?.okCount).toBe(0);
  });

  it("are cut when their key is revoked, also where the reader waits, and no other key's", async () => {
    const store = new ScriptedStore();
    const progress = streaming(store, 100_000);
    const auth = createTestAuth();
    const server = await startHistoryServer(store, {}, auth);
    servers.push(server);
    const readAs = async (key: TestKey): Promise<Socket> => {
      const socket = await rawGet(server.port, TICKS, "text/csv", signed(key, { target: TICKS }));
      sockets.push(socket);
      return socket;
    };
    const socket = await readAs(ALICE);
    await expect.poll(() => progress.given).toBeGreaterThan(0);
    auth.revoke(BOB.keyId);
    expect(progress.outcome).not.toBe("aborted");
    auth.revoke(ALICE.keyId);
    await expect.poll(() => progress.outcome).toBe("aborted");
    expect((await readAll(socket)).complete).toBe(false);
    expect(server.edge.routes[0]).toMatchObject({ okCount: 0, abortedCount: 1 });
  });

  it("that have not begun are refused when their key is revoked", async () => {
    const store = new ScriptedStore();
    store.query_ = async ({ signal }) => {
      await aborted(signal);
      return failure("aborted");
    };
    const auth = createTestAuth();
    const server = await startHistoryServer(store, {}, auth);
    servers.push(server);
    const asked = server.client.send(TICKS, { headers: signed(ALICE, { target: TICKS }) });
    await expect.poll(() => store.asked.length).toBe(1);
    auth.revoke(ALICE.keyId);
    const reply = await asked;
    expect([reply.status, codeOf(reply.body)]).toEqual([401, "KEY_REVOKED"]);
  });

  it("disconnect a reader that takes nothing for too long", async () => {
    const store = new ScriptedStore();
    const progress = streaming(store, 100_000);
    const server = await start(store, { limits: { ...DEFAULT_READ_LIMITS, stallMs: 50 } });
    const socket = await slowReader(server, TICKS, "text/csv");
    await expect.poll(() => progress.outcome).toBe("aborted");
    expect((await readAll(socket)).complete).toBe(false);
    expect(server.edge.routes[0]).toMatchObject({ okCount: 0, abortedCount: 1 });
  });

  it("are cut, never completed, when the store fails in the middle", async () => {
    const store = new ScriptedStore();
    store.stream_ = async (_, __, onChunk) => {
      await onChunk(CHUNK);
      return { ...failure("too-large"), bytes: CHUNK.length };
    };
    const server = await start(store);
    const { text, complete } = await readAll(await slowReader(server, TICKS, "text/csv"));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(complete).toBe(false);
    expect(server.logLines.join()).toContain('"reason":"TOO_LARGE"');
    // The server works as before.
    expect((await server.client.send("/api/history/trades?symbol=BTC")).status).toBe(200);
  });

  it("cover the whole range where no limit is given, read on from page to page", async () => {
    for (const [accept, formats] of [
      ["text/csv", ["CSVWithNames", "CSV", "CSV"]],
      ["application/x-ndjson", ["JSONEachRow", "JSONEachRow", "JSONEachRow"]],
    ] as const) {
      const store = new ScriptedStore();
      const ends = [[tick(9), tick(8)], [tick(5), tick(4)], [tick(3)]];
      let pageCount = 0;
      const asked: string[] = [];
      store.query_ = async () => ({ ok: true, rows: ends[pageCount++] ?? [] });
      store.stream_ = async (_, { format }, onChunk) => {
        asked.push(format);
        const lines = Buffer.from(`page ${asked.length}\n`);
        await onChunk(lines);
        return { ok: true, bytes: lines.length };
      };
      const { client } = await start(store);
      const reply = await client.send(TICKS, { headers: { accept } });
      expect([reply.status, reply.text, reply.headers["x-next-cursor"]]).toEqual([
        200,
        "page 1\npage 2\npage 3\n",
        undefined,
      ]);
      expect(asked).toEqual(formats);
      // Each begins strictly after the last row of the previous one.
      expect(store.asked.map(({ params }) => [params["after2"], params["last2"]])).toEqual([
        [undefined, undefined],
        [undefined, "9"],
        ["9", undefined],
        ["9", "5"],
        ["5", undefined],
        ["5", "3"],
      ]);
    }
  });

  it("are cut, never completed, when a later page of the range cannot be found", async () => {
    const store = new ScriptedStore();
    let pageCount = 0;
    store.query_ = async () => (pageCount++ === 0 ? { ok: true, rows: [tick(9), tick(8)] } : failure("timeout"));
    store.stream_ = async (_, __, onChunk) => {
      await onChunk(CHUNK);
      return { ok: true, bytes: CHUNK.length };
    };
    const server = await start(store);
    const { text, complete } = await readAll(await slowReader(server, TICKS, "text/csv"));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(complete).toBe(false);
    expect(server.logLines.join()).toContain('"reason":"TIMEOUT"');
  });

  it("send the next cursor in a header, and read no further than to it", async () => {
    const store = new ScriptedStore();
    store.query_ = async () => ({ ok: true, rows: [tick(5), tick(4)] });
    const { client } = await start(store);
    const reply = await client.send(`${TICKS}&limit=2000`, { headers: { accept: "text/csv" } });
    const cursor = reply.headers["x-next-cursor"] as string;
    expect(store.asked[0]?.params).toMatchObject({ skip: 1999 });
    expect(store.asked[1]?.params).toMatchObject({ last2: "5", limit: 4000 });
    await client.send(`/api/history/ticks?limit=2000&cursor=${cursor}`, {
      headers: { accept: "application/x-ndjson" },
    });
    expect(store.asked[2]?.params).toMatchObject({ after2: "5" });
    store.query_ = async () => ({ ok: true, rows: [tick(5)] });
    const last = await client.send(TICKS, { headers: { accept: "text/csv" } });
    expect(last.headers["x-next-cursor"]).toBeUndefined();
  });
});
