import { describe, expect, it } from "vitest";
import type { Read } from "../../../engine/ports.js";
import { signHmac } from "../sign/sign.js";
import {
  AGENT,
  answerFixture,
  API_KEY,
  API_SECRET,
  BTC,
  CLIENT_ID,
  createHarness,
  OPTIONS,
  paramsOf,
  PEPE,
  signedText,
  V3,
  WALLET,
} from "../test/trading-harness.js";

function unwrap<T>(read: Read<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

function position(changes: Record<string, unknown>): Record<string, unknown> {
  return {
    ...(answerFixture("flatPosition") as Record<string, unknown>[])[0],
    symbol: "BTCUSDT",
    updateTime: 5,
    ...changes,
  };
}

describe("positions on venuetwo", () => {
  it("reads both sides of a hedge account for one symbol, signed and weighed", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("hedgePositions"));
    const positions = unwrap(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS));
    expect(positions).toMatchObject([
      {
        direction: "LONG",
        positionSide: "LONG",
        qtyLots: 20_000,
        entryPrice: "6563.665",
        liquidationPrice: "5930.78",
        leverage: 10,
        marginMode: "isolated",
        collateral: "15517.54150468",
      },
      { direction: "SHORT", positionSide: "SHORT", qtyLots: 10_000, entryPrice: "0", unrealizedPnl: "-1156.46711780" },
    ]);
    const request = harness.http.last;
    expect(request).toMatchObject({
      method: "GET",
      weight: 5,
      accountWeight: 0,
      body: null,
      headers: { "x-mbx-apikey": API_KEY },
    });
    expect(request.path).toMatch(
      /^\/fapi\/v2\/positionRisk\?symbol=BTCUSDT&recvWindow=4000&timestamp=\d{13}&signature=[0-9a-f]{64}$/,
    );
    const [text = "", signature] = signedText(request).split("&signature=");
    expect(signature).toBe(signHmac(Buffer.from(API_SECRET), text, ""));
  });

  it("asks with the agent's signature on the V3 path", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("flatPosition"));
    expect(unwrap(await harness.trading.reader.readPositions(harness.open(V3), null, OPTIONS))).toEqual([]);
    expect(harness.http.last.path).toMatch(/^\/fapi\/v3\/positionRisk\?nonce=\d{16}&/);
    expect(paramsOf(harness.http.last)).toMatchObject({ user: WALLET, signer: AGENT });
    expect(harness.http.last.headers).toEqual({});
  });

  it("prices a contract of 1000 units per unit, and says cross and short", async () => {
    const harness = createHarness();
    harness.http.reply(200, [
      position({
        symbol: "1000PEPEUSDT",
        positionAmt: "-1200",
        entryPrice: "0.0123450",
        markPrice: "0.01200000",
        marginType: "cross",
        leverage: "25",
      }),
    ]);
    expect(unwrap(await harness.trading.reader.readPositions(harness.open(), null, OPTIONS))).toMatchObject([
      {
        symbol: "PEPE",
        direction: "SHORT",
        positionSide: "BOTH",
        qtyLots: 1_200,
        entryPrice: "0.000012345",
        markPrice: "0.000012",
        leverage: 25,
        marginMode: "cross",
        collateral: null,
        liquidationPrice: null,
      },
    ]);
    expect(PEPE.multiplierExp10).toBe(3);
  });

  it.each<[string, Record<string, unknown>]>([
    ["a LONG row that is negative", { positionSide: "LONG", positionAmt: "-1" }],
    ["a SHORT row that is positive", { positionSide: "SHORT", positionAmt: "1" }],
    ["a side that is new", { positionSide: "MIDDLE", positionAmt: "1" }],
    ["a size finer than a lot", { positionAmt: "0.0001" }],
    ["a size that is a number", { positionAmt: 1 }],
    ["no entry price", { positionAmt: "1", entryPrice: undefined }],
  ])("fails loudly on %s instead of showing a flat account", async (_what, changes) => {
    const harness = createHarness();
    harness.http.reply(200, [position(changes)]);
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("warns of a held symbol that is not listed", async () => {
    const harness = createHarness();
    harness.http.reply(200, [
      position({ symbol: "TESTUSDT", positionAmt: "-1.50", entryPrice: "3.1" }),
      position({ symbol: "GONEUSDT", positionAmt: "0.000" }),
    ]);
    expect(unwrap(await harness.trading.reader.readPositions(harness.open(), null, OPTIONS))).toMatchObject([
      { symbol: "TESTUSDT", nativeSymbol: "TESTUSDT", direction: "SHORT", qtyLots: 0, uncounted: "1.50" },
    ]);
    expect(harness.logLines.join()).toContain("venuetwo.position.unlisted");
  });

  it.each<[number, unknown, Record<string, unknown>]>([
    [400, { code: -1022, msg: "Signature for this request is not valid." }, { code: "AUTH" }],
    [401, { code: -2015, msg: "Invalid API-key" }, { code: "AUTH" }],
    [401, "", { code: "AUTH" }],
    [429, { code: -1003, msg: "Too many requests" }, { code: "RATE_LIMITED" }],
    [418, { code: -1003, msg: "banned until 1790000030000" }, { code: "RATE_LIMITED", retryAfterMs: 30_000 }],
    [400, { code: -1121, msg: "Invalid symbol." }, { code: "VENUE_ERROR" }],
    [500, "<html>Internal Server Error</html>", { code: "VENUE_ERROR" }],
    [403, "<html></html>", { code: "VENUE_ERROR" }],
    [404, "<html></html>", { code: "BAD_RESPONSE" }],
    [200, "<html></html>", { code: "BAD_RESPONSE" }],
    [200, "{}", { code: "BAD_RESPONSE" }],
  ])("fails on HTTP %i %j", async (status, body, expected) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({
      ok: false,
      ...expected,
    });
  });

  it("measures the clock and asks once more after -1021", async () => {
    const harness = createHarness();
    harness.http.reply(400, { code: -1021, msg: "x" }).reply(200, answerFixture("hedgePositions"));
    expect(unwrap(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS))).toHaveLength(2);
    expect(harness.clockErrorCount).toBe(1);
    harness.http.reply(400, { code: -1021, msg: "x" }).reply(400, { code: -1021, msg: "x" });
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({
      ok: false,
      code: "VENUE_ERROR",
    });
  });
});

describe("orders on venuetwo, read", () => {
  it("reads one by client id or id, and null for one the venue does not know", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("orderResponse")).reply(400, { code: -2013, msg: "Order does not exist." });
    const session = harness.open();
    expect(
      unwrap(await harness.trading.reader.readOrder(session, BTC, { venueOrderId: "12345678" }, OPTIONS)),
    ).toMatchObject({
      venueOrderId: "12345678",
      venueClientOrderId: "testOrder123",
      status: "OPEN",
      type: "LIMIT",
      priceTicks: 5_000_000,
      qtyLots: 1,
      filledLots: 0,
      averagePrice: null,
      triggerPrice: null,
    });
    expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "BTCUSDT", orderId: "12345678" });
    expect(
      unwrap(await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS)),
    ).toBeNull();
    expect(paramsOf(harness.http.last)).toMatchObject({ origClientOrderId: CLIENT_ID });
  });

  it("fails, rather than saying that there is no order, on every other error", async () => {
    const harness = createHarness();
    const session = harness.open();
    harness.http
      .reply(400, { code: -2015, msg: "Invalid API-key" })
      .reply(503, "")
      .reply(200, "{}")
      .reply(200, answerFixture("canceled"));
    const codes: string[] = [];
    for (let index = 0; index < 4; index++) {
      const read = await harness.trading.reader.readOrder(session, PEPE, { venueOrderId: "1" }, OPTIONS);
      codes.push(read.ok ? "ok" : read.code);
    }
    // The last is an order of another symbol.
    expect(codes).toEqual(["AUTH", "VENUE_ERROR", "BAD_RESPONSE", "BAD_RESPONSE"]);
  });

  it("lists open orders, for one symbol or weighed for all, conditional ones with their trigger", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("openOrders")).reply(200, answerFixture("openOrders"));
    const session = harness.open();
    const [order] = unwrap(await harness.trading.reader.readOpenOrders(session, BTC, OPTIONS));
    expect(order).toMatchObject({
      venueOrderId: "1917641",
      type: "STOP_MARKET",
      triggerPrice: "9300",
      status: "OPEN",
      side: "BUY",
      reduceOnly: true,
      qtyLots: 400,
    });
    expect(harness.http.last.weight).toBe(1);
    expect(unwrap(await harness.trading.reader.readOpenOrders(session, null, OPTIONS))).toHaveLength(1);
    expect(harness.http.last.weight).toBe(40);
  });
});

describe("balances, fees and listen keys of venuetwo", () => {
  it("reads balances and the account's own fee rates", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("balanceRow")).reply(200, answerFixture("commission"));
    const session = harness.open();
    expect(unwrap(await harness.trading.reader.readBalances(session, OPTIONS))).toEqual([
      { asset: "USDT", total: "1.11341089", available: "0.81341089" },
    ]);
    expect(unwrap(await harness.trading.reader.readFeeRates(session, BTC, OPTIONS))).toEqual({
      takerFeeMilliBps: 5_000,
      makerFeeMilliBps: 2_000,
    });
    expect(harness.http.last.weight).toBe(20);
  });

  it("creates, extends and closes a listen key with the key header alone", async () => {
    const harness = createHarness();
    const { listenKey } = harness.trading;
    const session = harness.open();
    harness.http
      .reply(200, { listenKey: "a".repeat(64) })
      .reply(200, {})
      .reply(400, { code: -1125, msg: "This listenKey does not exist." })
      .reply(200, {});
    expect(unwrap(await listenKey.create(session, OPTIONS))).toBe("a".repeat(64));
    expect(harness.http.last).toMatchObject({
      method: "POST",
      path: "/fapi/v1/listenKey",
      body: "",
      headers: { "x-mbx-apikey": API_KEY },
    });
    expect(unwrap(await listenKey.extend(session, OPTIONS))).toBe("extended");
    expect(unwrap(await listenKey.extend(session, OPTIONS))).toBe("expired");
    expect(unwrap(await listenKey.close(session, OPTIONS))).toBeNull();
    expect(harness.http.last).toMatchObject({ method: "DELETE", path: "/fapi/v1/listenKey", body: null });
  });

  it("signs listen keys of an agent, and refuses a key that would change the socket's address", async () => {
    const harness = createHarness();
    harness.http.reply(200, { listenKey: "k" }).reply(200, { listenKey: "k/../x?y" });
    const session = harness.open(V3);
    expect(unwrap(await harness.trading.listenKey.create(session, OPTIONS))).toBe("k");
    expect(harness.http.last.path).toBe("/fapi/v3/listenKey");
    expect(paramsOf(harness.http.last)).toMatchObject({ user: WALLET, signer: AGENT });
    expect(await harness.trading.listenKey.create(session, OPTIONS)).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });

  it("refuses a closed session before anything is sent", async () => {
    const harness = createHarness();
    const session = harness.open();
    session.close();
    expect(await harness.trading.reader.readBalances(session, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    expect(await harness.trading.listenKey.create(session, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("shows no secret in failures or logs", async () => {
    const harness = createHarness();
    harness.http.reply(400, { code: -2014, msg: `API-key format invalid: ${API_KEY} ${API_SECRET}` });
    const read = await harness.trading.reader.readBalances(harness.open(), OPTIONS);
    const outputs = JSON.stringify([read, harness.logLines]);
    for (const secret of [API_KEY, API_SECRET]) expect(outputs).not.toContain(secret.slice(0, 16));
  });
});
