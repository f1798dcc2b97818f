/** The foreign client library works unchanged against the local venue: only addresses are set. */
import ccxt, { type Exchange } from "ccxt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listenTo } from "../../core/test/listener.js";
import { startVenuethreeSim, type VenuethreeSim } from "../sim.js";

const BTC = "BTC/USDC:USDC";

describe("ccxt.pro.lighter against the local venue", () => {
  let venue: VenuethreeSim;
  let client: Exchange;

  beforeAll(async () => {
    venue = await startVenuethreeSim({
      seed: 11,
      symbols: ["BTC", "ETH", "ASTER"],
      flow: { levelCount: 60, tradesPerSecond: 20 },
      limits: { readsPerMinute: 1_000 },
      apiServerCount: 1,
    });
    client = new ccxt.pro.lighter({ enableRateLimit: false });
    client.urls.api = { root: venue.restUrl, public: venue.restUrl, private: venue.restUrl, ws: venue.wsUrl };
    // ccxt's own switch for plain ws:// addresses.
    await client.loadHttpProxyAgent();
    await client.loadMarkets();
  });

  afterAll(async () => {
    await client.close();
    await venue.stop();
  });

  it("lists the markets with their decimals and limits", () => {
    const market = client.market(BTC);
    expect(market).toMatchObject({ id: "1", active: true, swap: true, contractSize: 1 });
    expect(market.precision).toMatchObject({ price: 0.1, amount: 0.00001 });
    expect(market.limits.amount).toMatchObject({ min: 0.0002 });
    expect(client.market("ETH/USDC").spot).toBe(true);
    expect(client.market("HYUNDAI/USDC:USDC").active).toBe(false);
  });

  it("reads status, time and currencies", async () => {
    expect((await client.fetchStatus()).status).toBe("ok");
    expect(Math.abs(Number(await client.fetchTime()) - Date.now())).toBeLessThan(60_000);
    expect(client.currencies.USDC?.id).toBe("3");
  });

  it("reads the book order by order and agrees with the true book", async () => {
    venue.exchange.stop();
    const book = await client.fetchOrderBook(BTC, 20);
    const truth = venue.exchange.market.book("BTC", 5);
    venue.exchange.start();
    const sums = new Map<number, number>();
    for (const [price, size] of book.bids) sums.set(Number(price), (sums.get(Number(price)) ?? 0) + Number(size));
    const best = truth.bids[0];
    expect(sums.get((best?.priceTicks ?? 0) / 10)).toBeCloseTo((best?.qtyLots ?? 0) / 100_000, 9);
  });

  it("reads tickers, candles and funding rates", async () => {
    const ticker = await client.fetchTicker(BTC);
    expect(Number(ticker.last)).toBeGreaterThan(0);
    expect(Object.keys(await client.fetchTickers())).toContain("ASTER/USDC:USDC");
    const candles = await client.fetchOHLCV(BTC, "1h", undefined, 5);
    expect(candles.length).toBeGreaterThanOrEqual(5);
    const rates = await client.fetchFundingRates();
    expect(Math.abs(Number(rates[BTC]?.fundingRate))).toBeLessThan(0.01);
  });

  it("watches book, ticker, tickers and trades; the watched book equals the true book of its frame", async () => {
    // The library keeps the offset of a frame, which names its nonce to who listens to the same server.
    const listener = await listenTo(venue.wsUrl);
    listener.send({ type: "subscribe", channel: "order_book/1" });
    await listener.waitFor((frame) => frame.type === "subscribed/order_book");
    for (let round = 0; round < 12; round++) {
      const book = await client.watchOrderBook(BTC);
      const offset = book.nonce;
      const shown = book.bids.slice(0, 30).map(([price, size]) => [Number(price), Number(size)]);
      if (round === 0) continue;
      const frame = await listener.waitFor((each) => each.offset === offset);
      const { nonce } = frame.order_book as { nonce: number };
      const truth = venue.exchange.market.trueBook("BTC", nonce, 30);
      expect(shown).toEqual(truth?.bids.map((level) => [level.priceTicks / 10, level.qtyLots / 100_000]));
    }
    listener.socket.terminate();
    expect(Number((await client.watchTicker(BTC)).last)).toBeGreaterThan(0);
    expect(Object.keys(await client.watchTickers())).not.toEqual([]);
    const trades = await client.watchTrades(BTC);
    expect(trades.length).toBeGreaterThan(0);
    expect(["buy", "sell"]).toContain(trades[0]?.side);
  });

  it("unwatches and watches again", async () => {
    await client.unWatchOrderBook(BTC);
    expect((await client.watchOrderBook(BTC)).bids.length).toBeGreaterThan(40);
  });
});
