/** Whose buckets a request spends: the account's once its credentials are read, else those of the caller's address. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OPTIONS } from "../app/config-options.js";
import { type Harness, startHarness } from "./harness.js";

/** One token an hour: what is spent in a test does not come back in it. */
const rule = (burst: number) => ({ perSecond: 1 / 3600, burst });
const block = (key: string) => ({ venueone: { privateKey: key } });
const closeOf = (key: string) => ({
  symbol: "BTC",
  direction: "LONG",
  size: "0.001",
  dryRun: true,
  credentials: block(key),
});

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness({
    server: { rateLimits: { read: rule(3), trade: rule(1), exit: rule(2), transfer: rule(2), anon: rule(100) } },
  });
});
afterEach(async () => {
  await harness.stop();
});

interface Bucket {
  readonly policy: string;
  readonly scope: string;
  readonly remaining: number;
}

async function remaining(key: string | null): Promise<Readonly<Record<string, string | number>>> {
  const headers =
    key === null ? {} : { "x-venue-credentials": Buffer.from(JSON.stringify(block(key))).toString("base64url") };
  const reply = await harness.client.send("/api/limits", { headers });
  const { data } = reply.body as unknown as { data: { buckets: readonly Bucket[] } };
  const shown: Record<string, string | number> = {};
  for (const { policy, scope, remaining: left } of data.buckets) {
    shown[policy] = left;
    // The frames of the stream are bounded for each connection, whoever opened it.
    if (policy === "ws") expect(scope).toBe("connection");
    else shown["scope"] = scope;
  }
  return shown;
}

describe("the caller of a close", () => {
  it("is its account: one that spent all of its tokens keeps nobody else from closing", async () => {
    const { client } = harness;
    const statuses = [];
    for (let close = 0; close < 4; close++) statuses.push((await client.close(closeOf("0xkey-of-one"))).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const other = await client.close(closeOf("0xkey-of-another"));
    expect([other.status, other.headers.ratelimit]).toEqual([200, '"exit";r=1;t=0']);
    expect(other.headers["ratelimit-policy"]).toBe('"exit";q=2;w=7200, "trade";q=1;w=3600');
  });

  it("is every account that it names: a made-up key beside one's own gives no tokens", async () => {
    const { client } = harness;
    const statuses = [];
    for (let close = 0; close < 5; close++) {
      const credentials = {
        venueone: { privateKey: `0xother-${close}` },
        venuetwo: { apiKey: "key-of-two", apiSecret: "secret-of-two" },
      };
      statuses.push((await client.close({ ...closeOf("0x"), credentials })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    // What is refused takes nothing of the others.
    expect(await remaining("0xother-4")).toMatchObject({ exit: 2, trade: 1 });
    expect(await remaining("0xother-0")).toMatchObject({ exit: 1, trade: 1 });
  });

  it("is the same however the key is spelled", async () => {
    const { client } = harness;
    const statuses = [];
    for (const key of ["0xkey-of-one", "0xKEY-OF-ONE", " 0xkey-of-one", "0xKey-of-one"])
      statuses.push((await client.close(closeOf(key))).status);
    expect(statuses.at(-1)).toBe(429);
  });

  it("is the address where nothing names an account, and then no account pays", async () => {
    const { client } = harness;
    const statuses = [];
    for (let close = 0; close < 4; close++) statuses.push((await client.close("{")).status);
    expect(statuses).toEqual([400, 400, 400, 429]);
    expect((await client.close(closeOf("0xkey-of-one"))).status).toBe(200);
    expect(await remaining(null)).toMatchObject({ exit: 0, trade: 0, scope: "ip" });
  });

  it("is shown its own use, and the refusal names the bucket and when to come back", async () => {
    const { client } = harness;
    await client.close(closeOf("0xkey-of-one"));
    expect(await remaining("0xkey-of-one")).toEqual({
      read: 3,
      trade: 1,
      exit: 1,
      transfer: 2,
      anon: 100,
      ws: 20,
      scope: "key",
    });
    expect(await remaining("0xkey-of-another")).toMatchObject({ exit: 2 });
    for (let close = 0; close < 2; close++) await client.close(closeOf("0xkey-of-one"));
    const refused = await client.close(closeOf("0xkey-of-one"));
    expect(refused.status).toBe(429);
    const { details } = refused.body as unknown as { details: { limit: number; retryAfterMs: number } };
    expect([details.limit, Number(refused.headers["retry-after"])]).toEqual([
      expect.any(Number),
      Math.ceil(details.retryAfterMs / 1_000),
    ]);
  });

  it("asks no venue where its tokens are spent", async () => {
    const { client, one } = harness;
    for (let close = 0; close < 3; close++) await client.close(closeOf("0xkey-of-one"));
    const opened = vi.spyOn(one, "openSession");
    const read = vi.spyOn(one.reader, "readPositions");
    expect((await client.close({ ...closeOf("0xkey-of-one"), dryRun: false })).status).toBe(429);
    expect([opened.mock.calls.length, read.mock.calls.length]).toEqual([0, 0]);
    expect((await client.close({ ...closeOf("0xkey-of-another"), dryRun: false })).status).toBe(200);
    expect(read.mock.calls.length).toBeGreaterThan(0);
  });

  it("spends nothing of what market data spends, nor the other way round", async () => {
    const { client } = harness;
    for (let read = 0; read < 3; read++) await client.get("/api/trading/ticker/BTC");
    expect((await client.get("/api/trading/ticker/BTC")).status).toBe(429);
    expect(await remaining("0xkey-of-one")).toMatchObject({ read: 3 });
    expect((await client.close(closeOf("0xkey-of-one"))).status).toBe(200);
  });
});

it("a bucket has tokens for what a person or a program does, and twice that at once", () => {
  const values = Object.fromEntries(
    Object.entries(OPTIONS).flatMap(([name, { default: value }]) => (name.startsWith("RATE_") ? [[name, value]] : [])),
  );
  expect(values).toMatchObject({
    RATE_READ_PER_SECOND: 2_000,
    RATE_READ_BURST: 4_000,
    RATE_TRADE_PER_SECOND: 200,
    RATE_TRADE_BURST: 400,
    RATE_EXIT_PER_SECOND: 200,
    RATE_EXIT_BURST: 400,
    RATE_ANON_PER_SECOND: 100,
    RATE_ANON_BURST: 200,
  });
});
