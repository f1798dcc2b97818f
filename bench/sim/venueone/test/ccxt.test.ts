/**
 * A foreign client library, unchanged but for its urls, against the local venue: the proof that the protocol is the
 * venue's and not our own idea of it.
 */
import ccxt from "ccxt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateKeyToAddress } from "viem/accounts";
import { startVenueoneSim, type VenueoneSim } from "../sim.js";

const ACCOUNT_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const AGENT_KEY = "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba";
const ACCOUNT = privateKeyToAddress(ACCOUNT_KEY);
const SYMBOL = "BTC/USDC:USDC";

let sim: VenueoneSim;
let rest: InstanceType<typeof ccxt.hyperliquid>;
let pro: InstanceType<typeof ccxt.pro.hyperliquid>;

function configuration(sim: VenueoneSim) {
  return {
    walletAddress: ACCOUNT,
    privateKey: ACCOUNT_KEY,
    enableRateLimit: false,
    urls: { api: { public: sim.restUrl, private: sim.restUrl, ws: { public: sim.wsUrl } } },
  };
}

beforeAll(async () => {
  sim = await startVenueoneSim({
    seed: 11,
    cadenceScale: 0.05,
    accounts: [
      {
        address: ACCOUNT,
        deposit: "50000",
        volume: "2000000",
        agents: [{ address: privateKeyToAddress(AGENT_KEY), name: "bot" }],
      },
    ],
    limits: { ipWeightPerMinute: 100_000 },
  });
  rest = new ccxt.hyperliquid(configuration(sim));
  pro = new ccxt.pro.hyperliquid(configuration(sim));
  // The library wants this once before it opens a socket without TLS.
  await pro.loadHttpProxyAgent();
});

afterAll(async () => {
  await pro.close();
  await rest.close();
  await sim.stop();
});

describe("ccxt.hyperliquid against the local venue", () => {
  it("loads the markets with the venue's indices and precisions", async () => {
    const markets = await rest.loadMarkets();
    expect(markets[SYMBOL]).toMatchObject({ id: "0", base: "BTC", settle: "USDC", swap: true, active: true });
    expect(markets["ETH/USDC:USDC"]).toMatchObject({ id: "1" });
    expect(markets["MATIC/USDC:USDC"]).toMatchObject({ active: false });
    expect(markets["PURR/USDC"]).toMatchObject({ spot: true });
  });

  it("reads tickers, the book, trades, candles and funding", async () => {
    const ticker = await rest.fetchTicker(SYMBOL);
    const tickers = await rest.fetchTickers([SYMBOL, "SOL/USDC:USDC"]);
    const book = await rest.fetchOrderBook(SYMBOL);
    expect(Number(ticker.info.markPx)).toBeGreaterThan(1000);
    expect(Object.keys(tickers)).toEqual([SYMBOL, "SOL/USDC:USDC"]);
    expect(book.bids).toHaveLength(20);
    expect(book.asks).toHaveLength(20);
    expect(Number(book.bids[0]?.[0])).toBeLessThan(Number(book.asks[0]?.[0]));
    const candles = await rest.fetchOHLCV(SYMBOL, "1m", undefined, 5);
    expect(candles.length).toBeGreaterThan(0);
    const rates = await rest.fetchFundingRates([SYMBOL]);
    expect(rates[SYMBOL]?.fundingRate).toBeTypeOf("number");
    const history = await rest.fetchFundingRateHistory(SYMBOL, Date.now() - 86_400_000);
    expect(history.length).toBeGreaterThan(0);
  });

  it("opens with a market order, sees the position and the fills, and closes reduce-only", async () => {
    expect((await rest.fetchBalance()).USDC).toMatchObject({ total: 50_000 });
    await rest.setLeverage(5, SYMBOL, { marginMode: "cross" });
    const price = (await rest.fetchTicker(SYMBOL)).last;
    const opened = await rest.createOrder(SYMBOL, "market", "buy", 0.05, price);
    expect(opened.filled).toBe(0.05);
    const [position] = await rest.fetchPositions([SYMBOL]);
    expect(position).toMatchObject({ symbol: SYMBOL, side: "long", contracts: 0.05, leverage: 5 });
    const closed = await rest.createOrder(SYMBOL, "market", "sell", 0.05, price, { reduceOnly: true });
    expect(closed.filled).toBe(0.05);
    expect(await rest.fetchPositions([SYMBOL])).toEqual([]);
    const trades = await rest.fetchMyTrades(SYMBOL);
    expect(trades.reduce((sum, trade) => sum + (trade.side === "buy" ? 1 : -1) * Number(trade.amount), 0)).toBeCloseTo(
      0,
      10,
    );
    expect(trades.every((trade) => Number(trade.fee?.cost) > 0)).toBe(true);
    await expect(rest.createOrder(SYMBOL, "market", "sell", 0.05, price, { reduceOnly: true })).rejects.toThrow(
      /Reduce only order would increase position\. asset=0/,
    );
  });

  it("places, finds, lists and cancels a limit order, by id and by client id", async () => {
    const bid = Number((await rest.fetchOrderBook(SYMBOL)).bids[0]?.[0]);
    const limit = Math.floor(bid * 0.9);
    const placed = await rest.createOrder(SYMBOL, "limit", "buy", 0.01, limit);
    const order = await rest.fetchOrder(String(placed.id), SYMBOL);
    expect(order).toMatchObject({
      id: String(placed.id),
      status: "open",
      price: limit,
      amount: 0.01,
      filled: 0,
      side: "buy",
    });
    expect((await rest.fetchOpenOrders(SYMBOL)).map((open) => open.id)).toEqual([String(placed.id)]);
    await rest.cancelOrder(String(placed.id), SYMBOL);
    expect(await rest.fetchOrder(String(placed.id), SYMBOL)).toMatchObject({ status: "canceled" });
    expect(await rest.fetchOpenOrders(SYMBOL)).toEqual([]);
    await expect(rest.cancelOrder(String(placed.id), SYMBOL)).rejects.toBeInstanceOf(ccxt.OrderNotFound);
    const clientOrderId = "0x1234567890abcdef1234567890abcdef";
    await rest.createOrder(SYMBOL, "limit", "buy", 0.01, limit, { clientOrderId });
    await rest.cancelOrder("", SYMBOL, { clientOrderId });
    expect(await rest.fetchOpenOrders(SYMBOL)).toEqual([]);
  });

  it("edits an order under a new id", async () => {
    const bid = Number((await rest.fetchOrderBook(SYMBOL)).bids[0]?.[0]);
    const placed = await rest.createOrder(SYMBOL, "limit", "buy", 0.01, Math.floor(bid * 0.9));
    const edited = await rest.editOrder(String(placed.id), SYMBOL, "limit", "buy", 0.02, Math.floor(bid * 0.85));
    expect(edited.id).not.toBe(placed.id);
    const [open] = await rest.fetchOpenOrders(SYMBOL);
    expect(open).toMatchObject({ id: String(edited.id), amount: 0.02 });
    await rest.cancelOrder(String(edited.id), SYMBOL);
  });

  it("trades through an agent for the account", async () => {
    const agent = new ccxt.hyperliquid({
      ...configuration(sim),
      privateKey: AGENT_KEY,
      options: { refSet: true, builderFee: false },
    });
    const bid = Number((await rest.fetchOrderBook(SYMBOL)).bids[0]?.[0]);
    const placed = await agent.createOrder(SYMBOL, "limit", "buy", 0.01, Math.floor(bid * 0.9));
    expect(sim.log.records({ action: "place" }).at(-1)).toMatchObject({
      accountId: ACCOUNT.toLowerCase(),
      signer: privateKeyToAddress(AGENT_KEY).toLowerCase(),
      orderId: Number(placed.id),
    });
    await agent.cancelOrder(String(placed.id), SYMBOL);
    await agent.close();
  });

  it("places an entry with take-profit and stop-loss in one group", async () => {
    const price = Number((await rest.fetchTicker(SYMBOL)).last);
    await rest.createOrder(SYMBOL, "market", "buy", 0.01, price, {
      takeProfit: { triggerPrice: Math.floor(price * 1.1), price: Math.floor(price * 1.1), type: "market" },
      stopLoss: { triggerPrice: Math.floor(price * 0.9), price: Math.floor(price * 0.9), type: "market" },
    });
    const children = await rest.fetchOpenOrders(SYMBOL);
    expect(children).toHaveLength(2);
    await rest.createOrder(SYMBOL, "market", "sell", 0.01, price, { reduceOnly: true });
    expect(await rest.fetchOpenOrders(SYMBOL)).toEqual([]);
  });
});

describe("ccxt.hyperliquid: stop orders, changes, settings, history", () => {
  const priceOf = async (factor: number): Promise<number> =>
    Math.floor(Number((await rest.fetchTicker(SYMBOL)).last) * factor);

  it("places a stop that waits, shows its trigger, and fires on the mark", async () => {
    await rest.createOrder(SYMBOL, "market", "buy", 0.02, await priceOf(1));
    const trigger = await priceOf(0.99);
    const stop = await rest.createOrder(SYMBOL, "market", "sell", 0.02, trigger, {
      stopLossPrice: trigger,
      reduceOnly: true,
    });
    const [open] = await rest.fetchOpenOrders(SYMBOL);
    expect(open).toMatchObject({ id: String(stop.id), side: "sell", amount: 0.02, reduceOnly: true, status: "open" });
    expect(Number(open?.triggerPrice)).toBe(trigger);
    sim.exchange.controls.setPriceSkew(-200, 0);
    sim.exchange.step();
    const ended = await rest.fetchOrder(String(stop.id), SYMBOL);
    expect(ended).toMatchObject({ status: "closed", filled: 0.02 });
    expect(await rest.fetchPositions([SYMBOL])).toEqual([]);
    sim.exchange.controls.setPriceSkew(0, 0);
    sim.exchange.step();
  });

  it("refuses post-only orders that would take, and takes those that rest", async () => {
    await expect(
      rest.createOrder(SYMBOL, "limit", "buy", 0.01, await priceOf(1.02), { postOnly: true }),
    ).rejects.toThrow(/Post only order would have immediately matched/);
    const placed = await rest.createOrder(SYMBOL, "limit", "buy", 0.01, await priceOf(0.9), { postOnly: true });
    expect(await rest.fetchOrder(String(placed.id), SYMBOL)).toMatchObject({ timeInForce: "ALO", status: "open" });
    await rest.cancelOrder(String(placed.id), SYMBOL);
  });

  it("edits two orders at once and cancels several in one action", async () => {
    const limit = await priceOf(0.9);
    const first = await rest.createOrder(SYMBOL, "limit", "buy", 0.01, limit);
    const second = await rest.createOrder(SYMBOL, "limit", "buy", 0.01, limit - 10);
    // The library's type of a request lacks the id that the call itself requires.
    const requests = [
      { id: String(first.id), symbol: SYMBOL, type: "limit", side: "buy", amount: 0.02, price: limit - 20, params: {} },
      {
        id: String(second.id),
        symbol: SYMBOL,
        type: "limit",
        side: "buy",
        amount: 0.03,
        price: limit - 30,
        params: {},
      },
    ] as unknown as Parameters<typeof rest.editOrders>[0];
    const edited = await rest.editOrders(requests);
    expect(edited).toHaveLength(2);
    const open = await rest.fetchOpenOrders(SYMBOL);
    expect(open.map((order) => order.amount).sort()).toEqual([0.02, 0.03]);
    await rest.cancelOrders(
      open.map((order) => String(order.id)),
      SYMBOL,
    );
    expect(await rest.fetchOpenOrders(SYMBOL)).toEqual([]);
  });

  it("arms and disarms the dead man's switch", async () => {
    const placed = await rest.createOrder(SYMBOL, "limit", "buy", 0.01, await priceOf(0.9));
    expect(await rest.cancelAllOrdersAfter(600_000)).toMatchObject({ status: "ok" });
    expect(sim.room.venue.account(ACCOUNT.toLowerCase())?.scheduledCancelMs).toBeGreaterThan(Date.now());
    await rest.cancelOrder(String(placed.id), SYMBOL);
  });

  it("sets leverage and margin mode, and refuses what the coin does not have", async () => {
    await rest.setMarginMode("isolated", SYMBOL, { leverage: 4 });
    expect(sim.exchange.accounts.marginMode(ACCOUNT.toLowerCase(), "BTC")).toBe("isolated");
    expect(sim.exchange.accounts.leverage(ACCOUNT.toLowerCase(), "BTC")).toBe(4);
    await rest.setMarginMode("cross", SYMBOL, { leverage: 10 });
    await expect(rest.setLeverage(200, SYMBOL)).rejects.toThrow(/leverage/i);
    expect(sim.exchange.accounts.leverage(ACCOUNT.toLowerCase(), "BTC")).toBe(10);
  });

  it("reports orders and fills that agree, and funding", async () => {
    const orders = await rest.fetchOrders(SYMBOL);
    const truth = sim.exchange.orders.all(ACCOUNT.toLowerCase());
    expect(new Set(orders.map((order) => order.id))).toEqual(new Set(truth.map((order) => String(order.orderId))));
    const canceled = await rest.fetchCanceledOrders(SYMBOL);
    expect(canceled.length).toBeGreaterThan(0);
    expect(canceled.every((order) => order.status === "canceled")).toBe(true);
    const trades = await rest.fetchMyTrades(SYMBOL);
    const filledIds = new Set(trades.map((trade) => trade.order));
    for (const order of orders) if (Number(order.filled) > 0) expect(filledIds.has(order.id)).toBe(true);
    const since = trades[0]?.timestamp ?? 0;
    const later = await rest.fetchMyTrades(SYMBOL, since + 1);
    expect(later.every((trade) => Number(trade.timestamp) > since)).toBe(true);
    // No whole hour has passed: an answer of the right kind, without rows.
    expect(await rest.fetchFundingHistory(SYMBOL)).toEqual([]);
  });
});

describe("ccxt.pro.hyperliquid against the local venue", () => {
  it("watches the book, which equals the venue's true book of its time", async () => {
    await pro.loadMarkets();
    for (let round = 0; round < 3; round++) {
      const book = await pro.watchOrderBook(SYMBOL);
      const truth = sim.exchange.market.trueBookAtTime("BTC", Number(book.timestamp), 20);
      expect(truth).not.toBeNull();
      expect(book.bids.map(([price]) => price)).toEqual(truth?.bids.map((level) => level.priceTicks / 10));
      expect(book.asks.map(([, size]) => size)).toEqual(truth?.asks.map((level) => level.qtyLots / 1e5));
    }
  });

  it("watches ticker, trades, own orders and own fills", async () => {
    const ticker = await pro.watchTicker(SYMBOL);
    expect(ticker.symbol).toBe(SYMBOL);
    const trades = await pro.watchTrades(SYMBOL);
    expect(trades.length).toBeGreaterThan(0);
    const orders = pro.watchOrders(SYMBOL);
    // The first frame of the fills is the snapshot of what is known.
    await pro.watchMyTrades(SYMBOL);
    const price = Number((await rest.fetchTicker(SYMBOL)).last);
    const placed = await pro.createOrderWs(SYMBOL, "limit", "buy", 0.01, Math.floor(price * 0.9));
    expect((await orders)[0]).toMatchObject({ id: String(placed.id), status: "open" });
    const fills = pro.watchMyTrades(SYMBOL);
    const opened = await rest.createOrder(SYMBOL, "market", "buy", 0.02, price);
    expect((await fills).map((fill) => fill.order)).toContain(opened.id);
    await pro.cancelOrderWs(String(placed.id), SYMBOL);
    await rest.createOrder(SYMBOL, "market", "sell", 0.02, price, { reduceOnly: true });
  });
});
