/** Orders of venuethree against a scripted venue: what is sent, and what each answer means. */
import { describe, expect, it } from "vitest";
import type { OrderCommand } from "../../../engine/domain/order.js";
import type { HttpResult } from "../../shared/net/http.js";
import {
  ACCOUNT,
  accountFixture,
  API_KEY,
  BTC,
  CLIENT_ID,
  CLIENT_INDEX,
  CLOSE_LONG,
  createHarness,
  type Harness,
  KEY,
  OPTIONS,
  PUBLIC_KEY,
} from "../test/trading-harness.js";

async function placeAfter(script: (harness: Harness) => unknown, command: OrderCommand = CLOSE_LONG) {
  const harness = createHarness();
  harness.confirmKey();
  script(harness);
  return { harness, outcome: await harness.trading.orders.place(harness.open(), command, OPTIONS) };
}

describe("placing on venuethree", () => {
  it("confirms the key, then sends one transaction that its key signed", async () => {
    const harness = createHarness();
    harness.offsetMs = 700;
    harness.confirmKey().acceptTx();
    const outcome = await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(harness.http.requests.map(({ path }) => path)).toEqual([
      `/api/v1/apikeys?account_index=${ACCOUNT}&api_key_index=255`,
      "/api/v1/sendTx",
    ]);
    expect(harness.http.last).toMatchObject({
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      lane: "exit",
      account: String(ACCOUNT),
      accountWeight: 1,
      weight: 1,
    });
    const [sent] = harness.sent();
    expect(sent).toMatchObject({
      type: 14,
      isSigned: true,
      fields: {
        AccountIndex: ACCOUNT,
        ApiKeyIndex: API_KEY,
        ClientOrderIndex: CLIENT_INDEX,
        Nonce: 42,
        ExpiredAt: harness.clock.wallMs() + 700 + 4_000,
      },
    });
    expect(outcome).toEqual({
      outcome: "accepted",
      ackMs: 20,
      notPlacedAfterMs: harness.clock.wallMs() + 4_000 + 5_000,
      order: {
        venue: "venuethree",
        nativeSymbol: "BTC",
        venueOrderId: "",
        venueClientOrderId: String(CLIENT_INDEX),
        side: "SELL",
        type: "MARKET",
        status: "OPEN",
        venueStatus: "submitted",
        priceTicks: 831_600,
        qtyLots: 25_000,
        filledLots: 0,
        averagePrice: null,
        reduceOnly: true,
        triggerPrice: null,
        timeInForce: "IOC",
        tsVenueMs: harness.clock.wallMs() + 20 + 700,
        fee: null,
      },
    });
    expect(harness.ackLatency.count).toBe(1);
  });

  it("counts the nonce on, and asks for nothing more", async () => {
    const harness = createHarness();
    harness.confirmKey().acceptTx().acceptTx();
    const session = harness.open();
    await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS);
    await harness.trading.orders.cancel(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS);
    expect(harness.sent().map(({ type, fields }) => [type, fields["Nonce"]])).toEqual([
      [14, 42],
      [15, 43],
    ]);
  });

  it.each<[string, number, unknown, string, string]>([
    ["margin", 400, { code: 21739, message: "not enough margin to create the order" }, "INSUFFICIENT_MARGIN", "21739"],
    ["reduce-only", 400, { code: 21732, message: "reduce only increases position" }, "REDUCE_ONLY", "21732"],
    ["price", 400, { code: 21733, message: "order price flagged" }, "PRICE", "21733"],
    ["size", 400, { code: 21706, message: "invalid order base or quote amount" }, "SIZE", "21706"],
    ["duplicate", 400, { code: 21728, message: "client order index already exists" }, "DUPLICATE_CLIENT_ID", "21728"],
    ["signature", 400, { code: 21120, message: "invalid signature" }, "AUTH", "21120"],
    ["key", 400, { code: 21109, message: "api key not found" }, "AUTH", "21109"],
    ["market", 400, { code: 21605, message: "invalid market status" }, "VENUE_STATE", "21605"],
    ["a code of tomorrow", 400, { code: 21999, message: "new" }, "VENUE_STATE", "21999"],
    ["too many", 429, { code: 23000, message: "Too Many Requests!" }, "RATE_LIMITED", "23000"],
    ["too many pending", 400, { code: 21506, message: "too many pending txs" }, "RATE_LIMITED", "21506"],
    ["a refusal under 200", 200, { code: 21739, message: "not enough margin" }, "INSUFFICIENT_MARGIN", "21739"],
    ["a proxy's 403", 403, "<html>", "VENUE_STATE", "HTTP_403"],
  ])("%s: rejected, and the nonce is kept for the next", async (_what, status, body, reason, venueCode) => {
    const { harness, outcome } = await placeAfter(({ http }) => http.reply(status, body));
    expect(outcome).toMatchObject({ outcome: "rejected", reason, venueCode, sent: true });
    const isKeyDoubted = reason === "AUTH";
    if (isKeyDoubted) harness.confirmKey();
    harness.acceptTx();
    await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(harness.sent().map(({ fields }) => fields["Nonce"])).toEqual([42, 42]);
  });

  it.each([
    [21743, "invalid order info", true],
    [21731, "order can not be triggered", true],
    [21704, "invalid OrderType", true],
    [21605, "invalid market status", undefined],
    [21722, "maximum conditional order count reached", undefined],
    [21712, "account has a queued cancel all orders request", undefined],
  ] as const)(
    "says of a refusal by %i whether the same order would be refused again",
    async (code, message, isLasting) => {
      const { outcome } = await placeAfter(({ http }) => http.reply(400, { code, message }));
      expect(outcome).toMatchObject({ outcome: "rejected", reason: "VENUE_STATE" });
      expect(outcome.outcome === "rejected" && outcome.isLasting).toBe(isLasting);
    },
  );

  it.each<[string, (harness: Harness) => HttpResult, string]>([
    ["a server error", ({ http }) => http.response(500, { code: 29500, message: "internal server error" }), "29500"],
    ["its timeout, under 400", ({ http }) => http.response(400, { code: 29501, message: "process timeout" }), "29501"],
    ["a gateway's 502", ({ http }) => http.response(502, "<html>"), "HTTP_502"],
    ["a 408", ({ http }) => http.response(408, ""), "HTTP_408"],
    ["yes without a hash", ({ http }) => http.response(200, { code: 200 }), "NO_TX_HASH"],
    ["yes to another hash", ({ http }) => http.response(200, { code: 200, tx_hash: "00".repeat(40) }), "TX_HASH"],
    ["half a body", ({ http }) => http.response(200, '{"code":20'), "REPLY_UNREADABLE"],
    ["no answer", () => ({ kind: "noResponse", reason: "TIMEOUT" }), "TIMEOUT"],
    ["a lost connection", () => ({ kind: "noResponse", reason: "CONNECTION_LOST" }), "CONNECTION_LOST"],
  ])("takes %s for unknown; the nonce is read again before the next", async (_what, answer, cause) => {
    const { harness, outcome } = await placeAfter((on) => on.http.step(() => answer(on)));
    expect(outcome).toMatchObject({ outcome: "unknown", cause });
    if (outcome.outcome !== "unknown") return;
    const bound = harness.trading.orders.placeBoundMs(harness.open(), OPTIONS.timeoutMs);
    expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(harness.clock.wallMs() + bound);
    expect(outcome.notPlacedAfterMs).toBeGreaterThan(harness.clock.wallMs() + OPTIONS.timeoutMs);
    harness.http.reply(200, { code: 200, nonce: 43 });
    harness.acceptTx();
    await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(harness.http.requests.map(({ path }) => path).slice(-2)).toEqual([
      `/api/v1/nextNonce?account_index=${ACCOUNT}&api_key_index=${API_KEY}`,
      "/api/v1/sendTx",
    ]);
    expect(harness.sent().map(({ fields }) => fields["Nonce"])).toEqual([42, 43]);
  });

  it("yes is only submitted: it carries the end of the transaction, after which an order that is nowhere never was", async () => {
    const { harness, outcome } = await placeAfter((on) => on.acceptTx());
    expect(outcome.outcome).toBe("accepted");
    const bound = harness.trading.orders.placeBoundMs(harness.open(), OPTIONS.timeoutMs);
    expect(outcome).toHaveProperty("notPlacedAfterMs");
    const { notPlacedAfterMs } = outcome as { notPlacedAfterMs?: number };
    expect(notPlacedAfterMs).toBeLessThanOrEqual(harness.clock.wallMs() + bound);
    expect(notPlacedAfterMs).toBeGreaterThan(harness.clock.wallMs() + OPTIONS.timeoutMs);
  });

  it("reads the nonce after a refusal for it, signs again and sends again within the same turn (recorded refusal)", async () => {
    const { harness, outcome } = await placeAfter((on) => {
      on.http.reply(400, accountFixture("live-http-send-tx-invalid-nonce"));
      on.http.reply(200, { code: 200, nonce: 57 });
      on.acceptTx();
    });
    expect(outcome).toMatchObject({ outcome: "accepted" });
    expect(harness.sent().map(({ fields }) => fields["Nonce"])).toEqual([42, 57]);
    expect(harness.sent().every(({ isSigned }) => isSigned)).toBe(true);
    expect(new Set(harness.sent().map(({ fields }) => fields["ExpiredAt"])).size).toBe(1);
  });

  it("stops asking for nonces after three tries, as refused: nothing was executed", async () => {
    const { harness, outcome } = await placeAfter((on) => {
      for (const nonce of [50, 60]) on.http.reply(400, { code: 21104 }).reply(200, { code: 200, nonce });
      on.http.reply(400, { code: 21104 });
    });
    expect(outcome).toMatchObject({ outcome: "rejected", venueCode: "21104", sent: true });
    expect(harness.sent()).toHaveLength(3);
  });

  it("takes what our own limiter holds back after a first try for sent: the venue has refused it for its nonce", async () => {
    const { harness, outcome } = await placeAfter((on) =>
      on.http
        .reply(400, { code: 21104 })
        .reply(200, { code: 200, nonce: 50 })
        .step(() => ({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 900 })),
    );
    expect(outcome).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: true });
    expect(harness.sent()).toHaveLength(2);
  });

  it("takes what our own limiter holds back for unsent, and says when to come again", async () => {
    const { harness, outcome } = await placeAfter((on) =>
      on.http.step(() => ({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 900 })),
    );
    expect(outcome).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: false, retryAfterMs: 900 });
    harness.acceptTx();
    await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(harness.sent().at(-1)?.fields["Nonce"]).toBe(42);
  });

  it("takes a fault of our own after the send for unknown, never for failed", async () => {
    const { outcome } = await placeAfter((on) =>
      on.http.step(() => {
        throw new TypeError("broken");
      }),
    );
    expect(outcome).toMatchObject({ outcome: "unknown", cause: "FAULT" });
  });

  it("refuses a closed session, another venue's, and a wrong command, and sends nothing", async () => {
    const harness = createHarness();
    const session = harness.open();
    const { orders } = harness.trading;
    session.close();
    const foreign = { venue: "venueone", accountId: "x", payer: null, close: () => undefined } as const;
    expect(await orders.place(session, CLOSE_LONG, OPTIONS)).toMatchObject({ reason: "AUTH", sent: false });
    expect(await orders.place(foreign, CLOSE_LONG, OPTIONS)).toMatchObject({ reason: "AUTH", sent: false });
    expect(await orders.place(harness.open(), { ...CLOSE_LONG, qtyLots: 0 }, OPTIONS)).toMatchObject({
      reason: "SIZE",
    });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("signs nothing with a session that is closed while its key is looked up", async () => {
    const harness = createHarness();
    const session = harness.open();
    harness.http.step(() => {
      session.close();
      return harness.http.response(200, {
        code: 200,
        api_keys: [{ account_index: ACCOUNT, api_key_index: API_KEY, nonce: 1, public_key: PUBLIC_KEY }],
      });
    });
    expect(await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS)).toMatchObject({
      reason: "AUTH",
      sent: false,
    });
    expect(harness.sent()).toHaveLength(0);
  });

  it("shows no key and no signature in any line", async () => {
    const { harness, outcome } = await placeAfter(({ http }) =>
      http.reply(400, { code: 21501, message: `invalid tx info ${KEY} ${"A".repeat(108)}` }),
    );
    const text = JSON.stringify([outcome, harness.logLines]);
    expect(text).not.toContain(KEY.slice(0, 48));
    expect(text).not.toContain("A".repeat(48));
  });

  it("grows its bound no faster than the timeout, within limits that a minute can hold", () => {
    const { trading, open } = createHarness();
    const session = open();
    const bound = (timeoutMs: number): number => trading.orders.placeBoundMs(session, timeoutMs);
    expect(bound(10)).toBe(bound(3_000));
    expect(bound(5_000) - bound(4_000)).toBe(1_000);
    expect(bound(600_000)).toBeLessThan(60_000);
  });
});
