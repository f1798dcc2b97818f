/** Account reads of venuethree against a scripted venue: recorded answers, traps, and what is refused. */
import { describe, expect, it } from "vitest";
import type { AccountSession } from "../../engine/ports.js";
import { parseJsonExact } from "../shared/wire-fields.js";
import {
  ACCOUNT,
  accountFixture,
  API_KEY,
  BTC,
  CLIENT_ID,
  CLIENT_INDEX,
  CLOSE_LONG,
  createHarness,
  ETH,
  type Harness,
  OPTIONS,
  PEPE,
  PUBLIC_KEY,
} from "./test/trading-harness.js";

const ADDRESS = `0x${"ab".repeat(20)}`;

function position(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    market_id: 1,
    symbol: "BTC",
    initial_margin_fraction: "5.00",
    sign: 1,
    position: "0.02500",
    avg_entry_price: "83100.0",
    position_value: "2079.000000",
    unrealized_pnl: "1.500000",
    realized_pnl: "0.000000",
    liquidation_price: "0",
    margin_mode: 0,
    allocated_margin: "0.000000",
    ...changes,
  };
}

function account(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    index: ACCOUNT,
    account_index: ACCOUNT,
    l1_address: ADDRESS,
    available_balance: "900.000000",
    collateral: "1000.000000",
    total_asset_value: "1001.500000",
    cross_initial_margin_requirement: "100.000000",
    cross_maintenance_margin_requirement: "60.000000",
    positions: [position()],
    assets: [
      { symbol: "USDC", asset_id: 3, balance: "10.000000", locked_balance: "4.000000", margin_balance: "1000.000000" },
    ],
    ...changes,
  };
}

function answerOf(...accounts: readonly Record<string, unknown>[]): Record<string, unknown> {
  return { code: 200, total: accounts.length, accounts };
}

/** A row of the recorded answer, under other names. */
function order(changes: Record<string, unknown>): Record<string, unknown> {
  const recorded = parseJsonExact(accountFixture("live-http-account-active-orders")) as {
    orders: Record<string, unknown>[];
  };
  return { ...recorded.orders[0], ...changes };
}

const mine = { client_order_id: String(CLIENT_INDEX), client_order_index: CLIENT_INDEX };

function ready(): { readonly harness: Harness; readonly session: AccountSession } {
  const harness = createHarness();
  harness.confirmKey();
  return { harness, session: harness.open() };
}

describe("positions", () => {
  it("reads sign, mode, leverage and mark, and asks without a token", async () => {
    const { harness, session } = ready();
    harness.offsetMs = 300;
    harness.http.reply(
      200,
      answerOf(
        account({
          positions: [
            position(),
            position({
              market_id: 0,
              symbol: "ETH",
              sign: -1,
              position: "0.5000",
              avg_entry_price: "2345.67",
              position_value: "1000.000000",
              margin_mode: 1,
              allocated_margin: "50.000000",
              liquidation_price: "2600.5",
              initial_margin_fraction: "33.34",
            }),
          ],
        }),
      ),
    );
    const read = await harness.trading.reader.readPositions(session, null, OPTIONS);
    expect(harness.http.last).toMatchObject({ path: `/api/v1/account?by=index&value=${ACCOUNT}`, headers: {} });
    expect(read).toMatchObject({ ok: true, source: "venue" });
    expect(read.ok && read.value).toEqual([
      {
        venue: "venuethree",
        symbol: "BTC",
        nativeSymbol: "BTC",
        direction: "LONG",
        positionSide: "BOTH",
        qtyLots: 2_500,
        entryPrice: "83100",
        markPrice: "83160",
        liquidationPrice: null,
        unrealizedPnl: "1.5",
        leverage: 20,
        marginMode: "cross",
        collateral: null,
        tsVenueMs: harness.clock.wallMs() + 20 + 300,
      },
      expect.objectContaining({
        symbol: "ETH",
        direction: "SHORT",
        qtyLots: 5_000,
        markPrice: "2000",
        liquidationPrice: "2600.5",
        leverage: 3,
        marginMode: "isolated",
        collateral: "50",
      }),
    ]);
  });

  it("a flat row, recorded with its zero below zero, is no position; a contract of 1000 units is quoted per unit", async () => {
    const { harness, session } = ready();
    const flat = (
      JSON.parse(accountFixture("live-ws-account-all-positions-update-flat")) as { positions: Record<string, unknown> }
    ).positions["1"];
    const pepe = position({
      market_id: 4,
      symbol: "1000PEPE",
      position: "7",
      avg_entry_price: "0.012345",
      position_value: "0.086415",
      sign: -1,
    });
    harness.http.reply(200, answerOf(account({ positions: [flat, pepe] })));
    const read = await harness.trading.reader.readPositions(session, null, OPTIONS);
    expect(read.ok && read.value).toMatchObject([
      { symbol: "PEPE", qtyLots: 7, entryPrice: "0.000012345", markPrice: "0.000012345" },
    ]);
    expect(PEPE.multiplierExp10).toBe(3);
  });

  it.each<[string, Record<string, unknown>]>([
    ["a size finer than a lot", { position: "0.000001" }],
    ["a sign of 2", { sign: 2 }],
    ["an open row without a sign", { sign: 0 }],
    ["an unknown margin mode", { margin_mode: 7 }],
    ["no entry price", { avg_entry_price: null }],
    ["a number for a size", { position: 0.025 }],
  ])("%s fails the whole read: what is left out would look flat", async (_what, changes) => {
    const { harness, session } = ready();
    harness.http.reply(
      200,
      answerOf(account({ positions: [position({ market_id: 0, symbol: "ETH", position: "1" }), position(changes)] })),
    );
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("takes no answer about another account for this one", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, answerOf(account({ index: 517, account_index: 517 })));
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("of an address: those of all its accounts, over all pages, and none where the venue knows it not", async () => {
    const harness = createHarness();
    const opened = harness.trading.openAddress(ADDRESS);
    if (!opened.ok) throw new Error(opened.problem);
    harness.http.reply(200, { ...answerOf(account()), next_cursor: "x/1" });
    harness.http.reply(
      200,
      answerOf(account({ index: 281_474_976_710_600, positions: [position({ position: "1.00000", sign: -1 })] })),
    );
    const read = await harness.trading.reader.readPositions(opened.session, BTC, OPTIONS);
    expect(read.ok && read.value.map(({ qtyLots, direction }) => [direction, qtyLots])).toEqual([
      ["LONG", 2_500],
      ["SHORT", 100_000],
    ]);
    expect(harness.http.last.path).toBe(`/api/v1/account?by=l1_address&value=${ADDRESS}&cursor=x%2F1`);
    harness.http.reply(400, { code: 21100, message: "account not found" });
    expect(await harness.trading.reader.readPositions(opened.session, null, OPTIONS)).toMatchObject({
      ok: true,
      value: [],
    });
  });
});

describe("orders", () => {
  it("reads the recorded list with a token that its own key signed", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, accountFixture("live-http-account-active-orders"));
    const read = await harness.trading.reader.readOpenOrders(session, null, OPTIONS);
    expect(harness.http.last.path).toBe(`/api/v1/accountActiveOrders?account_index=${ACCOUNT}&market_id=255`);
    const deadlineS = Math.floor((harness.clock.wallMs() + 600_000) / 1_000);
    expect(harness.http.last.headers["authorization"]).toMatch(
      new RegExp(`^${deadlineS}:${ACCOUNT}:${API_KEY}:[0-9a-f]{160}$`),
    );
    expect(read.ok && read.value).toEqual([
      {
        venue: "venuethree",
        nativeSymbol: "BTC",
        venueOrderId: "844424912956320",
        venueClientOrderId: "178554256601",
        side: "BUY",
        type: "LIMIT",
        status: "OPEN",
        venueStatus: "open",
        priceTicks: 566_082,
        qtyLots: 100,
        filledLots: 0,
        averagePrice: null,
        reduceOnly: false,
        triggerPrice: null,
        timeInForce: "POST_ONLY",
        tsVenueMs: 1_785_542_568_396,
        fee: null,
      },
    ]);
  });

  it("keeps the digits of ids above 2^53, with and without their text twins", async () => {
    const { harness, session } = ready();
    const text = (withTwins: boolean): string =>
      JSON.stringify({ code: 200, orders: [order({ order_id: withTwins ? "10414574259102759" : "" })] }).replace(
        '"order_index":844424912956320',
        '"order_index":10414574259102759',
      );
    for (const withTwins of [true, false]) {
      harness.http.reply(200, text(withTwins));
      const read = await harness.trading.reader.readOpenOrders(session, null, OPTIONS);
      expect(read.ok && read.value[0]?.venueOrderId).toBe("10414574259102759");
    }
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "filled",
      { status: "filled", filled_base_amount: "0.00100", filled_quote_amount: "56.608200" },
      { status: "FILLED", filledLots: 100, averagePrice: "56608.2" },
    ],
    [
      "ended in part",
      { status: "canceled-too-much-slippage", filled_base_amount: "0.00040", filled_quote_amount: "22.643280" },
      { status: "CANCELED", filledLots: 40, averagePrice: "56608.2" },
    ],
    [
      "open in part",
      { filled_base_amount: "0.00040", filled_quote_amount: "22.643280" },
      { status: "PARTIALLY_FILLED", filledLots: 40 },
    ],
    [
      "a stop that waits",
      {
        type: "stop-loss",
        status: "pending",
        trigger_price: "55000.0",
        time_in_force: "immediate-or-cancel",
        is_ask: true,
        reduce_only: true,
      },
      {
        status: "OPEN",
        type: "STOP_MARKET",
        triggerKind: "STOP",
        triggerPrice: "55000",
        side: "SELL",
        reduceOnly: true,
      },
    ],
    [
      "a take-profit limit",
      { type: "take-profit-limit", trigger_price: "60000.0", time_in_force: "good-till-time" },
      { type: "STOP_LIMIT", triggerKind: "TAKE_PROFIT", timeInForce: "GTC" },
    ],
    ["a status of tomorrow", { status: "paused" }, { status: "UNKNOWN", venueStatus: "paused" }],
    ["a reason of tomorrow", { status: "canceled-by-moon" }, { status: "CANCELED" }],
  ])("%s", async (_what, changes, expected) => {
    const { harness, session } = ready();
    harness.http.reply(200, { code: 200, orders: [order({ ...mine, ...changes })] });
    const read = await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(read).toMatchObject({ ok: true, value: expected });
    expect(harness.logLines.some((line) => line.includes("venuethree.order.status"))).toBe(
      expected["status"] === "UNKNOWN",
    );
  });

  it("looks among the active, then among the ended, page by page", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, { code: 200, orders: [order({})] });
    harness.http.reply(200, { code: 200, orders: [order({ order_id: "281476929510102" })], next_cursor: "abc" });
    harness.http.reply(200, {
      code: 200,
      orders: [order({ ...mine, status: "filled", filled_base_amount: "0.00100", filled_quote_amount: "56.608200" })],
    });
    const read = await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(read).toMatchObject({ ok: true, value: { status: "FILLED" } });
    expect(harness.http.requests.slice(1).map(({ path }) => path.replace("/api/v1/", ""))).toEqual([
      `accountActiveOrders?account_index=${ACCOUNT}&market_id=1`,
      `accountInactiveOrders?account_index=${ACCOUNT}&limit=100&market_id=1`,
      `accountInactiveOrders?account_index=${ACCOUNT}&limit=100&market_id=1&cursor=abc`,
    ]);
  });

  it("null only when the lists end, or reach back far enough; else it is not known", async () => {
    const { harness, session } = ready();
    const look = () => harness.trading.reader.readOrder(session, BTC, { venueOrderId: "844424914280027" }, OPTIONS);
    const page = (atMs: number) => ({
      code: 200,
      orders: [order({ order_id: "1", transaction_time: atMs * 1_000 })],
      next_cursor: "c",
    });
    harness.http.reply(200, { code: 200, orders: [] }).reply(200, { code: 200, orders: [] });
    expect(await look()).toMatchObject({ ok: true, value: null });
    harness.http.reply(200, { code: 200, orders: [] });
    for (let count = 0; count < 5; count++) harness.http.reply(200, page(harness.clock.wallMs() - 31 * 60_000));
    expect(await look()).toMatchObject({ ok: true, value: null });
    harness.http.reply(200, { code: 200, orders: [] });
    for (let count = 0; count < 5; count++) harness.http.reply(200, page(harness.clock.wallMs() - 60_000));
    expect(await look()).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    expect(harness.http.unusedStepCount).toBe(0);
  });

  it.each<[string, Record<string, unknown>, unknown]>([
    [
      "refused",
      { status: 2, event_info: '{"ae":"{\\"code\\":21728,\\"message\\":\\"client order index already exists\\"}"}' },
      { status: "REJECTED", venueStatus: "21728 client order index already exists", filledLots: 0 },
    ],
    ["failed", { status: 0, event_info: "" }, { status: "REJECTED", venueStatus: "failed" }],
    ["refused in other words", { status: 2, event_info: '{"ae":"no"}' }, { status: "REJECTED" }],
    ["executed", { status: 2, event_info: '{"ae":""}' }, null],
    ["pending", { status: 1, event_info: "" }, null],
    ["garbled", { status: 2, event_info: "{" }, null],
  ])("an order in no list whose transaction was %s", async (_what, tx, expected) => {
    const { harness, session } = ready();
    harness.acceptTx();
    await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS);
    harness.http
      .reply(200, { code: 200, orders: [] })
      .reply(200, { code: 200, orders: [] })
      .reply(200, { code: 200, ...tx });
    const read = await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(harness.http.last.path).toBe(`/api/v1/tx?by=hash&value=${harness.sent()[0]?.hash}`);
    if (expected === null) expect(read).toMatchObject({ ok: true, value: null });
    else expect(read).toMatchObject({ ok: true, value: expected });
  });

  it("a transaction the venue does not know: no such order (yet)", async () => {
    const { harness, session } = ready();
    harness.http.step(() => ({ kind: "noResponse", reason: "TIMEOUT" }));
    await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS);
    harness.http.reply(200, { code: 200, orders: [] }).reply(200, { code: 200, orders: [] });
    harness.http.reply(400, { code: 21500, message: "transaction not found" });
    expect(await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS)).toMatchObject({
      ok: true,
      value: null,
    });
  });

  it("an id of another market is no order of this one; found wherever it is when no market is named", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, { code: 200, orders: [order(mine)] });
    expect(await harness.trading.reader.readOrder(session, ETH, { clientIdHex: CLIENT_ID }, OPTIONS)).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
    harness.http.reply(200, { code: 200, orders: [order(mine)] });
    expect(await harness.trading.reader.findOrder(session, { clientIdHex: CLIENT_ID }, OPTIONS)).toMatchObject({
      ok: true,
      value: { nativeSymbol: "BTC" },
    });
  });
});

describe("tokens and keys", () => {
  it("one token per session until shortly before its end, then another; a refused one is made anew", async () => {
    const { harness, session } = ready();
    const read = async (): Promise<string> => {
      harness.http.reply(200, { code: 200, orders: [] });
      await harness.trading.reader.readOpenOrders(session, null, OPTIONS);
      return harness.http.last.headers["authorization"] ?? "";
    };
    const first = await read();
    harness.clock.advance(8 * 60_000);
    expect(await read()).toBe(first);
    harness.clock.advance(61_000);
    const second = await read();
    expect(second).not.toBe(first);
    harness.http.reply(401, accountFixture("live-http-auth-deadline-too-far"));
    expect(await harness.trading.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({
      ok: false,
      code: "AUTH",
    });
    harness.confirmKey();
    expect(await read()).not.toBe(second);
    expect(JSON.stringify(harness.logLines)).not.toContain(first.split(":")[3] ?? "none");
  });

  it.each<[string, Record<string, unknown>, unknown[], string]>([
    [
      "another key",
      {},
      [{ account_index: ACCOUNT, api_key_index: 4, nonce: 1, public_key: "00".repeat(40) }],
      "not registered",
    ],
    ["no key", {}, [], "not registered"],
    [
      "another index",
      { apiKeyIndex: 4 },
      [{ account_index: ACCOUNT, api_key_index: 5, nonce: 1, public_key: PUBLIC_KEY }],
      "apiKeyIndex",
    ],
  ])("AUTH for %s, remembered for two seconds", async (_what, extra, keys, text) => {
    const harness = createHarness();
    const session = harness.open(extra);
    harness.http.reply(200, { code: 200, api_keys: keys });
    for (let times = 0; times < 2; times++)
      expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({
        ok: false,
        code: "AUTH",
        message: expect.stringContaining(text) as string,
      });
    expect(harness.http.requests).toHaveLength(1);
  });

  it("asks once for many calls at a time, and again when the answer is old", async () => {
    const { harness, session } = ready();
    for (let count = 0; count < 3; count++) harness.http.reply(200, answerOf(account()));
    await Promise.all([1, 2, 3].map(() => harness.trading.reader.readPositions(session, null, OPTIONS)));
    expect(harness.http.requests.filter(({ path }) => path.includes("apikeys"))).toHaveLength(1);
    harness.clock.advance(11 * 60_000);
    harness.confirmKey().http.reply(200, answerOf(account()));
    expect(await harness.trading.reader.readPositions(session, null, OPTIONS)).toMatchObject({ ok: true });
  });

  it.each<[string, Parameters<Harness["http"]["reply"]>, string]>([
    ["a limit", [429, { code: 23000, message: "Too Many Requests!" }, { "retry-after": "3" }], "RATE_LIMITED"],
    [
      "a missing token",
      [400, { code: 20001, message: "invalid param : auth query param and Authorization header are empty" }],
      "AUTH",
    ],
    ["another parameter", [400, { code: 20001, message: "invalid param : limit" }], "VENUE_ERROR"],
    ["a server error", [500, "oops"], "VENUE_ERROR"],
    ["half an answer", [200, '{"code":200,"orders":['], "BAD_RESPONSE"],
    ["a refusal under 200", [200, { code: 29500, message: "internal server error" }], "VENUE_ERROR"],
  ])("%s is a failure of its own kind", async (_what, reply, code) => {
    const { harness, session } = ready();
    harness.http.reply(...reply);
    expect(await harness.trading.reader.readOpenOrders(session, null, OPTIONS)).toMatchObject({ ok: false, code });
  });
});

describe("balances, fees, summary", () => {
  it("adds collateral and spot balance of one asset, exactly", async () => {
    const { harness, session } = ready();
    const assets = [
      { symbol: "USDC", balance: "10.000001", locked_balance: "4.000000", margin_balance: "1000.000000" },
      { symbol: "ETH", balance: "7.1072", locked_balance: "0.1000" },
      { symbol: "LIT", balance: "0.0000", locked_balance: "0.0000" },
    ];
    harness.http.reply(200, answerOf(account({ assets })));
    const read = await harness.trading.reader.readBalances(session, OPTIONS);
    expect(read.ok && read.value).toEqual([
      { asset: "USDC", total: "1010.000001", available: "906.000001" },
      { asset: "ETH", total: "7.1072", available: "7.0072" },
    ]);
  });

  it("sums margins of isolated positions into what is used", async () => {
    const { harness, session } = ready();
    const isolated = position({ margin_mode: 1, allocated_margin: "25.250000" });
    harness.http.reply(
      200,
      answerOf(account({ positions: [position({ market_id: 0, symbol: "ETH", position: "0.0000" }), isolated] })),
    );
    expect(await harness.trading.reader.readAccount(session, OPTIONS)).toMatchObject({
      ok: true,
      value: { equity: "1001.5", marginUsed: "125.25", free: "900", maintenanceMargin: "60", quoteAsset: "USDC" },
    });
  });

  it("reads fee ticks of 1e-6 as thousandths of a basis point", async () => {
    const { harness, session } = ready();
    harness.http.reply(200, {
      code: 200,
      user_tier: "premium",
      current_maker_fee_tick: 28,
      current_taker_fee_tick: 196,
    });
    expect(await harness.trading.reader.readFeeRates(session, BTC, OPTIONS)).toMatchObject({
      ok: true,
      value: { makerFeeMilliBps: 280, takerFeeMilliBps: 1_960 },
    });
  });
});

describe("settings", () => {
  it("a market without a row has the market's own default, and an unchanged setting sends nothing", async () => {
    const { harness, session } = ready();
    const { settings } = harness.trading;
    const untouched = (): void => {
      harness.http.reply(200, answerOf(account({ positions: [] })));
      harness.http.reply(200, { code: 200, order_book_details: [{ default_initial_margin_fraction: 500 }] });
    };
    untouched();
    expect(await settings.read(session, BTC, OPTIONS)).toMatchObject({
      ok: true,
      value: { leverage: 20, marginMode: "cross" },
    });
    untouched();
    expect(await settings.setLeverage(session, BTC, 20, OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(harness.sent()).toHaveLength(0);
    untouched();
    harness.acceptTx();
    expect(await settings.setMarginMode(session, BTC, "isolated", OPTIONS)).toMatchObject({
      outcome: "accepted",
      settings: { leverage: 20, marginMode: "isolated" },
    });
    expect(harness.sent()[0]).toMatchObject({
      type: 20,
      isSigned: true,
      fields: { InitialMarginFraction: 500, MarginMode: 1 },
    });
  });

  it("a failed read changes nothing and says so", async () => {
    const { harness, session } = ready();
    harness.http.reply(500, "");
    expect(await harness.trading.settings.setLeverage(session, BTC, 5, OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
    expect(harness.sent()).toHaveLength(0);
  });
});
