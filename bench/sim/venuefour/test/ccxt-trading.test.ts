/** The foreign client library trades unchanged against the local venue: only addresses and keys are set. */
import ccxt, { type Exchange } from "ccxt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyPairOf } from "../records/keys.js";
import { startVenuefourSim, type VenuefourSim } from "../sim.js";

const BTC = "BTC/USDC:USDC";
const WALLET = keyPairOf(Buffer.alloc(32, 4));
const CLOID = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

type SocketCalls = Exchange & {
  loadAccountSettings(refresh: boolean): Promise<unknown>;
  cancelOrdersWs(ids: readonly string[], symbol: string): Promise<{ status?: string }[]>;
};

describe("ccxt.pro.pacifica trades on the local venue", () => {
  let venue: VenuefourSim;
  let client: SocketCalls;

  beforeAll(async () => {
    venue = await startVenuefourSim({
      seed: 12,
      symbols: ["BTC", "ETH", "kPEPE"],
      flow: { levelCount: 60, tradesPerSecond: 20 },
      limits: { creditsPerMinute: 100_000 },
      cadences: { speedBumpMs: 20 },
    });
    const keys = venue.addAccount({ walletAddress: WALLET.publicKey, deposit: "50000" });
    client = new ccxt.pro.pacifica({
      enableRateLimit: false,
      privateKey: keys.apiSecret,
      walletAddress: WALLET.publicKey,
      options: { agentAddress: keys.apiKey, builderFee: false },
    }) as SocketCalls;
    client.urls.api = { public: venue.restUrl, private: venue.restUrl, ws: { public: venue.wsUrl } };
    await client.loadHttpProxyAgent();
    await client.loadMarkets();
  });

  afterAll(async () => {
    await client.close();
    await venue.stop();
  });

  it("reads balance, fee, settings of a fresh account", async () => {
    expect((await client.fetchBalance())["USDC"]).toMatchObject({ total: 50_000, used: 0 });
    expect(await client.fetchTradingFee(BTC)).toMatchObject({ taker: 0.0004, maker: 0.00015 });
    expect(await client.fetchLeverage(BTC)).toMatchObject({ longLeverage: 50 });
    expect(await client.fetchPositions()).toEqual([]);
  });

  it("places, reads, edits and cancels a limit order, by id and by client id", async () => {
    const made = await client.createOrder(BTC, "limit", "buy", 0.01, 50_000, { clientOrderId: CLOID });
    expect(made).toMatchObject({ status: "open" });
    const [open] = await client.fetchOpenOrders(BTC);
    expect(open).toMatchObject({
      id: made.id,
      clientOrderId: CLOID,
      price: 50_000,
      amount: 0.01,
      filled: 0,
      side: "buy",
    });
    const edited = await client.editOrder(String(made.id), BTC, "limit", "buy", 0.02, 49_000);
    expect(edited.id).not.toBe(made.id);
    expect(await client.fetchOrder(String(edited.id), BTC)).toMatchObject({
      status: "open",
      amount: 0.02,
      price: 49_000,
    });
    expect(await client.cancelOrder(String(edited.id), BTC)).toMatchObject({ status: "canceled" });
    expect(await client.fetchOrder(String(edited.id), BTC)).toMatchObject({ status: "canceled" });
    await expect(client.cancelOrder(String(edited.id), BTC)).rejects.toThrow(/Failed to cancel order/);
    await expect(client.createOrder(BTC, "limit", "buy", 0.01, 50_000, { clientOrderId: CLOID })).rejects.toThrow(
      /Duplicate client order id/,
    );
  });

  it("opens and closes with market orders, reads fills and histories", async () => {
    const opened = await client.createOrder(BTC, "market", "buy", 0.02);
    const [position] = await client.fetchPositions([BTC]);
    expect(position).toMatchObject({ side: "long", contracts: 0.02, marginMode: "cross" });
    await expect(client.createOrder(BTC, "market", "buy", 0.02, undefined, { reduceOnly: true })).rejects.toThrow(
      /must be opposite/,
    );
    await expect(client.createOrder(BTC, "market", "sell", 0.03, undefined, { reduceOnly: true })).rejects.toThrow(
      /exceeds position/,
    );
    await client.createOrder(BTC, "market", "sell", 0.02, undefined, { reduceOnly: true });
    expect(await client.fetchPositions()).toEqual([]);
    const trades = await client.fetchMyTrades(BTC);
    expect(trades.reduce((sum, trade) => sum + Number(trade.amount), 0)).toBeCloseTo(0.04, 8);
    expect(await client.fetchOrder(String(opened.id), BTC)).toMatchObject({ status: "closed", filled: 0.02 });
    expect((await client.fetchOrders(BTC)).map((order) => order.status)).toContain("closed");
  });

  it("places stops and position protection, sets leverage and margin mode", async () => {
    const stop = await client.createOrder(BTC, "limit", "sell", 0.01, undefined, {
      triggerPrice: 20_000,
      reduceOnly: true,
    });
    expect((await client.fetchOpenOrders(BTC))[0]).toMatchObject({ id: stop.id, triggerPrice: 20_000, type: "market" });
    await client.cancelOrder(String(stop.id), BTC, { stop: true });
    expect(await client.fetchOpenOrders(BTC)).toEqual([]);
    await client.setLeverage(11, BTC);
    await client.setMarginMode("isolated", "ETH/USDC:USDC");
    // Cached by the client since the first question.
    await client.loadAccountSettings(true);
    expect(await client.fetchLeverage(BTC)).toMatchObject({ longLeverage: 11 });
    expect(await client.fetchMarginMode("ETH/USDC:USDC")).toMatchObject({ marginMode: "isolated" });
  });

  it("batches, and cancels all", async () => {
    const orders = [1, 2, 3].map((step) => ({
      symbol: BTC,
      type: "limit" as const,
      side: "buy" as const,
      amount: 0.01,
      price: 40_000 + step,
    }));
    const made = await client.createOrders(orders);
    expect(made.map((order) => order.status)).toEqual(["open", "open", "open"]);
    await client.cancelOrders([String(made[0]?.id)], BTC);
    expect(await client.fetchOpenOrders(BTC)).toHaveLength(2);
    await client.cancelAllOrders(BTC);
    expect(await client.fetchOpenOrders(BTC)).toEqual([]);
  });

  it("is told of a wrong key and of an unbound agent", async () => {
    const { privateKey, options } = client;
    client.privateKey = WALLET.secret;
    await expect(client.createOrder(BTC, "limit", "buy", 0.01, 50_000)).rejects.toThrow(/Verification failed/);
    const stranger = keyPairOf(Buffer.alloc(32, 8));
    client.privateKey = stranger.secret;
    client.options = { ...options, agentAddress: stranger.publicKey };
    await expect(client.createOrder(BTC, "limit", "buy", 0.01, 50_000)).rejects.toThrow(/Agent not authorized/);
    client.privateKey = privateKey;
    client.options = options;
  });

  it("trades and watches over the socket", async () => {
    const orders = client.watchOrders();
    const trades = client.watchMyTrades();
    const made = await client.createOrderWs(BTC, "limit", "buy", 0.01, 45_000);
    expect((await orders)[0]).toMatchObject({ id: made.id, status: "open", amount: 0.01 });
    const edited = await client.editOrderWs(String(made.id), BTC, "limit", "buy", 0.01, 45_100);
    await client.cancelOrderWs(String(edited.id), BTC);
    await expect(client.cancelOrderWs(String(edited.id), BTC)).rejects.toBeInstanceOf(ccxt.ExchangeError);
    await client.createOrderWs(BTC, "market", "buy", 0.01);
    expect((await trades)[0]).toMatchObject({ symbol: BTC, side: "buy" });
    await client.createOrderWs(BTC, "limit", "buy", 0.01, 45_200);
    await client.cancelAllOrdersWs(BTC);
    expect(await client.fetchOpenOrders(BTC)).toEqual([]);
  });
});
