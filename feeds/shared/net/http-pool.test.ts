/** The pool over real connections on loopback and a virtual clock: a deadline passes when a test advances it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { readFailureOf } from "./call-results.js";
import { CallerStanding } from "./caller-standing.js";
import type { HttpRequest } from "./http.js";
import { HttpPool, type HttpPoolOptions } from "./http-pool.js";

const closers: (() => Promise<void> | void)[] = [];
let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server | TcpServer): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  // A connection that the pool keeps is never closed under it.
  server.keepAliveTimeout = 0;
  return listen(server);
}

function poolFor(baseUrl: string, overrides: Partial<HttpPoolOptions> = {}): HttpPool {
  const pool = new HttpPool({
    name: "test",
    baseUrl,
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    budget: 1_200,
    budgetWindowMs: 60_000,
    accountLimits: [],
    // undici's own, on real time.
    connectTimeoutMs: 60_000,
    ...overrides,
  });
  closers.push(() => close(pool, 0));
  return pool;
}

function close(pool: HttpPool, graceMs: number): Promise<void> {
  const closed = pool.close(graceMs);
  clock.advance(graceMs);
  return closed;
}

function post(overrides: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: "POST",
    path: "/info?x=1",
    headers: { "content-type": "application/json" },
    body: '{"type":"meta"}',
    lane: "read",
    weight: 1,
    timeoutMs: 5_000,
    account: null,
    accountWeight: 0,
    ...overrides,
  };
}

describe("answers", () => {
  it("sends method, path, headers and body as given, and returns status, lower-case headers and body", async () => {
    let seen = "";
    const url = await serve((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        seen = `${request.method} ${request.url} ${request.headers["content-type"]} ${body}`;
        response.writeHead(418 - 218, { "X-Mbx-Used-Weight-1M": "77", "Content-Type": "text/plain" });
        response.end("grüße");
      });
    });
    const result = await poolFor(url).request(post());
    expect(seen).toBe('POST /info?x=1 application/json {"type":"meta"}');
    expect(result).toMatchObject({ kind: "response", status: 200, body: "grüße" });
    if (result.kind !== "response") return;
    expect(result.headers["x-mbx-used-weight-1m"]).toBe("77");
    expect(result.receivedAtMs).toBeGreaterThanOrEqual(result.sentAtMs);
  });

  it("reuses connections and keeps to their bound", async () => {
    let connections = 0;
    const server = createServer((_request, response) => response.end("ok"));
    server.on("connection", () => connections++);
    const pool = poolFor(await listen(server), { connections: 3, exitConnections: 1 });
    const results = await Promise.all(Array.from({ length: 40 }, () => pool.request(post())));
    expect(results.every((result) => result.kind === "response")).toBe(true);
    expect(connections).toBeLessThanOrEqual(3);
    expect(pool.stats().sentCount).toBe(40);
  });

  it("takes a body larger than its bound for unknown, not for an answer", async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200);
      response.end(Buffer.alloc(200_000, 0x61));
    });
    expect(await poolFor(url, { maxBodyBytes: 100_000 }).request(post())).toEqual({
      kind: "noResponse",
      reason: "BODY_TOO_LARGE",
    });
    expect(await poolFor(url, { maxBodyBytes: 200_000 }).request(post())).toMatchObject({
      kind: "response",
      status: 200,
    });
  });
});

describe("what left this machine", () => {
  it("is nothing when no connection comes about", async () => {
    // A port that nobody is given by chance.
    const pool = poolFor("http://127.0.0.1:1");
    expect(await pool.request(post())).toMatchObject({ kind: "notSent", reason: "CONNECT_FAILED" });
  });

  it("is unknown when the server takes the request and closes without an answer", async () => {
    let bytes = 0;
    const url = await listen(
      createTcpServer((socket) => {
        socket.on("data", (chunk) => {
          bytes += chunk.length;
          socket.destroy();
        });
      }),
    );
    expect(await poolFor(url).request(post())).toEqual({ kind: "noResponse", reason: "CONNECTION_LOST" });
    expect(bytes).toBeGreaterThan(0);
  });

  it("is unknown when half an answer came", async () => {
    const url = await listen(
      createTcpServer((socket) => {
        socket.on("data", () => {
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
          socket.end();
        });
      }),
    );
    expect(await poolFor(url).request(post())).toEqual({ kind: "noResponse", reason: "CONNECTION_LOST" });
  });

  it("is unknown when the answer is not HTTP", async () => {
    const url = await listen(createTcpServer((socket) => socket.on("data", () => socket.end("garbage\r\n\r\n"))));
    expect(await poolFor(url).request(post())).toEqual({ kind: "noResponse", reason: "CONNECTION_LOST" });
  });

  it("is unknown when a kept-alive connection is reset under the next request, and that is never sent again", async () => {
    const bodies: string[] = [];
    const url = await listen(
      createTcpServer((socket) => {
        let text = "";
        socket.on("data", (chunk) => {
          text += chunk.toString();
          const body = ["first", "order", "later"].find((known) => text.endsWith(`\r\n\r\n${known}`));
          if (body === undefined) return;
          text = "";
          bodies.push(body);
          if (body === "order") socket.resetAndDestroy();
          else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok");
        });
      }),
    );
    const pool = poolFor(url, { connections: 1 });
    expect(await pool.request(post({ body: "first" }))).toMatchObject({ kind: "response", body: "ok" });
    expect(await pool.request(post({ body: "order" }))).toEqual({ kind: "noResponse", reason: "CONNECTION_LOST" });
    // On the only connection there is, whatever is still to be sent goes out before this.
    expect(await pool.request(post({ body: "later" }))).toMatchObject({ kind: "response", body: "ok" });
    expect(bodies).toEqual(["first", "order", "later"]);
  });

  it("is unknown at the deadline once written, and the deadline holds", async () => {
    let arrivedCount = 0;
    let tellArrived: () => void = () => {};
    const arrived = new Promise<void>((resolve) => (tellArrived = resolve));
    const url = await serve(() => {
      arrivedCount++;
      tellArrived();
    });
    let isOver = false;
    const result = poolFor(url)
      .request(post({ timeoutMs: 1_000 }))
      .finally(() => (isOver = true));
    await arrived;
    await clock.advanceAsync(999);
    expect(isOver).toBe(false);
    clock.advance(1);
    expect(await result).toEqual({ kind: "noResponse", reason: "TIMEOUT" });
    expect(arrivedCount).toBe(1);
  });

  it("is nothing when the deadline passes while the call waits for a connection, and it never goes out later", async () => {
    const paths: string[] = [];
    let answerHeld: () => void = () => {};
    let tellArrived: () => void = () => {};
    const arrived = new Promise<void>((resolve) => (tellArrived = resolve));
    const url = await serve((request, response) => {
      paths.push(request.url ?? "");
      if (request.url === "/held") {
        answerHeld = () => void response.end("ok");
        tellArrived();
      } else response.end("ok");
    });
    const pool = poolFor(url, { connections: 2, exitConnections: 1 });
    const held = pool.request(post({ path: "/held", lane: "read" }));
    const late = pool.request(post({ path: "/late", lane: "read", timeoutMs: 40 }));
    await arrived;
    clock.advance(40);
    expect(await late).toMatchObject({ kind: "notSent", reason: "RATE_BUDGET" });
    answerHeld();
    expect(await held).toMatchObject({ kind: "response" });
    expect(await pool.request(post({ path: "/next" }))).toMatchObject({ kind: "response" });
    expect(paths).toEqual(["/held", "/next"]);
  });

  it("is nothing when the loop was held up and a call is admitted only after its deadline", async () => {
    const paths: string[] = [];
    const url = await serve((request, response) => {
      paths.push(request.url ?? "");
      response.end("ok");
    });
    const pool = poolFor(url, { budget: 4, budgetWindowMs: 1_000 });
    expect(await pool.request(post({ path: "/first", lane: "exit", weight: 4 }))).toMatchObject({ kind: "response" });
    const late = pool.request(post({ path: "/late", lane: "exit", weight: 4, timeoutMs: 5_000 }));
    // The budget's timer is the first of all those that come due at once; what it admits goes on only after them.
    clock.advance(60_000);
    expect(await late).toEqual({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: null });
    expect(await pool.request(post({ path: "/next", lane: "exit", weight: 4 }))).toMatchObject({ kind: "response" });
    expect(paths).toEqual(["/first", "/next"]);
  });

  it("is nothing after close, also for calls that were waiting", async () => {
    const url = await serve(() => {});
    const pool = poolFor(url, { connections: 2, exitConnections: 1 });
    const running = pool.request(post({ timeoutMs: 60_000 }));
    const queued = pool.request(post({ timeoutMs: 60_000 }));
    await close(pool, 20);
    expect(await queued).toMatchObject({ kind: "notSent", reason: "CLOSED" });
    expect((await running).kind).not.toBe("response");
    expect(await pool.request(post())).toEqual({ kind: "notSent", reason: "CLOSED", retryAfterMs: null });
  });
});

describe("limits", () => {
  it("lets an exit call through while slow reads hold every other connection", async () => {
    const url = await serve((request, response) => {
      if (request.url === "/exchange") response.end("done");
    });
    const pool = poolFor(url, { connections: 3, exitConnections: 1 });
    let endedReads = 0;
    const reads = Array.from({ length: 10 }, () =>
      pool.request(post({ timeoutMs: 400 })).finally(() => (endedReads += 1)),
    );
    const exit = await pool.request(post({ path: "/exchange", lane: "exit" }));
    expect(exit).toMatchObject({ kind: "response", body: "done" });
    expect(endedReads).toBe(0);
    clock.advance(400);
    await Promise.all(reads);
  });

  it("opens the breaker on 429 for Retry-After and refuses without sending", async () => {
    let hits = 0;
    const url = await serve((_request, response) => {
      hits++;
      response.writeHead(429, { "retry-after": "30" });
      response.end("null");
    });
    const pool = poolFor(url);
    expect(await pool.request(post())).toMatchObject({ kind: "response", status: 429, body: "null" });
    const refused = await pool.request(post({ lane: "exit" }));
    expect(refused).toMatchObject({ kind: "notSent", reason: "VENUE_LIMIT" });
    expect(pool.limitedForMs).toBeGreaterThanOrEqual(29_000);
    if (refused.kind === "notSent") {
      expect(refused.retryAfterMs).toBeGreaterThanOrEqual(30_000);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(33_000);
    }
    expect(hits).toBe(1);
    expect(pool.stats()).toMatchObject({ breaker: "open", limitedCount: 1 });
  });

  it("limits one account without touching others when the reply names it", async () => {
    const url = await serve((request, response) => {
      response.writeHead(request.url === "/order" ? 429 : 200);
      response.end("");
    });
    const pool = poolFor(url, {
      judgeLimit: (response) =>
        response.status === 429 ? { scope: "account", retryAfterMs: 9_000, isBan: false } : null,
    });
    const order = { path: "/order", lane: "trade", account: "a", accountWeight: 1 } as const;
    expect(await pool.request(post(order))).toMatchObject({ status: 429 });
    expect(await pool.request(post(order))).toMatchObject({ kind: "notSent", reason: "RATE_BUDGET" });
    expect(await pool.request(post({ ...order, account: "b" }))).toMatchObject({ status: 429 });
    expect(pool.stats().breaker).toBe("closed");
  });

  it("marks a limit as one account's, whether the venue found it or our own count", async () => {
    const url = await serve((request, response) => {
      response.writeHead(request.url === "/order" ? 429 : 200);
      response.end("");
    });
    const pool = poolFor(url, {
      accountLimits: [{ limit: 4, windowMs: 60_000 }],
      judgeLimit: (response) =>
        response.status === 429 ? { scope: "account", retryAfterMs: 9_000, isBan: false } : null,
    });
    const read = { account: "a", weight: 0, accountWeight: 3 } as const;
    expect(await pool.request(post(read))).not.toHaveProperty("isAccountLimit");
    const refused = await pool.request(post(read));
    expect(refused).toMatchObject({ kind: "notSent", reason: "RATE_BUDGET", isAccountLimit: true });
    expect(readFailureOf(refused)).toMatchObject({ code: "RATE_LIMITED", isAccountLimit: true });
    const limited = await pool.request(post({ ...read, path: "/order", account: "b" }));
    expect(limited).toMatchObject({ status: 429, isAccountLimit: true });
  });

  it("keeps a quarter of an account's budget for its exits, whatever its reads and entries spend", async () => {
    const url = await serve((_request, response) => response.end("{}"));
    const pool = poolFor(url, { accountLimits: [{ limit: 8, windowMs: 60_000 }] });
    const call = { account: "key", weight: 0, accountWeight: 1 } as const;
    const ends = [];
    for (const lane of ["read", "trade", "read", "trade", "read", "trade", "read", "trade"] as const)
      ends.push((await pool.request(post({ ...call, lane }))).kind);
    expect(ends).toEqual([...Array.from({ length: 6 }, () => "response"), "notSent", "notSent"]);
    expect(pool.accountWaitMs("key", 1, "trade")).toBeGreaterThan(0);
    expect(pool.accountWaitMs("key", 1, "exit")).toBe(0);
    for (let count = 0; count < 2; count++)
      expect(await pool.request(post({ ...call, lane: "exit" }))).toMatchObject({ status: 200 });
    expect(await pool.request(post({ ...call, lane: "exit" }))).toMatchObject({ reason: "RATE_BUDGET" });
  });

  it("spends nothing of an account for a call that its lane refuses", async () => {
    const url = await serve((_request, response) => response.end("{}"));
    const pool = poolFor(url, { budget: 100, accountLimits: [{ limit: 2, windowMs: 600_000 }] });
    const order = { lane: "exit", account: "a", accountWeight: 1 } as const;
    expect(await pool.request(post({ lane: "exit", weight: 100 }))).toMatchObject({ status: 200 });
    const late = [pool.request(post({ ...order, timeoutMs: 500 })), pool.request(post({ ...order, timeoutMs: 500 }))];
    clock.advance(500);
    for (const end of await Promise.all(late)) expect(end).toMatchObject({ kind: "notSent", reason: "RATE_BUDGET" });
    clock.advance(62_500);
    for (let count = 0; count < 2; count++) expect(await pool.request(post(order))).toMatchObject({ status: 200 });
  });

  it("spends nothing of a lane for a call whose account is spent when its turn comes", async () => {
    let answer: () => void = () => {};
    let held = true;
    const url = await serve((_request, response) => {
      if (held) answer = () => response.end("{}");
      else response.end("{}");
    });
    const pool = poolFor(url, { connections: 2, exitConnections: 1, accountLimits: [{ limit: 1, windowMs: 60_000 }] });
    const first = pool.request(post({ weight: 10 }));
    const order = { lane: "trade", account: "a", accountWeight: 1, weight: 10 } as const;
    const waiting = [pool.request(post(order)), pool.request(post(order))];
    held = false;
    while (pool.stats().sentCount === 0) {
      answer();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await first;
    expect(await waiting[0]).toMatchObject({ status: 200 });
    expect(await waiting[1]).toMatchObject({ kind: "notSent", reason: "RATE_BUDGET" });
    expect(pool.stats().laneTokens.exit).toBe(1_200 - 20);
  });

  it("spends nothing of an account where no connection to the venue is made", async () => {
    const pool = poolFor("http://127.0.0.1:9", { accountLimits: [{ limit: 1, windowMs: 60_000 }] });
    const order = { lane: "exit", account: "a", accountWeight: 1 } as const;
    expect(await pool.request(post(order))).toMatchObject({ kind: "notSent", reason: "CONNECT_FAILED" });
    expect(pool.accountWaitMs("a", 1, "exit")).toBe(0);
  });

  it("takes the venue's used weight for the truth and charges what only the answer reveals", async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { "x-used": "1190" });
      response.end("[1,2,3]");
    });
    const used = poolFor(url, { usedWeight: (headers) => Number(headers["x-used"]) });
    await used.request(post());
    expect(used.stats().laneTokens.exit).toBe(10);
    const rows = poolFor(url, { extraWeight: () => 100 });
    await rows.request(post({ lane: "exit" }));
    expect(rows.stats().laneTokens.exit).toBe(1_200 - 101);
  });

  it("opens after failures in a row, and a probe closes it once the venue is back", async () => {
    let isBroken = true;
    const url = await serve((_request, response) => {
      response.writeHead(isBroken ? 502 : 200);
      response.end("");
    });
    const pool = poolFor(url, { breaker: { failureThreshold: 3, backoff: { baseMs: 20, capMs: 40 } } });
    for (let count = 0; count < 3; count++) await pool.request(post());
    expect(pool.stats().breaker).not.toBe("closed");
    isBroken = false;
    clock.advance(40);
    expect(await pool.request(post())).toMatchObject({ kind: "response", status: 200 });
    expect(pool.stats().breaker).toBe("closed");
  });
});

describe("what counts against the venue", () => {
  const stranger = (more: Partial<HttpRequest> = {}) => post({ lane: "exit", caller: "stranger", ...more });

  it("are failures of the venue, not those that strangers' calls have", async () => {
    const url = await serve((_request, response) => {
      response.writeHead(503);
      response.end();
    });
    const standing = new CallerStanding(clock);
    const pool = poolFor(url, { standing });
    for (let call = 0; call < 20; call++) await pool.request(stranger({ caller: `stranger ${call}` }));
    expect(pool.breaker).toBe("closed");
    standing.answeredWell("trader");
    for (let call = 0; call < 8; call++) await pool.request(stranger({ caller: "trader" }));
    expect(pool.breaker).toBe("open");
  });

  it("is no answer to a stranger who gave no time for one", async () => {
    const url = await serve(() => {});
    const pool = poolFor(url, { standing: new CallerStanding(clock) });
    for (let call = 0; call < 12; call++) {
      const answer = pool.request(stranger({ caller: `stranger ${call}`, timeoutMs: 250 }));
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(250);
      expect(["noResponse", "notSent"]).toContain((await answer).kind);
    }
    expect(pool.breaker).toBe("closed");
  });

  it("lets a stranger find out that the venue is well again, and not that it is not", async () => {
    let status = 503;
    const url = await serve((_request, response) => {
      response.writeHead(status);
      response.end("{}");
    });
    const pool = poolFor(url, { standing: new CallerStanding(clock) });
    for (let call = 0; call < 8; call++) await pool.request(post());
    clock.advance(10_000);
    expect(pool.breaker).toBe("halfOpen");
    await pool.request(stranger());
    expect(pool.breaker).toBe("halfOpen");
    status = 200;
    await pool.request(stranger());
    expect(pool.breaker).toBe("closed");
  });

  it("lets a known caller find it out while a stranger still waits to", async () => {
    let status = 503;
    let heldArrived = (): void => {};
    const held = new Promise<void>((resolve) => {
      heldArrived = resolve;
    });
    const url = await serve((request, response) => {
      if (request.url === "/held") return heldArrived();
      response.writeHead(status);
      response.end("{}");
    });
    const standing = new CallerStanding(clock);
    standing.answeredWell("trader");
    const pool = poolFor(url, { standing });
    for (let call = 0; call < 8; call++) await pool.request(post());
    status = 200;
    clock.advance(10_000);
    expect(pool.breaker).toBe("halfOpen");
    const waiting = pool.request(stranger({ path: "/held", timeoutMs: 30_000 }));
    await held;
    expect(await pool.request(stranger({ caller: "another" }))).toMatchObject({ reason: "BREAKER_OPEN" });
    expect(await pool.request(stranger({ caller: "trader" }))).toMatchObject({ kind: "response", status: 200 });
    expect(pool.breaker).toBe("closed");
    clock.advance(30_000);
    await waiting;
  });
});

describe("the connections that strangers share", () => {
  it("do not grow when one of those who wait for them becomes known", async () => {
    const url = await serve((request, response) => {
      if (request.url === "/answered") response.end("{}");
    });
    const standing = new CallerStanding(clock);
    const pool = poolFor(url, { standing, connections: 8 });
    const ask = (caller: string, path: string, timeoutMs = 60_000) =>
      pool.request(post({ lane: "exit", caller, path, timeoutMs }));
    // A quarter of eight.
    const held = [ask("first", "/held"), ask("second", "/held")];
    const waiting = ask("newcomer", "/answered");
    standing.answeredWell("newcomer");
    expect((await waiting).kind).toBe("response");
    const third = ask("third", "/held", 1_000);
    clock.advance(1_000);
    expect(await third).toMatchObject({ kind: "notSent", reason: "RATE_BUDGET" });
    clock.advance(60_000);
    await Promise.all(held);
  });
});
