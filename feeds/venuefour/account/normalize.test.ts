import { describe, expect, it } from "vitest";
import type { Fields } from "../../shared/room/wire-fields.js";
import {
  nativePrice,
  normalizeAccount,
  normalizeBalances,
  normalizeFees,
  normalizeFill,
  normalizeFunding,
  normalizeOrder,
  normalizeOrderEvents,
  normalizePosition,
} from "./normalize.js";
import {
  decodeAccount,
  decodeFillPage,
  decodeFundingPage,
  decodeOpenOrders,
  decodeOrderEvents,
  decodeOrderPage,
  decodePositions,
  decodeSettings,
  type VenuefourWireFill,
  type VenuefourWireOrder,
  type VenuefourWirePosition,
} from "./wire.js";
import { answerFixture, BTC, envelope, eventRow, FILLED_EVENTS, orderRow, PEPE } from "../test/trading-harness.js";

function only<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined || rows.length !== 1) throw new Error(`${rows.length} rows`);
  return row;
}

const WIRE: VenuefourWireOrder = {
  orderId: "336542133",
  clientOrderId: null,
  symbol: "BTC",
  side: "ask",
  price: "63000",
  amount: "0.0002",
  filled: "0",
  averagePrice: "0",
  status: "open",
  type: "limit",
  stopPrice: null,
  reduceOnly: false,
  reason: null,
  createdMs: 1,
  updatedMs: 2,
};

describe("orders", () => {
  it("of the recorded list of open orders", () => {
    const rows = decodeOpenOrders(answerFixture("openOrdersRecorded"));
    expect(rows.map((row) => normalizeOrder(row, BTC))[0]).toEqual({
      venue: "venuefour",
      nativeSymbol: "BTC",
      venueOrderId: "241146145",
      venueClientOrderId: null,
      side: "BUY",
      type: "LIMIT",
      status: "OPEN",
      venueStatus: "open",
      priceTicks: 87_768,
      qtyLots: 200,
      filledLots: 0,
      averagePrice: null,
      reduceOnly: false,
      triggerPrice: null,
      tsVenueMs: 1_769_554_042_649,
      fee: null,
    });
    expect(decodeOpenOrders(answerFixture("ordersEmpty"))).toEqual([]);
  });

  it("of the documented histories", () => {
    const page = decodeOrderPage(answerFixture("ordersHistoryDoc"));
    expect(page.nextCursor).toBe("1111Hyd74");
    expect(only(page.rows)).toMatchObject({ orderId: "315992721", symbol: "XPL", status: "open", amount: "984" });
    const events = decodeOrderEvents(answerFixture("orderEventsDoc"));
    expect(events.map((event) => event.eventType)).toEqual(["make", "cancel"]);
    const XPL = { ...BTC, symbol: "XPL", nativeSymbol: "XPL", priceDecimals: 4, qtyDecimals: 0 };
    expect(normalizeOrderEvents(events, XPL)).toMatchObject({ status: "CANCELED", filledLots: 0, priceTicks: 10_865 });
  });

  it("by their events, with the average of the matches and the price they came with", () => {
    const order = normalizeOrderEvents(decodeOrderEvents(envelope(FILLED_EVENTS) as Fields), BTC);
    expect(order).toMatchObject({ status: "FILLED", filledLots: 20, averagePrice: "63433.5", priceTicks: 63_000 });
    const hole = FILLED_EVENTS.filter((event) => event.history_id !== 2).map((event) =>
      event.history_id === 3 ? { ...event, event_type: "cancel" } : event,
    );
    expect(normalizeOrderEvents(decodeOrderEvents(envelope(hole) as Fields), BTC).averagePrice).toBeNull();
  });

  it.each([
    ["open", "OPEN"],
    ["partially_filled", "PARTIALLY_FILLED"],
    ["filled", "FILLED"],
    ["cancelled", "CANCELED"],
    ["rejected", "REJECTED"],
    ["sleeping", "UNKNOWN"],
    ["constructor", "UNKNOWN"],
  ])("read the state %s as %s", (status, expected) => {
    expect(normalizeOrder({ ...WIRE, status }, BTC)).toMatchObject({ status: expected, venueStatus: status });
  });

  it.each([
    ["limit", "LIMIT", undefined],
    ["market", "MARKET", undefined],
    ["stop_limit", "STOP_LIMIT", "STOP"],
    ["stop_market", "STOP_MARKET", "STOP"],
    ["take_profit_limit", "STOP_LIMIT", "TAKE_PROFIT"],
    ["take_profit_market", "STOP_MARKET", "TAKE_PROFIT"],
    ["stop_loss_limit", "STOP_LIMIT", "STOP"],
    ["stop_loss_market", "STOP_MARKET", "STOP"],
  ] as const)("read the type %s", (type, expected, triggerKind) => {
    const stopPrice = triggerKind === undefined ? null : "60000";
    const order = normalizeOrder({ ...WIRE, type, stopPrice }, BTC);
    expect(order).toMatchObject({ type: expected, triggerPrice: stopPrice });
    expect(order.triggerKind).toBe(triggerKind);
  });

  it.each([
    [{ symbol: "ETH" }, "symbol"],
    [{ type: "iceberg" }, "order type"],
    [{ type: "toString" }, "order type"],
    [{ filled: "0.0003" }, "filled"],
    [{ amount: "0.000001" }, "amount"],
    [{ price: "63000.5" }, "price"],
  ])("that do not fit are refused by the name of the field (%j)", (changes, field) => {
    expect(() => normalizeOrder({ ...WIRE, ...changes }, BTC)).toThrow(expect.objectContaining({ field }) as Error);
  });

  it.each([
    [{ order_id: -1 }],
    [{ side: "buy" }],
    [{ filled_amount: 0 }],
    [{ reduce_only: "yes" }],
    [{ updated_at: "now" }],
    [{ order_status: null }],
  ])("with a field of another kind fail the whole answer (%j)", (changes) => {
    expect(() => decodeOrderPage(envelope([orderRow(), orderRow(changes)]) as Fields)).toThrow();
    const isEvent = "order_status" in changes || "order_id" in changes;
    if (isEvent) expect(() => decodeOrderEvents(envelope([eventRow(changes)]) as Fields)).toThrow();
  });
});

describe("positions", () => {
  it("of the recorded answers, without what the venue does not print", () => {
    const { rows, lastId } = decodePositions(answerFixture("positions"));
    expect(lastId).toBe(336_542_124);
    expect(normalizePosition(only(rows), BTC, null)).toMatchObject({
      direction: "LONG",
      qtyLots: 20,
      entryPrice: "63441",
      liquidationPrice: null,
      markPrice: null,
      unrealizedPnl: null,
      leverage: null,
      marginMode: "cross",
      collateral: null,
    });
    const short = only(decodePositions(answerFixture("positionsShortRecorded")).rows);
    expect(normalizePosition(short, BTC, 20)).toMatchObject({
      direction: "SHORT",
      qtyLots: 700,
      liquidationPrice: "102443.420678",
      leverage: 20,
    });
    expect(only(decodePositions(answerFixture("positionsDoc")).rows).symbol).toBe("AAVE");
  });

  it("in canonical quoting for a contract of 1000 units", () => {
    const wire: VenuefourWirePosition = {
      symbol: "kPEPE",
      side: "ask",
      amount: "70",
      entryPrice: "0.0041",
      margin: "12.5",
      isIsolated: true,
      liquidationPrice: "-0.5",
      updatedMs: 1,
    };
    expect(normalizePosition(wire, PEPE, null)).toMatchObject({
      symbol: "PEPE",
      entryPrice: "0.0000041",
      collateral: "12.5",
      liquidationPrice: null,
    });
    expect(normalizePosition({ ...wire, amount: "0" }, PEPE, null)).toBeNull();
    expect(() => normalizePosition({ ...wire, amount: "-1" }, PEPE, null)).toThrow();
  });
});

describe("accounts", () => {
  it("of before the spot fields, and as a list of one", () => {
    const body = answerFixture("accountRecorded");
    const wire = decodeAccount(body);
    expect(normalizeBalances(wire)).toEqual([{ asset: "USDC", total: "100.717133", available: "100.717133" }]);
    expect(normalizeFees(wire)).toEqual({ takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_500 });
    expect(normalizeAccount(wire)).toMatchObject({ equity: "100.717133", marginUsed: "0", maintenanceMargin: "0" });
    expect(decodeAccount({ ...body, data: [body.data] })).toEqual(wire);
  });

  it("count spot holdings, the collateral itself only once", () => {
    const body = answerFixture("accountRecorded");
    const spot_balances = [
      { symbol: "SOL", amount: "5", available_to_withdraw: "4" },
      { symbol: "USDC", amount: "1", available_to_withdraw: "1" },
    ];
    const wire = decodeAccount({ ...body, data: { ...(body.data as object), spot_balances } });
    expect(normalizeBalances(wire).map((balance) => balance.asset)).toEqual(["USDC", "SOL"]);
  });

  it("list settings in either shape", () => {
    const rows = [{ symbol: "WLFI", isIsolated: false, leverage: 5 }];
    expect(decodeSettings(answerFixture("settingsOld"))).toEqual(rows);
    expect(decodeSettings(answerFixture("settingsNew"))).toEqual(rows);
    expect(() => decodeSettings({ data: { margin_settings: null } })).toThrow();
  });
});

describe("fills and payments", () => {
  it("of the documented pages", () => {
    const LDO = { ...BTC, symbol: "LDO", nativeSymbol: "LDO", priceDecimals: 4, qtyDecimals: 1 };
    const page = decodeFillPage(answerFixture("tradesHistoryDoc"));
    expect(page.nextCursor).toBe("11111Z5RK");
    expect(normalizeFill(only(page.rows), LDO)).toMatchObject({
      tradeId: "19329801",
      side: "BUY",
      qtyLots: 1,
      price: "1.1904",
      isMaker: true,
      realizedPnl: "-0.001415",
      fee: { amount: "0", asset: "USDC" },
    });
    const PUMP = { ...BTC, symbol: "PUMP", nativeSymbol: "PUMP" };
    const funding = only(decodeFundingPage(answerFixture("fundingHistoryDoc")).rows);
    expect(normalizeFunding(funding, PUMP)).toMatchObject({ amount: "2.617479", rate: "0.0000125", asset: "USDC" });
  });

  it("show the profit before the fee, which the venue takes off", () => {
    const wire: VenuefourWireFill = {
      historyId: 1,
      orderId: "2",
      clientOrderId: null,
      symbol: "BTC",
      amount: "0.0002",
      price: "63433",
      fee: "0.005075",
      pnl: "-0.006675",
      isMaker: false,
      direction: "close_long",
      tsMs: 1,
    };
    // The captured close: (63433 - 63441) × 0.0002.
    expect(normalizeFill(wire, BTC)).toMatchObject({ side: "SELL", realizedPnl: "-0.0016", isMaker: false });
    expect(normalizeFill({ ...wire, direction: "open_short" }, BTC)).toMatchObject({ side: "SELL", realizedPnl: "0" });
    expect(() => normalizeFill({ ...wire, amount: "0" }, BTC)).toThrow();
  });

  it("end with the page that has no more, and refuse a cursor that does not fit a request", () => {
    const more = (next_cursor: unknown, has_more: unknown): Fields => envelope([], { next_cursor, has_more }) as Fields;
    expect(decodeFillPage(more("", false)).nextCursor).toBeNull();
    expect(decodeFillPage(more("abc", false)).nextCursor).toBeNull();
    expect(decodeFillPage(more("abc", true)).nextCursor).toBe("abc");
    expect(() => decodeFillPage(more("a b&c", true))).toThrow();
  });

  it("print a canonical price as the venue does", () => {
    expect(nativePrice(PEPE, "0.0000041")).toBe("0.0041");
    expect(nativePrice(BTC, "63433.5")).toBe("63433.5");
  });
});
