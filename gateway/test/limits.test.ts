/** Rate limits over the wire: headers on every reply, 429 with its body, exits not starved by anything else. */
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const CLOSE = { symbol: "BTC", direction: "LONG", size: "0.001", dryRun: true, credentials: CREDENTIALS };
/** One token an hour: what is spent in a test does not come back in it. */
const rule = (burst: number) => ({ perSecond: 1 / 3600, burst });

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness({
    server: { rateLimits: { read: rule(2), trade: rule(1), exit: rule(2), transfer: rule(2), anon: rule(10_000) } },
  });
});
afterEach(async () => {
  await harness.stop();
});

describe("rate limits", () => {
  it("count down in RateLimit and end in 429 with policy, window and retry time", async () => {
    const first = await harness.client.get("/api/trading/ticker/BTC");
    expect(first.headers["ratelimit-policy"]).toBe('"read";q=2;w=7200');
    expect(first.headers.ratelimit).toBe('"read";r=1;t=0');
    await harness.client.get("/api/book/BTC");
    const refused = await harness.client.get("/api/trading/ticker/BTC");
    expect([refused.status, refused.headers["ratelimit-policy"]]).toEqual([429, '"read";q=2;w=7200']);
    const { error, code, details } = refused.body as { error: string; code: string; details: { retryAfterMs: number } };
    expect([error, code]).toEqual(["Rate limit exceeded", "RATE_LIMITED"]);
    expect(details).toMatchObject({ policy: "read", limit: 2, windowSeconds: 7200 });
    const retry = Number(refused.headers["retry-after"]);
    expect(retry).toBe(Math.ceil(details.retryAfterMs / 1000));
    expect(retry).toBeGreaterThanOrEqual(Number(/t=(\d+)/.exec(refused.headers.ratelimit ?? "")?.[1]));
  });

  it("let a close spend exit tokens first, then trade tokens, and refuse it only when both are gone", async () => {
    const replies = [];
    for (let index = 0; index < 4; index++) replies.push(await harness.client.close(CLOSE));
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 429]);
    expect(replies.map((reply) => reply.headers.ratelimit?.split(";")[0])).toEqual([
      '"exit"',
      '"exit"',
      '"trade"',
      expect.stringMatching(/exit|trade/),
    ]);
    expect(replies[0]?.headers["ratelimit-policy"]).toBe('"exit";q=2;w=7200, "trade";q=1;w=3600');
  });

  it("do not let reads spend what closes need", async () => {
    for (let index = 0; index < 5; index++) await harness.client.get("/api/trading/ticker/BTC");
    expect((await harness.client.close(CLOSE)).status).toBe(200);
    expect((await harness.client.get("/health")).status).toBe(200);
  });

  it("charge the address for a request whose caller leaves before its credentials are read", async () => {
    const shows = async (text: string): Promise<boolean> => (await harness.client.get("/metrics")).text.includes(text);
    const socket = connect(harness.server.port, "127.0.0.1");
    const head = "POST /api/trade/position/close HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    socket.write(`${head}Content-Length: 100\r\n\r\n{`);
    while (!(await shows("unwind_open_bodies 1"))) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    while (!(await shows('status="aborted"} 1'))) await new Promise((resolve) => setImmediate(resolve));
    const { data } = (await harness.client.get("/api/limits")).body as {
      data: { buckets: { policy: string; remaining: number }[] };
    };
    expect(data.buckets.find((bucket) => bucket.policy === "exit")?.remaining).toBe(1);
  });

  it("show the caller's own remainder at /api/limits", async () => {
    await harness.client.get("/api/trading/ticker/BTC");
    const { data } = (await harness.client.get("/api/limits")).body as {
      data: { buckets: { policy: string; remaining: number }[]; weights: { path: string }[] };
    };
    expect(data.buckets.find((bucket) => bucket.policy === "read")?.remaining).toBe(1);
    expect(data.weights.some((weight) => weight.path === "/api/trade/position/close")).toBe(true);
  });
});
