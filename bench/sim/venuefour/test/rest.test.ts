/** Public reads: envelopes, plain-text refusals, credits and their headers. */
import { afterEach, describe, expect, it } from "vitest";
import type { VenuefourSimOptions } from "../wire/options.js";
import type { VenuefourSim } from "../sim.js";
import { control, get, startTestVenue, type TestVenue } from "./support.js";

let running: VenuefourSim | null = null;
async function start(options: Partial<VenuefourSimOptions> = {}): Promise<TestVenue> {
  const test = await startTestVenue(options);
  running = test.venue;
  return test;
}
afterEach(async () => {
  await running?.stop();
  running = null;
});

type Rows = Readonly<Record<string, string | number>>[];

describe("market routes", () => {
  it("lists perpetuals and spot markets under an envelope of four keys", async () => {
    const { venue } = await start();
    const answer = await get(venue, "info");
    expect(Object.keys(answer.json)).toEqual(["success", "data", "error", "code"]);
    const rows = answer.json.data as Rows;
    expect(rows.map((row) => row.symbol).sort()).toEqual(
      ["BTC", "BTC-USDC", "ETH", "ETH-USDC", "SOL-USDC", "WIF/USDC", "kPEPE"].sort(),
    );
    expect(rows.filter((row) => row.instrument_type === "spot")).toHaveLength(4);
    expect(rows.find((row) => row.symbol === "BTC")).toMatchObject({
      tick_size: "1",
      lot_size: "0.00001",
      max_leverage: 50,
    });
  });

  it("shows the book under the time of the stream, without li", async () => {
    const { venue, clock } = await start();
    clock.advance(1_000);
    const book = (await get(venue, "book?symbol=BTC&agg_level=1")).json.data as { s: string; l: Rows[]; t: number };
    expect(Object.keys(book)).toEqual(["s", "l", "t"]);
    const truth = venue.exchange.market.trueBookAtTime("BTC", book.t, 10);
    expect(book.l[0]?.map((level) => Number(level.p))).toEqual(truth?.bids.map((level) => level.priceTicks));
    expect(((await get(venue, "book?symbol=BTC")).json.data as { t: number }).t).toBe(book.t);
    expect((await get(venue, "book?symbol=WIF/USDC")).json.data).toMatchObject({ s: "WIF/USDC", l: [[], []] });
  });

  it("shows prices, trades newest first with the newest event id, candles of both kinds and fees", async () => {
    const { venue, clock } = await start();
    clock.advance(3_000);
    const prices = (await get(venue, "info/prices")).json.data as Rows;
    expect(prices).toHaveLength(3);
    const trades = await get(venue, "trades?symbol=BTC");
    const rows = trades.json.data as Rows;
    const times = rows.map((row) => Number(row.created_at));
    expect([...times].sort((left, right) => right - left)).toEqual(times);
    expect(trades.json.last_order_id).toBe(venue.exchange.market.engineSeq());
    const nowMs = venue.exchange.nowMs();
    const range = `symbol=BTC&interval=1m&start_time=${nowMs - 600_000}&end_time=${nowMs}`;
    const candles = (await get(venue, `kline?${range}`)).json.data as Rows;
    expect(candles.length).toBeGreaterThanOrEqual(10);
    expect(Object.keys(candles[0] ?? {})).toEqual(["t", "T", "s", "i", "o", "c", "h", "l", "v", "n"]);
    expect(((await get(venue, `kline/mark?${range}`)).json.data as Rows)[0]).toMatchObject({ v: "0", n: 0 });
    expect((await get(venue, "info/fees")).json.data).toHaveLength(8);
  });

  it("pages through the funding history, newest first, without a gap", async () => {
    const { venue } = await start();
    const history = venue.exchange.market.fundingHistory("BTC");
    const seen: number[] = [];
    let cursor = "";
    for (let page = 0; page < 10; page++) {
      const { json } = await get(venue, `funding_rate/history?symbol=BTC&limit=60${cursor}`);
      seen.push(...(json.data as Rows).map((row) => Number(row.created_at)));
      if (json.has_more !== true) break;
      cursor = `&cursor=${String(json.next_cursor)}`;
    }
    expect(seen).toEqual([...history].reverse().map((point) => point.tsMs));
    expect((await get(venue, "funding_rate/history?symbol=BTC&cursor=nonsense")).status).toBe(400);
  });
});

describe("refusals", () => {
  it.each([
    ["book", "missing field `symbol`"],
    ["book?symbol=BTC&agg_level=2", "agg_level"],
    ["book?symbol=BTC&agg_level=x", "invalid digit"],
    ["kline?symbol=BTC&start_time=1", "missing field `interval`"],
    ["kline?symbol=BTC&interval=1m", "missing field `start_time`"],
    ["kline?symbol=BTC&interval=7m&start_time=1", "unknown variant `7m`"],
  ])("%s is refused in plain text", async (path, detail) => {
    const { venue } = await start();
    const answer = await get(venue, path);
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toContain("text/plain");
    expect(answer.text).toContain(`Failed to deserialize query string: `);
    expect(answer.text).toContain(detail);
  });

  it("answer an unknown symbol with a business error whose code depends on the table", async () => {
    const { venue } = await start();
    const answer = await get(venue, "book?symbol=KPEPE");
    expect(answer.status).toBe(422);
    expect(answer.json).toEqual({ success: false, data: null, error: "Book not found: KPEPE", code: 3 });
    expect((await control(venue, "quirks", { errorTable: "2025" })).status).toBe(200);
    expect((await get(venue, "trades?symbol=KPEPE")).json.code).toBe(2);
    for (const bad of [{ nonsense: 1 }, { errorTable: "2024" }, { oldBookIdShare: 2 }])
      expect((await control(venue, "quirks", bad)).status).toBe(400);
    expect(await get(venue, "constructor")).toMatchObject({ status: 404, text: "" });
  });
});

describe("credits", () => {
  it("are shown times ten, weigh candles heavier, and come back after a minute", async () => {
    const { venue, clock } = await start({ limits: {} });
    const first = await get(venue, "info");
    expect(first.headers.get("ratelimit")).toBe('"credits";r=990;t=60');
    expect(first.headers.get("ratelimit-policy")).toBe('"credits";q=1000;w=60');
    clock.advance(10_000);
    const kline = await get(venue, "kline?symbol=BTC&interval=1m&start_time=1");
    expect(kline.headers.get("ratelimit")).toBe('"credits";r=870;t=50');
    for (let count = 0; count < 87; count++) await get(venue, "info");
    const refused = await get(venue, "info");
    expect(refused.status).toBe(429);
    expect(refused.json).toEqual({ success: false, data: null, error: "Rate limit exceeded", code: 429 });
    expect(refused.headers.get("ratelimit")).toBe('"credits";r=0;t=50');
    clock.advance(50_001);
    expect((await get(venue, "info")).status).toBe(200);
  });

  it("of a config key are its own and more", async () => {
    const { venue } = await start({ limits: {} });
    const key = { "PF-API-KEY": "AbCdEfGh_2mT8x" };
    const answer = await get(venue, "kline?symbol=BTC&interval=1m&start_time=1", key);
    expect(answer.headers.get("ratelimit")).toBe('"credits";r=2960;t=60');
    expect((await get(venue, "info")).headers.get("ratelimit")).toBe('"credits";r=990;t=60');
    expect((await control(venue, "limits", { creditsPerMinute: 500 })).status).toBe(200);
    expect((await get(venue, "info")).headers.get("ratelimit-policy")).toBe('"credits";q=5000;w=60');
  });
});
