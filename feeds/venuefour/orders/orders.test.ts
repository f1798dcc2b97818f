import { describe, expect, it } from "vitest";
import type { OrderCommand } from "../../../engine/domain/order.js";
import type { HttpResult } from "../../shared/net/http.js";
import { normalizeOrder } from "../account/normalize.js";
import { decodeOrderPage } from "../account/wire.js";
import { EXPIRY_MARGIN_MS } from "../rules/limits.js";
import { signedMessage, verifySignature, type OperationType, type SignedFields } from "../sign/sign.js";
import {
  AGENT,
  answerFixture,
  bodyOf,
  BTC,
  CLIENT_ID,
  CLOSE_LONG,
  createHarness,
  CREDENTIALS,
  envelope,
  eventRow,
  FILLED_EVENTS,
  type Harness,
  OPTIONS,
  orderRow,
  PEPE,
  WALLET,
} from "../test/trading-harness.js";

const UUID = "8c1f0a52-d9e3-4b77-90aa-41c2d5e6f701";
const ACK = envelope({ order_id: 336_542_133 });
const RESTING: OrderCommand = { ...CLOSE_LONG, type: "LIMIT", timeInForce: "GTC", reduceOnly: false };
const LOST: HttpResult = { kind: "noResponse", reason: "CONNECTION_LOST" };

function place(harness: Harness, changes: Partial<OrderCommand> = {}) {
  return harness.trading.orders.place(harness.open(), { ...CLOSE_LONG, ...changes }, OPTIONS);
}

describe("a placed order", () => {
  it("is a flat body signed by the agent for the wallet, and followed to its end", async () => {
    const harness = createHarness();
    harness.http.reply(200, ACK).reply(200, envelope(FILLED_EVENTS));
    expect(await place(harness)).toMatchObject({
      outcome: "accepted",
      ackMs: 20,
      order: {
        venueOrderId: "336542133",
        venueClientOrderId: UUID,
        status: "FILLED",
        type: "MARKET",
        timeInForce: "IOC",
        filledLots: 20,
        averagePrice: "63433.5",
        reduceOnly: true,
      },
    });
    const [request, look] = harness.http.requests;
    if (request === undefined) throw new Error("nothing was sent");
    expect(request).toMatchObject({
      method: "POST",
      path: "/api/v1/orders/create",
      weight: 1,
      lane: "exit",
      account: null,
    });
    expect(request.headers).toEqual({ "content-type": "application/json" });
    const { account, agent_wallet, signature, timestamp, expiry_window, ...payload } = bodyOf(request);
    expect({ account, agent_wallet, timestamp, expiry_window }).toEqual({
      account: WALLET.publicKey,
      agent_wallet: AGENT.publicKey,
      timestamp: harness.clock.wallMs(),
      expiry_window: 5_000,
    });
    expect(payload).toEqual({
      symbol: "BTC",
      price: "63000",
      amount: "0.0002",
      side: "ask",
      tif: "IOC",
      reduce_only: true,
      client_order_id: UUID,
    });
    const signed = {
      type: "create_order" as const,
      timestamp: Number(timestamp),
      expiryWindow: 5_000,
      payload: payload as SignedFields,
    };
    expect(verifySignature(signedMessage(signed), String(signature), AGENT.publicKey)).toBe("valid");
    expect(look?.path).toBe(`/api/v1/orders/history_by_id?account=${WALLET.publicKey}&order_id=336542133`);
  });

  it.each([
    [{ timeInForce: "GTC", type: "LIMIT" }, "create_order", { tif: "GTC", price: "63000" }],
    [{ timeInForce: "POST_ONLY", type: "LIMIT" }, "create_order", { tif: "ALO" }],
    [{ timeInForce: "IOC", type: "LIMIT" }, "create_order", { tif: "IOC" }],
    [{ timeInForce: "GTC", type: "MARKET" }, "create_order", { tif: "IOC" }],
    [
      { trigger: { kind: "STOP", priceTicks: 62_000, source: "MARK" } },
      "create_stop_order",
      {
        reduce_only: true,
        stop_order: { stop_price: "62000", amount: "0.0002", client_order_id: UUID, trigger_price_type: "mark_price" },
      },
    ],
    [
      { type: "LIMIT", timeInForce: "GTC", trigger: { kind: "STOP", priceTicks: 62_000, source: "LAST" } },
      "create_stop_order",
      {
        stop_order: {
          stop_price: "62000",
          amount: "0.0002",
          client_order_id: UUID,
          trigger_price_type: "last_trade_price",
          limit_price: "63000",
        },
      },
    ],
    [
      { trigger: { kind: "TAKE_PROFIT", priceTicks: 70_000, source: "MARK" } },
      "set_position_tpsl",
      { side: "ask", take_profit: { stop_price: "70000", amount: "0.0002", client_order_id: UUID } },
    ],
  ] as const)("of the kind %j is a %s", async (changes, type: OperationType, expected) => {
    const harness = createHarness();
    harness.http.reply(200, type === "set_position_tpsl" ? envelope(null) : ACK).reply(200, envelope(FILLED_EVENTS));
    const outcome = await place(harness, changes as Partial<OrderCommand>);
    expect(outcome.outcome).toBe("accepted");
    const [request] = harness.http.requests;
    if (request === undefined) throw new Error("nothing was sent");
    expect(bodyOf(request)).toMatchObject(expected);
    const { account: _a, agent_wallet: _b, signature, timestamp, expiry_window, ...payload } = bodyOf(request);
    const signed = {
      type,
      timestamp: Number(timestamp),
      expiryWindow: Number(expiry_window),
      payload: payload as SignedFields,
    };
    expect(verifySignature(signedMessage(signed), String(signature), AGENT.publicKey)).toBe("valid");
  });

  it("that rests is not asked about; one of 1000 units is priced on its own grid", async () => {
    const harness = createHarness();
    harness.http.reply(200, ACK);
    expect(await place(harness, { ...RESTING, instrument: PEPE, priceTicks: 4_100, qtyLots: 70 })).toMatchObject({
      order: { status: "OPEN" },
    });
    expect(bodyOf(harness.http.last)).toMatchObject({ symbol: "kPEPE", price: "0.0041", amount: "70" });
    expect(harness.http.requests).toHaveLength(1);
  });

  it("that has not ended is looked at again, in the caller's time, and then open as it was last seen", async () => {
    const harness = createHarness();
    const unknown = { success: false, data: null, error: "Order history not found for order ID: 1", code: 404 };
    harness.http
      .reply(200, ACK)
      .reply(404, unknown)
      .reply(200, envelope([eventRow()]))
      .reply(200, envelope([eventRow()]))
      .reply(200, envelope([eventRow()]));
    const placing = place(harness);
    await harness.clock.advanceAsync(4_000);
    expect(await placing).toMatchObject({ outcome: "accepted", order: { status: "OPEN", filledLots: 0 } });
    expect(harness.http.requests).toHaveLength(5);
    const short = createHarness();
    short.http.reply(200, ACK).reply(200, envelope([eventRow()]));
    const brief = short.trading.orders.place(short.open(), CLOSE_LONG, { timeoutMs: 200, lane: "exit" });
    await short.clock.advanceAsync(200);
    expect(await brief).toMatchObject({ outcome: "accepted", order: { status: "OPEN" } });
    expect(short.http.requests).toHaveLength(2);
  });

  it("that the venue rejected on arrival is a rejection", async () => {
    const harness = createHarness();
    const events = [
      eventRow({ history_id: 2, event_type: "post_only_rejected", order_status: "rejected" }),
      eventRow(),
    ];
    harness.http.reply(200, ACK).reply(200, envelope(events));
    expect(await place(harness, { type: "LIMIT", timeInForce: "POST_ONLY" })).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      sent: true,
    });
  });

  it("keeps its word on when it can no longer be taken, also when it is signed twice", async () => {
    const harness = createHarness();
    const session = harness.open();
    const startMs = harness.clock.wallMs();
    const bound = harness.trading.orders.placeBoundMs(session, 4_000);
    expect(bound).toBe(5_000 + EXPIRY_MARGIN_MS);
    expect(harness.trading.orders.placeBoundMs(session, 60_000)).toBe(30_000 + EXPIRY_MARGIN_MS);
    harness.onClockError = async () => {
      harness.offsetMs = 7_000;
    };
    harness.http
      .step(async () => {
        harness.clock.advance(3_000);
        return harness.http.response(400, { success: false, data: null, error: "Invalid message", code: 400 });
      })
      .step(LOST);
    const outcome = await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS);
    expect(outcome).toEqual({ outcome: "unknown", cause: "CONNECTION_LOST", notPlacedAfterMs: startMs + bound });
    expect(harness.clockErrorCount).toBe(1);
    const { timestamp, expiry_window } = bodyOf(harness.http.last);
    expect(Number(timestamp) + Number(expiry_window) - 7_000).toBe(startMs + 5_000);
  });
});

describe("an answer", () => {
  const refusal = (error: string, code: number, error_id?: string): object => ({
    success: false,
    data: null,
    error,
    code,
    ...(error_id === undefined ? {} : { error_id }),
  });

  it.each([
    [422, refusal("No position found for reduce-only order: X BTC", 23), "REDUCE_ONLY"],
    [422, refusal("Invalid reduce-only order side: must be opposite to position side", 0), "REDUCE_ONLY"],
    [422, refusal("Invalid reduce-only order amount: 2 exceeds position amount 1", 22), "REDUCE_ONLY"],
    [422, refusal("Insufficient balance for X: 1 (account value: 0)", 5), "INSUFFICIENT_MARGIN"],
    [422, refusal("Duplicate client order id: x", 36), "DUPLICATE_CLIENT_ID"],
    [422, refusal("Order amount too low for X: 7.8 < 10", 0, "invalid_amount"), "SIZE"],
    [422, refusal("Invalid tick size: 1.5", 52), "PRICE"],
    [422, refusal("Price too far from mark: 1 2", 30), "PRICE"],
    [422, refusal("Book not found: NOPE", 3), "NOT_FOUND"],
    [400, refusal("Verification failed: signature does not match", 400, "signature_verification_failed"), "AUTH"],
    [400, refusal("Agent not authorized for account", 400), "AUTH"],
    [403, refusal("Beta access required. Signer must redeem a valid beta code.", 403), "AUTH"],
    [400, "Verification failed", "AUTH"],
    [400, "Failed to deserialize the JSON body", "VENUE_STATE"],
    [404, "", "NOT_FOUND"],
    [429, refusal("Rate limit exceeded", 429), "RATE_LIMITED"],
    [200, refusal("Trading disabled", 38), "VENUE_STATE"],
  ] as const)("of %i %j is a refusal: %3$s", async (status, body, reason) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await place(harness)).toMatchObject({ outcome: "rejected", reason, sent: true });
    expect(harness.http.unusedStepCount).toBe(0);
  });

  it.each([
    [refusal("Invalid stop order side", 17), true],
    [refusal("Unsupported operation", 51), true],
    [refusal("Trading disabled", 38), undefined],
    [refusal("Open order limit reached for X: 5000", 10), undefined],
    [refusal("Mark price missing", 63), undefined],
  ] as const)("of %j says whether the same order would be refused again", async (body, isLasting) => {
    const harness = createHarness();
    harness.http.reply(422, body);
    const outcome = await place(harness);
    expect(outcome).toMatchObject({ outcome: "rejected", reason: "VENUE_STATE" });
    expect(outcome.outcome === "rejected" && outcome.isLasting).toBe(isLasting);
  });

  it.each([
    ["500", 500, refusal("Internal server error", 500)],
    ["503 of a proxy", 503, "upstream connect error"],
    ["504", 504, refusal("Request timed out", 504)],
    ["a channel that closed", 422, refusal("Channel closed", 26)],
    ["a dropped response", 422, refusal("x", 27)],
    ["a database error", 422, refusal("x", 14)],
    ["code 0 without a word", 422, refusal("", 0)],
    ["302", 302, ""],
    ["409 without a word", 409, "<html>"],
    ["a page instead of JSON", 200, "<html></html>"],
    ["no order id", 200, envelope({})],
    ["an id that is none", 200, envelope({ order_id: "x" })],
    ["a success that says nothing", 200, { data: { order_id: 5 } }],
    ["half a body", 200, '{"success":true,"data":{"ord'],
  ] as const)("of %s means that the outcome is unknown", async (_what, status, body) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await place(harness)).toMatchObject({
      outcome: "unknown",
      notPlacedAfterMs: harness.clock.wallMs() + 8_000,
    });
    expect(harness.http.unusedStepCount).toBe(0);
  });

  it("that never came is unknown; a request that never left is a refusal of ours", async () => {
    const lost = createHarness();
    lost.http.step({ kind: "noResponse", reason: "TIMEOUT" });
    expect(await place(lost)).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
    const held = createHarness();
    held.http.step({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 900 });
    expect(await place(held)).toMatchObject({
      outcome: "rejected",
      reason: "RATE_LIMITED",
      sent: false,
      retryAfterMs: 900,
    });
  });

  it("says when the credits return, by the limit header where there is no other", async () => {
    const harness = createHarness();
    harness.http.reply(429, refusal("Rate limit exceeded", 429), { ratelimit: '"credits";r=0;t=23' });
    expect(await place(harness)).toMatchObject({ retryAfterMs: 23_000 });
  });

  it("hides a signature that the venue echoes", async () => {
    const harness = createHarness();
    harness.http.reply(400, refusal(`Invalid signature ${"5".repeat(88)}`, 400));
    expect(JSON.stringify(await place(harness))).not.toContain("5".repeat(40));
  });
});

describe("keys", () => {
  it("of an API config go along as a header and spend their own credits", async () => {
    const harness = createHarness();
    harness.http.reply(200, ACK);
    const session = harness.open({ ...CREDENTIALS, apiKey: "AbCdEfGh_2mT8xExampleOnly" });
    await harness.trading.orders.place(session, RESTING, OPTIONS);
    expect(harness.http.last).toMatchObject({
      headers: { "pf-api-key": "AbCdEfGh_2mT8xExampleOnly" },
      weight: 0,
      accountWeight: 1,
    });
    expect(harness.http.last.account).toMatch(/^key:[0-9a-f]{40}$/);
    expect(bodyOf(harness.http.last)).toMatchObject({ agent_wallet: AGENT.publicKey });
  });

  it("of the wallet itself name no agent", async () => {
    const harness = createHarness();
    harness.http.reply(200, ACK);
    const session = harness.open({
      apiKey: WALLET.publicKey,
      apiSecret: WALLET.secret,
      walletAddress: WALLET.publicKey,
    });
    await harness.trading.orders.place(session, RESTING, OPTIONS);
    expect(bodyOf(harness.http.last)).not.toHaveProperty("agent_wallet");
  });
});

describe("cancels and changes", () => {
  const gone = { success: false, data: null, error: "Failed to cancel order", code: 5 };

  it("try the other kind of cancel for an order that waits for a trigger, and only then say it is gone", async () => {
    const harness = createHarness();
    harness.http.reply(422, gone).reply(200, envelope(null));
    const ref = { venueOrderId: "336542133" };
    expect(await harness.trading.orders.cancel(harness.open(), BTC, ref, OPTIONS)).toEqual({ outcome: "accepted" });
    expect(harness.http.requests.map((request) => request.path)).toEqual([
      "/api/v1/orders/cancel",
      "/api/v1/orders/stop/cancel",
    ]);
    expect(harness.http.last.weight).toBe(0.5);
    expect(bodyOf(harness.http.last)).toMatchObject({ symbol: "BTC", order_id: 336_542_133 });
    harness.http.reply(422, gone).reply(422, gone);
    expect(await harness.trading.orders.cancel(harness.open(), BTC, { clientIdHex: CLIENT_ID }, OPTIONS)).toMatchObject(
      { outcome: "rejected", reason: "NOT_FOUND" },
    );
    expect(bodyOf(harness.http.last)).toMatchObject({ client_order_id: UUID });
    harness.http.step(LOST);
    expect(await harness.trading.orders.cancel(harness.open(), BTC, ref, OPTIONS)).toMatchObject({
      outcome: "unknown",
    });
  });

  it.each([
    [{ venueOrderId: "" }],
    [{ venueOrderId: "9007199254740993" }],
    [{ venueOrderId: "1e3" }],
    [{ clientIdHex: "zz" }],
  ])("send nothing for what is no order id: %j", async (ref) => {
    const harness = createHarness();
    expect(await harness.trading.orders.cancel(harness.open(), BTC, ref, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "NOT_FOUND",
      sent: false,
    });
    expect(harness.http.requests).toEqual([]);
  });

  it("edit for what is left of the order, and answer with the new one", async () => {
    const harness = createHarness();
    const row = decodeOrderPage(
      envelope([orderRow({ filled_amount: "0.0001", order_status: "partially_filled" })]) as never,
    ).rows[0];
    if (row === undefined) throw new Error("no row");
    const current = normalizeOrder(row, BTC);
    const amend = harness.trading.orders.amend?.bind(harness.trading.orders);
    if (amend === undefined) throw new Error("no amend");
    harness.http.reply(200, envelope({ order_id: 5 })).step(LOST);
    const change = { priceTicks: 64_000, qtyLots: 30 };
    expect(await amend(harness.open(), BTC, current, change, OPTIONS)).toMatchObject({
      outcome: "accepted",
      order: { venueOrderId: "5", qtyLots: 20, filledLots: 0, status: "OPEN", priceTicks: 64_000 },
    });
    const [edit] = harness.http.requests;
    expect(edit === undefined ? null : bodyOf(edit)).toMatchObject({
      order_id: 336_542_133,
      price: "64000",
      amount: "0.0002",
    });
    const refused = [
      amend(harness.open(), BTC, current, { ...change, qtyLots: 10 }, OPTIONS),
      amend(harness.open(), BTC, current, { ...change, priceTicks: 0 }, OPTIONS),
      amend(harness.open(), BTC, { ...current, type: "STOP_MARKET" }, change, OPTIONS),
      amend(harness.open(), PEPE, current, change, OPTIONS),
    ];
    for (const outcome of await Promise.all(refused))
      expect(outcome).toMatchObject({ outcome: "rejected", sent: false });
    expect(harness.http.requests).toHaveLength(2);
  });

  it("of all report it when the outcome of the stops is not known", async () => {
    const harness = createHarness();
    const cancelAll = harness.trading.orders.cancelAll?.bind(harness.trading.orders);
    if (cancelAll === undefined) throw new Error("no cancelAll");
    harness.http.reply(200, envelope({ cancelled_count: 2 })).step(LOST);
    expect(await cancelAll(harness.open(), null, OPTIONS)).toEqual({ outcome: "unknown", cause: "STOPS_UNREAD" });
    const stop = {
      ...(answerFixture("openOrdersRecorded").data as object[])[0],
      stop_price: "60000",
      order_type: "stop_market",
    };
    harness.http
      .reply(200, envelope({ cancelled_count: 2 }))
      .reply(200, envelope([stop, { ...stop, order_id: 8 }, { ...stop, order_id: 9 }]))
      .reply(200, envelope(null))
      .reply(422, gone)
      .reply(422, { success: false, data: null, error: "Trading disabled", code: 38 });
    expect(await cancelAll(harness.open(), BTC, OPTIONS)).toMatchObject({
      outcome: "accepted",
      canceledCount: 3,
      failed: [{ reason: "VENUE_STATE", sent: true }],
    });
    harness.http.step(LOST);
    expect(await cancelAll(harness.open(), BTC, OPTIONS)).toMatchObject({ outcome: "unknown" });
  });
});
