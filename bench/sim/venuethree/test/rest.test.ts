/** Public reads: answers of each route, refusals with code and message, budgets per address. */
import { afterEach, describe, expect, it } from "vitest";
import type { VenuethreeSimOptions } from "../records/options.js";
import type { VenuethreeSim } from "../sim.js";
import { control, get, startTestVenue, type TestVenue } from "./support.js";

let running: VenuethreeSim | null = null;
async function start(options: Partial<VenuethreeSimOptions> = {}): Promise<TestVenue> {
  const test = await startTestVenue(options);
  running = test.venue;
  return test;
}
afterEach(async () => {
  await running?.stop();
  running = null;
});

type Rows = Readonly<Record<string, unknown>>[];
const V1 = "/api/v1";

describe("market routes", () => {
  it("lists by id and by kind; spot apart from perps", async () => {
    const { venue } = await start();
    const all = (await get(venue, `${V1}/orderBooks`)).json.order_books as Rows;
    expect(all.map((row) => row.market_id)).toEqual([0, 1, 2, 3, 4, 7, 8, 24, 25, 36, 83, 141, 2048, 2053]);
    expect(all.find((row) => row.symbol === "HYUNDAI")?.status).toBe("inactive");
    expect(((await get(venue, `${V1}/orderBooks?market_id=1`)).json.order_books as Rows)[0]?.symbol).toBe("BTC");
    const spot = (await get(venue, `${V1}/orderBookDetails?filter=spot&market_id=255`)).json;
    expect(spot.order_book_details).toEqual([]);
    expect((spot.spot_order_book_details as Rows).map((row) => row.symbol)).toEqual(["ETH/USDC", "SKY/USDC"]);
  });

  it("prints one row per resting order, which add up to the true book, under ids that stay", async () => {
    const { venue } = await start();
    const order = { symbol: "BTC", side: "BUY", type: "LIMIT", timeInForce: "GTC", qtyLots: 700 } as const;
    const rest = {
      reduceOnly: false,
      positionSide: "BOTH",
      clientId: null,
      trigger: null,
      closePosition: false,
    } as const;
    venue.exchange.desk.createAccount({ accountId: "user", deposit: "100000" });
    const best = venue.exchange.market.bestBid("BTC")?.priceTicks ?? 0;
    venue.exchange.orders.place("user", { ...order, ...rest, priceTicks: best });
    const read = async (): Promise<Rows> =>
      (await get(venue, `${V1}/orderBookOrders?market_id=1&limit=250`)).json.bids as Rows;
    const bids = await read();
    const sums = new Map<string, number>();
    for (const row of bids) {
      const price = String(row.price);
      sums.set(price, (sums.get(price) ?? 0) + Number(row.remaining_base_amount));
      expect(String(row.order_id)).toMatch(/^\d{15}$/);
    }
    expect(bids.filter((row) => Number(row.price) === best / 10)).toHaveLength(2);
    for (const level of venue.exchange.market.book("BTC").bids) {
      const shown = sums.get((level.priceTicks / 10).toFixed(1));
      expect(shown).toBeCloseTo(level.qtyLots / 100_000, 9);
    }
    expect((await read()).map((row) => row.order_id)).toEqual(bids.map((row) => row.order_id));
    expect(((await get(venue, `${V1}/orderBookOrders?market_id=1&limit=2`)).json.asks as Rows).length).toBe(2);
  });

  it("shows recent trades newest first, and their absence in each of its ways", async () => {
    const { venue, clock } = await start();
    const recent = (): Promise<Readonly<Record<string, unknown>>> =>
      get(venue, `${V1}/recentTrades?market_id=1&limit=10`).then((answer) => answer.json);
    expect(await recent()).toEqual({ code: 200, message: null, next_cursor: null, trades: null });
    venue.room.setQuirks({ noTrades: "missing" });
    expect(await recent()).toEqual({ code: 200, message: null, next_cursor: null });
    venue.room.setQuirks({ noTrades: "empty" });
    expect(await recent()).toEqual({ code: 200, trades: [] });
    clock.advance(5_000);
    const rows = (await recent()).trades as Rows;
    const times = rows.map((row) => Number(row.timestamp));
    expect(rows).toHaveLength(10);
    expect([...times].sort((left, right) => right - left)).toEqual(times);
    const over = (await get(venue, `${V1}/trades?sort_by=timestamp&limit=20`)).json.trades as Rows;
    expect(new Set(over.map((row) => row.market_id)).size).toBeGreaterThan(1);
  });

  it("cuts candles to the range and the count, under both names", async () => {
    const { venue } = await start();
    const endMs = venue.exchange.nowMs();
    const range = `market_id=1&resolution=1m&start_timestamp=${endMs - 3_600_000}&end_timestamp=${endMs}`;
    const candles = (await get(venue, `${V1}/candles?${range}&count_back=5`)).json;
    expect(candles.r).toBe("1m");
    const rows = candles.c as { t: number; o: number }[];
    expect(rows).toHaveLength(5);
    expect(rows.map((row) => row.t % 60_000)).toEqual([0, 0, 0, 0, 0]);
    const atEnd = (await get(venue, `${V1}/candles?${range}&count_back=5&set_timestamp_to_end=true`)).json
      .c as typeof rows;
    expect(atEnd.map((row) => row.t - 60_000)).toEqual(rows.map((row) => row.t));
    const legacy = (await get(venue, `${V1}/candlesticks?${range}&count_back=5`)).json;
    expect((legacy.candlesticks as Rows).map((row) => row.open)).toEqual(rows.map((row) => row.o));
    const all = (await get(venue, `${V1}/candles?${range}&count_back=0`)).json.c as Rows;
    expect(all.length).toBeGreaterThan(50);
  });

  it("shows funding as a fraction per eight hours here and as percent per hour there", async () => {
    const { venue } = await start();
    const mark = venue.exchange.market.mark("BTC").fundingRateE8;
    const rates = (await get(venue, `${V1}/funding-rates`)).json.funding_rates as Rows;
    const own = rates.filter((row) => row.exchange === "lighter");
    expect(own.map((row) => row.symbol)).toEqual(["ETH", "BTC", "ASTER"]);
    expect(rates.length).toBe(own.length * 4);
    expect(Number(own[1]?.rate)).toBeCloseTo((mark * 8) / 1e8, 12);
    const history = venue.exchange.market.fundingHistory("BTC");
    const last = history[history.length - 1];
    const range = `start_timestamp=${(last?.tsMs ?? 0) - 3_600_000}&end_timestamp=${(last?.tsMs ?? 0) + 1}`;
    const fundings = (await get(venue, `${V1}/fundings?market_id=1&resolution=1h&${range}&count_back=0`)).json;
    const rows = fundings.fundings as Rows;
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatchObject({ timestamp: (last?.tsMs ?? 0) / 1000, direction: "long" });
    expect(Number(rows[1]?.rate)).toBeCloseTo((last?.rateE8 ?? 0) / 1e6, 4);
  });

  it("answers status, contract, heights, configuration and figures of the exchange", async () => {
    const { venue } = await start();
    expect((await get(venue, "/")).json).toMatchObject({ status: 200, network_id: 1 });
    expect((await get(venue, "/info")).json.contract_address).toMatch(/^0x[0-9a-fA-F]{40}$/);
    expect(Number((await get(venue, `${V1}/currentHeight`)).json.height)).toBeGreaterThan(300_000_000);
    expect((await get(venue, `${V1}/systemConfig`)).json.liquidity_pool_index).toBe(281_474_976_710_654);
    const stats = (await get(venue, `${V1}/exchangeStats`)).json;
    expect(stats.total).toBe((stats.order_book_stats as Rows).length);
    expect(Number(stats.daily_usd_volume)).toBeGreaterThan(0);
  });
});

describe("refusals", () => {
  it.each([
    ["orderBookOrders?limit=5", 400, 20001],
    ["orderBookOrders?market_id=1", 400, 20001],
    ["orderBookOrders?market_id=1&limit=251", 400, 20001],
    ["orderBookOrders?market_id=x&limit=5", 400, 20001],
    ["orderBookOrders?market_id=99&limit=5", 400, 21602],
    ["orderBooks?market_id=99", 400, 21602],
    ["orderBooks?filter=all%20", 400, 20001],
    ["recentTrades?market_id=1&limit=101", 400, 20001],
    ["trades?limit=5", 400, 20001],
    ["trades?sort_by=timestamp&limit=5&account_index=3", 400, 20001],
    ["candles?market_id=1&resolution=7m&start_timestamp=1&end_timestamp=2&count_back=0", 400, 22402],
    ["candles?market_id=1&resolution=1m&start_timestamp=5&end_timestamp=2&count_back=0", 400, 22400],
    ["candles?market_id=1&resolution=1m&start_timestamp=-5&end_timestamp=2&count_back=0", 400, 22401],
    ["fundings?market_id=1&resolution=1m&start_timestamp=1&end_timestamp=2&count_back=0", 400, 22402],
    ["constructor", 404, 29404],
    ["", 404, 29404],
  ])("%s is refused with %i and code %i", async (path, status, code) => {
    const { venue } = await start();
    const answer = await get(venue, `${V1}/${path}`);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(Object.keys(answer.json)).toEqual(["code", "message"]);
  });

  it("counts sixty reads a minute for a standard account, whatever they cost, and lets them back in", async () => {
    const { venue, clock } = await start({ limits: {} });
    for (let count = 0; count < 60; count++) expect((await get(venue, "/")).status).toBe(200);
    const refused = await get(venue, `${V1}/orderBooks`);
    expect([refused.status, refused.text]).toEqual([429, '{"code":23000,"message":"Too Many Requests!"}']);
    clock.advance(60_001);
    expect((await get(venue, `${V1}/orderBooks`)).status).toBe(200);
  });

  it("weighs the calls of a premium account", async () => {
    const { venue } = await start({ limits: { tier: "premium", weightPerMinute: 1_000 } });
    expect((await get(venue, `${V1}/recentTrades?market_id=1&limit=1`)).status).toBe(200);
    expect((await get(venue, `${V1}/recentTrades?market_id=1&limit=1`)).status).toBe(429);
    expect((await get(venue, `${V1}/orderBooks`)).status).toBe(200);
    expect((await get(venue, `${V1}/orderBooks`)).status).toBe(429);
  });

  it("lifts limits and takes quirks through the control API, and refuses quirks it does not know", async () => {
    const { venue } = await start({ limits: { readsPerMinute: 1 } });
    await get(venue, "/");
    expect((await get(venue, "/")).status).toBe(429);
    expect((await control(venue, "limits", { readsPerMinute: 100, nonsense: 1 })).status).toBe(200);
    expect((await get(venue, "/")).status).toBe(200);
    expect((await control(venue, "quirks", { beginNonce: false })).json.quirks).toMatchObject({ beginNonce: false });
    for (const bad of [{ nonsense: 1 }, { beginNonce: 1 }, { serverPingMs: -1 }, { noTrades: "gone" }])
      expect((await control(venue, "quirks", bad)).status).toBe(400);
  });
});
