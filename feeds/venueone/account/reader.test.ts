import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Read } from "../../../engine/ports.js";
import { statusOfWord } from "./normalize.js";
import {
  BTC,
  CLIENT_ID,
  createHarness,
  ETH,
  KEY,
  OPTIONS,
  PEPE,
  PRINCIPAL,
  SIGNER,
  tradingFixture,
  type Harness,
} from "../test/trading-harness.js";

const recorded = tradingFixture("account.json");
const USER = { role: "user" };

function unwrap<T>(read: Read<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

function queries(harness: Harness): Record<string, unknown>[] {
  return harness.http.requests.map((request) => JSON.parse(request.body ?? "") as Record<string, unknown>);
}

function orderStatus(order: Record<string, unknown>, status: string): unknown {
  const row = {
    coin: "BTC",
    side: "A",
    limitPx: "83160.0",
    sz: "0.0",
    origSz: "0.25",
    oid: 77,
    timestamp: 1_790_000_000_000,
    cloid: `0x${CLIENT_ID}`,
    reduceOnly: true,
    isTrigger: false,
    triggerPx: "0.0",
    orderType: "Limit",
    tif: "Ioc",
    ...order,
  };
  return { status: "order", order: { order: row, status, statusTimestamp: 1_790_000_000_100 } };
}

function fill(sz: string, px: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    coin: "BTC",
    px,
    sz,
    side: "A",
    time: 1_790_000_000_090,
    startPosition: "0.25",
    oid: 77,
    tid: Number(px.replace(".", "")),
    fee: "0.5",
    feeToken: "USDC",
    crossed: true,
    ...changes,
  };
}

describe("positions on venueone", () => {
  it("reads the recorded long, mark from position value, for the account of the key", async () => {
    const harness = createHarness();
    harness.http.reply(200, USER).reply(200, recorded["longBtc"]);
    const positions = unwrap(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS));
    expect(positions).toEqual([
      {
        venue: "venueone",
        symbol: "BTC",
        nativeSymbol: "BTC",
        direction: "LONG",
        positionSide: "BOTH",
        qtyLots: 450_000,
        entryPrice: "81285",
        markPrice: "83926",
        liquidationPrice: "74501.802790436",
        unrealizedPnl: "11884.306507",
        leverage: 10,
        marginMode: "cross",
        collateral: null,
        tsVenueMs: 1_790_360_864_964,
      },
    ]);
    expect(queries(harness)).toEqual([
      { type: "userRole", user: SIGNER },
      { type: "clearinghouseState", user: SIGNER },
    ]);
    expect(harness.http.requests.map((request) => request.weight)).toEqual([60, 2]);
  });

  it("reads an agent's principal, never the agent's own address, and asks for the role once", async () => {
    const harness = createHarness();
    harness.http.reply(200, recorded["roleAgent"]).reply(200, recorded["longBtc"]).reply(200, recorded["empty"]);
    const session = harness.open();
    expect(unwrap(await harness.trading.reader.readPositions(session, BTC, OPTIONS))).toHaveLength(1);
    expect(unwrap(await harness.trading.reader.readPositions(session, BTC, OPTIONS))).toHaveLength(0);
    expect(queries(harness).map((query) => query["user"])).toEqual([SIGNER, PRINCIPAL, PRINCIPAL]);
  });

  it("asks for the role once for concurrent reads", async () => {
    const harness = createHarness();
    harness.http.reply(200, recorded["roleAgent"]).reply(200, recorded["empty"]).reply(200, recorded["empty"]);
    const session = harness.open();
    await Promise.all([
      harness.trading.reader.readPositions(session, BTC, OPTIONS),
      harness.trading.reader.readPositions(session, BTC, OPTIONS),
    ]);
    expect(queries(harness).filter((query) => query["type"] === "userRole")).toHaveLength(1);
  });

  it.each<[string, unknown, Record<string, unknown>, string]>([
    ["an unknown address", { role: "missing" }, {}, "AGENT_NOT_APPROVED"],
    ["a vault's address", recorded["roleVault"], {}, "not an account"],
    ["a wallet that is not the key's", USER, { walletAddress: PRINCIPAL }, "walletAddress"],
    ["a vault that is an account", USER, { vaultAddress: PRINCIPAL }, "vaultAddress"],
    [
      "a vault that is an agent",
      { role: "agent", data: { user: SIGNER } },
      { vaultAddress: PRINCIPAL },
      "vaultAddress",
    ],
    [
      "a sub-account of another",
      { role: "subAccount", data: { master: SIGNER } },
      { vaultAddress: PRINCIPAL, walletAddress: `0x${"22".repeat(20)}` },
      "sub-account",
    ],
  ])("fails with AUTH, reading nothing, for %s", async (_what, role, extra, word) => {
    const harness = createHarness();
    const answer = role as { response?: { body: unknown } };
    harness.http.reply(200, answer.response?.body ?? role);
    const read = await harness.trading.reader.readPositions(harness.open(extra), BTC, OPTIONS);
    expect(read).toMatchObject({ ok: false, code: "AUTH" });
    if (!read.ok) expect(read.message).toContain(word);
    expect(harness.http.requests).toHaveLength(1);
  });

  it("reads the sub-account that the credentials trade for", async () => {
    const harness = createHarness();
    harness.http.reply(200, { role: "subAccount", data: { master: SIGNER } }).reply(200, recorded["longBtc"]);
    await harness.trading.reader.readPositions(
      harness.open({ vaultAddress: PRINCIPAL, walletAddress: SIGNER }),
      BTC,
      OPTIONS,
    );
    expect(queries(harness).map((query) => query["user"])).toEqual([PRINCIPAL, PRINCIPAL]);
  });

  it("asks again soon after an unknown address, and after the venue refused the signer", async () => {
    const harness = createHarness();
    const session = harness.open();
    harness.http.reply(200, { role: "missing" });
    await harness.trading.reader.readPositions(session, BTC, OPTIONS);
    await harness.trading.reader.readPositions(session, BTC, OPTIONS);
    expect(harness.http.requests).toHaveLength(1);
    harness.clock.advance(2_001);
    harness.http.reply(200, USER).reply(200, recorded["empty"]);
    expect((await harness.trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(true);
    harness.http.reply(200, { status: "err", response: `User or API Wallet ${SIGNER} does not exist.` });
    await harness.trading.orders.cancel(session, BTC, { venueOrderId: "1" }, OPTIONS);
    harness.http.reply(200, { role: "missing" });
    expect(await harness.trading.reader.readPositions(session, BTC, OPTIONS)).toMatchObject({
      ok: false,
      code: "AUTH",
    });
  });

  it("asks again as soon where our wall clock was set back by an hour meanwhile", async () => {
    const harness = createHarness();
    const session = harness.open();
    harness.http.reply(200, { role: "missing" });
    await harness.trading.reader.readPositions(session, BTC, OPTIONS);
    harness.clock.stepWall(-3_600_000);
    harness.clock.advance(2_001);
    harness.http.reply(200, USER).reply(200, recorded["empty"]);
    expect((await harness.trading.reader.readPositions(session, BTC, OPTIONS)).ok).toBe(true);
  });

  it("prices a contract of 1000 units per unit, lots unchanged", async () => {
    const harness = createHarness();
    const position = {
      coin: "kPEPE",
      szi: "-1200.0",
      entryPx: "0.012345",
      positionValue: "14.4",
      unrealizedPnl: "0.41",
      returnOnEquity: "0.1",
      liquidationPx: null,
      marginUsed: "3.1",
      leverage: { type: "isolated", value: 5, rawUsd: "17.5" },
    };
    harness.http.reply(200, USER).reply(200, {
      marginSummary: { accountValue: "1" },
      withdrawable: "1",
      time: 5,
      assetPositions: [{ type: "oneWay", position }],
    });
    expect(unwrap(await harness.trading.reader.readPositions(harness.open(), null, OPTIONS))).toMatchObject([
      {
        symbol: "PEPE",
        direction: "SHORT",
        qtyLots: 1_200,
        entryPrice: "0.000012345",
        markPrice: "0.000012",
        marginMode: "isolated",
        collateral: "3.1",
        liquidationPrice: null,
      },
    ]);
    expect(PEPE.multiplierExp10).toBe(3);
  });

  it.each<[string, (state: Record<string, unknown>) => void]>([
    ["a hedge row", (state) => Object.assign(first(state), { type: "hedge" })],
    ["a size finer than a lot", (state) => Object.assign(positionOf(state), { szi: "4.5000001" })],
    ["a size that is a number", (state) => Object.assign(positionOf(state), { szi: 4.5 })],
    ["no size", (state) => Object.assign(positionOf(state), { szi: undefined })],
    ["a new leverage word", (state) => Object.assign(positionOf(state), { leverage: { type: "portfolio", value: 3 } })],
    ["an open position without entry", (state) => Object.assign(positionOf(state), { entryPx: null })],
    ["no list of positions", (state) => Object.assign(state, { assetPositions: null })],
  ])("fails loudly on %s instead of showing a flat account", async (_what, spoil) => {
    const harness = createHarness();
    const state = structuredClone(recorded["longBtc"]) as Record<string, unknown>;
    spoil(state);
    harness.http.reply(200, USER).reply(200, state);
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it.each<[number, unknown, string]>([
    [429, "null", "RATE_LIMITED"],
    [500, "null", "VENUE_ERROR"],
    [502, "<html></html>", "VENUE_ERROR"],
    [422, "Failed to deserialize", "BAD_RESPONSE"],
    [200, "null", "BAD_RESPONSE"],
    [200, "<html></html>", "BAD_RESPONSE"],
  ])("fails on HTTP %i %j with %s", async (status, body, code) => {
    const harness = createHarness();
    harness.http.reply(200, USER).reply(status, body);
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({ ok: false, code });
  });

  it("warns of a held coin that is not listed, and reads the others", async () => {
    const harness = createHarness();
    const state = structuredClone(recorded["longBtc"]) as Record<string, unknown>;
    positionOf(state)["coin"] = "xyz:TSLA";
    harness.http.reply(200, USER).reply(200, state);
    harness.http.reply(200, state);
    const session = harness.open();
    expect(unwrap(await harness.trading.reader.readPositions(session, null, OPTIONS))).toMatchObject([
      { symbol: "xyz:TSLA", nativeSymbol: "xyz:TSLA", direction: "LONG", qtyLots: 0, uncounted: "4.5" },
    ]);
    expect(unwrap(await harness.trading.reader.readPositions(session, BTC, OPTIONS))).toEqual([]);
    expect(harness.logLines.join()).toContain("venueone.position.unlisted");
  });

  it("reserves nonces ahead for a close, and for nothing else", async () => {
    const harness = createHarness();
    harness.http.reply(200, USER).reply(200, recorded["empty"]).reply(200, recorded["empty"]);
    const session = harness.open();
    await harness.trading.reader.readPositions(session, BTC, { timeoutMs: 1_000, lane: "read" });
    expect(harness.reservations.calls).toHaveLength(0);
    await harness.trading.reader.readPositions(session, BTC, OPTIONS);
    expect(harness.reservations.calls).toEqual([`venueone:${SIGNER}`]);
  });
});

describe("one order on venueone", () => {
  async function read(instrument: Instrument, ...answers: unknown[]) {
    const harness = createHarness();
    harness.http.reply(200, USER);
    for (const answer of answers) harness.http.reply(200, answer);
    const result = await harness.trading.reader.readOrder(
      harness.open(),
      instrument,
      { clientIdHex: CLIENT_ID },
      OPTIONS,
    );
    return { harness, result };
  }

  it("is null where the venue knows no such id", async () => {
    const { harness, result } = await read(BTC, { status: "unknownOid" });
    expect(result).toMatchObject({ ok: true, value: null });
    expect(queries(harness)[1]).toEqual({ type: "orderStatus", user: SIGNER, oid: `0x${CLIENT_ID}` });
  });

  it("sums the fills of a filled reduce-only order: its rest can be clamped without a fill", async () => {
    const fills = [
      fill("0.1", "83205.0"),
      fill("0.15", "83204.0"),
      fill("0.1", "83205.0"),
      fill("5", "1.0", { oid: 78 }),
      fill("5", "2.0", { coin: "ETH" }),
    ];
    const { harness, result } = await read(BTC, orderStatus({}, "filled"), fills);
    expect(unwrap(result)).toMatchObject({
      status: "FILLED",
      filledLots: 25_000,
      qtyLots: 25_000,
      averagePrice: "83204.4",
      fee: { amount: "1", asset: "USDC" },
      venueOrderId: "77",
      venueClientOrderId: `0x${CLIENT_ID}`,
      side: "SELL",
      reduceOnly: true,
      triggerPrice: null,
    });
    expect(queries(harness)[2]).toEqual({
      type: "userFillsByTime",
      user: SIGNER,
      startTime: 1_789_999_998_000,
      endTime: 1_790_000_002_100,
    });
  });

  it("calls a clamped order that is done CANCELED with what it really filled", async () => {
    const { result } = await read(BTC, orderStatus({ origSz: "1.0" }, "filled"), [fill("0.25", "83205.0")]);
    expect(unwrap(result)).toMatchObject({ status: "CANCELED", filledLots: 25_000, qtyLots: 100_000 });
  });

  it("is the one in its place where its own cancel is newer than the index of client ids", async () => {
    const canceled = orderStatus({ tif: "Alo", sz: "0.25" }, "canceled");
    const listed = (oid: number, cloid: string) => ({
      ...{ coin: "BTC", side: "A", limitPx: "83160.0", sz: "0.35", origSz: "0.35", oid, cloid, tif: "Alo" },
      timestamp: 1_790_000_000_100,
    });
    const { harness, result } = await read(BTC, canceled, [listed(5, "0x77"), listed(78, `0x${CLIENT_ID}`)]);
    expect(unwrap(result)).toMatchObject({ status: "OPEN", venueOrderId: "78", qtyLots: 35_000, filledLots: 0 });
    expect(queries(harness)[2]).toMatchObject({ type: "frontendOpenOrders" });
    const { result: alone } = await read(BTC, canceled, [listed(5, "0x77")], [fill("0.1", "83205.0", { oid: 5 })]);
    expect(unwrap(alone)).toMatchObject({ status: "CANCELED", venueOrderId: "77" });
    const old = {
      ...(canceled as { order: object }),
      order: { ...(canceled as { order: object }).order, statusTimestamp: 1 },
    };
    const { result: longAgo } = await read(BTC, old);
    expect(unwrap(longAgo)).toMatchObject({ status: "CANCELED", venueOrderId: "77" });
  });

  it("is the one in its place where that filled before the index of client ids had it", async () => {
    const canceled = orderStatus({ tif: "Alo", sz: "0.25" }, "canceled");
    const fills = [
      fill("0.1", "83204.0", { oid: 5, cloid: "0x77" }),
      fill("0.35", "83205.0", { oid: 78, cloid: `0x${CLIENT_ID}` }),
    ];
    const filled = orderStatus({ tif: "Alo", oid: 78, origSz: "0.35", reduceOnly: false }, "filled");
    const { harness, result } = await read(BTC, canceled, [], fills, filled, fills);
    expect(unwrap(result)).toMatchObject({ status: "FILLED", venueOrderId: "78", filledLots: 35_000 });
    expect(queries(harness).slice(3, 5)).toMatchObject([{ type: "userFillsByTime" }, { type: "orderStatus", oid: 78 }]);
    const { result: unindexed } = await read(BTC, canceled, [], fills, { status: "unknownOid" });
    expect(unindexed).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    const { result: partly } = await read(
      BTC,
      canceled,
      [],
      fills,
      orderStatus({ oid: 78, tif: "Alo" }, "canceled"),
      fills,
    );
    expect(unwrap(partly)).toMatchObject({ status: "CANCELED", venueOrderId: "78" });
  });

  it("fails, to be asked again, while a filled order's fills are not indexed", async () => {
    const { result } = await read(BTC, orderStatus({}, "filled"), []);
    expect(result).toMatchObject({ ok: false, code: "VENUE_ERROR" });
  });

  it("takes the amount from the row of a normal order, and leaves the average out while fills are missing", async () => {
    const { result } = await read(BTC, orderStatus({ reduceOnly: false, sz: "0.05" }, "canceled"), [
      fill("0.1", "83205.0"),
    ]);
    expect(unwrap(result)).toMatchObject({ status: "CANCELED", filledLots: 20_000, averagePrice: null, fee: null });
  });

  it.each<[string, Record<string, unknown>, string, Record<string, unknown>]>([
    ["open", { sz: "0.25" }, "open", { status: "OPEN", filledLots: 0 }],
    [
      "triggered",
      { sz: "0.25", isTrigger: true, triggerPx: "90000.0", orderType: "Stop Market" },
      "triggered",
      { status: "OPEN", type: "STOP_MARKET", triggerPrice: "90000.0" },
    ],
    [
      "a take-profit limit",
      { sz: "0.25", isTrigger: true, triggerPx: "90000.0", orderType: "Take Profit Limit" },
      "open",
      { type: "STOP_LIMIT" },
    ],
    ["cancelled by reduce-only", { sz: "0.25" }, "reduceOnlyCanceled", { status: "CANCELED" }],
    ["rejected", { sz: "0.25" }, "iocCancelRejected", { status: "REJECTED" }],
    ["a cancel of a new kind", { sz: "0.25" }, "moonCanceled", { status: "CANCELED" }],
    ["a rejection of a new kind", { sz: "0.25" }, "moonRejected", { status: "REJECTED" }],
  ])("reads %s without asking for fills", async (_what, row, word, expected) => {
    const { harness, result } = await read(BTC, orderStatus(row, word));
    expect(unwrap(result)).toMatchObject({ venueStatus: word, ...expected });
    expect(harness.http.requests).toHaveLength(2);
  });

  it("logs a word it does not know, and reports UNKNOWN", async () => {
    const { harness, result } = await read(BTC, orderStatus({ sz: "0.25" }, "hibernating"));
    expect(unwrap(result)).toMatchObject({ status: "UNKNOWN", venueStatus: "hibernating" });
    expect(harness.logLines.join()).toContain("hibernating");
  });

  it("counts the fills of an order whose word it does not know up to now: it may fill still", async () => {
    const { harness, result } = await read(BTC, orderStatus({ sz: "0.15" }, "hibernating"), [fill("0.1", "83205.0")]);
    expect(unwrap(result)).toMatchObject({ status: "UNKNOWN", filledLots: 10_000 });
    expect(queries(harness)[2]).toMatchObject({ endTime: harness.clock.wallMs() + 2_000 });
  });

  it.each(["reduceOnlyCanceled", "reduceOnlyRejected"])("says that %s was for want of a position", async (word) => {
    const { result } = await read(BTC, orderStatus({ sz: "0.25" }, word));
    expect(unwrap(result)).toMatchObject({ venueStatus: word, endReason: "REDUCE_ONLY" });
  });

  it("refuses an id that belongs to another instrument, and asks nobody for an id that cannot be an order's", async () => {
    const { result } = await read(ETH, orderStatus({}, "open"));
    expect(result).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    const harness = createHarness();
    for (const venueOrderId of ["x", "-1", "9007199254740993"])
      expect(await harness.trading.reader.readOrder(harness.open(), BTC, { venueOrderId }, OPTIONS)).toMatchObject({
        ok: true,
        value: null,
      });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("pages through more fills than one answer holds, telling repeated rows apart", async () => {
    const many = Array.from({ length: 2_000 }, (_, index) =>
      fill("0.0001", "83205.0", { tid: index, time: 1_790_000_000_010 }),
    );
    const rest = [
      ...many.slice(-1),
      ...Array.from({ length: 500 }, (_, index) => fill("0.0001", "83205.0", { tid: 2_000 + index })),
    ];
    const { harness, result } = await read(BTC, orderStatus({}, "filled"), many, rest);
    expect(unwrap(result)).toMatchObject({ filledLots: 25_000, status: "FILLED", averagePrice: "83205" });
    expect(queries(harness)[3]).toMatchObject({ startTime: 1_790_000_000_010 });
  });

  it("is not looked for beyond a bounded number of pages", async () => {
    const page = Array.from({ length: 2_000 }, (_, index) => fill("0.00001", "83205.0", { tid: index, oid: 5 }));
    const { harness, result } = await read(BTC, orderStatus({}, "filled"), page, page, page);
    expect(result).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    expect(harness.http.unusedStepCount).toBe(0);
  });
});

describe("the rest of an account on venueone", () => {
  it("lists open orders of listed coins; a clamped reduce-only row counts as unfilled", async () => {
    const harness = createHarness();
    const row = (recorded["openReduceOnly"] as Record<string, unknown>[])[0] ?? {};
    const rows = [
      row,
      { ...row, oid: 2, sz: "0.0001" },
      { ...row, oid: 3, reduceOnly: false, sz: "0.0001" },
      { ...row, oid: 4, coin: "@107" },
    ];
    harness.http.reply(200, USER).reply(200, rows);
    const orders = unwrap(await harness.trading.reader.readOpenOrders(harness.open(), null, OPTIONS));
    expect(orders.map((order) => [order.venueOrderId, order.status, order.filledLots])).toEqual([
      ["59534923953", "OPEN", 0],
      ["2", "OPEN", 0],
      ["3", "PARTIALLY_FILLED", 5],
    ]);
    expect(orders[0]).toMatchObject({ priceTicks: 961_610, qtyLots: 15, reduceOnly: true, side: "SELL" });
  });

  it("reads balances where the account keeps its collateral", async () => {
    const separate = createHarness();
    separate.http.reply(200, USER).reply(200, '"default"').reply(200, recorded["longBtc"]);
    expect(unwrap(await separate.trading.reader.readBalances(separate.open(), OPTIONS))).toEqual([
      { asset: "USDC", total: "38252.7", available: "486.0" },
    ]);
    const unified = createHarness();
    unified.http.reply(200, USER).reply(200, '"unifiedAccount"').reply(200, recorded["spotBalances"]);
    expect(unwrap(await unified.trading.reader.readBalances(unified.open(), OPTIONS))).toEqual([
      { asset: "USDC", total: "14.625485", available: "14.625485" },
      { asset: "PURR", total: "2000", available: "1900" },
      { asset: "HYPE", total: "5.2", available: "5.2" },
    ]);
    const odd = createHarness();
    odd.http.reply(200, USER).reply(200, '"newMode"');
    expect(await odd.trading.reader.readBalances(odd.open(), OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("reads fee rates exactly, rebates included", async () => {
    const harness = createHarness();
    harness.http.reply(200, USER).reply(200, { userCrossRate: "0.00045", userAddRate: "-0.00001", dailyUserVlm: [] });
    expect(unwrap(await harness.trading.reader.readFeeRates(harness.open(), BTC, OPTIONS))).toEqual({
      takerFeeMilliBps: 4_500,
      makerFeeMilliBps: -100,
    });
  });

  it("stops when the time is up between two calls", async () => {
    const harness = createHarness();
    harness.http.step((request) => {
      harness.clock.advance(4_000);
      return harness.http.response(200, request.path === "/info" ? USER : null);
    });
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({
      ok: false,
      code: "TIMEOUT",
    });
    expect(harness.http.requests).toHaveLength(1);
  });

  it("shows no secret in failures or logs", async () => {
    const harness = createHarness();
    harness.http.reply(200, USER).reply(200, `<html>${KEY}</html>`);
    const read = await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS);
    expect(JSON.stringify([read, harness.logLines, harness.http.requests])).not.toContain(KEY.slice(0, 16));
  });
});

describe("status words of venueone", () => {
  it.each([
    ["open", "OPEN"],
    ["filled", "FILLED"],
    ["canceled", "CANCELED"],
    ["triggered", "OPEN"],
    ["rejected", "REJECTED"],
    ["marginCanceled", "CANCELED"],
    ["vaultWithdrawalCanceled", "CANCELED"],
    ["openInterestCapCanceled", "CANCELED"],
    ["selfTradeCanceled", "CANCELED"],
    ["reduceOnlyCanceled", "CANCELED"],
    ["siblingFilledCanceled", "CANCELED"],
    ["delistedCanceled", "CANCELED"],
    ["liquidatedCanceled", "CANCELED"],
    ["outcomeSettledCanceled", "CANCELED"],
    ["scheduledCancel", "CANCELED"],
    ["internalCancel", "CANCELED"],
    ["tickRejected", "REJECTED"],
    ["minTradeNtlRejected", "REJECTED"],
    ["perpMarginRejected", "REJECTED"],
    ["reduceOnlyRejected", "REJECTED"],
    ["badAloPxRejected", "REJECTED"],
    ["marketOrderNoLiquidityRejected", "REJECTED"],
    ["positionFlipAtOpenInterestCapRejected", "REJECTED"],
    ["oracleRejected", "REJECTED"],
    ["perpMaxPositionRejected", "REJECTED"],
    ["tooManyOpenOrdersRejected", "REJECTED"],
    ["", "UNKNOWN"],
    ["constructor", "UNKNOWN"],
  ])("%s is %s", (word, status) => {
    expect(statusOfWord(word)).toBe(status);
  });
});

function first(state: Record<string, unknown>): Record<string, unknown> {
  return (state["assetPositions"] as Record<string, unknown>[])[0] ?? {};
}

function positionOf(state: Record<string, unknown>): Record<string, unknown> {
  return first(state)["position"] as Record<string, unknown>;
}
