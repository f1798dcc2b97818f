/** The foreign client library works unchanged against the local venue: only addresses and keys are set. */
import ccxt, { type Exchange } from "ccxt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenuetwoSim } from "../sim.js";
import { ACCOUNT, API_KEY, API_SECRET, MAIN_WALLET_KEY, mainWallet, startTestVenue } from "./support.js";

const BTC = "BTC/USDT:USDT";

interface Client {
  readonly name: string;
  create(venue: VenuetwoSim): Exchange;
}

/** The venue's own class: V3, the main wallet signs. */
const OWN: Client = {
  name: "ccxt.pro.aster",
  create(venue) {
    const client = new ccxt.pro.aster({
      walletAddress: mainWallet.address,
      privateKey: MAIN_WALLET_KEY,
      enableRateLimit: false,
      options: { defaultType: "swap" },
    });
    const rest = {
      fapiPublic: `${venue.restUrl}/fapi`,
      fapiPrivate: `${venue.restUrl}/fapi`,
      sapiPublic: `${venue.restUrl}/api`,
      sapiPrivate: `${venue.restUrl}/api`,
    };
    const ws = {
      public: { spot: `${venue.wsUrl}/stream`, swap: `${venue.wsUrl}/stream` },
      private: { spot: `${venue.wsUrl}/ws`, swap: `${venue.wsUrl}/ws` },
    };
    client.urls.api = { ...rest, ws };
    return client;
  },
};

/** The parent dialect's class: V1 keys and HMAC. */
const PARENT: Client = {
  name: "ccxt.pro.binanceusdm",
  create(venue) {
    // Only the linear markets are here, and trades come as the aggregates that this venue documents.
    const options = { fetchCurrencies: false, fetchMarkets: { types: ["linear"] }, watchTrades: { name: "aggTrade" } };
    const client = new ccxt.pro.binanceusdm({ apiKey: API_KEY, secret: API_SECRET, enableRateLimit: false, options });
    const api = client.urls.api as Record<string, unknown>;
    for (const [name, url] of Object.entries(api)) {
      if (typeof url === "string" && name.startsWith("fapi"))
        api[name] = url.replace(/^https:\/\/[^/]+/, venue.restUrl);
    }
    const replaceHosts = (urls: Record<string, unknown>): void => {
      for (const [name, url] of Object.entries(urls)) {
        if (typeof url === "string") urls[name] = url.replace(/^wss:\/\/[^/]+/, venue.wsUrl);
        else if (typeof url === "object" && url !== null) replaceHosts(url as Record<string, unknown>);
      }
    };
    replaceHosts(api.ws as Record<string, unknown>);
    return client;
  },
};

describe.each([OWN, PARENT])("$name against the local venue", ({ create }) => {
  let venue: VenuetwoSim;
  let client: Exchange;

  beforeAll(async () => {
    venue = await startTestVenue({ hmacOnV3: true });
    client = create(venue);
    // ccxt's own switch for plain ws:// addresses.
    await client.loadHttpProxyAgent();
    await client.loadMarkets();
  });

  afterAll(async () => {
    await client.close();
    await venue.stop();
  });

  it("lists the markets with tick, step and limits of the capture", () => {
    const market = client.market(BTC);
    expect(market.precision).toMatchObject({ price: 0.1, amount: 0.001 });
    expect(market.limits.amount).toMatchObject({ min: 0.001, max: 1000 });
    expect(market.active).toBe(true);
  });

  it("reads ticker, book, trades, candles and funding", async () => {
    const ticker = await client.fetchTicker(BTC);
    const book = await client.fetchOrderBook(BTC, 20);
    expect(book.bids).toHaveLength(20);
    expect(Number(book.bids[0]?.[0])).toBeLessThan(Number(book.asks[0]?.[0]));
    expect(Math.abs(Number(ticker.last) / Number(book.bids[0]?.[0]) - 1)).toBeLessThan(0.005);
    expect((await client.fetchOHLCV(BTC, "1h", undefined, 5)).length).toBe(5);
    expect((await client.fetchFundingRate(BTC)).fundingRate).toBeGreaterThan(-0.01);
    venue.exchange.orders.place(ACCOUNT, {
      symbol: "BTCUSDT",
      side: "BUY",
      type: "MARKET",
      timeInForce: "IOC",
      priceTicks: null,
      qtyLots: 1,
      reduceOnly: false,
      positionSide: "BOTH",
      clientId: null,
      trigger: null,
      closePosition: false,
    });
    venue.exchange.orders.place(ACCOUNT, {
      symbol: "BTCUSDT",
      side: "SELL",
      type: "MARKET",
      timeInForce: "IOC",
      priceTicks: null,
      qtyLots: 1,
      reduceOnly: true,
      positionSide: "BOTH",
      clientId: null,
      trigger: null,
      closePosition: false,
    });
    expect((await client.fetchTrades(BTC)).length).toBeGreaterThan(0);
  });

  it("watches book, ticker and trades; the watched book equals the true book of its update id", async () => {
    // The one library keeps update ids of a diffed book, the other shows the venue time of whole pictures.
    const truth = (nonce: number | undefined, timestamp: number): [number, number][] => {
      const { exchange } = venue;
      const book =
        nonce === undefined
          ? exchange.market.trueBookAtTime("BTCUSDT", timestamp, 10)
          : exchange.market.trueBook("BTCUSDT", nonce, 10);
      return (book?.bids ?? []).map((level) => [level.priceTicks / 10, level.qtyLots / 1000]);
    };
    let compared = 0;
    for (let round = 0; round < 12; round++) {
      const book = await client.watchOrderBook(BTC);
      expect(book.bids.slice(0, 10).map(([price, size]) => [Number(price), Number(size)])).toEqual(
        truth(book.nonce, Number(book.timestamp)),
      );
      compared++;
    }
    expect(compared).toBe(12);
    expect((await client.watchTicker(BTC)).last).toBeGreaterThan(0);
    expect((await client.watchTrades(BTC)).length).toBeGreaterThan(0);
  });

  it("reads the balance and sets the leverage", async () => {
    const balance = await client.fetchBalance();
    expect(Number(balance.USDT?.total)).toBeGreaterThan(99_000);
    const answer = (await client.setLeverage(10, BTC)) as { leverage: number };
    expect(Number(answer.leverage)).toBe(10);
    expect(venue.exchange.accounts.leverage(ACCOUNT, "BTCUSDT")).toBe(10);
  });

  it("rests, finds and cancels a limit order", async () => {
    const bid = Number((await client.fetchOrderBook(BTC, 5)).bids[0]?.[0]);
    const price = Math.round(bid * 0.99 * 10) / 10;
    const placed = await client.createOrder(BTC, "limit", "buy", 0.01, price);
    const open = await client.fetchOpenOrders(BTC);
    expect(open.map((order) => order.id)).toContain(placed.id);
    const found = await client.fetchOrder(String(placed.id), BTC);
    expect(found).toMatchObject({ status: "open", price, amount: 0.01, filled: 0 });
    await client.cancelOrder(String(placed.id), BTC);
    expect((await client.fetchOrder(String(placed.id), BTC)).status).toBe("canceled");
    expect(await client.fetchOpenOrders(BTC)).toEqual([]);
  });

  it("buys at market, sees position and trades, closes reduce-only, and cannot flip", async () => {
    const opened = await client.createOrder(BTC, "market", "buy", 0.05);
    expect((await client.fetchOrder(String(opened.id), BTC)).status).toBe("closed");
    const [position] = (await client.fetchPositions([BTC])).filter((row) => Number(row.contracts) !== 0);
    expect(position).toMatchObject({ side: "long", contracts: 0.05 });
    await expect(client.createOrder(BTC, "market", "sell", 0.06, undefined, { reduceOnly: true })).rejects.toThrow(
      /-2022/,
    );
    const closed = await client.createOrder(BTC, "market", "sell", 0.05, undefined, { reduceOnly: true });
    expect((await client.fetchOrder(String(closed.id), BTC)).filled).toBe(0.05);
    expect((await client.fetchPositions([BTC])).filter((row) => Number(row.contracts) !== 0)).toEqual([]);
    const trades = await client.fetchMyTrades(BTC);
    expect(trades.reduce((sum, trade) => sum + (trade.side === "buy" ? 1 : -1) * Number(trade.amount), 0)).toBeCloseTo(
      0,
      9,
    );
    const log = venue.log.records({ symbol: "BTCUSDT", action: "place" });
    const last = log[log.length - 1];
    expect(last).toMatchObject({
      side: "SELL",
      reduceOnly: true,
      qty: "0.05",
      status: "FILLED",
      filledQty: "0.050",
      refusal: null,
    });
  });

  it("pushes own orders and balance to the user stream", async () => {
    // watchOrders subscribes on its first call and answers with the first event: the order is sent once the stream is up.
    const watched = client.watchOrders(BTC);
    const isUserStream = (socket: { path: string; query: string }): boolean =>
      /\/ws\/\w{64}$/.test(socket.path) || socket.query.includes("listenKey");
    while (![...venue.shell.sockets].some(isUserStream)) await new Promise((resolve) => setImmediate(resolve));
    const placed = await client.createOrder(
      BTC,
      "limit",
      "buy",
      0.01,
      Math.round(Number((await client.fetchTicker(BTC)).last) * 0.985 * 10) / 10,
    );
    const orders = await watched;
    expect(orders.map((order) => order.id)).toContain(placed.id);
    await client.cancelOrder(String(placed.id), BTC);
  });
});

/** Conditional orders and lists of ids are where the two dialects part: this is the venue's own class alone. */
describe("ccxt.pro.aster: stop orders, changes, settings, history", () => {
  let venue: VenuetwoSim;
  let client: Exchange;

  beforeAll(async () => {
    venue = await startTestVenue();
    client = OWN.create(venue);
    await client.loadMarkets();
  });

  afterAll(async () => {
    await client.close();
    await venue.stop();
  });

  it("places a stop that waits, fires and closes, and refuses one that would fire at once", async () => {
    const price = async (factor: number): Promise<number> =>
      Math.round(Number((await client.fetchTicker(BTC)).last) * factor * 10) / 10;
    await client.createOrder(BTC, "market", "buy", 0.05);
    const sellStop = async (factor: number): Promise<void> => {
      const stopLossPrice = await price(factor);
      await client.createOrder(BTC, "market", "sell", 0.05, undefined, { stopLossPrice, reduceOnly: true });
    };
    await expect(sellStop(1.01)).rejects.toThrow(/-2021/);
    await sellStop(0.99);
    const [waiting] = venue.exchange.orders.open(ACCOUNT, "BTCUSDT");
    expect(waiting).toMatchObject({ side: "SELL", reduceOnly: true, triggered: false });
    venue.exchange.controls.setPriceSkew(-150, 0);
    for (let steps = 0; steps < 20; steps++) venue.exchange.step();
    expect(venue.exchange.orders.open(ACCOUNT, "BTCUSDT")).toEqual([]);
    expect((await client.fetchPositions([BTC])).filter((row) => Number(row.contracts) !== 0)).toEqual([]);
    const stopped = await client.fetchOrder(String(waiting?.orderId), BTC);
    expect(stopped).toMatchObject({ status: "closed", filled: 0.05 });
    venue.exchange.controls.setPriceSkew(0, 0);
    for (let steps = 0; steps < 20; steps++) venue.exchange.step();
  });

  it("cancels several and all, and keeps the other symbol's", async () => {
    const eth = "ETH/USDT:USDT";
    const below = async (symbol: string): Promise<number> =>
      Math.round(Number((await client.fetchTicker(symbol)).last) * 0.985 * 10) / 10;
    const ids: string[] = [];
    for (let count = 0; count < 3; count++)
      ids.push(String((await client.createOrder(BTC, "limit", "buy", 0.01, await below(BTC))).id));
    const other = await client.createOrder(eth, "limit", "buy", 0.1, await below(eth));
    await client.cancelOrders(ids.slice(0, 2), BTC);
    expect((await client.fetchOpenOrders(BTC)).map((order) => order.id)).toEqual([ids[2]]);
    await client.cancelAllOrders(BTC);
    expect(await client.fetchOpenOrders(BTC)).toEqual([]);
    expect((await client.fetchOpenOrders(eth)).map((order) => order.id)).toEqual([other.id]);
    await client.cancelAllOrders(eth);
  });

  it("sets margin mode and leverage, refuses what is out of range", async () => {
    await client.setMarginMode("isolated", BTC);
    expect(venue.exchange.accounts.marginMode(ACCOUNT, "BTCUSDT")).toBe("isolated");
    await client.setMarginMode("cross", BTC);
    expect(venue.exchange.accounts.marginMode(ACCOUNT, "BTCUSDT")).toBe("cross");
    await client.setLeverage(15, BTC);
    const leverages = await client.fetchLeverages([BTC]);
    expect(Number(leverages[BTC]?.longLeverage)).toBe(15);
    await expect(client.setLeverage(126, BTC)).rejects.toThrow();
    expect(venue.exchange.accounts.leverage(ACCOUNT, "BTCUSDT")).toBe(15);
  });

  it("reports the history of orders, fills, funding and money", async () => {
    const orders = await client.fetchOrders(BTC);
    const truth = venue.exchange.orders.all(ACCOUNT, "BTCUSDT");
    expect(new Set(orders.map((order) => order.id))).toEqual(new Set(truth.map((order) => String(order.orderId))));
    const trades = await client.fetchMyTrades(BTC);
    expect(trades).toHaveLength(
      venue.exchange.accounts.fills(ACCOUNT).filter(({ symbol }) => symbol === "BTCUSDT").length,
    );
    const later = await client.fetchMyTrades(BTC, Number(trades[0]?.timestamp) + 1);
    expect(later.every((trade) => Number(trade.timestamp) > Number(trades[0]?.timestamp))).toBe(true);
    expect(await client.fetchFundingHistory(BTC)).toEqual([]);
    const ledger = await client.fetchLedger("USDT");
    expect(ledger.length).toBeGreaterThan(trades.length);
    expect(ledger.some((row) => row.info.incomeType === "COMMISSION")).toBe(true);
  });
});
