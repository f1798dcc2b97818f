import { describe, expect, it } from "vitest";
import type { HistoryQuery } from "../../../engine/ports.js";
import {
  answerFixture,
  BTC,
  CLIENT_ID,
  createHarness,
  envelope,
  eventRow,
  FILLED_EVENTS,
  OPTIONS,
  orderRow,
  PEPE,
  WALLET,
} from "../test/trading-harness.js";

const ALL: HistoryQuery = { instrument: null, sinceMs: null, untilMs: null, limit: 100, cursor: null };
const NOT_KNOWN = { success: false, data: null, error: "Order history not found for order ID: 5", code: 404 };

describe("positions", () => {
  it("are read by address, for one credit in an exit, with the leverage of the settings elsewhere", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("positions"));
    const read = await harness.trading.reader.readPositions(harness.openAddress(), BTC, OPTIONS);
    expect(read).toMatchObject({ ok: true, source: "venue", value: [{ symbol: "BTC", leverage: null }] });
    expect(harness.http.requests.map((request) => request.path)).toEqual([
      `/api/v1/positions?account=${WALLET.publicKey}`,
    ]);
    harness.http
      .reply(200, envelope([{ symbol: "BTC", isolated: false, leverage: 7 }]))
      .reply(200, answerFixture("positions"));
    const other = await harness.trading.reader.readPositions(harness.open(), null, { ...OPTIONS, lane: "read" });
    expect(other).toMatchObject({ value: [{ leverage: 7 }] });
    harness.http.reply(200, answerFixture("positions"));
    expect(await harness.trading.reader.readPositions(harness.open(), PEPE, OPTIONS)).toMatchObject({
      ok: true,
      value: [],
    });
  });

  it("show the leverage that is set a minute later, also where our wall clock was set back by an hour", async () => {
    const harness = createHarness();
    const leverageNow = async (): Promise<unknown> => {
      const read = await harness.trading.reader.readPositions(harness.open(), null, { ...OPTIONS, lane: "read" });
      return read.ok ? read.value[0]?.leverage : read;
    };
    for (const leverage of [7, 9]) {
      harness.http
        .reply(200, envelope([{ symbol: "BTC", isolated: false, leverage }]))
        .reply(200, answerFixture("positions"));
      expect(await leverageNow()).toBe(leverage);
      harness.clock.stepWall(-3_600_000);
      harness.clock.advance(60_001);
    }
  });

  it("report contracts that are not listed without lots, and fail whole on a row that cannot be read", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("positionsDoc"));
    expect(await harness.trading.reader.readPositions(harness.open(), null, OPTIONS)).toMatchObject({
      ok: true,
      value: (answerFixture("positionsDoc").data as { symbol: string; amount: string }[]).map(({ symbol, amount }) => ({
        symbol,
        nativeSymbol: symbol,
        qtyLots: 0,
        uncounted: amount,
      })),
    });
    expect(harness.logLines.join()).toContain("venuefour.position.unlisted");
    const [row] = answerFixture("positions").data as object[];
    for (const broken of [
      { ...row, amount: "0.0000001" },
      { ...row, side: "long" },
      { ...row, amount: null },
    ]) {
      harness.http.reply(200, envelope([row, broken]));
      expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({
        ok: false,
        code: "BAD_RESPONSE",
      });
    }
  });

  it.each([
    [429, { success: false, error: "Rate limit exceeded", code: 429 }, "RATE_LIMITED"],
    [503, "upstream", "VENUE_ERROR"],
    [403, { success: false, error: "Unauthorized", code: 403 }, "AUTH"],
    [200, "<html>", "BAD_RESPONSE"],
    [200, { success: true, data: null }, "BAD_RESPONSE"],
  ])("fail with %i as what it is", async (status, body, code) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await harness.trading.reader.readPositions(harness.open(), BTC, OPTIONS)).toMatchObject({ ok: false, code });
  });

  it("cannot be read with a session that is closed", async () => {
    const harness = createHarness();
    const session = harness.open();
    session.close();
    expect(await harness.trading.reader.readPositions(session, BTC, OPTIONS)).toMatchObject({
      ok: false,
      code: "AUTH",
    });
    expect(harness.http.requests).toEqual([]);
  });
});

describe("an order", () => {
  it("is looked for in the open ones, then page by page in the history, by either id", async () => {
    const harness = createHarness();
    const other = orderRow({ order_id: 1, client_order_id: null });
    harness.http
      .reply(200, envelope([]))
      .reply(200, envelope([other], { next_cursor: "c1", has_more: true }))
      .reply(
        200,
        envelope([other, orderRow({ order_status: "filled", filled_amount: "0.0002", average_filled_price: "63433" })]),
      );
    const read = await harness.trading.reader.readOrder(harness.open(), BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(read).toMatchObject({ ok: true, value: { status: "FILLED", averagePrice: "63433" } });
    expect(harness.http.last.path).toContain("limit=100&cursor=c1");
    expect(harness.http.requests.map((request) => request.weight)).toEqual([1, 12, 12]);
    // Found once, it is known as the account's own: its events answer for one credit.
    harness.http.reply(200, envelope(FILLED_EVENTS));
    const again = await harness.trading.reader.readOrder(harness.open(), BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(again).toMatchObject({ value: { venueOrderId: "336542133", averagePrice: "63433.5" } });
    expect(harness.http.requests).toHaveLength(4);
  });

  it("of another account is none, though its events could be read by anybody", async () => {
    const harness = createHarness();
    harness.http.reply(200, envelope([])).reply(200, envelope([]));
    expect(
      await harness.trading.reader.readOrder(harness.open(), BTC, { venueOrderId: "336542133" }, OPTIONS),
    ).toMatchObject({ ok: true, value: null });
    expect(harness.http.requests.some((request) => request.path.includes("history_by_id"))).toBe(false);
  });

  it("of another symbol is none of this one's, and found where no symbol is named", async () => {
    const harness = createHarness();
    harness.http.reply(200, envelope([])).reply(200, envelope([orderRow()]));
    expect(
      await harness.trading.reader.readOrder(harness.open(), PEPE, { venueOrderId: "336542133" }, OPTIONS),
    ).toMatchObject({ value: null });
    harness.http.reply(200, envelope([])).reply(200, envelope([orderRow()]));
    expect(
      await harness.trading.reader.findOrder(harness.open(), { venueOrderId: "336542133" }, OPTIONS),
    ).toMatchObject({ value: { nativeSymbol: "BTC" } });
  });

  it.each([404, 422, 200])("that its events do not know yet is looked for in the lists: HTTP %i", async (status) => {
    const harness = createHarness();
    harness.http.reply(200, envelope({ order_id: 336_542_133 }));
    const resting = {
      instrument: BTC,
      side: "SELL",
      type: "LIMIT",
      timeInForce: "GTC",
      priceTicks: 63_000,
      qtyLots: 20,
      reduceOnly: false,
      positionSide: "BOTH",
      clientIdHex: CLIENT_ID,
    } as const;
    await harness.trading.orders.place(harness.open(), resting, OPTIONS);
    harness.http
      .reply(status, NOT_KNOWN)
      .reply(200, envelope([]))
      .reply(200, envelope([orderRow()]));
    expect(
      await harness.trading.reader.readOrder(harness.open(), BTC, { clientIdHex: CLIENT_ID }, OPTIONS),
    ).toMatchObject({ ok: true, value: { status: "OPEN" } });
  });

  it("is not reported missing while a young history goes on, and is where it is old", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const page = (ageMs: number): object =>
      envelope([orderRow({ order_id: 1, client_order_id: null, created_at: nowMs - ageMs })], {
        next_cursor: "more",
        has_more: true,
      });
    const ask = () => harness.trading.reader.readOrder(harness.open(), BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    harness.http.reply(200, envelope([]));
    for (let count = 0; count < 4; count++) harness.http.reply(200, page(1_000));
    expect(await ask()).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    harness.http.reply(200, envelope([]));
    for (let count = 0; count < 4; count++) harness.http.reply(200, page(3_600_000));
    expect(await ask()).toMatchObject({ ok: true, value: null });
    harness.http.reply(200, envelope([])).reply(503, "");
    expect(await ask()).toMatchObject({ ok: false });
  });

  it("of ours is missing only where the history reaches back to before it was sent", async () => {
    const harness = createHarness();
    const nowMs = harness.clock.wallMs();
    const ask = (ageMs: number, sentAfterVenueMs: number) => {
      const row = orderRow({ order_id: 1, client_order_id: null, created_at: nowMs - ageMs });
      harness.http.reply(200, envelope([]));
      for (let count = 0; count < 4; count++)
        harness.http.reply(200, envelope([row], { next_cursor: "more", has_more: true }));
      const ref = { clientIdHex: CLIENT_ID, sentAfterVenueMs };
      return harness.trading.reader.readOrder(harness.open(), BTC, ref, OPTIONS);
    };
    expect(await ask(3_600_000, nowMs - 7_200_000)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    expect(await ask(3_600_000, 0)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    expect(await ask(3_600_000, nowMs - 3_500_000)).toMatchObject({ ok: true, value: null });
  });

  it.each([[{ venueOrderId: "x" }], [{ venueOrderId: "" }], [{ clientIdHex: "1" }]])(
    "by what can be no id is none, and nothing is asked: %j",
    async (ref) => {
      const harness = createHarness();
      expect(await harness.trading.reader.readOrder(harness.open(), BTC, ref, OPTIONS)).toMatchObject({
        ok: true,
        value: null,
      });
      expect(harness.http.requests).toEqual([]);
    },
  );

  it("in a state nobody knows is loud", async () => {
    const harness = createHarness();
    harness.http.reply(200, envelope([])).reply(200, envelope([orderRow({ order_status: "sleeping" })]));
    expect(
      await harness.trading.reader.readOrder(harness.open(), BTC, { venueOrderId: "336542133" }, OPTIONS),
    ).toMatchObject({ value: { status: "UNKNOWN" } });
    expect(harness.logLines.join()).toContain("venuefour.order.status");
  });
});

describe("histories", () => {
  it("sift what the venue does not, ask for no more than is wanted, and go on where they stopped", async () => {
    const harness = createHarness();
    const at = (order_id: number, updated_at: number, symbol = "BTC"): object =>
      orderRow({ order_id, updated_at, symbol });
    harness.http
      .reply(200, envelope([at(9, 900), at(8, 100), at(7, 800, "WIF/USDC")], { next_cursor: "c1", has_more: true }))
      .reply(200, envelope([at(6, 700)], { next_cursor: "c2", has_more: true }));
    const query = { ...ALL, sinceMs: 500, untilMs: 950, limit: 2 };
    const first = await harness.trading.history.readOrders(harness.open(), query, OPTIONS);
    expect(first).toMatchObject({
      ok: true,
      value: { rows: [{ venueOrderId: "9" }, { venueOrderId: "6" }], nextCursor: "orders~c2" },
    });
    expect(
      harness.http.requests.map((request) => new URLSearchParams(request.path.split("?")[1]).get("limit")),
    ).toEqual(["2", "1"]);
    harness.http.reply(200, envelope([at(5, 600)]));
    const cursor = first.ok ? first.value.nextCursor : null;
    expect(await harness.trading.history.readOrders(harness.open(), { ...query, cursor }, OPTIONS)).toMatchObject({
      value: { rows: [{ venueOrderId: "5" }], nextCursor: null },
    });
    expect(harness.http.last.path).toContain("cursor=c2");
  });

  it("of payments end with the first that is too old", async () => {
    const harness = createHarness();
    const row = (history_id: number, created_at: number): object => ({
      history_id,
      symbol: "BTC",
      side: "bid",
      amount: "1",
      payout: "-1",
      rate: "0.01",
      created_at,
    });
    harness.http.reply(200, envelope([row(2, 900), row(1, 100)], { next_cursor: "c", has_more: true }));
    expect(await harness.trading.history.readFunding(harness.open(), { ...ALL, sinceMs: 500 }, OPTIONS)).toMatchObject({
      value: { rows: [{ amount: "-1" }], nextCursor: null },
    });
  });

  it("end early with a cursor when pages fail or nothing fits, and read a bounded number", async () => {
    const harness = createHarness();
    const page = envelope([orderRow({ symbol: "ELSE" })], { next_cursor: "c", has_more: true });
    for (let count = 0; count < 10; count++) harness.http.reply(200, page);
    expect(await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS)).toMatchObject({
      value: { rows: [], nextCursor: "orders~c" },
    });
    expect(harness.http.requests).toHaveLength(10);
    harness.http.reply(200, page).reply(503, "");
    expect(await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS)).toMatchObject({
      ok: true,
      value: { nextCursor: "orders~c" },
    });
    harness.http.reply(503, "");
    expect(await harness.trading.history.readOrders(harness.open(), ALL, OPTIONS)).toMatchObject({ ok: false });
  });

  it.each(["", "x", "orders", "orders~", "fills~c", "orders~a b", `orders~${"a".repeat(300)}`])(
    "refuse a cursor that no page gave: %s",
    async (cursor) => {
      const harness = createHarness();
      expect(await harness.trading.history.readOrders(harness.open(), { ...ALL, cursor }, OPTIONS)).toMatchObject({
        ok: false,
        code: "BAD_CURSOR",
      });
      expect(harness.http.requests).toEqual([]);
    },
  );
});

describe("settings", () => {
  it("refuse a leverage that is none before anything is sent, and are unknown where the answer is", async () => {
    const harness = createHarness();
    for (const leverage of [0, 51, 1.5, Number.NaN, -1])
      expect(await harness.trading.settings.setLeverage(harness.open(), BTC, leverage, OPTIONS)).toMatchObject({
        outcome: "rejected",
        sent: false,
      });
    expect(harness.http.requests).toEqual([]);
    harness.http.reply(500, "");
    expect(await harness.trading.settings.setLeverage(harness.open(), BTC, 5, OPTIONS)).toMatchObject({
      outcome: "unknown",
    });
    harness.http.reply(422, { success: false, error: "Cannot update margin mode for BTC", code: 12 });
    expect(await harness.trading.settings.setMarginMode(harness.open(), BTC, "isolated", OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: true,
    });
    expect(await harness.trading.settings.setLeverage(harness.openAddress(), BTC, 5, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: false,
    });
  });

  it("are the venue's default where it lists none", async () => {
    const harness = createHarness();
    harness.http.reply(200, answerFixture("settingsNew"));
    expect(await harness.trading.settings.read(harness.open(), BTC, OPTIONS)).toMatchObject({
      value: { leverage: 50, marginMode: "cross" },
    });
  });
});

it("the events of an order are sorted by their own number: times can tie", async () => {
  const harness = createHarness();
  const open = { ...orderRow(), price: "63000", initial_amount: "0.0002", cancelled_amount: "0" };
  harness.http.reply(200, envelope([open])).reply(200, envelope([eventRow(), FILLED_EVENTS[0], FILLED_EVENTS[1]]));
  expect(await harness.trading.reader.readOpenOrders(harness.open(), BTC, OPTIONS)).toMatchObject({
    value: [{ status: "OPEN" }],
  });
  const read = await harness.trading.reader.readOrder(harness.open(), BTC, { venueOrderId: "336542133" }, OPTIONS);
  expect(read).toMatchObject({ value: { status: "FILLED", averagePrice: "63433.5" } });
});
