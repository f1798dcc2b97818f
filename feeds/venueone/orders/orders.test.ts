import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome } from "../../../engine/domain/order.js";
import type { HttpResult } from "../../shared/net/http.js";
import { fromHex } from "../../shared/sign/eip712.js";
import { L1Signer, type WireSignature } from "../sign/sign.js";
import type { MsgpackValue } from "../sign/msgpack.js";
import {
  BTC,
  CLIENT_ID,
  CLOSE_LONG,
  createHarness,
  ETH,
  KEY,
  OPTIONS,
  PEPE,
  SIGNER,
  tradingFixture,
} from "../test/trading-harness.js";

const recorded = tradingFixture("exchange.json");

interface Envelope {
  readonly action: MsgpackValue & {
    readonly type: string;
    readonly orders: readonly Record<string, unknown>[];
    readonly cancels: readonly Record<string, unknown>[];
  };
  readonly nonce: number;
  readonly signature: WireSignature;
  readonly vaultAddress: string | null;
  readonly expiresAfter: number | null;
}

function envelopeOf(body: string | null): Envelope {
  return JSON.parse(body ?? "") as Envelope;
}

/** As the venue does it: hash the posted action and recover. */
function signerOf(envelope: Envelope, isMainnet = true): string | null {
  const signer = new L1Signer(isMainnet);
  const hash = signer.hashAction(envelope.action, envelope.nonce, envelope.vaultAddress, envelope.expiresAfter).slice();
  return signer.recover(hash, envelope.signature);
}

function orderAnswer(status: unknown): unknown {
  return { status: "ok", response: { type: "order", data: { statuses: [status] } } };
}

async function place(status: number, body: unknown, command: OrderCommand = CLOSE_LONG): Promise<PlaceOutcome> {
  const harness = createHarness();
  harness.instruments.set(command.instrument.symbol, command.instrument);
  harness.http.reply(status, body, { "retry-after": "7" });
  return harness.trading.orders.place(harness.open(), command, OPTIONS);
}

describe("placing on venueone", () => {
  it("sends one signed order with side, reduceOnly, cloid and expiry, whose signer is the key", async () => {
    const harness = createHarness();
    harness.offsetMs = 700;
    harness.http.reply(200, orderAnswer({ filled: { totalSz: "0.25", avgPx: "83205.1", oid: 59534788967 } }));
    const outcome = await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    const request = harness.http.last;
    expect(request).toMatchObject({
      method: "POST",
      path: "/exchange",
      lane: "exit",
      weight: 1,
      accountWeight: 1,
      account: SIGNER,
    });
    const envelope = envelopeOf(request.body);
    expect(envelope.action).toEqual({
      type: "order",
      orders: [{ a: 0, b: false, p: "83160", s: "0.25", r: true, t: { limit: { tif: "Ioc" } }, c: `0x${CLIENT_ID}` }],
      grouping: "na",
    });
    expect(envelope.expiresAfter).toBe(harness.clock.wallMs() + 700 + 4_000);
    expect(envelope.nonce).toBeGreaterThanOrEqual(harness.clock.wallMs() + 700);
    expect(signerOf(envelope)).toBe(SIGNER);
    expect(signerOf(envelope, false)).not.toBe(SIGNER);
    expect(outcome).toEqual({
      outcome: "accepted",
      ackMs: 20,
      order: {
        venue: "venueone",
        nativeSymbol: "BTC",
        venueOrderId: "59534788967",
        venueClientOrderId: `0x${CLIENT_ID}`,
        side: "SELL",
        type: "MARKET",
        status: "FILLED",
        venueStatus: "filled",
        priceTicks: 831_600,
        qtyLots: 25_000,
        filledLots: 25_000,
        averagePrice: "83205.1",
        reduceOnly: true,
        timeInForce: "IOC",
        triggerPrice: null,
        tsVenueMs: harness.clock.wallMs() + 20 + 700,
        fee: null,
      },
    });
    expect(harness.ackLatency.count).toBe(1);
  });

  it("signs for the vault that the credentials name", async () => {
    const harness = createHarness();
    const vaultAddress = `0x${"1d".repeat(20)}`;
    harness.http.reply(200, orderAnswer({ resting: { oid: 1 } }));
    await harness.trading.orders.place(harness.open({ vaultAddress }), CLOSE_LONG, OPTIONS);
    const envelope = envelopeOf(harness.http.last.body);
    expect(envelope.vaultAddress).toBe(vaultAddress);
    expect(signerOf(envelope)).toBe(SIGNER);
    expect(signerOf({ ...envelope, vaultAddress: null })).not.toBe(SIGNER);
  });

  it.each([
    ["IOC", "Ioc"],
    ["GTC", "Gtc"],
    ["POST_ONLY", "Alo"],
  ] as const)("writes %s as %s", async (timeInForce, tif) => {
    const harness = createHarness();
    harness.http.reply(200, orderAnswer({ resting: { oid: 1 } }));
    await harness.trading.orders.place(harness.open(), { ...CLOSE_LONG, type: "LIMIT", timeInForce }, OPTIONS);
    expect(envelopeOf(harness.http.last.body).action.orders[0]?.["t"]).toEqual({ limit: { tif } });
  });

  it("calls an order that ended partly filled CANCELED, with what it filled (recorded reply)", async () => {
    const command = {
      ...CLOSE_LONG,
      instrument: { ...BTC, qtyDecimals: 0, priceDecimals: 4 },
      qtyLots: 500,
      priceTicks: 2_876,
    };
    expect(await place(200, recorded["partialIoc"], command)).toMatchObject({
      outcome: "accepted",
      order: { status: "CANCELED", venueStatus: "filled", filledLots: 136, qtyLots: 500, averagePrice: "0.2876" },
    });
    // The rest of one that may rest is not known to be gone.
    const entry: OrderCommand = { ...command, type: "LIMIT", timeInForce: "GTC", reduceOnly: false };
    expect(await place(200, recorded["partialIoc"], entry)).toMatchObject({
      outcome: "accepted",
      order: { status: "PARTIALLY_FILLED", filledLots: 136 },
    });
  });

  it.each<[string, unknown, Record<string, unknown>]>([
    ["resting", recorded["resting"], { outcome: "unknown", cause: "REPLY_OF_ANOTHER_ORDER" }],
    [
      "a minimum-value refusal",
      recorded["minimum"],
      { outcome: "rejected", reason: "SIZE", venueCode: "minTradeNtlRejected", sent: true },
    ],
    ["an IOC that met nothing", recorded["noMatch"], { outcome: "rejected", reason: "NO_LIQUIDITY", sent: true }],
    [
      "an unknown signer",
      recorded["invalidAuth"],
      { outcome: "rejected", reason: "AUTH", venueCode: "unknownSigner", sent: true },
    ],
    ["a replaced agent", recorded["mustDeposit"], { outcome: "rejected", reason: "AUTH", sent: true }],
    ["an unrecoverable signature", recorded["unrecoverable"], { outcome: "rejected", reason: "AUTH", sent: true }],
    [
      "an exhausted address budget",
      recorded["rateLimited"],
      { outcome: "rejected", reason: "RATE_LIMITED", sent: true },
    ],
    [
      "an expired action",
      recorded["expired"],
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "expired", sent: true },
    ],
    [
      "a duplicate nonce on the first try",
      recorded["duplicateNonce"],
      { outcome: "rejected", venueCode: "duplicateNonce", sent: true },
    ],
    ["an answer of another kind", recorded["defaultOk"], { outcome: "unknown", cause: "REPLY_SHAPE" }],
    ["more statuses than orders", recorded["tpslGroup"], { outcome: "unknown", cause: "REPLY_SHAPE" }],
    ["a TWAP answer", recorded["twapReduceOnly"], { outcome: "unknown", cause: "REPLY_SHAPE" }],
    ["a cancel answer", recorded["cancelSuccess"], { outcome: "unknown", cause: "REPLY_SHAPE" }],
  ])("reads recorded replies: %s", async (_what, body, expected) => {
    expect(await place(200, body)).toMatchObject(expected);
  });

  it.each<[string, number, unknown, Record<string, unknown>]>([
    [
      "a rest with our id",
      200,
      orderAnswer({ resting: { oid: 7, cloid: `0x${CLIENT_ID.toUpperCase()}` } }),
      { outcome: "accepted", order: { status: "OPEN", venueOrderId: "7", filledLots: 0, averagePrice: null } },
    ],
    [
      "a trigger that waits",
      200,
      orderAnswer("waitingForTrigger"),
      { outcome: "accepted", order: { status: "OPEN", venueOrderId: "", venueStatus: "waitingForTrigger" } },
    ],
    [
      "reduce-only without a position",
      200,
      orderAnswer({ error: "Reduce only order would increase position. asset=0" }),
      { outcome: "rejected", reason: "REDUCE_ONLY" },
    ],
    [
      "a client id in use",
      200,
      orderAnswer({ error: "Order with this cloid is already open. asset=0" }),
      { outcome: "rejected", reason: "DUPLICATE_CLIENT_ID" },
    ],
    [
      "a refusal in new words",
      200,
      { status: "err", response: "A new sentence" },
      { outcome: "rejected", reason: "VENUE_STATE", venueText: "A new sentence" },
    ],
    [
      "a fill larger than the order",
      200,
      orderAnswer({ filled: { totalSz: "0.26", avgPx: "1", oid: 1 } }),
      { outcome: "unknown", cause: "REPLY_OVERFILL" },
    ],
    [
      "a fill of nothing",
      200,
      orderAnswer({ filled: { totalSz: "0.0", avgPx: "1", oid: 1 } }),
      { outcome: "unknown", cause: "REPLY_FILL" },
    ],
    [
      "a fill finer than a lot",
      200,
      orderAnswer({ filled: { totalSz: "0.000001", avgPx: "1", oid: 1 } }),
      { outcome: "unknown", cause: "REPLY_FILL" },
    ],
    [
      "a fill without an id",
      200,
      orderAnswer({ filled: { totalSz: "0.25", avgPx: "1" } }),
      { outcome: "unknown", cause: "REPLY_UNREADABLE" },
    ],
    ["a status of a new shape", 200, orderAnswer({ queued: {} }), { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    [
      "no status",
      200,
      { status: "ok", response: { type: "order", data: { statuses: [] } } },
      { outcome: "unknown", cause: "REPLY_SHAPE" },
    ],
    ["null", 200, "null", { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    ["half a body", 200, '{"status":"ok","respon', { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    ["an empty body", 200, "", { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    ["HTML with 200", 200, "<html>ok</html>", { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    ["201", 201, orderAnswer({ resting: { oid: 7 } }), { outcome: "unknown", cause: "HTTP_201" }],
    ["302", 302, "", { outcome: "unknown", cause: "HTTP_302" }],
    [
      "400",
      400,
      "Failed to parse the request body as JSON",
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "HTTP_400", sent: true },
    ],
    [
      "403 of the proxy",
      403,
      "<html>blocked</html>",
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "HTTP_403" },
    ],
    ["408", 408, "", { outcome: "unknown", cause: "HTTP_408" }],
    [
      "422",
      422,
      "Failed to deserialize the JSON body into the target type",
      { outcome: "rejected", venueCode: "HTTP_422", sent: true },
    ],
    ["429", 429, "null", { outcome: "rejected", reason: "RATE_LIMITED", sent: true, retryAfterMs: 7_000 }],
    ["451, of which nothing is known", 451, "", { outcome: "unknown", cause: "HTTP_451" }],
    ["500", 500, "null", { outcome: "unknown", cause: "HTTP_500" }],
    ["502 with HTML", 502, "<html>Bad Gateway</html>", { outcome: "unknown", cause: "HTTP_502" }],
    ["503", 503, "", { outcome: "unknown", cause: "HTTP_503" }],
    ["504", 504, "", { outcome: "unknown", cause: "HTTP_504" }],
  ])("decides exactly: %s", async (_what, status, body, expected) => {
    expect(await place(status, body)).toMatchObject(expected);
  });

  it.each<[HttpResult, Record<string, unknown>]>([
    [
      { kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 900 },
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "BREAKER_OPEN", sent: false, retryAfterMs: 900 },
    ],
    [
      { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 50 },
      { outcome: "rejected", reason: "RATE_LIMITED", sent: false },
    ],
    [
      { kind: "notSent", reason: "QUEUE_FULL", retryAfterMs: null },
      { outcome: "rejected", reason: "RATE_LIMITED", sent: false },
    ],
    [
      { kind: "notSent", reason: "CLOSED", retryAfterMs: null },
      { outcome: "rejected", reason: "VENUE_STATE", sent: false },
    ],
    [
      { kind: "notSent", reason: "CONNECT_FAILED", retryAfterMs: null },
      { outcome: "rejected", reason: "VENUE_STATE", sent: false },
    ],
    [
      { kind: "noResponse", reason: "TIMEOUT" },
      { outcome: "unknown", cause: "TIMEOUT" },
    ],
    [
      { kind: "noResponse", reason: "CONNECTION_LOST" },
      { outcome: "unknown", cause: "CONNECTION_LOST" },
    ],
    [
      { kind: "noResponse", reason: "BODY_TOO_LARGE" },
      { outcome: "unknown", cause: "BODY_TOO_LARGE" },
    ],
  ])("decides by what left the machine: %j", async (result, expected) => {
    const harness = createHarness();
    harness.http.step(result);
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject(expected);
    expect(harness.http.requests).toHaveLength(1);
  });

  it("signs a whole millisecond of expiry when the time left is a fraction", async () => {
    const harness = createHarness();
    harness.http.reply(200, orderAnswer({ filled: { totalSz: "0.25", avgPx: "83205.1", oid: 59534788967 } }));
    const outcome = await harness.trading.orders.place(harness.open(), CLOSE_LONG, { ...OPTIONS, timeoutMs: 3_999.25 });
    expect(outcome.outcome).toBe("accepted");
    expect(Number.isSafeInteger(envelopeOf(harness.http.last.body).expiresAfter)).toBe(true);
  });

  it("says when an unknown order provably was not placed: after its expiry on the venue's clock, with margin", async () => {
    const harness = createHarness();
    harness.offsetMs = -1_200;
    harness.http.step({ kind: "noResponse", reason: "TIMEOUT" });
    const outcome = await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    const { expiresAfter } = envelopeOf(harness.http.last.body);
    expect(expiresAfter).toBe(harness.clock.wallMs() - 1_200 + 4_000);
    expect(outcome).toMatchObject({ outcome: "unknown", notPlacedAfterMs: harness.clock.wallMs() + 4_000 + 5_000 });
  });

  it.each([1, 2_999.5, 3_000, 4_000.25, 59_999.9, 90_000])(
    "knows that moment's bound before the send, for a timeout of %s ms and any clock offset",
    async (timeoutMs) => {
      for (const offsetMs of [-1_200.7, 0, 0.5, 333.3]) {
        const harness = createHarness();
        harness.offsetMs = offsetMs;
        harness.http.step({ kind: "noResponse", reason: "TIMEOUT" });
        const session = harness.open();
        const boundMs = harness.clock.wallMs() + harness.trading.orders.placeBoundMs(session, timeoutMs);
        const outcome = await harness.trading.orders.place(session, CLOSE_LONG, { ...OPTIONS, timeoutMs });
        if (outcome.outcome !== "unknown") throw new Error(outcome.outcome);
        expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(boundMs);
        expect(boundMs - outcome.notPlacedAfterMs).toBeLessThanOrEqual(5);
      }
    },
  );

  it("counts the wait for a nonce as time: what is left is the request's, and without any nothing is sent", async () => {
    const harness = createHarness();
    const { reserve } = harness.reservations;
    let storeMs = 1_500;
    Object.assign(harness.reservations, {
      reserve: (...asked: Parameters<typeof reserve>) => {
        harness.clock.advance(storeMs);
        return reserve(...asked);
      },
    });
    harness.http.reply(200, orderAnswer({ resting: { oid: 7 } }));
    const placed = await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(placed).toMatchObject({ outcome: "accepted" });
    expect(harness.http.last.timeoutMs).toBe(OPTIONS.timeoutMs - storeMs);
    // Beyond the block in hand, and the store takes longer than the caller waits.
    storeMs = OPTIONS.timeoutMs;
    harness.clock.advance(3_600_000);
    const late = await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(late).toMatchObject({ outcome: "rejected", sent: false, venueCode: "DEADLINE" });
    expect(harness.http.requests).toHaveLength(1);
  });

  it("tells sessions of one key apart that act for different accounts", () => {
    const harness = createHarness();
    const vaultAddress = `0x${"12".repeat(20)}`;
    expect(harness.open().accountScope).toBe("");
    expect(harness.open({ vaultAddress }).accountScope).toBe(vaultAddress);
  });

  it("never sends an unknown order again", async () => {
    const harness = createHarness();
    harness.http.reply(500, "null");
    await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    expect(harness.http.requests).toHaveLength(1);
  });

  it("sends once more, above the number named, after a nonce that was too low, and no more than once", async () => {
    const harness = createHarness();
    const minimum = harness.clock.wallMs() + 30_000;
    harness.http.reply(200, { status: "err", response: `Invalid nonce: nonce too low 1 < ${minimum}` });
    harness.http.reply(200, orderAnswer({ filled: { totalSz: "0.25", avgPx: "83205.1", oid: 1 } }));
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    const [first, second] = harness.http.requests.map((request) => envelopeOf(request.body));
    expect(second?.nonce).toBe(minimum + 1);
    expect(second?.action).toEqual(first?.action);
    harness.http.reply(200, { status: "err", response: `Invalid nonce: nonce too low 1 < ${minimum}` });
    harness.http.reply(200, { status: "err", response: `Invalid nonce: nonce too low 1 < ${minimum}` });
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "nonceTooLow",
      sent: true,
    });
    expect(harness.http.unusedStepCount).toBe(0);
  });

  it("asks for the clock to be measured when nonces are called too high", async () => {
    const harness = createHarness();
    harness.http.reply(200, { status: "err", response: "Invalid nonce: nonce too high 9 > 5" });
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
    });
    expect(harness.clockErrorCount).toBe(1);
  });

  it("gives 200 concurrent orders of one key 200 distinct nonces, all validly signed", async () => {
    const harness = createHarness();
    for (let index = 0; index < 200; index++) harness.http.reply(200, orderAnswer({ resting: { oid: index } }));
    const session = harness.open();
    await Promise.all(Array.from({ length: 200 }, () => harness.trading.orders.place(session, CLOSE_LONG, OPTIONS)));
    const envelopes = harness.http.requests.map((request) => envelopeOf(request.body));
    expect(new Set(envelopes.map((envelope) => envelope.nonce)).size).toBe(200);
    expect(envelopes.every((envelope) => signerOf(envelope) === SIGNER)).toBe(true);
    expect(harness.reservations.calls).toEqual([`venueone:${SIGNER}`]);
  });

  it.each<[string, Partial<OrderCommand>, string]>([
    ["a price of zero", { priceTicks: 0 }, "PRICE"],
    ["a fraction of a tick", { priceTicks: 1.5 }, "PRICE"],
    ["NaN for a size", { qtyLots: Number.NaN }, "SIZE"],
    ["a negative size", { qtyLots: -1 }, "SIZE"],
    ["a short client id", { clientIdHex: "ab" }, "VENUE_STATE"],
    ["a hedge side", { positionSide: "LONG" }, "VENUE_STATE"],
    ["fill-or-kill", { timeInForce: "FOK" }, "VENUE_STATE"],
    ["another venue's instrument", { instrument: { ...BTC, venue: "venuetwo" } }, "VENUE_STATE"],
  ])("refuses %s without sending", async (_what, changes, reason) => {
    const harness = createHarness();
    const outcome = await harness.trading.orders.place(harness.open(), { ...CLOSE_LONG, ...changes }, OPTIONS);
    expect(outcome).toMatchObject({ outcome: "rejected", reason, sent: false });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("refuses a closed session and a foreign one without sending", async () => {
    const harness = createHarness();
    const session = harness.open();
    session.close();
    expect(await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: false,
    });
    const foreign = { venue: "venuetwo", accountId: "x", payer: null, close: () => undefined } as const;
    expect(await harness.trading.orders.place(foreign, CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: false,
    });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("writes any price and size on the grid exactly, without trailing zeros, and signs it", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9_999_999 }),
        fc.integer({ min: 1, max: 999_999_999 }),
        fc.constantFrom(BTC, ETH, PEPE),
        fc.boolean(),
        async (priceTicks, qtyLots, instrument, reduceOnly) => {
          const harness = createHarness();
          harness.http.reply(200, orderAnswer({ resting: { oid: 1 } }));
          await harness.trading.orders.place(
            harness.open(),
            { ...CLOSE_LONG, instrument, priceTicks, qtyLots, reduceOnly },
            OPTIONS,
          );
          const envelope = envelopeOf(harness.http.last.body);
          const order = envelope.action.orders[0] ?? {};
          expect(Number(order["p"])).toBeCloseTo(priceTicks / 10 ** instrument.priceDecimals, 9);
          expect(Number(order["s"])).toBeCloseTo(qtyLots / 10 ** instrument.qtyDecimals, 9);
          for (const text of [order["p"], order["s"]]) expect(text).toMatch(/^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
          expect(order["r"]).toBe(reduceOnly);
          expect(signerOf(envelope)).toBe(SIGNER);
        },
      ),
      { numRuns: 60, seed: 61 },
    );
  });
});

describe("cancelling on venueone", () => {
  it("names the order by cloid or by oid", async () => {
    const harness = createHarness();
    harness.http.reply(200, recorded["cancelSuccess"]).reply(200, recorded["cancelSuccess"]);
    const session = harness.open();
    expect(await harness.trading.orders.cancel(session, ETH, { clientIdHex: CLIENT_ID }, OPTIONS)).toEqual({
      outcome: "accepted",
    });
    expect(envelopeOf(harness.http.last.body).action).toEqual({
      type: "cancelByCloid",
      cancels: [{ asset: 1, cloid: `0x${CLIENT_ID}` }],
    });
    expect(await harness.trading.orders.cancel(session, ETH, { venueOrderId: "59534788967" }, OPTIONS)).toEqual({
      outcome: "accepted",
    });
    const envelope = envelopeOf(harness.http.last.body);
    expect(envelope.action).toEqual({ type: "cancel", cancels: [{ a: 1, o: 59_534_788_967 }] });
    expect(envelope.expiresAfter).toBeNull();
    expect(signerOf(envelope)).toBe(SIGNER);
  });

  it.each<[string, number, unknown, Record<string, unknown>]>([
    [
      "an order that is gone",
      200,
      {
        status: "ok",
        response: {
          type: "cancel",
          data: { statuses: [{ error: "Order was never placed, already canceled, or filled. asset=1" }] },
        },
      },
      { outcome: "rejected", reason: "NOT_FOUND", sent: true },
    ],
    ["more statuses than cancels", 200, recorded["cancelMixed"], { outcome: "unknown" }],
    ["an order's answer", 200, recorded["resting"], { outcome: "unknown" }],
    ["a server fault", 500, "null", { outcome: "unknown", cause: "HTTP_500" }],
    ["a limit", 429, "null", { outcome: "rejected", reason: "RATE_LIMITED" }],
  ])("reads %s", async (_what, status, body, expected) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await harness.trading.orders.cancel(harness.open(), ETH, { venueOrderId: "5" }, OPTIONS)).toMatchObject(
      expected,
    );
  });

  it.each(["", "abc", "-5", "1e3", "99999999999999999999"])(
    "refuses the order id %j without sending",
    async (venueOrderId) => {
      const harness = createHarness();
      expect(await harness.trading.orders.cancel(harness.open(), ETH, { venueOrderId }, OPTIONS)).toMatchObject({
        outcome: "rejected",
        reason: "NOT_FOUND",
        sent: false,
      });
      expect(harness.http.requests).toHaveLength(0);
    },
  );
});

describe("secrets of venueone orders", () => {
  it("appear in no outcome, log or header, whatever the venue answers, also if it echoes them", async () => {
    const canary = KEY.slice(8, 40);
    const echo = (body: string | null): string => `<html>${KEY} ${body ?? ""}</html>`;
    for (const status of [200, 400, 403, 429, 500, 503]) {
      const harness = createHarness();
      harness.http.step((request) => harness.http.response(status, echo(request.body)));
      harness.http.step((request) => harness.http.response(200, { status: "err", response: echo(request.body) }));
      const session = harness.open();
      const outcomes = [
        await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS),
        await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS),
      ];
      const signatures = harness.http.requests.map((request) => envelopeOf(request.body).signature.r.slice(2));
      const outputs = JSON.stringify([
        outcomes,
        harness.logLines,
        harness.http.requests.map((request) => request.headers),
      ]);
      for (const secret of [canary, ...signatures]) expect(outputs).not.toContain(secret);
      // Nor does the key leave in a request.
      expect(JSON.stringify(harness.http.requests)).not.toContain(canary);
    }
    expect(fromHex(KEY)).toHaveLength(32);
  });
});
