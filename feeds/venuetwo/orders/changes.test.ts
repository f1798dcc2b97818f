import { describe, expect, it } from "vitest";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import {
  answerFixture,
  BTC,
  CLIENT_ID,
  createHarness,
  ETH,
  OPTIONS,
  paramsOf,
  V1,
  V3,
} from "../test/trading-harness.js";

function wireOrder(changes: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    orderId: 12_345_678,
    symbol: "BTCUSDT",
    status: "NEW",
    clientOrderId: CLIENT_ID,
    price: "83160.00",
    avgPrice: "0.00000",
    origQty: "0.250",
    executedQty: "0",
    cumQuote: "0",
    timeInForce: "GTC",
    type: "LIMIT",
    reduceOnly: true,
    closePosition: false,
    side: "SELL",
    positionSide: "BOTH",
    stopPrice: "0",
    workingType: "CONTRACT_PRICE",
    priceProtect: false,
    origType: "LIMIT",
    updateTime: 1_790_000_000_015,
    ...changes,
  };
}

const STOP: OrderCommand = {
  instrument: BTC,
  side: "SELL",
  type: "MARKET",
  timeInForce: "IOC",
  trigger: { kind: "STOP", priceTicks: 8_200_000, source: "MARK" },
  priceTicks: 8_100_000,
  qtyLots: 250,
  reduceOnly: true,
  positionSide: "BOTH",
  clientIdHex: CLIENT_ID,
};

const RESTING: VenueOrder = {
  venue: "venuetwo",
  nativeSymbol: "BTCUSDT",
  venueOrderId: "12345678",
  venueClientOrderId: CLIENT_ID,
  side: "SELL",
  type: "LIMIT",
  status: "OPEN",
  venueStatus: "NEW",
  priceTicks: 8_316_000,
  qtyLots: 250,
  filledLots: 0,
  averagePrice: null,
  reduceOnly: true,
  triggerPrice: null,
  tsVenueMs: 1,
  fee: null,
};

const DONE = { code: "200", msg: "The operation of cancel all open order is done." };

describe("stop and take-profit orders of venuetwo", () => {
  it.each([
    [{}, { type: "STOP_MARKET", stopPrice: "82000", workingType: "MARK_PRICE" }],
    [
      { trigger: { kind: "TAKE_PROFIT", priceTicks: 8_400_050, source: "LAST" } },
      { type: "TAKE_PROFIT_MARKET", stopPrice: "84000.5", workingType: "CONTRACT_PRICE" },
    ],
    [
      { type: "LIMIT", timeInForce: "GTC" },
      { type: "STOP", price: "81000", timeInForce: "GTC", stopPrice: "82000" },
    ],
    [
      { type: "LIMIT", timeInForce: "FOK", trigger: { kind: "TAKE_PROFIT", priceTicks: 8_400_000, source: "MARK" } },
      { type: "TAKE_PROFIT", price: "81000", timeInForce: "FOK", stopPrice: "84000" },
    ],
  ] as const)("%j goes out as %j", async (changes, expected) => {
    const harness = createHarness();
    const { type, stopPrice } = expected;
    harness.http.reply(200, wireOrder({ type, origType: type, stopPrice, price: "0" }));
    const command: OrderCommand = { ...STOP, ...changes };
    const outcome = await harness.trading.orders.place(harness.open(), command, OPTIONS);
    const params = paramsOf(harness.http.last);
    expect(params).toMatchObject({ ...expected, side: "SELL", quantity: "0.25", reduceOnly: "true" });
    // A market that waits takes neither price nor time in force.
    if (type.endsWith("_MARKET")) expect(Object.keys(params)).not.toContain("price");
    if (type.endsWith("_MARKET")) expect(Object.keys(params)).not.toContain("timeInForce");
    expect(outcome).toMatchObject({
      outcome: "accepted",
      order: {
        type: type.endsWith("_MARKET") ? "STOP_MARKET" : "STOP_LIMIT",
        status: "OPEN",
        triggerKind: type.startsWith("STOP") ? "STOP" : "TAKE_PROFIT",
        triggerPrice: stopPrice,
        reduceOnly: true,
      },
    });
  });

  it("keeps the closing side and drops the flag in hedge mode", async () => {
    const harness = createHarness();
    harness.http.reply(
      200,
      wireOrder({ type: "STOP_MARKET", origType: "STOP_MARKET", positionSide: "LONG", price: "0" }),
    );
    await harness.trading.orders.place(harness.open(), { ...STOP, positionSide: "LONG" }, OPTIONS);
    const params = paramsOf(harness.http.last);
    expect(params).toMatchObject({ positionSide: "LONG", side: "SELL", type: "STOP_MARKET" });
    expect(Object.keys(params)).not.toContain("reduceOnly");
  });

  it.each([
    [{ trigger: { kind: "STOP", priceTicks: 0, source: "MARK" } }, "TRIGGER_PRICE"],
    [{ trigger: { kind: "STOP", priceTicks: Number.NaN, source: "MARK" } }, "TRIGGER_PRICE"],
    [{ timeInForce: "POST_ONLY" }, "NO_TRIGGER_TIF"],
    [{ timeInForce: "FOK" }, "NO_TRIGGER_TIF"],
  ] as const)("%j is refused without sending", async (changes, venueCode) => {
    const harness = createHarness();
    expect(await harness.trading.orders.place(harness.open(), { ...STOP, ...changes }, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode,
      sent: false,
    });
    expect(harness.http.requests).toEqual([]);
  });

  it.each([
    [-2021, "PRICE"],
    [-4142, "PRICE"],
    [-4045, "VENUE_STATE"],
    [-2022, "REDUCE_ONLY"],
  ])("that the venue answers with %d are a %s refusal", async (code, reason) => {
    const harness = createHarness();
    harness.http.reply(400, { code, msg: "refused" });
    expect(await harness.trading.orders.place(harness.open(), STOP, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason,
      sent: true,
    });
  });
});

describe("amending on venuetwo", () => {
  const change = { priceTicks: 8_300_000, qtyLots: 200 };

  it("puts price and whole quantity by the order's id, signed by the agent, and returns the order as it is now", async () => {
    const harness = createHarness();
    harness.http.reply(
      200,
      wireOrder({ price: "83000.00", origQty: "0.200", executedQty: "0.050", status: "PARTIALLY_FILLED" }),
    );
    const current: VenueOrder = { ...RESTING, status: "PARTIALLY_FILLED", filledLots: 50 };
    const outcome = await harness.trading.orders.amend(harness.open(V3), BTC, current, change, OPTIONS);
    expect(harness.http.last).toMatchObject({ method: "PUT", path: "/fapi/v3/order", accountWeight: 1 });
    expect(paramsOf(harness.http.last)).toMatchObject({
      symbol: "BTCUSDT",
      orderId: "12345678",
      quantity: "0.2",
      price: "83000",
    });
    expect(outcome).toMatchObject({
      outcome: "accepted",
      order: { ...change, filledLots: 50, status: "PARTIALLY_FILLED", venueOrderId: "12345678" },
    });
  });

  it.each([
    [
      "an unknown order",
      [400, { code: -2013, msg: "Order does not exist." }],
      { outcome: "rejected", reason: "NOT_FOUND" },
    ],
    ["a timeout of the engine", [503, { code: -1007, msg: "Timeout" }], { outcome: "unknown" }],
    ["another order", [200, wireOrder({ orderId: 9 })], { outcome: "unknown", cause: "REPLY_OF_ANOTHER_ORDER" }],
    ["no order", [200, {}], { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
  ] as const)("answered with %s", async (_what, answer, expected) => {
    const harness = createHarness();
    harness.http.reply(answer[0], answer[1]);
    expect(await harness.trading.orders.amend(harness.open(V3), BTC, RESTING, change, OPTIONS)).toMatchObject(expected);
    expect(harness.http.requests).toHaveLength(1);
  });

  it.each([
    ["for an HMAC key", V1, {}, change, "NOT_SUPPORTED"],
    ["of a stop order", V3, { type: "STOP_LIMIT", triggerPrice: "82000" }, change, "NOT_SUPPORTED"],
    ["of an order that ended", V3, { status: "CANCELED" }, change, "NOT_OPEN"],
    ["of another symbol's order", V3, { nativeSymbol: "ETHUSDT" }, change, "INSTRUMENT"],
    ["to less than has filled", V3, { filledLots: 200 }, change, "SIZE_FILLED"],
    ["to no price", V3, {}, { ...change, priceTicks: -1 }, "PRICE"],
    ["to no size", V3, {}, { ...change, qtyLots: Number.NaN }, "SIZE"],
  ] as const)("is refused %s, unsent", async (_what, credentials, order, to, venueCode) => {
    const harness = createHarness();
    const outcome = await harness.trading.orders.amend(
      harness.open(credentials),
      BTC,
      { ...RESTING, ...order },
      to,
      OPTIONS,
    );
    expect(outcome).toMatchObject({ outcome: "rejected", venueCode, sent: false });
    expect(harness.http.requests).toEqual([]);
  });
});

describe("cancelling all on venuetwo", () => {
  it.each([
    ["as text", DONE, { outcome: "accepted", canceledCount: null, failed: [] }],
    ["as a number", { ...DONE, code: 200 }, { outcome: "accepted" }],
    ["as something else", { symbol: "BTCUSDT" }, { outcome: "unknown", cause: "REPLY_SHAPE" }],
  ] as const)("of one symbol is one call; its yes comes %s", async (_how, body, expected) => {
    const harness = createHarness();
    harness.http.reply(200, body);
    expect(await harness.trading.orders.cancelAll(harness.open(), BTC, OPTIONS)).toMatchObject(expected);
    expect(harness.http.requests).toHaveLength(1);
    expect(harness.http.last).toMatchObject({ method: "DELETE", weight: 1 });
    expect(harness.http.last.path).toMatch(/^\/fapi\/v1\/allOpenOrders\?symbol=BTCUSDT&/);
  });

  it("of all symbols goes to each that has an order, also one not listed here, and tells refusals apart", async () => {
    const harness = createHarness();
    const rows = ["BTCUSDT", "BTCUSDT", "ETHUSDT", "GONEUSDT"].map((symbol) => wireOrder({ symbol }));
    harness.http
      .reply(200, rows)
      .reply(200, DONE)
      .reply(400, { code: -2011, msg: "Unknown order sent." })
      .reply(200, DONE);
    const outcome = await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS);
    expect(harness.http.requests.slice(1).map((request) => paramsOf(request)["symbol"])).toEqual([
      "BTCUSDT",
      "ETHUSDT",
      "GONEUSDT",
    ]);
    expect(outcome).toMatchObject({ outcome: "accepted", canceledCount: null, failed: [{ reason: "NOT_FOUND" }] });
  });

  it("is unknown if one symbol's outcome is, after trying the others", async () => {
    const harness = createHarness();
    harness.http.reply(
      200,
      ["BTCUSDT", "ETHUSDT"].map((symbol) => wireOrder({ symbol })),
    );
    harness.http.step({ kind: "noResponse", reason: "TIMEOUT" }).reply(200, DONE);
    expect(await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS)).toEqual({
      outcome: "unknown",
      cause: "TIMEOUT",
    });
    expect(harness.http.requests).toHaveLength(3);
  });

  it("stops sending when its time is over, and says of which symbol", async () => {
    const harness = createHarness();
    harness.http.reply(
      200,
      ["BTCUSDT", "ETHUSDT"].map((symbol) => wireOrder({ symbol })),
    );
    harness.http.step(() => {
      harness.clock.advance(5_000);
      return harness.http.response(200, DONE);
    });
    const outcome = await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS);
    expect(outcome).toMatchObject({ outcome: "accepted", failed: [{ venueCode: "DEADLINE", sent: false }] });
    expect(harness.http.requests).toHaveLength(2);
  });

  it("cancels nothing when the orders cannot be read", async () => {
    const harness = createHarness();
    harness.http.reply(401, { code: -2015, msg: "Invalid API-key" });
    expect(await harness.trading.orders.cancelAll(harness.open(), null, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: false,
    });
  });
});

describe("the countdown of venuetwo", () => {
  it("counts from each send, for open symbols and those dealt in before, and never sends 0 but to stop", async () => {
    const harness = createHarness();
    const session = harness.open();
    harness.http.reply(200, wireOrder({ symbol: "ETHUSDT" }));
    await harness.trading.orders.place(session, { ...STOP, instrument: ETH }, OPTIONS);
    harness.http.reply(200, [wireOrder()]);
    harness.http.step(() => {
      harness.clock.advance(1_500);
      return harness.http.response(200, { symbol: "BTCUSDT", countdownTime: "3000" });
    });
    harness.http.reply(200, { symbol: "ETHUSDT", countdownTime: "1500" });
    const atMs = harness.clock.wallMs() + 3_000;
    expect(await harness.trading.orders.scheduleCancel(session, atMs, OPTIONS)).toEqual({
      outcome: "accepted",
      symbols: ["BTCUSDT", "ETHUSDT"],
    });
    expect(harness.http.requests.slice(2).map((request) => paramsOf(request))).toMatchObject([
      { symbol: "BTCUSDT", countdownTime: "3000" },
      { symbol: "ETHUSDT", countdownTime: "1500" },
    ]);
    expect(harness.http.last.weight).toBe(10);
    harness.http.reply(200, []);
    for (const symbol of ["ETHUSDT", "BTCUSDT"]) harness.http.reply(200, { symbol, countdownTime: "0" });
    expect(await harness.trading.orders.scheduleCancel(session, null, OPTIONS)).toMatchObject({ outcome: "accepted" });
    // Also where nothing rests any more: the venue would still cancel what comes there.
    expect(harness.http.requests.slice(5).map((request) => paramsOf(request))).toMatchObject([
      { symbol: "ETHUSDT", countdownTime: "0" },
      { symbol: "BTCUSDT", countdownTime: "0" },
    ]);
  });

  it("arms nothing where there is no symbol yet, says so, and follows with each new symbol at once", async () => {
    const harness = createHarness();
    const armedBy = harness.open();
    harness.http.reply(200, []);
    const atMs = harness.clock.wallMs() + 10_000;
    const { orders } = harness.trading;
    expect(await orders.scheduleCancel(armedBy, atMs, OPTIONS)).toEqual({ outcome: "accepted", symbols: [] });
    harness.clock.advance(4_000);
    const other = harness.open();
    harness.http.reply(200, wireOrder({ symbol: "ETHUSDT" })).reply(200, { symbol: "ETHUSDT", countdownTime: "6000" });
    await orders.place(other, { ...STOP, instrument: ETH }, OPTIONS);
    other.close();
    await harness.clock.advanceAsync(1);
    expect(harness.http.requests.map(({ path }) => path.replace(/\?.*/, ""))).toEqual([
      expect.stringContaining("openOrders"),
      expect.stringContaining("/order"),
      expect.stringContaining("countdownCancelAll"),
    ]);
    expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "6000" });
    // Covered now: another order of it needs no word.
    harness.http.reply(200, wireOrder({ symbol: "ETHUSDT" }));
    await orders.place(harness.open(), { ...STOP, instrument: ETH, clientIdHex: "e".repeat(32) }, OPTIONS);
    await harness.clock.advanceAsync(1);
    expect(harness.http.requests).toHaveLength(4);
  });

  it("follows with the time that is left, whatever our wall clock was set to since", async () => {
    for (const stepMs of [90_000, -90_000]) {
      const harness = createHarness();
      harness.http.reply(200, []);
      const { orders } = harness.trading;
      await orders.scheduleCancel(harness.open(), harness.clock.wallMs() + 10_000, OPTIONS);
      harness.clock.stepWall(stepMs);
      harness.clock.advance(4_000);
      harness.http.reply(200, wireOrder({ symbol: "ETHUSDT" })).reply(200, { symbol: "ETHUSDT", countdownTime: "1" });
      await orders.place(harness.open(), { ...STOP, instrument: ETH }, OPTIONS);
      await harness.clock.advanceAsync(1);
      expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "6000" });
    }
  });

  it("follows nobody once its switch is gone", async () => {
    const harness = createHarness();
    const armedBy = harness.open();
    harness.http.reply(200, []);
    await harness.trading.orders.scheduleCancel(armedBy, harness.clock.wallMs() + 10_000, OPTIONS);
    armedBy.close();
    harness.http.reply(200, wireOrder({ symbol: "ETHUSDT" }));
    await harness.trading.orders.place(harness.open(), { ...STOP, instrument: ETH }, OPTIONS);
    await harness.clock.advanceAsync(1);
    expect(harness.http.requests).toHaveLength(2);
  });

  it("knows nothing of what other credentials dealt in", async () => {
    const harness = createHarness();
    harness.http.reply(200, wireOrder());
    await harness.trading.orders.place(harness.open(V1), STOP, OPTIONS);
    harness.http.reply(200, []);
    const atMs = harness.clock.wallMs() + 3_000;
    await harness.trading.orders.scheduleCancel(harness.open({ ...V1, apiSecret: "another" }), atMs, OPTIONS);
    expect(harness.http.requests).toHaveLength(2);
  });

  it("is refused unsent for a time that is over, or not a time", async () => {
    const harness = createHarness();
    for (const atMs of [harness.clock.wallMs(), 0, Number.NaN, harness.clock.wallMs() + 1e12])
      expect(await harness.trading.orders.scheduleCancel(harness.open(), atMs, OPTIONS)).toMatchObject({
        outcome: "rejected",
        venueCode: "SCHEDULE_TIME",
        sent: false,
      });
    expect(harness.http.requests).toEqual([]);
  });

  it("is not accepted when one symbol is refused or unclear", async () => {
    for (const [step, expected] of [
      [
        { status: 400, body: { code: -1121, msg: "Invalid symbol." } },
        { outcome: "unknown", cause: "PARTIAL" },
      ],
      [
        { status: 500, body: "<html>" },
        { outcome: "unknown", cause: "HTTP_500" },
      ],
      [
        { status: 200, body: {} },
        { outcome: "unknown", cause: "REPLY_SHAPE" },
      ],
    ] as const) {
      const harness = createHarness();
      harness.http.reply(200, [wireOrder(), wireOrder({ symbol: "ETHUSDT" })]);
      harness.http.reply(step.status, step.body).reply(200, { symbol: "ETHUSDT", countdownTime: "1" });
      const atMs = harness.clock.wallMs() + 3_000;
      expect(await harness.trading.orders.scheduleCancel(harness.open(), atMs, OPTIONS)).toMatchObject(expected);
    }
  });

  it("is refused when every symbol is", async () => {
    const harness = createHarness();
    harness.http.reply(200, [wireOrder(), wireOrder({ symbol: "ETHUSDT" })]);
    const refusal = { code: -1121, msg: "Invalid symbol." };
    harness.http.reply(400, refusal).reply(400, refusal);
    const atMs = harness.clock.wallMs() + 3_000;
    const outcome = await harness.trading.orders.scheduleCancel(harness.open(), atMs, OPTIONS);
    expect(outcome).toMatchObject({ outcome: "rejected", sent: true });
  });
});

describe("the settings port of venuetwo", () => {
  it.each([
    // As the documentation prints it, and as a client library recorded it.
    [{ leverage: 21, maxNotionalValue: "1000000", symbol: "BTCUSDT" }, "1000000"],
    [{ symbol: "BTCUSDT", leverage: 21, maxNotionalValue: 5_000_000 }, "5000000"],
    [{ symbol: "BTCUSDT", leverage: 21 }, null],
  ])("takes the answer %j to a leverage", async (body, maxNotionalValue) => {
    const harness = createHarness();
    harness.http.reply(200, body);
    expect(await harness.trading.settings.setLeverage(harness.open(), BTC, 21, OPTIONS)).toEqual({
      outcome: "accepted",
      settings: { leverage: 21, marginMode: null, maxNotionalValue },
    });
    expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "BTCUSDT", leverage: "21" });
  });

  it.each([
    [[400, { code: -4028, msg: "Leverage 124 is not valid" }], { outcome: "rejected", sent: true }],
    [[400, { code: -4161, msg: "Leverage reduction is not supported" }], { outcome: "rejected", sent: true }],
    [[400, { code: -2027, msg: "Exceeded the maximum" }], { outcome: "rejected", reason: "INSUFFICIENT_MARGIN" }],
    [[200, { symbol: "ETHUSDT", leverage: 21 }], { outcome: "unknown", cause: "REPLY_SHAPE" }],
    [[502, ""], { outcome: "unknown", cause: "HTTP_502" }],
  ] as const)("reads the answer %j to a leverage", async (answer, expected) => {
    const harness = createHarness();
    harness.http.reply(answer[0], answer[1]);
    expect(await harness.trading.settings.setLeverage(harness.open(), BTC, 21, OPTIONS)).toMatchObject(expected);
  });

  it.each([
    [[200, { code: 200, msg: "success" }], { outcome: "accepted", settings: { marginMode: "isolated" } }],
    [[400, { code: -4046, msg: "No need to change margin type." }], { outcome: "accepted" }],
    [[400, { code: -4048, msg: "Margin type cannot be changed" }], { outcome: "rejected", venueCode: "-4048" }],
    [[200, {}], { outcome: "unknown" }],
  ] as const)("reads the answer %j to a margin mode", async (answer, expected) => {
    const harness = createHarness();
    harness.http.reply(answer[0], answer[1]);
    expect(await harness.trading.settings.setMarginMode(harness.open(), BTC, "isolated", OPTIONS)).toMatchObject(
      expected,
    );
    expect(paramsOf(harness.http.last)).toMatchObject({ marginType: "ISOLATED" });
  });

  it.each([[0], [126], [1.5], [Number.NaN]])("refuses a leverage of %d without sending", async (leverage) => {
    const harness = createHarness();
    expect(await harness.trading.settings.setLeverage(harness.open(), BTC, leverage, OPTIONS)).toMatchObject({
      venueCode: "LEVERAGE",
      sent: false,
    });
    expect(harness.http.requests).toEqual([]);
  });

  it("knows the most that a contract allows from its brackets, and asks for them once in a while", async () => {
    const harness = createHarness();
    const ask = (instrument = BTC) => harness.trading.settings.maxLeverage?.(harness.open(), instrument, OPTIONS);
    const brackets = [
      { bracket: 1, initialLeverage: 50, notionalCap: 5000, notionalFloor: 0, maintMarginRatio: 0.01, cum: 0 },
      { bracket: 2, initialLeverage: 25, notionalCap: 50000, notionalFloor: 5000, maintMarginRatio: 0.02, cum: 50 },
    ];
    harness.http.reply(200, { symbol: "BTCUSDT", brackets });
    expect([await ask(), await ask()]).toEqual([50, 50]);
    expect(harness.http.requests.length).toBe(1);
    expect(harness.http.last.path).toContain("/fapi/v1/leverageBracket?symbol=BTCUSDT");
    // As the dialect this one comes from answers.
    harness.http.reply(200, [{ symbol: "ETHUSDT", brackets: [{ ...brackets[0], initialLeverage: 200 }] }]);
    expect(await ask(ETH)).toBe(125);
    harness.clock.advance(3_600_001);
    harness.http.reply(200, { symbol: "BTCUSDT", brackets: brackets.slice(1) });
    expect(await ask()).toBe(25);
  });

  it.each([
    [200, { symbol: "ETHUSDT", brackets: [{ initialLeverage: 50 }] }],
    [200, { symbol: "BTCUSDT", brackets: [] }],
    [200, { symbol: "BTCUSDT", brackets: [{ initialLeverage: "many" }] }],
    [502, ""],
  ])("knows no most where the venue's answer is %s %j, and asks again", async (status, body) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await harness.trading.settings.maxLeverage?.(harness.open(), BTC, OPTIONS)).toBeNull();
    harness.http.reply(200, { symbol: "BTCUSDT", brackets: [{ initialLeverage: 75 }] });
    expect(await harness.trading.settings.maxLeverage?.(harness.open(), BTC, OPTIONS)).toBe(75);
  });

  it("reads them of a flat symbol (recorded row)", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("flatPosition"));
    const inj = { ...BTC, symbol: "INJ", nativeSymbol: "INJUSDT" };
    expect(await harness.trading.settings.read(harness.open(), inj, OPTIONS)).toMatchObject({
      ok: true,
      value: { leverage: 20, marginMode: "cross", maxNotionalValue: "25000", hedgeMode: false },
    });
  });

  it("fails where the symbol is missing from the answer", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("flatPosition"));
    expect(await harness.trading.settings.read(harness.open(), BTC, OPTIONS)).toMatchObject({ code: "BAD_RESPONSE" });
  });
});
