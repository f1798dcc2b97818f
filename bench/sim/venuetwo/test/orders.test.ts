/** Orders over the wire: filters with their codes, answer formats, states, the venue's own log. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { VenuetwoSim } from "../sim.js";
import { ACCOUNT, agentCall, type Answer, call, signedCall, startTestVenue } from "./support.js";

type Fields = Record<string, string | number | boolean>;

describe("orders over the wire", () => {
  let venue: VenuetwoSim;
  let clock: VirtualClock;
  let bid = 0;
  let ask = 0;

  beforeAll(async () => {
    clock = new VirtualClock();
    venue = await startTestVenue({
      clock,
      limits: { ordersPer10s: 10_000, ordersPerMinute: 10_000, weightPerMinute: 1_000_000 },
    });
  });

  beforeEach(() => {
    clock.advance(500);
    bid = (venue.exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0) / 10;
    ask = (venue.exchange.market.bestAsk("BTCUSDT")?.priceTicks ?? 0) / 10;
  });

  afterAll(() => venue.stop());

  const post = (fields: Fields): Promise<Answer> =>
    signedCall(venue, "POST", "/fapi/v1/order", { symbol: "BTCUSDT", ...fields });
  const get = (path: string, fields: Fields = {}): Promise<Answer> => signedCall(venue, "GET", path, fields);

  it("refuses each bad field with its own code and sends nothing to the book", async () => {
    const good: Fields = { side: "BUY", type: "LIMIT", timeInForce: "GTC", quantity: "0.010", price: bid.toFixed(1) };
    const without = (name: string): Fields => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    const cases: readonly (readonly [Fields, number])[] = [
      [{ ...good, symbol: "NOPE" }, -1121],
      [{ ...good, symbol: "btcusdt" }, -1121],
      [without("side"), -1102],
      [{ ...good, side: "LONG" }, -1117],
      [{ ...good, type: "ICEBERG" }, -1116],
      [without("timeInForce"), -1102],
      [{ ...good, timeInForce: "GTD" }, -1115],
      [without("quantity"), -1102],
      [{ ...good, quantity: "0" }, -4003],
      [{ ...good, quantity: "-1" }, -4003],
      [{ ...good, quantity: "1e1" }, -1100],
      [{ ...good, quantity: "NaN" }, -1100],
      [{ ...good, quantity: "0.0001" }, -1111],
      [{ ...good, quantity: "1001" }, -4005],
      [{ ...good, quantity: "99999999999999999999" }, -4005],
      [without("price"), -1102],
      [{ ...good, price: "0" }, -4001],
      [{ ...good, price: "0.5" }, -4013],
      [{ ...good, price: "1000001" }, -4002],
      [{ ...good, price: "90000.01" }, -1111],
      [{ ...good, price: (bid * 1.03).toFixed(1) }, -4016],
      [{ ...good, side: "SELL", price: (bid * 0.97).toFixed(1) }, -4024],
      [{ ...good, side: "BUY", quantity: "0.001", price: "1.0" }, -4164],
      [{ ...good, newClientOrderId: "x".repeat(37) }, -4015],
      [{ ...good, newClientOrderId: "white space" }, -1100],
      [{ ...good, newOrderRespType: "FULL" }, -1136],
      [{ ...good, positionSide: "LONG" }, -4061],
      [{ ...good, positionSide: "UP" }, -4060],
      [{ ...good, reduceOnly: "perhaps" }, -1130],
      [{ ...good, reduceOnly: "true" }, -2022],
      [{ ...good, quantity: "100" }, -2019],
      [{ ...good, quantity: "900" }, -2027],
      [{ side: "BUY", type: "MARKET", quantity: "121" }, -4005],
      [{ side: "BUY", type: "MARKET", quantity: "1", timeInForce: "GTC" }, -1106],
      [{ side: "SELL", type: "STOP_MARKET", quantity: "0.01", stopPrice: (ask * 1.01).toFixed(1) }, -2021],
      [{ side: "SELL", type: "STOP_MARKET", quantity: "0.01" }, -1102],
      [{ side: "SELL", type: "STOP_MARKET", closePosition: "true", quantity: "0.01", stopPrice: "1000" }, -4137],
      [{ side: "SELL", type: "STOP_MARKET", closePosition: "true", reduceOnly: "true", stopPrice: "1000" }, -1106],
      [{ side: "SELL", type: "TRAILING_STOP_MARKET", quantity: "0.01", callbackRate: "9" }, -1100],
    ];
    for (const [fields, code] of cases) {
      const answer = await post(fields);
      expect([fields, answer.status, answer.json.code]).toEqual([fields, 400, code]);
      expect(typeof answer.json.msg).toBe("string");
    }
    expect(venue.exchange.orders.open(ACCOUNT)).toEqual([]);
    expect(venue.exchange.accounts.fills(ACCOUNT)).toEqual([]);
    const refused = venue.log.records({ action: "place" });
    expect(refused.length).toBe(cases.length);
    expect(refused.every((record) => record.refusal !== null && record.orderId === null)).toBe(true);
  });

  it("answers ACK by default, also for a MARKET order that has filled, and the final state with RESULT", async () => {
    const ack = await post({ side: "BUY", type: "MARKET", quantity: "0.020", newClientOrderId: "ack-1" });
    expect(ack.json).toMatchObject({
      status: "NEW",
      price: "0",
      avgPrice: "0.00000",
      origQty: "0.020",
      executedQty: "0",
      cumQty: "0",
      cumQuote: "0",
      timeInForce: "GTC",
      type: "MARKET",
      reduceOnly: false,
      stopPrice: "0",
      clientOrderId: "ack-1",
    });
    expect(ack.json.time).toBeUndefined();
    const result = await post({
      side: "SELL",
      type: "MARKET",
      quantity: "0.020",
      reduceOnly: "true",
      newOrderRespType: "RESULT",
    });
    expect(result.json).toMatchObject({
      status: "FILLED",
      executedQty: "0.020",
      cumQty: "0.020",
      reduceOnly: true,
      closePosition: false,
      priceProtect: false,
      workingType: "CONTRACT_PRICE",
    });
    expect(result.json.avgPrice).toMatch(/^\d+\.\d{5}$/);
    const query = await get("/fapi/v1/order", { symbol: "BTCUSDT", origClientOrderId: "ack-1" });
    expect(query.json).toMatchObject({ status: "FILLED", executedQty: "0.020" });
    expect(query.json.cumQty).toBeUndefined();
    expect(typeof query.json.time).toBe("number");
    const [bought, sold] = (await get("/fapi/v1/userTrades", { symbol: "BTCUSDT" })).json as unknown as Record<
      string,
      unknown
    >[];
    expect(bought).toMatchObject({
      side: "BUY",
      maker: false,
      buyer: true,
      commissionAsset: "USDT",
      marginAsset: "USDT",
      positionSide: "BOTH",
    });
    expect(sold?.commission).toMatch(/^\d+\.\d{8}$/);
  });

  it("expires IOC remainders, unfillable FOK and crossing GTX orders", async () => {
    const ioc = await post({
      side: "BUY",
      type: "LIMIT",
      timeInForce: "IOC",
      quantity: "0.01",
      price: (bid - 50).toFixed(1),
      newOrderRespType: "RESULT",
    });
    expect(ioc.json).toMatchObject({ status: "EXPIRED", executedQty: "0" });
    const fok = await post({
      side: "BUY",
      type: "LIMIT",
      timeInForce: "FOK",
      quantity: "2",
      price: (ask - 50).toFixed(1),
      newOrderRespType: "RESULT",
    });
    expect(fok.json).toMatchObject({ status: "EXPIRED", executedQty: "0" });
    const gtx = await post({
      side: "BUY",
      type: "LIMIT",
      timeInForce: "GTX",
      quantity: "0.01",
      price: (ask + 10).toFixed(1),
      newOrderRespType: "RESULT",
    });
    expect(gtx.json).toMatchObject({ status: "EXPIRED", executedQty: "0", timeInForce: "GTX" });
  });

  it("rests, lists, cancels by either id, and says -2011 and -2013 for what is not there", async () => {
    const placed = await post({
      side: "BUY",
      type: "LIMIT",
      timeInForce: "GTC",
      quantity: "0.01",
      price: (bid - 500).toFixed(1),
      newClientOrderId: "rest-1",
    });
    expect(
      (
        await post({
          side: "BUY",
          type: "LIMIT",
          timeInForce: "GTC",
          quantity: "0.01",
          price: (bid - 500).toFixed(1),
          newClientOrderId: "rest-1",
        })
      ).json.code,
    ).toBe(-4116);
    expect((await get("/fapi/v1/openOrders", { symbol: "BTCUSDT" })).json).toHaveLength(1);
    expect(
      (await get("/fapi/v1/openOrder", { symbol: "BTCUSDT", orderId: Number(placed.json.orderId) })).json,
    ).toMatchObject({ status: "NEW", clientOrderId: "rest-1" });
    expect((await get("/fapi/v1/order", { symbol: "ETHUSDT", orderId: Number(placed.json.orderId) })).json.code).toBe(
      -2013,
    );
    const canceled = await signedCall(venue, "DELETE", "/fapi/v1/order", {
      symbol: "BTCUSDT",
      origClientOrderId: "rest-1",
    });
    expect(canceled.json).toMatchObject({ status: "CANCELED", orderId: placed.json.orderId });
    expect(
      (await signedCall(venue, "DELETE", "/fapi/v1/order", { symbol: "BTCUSDT", origClientOrderId: "rest-1" })).json,
    ).toEqual({ code: -2011, msg: "Unknown order sent." });
    expect((await get("/fapi/v1/openOrder", { symbol: "BTCUSDT", origClientOrderId: "rest-1" })).json).toEqual({
      code: -2013,
      msg: "Order does not exist.",
    });
    expect((await get("/fapi/v1/order", { symbol: "BTCUSDT" })).json.code).toBe(-1102);
    expect((await get("/fapi/v1/allOrders", { symbol: "BTCUSDT" })).json).not.toHaveLength(0);
  });

  it("places and cancels in batches, each entry with its own outcome", async () => {
    const good = {
      symbol: "BTCUSDT",
      side: "BUY",
      type: "LIMIT",
      timeInForce: "GTC",
      quantity: "0.01",
      price: (bid - 400).toFixed(1),
    };
    const batch = await agentCall(venue, "POST", "/fapi/v3/batchOrders", {
      batchOrders: JSON.stringify([good, { ...good, quantity: "0" }, { ...good, reduceOnly: "true" }]),
    });
    expect(batch.json).toMatchObject([
      { status: "NEW" },
      { code: -4003 },
      { code: -2022, msg: "ReduceOnly Order is rejected." },
    ]);
    expect(batch.json[0]?.newChainData).toBeDefined();
    const ids = JSON.stringify([batch.json[0]?.orderId, 1]);
    expect(
      (await signedCall(venue, "DELETE", "/fapi/v1/batchOrders", { symbol: "BTCUSDT", orderIdList: ids })).json,
    ).toMatchObject([{ status: "CANCELED" }, { code: -2011 }]);
    expect(
      (
        await agentCall(venue, "POST", "/fapi/v3/batchOrders", {
          batchOrders: JSON.stringify(Array.from({ length: 6 }, () => good)),
        })
      ).json.code,
    ).toBe(-4082);
  });

  it("amends on V3 only, cancels all, and cancels by countdown on its own clock", async () => {
    const placed = await post({
      side: "BUY",
      type: "LIMIT",
      timeInForce: "GTC",
      quantity: "0.01",
      price: (bid - 300).toFixed(1),
    });
    const orderId = Number(placed.json.orderId);
    const change = { symbol: "BTCUSDT", orderId, quantity: "0.02", price: (bid - 310).toFixed(1) };
    const logged = venue.log.records({}).length;
    // Whoever signs: the older version has no such call, and the newer one takes no HMAC key.
    for (const refused of [
      await signedCall(venue, "PUT", "/fapi/v1/order", change),
      await agentCall(venue, "PUT", "/fapi/v1/order", change),
    ])
      expect([refused.status, refused.json.code]).toEqual([404, -5000]);
    expect((await signedCall(venue, "PUT", "/fapi/v3/order", change)).json.code).toBe(-1102);
    expect((await get("/fapi/v1/order", { symbol: "BTCUSDT", orderId })).json).toMatchObject({
      origQty: "0.010",
      price: (bid - 300).toFixed(1),
    });
    expect(venue.log.records({})).toHaveLength(logged);
    const amended = await agentCall(venue, "PUT", "/fapi/v3/order", change);
    expect(amended.json).toMatchObject({ orderId, origQty: "0.020", status: "NEW" });
    expect((await signedCall(venue, "DELETE", "/fapi/v1/allOpenOrders", { symbol: "BTCUSDT" })).json).toEqual({
      code: "200",
      msg: "The operation of cancel all open order is done.",
    });
    await post({ side: "BUY", type: "LIMIT", timeInForce: "GTC", quantity: "0.01", price: (bid - 300).toFixed(1) });
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/countdownCancelAll", { symbol: "BTCUSDT", countdownTime: 2000 })).json,
    ).toEqual({ symbol: "BTCUSDT", countdownTime: "2000" });
    clock.advance(1900);
    expect(venue.exchange.orders.open(ACCOUNT)).toHaveLength(1);
    clock.advance(200);
    expect(venue.exchange.orders.open(ACCOUNT)).toHaveLength(0);
  });

  it("limits conditional orders per symbol and fires them with their original type kept", async () => {
    await post({ side: "BUY", type: "MARKET", quantity: "0.1" });
    for (let index = 0; index < 10; index++) {
      const stop = await post({
        side: "SELL",
        type: "STOP_MARKET",
        quantity: "0.01",
        reduceOnly: "true",
        stopPrice: (bid * 0.995 - index).toFixed(1),
        newClientOrderId: `stop-${index}`,
      });
      expect(stop.json).toMatchObject({ status: "NEW", type: "STOP_MARKET", origType: "STOP_MARKET" });
    }
    expect(
      (await post({ side: "SELL", type: "STOP_MARKET", quantity: "0.01", stopPrice: (bid * 0.99).toFixed(1) })).json
        .code,
    ).toBe(-4045);
    venue.exchange.controls.setPriceSkew(-80, 0);
    clock.advance(15_000);
    const fired = (await get("/fapi/v1/order", { symbol: "BTCUSDT", origClientOrderId: "stop-0" })).json;
    expect(fired).toMatchObject({
      status: "FILLED",
      type: "MARKET",
      origType: "STOP_MARKET",
      reduceOnly: true,
      executedQty: "0.010",
    });
    venue.exchange.controls.setPriceSkew(0, 0);
    clock.advance(1000);
    await signedCall(venue, "DELETE", "/fapi/v1/allOpenOrders", { symbol: "BTCUSDT" });
    const left = venue.exchange.accounts.position(ACCOUNT, "BTCUSDT", "BOTH")?.qtyLots ?? 0;
    if (left > 0) await post({ side: "SELL", type: "MARKET", quantity: (left / 1000).toFixed(3), reduceOnly: "true" });
  });

  it("judges a stop's limit around its trigger, wherever the mark is", async () => {
    await post({ side: "BUY", type: "MARKET", quantity: "0.1" });
    const trigger = (bid * 0.9).toFixed(1);
    const stop = (share: number): Fields => ({
      side: "SELL",
      type: "STOP",
      quantity: "0.01",
      reduceOnly: "true",
      stopPrice: trigger,
      price: (Number(trigger) * share).toFixed(1),
    });
    expect((await post(stop(0.985))).json).toMatchObject({ status: "NEW", stopPrice: trigger });
    expect((await post(stop(0.975))).json.code).toBe(-4184);
    const buy: Fields = { ...stop(1), side: "BUY", stopPrice: (ask * 1.1).toFixed(1), reduceOnly: "false" };
    expect((await post({ ...buy, price: (ask * 1.1 * 1.025).toFixed(1) })).json.code).toBe(-4183);
    expect((await post({ ...buy, price: (ask * 1.1 * 1.015).toFixed(1) })).json).toMatchObject({ status: "NEW" });
    await signedCall(venue, "DELETE", "/fapi/v1/allOpenOrders", { symbol: "BTCUSDT" });
    await post({ side: "SELL", type: "MARKET", quantity: "0.1", reduceOnly: "true" });
  });

  it("runs hedge mode: both sides apart, no reduceOnly, no flip", async () => {
    expect((await signedCall(venue, "POST", "/fapi/v1/positionSide/dual", { dualSidePosition: "true" })).json).toEqual({
      code: 200,
      msg: "success",
    });
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/positionSide/dual", { dualSidePosition: "true" })).json.code,
    ).toBe(-4059);
    expect((await post({ side: "BUY", type: "MARKET", quantity: "0.01" })).json.code).toBe(-4061);
    await post({ side: "BUY", type: "MARKET", quantity: "0.02", positionSide: "LONG" });
    await post({ side: "SELL", type: "MARKET", quantity: "0.01", positionSide: "SHORT" });
    const rows = (await get("/fapi/v2/positionRisk", { symbol: "BTCUSDT" })).json as unknown as Record<
      string,
      unknown
    >[];
    expect(rows.map((row) => [row.positionSide, row.positionAmt])).toEqual([
      ["LONG", "0.020"],
      ["SHORT", "-0.010"],
    ]);
    expect(
      (await post({ side: "SELL", type: "MARKET", quantity: "0.01", positionSide: "LONG", reduceOnly: "true" })).json
        .code,
    ).toBe(-1106);
    expect((await post({ side: "SELL", type: "MARKET", quantity: "0.03", positionSide: "LONG" })).json.code).toBe(
      -2022,
    );
    await post({ side: "SELL", type: "MARKET", quantity: "0.02", positionSide: "LONG" });
    await post({ side: "BUY", type: "MARKET", quantity: "0.01", positionSide: "SHORT" });
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/positionSide/dual", { dualSidePosition: "false" })).json.code,
    ).toBe(200);
  });

  it("prints account, balance and positions in the captured forms", async () => {
    const balance = (await get("/fapi/v2/balance")).json[0] ?? {};
    expect(Object.keys(balance)).toEqual([
      "accountAlias",
      "asset",
      "balance",
      "crossWalletBalance",
      "crossUnPnl",
      "availableBalance",
      "maxWithdrawAmount",
      "marginAvailable",
      "updateTime",
    ]);
    expect(balance.balance).toMatch(/^\d+\.\d{8}$/);
    const account = (await get("/fapi/v4/account")).json;
    expect(account.positions).toHaveLength(2);
    expect(account.canTrade).toBe(true);
    const flat = (await get("/fapi/v2/positionRisk", { symbol: "ETHUSDT" })).json[0] ?? {};
    expect(flat).toMatchObject({
      positionAmt: "0.0",
      entryPrice: "0.0",
      unRealizedProfit: "0.00000000",
      liquidationPrice: "0",
      leverage: "20",
      marginType: "cross",
      isAutoAddMargin: "false",
      positionSide: "BOTH",
      notional: "0",
      isolatedWallet: "0",
    });
    expect((await get("/fapi/v1/commissionRate", { symbol: "BTCUSDT" })).json).toEqual({
      symbol: "BTCUSDT",
      makerCommissionRate: "0.000100",
      takerCommissionRate: "0.000350",
    });
    const brackets = (await get("/fapi/v1/leverageBracket", { symbol: "BTCUSDT" })).json;
    expect(brackets.brackets).toHaveLength(6);
    expect(Array.isArray((await get("/fapi/v1/leverageBracket")).json)).toBe(true);
    const income = (await get("/fapi/v1/income", { incomeType: "COMMISSION" })).json[0] ?? {};
    expect(income.tranId).toMatch(/^\d{19}$/);
  });

  it("changes leverage, margin type and isolated margin with the documented refusals", async () => {
    expect((await signedCall(venue, "POST", "/fapi/v1/leverage", { symbol: "BTCUSDT", leverage: 126 })).json.code).toBe(
      -4028,
    );
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/marginType", { symbol: "BTCUSDT", marginType: "CROSSED" })).json,
    ).toEqual({ code: -4046, msg: "No need to change margin type." });
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/marginType", { symbol: "BTCUSDT", marginType: "ISOLATED" })).json,
    ).toEqual({ code: 200, msg: "success" });
    await post({ side: "BUY", type: "MARKET", quantity: "0.01" });
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/marginType", { symbol: "BTCUSDT", marginType: "CROSSED" })).json.code,
    ).toBe(-4048);
    expect((await signedCall(venue, "POST", "/fapi/v1/leverage", { symbol: "BTCUSDT", leverage: 2 })).json.code).toBe(
      -4161,
    );
    expect(
      (await signedCall(venue, "POST", "/fapi/v1/positionMargin", { symbol: "BTCUSDT", amount: "10", type: 1 })).json,
    ).toEqual({ amount: 10, code: 200, msg: "Successfully modify position margin.", type: 1 });
    const row = (await get("/fapi/v2/positionRisk", { symbol: "BTCUSDT" })).json[0] ?? {};
    expect(row).toMatchObject({ marginType: "isolated" });
    expect(Number(row.isolatedWallet)).toBeGreaterThan(10);
    await post({ side: "SELL", type: "MARKET", quantity: "0.01", reduceOnly: "true" });
    await signedCall(venue, "POST", "/fapi/v1/marginType", { symbol: "BTCUSDT", marginType: "CROSSED" });
  });

  it("transfers between spot and perp once per client id, with a 19-digit id", async () => {
    const before = venue.exchange.accounts.margin(ACCOUNT).walletE12;
    const transfer = { amount: "100", asset: "USDT", clientTranId: "t1", kindType: "SPOT_FUTURE" };
    const done = await signedCall(venue, "POST", "/fapi/v1/asset/wallet/transfer", transfer);
    expect(done.text).toMatch(/^\{"tranId":\d{19},"status":"SUCCESS"\}$/);
    expect(venue.exchange.accounts.margin(ACCOUNT).walletE12 - before).toBe(100n * 10n ** 12n);
    expect((await signedCall(venue, "POST", "/fapi/v1/asset/wallet/transfer", transfer)).json.code).toBe(-4115);
    expect(
      (
        await signedCall(venue, "POST", "/fapi/v1/asset/wallet/transfer", {
          ...transfer,
          clientTranId: "t2",
          amount: "1000",
        })
      ).json.code,
    ).toBe(-2018);
  });

  it("answers unknown paths and bad market parameters in the venue's form", async () => {
    const missing = await call(venue, "GET", "/fapi/v1/nothing");
    expect([missing.status, missing.json.code]).toEqual([404, -5000]);
    expect((await call(venue, "GET", "/fapi/v1/depth?symbol=BTCUSDT&limit=7")).json.code).toBe(-4021);
    expect((await call(venue, "GET", "/fapi/v1/depth?symbol=X")).json).toEqual({ code: -1121, msg: "Invalid symbol." });
    expect((await call(venue, "GET", "/fapi/v1/klines?symbol=BTCUSDT&interval=7m")).json.code).toBe(-1120);
    expect((await call(venue, "GET", "/fapi/v1/klines?symbol=BTCUSDT&interval=1h&limit=3")).json).toHaveLength(3);
    expect((await call(venue, "GET", "/fapi/v1/indexPriceKlines?pair=BTCUSDT&interval=1m&limit=2")).json).toHaveLength(
      2,
    );
    const info = (await call(venue, "GET", "/fapi/v1/exchangeInfo")).json as unknown as {
      symbols: { symbol: string; status: string }[];
      serverTime: number;
    };
    expect(info.serverTime).toBe(venue.exchange.nowMs());
    expect(info.symbols.map((entry) => entry.status)).toEqual(["TRADING", "TRADING", "SETTLING", "PENDING_TRADING"]);
    expect((await call(venue, "GET", "/fapi/v3/openInterest?symbol=BTCUSDT")).json).toMatchObject({
      symbol: "BTCUSDT",
    });
    expect((await call(venue, "GET", "/fapi/v1/openInterest?symbol=BTCUSDT")).status).toBe(404);
  });
});
