import { describe, expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import {
  type DeskHarness,
  createDesk,
  CREDENTIALS,
  orderContext,
  orderName,
  placeRequest,
  SECRET,
  testHash,
} from "./test/desk-harness.js";
import { accountHashOf } from "../accounts.js";
import type { OrderAnswer, ResolvedOrder } from "./order-desk.js";

const KEYED = { idempotencyKey: "key-1" };
const LIMIT = { type: "LIMIT", price: "95000", timeInForce: "GTC" } as const;

function codeOf(answer: OrderAnswer): string {
  return answer.ok ? answer.order.outcome : answer.code;
}

/** Places without waiting for the reply: the process dies in it. */
async function crashDuring(
  harness: DeskHarness,
  request: Parameters<typeof placeRequest>[0],
  afterMs: number,
): Promise<void> {
  void harness.desk.place(placeRequest(request), orderContext(harness.clock, KEYED));
  await harness.clock.advanceAsync(afterMs);
  harness.kill();
  await harness.clock.advanceAsync(100);
}

describe("an order on one venue", () => {
  it("is bounded from the live mid when it is a market order, and reported with everything it did", async () => {
    const harness = await createDesk();
    const order = await harness.order({ clientOrderId: "mine-1" });
    expect(order).toMatchObject({
      outcome: "CONFIRMED",
      status: "FILLED",
      orderId: "9000000",
      clientOrderId: "mine-1",
      type: "MARKET",
      side: "BUY",
      reduceOnly: false,
      price: "101000",
      quantity: "0.25",
      filledQuantity: "0.25",
      averagePrice: "100010",
      filledNotional: "25002.5",
      adjustments: [],
    });
    expect(order.venueClientOrderId).toMatch(/^c-[0-9a-f]{32}$/);
    expect(harness.venue.log.map(({ command }) => command)).toMatchObject([
      { side: "BUY", type: "MARKET", timeInForce: "IOC", priceTicks: 1_010_000, qtyLots: 250, reduceOnly: false },
    ]);
    expect(harness.venue.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("takes the caller's worst price where it is tighter, and no further than the cap where it is not", async () => {
    const harness = await createDesk();
    const tight = await harness.order({ price: "100500.04" });
    expect(tight).toMatchObject({
      price: "100500",
      adjustments: [{ from: "100500.04", to: "100500", rule: "TICK_SIZE" }],
    });
    const loose = await harness.order({ price: "200000" });
    expect(loose).toMatchObject({
      price: "101000",
      adjustments: [{ from: "200000", to: "101000", rule: "MAX_SLIPPAGE" }],
    });
    const sold = await harness.order({ side: "SELL", price: "1" });
    expect(sold.price).toBe("99000");
  });

  it.each([
    ["invalid", (harness: DeskHarness) => harness.venue.market.book.invalidate("gap"), "BOOK_INVALID"],
    ["gone", (harness: DeskHarness) => harness.venue.market.book.clear(), "BOOK_INVALID"],
  ] as const)("sends no market order from a book that is %s", async (_name, spoil, reason) => {
    const harness = await createDesk();
    spoil(harness);
    const answer = await harness.place();
    expect(answer).toMatchObject({ ok: false, code: "VENUE_UNAVAILABLE", details: { exchange: "venueone", reason } });
    expect(harness.venue.calls.place).toBe(0);
    // A limit brings its own price.
    expect(codeOf(await harness.place(LIMIT))).toBe("CONFIRMED");
  });

  it("sends no market order that the book shows to slip beyond the cap", async () => {
    const harness = await createDesk({ venue: { levelLots: 10, bidTicks: 900_000 } });
    const answer = await harness.place({ quantity: "0.5", maxSlippageBps: 1 });
    expect(answer).toMatchObject({ ok: false, code: "SLIPPAGE_CAP" });
    expect(harness.venue.calls.place).toBe(0);
  });

  it("goes out on the exit lane when it only reduces, on the trade lane otherwise", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 400);
    await harness.order({ side: "SELL", reduceOnly: true });
    expect(harness.venue.lanes.at(-1)).toBe("exit");
    await harness.order();
    expect(harness.venue.lanes.at(-1)).toBe("trade");
  });

  it("rests where it was meant to rest", async () => {
    const harness = await createDesk();
    expect(await harness.order(LIMIT)).toMatchObject({ status: "OPEN", timeInForce: "GTC", filledQuantity: "0" });
    harness.venue.setPosition("acct", "LONG", 400);
    const stop = { type: "STOP_MARKET", side: "SELL", stopPrice: "90000", reduceOnly: true } as const;
    expect(await harness.order(stop)).toMatchObject({
      type: "STOP_MARKET",
      triggerPrice: "90000",
      price: "89100",
      status: "OPEN",
    });
    expect(harness.venue.log.at(-1)?.command).toMatchObject({
      type: "MARKET",
      trigger: { kind: "STOP", priceTicks: 900_000, source: "MARK" },
      reduceOnly: true,
    });
    expect(harness.desk.status().unknownCount).toBe(0);
  });

  it("tells the venue's refusal in the venue's words, without a secret in them", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({
      kind: "reject",
      reason: "INSUFFICIENT_MARGIN",
      venueText: `no margin for ${SECRET}`,
    });
    const answer = await harness.place({ clientOrderId: "mine-2" });
    expect(answer).toMatchObject({
      ok: false,
      code: "VENUE_REJECTED",
      details: { reason: "INSUFFICIENT_MARGIN", venueCode: "-1", venueText: "no margin for [redacted]" },
    });
    // Its name is free again.
    harness.venue.fate = () => ({ kind: "fill" });
    await harness.clock.advanceAsync(50);
    expect(codeOf(await harness.place({ clientOrderId: "mine-2" }))).toBe("CONFIRMED");
  });

  it.each([
    ["RATE_LIMITED", "VENUE_RATE_LIMITED"],
    ["VENUE_STATE", "VENUE_UNAVAILABLE"],
    ["AUTH", "MISSING_CREDENTIALS"],
  ] as const)(
    "that our own side stopped for %s left no trace, and a retry is executed afresh",
    async (reason, code) => {
      const harness = await createDesk();
      harness.venue.fate = () => ({ kind: "notSent", reason });
      expect(await harness.place({}, KEYED)).toMatchObject({ ok: false, code, replayed: false });
      await harness.clock.advanceAsync(50);
      harness.venue.fate = () => ({ kind: "fill" });
      expect(codeOf(await harness.place({}, KEYED))).toBe("CONFIRMED");
    },
  );

  it("of unknown outcome is UNKNOWN, never failed, and never sent again", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    const answer = await harness.place({ deadlineMs: 1_000, clientOrderId: "lost" });
    expect(answer).toMatchObject({
      ok: true,
      order: { outcome: "UNKNOWN", status: "UNKNOWN", reason: "TIMEOUT", orderId: null, clientOrderId: "lost" },
    });
    expect(harness.desk.status()).toMatchObject({ unknownCount: 1, unknown: [{ venue: "venueone", symbol: "BTC" }] });
    const resolved: unknown[] = [];
    harness.desk.onResolved(({ order, orderRef, state, clientOrderId, accountHash }) =>
      resolved.push([order?.status, orderRef.slice(0, 3), state, clientOrderId, accountHash]),
    );
    harness.venue.orderReadFailure = () => null;
    await harness.clock.advanceAsync(10_000);
    const accountHash = accountHashOf(testHash, "venueone", CREDENTIALS.account, "pk_test");
    expect(resolved).toEqual([["FILLED", "or_", "COMPLETED", "lost", accountHash]]);
    expect(harness.desk.status().unknownCount).toBe(0);
    expect(harness.venue.log).toHaveLength(1);
    expect(harness.venue.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("that got lost on its way is reported as not placed once that is proven", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseRequest" });
    const answer = await harness.place({ deadlineMs: 20_000 });
    expect(answer).toMatchObject({ ok: false, code: "FAILED_TO_PLACE_ORDER", details: { reason: "NOT_PLACED" } });
  });

  it("that got lost on its way is reported after the reply under the names of the reply, as nowhere", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseRequest" });
    const resolved: ResolvedOrder[] = [];
    harness.desk.onResolved((one) => resolved.push(one));
    const order = await harness.order({ deadlineMs: 300, clientOrderId: "lost" });
    await harness.clock.advanceAsync(20_000);
    expect(order.outcome).toBe("UNKNOWN");
    expect(resolved).toMatchObject([
      { order: null, state: "REJECTED", clientOrderId: "lost", venueClientOrderId: order.venueClientOrderId },
    ]);
  });

  it.each([
    [{ kind: "fill", liquidity: 0.4 }, "IOC", "PARTIAL"],
    [{ kind: "fill", liquidity: 0 }, "IOC", "REJECTED"],
    [{ kind: "fill", liquidity: 0.4 }, "GTC", "RESTING"],
  ] as const)("found later as %j with %s is reported as %s", async (fate, timeInForce, state) => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ ...fate, kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    const resolved: ResolvedOrder[] = [];
    harness.desk.onResolved((one) => resolved.push(one));
    await harness.place({ deadlineMs: 1_000, type: "LIMIT", price: "100010", timeInForce });
    harness.venue.orderReadFailure = () => null;
    await harness.clock.advanceAsync(10_000);
    expect(resolved.map((one) => one.state)).toEqual([state]);
  });

  it("keeps its session with the resolver for 60 s at most", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    await harness.place({ deadlineMs: 500 });
    expect(harness.venue.sessions.some(({ closed }) => !closed)).toBe(true);
    await harness.clock.advanceAsync(65_000);
    expect(harness.venue.sessions.every(({ closed }) => closed)).toBe(true);
    expect(harness.desk.status().unknownCount).toBe(1);
  });

  it("is reported as resolved once, also to a retry with its key while the store still takes its end", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    const resolved: string[] = [];
    harness.desk.onResolved(({ orderRef }) => resolved.push(orderRef));
    const request = { deadlineMs: 500 };
    await harness.place(request, KEYED);
    harness.venue.orderReadFailure = () => null;
    harness.store.gate = () => delay(harness.clock, 1_500);
    while (resolved.length === 0) await harness.clock.advanceAsync(10);
    harness.store.gate = async () => {};
    const filled = { ok: true, order: { status: "FILLED" }, replayed: true };
    expect(await harness.place(request, KEYED)).toMatchObject(filled);
    await harness.clock.advanceAsync(10_000);
    expect(await harness.place(request, KEYED)).toMatchObject(filled);
    expect(resolved).toHaveLength(1);
  });

  it("is UNKNOWN after a fault of ours, once it was sent", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "throw" });
    expect(await harness.place({ deadlineMs: 500 })).toMatchObject({ ok: true, order: { outcome: "UNKNOWN" } });
  });

  it("is not sent while it cannot be written down", async () => {
    const harness = await createDesk();
    harness.store.gate = async () => new Promise(() => {});
    const answer = await harness.place({}, KEYED);
    expect(answer).toMatchObject({ ok: false, code: "STORE_UNAVAILABLE" });
    expect(harness.venue.calls.place).toBe(0);
  });

  it("needs credentials that open, and a symbol that is listed", async () => {
    const harness = await createDesk();
    expect(await harness.place({ credentials: { account: "a" } })).toMatchObject({
      code: "MISSING_CREDENTIALS",
      details: { exchange: "venueone", problem: "secret is missing" },
    });
    expect(await harness.place({ symbol: "DOGE" })).toMatchObject({
      code: "UNKNOWN_SYMBOL",
      details: { preview: "BTC" },
    });
    expect(await harness.place({ venue: "venuefour" })).toMatchObject({ code: "VENUE_UNAVAILABLE" });
    expect(harness.venue.calls.place).toBe(0);
  });

  it("closes a hedge side up to the live position only", async () => {
    const harness = await createDesk({ venue: { hedgeMode: true } });
    harness.venue.setPosition("acct", "LONG", 100);
    const sell = { side: "SELL", positionSide: "LONG", reduceOnly: true } as const;
    expect(await harness.place({ ...sell, quantity: "0.101" })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxSingleVenueSize: "0.1" },
    });
    expect(await harness.order({ ...sell, quantity: "0.1" })).toMatchObject({ reduceOnly: true, positionSide: "LONG" });
    expect(harness.venue.log).toHaveLength(1);
    expect(harness.venue.heldLots("acct", "LONG")).toBe(0);
  });
});

describe("an idempotency key", () => {
  it("replays the answer of the same body, and refuses another body", async () => {
    const harness = await createDesk();
    const first = await harness.order({}, KEYED);
    const again = await harness.place({}, KEYED);
    expect(again).toEqual({ ok: true, order: first, replayed: true });
    expect(await harness.place({}, { ...KEYED, rawBody: Buffer.from("{ }") })).toMatchObject({
      code: "IDEMPOTENCY_MISMATCH",
    });
    const other = { account: "other", secret: SECRET };
    expect(await harness.place({ credentials: other }, KEYED)).toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
    expect(await harness.place({}, { ...KEYED, ownerId: "pk_other" })).toMatchObject({ ok: true, replayed: false });
    expect(harness.venue.log).toHaveLength(2);
  });

  it("replays a refusal of the venue too", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "reject", reason: "PRICE" });
    await harness.place({}, KEYED);
    await harness.clock.advanceAsync(50);
    harness.venue.fate = () => ({ kind: "fill" });
    expect(await harness.place({}, KEYED)).toMatchObject({ code: "VENUE_REJECTED", replayed: true });
    expect(harness.venue.log).toHaveLength(1);
  });

  it("lets one of many equal requests through at a time", async () => {
    const harness = await createDesk();
    const context = orderContext(harness.clock, KEYED);
    const answers = await harness.run(
      Promise.all(Array.from({ length: 20 }, () => harness.desk.place(placeRequest(), context))),
    );
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(answers.filter((answer) => codeOf(answer) === "IDEMPOTENCY_IN_PROGRESS")).toHaveLength(19);
    expect(harness.venue.log).toHaveLength(1);
  });

  it("brings a reply of unknown outcome up to date", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    await harness.place({ deadlineMs: 500 }, KEYED);
    await harness.clock.advanceAsync(70_000);
    harness.venue.orderReadFailure = () => null;
    expect(await harness.place({ deadlineMs: 500 }, KEYED)).toMatchObject({
      replayed: true,
      order: { status: "FILLED" },
    });
    expect(harness.venue.log).toHaveLength(1);
  });

  it("after a crash with the order out finds the order, and sends none", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "fill", latencyMs: 200 });
    await crashDuring(harness, { clientOrderId: "mine" }, 100);
    await harness.restart();
    expect(harness.desk.status()).toMatchObject({ unknownCount: 1, unknown: [{ fromEarlierStart: true }] });
    expect(await harness.place({ clientOrderId: "mine" }, KEYED)).toMatchObject({
      ok: true,
      replayed: true,
      order: { status: "FILLED" },
    });
    expect(harness.venue.log).toHaveLength(1);
    expect(harness.desk.status().unknownCount).toBe(0);
  });

  it("after a crash whose order got lost sends one more, once that is proven", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseRequest" });
    await crashDuring(harness, { clientOrderId: "mine" }, 100);
    await harness.restart();
    harness.venue.fate = () => ({ kind: "fill" });
    const answer = await harness.place({ clientOrderId: "mine", deadlineMs: 30_000 }, KEYED);
    expect(answer).toMatchObject({ ok: true, replayed: true, order: { status: "FILLED", clientOrderId: "mine" } });
    expect(harness.venue.log).toHaveLength(2);
    expect(new Set(harness.venue.log.map(({ command }) => command.clientIdHex)).size).toBe(2);
    expect(harness.venue.log.filter(({ filledLots }) => filledLots > 0)).toHaveLength(1);
  });

  it("never uses a client id again that was sent, also when the next order never left", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "loseRequest" });
    await crashDuring(harness, {}, 100);
    await harness.restart();
    harness.venue.fate = () => ({ kind: "notSent", reason: "RATE_LIMITED" });
    expect(await harness.place({ deadlineMs: 30_000 }, KEYED)).toMatchObject({ code: "VENUE_RATE_LIMITED" });
    await harness.clock.advanceAsync(100);
    harness.venue.fate = () => ({ kind: "fill" });
    expect(await harness.place({ deadlineMs: 30_000 }, KEYED)).toMatchObject({ ok: true, order: { status: "FILLED" } });
    const ids = harness.venue.log.map(({ command }) => command.clientIdHex);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
  });
});

describe("the caller's own id of an order", () => {
  it("names one order of an account, also among many at once", async () => {
    const harness = await createDesk();
    const context = orderContext(harness.clock);
    const request = placeRequest({ clientOrderId: "same" });
    const answers = await harness.run(
      Promise.all(Array.from({ length: 20 }, () => harness.desk.place(request, context))),
    );
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(answers.filter((answer) => codeOf(answer) === "DUPLICATE_CLIENT_ORDER_ID")).toHaveLength(19);
    expect(harness.venue.log).toHaveLength(1);
    const other = { account: "other", secret: SECRET };
    expect(codeOf(await harness.place({ clientOrderId: "same", credentials: other }))).toBe("CONFIRMED");
  });

  it("finds the order across a restart, as do the venue's id and its form of ours", async () => {
    const harness = await createDesk();
    const placed = await harness.order({ ...LIMIT, clientOrderId: "mine" });
    await harness.restart();
    await harness.clock.advanceAsync(10_000);
    for (const name of ["mine", placed.orderId, placed.venueClientOrderId]) {
      const answer = await harness.run(harness.desk.orderStatus(orderName(name ?? ""), orderContext(harness.clock)));
      expect(answer).toMatchObject({
        ok: true,
        order: { orderId: placed.orderId, clientOrderId: "mine", status: "OPEN" },
      });
    }
  });
});

describe("the status of an order", () => {
  it("is not found only when the venue was read and has none", async () => {
    const harness = await createDesk();
    const ask = () => harness.run(harness.desk.orderStatus(orderName("123"), orderContext(harness.clock)));
    expect(await ask()).toMatchObject({ ok: false, code: "ORDER_NOT_FOUND", details: { orderId: "123" } });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    expect(await ask()).toMatchObject({ code: "FAILED_TO_FETCH_ORDER_STATUS", details: { reason: "TIMEOUT" } });
    harness.venue.orderReadFailure = () => "AUTH";
    expect(await ask()).toMatchObject({ code: "MISSING_CREDENTIALS" });
    expect(harness.venue.lanes.every((lane) => lane === "exit")).toBe(true);
  });

  it("is reported from our own record in the moment in which the venue does not list it yet", async () => {
    const harness = await createDesk();
    harness.venue.indexLagMs = () => 1_000;
    const placed = await harness.order();
    const ask = () =>
      harness.run(harness.desk.orderStatus(orderName(placed.orderId ?? ""), orderContext(harness.clock)));
    expect(await ask()).toMatchObject({ ok: true, order: { status: "FILLED" } });
    expect((harness.venue.log[0]?.visibleAtMs ?? 0) > harness.clock.wallMs()).toBe(true);
  });

  it("ends an order of unknown outcome, for its own account only", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "fill", latencyMs: 200 });
    await crashDuring(harness, { clientOrderId: "mine" }, 100);
    await harness.restart();
    const stranger = { account: "other", secret: SECRET };
    const asStranger = harness.desk.orderStatus(
      orderName("mine", { credentials: stranger }),
      orderContext(harness.clock),
    );
    expect(await harness.run(asStranger)).toMatchObject({ code: "ORDER_NOT_FOUND" });
    expect(harness.desk.status().unknownCount).toBe(1);
    const asked = harness.desk.orderStatus(orderName("mine"), orderContext(harness.clock));
    expect(await harness.run(asked)).toMatchObject({ ok: true, order: { outcome: "CONFIRMED", status: "FILLED" } });
    expect(harness.desk.status().unknownCount).toBe(0);
    await harness.clock.advanceAsync(100);
    // The record of its key knows too.
    expect(await harness.place({ clientOrderId: "mine" }, KEYED)).toMatchObject({ order: { status: "FILLED" } });
    expect(harness.venue.log).toHaveLength(1);
  });

  it("that the venue turns out to have refused is reported as refused, not as never placed", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "fill", latencyMs: 200 });
    await crashDuring(harness, { clientOrderId: "mine" }, 100);
    await harness.restart();
    await harness.clock.advanceAsync(200);
    const [sent] = harness.venue.log;
    if (sent?.order == null) throw new Error("the order never came");
    sent.order = {
      ...sent.order,
      status: "REJECTED",
      venueStatus: "marginRejected",
      filledLots: 0,
      averagePrice: null,
    };
    // Its caller's name is free again from then on.
    for (const name of ["mine", sent.order.venueOrderId]) {
      const asked = harness.desk.orderStatus(orderName(name), orderContext(harness.clock));
      expect(await harness.run(asked)).toMatchObject({ ok: true, order: { status: "REJECTED" } });
    }
    expect(harness.desk.status().unknownCount).toBe(0);
  });
});

describe("what the desk holds", () => {
  it("is no secret, anywhere", async () => {
    const harness = await createDesk();
    const answers: unknown[] = [];
    for (const kind of ["fill", "reject", "notSent", "loseReply", "throw"] as const) {
      harness.venue.fate = () => ({ kind, venueText: `about ${SECRET}` });
      answers.push(await harness.place({ deadlineMs: 500, clientOrderId: kind }, { idempotencyKey: kind }));
    }
    answers.push(await harness.run(harness.desk.orderStatus(orderName("fill"), orderContext(harness.clock))));
    await harness.clock.advanceAsync(70_000);
    const outputs = [
      JSON.stringify(answers),
      JSON.stringify(harness.desk.status()),
      ...harness.logLines,
      ...harness.store.writtenText,
    ];
    expect(outputs.filter((text) => text.includes("canary"))).toEqual([]);
    expect(harness.venue.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("is bounded: one call too many is refused, and none is taken after a drain", async () => {
    const harness = await createDesk({ desk: { maxInFlight: 2 } });
    const context = orderContext(harness.clock);
    const answers = await harness.run(
      Promise.all(Array.from({ length: 3 }, () => harness.desk.place(placeRequest(), context))),
    );
    expect(answers.map(codeOf).sort()).toEqual(["CONFIRMED", "CONFIRMED", "OVERLOADED"]);
    await harness.run(harness.desk.drain(1_000));
    expect(await harness.place({ credentials: CREDENTIALS })).toMatchObject({ code: "SHUTTING_DOWN" });
  });
});
