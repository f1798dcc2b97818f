/** Orders read from venuethree against a scripted venue: recorded lists, ids, look-ups, and what proves that there is none. */
import { describe, expect, it } from "vitest";
import { mine, order, ready } from "../test/account-rows.js";
import { ACCOUNT, accountFixture, API_KEY, BTC, CLIENT_ID, CLOSE_LONG, ETH, OPTIONS } from "../test/trading-harness.js";

describe("a look for orders of venuethree", () => {
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
    ["a reason of tomorrow", { status: "canceled-by-moon" }, { status: "CANCELED", endReason: "VENUE_STATE" }],
    [
      "ended at once by the venue",
      { status: "canceled-position-not-allowed" },
      { status: "CANCELED", endReason: "VENUE_STATE" },
    ],
    [
      "ended for want of margin",
      { status: "canceled-margin-not-allowed" },
      { status: "CANCELED", endReason: "INSUFFICIENT_MARGIN" },
    ],
    [
      "ended for want of orders to meet",
      { status: "canceled-not-enough-liquidity" },
      { status: "CANCELED", endReason: "NO_LIQUIDITY" },
    ],
    [
      "ended for want of a position",
      { status: "canceled-reduce-only" },
      { status: "CANCELED", endReason: "REDUCE_ONLY" },
    ],
  ])("%s", async (_what, changes, expected) => {
    const { harness, session } = ready();
    harness.http.reply(200, { code: 200, orders: [order({ ...mine, ...changes })] });
    const read = await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(read).toMatchObject({ ok: true, value: expected });
    expect(harness.logLines.some((line) => line.includes("venuethree.order.status"))).toBe(
      expected["status"] === "UNKNOWN",
    );
  });

  it.each(["canceled", "canceled-oco", "canceled-expired"])("gives no reason of the venue for %s", async (status) => {
    const { harness, session } = ready();
    harness.http.reply(200, { code: 200, orders: [order({ ...mine, status })] });
    const read = await harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(read).toMatchObject({ ok: true, value: { status: "CANCELED" } });
    expect(read.ok && read.value).not.toHaveProperty("endReason");
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

  it("finds none only when the lists end, or reach back far enough; else it is not known", async () => {
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

  it("finds none of ours only when the pages reach back to before it was sent, whatever our wall clock says", async () => {
    const { harness, session } = ready();
    const sentMs = harness.clock.wallMs() - 7_200_000;
    const look = (sentAfterVenueMs: number) =>
      harness.trading.reader.readOrder(session, BTC, { clientIdHex: CLIENT_ID, sentAfterVenueMs }, OPTIONS);
    const reply = (oldestMs: number): void => {
      harness.http.reply(200, { code: 200, orders: [] });
      const orders = [order({ order_id: "1", transaction_time: oldestMs * 1_000 })];
      for (let count = 0; count < 5; count++) harness.http.reply(200, { code: 200, orders, next_cursor: "c" });
    };
    // Two hours old, and five pages that reach back 31 minutes: it may be on the sixth.
    reply(sentMs + 89 * 60_000);
    expect(await look(sentMs)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    reply(sentMs - 60_000);
    expect(await look(sentMs)).toMatchObject({ ok: true, value: null });
    // When it was sent is not known.
    reply(sentMs);
    expect(await look(0)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    expect(harness.http.unusedStepCount).toBe(0);
  });

  it.each<[string, Record<string, unknown>, unknown]>([
    [
      "refused",
      { status: 2, event_info: '{"ae":"{\\"code\\":21728,\\"message\\":\\"client order index already exists\\"}"}' },
      { status: "REJECTED", venueStatus: "21728 client order index already exists", filledLots: 0 },
    ],
    ...[21_732, 21_738, 21_740].map((code): [string, Record<string, unknown>, unknown] => [
      `refused for want of a position with ${code}`,
      { status: 2, event_info: JSON.stringify({ ae: JSON.stringify({ code, message: "reduce only" }) }) },
      { status: "REJECTED", endReason: "REDUCE_ONLY" },
    ]),
    ["failed", { status: 0, event_info: "" }, { status: "REJECTED", venueStatus: "failed" }],
    ["refused in other words", { status: 2, event_info: '{"ae":"no"}' }, { status: "REJECTED" }],
    ["executed", { status: 2, event_info: '{"ae":""}' }, null],
    ["pending", { status: 1, event_info: "" }, null],
    ["garbled", { status: 2, event_info: "{" }, null],
  ])("reads one that is in no list, whose transaction was %s", async (_what, tx, expected) => {
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

  it("finds none (yet) for a transaction that the venue does not know", async () => {
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

  it("takes no id of another market for one of this, and finds it wherever it is when no market is named", async () => {
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
