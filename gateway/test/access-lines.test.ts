/**
 * One line at info per request that may change something: by its X-Request-Id, without anything that the caller sent.
 */
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

const SECRET = "c0ffee".repeat(12);
const CLOSE_PATH = "/api/trade/position/close";
const CLOSE = {
  symbol: "BTC",
  direction: "LONG",
  size: "0.25",
  credentials: {
    venueone: { privateKey: SECRET },
    venuetwo: { apiKey: SECRET, apiSecret: SECRET, walletAddress: "0xw" },
  },
};
const JSON_TYPE = { "Content-Type": "application/json" };

/** Turns of the event loop, not time: what is waited for needs a handful. */
const LOOKS_MAX = 2000;

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(async () => {
  await harness.stop();
});
beforeEach(() => {
  harness.refreshBooks();
  harness.one.placeMode = "fill";
  harness.logLines.length = 0;
});

const lines = () =>
  harness.logLines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ event }) => event === "http.access");

async function closesInFlight(): Promise<number> {
  const { body } = await harness.client.get("/api/status");
  return (body as { data: { closesInFlight: number } }).data.closesInFlight;
}

/** Each look is a request of its own, so the server's event loop turns between two of them. */
async function untilAsync(holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) if (await holds()) return;
  throw new Error("it did not come to that");
}

describe("requests that may change something", () => {
  it("leave one line each, with the id that the reply carries and the time it took", async () => {
    const reply = await harness.client.send(CLOSE_PATH, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify(CLOSE),
    });
    expect(reply.status).toBe(200);
    expect(lines()).toEqual([
      {
        level: 30,
        time: expect.any(String) as string,
        event: "http.access",
        requestId: reply.headers["x-request-id"],
        method: "POST",
        route: CLOSE_PATH,
        status: 200,
        elapsedMs: expect.any(Number) as number,
      },
    ]);
    expect(lines()[0]?.["elapsedMs"]).toBeGreaterThan(0);
  });

  it("say by which code they were refused, and the route instead of the path that was asked for", async () => {
    const refused = await harness.client.send(`${CLOSE_PATH}?key=${SECRET}`, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify({ ...CLOSE, size: "0" }),
    });
    const typed = await harness.client.send(CLOSE_PATH, {
      method: "POST",
      body: "x",
      headers: { "Content-Type": "text/plain" },
    });
    expect([refused.status, typed.status]).toEqual([400, 415]);
    expect(lines()).toMatchObject([
      { requestId: refused.headers["x-request-id"], status: 400, code: "INVALID_PARAMETERS", route: CLOSE_PATH },
      { requestId: typed.headers["x-request-id"], status: 415, code: "UNSUPPORTED_MEDIA_TYPE" },
    ]);
    expect(harness.logLines.join("")).not.toContain(SECRET);
  });

  it("are also written when the client left before the reply", async () => {
    harness.one.placeMode = "hang";
    harness.two.placeMode = "hang";
    const body = JSON.stringify(CLOSE);
    const { hostname, port, host } = new URL(harness.server.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(
      `POST ${CLOSE_PATH} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await untilAsync(async () => (await closesInFlight()) === 1);
    socket.resetAndDestroy();
    await untilAsync(async () => (await closesInFlight()) === 1 && lines().length > 0);
    expect(lines()).toMatchObject([{ method: "POST", route: CLOSE_PATH, outcome: "aborted" }]);
    expect(lines()[0]).not.toHaveProperty("status");
    harness.one.release();
    harness.two.release();
  });
});

describe("requests that change nothing", () => {
  it("leave no line: reads, preflights, and what is no operation", async () => {
    for (const path of ["/api/trading/ticker/BTC", "/api/status", "/health", "/api/trade/routing/BTC?side=SELL&size=1"])
      expect((await harness.client.get(path)).status).toBe(200);
    await harness.client.send(CLOSE_PATH, { method: "OPTIONS" });
    await harness.client.send(CLOSE_PATH, { method: "PUT", outside: true });
    await harness.client.send("/nowhere", { method: "POST", outside: true });
    expect(lines()).toEqual([]);
  });
});
