import { describe, expect, it } from "vitest";
import type { HistoryPage, HistoryQuery, Read } from "../../../engine/ports.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import {
  BTC,
  CLIENT_ID,
  createHarness,
  ETH,
  type Harness,
  OPTIONS,
  paramsOf,
  PEPE,
  V3,
} from "../test/trading-harness.js";

const DAY_MS = 86_400_000;

type Row = Readonly<Record<string, unknown>>;

interface Told {
  readonly trades?: readonly Row[];
  readonly orders?: readonly Row[];
  readonly income?: readonly Row[];
  readonly open?: readonly Row[];
  readonly positions?: readonly Row[];
  /** Rows of one answer. */
  readonly cap?: number;
}

/** Answers every question from these lists, as the venue cuts them: oldest first, spans of at most seven days. */
function told(harness: Harness, lists: Told): HttpRequest[] {
  const asked: HttpRequest[] = [];
  const chosen = (rows: readonly Row[] | undefined, params: Record<string, string>, idName: string): readonly Row[] => {
    const { endTime, incomeType, limit, startTime, symbol } = params;
    const fromId = params["fromId"] ?? params["orderId"];
    if (fromId !== undefined && startTime !== undefined) throw new Error("an id does not go with times");
    if (Number(endTime) - Number(startTime) >= 7 * DAY_MS) throw new Error("more than seven days");
    return (rows ?? [])
      .filter(
        (row) =>
          (symbol === undefined || row["symbol"] === symbol) &&
          (incomeType === undefined || row["incomeType"] === incomeType) &&
          (startTime === undefined ||
            (Number(row["time"]) >= Number(startTime) && Number(row["time"]) <= Number(endTime))) &&
          (fromId === undefined || Number(row[idName]) >= Number(fromId)),
      )
      .slice(0, Math.min(Number(limit), lists.cap ?? 1_000));
  };
  const answer = (request: HttpRequest): HttpResult => {
    asked.push(request);
    const params = paramsOf(request);
    const path = request.path.replace(/\?.*/, "").replace(/^\/fapi\/v\d\//, "");
    const bodies: Readonly<Record<string, () => unknown>> = {
      userTrades: () => chosen(lists.trades, params, "id"),
      allOrders: () => chosen(lists.orders, params, "orderId"),
      income: () => chosen(lists.income, params, "tranId"),
      openOrders: () => lists.open ?? [],
      positionRisk: () => lists.positions ?? [],
      order: () =>
        (lists.orders ?? []).find(
          (row) =>
            row["symbol"] === params["symbol"] &&
            (String(row["orderId"]) === params["orderId"] || row["clientOrderId"] === params["origClientOrderId"]),
        ),
    };
    const body = bodies[path]?.();
    return body === undefined
      ? harness.http.response(400, { code: -2013, msg: "Order does not exist." })
      : harness.http.response(200, body);
  };
  for (let count = 0; count < 500; count++) harness.http.step(answer);
  return asked;
}

const ALL: HistoryQuery = { instrument: null, sinceMs: null, untilMs: null, limit: 100, cursor: null };

async function every<T>(
  read: (query: HistoryQuery) => Promise<Read<HistoryPage<T>>>,
  query: Partial<HistoryQuery>,
): Promise<{ readonly rows: readonly T[]; readonly pageCount: number }> {
  const rows: T[] = [];
  let cursor: string | null = null;
  for (let pageCount = 1; pageCount < 200; pageCount++) {
    const page: Read<HistoryPage<T>> = await read({ ...ALL, ...query, cursor });
    if (!page.ok) throw new Error(`${page.code} ${page.message}`);
    rows.push(...page.value.rows);
    cursor = page.value.nextCursor;
    if (cursor === null) return { rows, pageCount };
  }
  throw new Error("the pages do not end");
}

/** As the venue's documentation prints a trade. */
function trade(id: number, time: number, changes: Row = {}): Row {
  return {
    buyer: false,
    commission: "-0.07819010",
    commissionAsset: "USDT",
    id,
    maker: false,
    orderId: 25_851_813,
    price: "7819.01",
    qty: "0.002",
    quoteQty: "15.63802",
    realizedPnl: "-0.91539999",
    side: "SELL",
    positionSide: "BOTH",
    symbol: "BTCUSDT",
    time,
    ...changes,
  };
}

function income(tranId: string | number, time: number, changes: Row = {}): Row {
  return {
    symbol: "BTCUSDT",
    incomeType: "COMMISSION",
    income: "-0.01",
    asset: "USDT",
    info: "",
    time,
    tranId,
    tradeId: "1",
    ...changes,
  };
}

function order(orderId: number, time: number, changes: Row = {}): Row {
  return {
    orderId,
    symbol: "BTCUSDT",
    status: "CANCELED",
    clientOrderId: `web_${orderId}`,
    price: "83160.00",
    avgPrice: "0.00000",
    origQty: "0.250",
    executedQty: "0",
    cumQuote: "0",
    timeInForce: "GTX",
    type: "LIMIT",
    reduceOnly: false,
    closePosition: false,
    side: "SELL",
    positionSide: "BOTH",
    stopPrice: "0",
    origType: "LIMIT",
    time,
    updateTime: time + 7,
    ...changes,
  };
}

describe("fills of venuetwo", () => {
  it("carry everything; the fee is a magnitude, whichever sign the venue prints", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const rows = [
      trade(1, nowMs - 10),
      trade(2, nowMs - 9, { commission: "0.5", maker: true, side: "BUY" }),
      trade(3, nowMs - 8, { symbol: "1000PEPEUSDT", price: "0.0123450", qty: "7" }),
    ];
    const asked = told(harness, { trades: rows });
    const read = await harness.trading.history.readFills(harness.open(), { ...ALL, instrument: BTC }, OPTIONS);
    expect(read.ok && read.value.rows).toMatchObject([
      { tradeId: "BTCUSDT:2", fee: { amount: "0.5", asset: "USDT" }, isMaker: true, side: "BUY" },
      {
        tradeId: "BTCUSDT:1",
        venueOrderId: "25851813",
        fee: { amount: "0.07819010" },
        price: "7819.01",
        qtyLots: 2,
        realizedPnl: "-0.91539999",
        isMaker: false,
        venueClientOrderId: null,
      },
    ]);
    expect(asked[0]).toMatchObject({ method: "GET", weight: 5, lane: "exit" });
    const ofPepe = await harness.trading.history.readFills(harness.open(V3), { ...ALL, instrument: PEPE }, OPTIONS);
    expect(ofPepe.ok && ofPepe.value.rows).toMatchObject([{ symbol: "PEPE", price: "0.000012345", qtyLots: 7 }]);
    expect(asked.at(-1)?.path).toMatch(/^\/fapi\/v3\/userTrades/);
  });

  it("are walked back by seven days to the start that was asked for, and half a year without one", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const ages = [1, 6.9, 7, 7.1, 50, 100, 181, 200];
    const trades = ages.map((age, index) => trade(100 - index, nowMs - age * DAY_MS)).reverse();
    const asked = told(harness, { trades });
    const read = (query: HistoryQuery) => harness.trading.history.readFills(harness.open(), query, OPTIONS);
    const { rows, pageCount } = await every(read, { instrument: BTC });
    expect(rows.map(({ tradeId }) => tradeId)).toEqual([100, 99, 98, 97, 96, 95, 94].map((id) => `BTCUSDT:${id}`));
    expect(pageCount).toBeLessThan(5);
    expect(asked.length).toBeLessThan(40);
    const old = await every(read, { instrument: BTC, sinceMs: nowMs - 201 * DAY_MS, untilMs: nowMs - 60 * DAY_MS });
    expect(old.rows.map(({ tradeId }) => tradeId)).toEqual(["BTCUSDT:95", "BTCUSDT:94", "BTCUSDT:93"]);
  });

  it("come whole where a second holds more than an answer, and where an instant does", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const crowded = Array.from({ length: 2_300 }, (_, index) => trade(index + 1, nowMs - 5_000));
    const after = Array.from({ length: 1_500 }, (_, index) =>
      trade(3_000 + index, nowMs - 4_000 + Math.floor(index / 3)),
    );
    told(harness, { trades: [...crowded, ...after] });
    const { rows } = await every((query) => harness.trading.history.readFills(harness.open(), query, OPTIONS), {
      instrument: BTC,
      limit: 1_000,
    });
    expect(rows).toHaveLength(3_800);
    expect(new Set(rows.map(({ tradeId }) => tradeId)).size).toBe(3_800);
  });

  it("of all symbols come from those that moved the balance or are held", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const asked = told(harness, {
      income: [income(1, nowMs - 20), income(2, nowMs - 19, { symbol: "", incomeType: "TRANSFER" })],
      positions: [
        { symbol: "ETHUSDT", positionAmt: "1.5", entryPrice: "1", positionSide: "BOTH", updateTime: 1 },
        { symbol: "1000PEPEUSDT", positionAmt: "0.0", entryPrice: "0.0", positionSide: "BOTH", updateTime: 1 },
      ],
      trades: [trade(1, nowMs - 20), trade(1, nowMs - 15, { symbol: "ETHUSDT" })],
    });
    const read = await harness.trading.history.readFills(harness.open(), { ...ALL, limit: 2 }, OPTIONS);
    expect(read.ok && read.value.rows).toMatchObject([
      { symbol: "ETH", tradeId: "ETHUSDT:1" },
      { symbol: "BTC", tradeId: "BTCUSDT:1" },
    ]);
    const symbols = asked
      .filter(({ path }) => path.includes("userTrades"))
      .map((request) => paramsOf(request)["symbol"]);
    expect(new Set(symbols)).toEqual(new Set(["BTCUSDT", "ETHUSDT"]));
  });

  it("pass on what the venue refuses, and bad cursors", async () => {
    const harness = createHarness();
    harness.http.reply(401, { code: -2015, msg: "Invalid API-key" });
    const query = { ...ALL, instrument: BTC };
    expect(await harness.trading.history.readFills(harness.open(), query, OPTIONS)).toMatchObject({ code: "AUTH" });
    harness.http.reply(429, { code: -1003, msg: "Too many requests" }, { "retry-after": "7" });
    expect(await harness.trading.history.readFills(harness.open(), query, OPTIONS)).toMatchObject({
      code: "RATE_LIMITED",
      retryAfterMs: 7_000,
    });
    harness.http.reply(200, [trade(1, 1, { qty: "0.0001" })]);
    expect(await harness.trading.history.readFills(harness.open(), query, OPTIONS)).toMatchObject({
      code: "BAD_RESPONSE",
    });
    expect(
      await harness.trading.history.readFills(harness.open(), { ...query, cursor: "orders~1~1" }, OPTIONS),
    ).toMatchObject({ code: "BAD_CURSOR" });
  });
});

describe("orders of venuetwo", () => {
  it("come in the order of placing, of any status, with their own words", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    told(harness, {
      orders: [
        order(10, nowMs - 30, { status: "FILLED", executedQty: "0.250", avgPrice: "83160.10000" }),
        order(11, nowMs - 20, { status: "EXPIRED", type: "TAKE_PROFIT", origType: "TAKE_PROFIT", stopPrice: "84000" }),
        order(12, nowMs - 20, { status: "NEW", timeInForce: "HIDDEN" }),
      ],
    });
    const read = (query: HistoryQuery) => harness.trading.history.readOrders(harness.open(), query, OPTIONS);
    const { rows } = await every(read, { instrument: BTC, limit: 1 });
    expect(rows).toMatchObject([
      { venueOrderId: "12", status: "OPEN" },
      { venueOrderId: "11", status: "CANCELED", triggerKind: "TAKE_PROFIT", triggerPrice: "84000", type: "STOP_LIMIT" },
      { venueOrderId: "10", status: "FILLED", filledLots: 250, timeInForce: "POST_ONLY", tsVenueMs: nowMs - 23 },
    ]);
    // A word without a counterpart is left out, not guessed.
    expect(rows[0]).not.toHaveProperty("timeInForce");
  });

  it("of all symbols include those that only rest", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const resting = order(5, nowMs - 10, { symbol: "ETHUSDT", status: "NEW" });
    told(harness, { orders: [resting], open: [resting] });
    const { rows } = await every((query) => harness.trading.history.readOrders(harness.open(), query, OPTIONS), {
      sinceMs: nowMs - 1_000,
    });
    expect(rows).toMatchObject([{ venueOrderId: "5", nativeSymbol: "ETHUSDT", status: "OPEN" }]);
  });

  it("without the time of placing are no answer", async () => {
    const harness = createHarness();
    const { time: _time, ...untimed } = order(5, 1);
    harness.http.reply(200, [untimed]);
    const query = { ...ALL, instrument: BTC };
    expect(await harness.trading.history.readOrders(harness.open(), query, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });
});

describe("funding of venuetwo", () => {
  it("keeps payments of one instant apart by ids beyond 2^53", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const base = "100000000000000000";
    // Exact digits on the wire: a double would make one id of these.
    const wire = [0, 1, 2]
      .map((index) =>
        JSON.stringify(income(0, nowMs - 5_000, { incomeType: "FUNDING_FEE", income: `-0.${index}1` })).replace(
          '"tranId":0',
          `"tranId":${base}${index}`,
        ),
      )
      .join(",");
    for (let count = 0; count < 20; count++) harness.http.reply(200, `[${wire}]`);
    const { rows } = await every((query) => harness.trading.history.readFunding(harness.open(), query, OPTIONS), {
      instrument: BTC,
      limit: 1,
      sinceMs: nowMs - 10_000,
    });
    expect(rows.map(({ amount }) => amount)).toEqual(["-0.21", "-0.11", "-0.01"]);
    expect(rows[0]).toMatchObject({ symbol: "BTC", asset: "USDT", rate: null, tsVenueMs: nowMs - 5_000 });
    expect(paramsOf(harness.http.requests[0] ?? harness.http.last)).toMatchObject({
      incomeType: "FUNDING_FEE",
      symbol: "BTCUSDT",
      limit: "1000",
    });
  });
});

describe("an order of unknown symbol on venuetwo", () => {
  it("is asked for by the remembered symbol alone", async () => {
    const harness = createHarness();
    const session = harness.open();
    const row = order(77, 1, { clientOrderId: CLIENT_ID, symbol: "ETHUSDT" });
    harness.http.reply(200, row);
    await harness.trading.reader.readOrder(session, ETH, { venueOrderId: "77" }, OPTIONS);
    const asked = told(harness, { orders: [row] });
    expect(await harness.trading.reader.findOrder(session, { venueOrderId: "77" }, OPTIONS)).toMatchObject({
      ok: true,
      value: { nativeSymbol: "ETHUSDT" },
    });
    expect(asked).toHaveLength(1);
  });

  it("is looked for in open orders, then where the account dealt, and is null in the end", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const asked = told(harness, {
      open: [order(1, 1)],
      orders: [order(2, 2, { symbol: "ETHUSDT", clientOrderId: CLIENT_ID })],
      income: [income(1, nowMs - DAY_MS, { symbol: "ETHUSDT" })],
    });
    const find = (ref: { venueOrderId: string } | { clientIdHex: string }) =>
      harness.trading.reader.findOrder(harness.open(), ref, OPTIONS);
    expect(await find({ venueOrderId: "1" })).toMatchObject({ ok: true, value: { venueOrderId: "1" } });
    expect(asked).toHaveLength(1);
    expect(await find({ clientIdHex: CLIENT_ID })).toMatchObject({ ok: true, value: { venueOrderId: "2" } });
    expect(await find({ venueOrderId: "9007199254740993" })).toMatchObject({ ok: true, value: null });
    expect(paramsOf(asked.at(-1) ?? harness.http.last)["orderId"]).toBe("9007199254740993");
  });

  it("is not said to be absent when a read failed", async () => {
    const harness = createHarness();
    harness.http.reply(200, []).reply(500, "<html>");
    expect(await harness.trading.reader.findOrder(harness.open(), { venueOrderId: "5" }, OPTIONS)).toMatchObject({
      ok: false,
      code: "VENUE_ERROR",
    });
  });
});

describe("the venuetwo account as a whole", () => {
  it.each([
    [undefined, "/fapi/v4/account"],
    [V3, "/fapi/v3/accountWithJoinMargin"],
  ])("is read from the totals (shape of the documentation)", async (credentials, path) => {
    const harness = createHarness();
    harness.offsetMs = 40;
    harness.http.reply(200, {
      feeTier: 0,
      canTrade: true,
      updateTime: 0,
      totalInitialMargin: "10.50000000",
      totalMaintMargin: "2.25000000",
      totalWalletBalance: "23.72469206",
      totalUnrealizedProfit: "1.00000000",
      totalMarginBalance: "24.72469206",
      availableBalance: "14.22469206",
      maxWithdrawAmount: "13.22469206",
      assets: [],
      positions: [],
    });
    expect(await harness.trading.reader.readAccount(harness.open(credentials), OPTIONS)).toMatchObject({
      ok: true,
      value: {
        venue: "venuetwo",
        quoteAsset: "USDT",
        equity: "24.72469206",
        marginUsed: "10.50000000",
        free: "14.22469206",
        maintenanceMargin: "2.25000000",
        tsVenueMs: harness.clock.wallMs() + 40,
      },
    });
    expect(harness.http.last.path.startsWith(path)).toBe(true);
  });
});

describe("symbols that moved the balance", () => {
  const START_MS = 1_790_000_000_000;
  const read = async (lists: Told, fromMs: number, untilMs: number) => {
    const harness = createHarness();
    const asked = told(harness, lists);
    const moved = await harness.trading.history.readMovedSymbols(harness.open(V3), fromMs, untilMs, OPTIONS);
    return { symbols: moved.ok ? [...moved.value].sort() : moved.code, askedCount: asked.length };
  };
  const rows = (count: number, symbolOf: (index: number) => string): readonly Row[] =>
    Array.from({ length: count }, (_, index) => income(index, START_MS + index, { symbol: symbolOf(index) }));

  it("are asked for once where one answer holds all of a span", async () => {
    const lists = { income: rows(5, (index) => (index === 3 ? "ETHUSDT" : "BTCUSDT")) };
    expect(await read(lists, START_MS, START_MS + 100)).toEqual({ symbols: ["BTCUSDT", "ETHUSDT"], askedCount: 1 });
  });

  it("are found in a span whose answer is full, by halves, and in one of more than seven days", async () => {
    const lists = { income: rows(1_500, (index) => (index === 1_499 ? "ETHUSDT" : "BTCUSDT")) };
    expect((await read(lists, START_MS, START_MS + 2_000)).symbols).toEqual(["BTCUSDT", "ETHUSDT"]);
    const week = await read({ income: rows(2, () => "BTCUSDT") }, START_MS - 9 * DAY_MS, START_MS + DAY_MS);
    expect(week).toEqual({ symbols: ["BTCUSDT"], askedCount: 2 });
  });

  it("are those that were seen where the reads have a limit, and none where the venue gives no answer", async () => {
    const many = await read({ income: rows(40_000, () => "BTCUSDT") }, START_MS, START_MS + 40_000);
    expect(many).toEqual({ symbols: ["BTCUSDT"], askedCount: 16 });
    const harness = createHarness();
    harness.http.step(() => harness.http.response(503, {}));
    const failed = await harness.trading.history.readMovedSymbols(harness.open(V3), START_MS, START_MS + 1, OPTIONS);
    expect(failed).toMatchObject({ ok: false, code: "VENUE_ERROR" });
  });
});
