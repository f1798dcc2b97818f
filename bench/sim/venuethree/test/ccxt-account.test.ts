/** The foreign client library trades unchanged against the local venue: addresses and keys are set, signing is lent. */
import ccxt, { type Exchange, type Order } from "ccxt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVenuethreeSim, type VenuethreeSim } from "../sim.js";
import { installSigner } from "./ccxt-signer.js";
import { ADDRESS, CHAIN_ID, publicHex, testKey } from "./trader.js";

const BTC_SYMBOL = "BTC/USDC:USDC";
const ACCOUNT = 65;
const KEY = 5;

describe("ccxt.pro.lighter with an account", () => {
  let venue: VenuethreeSim;
  let client: Exchange;

  beforeAll(async () => {
    venue = await startVenuethreeSim({
      seed: 12,
      symbols: ["BTC", "ETH"],
      flow: { levelCount: 60, tradesPerSecond: 5 },
      limits: { readsPerMinute: 10_000, transactionsPerMinute: 10_000, makerDelayMs: 1, takerDelayMs: 2 },
      accounts: [
        {
          accountIndex: ACCOUNT,
          l1Address: ADDRESS,
          deposit: "100000",
          apiKeys: [{ apiKeyIndex: KEY, publicKey: publicHex(testKey(3)) }],
        },
      ],
    });
    client = new ccxt.pro.lighter({
      enableRateLimit: false,
      walletAddress: ADDRESS,
      // Its own published development key: only approvals would need it.
      privateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
      options: {
        defaultType: "swap",
        builderFee: false,
        libraryPath: "lent",
        accountIndex: ACCOUNT,
        apiKeyIndex: KEY,
        auths: { [ACCOUNT]: { [KEY]: { lighterPrivateKey: "lent" } } },
      },
    });
    client.urls.api = { root: venue.restUrl, public: venue.restUrl, private: venue.restUrl, ws: venue.wsUrl };
    installSigner(client, testKey(3), CHAIN_ID);
    await client.loadHttpProxyAgent();
    await client.loadMarkets();
  });

  afterAll(async () => {
    await client.close();
    await venue.stop();
  });

  const best = (side: "BUY" | "SELL"): number => {
    const level = side === "BUY" ? venue.exchange.market.bestBid("BTC") : venue.exchange.market.bestAsk("BTC");
    return (level?.priceTicks ?? 0) / 10;
  };
  /** Until an order with this client id shows in the given list. */
  const find = async (list: "fetchOpenOrders" | "fetchClosedOrders", clientOrderId: number): Promise<Order> => {
    for (;;) {
      const orders = await client[list](BTC_SYMBOL);
      const found = orders.find((order) => order.clientOrderId === String(clientOrderId));
      if (found !== undefined) return found;
    }
  };

  it("finds its account by the address", async () => {
    const response = (await client.publicGetAccountsByL1Address({ l1_address: ADDRESS })) as {
      sub_accounts: { index: unknown }[];
    };
    expect(Number(response.sub_accounts[0]?.index)).toBe(ACCOUNT);
    expect((await client.fetchAccounts())[0]).toMatchObject({ id: String(ACCOUNT), type: "main" });
    expect((await client.fetchBalance({ type: "swap" })).USDC).toMatchObject({ total: 100_000 });
  });

  it("places, sees, edits and cancels a limit order", async () => {
    const price = Math.floor(best("BUY") - 500);
    await client.createOrder(BTC_SYMBOL, "limit", "buy", 0.01, price, { clientOrderId: 101, postOnly: true });
    const open = await find("fetchOpenOrders", 101);
    expect(open).toMatchObject({ status: "open", side: "buy", price, amount: 0.01, filled: 0, postOnly: true });
    await client.editOrder(String(open.id), BTC_SYMBOL, "limit", "buy", 0.02, price - 10);
    for (let order = open; order.amount !== 0.02; ) order = await find("fetchOpenOrders", 101);
    await client.cancelOrder(String(open.id), BTC_SYMBOL);
    const closed = await find("fetchClosedOrders", 101);
    expect(closed).toMatchObject({ id: open.id, status: "canceled", filled: 0 });
  });

  it("opens and closes a position at the market, with its trades", async () => {
    await client.createOrder(BTC_SYMBOL, "market", "buy", 0.02, best("SELL") * 1.02, { clientOrderId: 201 });
    expect(await find("fetchClosedOrders", 201)).toMatchObject({ status: "closed", filled: 0.02, type: "market" });
    const [position] = await client.fetchPositions([BTC_SYMBOL]);
    expect(position).toMatchObject({ side: "long", contracts: 0.02, marginMode: "cross", leverage: 20 });
    await client.createOrder(BTC_SYMBOL, "market", "sell", 0.02, best("BUY") * 0.98, {
      clientOrderId: 202,
      reduceOnly: true,
    });
    expect(await find("fetchClosedOrders", 202)).toMatchObject({ status: "closed", filled: 0.02, reduceOnly: true });
    expect((await client.fetchPositions([BTC_SYMBOL]))[0]).toMatchObject({ contracts: 0 });
    const trades = await client.fetchMyTrades(BTC_SYMBOL);
    const sum = (side: string): number =>
      trades.filter((trade) => trade.side === side).reduce((total, trade) => total + Number(trade.amount), 0);
    expect(sum("buy")).toBeCloseTo(0.02, 9);
    expect(sum("sell")).toBeCloseTo(0.02, 9);
    expect(trades.every((trade) => trade.takerOrMaker === "taker")).toBe(true);
  });

  it("places a stop and cancels everything", async () => {
    const trigger = Math.floor(best("BUY") * 0.9);
    await client.createOrder(BTC_SYMBOL, "limit", "sell", 0.01, trigger - 10, {
      clientOrderId: 301,
      stopLossPrice: trigger,
      reduceOnly: true,
    });
    expect(await find("fetchOpenOrders", 301)).toMatchObject({ stopLossPrice: trigger, status: "open" });
    await client.cancelAllOrders(BTC_SYMBOL);
    expect(await find("fetchClosedOrders", 301)).toMatchObject({ status: "canceled" });
    await client.cancelAllOrdersAfter(600_000);
  });

  it("sets leverage and margin mode", async () => {
    await client.setLeverage(10, BTC_SYMBOL, { marginMode: "isolated" });
    for (let leverage = 0; leverage !== 10; ) {
      const [position] = await client.fetchPositions([BTC_SYMBOL]);
      leverage = Number(position?.leverage);
      if (leverage === 10) expect(position?.marginMode).toBe("isolated");
    }
    await client.setLeverage(20, BTC_SYMBOL, { marginMode: "cross" });
  });

  it("gets the library's own errors for a wrong token and an unknown order", async () => {
    const key = testKey(9);
    const stranger = new ccxt.lighter({
      enableRateLimit: false,
      walletAddress: ADDRESS,
      options: {
        builderFee: false,
        libraryPath: "lent",
        accountIndex: ACCOUNT,
        apiKeyIndex: KEY,
        auths: { [ACCOUNT]: { [KEY]: { lighterPrivateKey: "lent" } } },
      },
    });
    stranger.urls.api = client.urls.api as typeof stranger.urls.api;
    installSigner(stranger, key, CHAIN_ID);
    await stranger.loadMarkets();
    await expect(stranger.fetchOpenOrders(BTC_SYMBOL)).rejects.toThrow("invalid signature");
    await expect(stranger.createOrder(BTC_SYMBOL, "market", "buy", 0.02, best("SELL") * 1.02)).rejects.toThrow("21120");
    installSigner(client, testKey(3), CHAIN_ID);
  });

  it("watches orders, trades and the balance, and trades over the socket", async () => {
    const orders = client.watchOrders();
    const balance = await client.watchBalance({ type: "swap" });
    expect(Number(balance.USDC?.total)).toBeGreaterThan(90_000);
    await client.createOrderWs(BTC_SYMBOL, "market", "buy", 0.01, best("SELL") * 1.02, { clientOrderId: 401 });
    let seen = await orders;
    while (!seen.some((order) => order.clientOrderId === "401" && order.status === "closed"))
      seen = await client.watchOrders();
    // The class subscribes without a token; the venue's documentation wants one.
    const auth = (client as unknown as { createAuth: () => string }).createAuth();
    const trades = client.watchMyTrades(undefined, undefined, undefined, { auth });
    const price = Math.floor(best("BUY") - 400);
    await client.createOrderWs(BTC_SYMBOL, "limit", "buy", 0.01, price, { clientOrderId: 402, postOnly: true });
    const open = await find("fetchOpenOrders", 402);
    await client.cancelOrderWs(String(open.id), BTC_SYMBOL);
    await client.createOrder(BTC_SYMBOL, "market", "sell", 0.01, best("BUY") * 0.98, {
      clientOrderId: 403,
      reduceOnly: true,
    });
    const [trade] = await trades;
    expect(trade).toMatchObject({ side: "sell", takerOrMaker: "taker", symbol: BTC_SYMBOL });
  });
});
