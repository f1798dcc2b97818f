/** The foreign client library works unchanged against the local venue: only addresses are set. */
import ccxt, { type Exchange } from "ccxt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVenuefourSim, type VenuefourSim } from "../sim.js";

const BTC = "BTC/USDC:USDC";

describe("ccxt.pro.pacifica against the local venue", () => {
  let venue: VenuefourSim;
  let client: Exchange;

  beforeAll(async () => {
    venue = await startVenuefourSim({
      seed: 11,
      symbols: ["BTC", "ETH", "kPEPE"],
      flow: { levelCount: 60, tradesPerSecond: 20 },
      limits: { creditsPerMinute: 10_000 },
    });
    client = new ccxt.pro.pacifica({ enableRateLimit: false });
    client.urls.api = { public: venue.restUrl, private: venue.restUrl, ws: { public: venue.wsUrl } };
    // ccxt's own switch for plain ws:// addresses.
    await client.loadHttpProxyAgent();
    await client.loadMarkets();
  });

  afterAll(async () => {
    await client.close();
    await venue.stop();
  });

  it("lists the markets with tick, lot and limits of the capture", () => {
    const market = client.market(BTC);
    expect(market).toMatchObject({ id: "BTC", swap: true, contractSize: 1 });
    expect(market.precision).toMatchObject({ price: 1, amount: 0.00001 });
    expect(market.limits.cost).toMatchObject({ min: 10, max: 5_000_000 });
    expect(client.market("WIF/USDC")).toMatchObject({ id: "WIF/USDC", spot: true });
  });

  it("reads the book at the venue's time and it is the true one", async () => {
    const book = await client.fetchOrderBook(BTC);
    const truth = venue.exchange.market.trueBookAtTime("BTC", Number(book.timestamp), 10);
    expect(book.bids.map(([price, size]) => [price, size])).toEqual(
      truth?.bids.map((level) => [level.priceTicks, level.qtyLots / 100_000]),
    );
    const coarse = await client.fetchOrderBook(BTC, undefined, { aggLevel: 100 });
    expect(Number(coarse.bids[1]?.[0])).toBeLessThan(Number(coarse.bids[0]?.[0]));
  });

  it("reads tickers, trades, candles, funding and open interest", async () => {
    expect(Number((await client.fetchTicker(BTC)).info.mark)).toBeGreaterThan(0);
    expect(Object.keys(await client.fetchTickers())).toHaveLength(3);
    const candles = await client.fetchOHLCV(BTC, "1h", Date.now() - 6 * 3_600_000, 5);
    expect(candles).toHaveLength(5);
    expect(Math.abs(Number((await client.fetchFundingRates())[BTC]?.fundingRate))).toBeLessThan(0.01);
    expect(await client.fetchFundingRateHistory(BTC, undefined, 10)).toHaveLength(10);
    expect((await client.fetchOpenInterest(BTC)).symbol).toBe(BTC);
  });

  it("watches book, ticker, candles and trades; the watched book equals the true book of its time", async () => {
    for (let round = 0; round < 6; round++) {
      const book = await client.watchOrderBook(BTC);
      const truth = venue.exchange.market.trueBookAtTime("BTC", Number(book.timestamp), 10);
      expect(book.asks.map(([price, size]) => [Number(price), Number(size)])).toEqual(
        truth?.asks.map((level) => [level.priceTicks, level.qtyLots / 100_000]),
      );
    }
    expect(Number((await client.watchTicker(BTC)).info.mid)).toBeGreaterThan(0);
    const trades = await client.watchTrades(BTC);
    expect(["buy", "sell"]).toContain(trades[0]?.side);
    expect((await client.watchOHLCV(BTC, "1m")).length).toBe(1);
    expect((await client.fetchTrades(BTC)).length).toBeGreaterThan(0);
  });

  it("gets a plain error for a symbol that the venue does not list", async () => {
    // Case matters: the venue lists kPEPE.
    expect(client.market("KPEPE/USDC:USDC").id).toBe("kPEPE");
    const request = client as Exchange & { publicGetBook(params: object): Promise<unknown> };
    await expect(request.publicGetBook({ symbol: "KPEPE" })).rejects.toThrow(/Book not found: KPEPE/);
  });
});
