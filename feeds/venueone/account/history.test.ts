import { describe, expect, it } from "vitest";
import type { Lane } from "../../../engine/ports.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { BTC, createHarness, ETH, type Harness, OPTIONS, SIGNER, tradingFixture } from "../test/trading-harness.js";

const HOUR_MS = 3_600_000;
const recorded = tradingFixture("account.json");

interface Query {
  readonly type: string;
  readonly user: string;
  readonly startTime?: number;
  readonly endTime?: number;
}

interface Told {
  readonly fills?: readonly Readonly<Record<string, unknown>>[];
  readonly funding?: readonly Readonly<Record<string, unknown>>[];
  readonly open?: readonly unknown[];
  readonly historical?: readonly unknown[];
  readonly fillCap?: number;
  readonly fundingCap?: number;
}

/** Answers every question from these lists, as the venue cuts them: oldest first. */
function told(harness: Harness, lists: Told): Query[] {
  const asked: Query[] = [];
  const inTime = (rows: Told["fills"], query: Query, cap: number): readonly unknown[] =>
    (rows ?? [])
      .filter(({ time }) => Number(time) >= (query.startTime ?? 0) && Number(time) <= (query.endTime ?? Infinity))
      .toSorted((left, right) => Number(left["time"]) - Number(right["time"]))
      .slice(0, cap);
  const answer = (request: HttpRequest): HttpResult => {
    const query = JSON.parse(request.body ?? "") as Query;
    asked.push(query);
    const bodies: Readonly<Record<string, unknown>> = {
      userRole: { role: "user" },
      userFillsByTime: inTime(lists.fills, query, lists.fillCap ?? 2_000),
      userFunding: inTime(lists.funding, query, lists.fundingCap ?? 500),
      frontendOpenOrders: lists.open ?? [],
      historicalOrders: lists.historical ?? [],
    };
    return harness.http.response(200, bodies[query.type]);
  };
  for (let count = 0; count < 200; count++) harness.http.step(answer);
  return asked;
}

const ALL = { instrument: null, sinceMs: null, untilMs: null, limit: 100, cursor: null };

function fill(time: number, tid: number, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    coin: "BTC",
    px: "80000.0",
    sz: "0.1",
    side: "B",
    time,
    startPosition: "0.0",
    dir: "Open Long",
    closedPnl: "-1.5",
    hash: "0x0",
    oid: 7,
    crossed: false,
    fee: "0.36",
    tid,
    feeToken: "USDC",
    ...changes,
  };
}

function order(oid: number, timestamp: number, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    coin: "BTC",
    side: "A",
    limitPx: "80000.0",
    sz: "0.1",
    origSz: "0.1",
    oid,
    timestamp,
    cloid: null,
    reduceOnly: false,
    isTrigger: false,
    triggerPx: "0.0",
    orderType: "Limit",
    tif: "Gtc",
    children: [],
    ...changes,
  };
}

describe("fills of venueone", () => {
  it("carry everything, of the account behind the key, in canonical prices", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const kpepe = fill(nowMs - 5, 9, {
      coin: "kPEPE",
      px: "0.012345",
      sz: "1000",
      side: "A",
      crossed: true,
      fee: "-0.1",
    });
    const asked = told(harness, { fills: [fill(nowMs - 10, 8), kpepe, fill(nowMs - 1, 3, { coin: "@107" })] });
    const read = await harness.trading.history.readFills(harness.open(), ALL, OPTIONS);
    expect(read).toMatchObject({ ok: true, source: "venue" });
    expect(read.ok && read.value.rows).toMatchObject([
      { symbol: "PEPE", price: "0.000012345", qtyLots: 1_000, side: "SELL", isMaker: false, fee: { amount: "-0.1" } },
      { symbol: "BTC", tradeId: "8", venueOrderId: "7", isMaker: true, realizedPnl: "-1.5", qtyLots: 10_000 },
    ]);
    expect(asked.slice(1).every(({ user }) => user === SIGNER)).toBe(true);
    expect(harness.http.requests.every(({ lane }) => lane === ("exit" satisfies Lane))).toBe(true);
  });

  it("narrow their spans until the venue shows them whole, 2 000 and more within a second", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const fills = Array.from({ length: 2_500 }, (_, index) => fill(nowMs - 1_000 + Math.floor(index / 5), index + 1));
    const asked = told(harness, { fills });
    const session = harness.open();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const read = await harness.trading.history.readFills(session, { ...ALL, limit: 1_000, cursor }, OPTIONS);
      if (!read.ok) throw new Error(read.message);
      seen.push(...read.value.rows.map(({ tradeId }) => tradeId));
      cursor = read.value.nextCursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(2_500);
    expect(seen).toHaveLength(2_500);
    expect(asked.length).toBeLessThan(60);
  });

  it("fail where an instant cannot be shown whole, rather than leave rows out", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    told(harness, { fills: Array.from({ length: 2_001 }, (_, index) => fill(nowMs - 50, index + 1)) });
    const query = { ...ALL, sinceMs: nowMs - 50, untilMs: nowMs - 50 };
    expect(await harness.trading.history.readFills(harness.open(), query, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("take what is left of the time, and no more", async () => {
    const harness = createHarness();
    harness.http.step(() => {
      harness.clock.advance(3_999);
      return harness.http.response(200, { role: "user" });
    });
    harness.http.step((request) => {
      expect(request.timeoutMs).toBe(1);
      return { kind: "noResponse", reason: "TIMEOUT" };
    });
    expect(await harness.trading.history.readFills(harness.open(), ALL, OPTIONS)).toMatchObject({ code: "TIMEOUT" });
  });

  it("are refused for a key that acts for nobody", async () => {
    const harness = createHarness();
    harness.http.reply(200, { role: "missing" });
    expect(await harness.trading.history.readFills(harness.open(), ALL, OPTIONS)).toMatchObject({ code: "AUTH" });
  });
});

describe("funding of venueone", () => {
  it("reads back hour by hour with sign and rate, past the 500 rows of one answer", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const funding = Array.from({ length: 700 }, (_, index) => ({
      time: nowMs - (700 - index) * HOUR_MS,
      hash: "0x0",
      delta: {
        type: "funding",
        coin: index % 2 === 0 ? "BTC" : "ETH",
        usdc: "-0.05",
        szi: "0.1",
        fundingRate: "0.0000125",
        nSamples: null,
      },
    }));
    told(harness, { funding });
    const session = harness.open();
    const first = await harness.trading.history.readFunding(session, { ...ALL, limit: 600 }, OPTIONS);
    if (!first.ok) throw new Error(first.message);
    expect(first.value.rows).toHaveLength(600);
    expect(first.value.rows[0]).toEqual({
      venue: "venueone",
      symbol: "ETH",
      nativeSymbol: "ETH",
      amount: "-0.05",
      asset: "USDC",
      rate: "0.0000125",
      tsVenueMs: nowMs - HOUR_MS,
    });
    const second = await harness.trading.history.readFunding(
      session,
      { ...ALL, limit: 600, cursor: first.value.nextCursor },
      OPTIONS,
    );
    expect(second.ok && second.value).toMatchObject({ nextCursor: null });
    expect(second.ok && second.value.rows).toHaveLength(100);
    const ofEth = await harness.trading.history.readFunding(
      session,
      { ...ALL, instrument: ETH, limit: 1_000 },
      OPTIONS,
    );
    expect(ofEth.ok && ofEth.value.rows).toHaveLength(350);
  });

  it("reads recorded rows: a short receives a positive rate; a coin that is not listed here is left out", async () => {
    const harness = createHarness();
    const funding = recorded["userFunding"] as readonly Readonly<Record<string, unknown>>[];
    told(harness, { funding });
    const query = { ...ALL, sinceMs: 1_681_923_833_000, untilMs: 1_682_010_233_000 };
    const read = await harness.trading.history.readFunding(harness.open(), query, OPTIONS);
    expect(read.ok && read.value.rows).toMatchObject([
      { symbol: "ETH", amount: "3.414774", rate: "0.0001", tsVenueMs: 1_681_948_800_000 },
      { symbol: "BTC", amount: "5.950454", rate: "0.00010081", tsVenueMs: 1_681_948_800_000 },
    ]);
  });
});

describe("orders of venueone", () => {
  const T = 1_789_999_000_000;
  const filledWhole = { order: order(1, T, { sz: "0.0", tif: "Ioc" }), status: "filled", statusTimestamp: T + 5 };

  it("list each order once, in its last state, open ones included, newest placed first", async () => {
    const harness = createHarness();
    told(harness, {
      open: [order(4, T + 3_000)],
      historical: [
        { order: order(3, T + 2_000), status: "canceled", statusTimestamp: T + 9_000 },
        { order: order(3, T + 2_000), status: "open", statusTimestamp: T + 2_000 },
        { order: order(4, T + 3_000), status: "open", statusTimestamp: T + 3_000 },
        { order: order(2, T + 1_000, { coin: "@107" }), status: "open", statusTimestamp: T },
        filledWhole,
      ],
      fills: [fill(T + 4, 1, { oid: 1, side: "A", fee: "0.1" })],
    });
    const read = await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS);
    expect(read.ok && read.value.rows).toMatchObject([
      { venueOrderId: "4", status: "OPEN" },
      { venueOrderId: "3", status: "CANCELED", filledLots: 0 },
      { venueOrderId: "1", status: "FILLED", filledLots: 10_000, averagePrice: "80000", fee: { amount: "0.1" } },
    ]);
  });

  it("do not list one as open that ended while the lists were read", async () => {
    const harness = createHarness();
    told(harness, {
      open: [order(4, T)],
      historical: [{ order: order(4, T), status: "canceled", statusTimestamp: T }],
    });
    const read = await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS);
    expect(read.ok && read.value.rows).toMatchObject([{ venueOrderId: "4", status: "CANCELED" }]);
  });

  it("take what a clamped reduce-only order filled from its fills, not from its row", async () => {
    const harness = createHarness();
    const clamped = order(1, T, { sz: "0.0", reduceOnly: true, tif: "Ioc" });
    told(harness, {
      historical: [{ order: clamped, status: "filled", statusTimestamp: T + 1 }],
      fills: [fill(T + 1, 1, { oid: 1, sz: "0.04" }), fill(T + 1, 2, { oid: 99, sz: "0.5" })],
    });
    const read = await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS);
    expect(read.ok && read.value.rows).toMatchObject([{ filledLots: 4_000, status: "CANCELED", reduceOnly: true }]);
  });

  it("shorten the page where the fills behind it are too many, and go on from there", async () => {
    const harness = createHarness();
    const clamped = (oid: number, at: number) => ({
      order: order(oid, at, { sz: "0.0", reduceOnly: true, tif: "Ioc" }),
      status: "filled",
      statusTimestamp: at + 1,
    });
    const crowd = (from: number, oid: number) =>
      Array.from({ length: 1_999 }, (_, index) => fill(from + index * 400, oid * 10_000 + index, { oid: 500 }));
    told(harness, {
      historical: [clamped(2, T), clamped(1, T - 40_000_000)],
      fills: [
        ...crowd(T - 39_000_000, 1),
        ...crowd(T - 30_000_000, 2),
        ...crowd(T - 20_000_000, 3),
        ...crowd(T - 10_000_000, 4),
        fill(T + 1, 2, { oid: 2, sz: "0.02" }),
        fill(T - 40_000_000 + 1, 3, { oid: 1, sz: "0.03" }),
      ],
    });
    const session = harness.open();
    const first = await harness.trading.history.readOrders(session, ALL, OPTIONS);
    if (!first.ok) throw new Error(first.message);
    expect(first.value.rows).toMatchObject([{ venueOrderId: "2", filledLots: 2_000 }]);
    expect(first.value.nextCursor).not.toBeNull();
    const second = await harness.trading.history.readOrders(
      session,
      { ...ALL, cursor: first.value.nextCursor },
      OPTIONS,
    );
    expect(second.ok && second.value.rows).toMatchObject([{ venueOrderId: "1", filledLots: 3_000 }]);
    expect(second.ok && second.value.nextCursor).toBeNull();
  });

  it("keep to the symbol and to inclusive bounds of the time of placing", async () => {
    const harness = createHarness();
    const ended = (oid: number, at: number, coin = "BTC") => ({
      order: order(oid, at, { coin }),
      status: "canceled",
      statusTimestamp: at + 99_999,
    });
    told(harness, { historical: [ended(1, T), ended(2, T + 1), ended(3, T + 2), ended(4, T + 1, "ETH")] });
    const query = { ...ALL, instrument: BTC, sinceMs: T + 1, untilMs: T + 2 };
    const read = await harness.trading.history.readOrders(harness.open(), query, OPTIONS);
    expect(read.ok && read.value.rows.map(({ venueOrderId }) => venueOrderId)).toEqual(["3", "2"]);
  });

  it("fail whole on a row that cannot be understood", async () => {
    const harness = createHarness();
    told(harness, { historical: [{ order: order(1, T, { sz: "0.000001" }), status: "canceled", statusTimestamp: T }] });
    expect(await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });
});

describe("settings of venueone", () => {
  const asset = (type: string, value: number, coin = "BTC") => ({ user: SIGNER, coin, leverage: { type, value } });

  it("are read, as recorded too", async () => {
    const hype = { ...BTC, symbol: "HYPE", nativeSymbol: "HYPE" };
    const other = createHarness();
    other.http.reply(200, { role: "user" }).reply(200, recorded["activeAssetData"]);
    expect(await other.trading.settings.read(other.open(), hype, OPTIONS)).toMatchObject({
      ok: true,
      value: { leverage: 10, marginMode: "cross" },
    });
    const harness = createHarness();
    harness.http.reply(200, { role: "user" }).reply(200, asset("isolated", 7));
    expect(await harness.trading.settings.read(harness.open(), BTC, OPTIONS)).toMatchObject({
      ok: true,
      value: { leverage: 7, marginMode: "isolated", maxNotionalValue: null },
    });
  });

  it.each([
    [
      "a refusal",
      [200, { status: "err", response: "Invalid leverage value." }],
      { outcome: "rejected", venueCode: "invalidLeverage", sent: true },
    ],
    ["a server fault", [503, ""], { outcome: "unknown", cause: "HTTP_503" }],
    [
      "an order's answer",
      [200, { status: "ok", response: { type: "order", data: { statuses: ["success"] } } }],
      { outcome: "unknown", cause: "REPLY_SHAPE" },
    ],
  ] as const)("are changed or not by a change answered with %s", async (_what, answer, expected) => {
    const harness = createHarness();
    harness.http.reply(200, { role: "user" }).reply(200, asset("cross", 5)).reply(answer[0], answer[1]);
    expect(await harness.trading.settings.setLeverage(harness.open(), BTC, 9, OPTIONS)).toMatchObject(expected);
  });

  it("are not changed when they cannot be read, or are another coin's", async () => {
    for (const [status, body] of [
      [500, ""],
      [200, asset("cross", 5, "ETH")],
    ] as const) {
      const harness = createHarness();
      harness.http.reply(200, { role: "user" }).reply(status, body);
      expect(await harness.trading.settings.setMarginMode(harness.open(), BTC, "isolated", OPTIONS)).toMatchObject({
        outcome: "rejected",
        sent: false,
      });
      expect(harness.http.requests).toHaveLength(2);
    }
  });
});

describe("accounts as a whole", () => {
  it("sums the recorded long account", async () => {
    const harness = createHarness();
    harness.http.reply(200, { role: "user" }).reply(200, '"default"').reply(200, recorded["longBtc"]);
    expect(await harness.trading.reader.readAccount(harness.open(), OPTIONS)).toMatchObject({
      ok: true,
      value: {
        venue: "venueone",
        quoteAsset: "USDC",
        equity: "38252.7",
        marginUsed: "37766.7",
        free: "486.0",
        maintenanceMargin: "4720.8375",
      },
    });
  });

  it("counts isolated collateral on both sides of the liquidation line", async () => {
    const harness = createHarness();
    const summary = (accountValue: string) => ({
      accountValue,
      totalNtlPos: "0.0",
      totalRawUsd: "0.0",
      totalMarginUsed: "300.0",
    });
    harness.http
      .reply(200, { role: "user" })
      .reply(200, '"disabled"')
      .reply(200, {
        marginSummary: summary("1000.5"),
        crossMarginSummary: summary("800.25"),
        crossMaintenanceMarginUsed: "50.1",
        withdrawable: "600.0",
        time: 1_790_000_000_001,
        assetPositions: [],
      });
    expect(await harness.trading.reader.readAccount(harness.open(), OPTIONS)).toMatchObject({
      ok: true,
      value: {
        equity: "1000.5",
        marginUsed: "300.0",
        free: "600.0",
        maintenanceMargin: "250.35",
        tsVenueMs: 1_790_000_000_001,
      },
    });
  });

  it("takes a unified account's collateral from where it is kept", async () => {
    const harness = createHarness();
    harness.http
      .reply(200, { role: "user" })
      .reply(200, '"unifiedAccount"')
      .reply(200, {
        balances: [
          { coin: "USDC", token: 0, total: "500.5", hold: "100.25", entryNtl: "0.0" },
          { coin: "+10", total: "3.0", hold: "0.0", entryNtl: "0.0" },
        ],
      });
    expect(await harness.trading.reader.readAccount(harness.open(), OPTIONS)).toMatchObject({
      ok: true,
      value: { equity: "500.5", marginUsed: "100.25", free: "400.25", maintenanceMargin: null },
    });
  });

  it("finds an order by id without its coin, and refuses what is not listed", async () => {
    const harness = createHarness();
    const session = harness.open();
    const status = (coin: string) => ({
      status: "order",
      order: { order: order(7, 1, { coin }), status: "open", statusTimestamp: 2 },
    });
    harness.http.reply(200, { role: "user" }).reply(200, status("ETH"));
    expect(await harness.trading.reader.findOrder(session, { venueOrderId: "7" }, OPTIONS)).toMatchObject({
      ok: true,
      value: { nativeSymbol: "ETH", timeInForce: "GTC" },
    });
    harness.http.reply(200, { status: "unknownOid" });
    expect(await harness.trading.reader.findOrder(session, { venueOrderId: "8" }, OPTIONS)).toMatchObject({
      value: null,
    });
    harness.http.reply(200, status("@107"));
    expect(await harness.trading.reader.findOrder(session, { venueOrderId: "7" }, OPTIONS)).toMatchObject({
      ok: false,
    });
    const sent = harness.http.requests.length;
    // What cannot be an id of this venue is no order there: nothing is asked.
    for (const venueOrderId of ["", "abc", "99999999999999999999"])
      expect(await harness.trading.reader.findOrder(session, { venueOrderId }, OPTIONS)).toMatchObject({
        ok: true,
        value: null,
      });
    expect(harness.http.requests).toHaveLength(sent);
  });

  it("reads a named address without a key: for an agent its principal, for a vault the vault", async () => {
    const agent = `0x${"ab".repeat(20)}`;
    for (const [role, account] of [
      [{ role: "agent", data: { user: SIGNER } }, SIGNER],
      [{ role: "vault" }, agent],
      [{ role: "missing" }, agent],
    ] as const) {
      const harness = createHarness();
      const opened = harness.trading.openAddress(agent.toUpperCase().replace("0X", "0x"), null);
      if (!opened.ok) throw new Error(opened.problem);
      harness.http.reply(200, role).reply(200, []);
      await harness.trading.reader.readOpenOrders(opened.session, null, OPTIONS);
      expect(JSON.parse(harness.http.last.body ?? "")).toMatchObject({ user: account });
      expect(await harness.trading.orders.cancel(opened.session, BTC, { venueOrderId: "1" }, OPTIONS)).toMatchObject({
        reason: "AUTH",
        sent: false,
      });
      expect(JSON.stringify(opened.session)).toBe("{}");
    }
    for (const text of ["", "0x12", "nonsense", `0x${"g".repeat(40)}`])
      expect(createHarness().trading.openAddress(text, null).ok).toBe(false);
  });
});

describe("what venueone no longer lists of orders", () => {
  it("is reported as cut off from where its list of the latest 2 000 is full", async () => {
    const T = 1_789_999_000_000;
    const ended = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        order: order(index + 1, T + index, { coin: index === 0 ? "BTC" : "ETH" }),
        status: "canceled",
        statusTimestamp: T + index,
      }));
    for (const [count, isCut] of [
      [1_999, undefined],
      [2_000, true],
    ] as const) {
      const harness = createHarness();
      told(harness, { historical: ended(count) });
      const read = await harness.trading.history.readOrders(harness.open(), { ...ALL, instrument: BTC }, OPTIONS);
      expect(read).toMatchObject({ ok: true, value: { rows: [{ venueOrderId: "1" }], nextCursor: null } });
      expect(read.ok && read.value.isCut).toBe(isCut);
    }
  });
});
