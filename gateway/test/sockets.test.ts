/** The server on raw sockets: bodies in pieces, pipelining, aborts, limits, garbage. */
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_SERVER_OPTIONS, type Harness, startHarness } from "./harness.js";

const HOST = "Host: localhost\r\nContent-Type: application/json\r\n";
const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const VALID = JSON.stringify({
  symbol: "BTC",
  direction: "LONG",
  size: "0.25",
  dryRun: true,
  credentials: CREDENTIALS,
});

let harness: Harness;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  harness = await startHarness({ server: { bodyDeadlineMs: 60_000, bodyBytesMax: 4096 } });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await harness.stop();
});

interface RawConnection {
  readonly socket: Socket;
  /** Everything received so far. */
  text(): string;
  /** Resolves when `count` whole replies have arrived. */
  replies(count: number): Promise<{ status: number; headers: string; body: string }[]>;
  readonly closed: Promise<void>;
}

function open(): Promise<RawConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect(harness.server.port, "127.0.0.1");
    sockets.push(socket);
    let received = "";
    const waiters = new Set<() => void>();
    const wake = () => {
      for (const waiter of waiters) waiter();
    };
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      wake();
    });
    const closed = new Promise<void>((done) => socket.on("close", () => done()));
    socket.on("error", () => {
      // A reset is one of the expected ends; `closed` tells.
    });
    socket.once("error", reject);
    socket.once("connect", () =>
      resolve({
        socket,
        text: () => received,
        closed,
        replies: (count) =>
          new Promise((done) => {
            const look = () => {
              const parsed = parseReplies(received);
              if (parsed.length < count) return;
              waiters.delete(look);
              done(parsed);
            };
            waiters.add(look);
            look();
          }),
      }),
    );
  });
}

function parseReplies(text: string): { status: number; headers: string; body: string }[] {
  const replies = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return replies;
    const headers = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(headers)?.[1] ?? 0);
    if (rest.length < end + 4 + length) return replies;
    replies.push({ status: Number(headers.slice(9, 12)), headers, body: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
}

function post(body: string, headers = ""): string {
  return `POST /api/trade/position/close HTTP/1.1\r\n${HOST}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function code(reply: { body: string } | undefined): string {
  return (JSON.parse(reply?.body ?? "{}") as { code: string }).code;
}

describe("bodies in pieces", () => {
  // From the end of the request line on: the server's parser refuses a line that itself arrives in pieces (see
  // docs/configuration.md, "What the HTTP server itself decides").
  it("gives the same reply however headers and body are cut", async () => {
    const whole = post(VALID);
    const line = whole.indexOf("\r\n") + 2;
    for (const size of [1, 7, 64, 200]) {
      const raw = await open();
      raw.socket.setNoDelay(true);
      raw.socket.write(whole.slice(0, line));
      for (let index = line; index < whole.length; index += size) {
        raw.socket.write(whole.slice(index, index + size));
        // Gives the loop a turn, so that the pieces really arrive apart.
        await new Promise((resolve) => setImmediate(resolve));
      }
      const [reply] = await raw.replies(1);
      expect([size, reply?.status]).toEqual([size, 200]);
      expect(reply?.body).toContain('"SIMULATED"');
    }
  });

  it("takes chunked bodies and enforces the limit on them", async () => {
    const raw = await open();
    const head = `POST /api/trade/position/close HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`;
    raw.socket.write(`${head}${VALID.length.toString(16)}\r\n${VALID}\r\n0\r\n\r\n`);
    expect((await raw.replies(1))[0]?.status).toBe(200);
    const large = await open();
    large.socket.write(`${head}${(5000).toString(16)}\r\n${"x".repeat(5000)}\r\n0\r\n\r\n`);
    const [reply] = await large.replies(1);
    expect([reply?.status, code(reply)]).toEqual([413, "BODY_TOO_LARGE"]);
  });

  it("refuses an announced length beyond the limit with 413 before the body comes, and closes", async () => {
    const raw = await open();
    raw.socket.write(`POST /api/trade/position/close HTTP/1.1\r\n${HOST}Content-Length: 4097\r\n\r\n`);
    const [reply] = await raw.replies(1);
    expect([reply?.status, code(reply)]).toEqual([413, "BODY_TOO_LARGE"]);
    await raw.closed;
  });

  it("accepts a body of exactly the limit", async () => {
    const raw = await open();
    raw.socket.write(post(VALID.padEnd(4096, " ")));
    expect((await raw.replies(1))[0]?.status).toBe(200);
  });

  it("answers 408 when the body does not arrive in time, and closes", async () => {
    await harness.stop();
    harness = await startHarness({ server: { bodyDeadlineMs: 300 } });
    const raw = await open();
    raw.socket.write(post(VALID).slice(0, -5));
    const [reply] = await raw.replies(1);
    expect([reply?.status, code(reply)]).toEqual([408, "REQUEST_TIMEOUT"]);
    await raw.closed;
  });

  it("answers an Expect: 100-continue", async () => {
    const raw = await open();
    raw.socket.write(
      `POST /api/trade/position/close HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: ${VALID.length}\r\n\r\n`,
    );
    await raw.replies(1);
    expect(raw.text()).toMatch(/^HTTP\/1\.1 100 Continue/);
    raw.socket.write(VALID);
    expect((await raw.replies(2))[1]?.status).toBe(200);
  });
});

describe("pipelining", () => {
  it("answers many requests of one segment in order", async () => {
    const raw = await open();
    const paths = Array.from({ length: 40 }, (_, index) =>
      index % 3 === 0 ? "/api/time" : index % 3 === 1 ? "/nope" : "/api/trading/ticker/BTC",
    );
    raw.socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`).join(""));
    const replies = await raw.replies(40);
    expect(replies.map((reply) => reply.status)).toEqual(paths.map((path) => (path === "/nope" ? 404 : 200)));
  });

  it("answers refused closes of one segment in order, with a read between them", async () => {
    const raw = await open();
    raw.socket.write(`${post("{")}HEAD /api/time HTTP/1.1\r\n${HOST}\r\n${post("[]")}`);
    // The HEAD reply announces a length and has no body: the codes are read from the text.
    await until(() => raw.text().includes("INVALID_PARAMETERS"));
    expect([...raw.text().matchAll(/"code":"(\w+)"/g)].map((match) => match[1])).toEqual([
      "INVALID_JSON",
      "INVALID_PARAMETERS",
    ]);
  });

  it("ends the connection when a request follows a close that has no reply yet; the close goes on and its key returns the reply", async () => {
    harness.one.placeMode = "hang";
    const body = JSON.stringify({ symbol: "BTC", direction: "LONG", size: "0.25", credentials: CREDENTIALS });
    const raw = await open();
    raw.socket.write(`${post(body, "Idempotency-Key: pipelined\r\n")}GET /api/time HTTP/1.1\r\n${HOST}\r\n`);
    await raw.closed;
    await untilAsync(
      async () =>
        ((await harness.client.get("/api/status")).body as { data: { closesInFlight: number } }).data.closesInFlight ===
        1,
    );
    harness.one.release();
    await untilAsync(async () => (await harness.client.close(body, { "idempotency-key": "pipelined" })).status === 200);
    const replay = await harness.client.close(body, { "idempotency-key": "pipelined" });
    expect([replay.status, replay.headers["idempotent-replayed"], harness.one.placed.length]).toEqual([200, "true", 1]);
  });
});

describe("aborts", () => {
  it("survives clients that leave at every point, and finishes a close whose caller left", async () => {
    const whole = post(VALID);
    for (let cut = 1; cut < whole.length; cut += 9) {
      const raw = await open();
      raw.socket.write(whole.slice(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      raw.socket.resetAndDestroy();
    }
    harness.one.placeMode = "hang";
    const raw = await open();
    raw.socket.write(post(JSON.stringify({ symbol: "BTC", direction: "LONG", size: "0.1", credentials: CREDENTIALS })));
    await untilAsync(
      async () =>
        ((await harness.client.get("/api/status")).body as { data: { closesInFlight: number } }).data.closesInFlight ===
        1,
    );
    raw.socket.resetAndDestroy();
    // The server must have seen the reset before the close ends, or it writes a reply in good faith: two round trips
    // on another connection are later than the reset in its event loop.
    for (let round = 0; round < 2; round++) await harness.client.get("/health");
    harness.one.release();
    await until(() => harness.one.placed.length === 1);
    await untilAsync(async () =>
      (await harness.client.get("/metrics")).text.includes(
        'unwind_http_requests_total{route="/api/trade/position/close",status="aborted"}',
      ),
    );
    expect((await harness.client.get("/health")).status).toBe(200);
    expect(harness.one.sessionsOpen()).toBe(0);
  });
});

describe("garbage", () => {
  it.each([
    ["TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
    ["binary", String.fromCharCode(...Array.from({ length: 256 }, (_, index) => index))],
    ["HTTP/1.0", "GET /health HTTP/1.0\r\n\r\n"],
    [
      "two lengths",
      `POST /api/trade/position/close HTTP/1.1\r\n${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    ],
    ["negative length", `POST /api/trade/position/close HTTP/1.1\r\n${HOST}Content-Length: -3\r\n\r\nabc`],
    ["length in words", `POST /api/trade/position/close HTTP/1.1\r\n${HOST}Content-Length: three\r\n\r\nabc`],
    [
      "bad chunk size",
      `POST /api/trade/position/close HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n`,
    ],
  ])("%s ends that connection and nothing else", async (_, bytes) => {
    const raw = await open();
    raw.socket.write(Buffer.from(bytes, "latin1"));
    raw.socket.end();
    await raw.closed;
    expect((await harness.client.get("/health")).status).toBe(200);
  });

  it("keeps a header injection attempt out of its reply headers", async () => {
    await harness.stop();
    harness = await startHarness({ server: { strictFields: false } });
    const raw = await open();
    raw.socket.write(post(JSON.stringify({ "x\r\nSet-Cookie: a=b": 1 })));
    const [reply] = await raw.replies(1);
    expect(reply?.headers).toContain("X-Ignored-Fields: x??Set-Cookie:?a=b");
    expect(reply?.headers).not.toMatch(/^Set-Cookie/im);
  });
});

describe("bounds", () => {
  it("refuses a close with 503 while too many run, nothing sent", async () => {
    await harness.stop();
    harness = await startHarness({ server: { closesInFlightMax: 2 } });
    harness.one.placeMode = "hang";
    const close = (size: string) =>
      harness.client.close({ symbol: "BTC", direction: "LONG", size, credentials: CREDENTIALS });
    const running = [close("0.1"), close("0.1")];
    await untilAsync(
      async () =>
        ((await harness.client.get("/api/status")).body as { data: { closesInFlight: number } }).data.closesInFlight ===
        2,
    );
    const third = await close("0.1");
    expect([third.status, third.headers["retry-after"], (third.body as { code: string }).code]).toEqual([
      503,
      "1",
      "OVERLOADED",
    ]);
    harness.one.release();
    expect((await Promise.all(running)).map((reply) => reply.status)).toEqual([200, 200]);
    expect(harness.one.placed.length).toBe(2);
  });

  it("refuses a body with 503 while too many are open", async () => {
    await harness.stop();
    harness = await startHarness({ server: { openBodiesMax: 1, bodyDeadlineMs: 60_000 } });
    const slow = await open();
    slow.socket.write(post(VALID).slice(0, -1));
    await untilAsync(async () => (await harness.client.get("/metrics")).text.includes("unwind_open_bodies 1"));
    const raw = await open();
    raw.socket.write(post(VALID));
    expect((await raw.replies(1))[0]?.status).toBe(503);
    slow.socket.write(VALID.slice(-1));
    expect((await slow.replies(1))[0]?.status).toBe(200);
  });
});

describe("shutdown", () => {
  it("stops listening, refuses new closes, waits for the one under way", async () => {
    harness.one.placeMode = "hang";
    const running = harness.client.close({ symbol: "BTC", direction: "LONG", size: "0.1", credentials: CREDENTIALS });
    await untilAsync(
      async () =>
        ((await harness.client.get("/api/status")).body as { data: { closesInFlight: number } }).data.closesInFlight ===
        1,
    );
    const kept = await open();
    kept.socket.write(`GET /health HTTP/1.1\r\n${HOST}\r\n`);
    await kept.replies(1);
    const stopped = harness.server.stop(60_000);
    kept.socket.write(post(VALID));
    const [, refused] = await kept.replies(2);
    expect([refused?.status, code(refused)]).toEqual([503, "SHUTTING_DOWN"]);
    await expect(open()).rejects.toThrow();
    harness.one.release();
    expect((await running).status).toBe(200);
    await stopped;
  });

  it("answers a close that has arrived whole and is not decided yet", async () => {
    await harness.stop();
    let onChecked = (): void => {};
    const closeDefaults = {
      ...DEFAULT_SERVER_OPTIONS.closeDefaults,
      get deadlineMs() {
        onChecked();
        return DEFAULT_SERVER_OPTIONS.closeDefaults.deadlineMs;
      },
    };
    harness = await startHarness({ server: { closeDefaults } });
    let stopped = Promise.resolve();
    // In the turn that brought the request, as a signal of the same poll would.
    onChecked = () => {
      onChecked = () => {};
      queueMicrotask(() => {
        stopped = harness.server.stop(60_000);
      });
    };
    const raw = await open();
    raw.socket.write(post(VALID.replace('"dryRun":true,', "")));
    await Promise.race([raw.replies(1), raw.closed]);
    await stopped;
    expect([raw.text().slice(0, 15), harness.one.placed.length]).toEqual(["HTTP/1.1 200 OK", 1]);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
