import fc from "fast-check";
import { verifyTypedData } from "viem";
import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome } from "../../../engine/domain/order.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { signHmac } from "../sign/sign.js";
import {
  AGENT,
  AGENT_KEY,
  answerFixture,
  API_KEY,
  API_SECRET,
  BTC,
  CLIENT_ID,
  CLOSE_LONG,
  createHarness,
  ETH,
  OPTIONS,
  paramsOf,
  PEPE,
  signedText,
  V1,
  V3,
  WALLET,
} from "../test/trading-harness.js";

function answer(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    orderId: 12_345_678,
    symbol: "BTCUSDT",
    status: "FILLED",
    clientOrderId: CLIENT_ID,
    price: "83160.00",
    avgPrice: "83205.10000",
    origQty: "0.250",
    executedQty: "0.250",
    cumQty: "0.250",
    cumQuote: "20801.27500",
    timeInForce: "IOC",
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

/** As the venue does it: the signature over exactly what precedes it. */
function isValidV1(request: HttpRequest): boolean {
  const [text = "", signature] = signedText(request).split("&signature=");
  return signature === signHmac(Buffer.from(API_SECRET), text, "");
}

async function place(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
  command: OrderCommand = CLOSE_LONG,
): Promise<PlaceOutcome> {
  const harness = createHarness();
  harness.http.reply(status, body, headers);
  return harness.trading.orders.place(harness.open(), command, OPTIONS);
}

describe("placing on venuetwo with a V1 key", () => {
  it("sends a MARKET as IOC limit, reduce-only, asking for the result, signed over the very text sent", async () => {
    const harness = createHarness();
    harness.offsetMs = 400.5;
    harness.http.reply(200, answer());
    const outcome = await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    const request = harness.http.last;
    expect(request).toMatchObject({
      method: "POST",
      path: "/fapi/v1/order",
      headers: { "x-mbx-apikey": API_KEY, "content-type": "application/x-www-form-urlencoded" },
      lane: "exit",
      weight: 1,
      accountWeight: 1,
    });
    expect(paramsOf(request)).toMatchObject({
      symbol: "BTCUSDT",
      side: "SELL",
      type: "LIMIT",
      timeInForce: "IOC",
      quantity: "0.25",
      price: "83160",
      reduceOnly: "true",
      newClientOrderId: CLIENT_ID,
      newOrderRespType: "RESULT",
      recvWindow: "4000",
      timestamp: String(Math.round(harness.clock.wallMs() + 400.5)),
    });
    expect(paramsOf(request)).not.toHaveProperty("positionSide");
    expect(isValidV1(request)).toBe(true);
    expect(outcome).toEqual({
      outcome: "accepted",
      ackMs: 20,
      order: {
        venue: "venuetwo",
        nativeSymbol: "BTCUSDT",
        venueOrderId: "12345678",
        venueClientOrderId: CLIENT_ID,
        side: "SELL",
        type: "MARKET",
        status: "FILLED",
        venueStatus: "FILLED",
        priceTicks: 8_316_000,
        qtyLots: 250,
        filledLots: 250,
        averagePrice: "83205.10000",
        reduceOnly: true,
        timeInForce: "IOC",
        triggerPrice: null,
        tsVenueMs: 1_790_000_000_015,
        fee: null,
      },
    });
    expect(harness.ackLatency.count).toBe(1);
  });

  it.each([
    ["SELL", "LONG"],
    ["BUY", "SHORT"],
  ] as const)(
    "closes a hedge side by %s with positionSide %s and no flag, and still says reduce-only",
    async (side, positionSide) => {
      const harness = createHarness();
      harness.http.reply(200, answer({ side, positionSide, reduceOnly: false }));
      const outcome = await harness.trading.orders.place(
        harness.open(),
        { ...CLOSE_LONG, side, positionSide },
        OPTIONS,
      );
      expect(paramsOf(harness.http.last)).toMatchObject({ side, positionSide });
      expect(paramsOf(harness.http.last)).not.toHaveProperty("reduceOnly");
      expect(outcome).toMatchObject({ outcome: "accepted", order: { reduceOnly: true } });
    },
  );

  it.each([
    ["BUY", "LONG"],
    ["SELL", "SHORT"],
  ] as const)(
    "refuses a reduce-only %s of %s, which nothing at the venue would stop from adding",
    async (side, positionSide) => {
      const harness = createHarness();
      expect(
        await harness.trading.orders.place(harness.open(), { ...CLOSE_LONG, side, positionSide }, OPTIONS),
      ).toMatchObject({
        outcome: "rejected",
        reason: "REDUCE_ONLY",
        sent: false,
      });
      expect(harness.http.requests).toHaveLength(0);
    },
  );

  it.each([
    ["IOC", "IOC"],
    ["GTC", "GTC"],
    ["POST_ONLY", "GTX"],
    ["FOK", "FOK"],
  ] as const)("writes %s as %s", async (timeInForce, word) => {
    const harness = createHarness();
    harness.http.reply(200, answer({ status: "NEW", executedQty: "0", avgPrice: "0.00000" }));
    await harness.trading.orders.place(harness.open(), { ...CLOSE_LONG, type: "LIMIT", timeInForce }, OPTIONS);
    expect(paramsOf(harness.http.last)["timeInForce"]).toBe(word);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "an IOC that ended partly filled",
      { status: "EXPIRED", executedQty: "0.100" },
      { status: "CANCELED", filledLots: 100, venueStatus: "EXPIRED" },
    ],
    [
      "an IOC that met nothing",
      { status: "EXPIRED", executedQty: "0", avgPrice: "0.00000" },
      { status: "CANCELED", filledLots: 0, averagePrice: null },
    ],
    [
      "self-trade prevention",
      { status: "EXPIRED_IN_MATCH", executedQty: "0.050" },
      { status: "CANCELED", filledLots: 50 },
    ],
    ["an acknowledgement only", { status: "NEW", executedQty: "0", avgPrice: "0" }, { status: "OPEN", filledLots: 0 }],
    [
      "a partial fill that rests",
      { status: "PARTIALLY_FILLED", executedQty: "0.1" },
      { status: "PARTIALLY_FILLED", filledLots: 100 },
    ],
    ["an id past 2^53", { orderId: "@@" }, { venueOrderId: "9007199254740993123" }],
  ])("reads %s", async (_what, changes, expected) => {
    const body = JSON.stringify(answer(changes)).replace('"@@"', "9007199254740993123");
    expect(await place(200, body)).toMatchObject({ outcome: "accepted", order: expected });
  });

  it.each<[string, number, unknown, Record<string, unknown>]>([
    [
      "reduce-only refused",
      400,
      { code: -2022, msg: "ReduceOnly Order is rejected." },
      {
        outcome: "rejected",
        reason: "REDUCE_ONLY",
        venueCode: "-2022",
        venueText: "ReduceOnly Order is rejected.",
        sent: true,
      },
    ],
    [
      "margin",
      400,
      { code: -2019, msg: "Margin is insufficient." },
      { outcome: "rejected", reason: "INSUFFICIENT_MARGIN" },
    ],
    [
      "a client id in use",
      400,
      { code: -2010, msg: "Duplicate order sent." },
      { outcome: "rejected", reason: "DUPLICATE_CLIENT_ID" },
    ],
    [
      "a bad signature",
      400,
      { code: -1022, msg: "Signature for this request is not valid." },
      { outcome: "rejected", reason: "AUTH" },
    ],
    [
      "an unknown key",
      401,
      { code: -2015, msg: "Invalid API-key, IP, or permissions for action" },
      { outcome: "rejected", reason: "AUTH" },
    ],
    [
      "a code as text",
      400,
      { code: "-2019", msg: "Margin is insufficient." },
      { outcome: "rejected", reason: "INSUFFICIENT_MARGIN" },
    ],
    [
      "a code with 200",
      200,
      { code: -2019, msg: "Margin is insufficient." },
      { outcome: "rejected", reason: "INSUFFICIENT_MARGIN" },
    ],
    [
      "a type that the venue does not take here",
      400,
      { code: -4120, msg: "Order type not supported for this endpoint." },
      { outcome: "rejected", reason: "VENUE_STATE", isLasting: true },
    ],
    [
      "a position side of another mode",
      400,
      { code: -4061, msg: "Order's position side does not match user's setting." },
      { outcome: "rejected", reason: "VENUE_STATE", isLasting: true },
    ],
    [
      "a code that is new",
      400,
      { code: -7777, msg: "New" },
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "-7777" },
    ],
    [
      "unexpected bus answer",
      400,
      { code: -1006, msg: "An unexpected response was received from the message bus. Execution status unknown." },
      { outcome: "unknown", cause: "-1006" },
    ],
    [
      "backend timeout",
      400,
      {
        code: -1007,
        msg: "Timeout waiting for response from backend server. Send status unknown; execution status unknown.",
      },
      { outcome: "unknown", cause: "-1007" },
    ],
    ["an internal fault", 400, { code: -1001, msg: "Internal error" }, { outcome: "unknown", cause: "-1001" }],
    [
      "the unspecified failure",
      400,
      { code: -1000, msg: "An unknown error occurred while processing the request." },
      { outcome: "unknown", cause: "-1000" },
    ],
    [
      "503",
      503,
      "Unknown error, please check your request or try again later.",
      { outcome: "unknown", cause: "HTTP_503" },
    ],
    ["503 with a code", 503, { code: -1008, msg: "overloaded" }, { outcome: "unknown", cause: "HTTP_503" }],
    ["500 with HTML", 500, "<html>Internal Server Error</html>", { outcome: "unknown", cause: "HTTP_500" }],
    ["504", 504, "", { outcome: "unknown", cause: "HTTP_504" }],
    [
      "404 with HTML",
      404,
      "<html>Not Found</html>",
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "HTTP_404", venueText: "", sent: true },
    ],
    [
      "403 of the firewall",
      403,
      "<html>Forbidden</html>",
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "HTTP_403" },
    ],
    ["401 without a code", 401, "", { outcome: "rejected", reason: "AUTH", venueCode: "HTTP_401" }],
    ["408", 408, "", { outcome: "unknown", cause: "HTTP_408" }],
    ["a redirect", 301, "", { outcome: "unknown", cause: "HTTP_301" }],
    ["an empty 200", 200, "", { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    ["half a 200", 200, '{"orderId":123', { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    ["HTML with 200", 200, "<html></html>", { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    [
      "a success object in place of an order",
      200,
      { code: 200, msg: "success" },
      { outcome: "unknown", cause: "REPLY_UNREADABLE" },
    ],
    ["another order", 200, answer({ clientOrderId: "other" }), { outcome: "unknown", cause: "REPLY_OF_ANOTHER_ORDER" }],
    ["the other side", 200, answer({ side: "BUY" }), { outcome: "unknown", cause: "REPLY_OF_ANOTHER_ORDER" }],
    ["another symbol", 200, answer({ symbol: "ETHUSDT" }), { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
    // It is there, so no later silence of the venue proves it absent.
    [
      "a status that is new",
      200,
      answer({ status: "PONDERING", executedQty: "0.100" }),
      { outcome: "accepted", order: { status: "UNKNOWN", venueStatus: "PONDERING", filledLots: 100 } },
    ],
    [
      "a status named like a property",
      200,
      answer({ status: "constructor" }),
      { outcome: "accepted", order: { status: "UNKNOWN" } },
    ],
    [
      "more filled than ordered",
      200,
      answer({ executedQty: "0.251" }),
      { outcome: "unknown", cause: "REPLY_UNREADABLE" },
    ],
    [
      "a larger order than asked for",
      200,
      answer({ origQty: "0.300", executedQty: "0.300" }),
      { outcome: "unknown", cause: "REPLY_OVERFILL" },
    ],
    [
      "a fill finer than a lot",
      200,
      answer({ executedQty: "0.2501" }),
      { outcome: "unknown", cause: "REPLY_UNREADABLE" },
    ],
    [
      "an order rejected by its status",
      200,
      answer({ status: "REJECTED", executedQty: "0" }),
      { outcome: "rejected", reason: "VENUE_STATE", venueCode: "REJECTED", sent: true },
    ],
  ])("decides exactly: %s", async (_what, status, body, expected) => {
    expect(await place(status, body)).toMatchObject(expected);
  });

  it.each<[string, number, unknown, Record<string, string>, number | null]>([
    ["429 with Retry-After", 429, { code: -1003, msg: "Too many requests" }, { "retry-after": "12" }, 12_000],
    ["429 without, order limit", 429, { code: -1015, msg: "Too many new orders" }, {}, null],
    ["418 with the ban's end in the text", 418, { code: -1003, msg: "IP banned until 1790000120000" }, {}, 120_000],
    ["418 with HTML", 418, "<html></html>", { "retry-after": "120" }, 120_000],
  ])("is RATE_LIMITED before execution: %s", async (_what, status, body, headers, retryAfterMs) => {
    expect(await place(status, body, headers)).toMatchObject({
      outcome: "rejected",
      reason: "RATE_LIMITED",
      sent: true,
      retryAfterMs,
    });
  });

  it.each<[HttpResult, Record<string, unknown>]>([
    [
      { kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 900 },
      { outcome: "rejected", reason: "VENUE_STATE", sent: false, retryAfterMs: 900 },
    ],
    [
      { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 50 },
      { outcome: "rejected", reason: "RATE_LIMITED", sent: false },
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

  it("says when an unknown order provably was not placed: after its recvWindow on the venue's clock, with margin", async () => {
    const harness = createHarness();
    harness.offsetMs = 900;
    harness.http.step({ kind: "noResponse", reason: "TIMEOUT" });
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toEqual({
      outcome: "unknown",
      cause: "TIMEOUT",
      notPlacedAfterMs: harness.clock.wallMs() + 4_000 + 3_000,
    });
  });

  it("measures the clock and sends once more after -1021, with the same client id and a new timestamp", async () => {
    const harness = createHarness();
    harness.onClockError = async () => {
      harness.offsetMs = -5_000;
    };
    harness.http
      .reply(400, { code: -1021, msg: "Timestamp for this request was 1000ms ahead of the server's time." })
      .reply(200, answer());
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    const [first, second] = harness.http.requests.map(paramsOf);
    expect(harness.clockErrorCount).toBe(1);
    expect(second?.["newClientOrderId"]).toBe(first?.["newClientOrderId"]);
    expect(Number(first?.["timestamp"]) - Number(second?.["timestamp"])).toBe(5_000);
    expect(harness.http.requests.every(isValidV1)).toBe(true);
  });

  it("sends no third time, and does not wait for a clock that cannot be measured", async () => {
    const harness = createHarness();
    harness.http.reply(400, { code: -1021, msg: "x" }).reply(400, { code: -1021, msg: "x" });
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "VENUE_STATE",
      venueCode: "-1021",
      sent: true,
    });
    harness.onClockError = () => new Promise(() => undefined);
    harness.http.reply(400, { code: -1021, msg: "x" });
    const pending = harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS);
    await harness.clock.advanceAsync(4_001);
    expect(await pending).toMatchObject({ outcome: "rejected", venueCode: "-1021", sent: true });
    harness.onClockError = () => Promise.reject(new Error("unreachable"));
    harness.http.reply(400, { code: -1021, msg: "x" }).reply(200, answer());
    expect(await harness.trading.orders.place(harness.open(), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
  });

  it.each<[string, Partial<OrderCommand>, string]>([
    ["a price of zero", { priceTicks: 0 }, "PRICE"],
    ["NaN for a price", { priceTicks: Number.NaN }, "PRICE"],
    ["a size past the safe range", { qtyLots: 2 ** 53 }, "SIZE"],
    ["a client id in upper case", { clientIdHex: CLIENT_ID.toUpperCase() }, "VENUE_STATE"],
    ["another venue's instrument", { instrument: { ...BTC, venue: "venueone" } }, "VENUE_STATE"],
  ])("refuses %s without sending", async (_what, changes, reason) => {
    const harness = createHarness();
    expect(await harness.trading.orders.place(harness.open(), { ...CLOSE_LONG, ...changes }, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason,
      sent: false,
    });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("refuses a closed session and a foreign one without sending", async () => {
    for (const credentials of [V1, V3]) {
      const harness = createHarness();
      const session = harness.open(credentials);
      session.close();
      expect(await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS)).toMatchObject({
        outcome: "rejected",
        reason: "AUTH",
        sent: false,
      });
      expect(harness.http.requests).toHaveLength(0);
    }
    const harness = createHarness();
    const foreign = { venue: "venueone", accountId: "x", payer: null, close: () => undefined } as const;
    expect(await harness.trading.orders.place(foreign, CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: false,
    });
  });

  it("never lets a reduce-only command leave without the flag or a closing side", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("BUY", "SELL"),
        fc.constantFrom("BOTH", "LONG", "SHORT"),
        fc.constantFrom("IOC", "GTC", "POST_ONLY", "FOK"),
        fc.constantFrom("LIMIT", "MARKET"),
        fc.integer({ min: 1, max: 99_999_999 }),
        fc.integer({ min: 1, max: 999_999 }),
        fc.constantFrom(BTC, ETH, PEPE),
        async (side, positionSide, timeInForce, type, priceTicks, qtyLots, instrument) => {
          const harness = createHarness();
          harness.http.reply(500, "");
          await harness.trading.orders.place(
            harness.open(),
            { ...CLOSE_LONG, side, positionSide, timeInForce, type, priceTicks, qtyLots, instrument },
            OPTIONS,
          );
          for (const request of harness.http.requests) {
            const params = paramsOf(request);
            const closes = `${params["side"]}/${params["positionSide"]}`;
            expect(params["reduceOnly"] === "true" || closes === "SELL/LONG" || closes === "BUY/SHORT").toBe(true);
            expect(params["side"]).toBe(side);
            expect(params["type"]).toBe("LIMIT");
            expect(Number(params["price"])).toBeCloseTo(priceTicks / 10 ** instrument.priceDecimals, 9);
            expect(Number(params["quantity"])).toBeCloseTo(qtyLots / 10 ** instrument.qtyDecimals, 9);
            expect(isValidV1(request)).toBe(true);
          }
        },
      ),
      { numRuns: 80, seed: 81 },
    );
  });
});

describe("placing on venuetwo with a V3 agent", () => {
  async function isValidV3(request: HttpRequest, chainId: number): Promise<boolean> {
    const [msg = "", signature = ""] = signedText(request).split("&signature=");
    return verifyTypedData({
      address: AGENT as `0x${string}`,
      domain: {
        name: "AsterSignTransaction",
        version: "1",
        chainId,
        verifyingContract: "0x0000000000000000000000000000000000000000",
      },
      types: { Message: [{ name: "msg", type: "string" }] },
      primaryType: "Message",
      message: { msg },
      signature: signature as `0x${string}`,
    });
  }

  it.each([
    [true, 1666],
    [false, 714],
  ])("signs the text sent with nonce, user and signer (mainnet %s)", async (isMainnet, chainId) => {
    const harness = createHarness(isMainnet);
    harness.http.reply(200, answer());
    expect(await harness.trading.orders.place(harness.open(V3), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    const request = harness.http.last;
    expect(request.path).toBe("/fapi/v3/order");
    expect(request.headers).toEqual({ "content-type": "application/x-www-form-urlencoded" });
    const params = paramsOf(request);
    expect(params).toMatchObject({ user: WALLET, signer: AGENT, newOrderRespType: "RESULT", reduceOnly: "true" });
    expect(params).not.toHaveProperty("timestamp");
    expect(Math.abs(Number(params["nonce"]) / 1_000 - harness.clock.wallMs())).toBeLessThan(10);
    expect(await isValidV3(request, chainId)).toBe(true);
    expect(await isValidV3(request, 1)).toBe(false);
  });

  it.each([
    ["V1", V1, 3_000],
    ["V3", V3, 70_000],
  ])("knows that moment's bound before the send, %s, also over a second try", async (_, credentials, slackMs) => {
    for (const timeoutMs of [300, 2_999.5, 4_000.25, 10_000]) {
      for (const refusedFirst of [false, true]) {
        const harness = createHarness();
        harness.offsetMs = 333.3;
        harness.onClockError = () => harness.clock.advanceAsync(timeoutMs - 10).then(() => undefined);
        if (refusedFirst) harness.http.reply(400, { code: -1021, msg: "Timestamp for this request is outside" });
        harness.http.step({ kind: "noResponse", reason: "TIMEOUT" });
        const session = harness.open(credentials);
        const boundMs = harness.clock.wallMs() + harness.trading.orders.placeBoundMs(session, timeoutMs);
        const outcome = await harness.trading.orders.place(session, CLOSE_LONG, { ...OPTIONS, timeoutMs });
        if (outcome.outcome !== "unknown") throw new Error(JSON.stringify(outcome));
        expect(outcome.notPlacedAfterMs).toBeLessThanOrEqual(boundMs);
        expect(boundMs - outcome.notPlacedAfterMs).toBeLessThanOrEqual(slackMs + timeoutMs);
      }
    }
  });

  it("sends nothing once a nonce reservation has taken all the time: its bound would not hold", async () => {
    const harness = createHarness();
    const reserve = harness.reservations.reserve.bind(harness.reservations);
    harness.reservations.reserve = async (...range) => {
      await harness.clock.advanceAsync(OPTIONS.timeoutMs);
      return reserve(...range);
    };
    expect(await harness.trading.orders.place(harness.open(V3), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
    expect(harness.http.requests).toHaveLength(0);
  });

  it("has no more time for the answer than a nonce reservation has left", async () => {
    const harness = createHarness();
    const reserve = harness.reservations.reserve.bind(harness.reservations);
    harness.reservations.reserve = async (...range) => {
      await harness.clock.advanceAsync(1_000);
      return reserve(...range);
    };
    harness.http.step({ kind: "noResponse", reason: "TIMEOUT" });
    await harness.trading.orders.place(harness.open(V3), CLOSE_LONG, OPTIONS);
    expect(harness.http.requests.map(({ timeoutMs }) => timeoutMs)).toEqual([OPTIONS.timeoutMs - 1_000]);
  });

  it("keeps an unknown order open for the whole nonce window", async () => {
    const harness = createHarness();
    harness.http.reply(503, "");
    expect(await harness.trading.orders.place(harness.open(V3), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "unknown",
      notPlacedAfterMs: harness.clock.wallMs() + 60_000 + 3_000,
    });
  });

  it("measures the clock and sends once more with a new nonce after an expired one", async () => {
    const harness = createHarness();
    harness.http.reply(400, { code: -4225, msg: "Nonce Expired" }).reply(200, answer());
    expect(await harness.trading.orders.place(harness.open(V3), CLOSE_LONG, OPTIONS)).toMatchObject({
      outcome: "accepted",
    });
    const [first, second] = harness.http.requests.map((request) => Number(paramsOf(request)["nonce"]));
    expect(second).toBeGreaterThan(first ?? 0);
    expect(harness.clockErrorCount).toBe(1);
  });

  it("gives 200 concurrent orders of one agent 200 distinct nonces", async () => {
    const harness = createHarness();
    for (let index = 0; index < 200; index++) harness.http.reply(200, answer());
    const session = harness.open(V3);
    await Promise.all(Array.from({ length: 200 }, () => harness.trading.orders.place(session, CLOSE_LONG, OPTIONS)));
    const nonces = harness.http.requests.map((request) => Number(paramsOf(request)["nonce"]));
    expect(new Set(nonces).size).toBe(200);
    expect(Math.max(...nonces) - harness.clock.wallMs() * 1_000).toBeLessThan(1_000_000);
    expect(harness.reservations.calls).toEqual([`venuetwo:${AGENT.toLowerCase()}`]);
  });
});

describe("cancelling on venuetwo", () => {
  it("names the order by client id or by id, in the query", async () => {
    const harness = createHarness();
    harness.http.reply(200, answer({ status: "CANCELED", executedQty: "0" })).reply(200, answerFixture("canceled"));
    const session = harness.open();
    expect(await harness.trading.orders.cancel(session, BTC, { clientIdHex: CLIENT_ID }, OPTIONS)).toEqual({
      outcome: "accepted",
    });
    expect(harness.http.last.method).toBe("DELETE");
    expect(harness.http.last.body).toBeNull();
    expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "BTCUSDT", origClientOrderId: CLIENT_ID });
    expect(isValidV1(harness.http.last)).toBe(true);
    expect(await harness.trading.orders.cancel(session, BTC, { venueOrderId: "283194212" }, OPTIONS)).toEqual({
      outcome: "accepted",
    });
    expect(paramsOf(harness.http.last)).toMatchObject({ orderId: "283194212" });
  });

  it.each<[string, number, unknown, Record<string, unknown>]>([
    [
      "an unknown order",
      400,
      answerFixture("cancelUnknown"),
      { outcome: "rejected", reason: "NOT_FOUND", venueCode: "-2011", sent: true },
    ],
    ["a server fault", 503, "", { outcome: "unknown", cause: "HTTP_503" }],
    ["an order that is still open", 200, answer({ status: "NEW" }), { outcome: "unknown", cause: "REPLY_STATUS" }],
    ["nothing readable", 200, "{}", { outcome: "unknown", cause: "REPLY_UNREADABLE" }],
  ])("reads %s", async (_what, status, body, expected) => {
    const harness = createHarness();
    harness.http.reply(status, body);
    expect(await harness.trading.orders.cancel(harness.open(), BTC, { venueOrderId: "5" }, OPTIONS)).toMatchObject(
      expected,
    );
  });

  it("refuses what is no order id without sending", async () => {
    const harness = createHarness();
    expect(
      await harness.trading.orders.cancel(harness.open(), BTC, { venueOrderId: "5&symbol=ETHUSDT" }, OPTIONS),
    ).toMatchObject({ outcome: "rejected", sent: false });
    expect(harness.http.requests).toHaveLength(0);
  });
});

describe("secrets of venuetwo orders", () => {
  it.each([V1, V3])(
    "appear in no outcome or log, whatever the venue answers, also if it echoes them",
    async (credentials) => {
      for (const status of [200, 400, 401, 403, 404, 418, 429, 500, 503]) {
        const harness = createHarness();
        const echo = (request: HttpRequest): string => `${API_KEY} ${API_SECRET} 0x${AGENT_KEY} ${request.body ?? ""}`;
        harness.http.step((request) => harness.http.response(status, `<html>${echo(request)}</html>`));
        harness.http.step((request) => harness.http.response(status, { code: -2010, msg: echo(request) }));
        const session = harness.open(credentials);
        const outcomes = [
          await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS),
          await harness.trading.orders.place(session, CLOSE_LONG, OPTIONS),
        ];
        const outputs = JSON.stringify([outcomes, harness.logLines]);
        const signatures = harness.http.requests.map((request) => paramsOf(request)["signature"]?.slice(2, 42) ?? "");
        for (const secret of [API_KEY, API_SECRET, AGENT_KEY, ...signatures])
          expect(outputs).not.toContain(secret.slice(0, 40));
        // Secrets never leave; the V1 key leaves in its header alone.
        for (const request of harness.http.requests) {
          const { headers: _headers, ...rest } = request;
          expect(JSON.stringify(rest)).not.toContain(API_SECRET);
          expect(JSON.stringify(request)).not.toContain(AGENT_KEY);
        }
      }
    },
  );
});
