/** The close path against fake venues on a virtual clock: one behaviour per test. */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { DEFAULT_ROUTING_SETTINGS } from "../decide/routing.js";
import type { TradeData, TradeRequest } from "../types.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { FakeSession } from "../test/fake-session.js";
import { ASKER, closeContext, closeRequest, createHarness, SECRET_ONE, type Harness } from "../test/harness.js";

const sells = (harness: Harness) => [...harness.one.log, ...harness.two.log];
const allSessionsClosed = (harness: Harness): boolean =>
  [...harness.one.sessions, ...harness.two.sessions].every((session) => session.closed);
const once =
  (...fates: PlaceFate[]): (() => PlaceFate) =>
  () =>
    fates.shift() ?? { kind: "fill" };

describe("a close at market", () => {
  it("goes whole to the venue with the best all-in price, reduce-only, and reports the fill", async () => {
    const harness = createHarness();
    const data = await harness.closeData({ clientOrderId: "mine-1" });
    expect(data.executedOn).toBe("venueone");
    expect(harness.two.log).toHaveLength(0);
    expect(harness.one.log[0]?.command).toMatchObject({
      side: "SELL",
      reduceOnly: true,
      positionSide: "BOTH",
      type: "MARKET",
      timeInForce: "IOC",
      qtyLots: 250,
    });
    expect(data.order).toMatchObject({
      side: "SELL",
      status: "FILLED",
      quantity: "0.25",
      filledQuantity: "0.25",
      averagePrice: "99990",
      clientOrderId: "mine-1",
      reduceOnly: true,
      exchange: "venueone",
    });
    expect(data.execution).toMatchObject({
      state: "COMPLETED",
      final: true,
      mode: "LIVE",
      algo: "IOC",
      note: null,
      requestedSize: "0.25",
      submittedSize: "0.25",
      filledSize: "0.25",
      remainingSize: "0",
      averagePrice: "99990",
      notional: "24997.5",
      realizedSlippageBps: "1",
      vsQuoteBps: "0",
      fees: [{ amount: "11.248875", asset: "USDC", source: "computed" }],
      statusPath: "/api/trading/venueone/orders/9000000/status?symbol=BTC",
    });
    expect(data.execution.legs).toMatchObject([
      {
        leg: 0,
        attempt: 1,
        exchange: "venueone",
        size: "0.25",
        filledSize: "0.25",
        outcome: "CONFIRMED",
        status: "FILLED",
      },
    ]);
    expect(data.position).toMatchObject({
      exchange: "venueone",
      direction: "LONG",
      size: "0.15",
      entryPrice: "95000",
      source: "computed",
    });
    expect(data.routing).toMatchObject({
      recommended: "venueone",
      reason: "BEST_ALL_IN_PRICE",
      mode: "BEST_EXIT",
      split: false,
    });
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("buys to close a short", async () => {
    const harness = createHarness();
    harness.one.setPosition("acct-venueone", "LONG", 0);
    harness.one.setPosition("acct-venueone", "SHORT", 300);
    const data = await harness.closeData({ direction: "SHORT", size: "ALL", preferredExchange: "venueone" });
    expect(harness.one.log[0]?.command).toMatchObject({ side: "BUY", reduceOnly: true, qtyLots: 300 });
    expect(data.order).toMatchObject({ side: "BUY", filledQuantity: "0.3" });
    expect(data.position).toMatchObject({ size: "0", entryPrice: null });
  });

  it("names the closed side on a hedge-mode account and says reduceOnly", async () => {
    const harness = createHarness({ two: { hedgeMode: true } });
    harness.two.setPosition("acct-venuetwo", "SHORT", 100);
    const data = await harness.closeData({ preferredExchange: "venuetwo", size: "0.1", direction: "SHORT" });
    expect(harness.two.log[0]?.command).toMatchObject({
      side: "BUY",
      positionSide: "SHORT",
      reduceOnly: true,
      qtyLots: 100,
    });
    expect(data.order?.reduceOnly).toBe(true);
    expect(harness.two.heldLots("acct-venuetwo", "LONG")).toBe(400);
  });

  it.each([
    [{ size: "ALL", sizePercent: null }, 400],
    [{ size: null, sizePercent: "50" }, 200],
    [{ size: null, sizePercent: "0.3" }, 1],
  ])("resolves %j to %i lots", async (size, lots) => {
    const harness = createHarness();
    await harness.closeData({ ...size, preferredExchange: "venueone" });
    expect(harness.one.log[0]?.command.qtyLots).toBe(lots);
  });

  it("floors to the lot and reports the dust", async () => {
    const harness = createHarness();
    const data = await harness.closeData({ size: "0.2504" });
    expect(data.execution).toMatchObject({
      state: "COMPLETED",
      note: "DUST_REMAINDER",
      requestedSize: "0.2504",
      filledSize: "0.25",
      remainingSize: "0.0004",
    });
    expect(data.execution.adjustments).toContainEqual({ field: "size", from: "0.2504", to: "0.25", rule: "LOT_SIZE" });
  });

  it("takes the venue's own fee where it is reported", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", fee: { amount: "1.5", asset: "USDC" } });
    expect((await harness.closeData()).execution.fees).toEqual([{ amount: "1.5", asset: "USDC", source: "venue" }]);
  });

  it("sends all its venue calls on the exit lane", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    await harness.closeData();
    expect(new Set([...harness.one.lanes, ...harness.two.lanes])).toEqual(new Set(["exit"]));
  });
});

describe("sizes and eligibility", () => {
  const refusals: [string, Partial<TradeRequest>, (harness: Harness) => void, Record<string, unknown>][] = [
    [
      "a size above every position",
      { size: "0.401" },
      () => {},
      { code: "SIZE_EXCEEDS_POSITION", details: { maxSingleVenueSize: "0.4", maxTotalSize: "0.8" } },
    ],
    [
      "flat at the first read",
      {},
      (h) => {
        for (const venue of [h.one, h.two]) venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
      },
      { code: "SIZE_EXCEEDS_POSITION", details: { maxSingleVenueSize: "0", maxTotalSize: "0" } },
    ],
    [
      "a preferred venue without credentials",
      { preferredExchange: "venueone", credentials: {} },
      () => {},
      { code: "MISSING_CREDENTIALS", details: { exchange: "venueone" } },
    ],
    [
      "a preferred venue with malformed credentials",
      { preferredExchange: "venueone", credentials: { venueone: { account: 5 } } },
      () => {},
      { code: "MISSING_CREDENTIALS", details: { exchange: "venueone", problem: "account is missing" } },
    ],
    [
      "a preferred venue that refuses the credentials",
      { preferredExchange: "venueone" },
      (h) => {
        h.one.positionFailure = () => "AUTH";
      },
      { code: "MISSING_CREDENTIALS", details: { exchange: "venueone" } },
    ],
    ["no usable credentials at all", { credentials: {} }, () => {}, { code: "NO_ELIGIBLE_VENUE" }],
    [
      "a symbol nobody lists",
      { symbol: "NOPE" },
      () => {},
      { code: "UNKNOWN_SYMBOL", details: { symbol: "NOPE", availableSymbols: ["BTC"] } },
    ],
    ["less than one lot", { size: "0.0004" }, () => {}, { code: "SIZE_BELOW_LOT" }],
    [
      "a size that is no number",
      { size: "many" },
      () => {},
      { code: "INVALID_PARAMETERS", details: { fields: [{ path: "size" }] } },
    ],
    [
      "a limit price that is no number",
      { orderType: "LIMIT", limitPrice: "1e5" },
      () => {},
      { code: "INVALID_PARAMETERS", details: { fields: [{ path: "limitPrice" }] } },
    ],
    [
      "more than the slippage cap allows",
      { maxSlippageBps: 1 },
      (h) => {
        h.one.setBook(990_000, 1_010_000, 1_000);
        h.two.setBook(990_000, 1_010_000, 1_000);
      },
      { code: "SLIPPAGE_CAP" },
    ],
  ];

  it.each(refusals)("refuses %s before anything is sent or written", async (_name, request, arrange, expected) => {
    const harness = createHarness();
    arrange(harness);
    expect(await harness.close(request, { idempotencyKey: "k" })).toMatchObject({ ok: false, ...expected });
    expect(sells(harness)).toHaveLength(0);
    expect(harness.store.rowCount()).toBe(0);
    expect(allSessionsClosed(harness)).toBe(true);
    expect(harness.events.at(-1)).toMatchObject({ kind: "refused", code: expected.code });
    // Nothing ran under the key, so it is free again.
    expect(await harness.close(request, { idempotencyKey: "k" })).toMatchObject({ ok: false, code: expected.code });
  });

  it("says BELOW_MIN_SIZE for a partial close under the minimum value, and closes the whole position under it", async () => {
    const minimum = { minNotional: "1000", minNotionalOnReduceOnly: "exceptFullClose" } as const;
    const harness = createHarness({ one: { instrument: minimum } });
    harness.one.setPosition("acct-venueone", "LONG", 8);
    expect(await harness.close({ size: "0.004", preferredExchange: "venueone" })).toMatchObject({
      ok: false,
      code: "BELOW_MIN_SIZE",
    });
    expect((await harness.closeData({ size: "0.008", preferredExchange: "venueone" })).execution.state).toBe(
      "COMPLETED",
    );
  });

  it("takes a venue that misses the positions deadline for unhealthy, not flat, and goes on with the others", async () => {
    const harness = createHarness();
    harness.one.positionFailure = () => "HANG";
    const data = await harness.closeData();
    expect(data.executedOn).toBe("venuetwo");
    expect(data.routing.candidates.find((candidate) => candidate.exchange === "venueone")).toMatchObject({
      eligible: false,
      reasonCode: "VENUE_UNHEALTHY",
      positionSize: null,
    });
    expect(data.execution.timingMs.positions).toBeGreaterThanOrEqual(800);
    expect(data.execution.timingMs.positions).toBeLessThan(900);
  });

  it("reads positions of all venues at once", async () => {
    const harness = createHarness();
    for (const venue of [harness.one, harness.two]) venue.readLatencyMs = () => 100;
    expect((await harness.closeData()).execution.timingMs.positions).toBeLessThan(150);
  });

  it("names the venue of a tripped breaker and passes its waiting time on", async () => {
    const harness = createHarness();
    harness.one.positionFailure = () => "RATE_LIMITED";
    expect(await harness.close({ preferredExchange: "venueone" })).toMatchObject({
      ok: false,
      code: "VENUE_RATE_LIMITED",
      details: { exchange: "venueone", retryAfterMs: 700 },
    });
    harness.one.positionFailure = () => "BREAKER_OPEN";
    expect(await harness.close({ preferredExchange: "venueone" })).toMatchObject({
      ok: false,
      code: "VENUE_UNAVAILABLE",
      details: { exchange: "venueone" },
    });
    const limited = createHarness();
    limited.one.exitTokens = 0;
    expect(await limited.close({ preferredExchange: "venueone" })).toMatchObject({
      ok: false,
      code: "VENUE_RATE_LIMITED",
    });
  });
});

describe("the budget of an account", () => {
  it("that is spent but for exits refuses entries and lets closes pass", async () => {
    const harness = createHarness();
    harness.one.orderWaitMs = (lane) => (lane === "exit" ? 0 : 4_000);
    const routed = await harness.closeData({ preferredExchange: "venueone", size: "0.1" });
    expect(routed.executedOn).toBe("venueone");
    harness.one.orderWaitMs = () => 4_000;
    expect(await harness.close({ preferredExchange: "venueone" })).toMatchObject({
      ok: false,
      code: "VENUE_RATE_LIMITED",
      details: { exchange: "venueone", retryAfterMs: 4_000 },
    });
    expect((await harness.closeData({ size: "0.1" })).executedOn).toBe("venuetwo");
  });
});

describe("fee rates", () => {
  it("decide between venues, are read once an hour per account, and are tagged as the account's", async () => {
    const harness = createHarness({ two: { bidTicks: 999_900 } });
    harness.one.feeRates = { takerFeeMilliBps: 9_000, makerFeeMilliBps: 0 };
    harness.two.feeRates = { takerFeeMilliBps: 1_000, makerFeeMilliBps: 0 };
    const first = await harness.closeData({ size: "0.1" });
    expect(first.executedOn).toBe("venuetwo");
    expect(first.routing.candidates).toMatchObject([
      { feeBps: "9", feeSource: "account" },
      { feeBps: "1", feeSource: "account" },
      // Venues that this service does not run are listed with their reason.
      { exchange: "venuethree", eligible: false, reasonCode: "NO_CREDENTIALS" },
      { exchange: "venuefour", eligible: false, reasonCode: "NO_CREDENTIALS" },
    ]);
    await harness.closeData({ size: "0.1" });
    expect(harness.one.calls.fees).toBe(1);
    harness.clock.advance(3_600_000);
    await harness.closeData({ size: "0.1" });
    expect(harness.one.calls.fees).toBe(2);
  });

  it("never delay a close past the positions deadline, and fill the cache when late", async () => {
    const harness = createHarness();
    for (const venue of [harness.one, harness.two]) {
      venue.feeLatencyMs = 5_000;
      venue.feeRates = { takerFeeMilliBps: 1_000, makerFeeMilliBps: 0 };
    }
    const data = await harness.closeData({ size: "0.1" });
    expect(data.execution.timingMs.positions).toBeLessThan(850);
    expect(data.routing.candidates[0]?.feeSource).toBe("venueDefault");
  });

  it("are not waited for when only one venue holds the position", async () => {
    const harness = createHarness();
    harness.two.setPosition("acct-venuetwo", "LONG", 0);
    harness.one.feeLatencyMs = 500;
    expect((await harness.closeData()).execution.timingMs.positions).toBeLessThan(50);
  });
});

describe("a trade after the send", () => {
  it("tries what remains of a definitive partial fill on the next-best venue, and lists both attempts", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4 });
    const data = await harness.closeData();
    expect(harness.one.log.map((entry) => entry.command.qtyLots)).toEqual([250]);
    expect(harness.two.log.map((entry) => entry.command.qtyLots)).toEqual([150]);
    expect(data.execution).toMatchObject({
      state: "COMPLETED",
      submittedSize: "0.25",
      filledSize: "0.25",
      remainingSize: "0",
      averagePrice: "99966",
    });
    expect(data.execution.legs.map((leg) => [leg.exchange, leg.attempt, leg.filledSize])).toEqual([
      ["venueone", 1, "0.1"],
      ["venuetwo", 2, "0.15"],
    ]);
    expect(data.order).toMatchObject({
      orderId: data.routing.routeId,
      quantity: "0.25",
      filledQuantity: "0.25",
      averagePrice: "99966",
    });
    expect(data.executedOn).toBe("venuetwo");
  });

  it("tries a definitive reject elsewhere, and with nowhere left says that nothing was executed", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "reject", reason: "INSUFFICIENT_MARGIN", venueText: "no margin" });
    expect((await harness.closeData()).executedOn).toBe("venuetwo");
    harness.two.fate = harness.one.fate;
    const result = await harness.close({ size: "0.1" });
    expect(result).toMatchObject({
      ok: true,
      success: false,
      data: { executedOn: null, execution: { state: "REJECTED", final: true, filledSize: "0" } },
    });
    expect(result.ok && result.data.execution.legs.map((leg) => [leg.outcome, leg.reason, leg.venueText])).toEqual([
      ["REJECTED", "INSUFFICIENT_MARGIN", "no margin"],
      ["REJECTED", "INSUFFICIENT_MARGIN", "no margin"],
    ]);
  });

  it("stays with the preferred venue", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4 });
    const data = await harness.closeData({ preferredExchange: "venueone" });
    expect(data.execution).toMatchObject({ state: "PARTIAL", filledSize: "0.1", remainingSize: "0.15" });
    expect(data.order?.status).toBe("CANCELED");
    expect(harness.two.log).toHaveLength(0);
  });

  it("starts no further order when the deadline has passed", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4, latencyMs: 290 });
    const data = await harness.closeData({ deadlineMs: 300 });
    expect(data.execution.state).toBe("PARTIAL");
    expect(harness.two.log).toHaveLength(0);
  });

  it("reports ALREADY_FLAT as a success without fill when the venue says there is nothing to reduce", async () => {
    const harness = createHarness();
    harness.one.fate = () => {
      harness.one.setPosition("acct-venueone", "LONG", 0);
      return { kind: "fill" };
    };
    const result = await harness.close({ preferredExchange: "venueone" });
    expect(result).toMatchObject({
      ok: true,
      success: true,
      data: {
        executedOn: null,
        order: null,
        execution: { state: "NOOP", note: "ALREADY_FLAT", filledSize: "0" },
        position: { size: "0", source: "venue" },
      },
    });
    expect(harness.one.log).toHaveLength(1);
  });

  it("clamps to a position that shrank, once, on the same venue", async () => {
    const harness = createHarness();
    harness.one.fate = once({ kind: "reject", reason: "REDUCE_ONLY" });
    const original = harness.one.fate;
    harness.one.fate = (command, account) => {
      if (harness.one.log.length === 0) harness.one.setPosition("acct-venueone", "LONG", 90);
      return original(command, account);
    };
    const data = await harness.closeData({ preferredExchange: "venueone" });
    expect(harness.one.log.map((entry) => entry.command.qtyLots)).toEqual([250, 90]);
    expect(data.execution).toMatchObject({ state: "PARTIAL", filledSize: "0.09", submittedSize: "0.09" });
    expect(data.execution.adjustments).toContainEqual({
      field: "size",
      from: "0.25",
      to: "0.09",
      rule: "POSITION_SIZE",
    });
  });

  it("answers 503 when our own limiter stopped the order, and leaves the key free", async () => {
    const harness = createHarness();
    harness.one.fate = once({ kind: "notSent" });
    const request = { preferredExchange: "venueone" } as const;
    expect(await harness.close(request, { idempotencyKey: "k" })).toMatchObject({
      ok: false,
      code: "VENUE_RATE_LIMITED",
      details: { exchange: "venueone" },
    });
    expect(await harness.close(request, { idempotencyKey: "k" })).toMatchObject({
      ok: true,
      success: true,
      replayed: false,
    });
    expect(harness.one.log).toHaveLength(1);
  });

  it("waits for the fill of an order that was only acknowledged, or not, as the caller says", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", ackOnlyMs: 600 });
    const filled = await harness.closeData({ size: "0.1" });
    expect(filled.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.1" });
    const acked = await harness.closeData({ size: "0.1", waitFor: "ACK" });
    expect(acked.execution).toMatchObject({ state: "SUBMITTED", final: false, filledSize: "0" });
    await harness.clock.advanceAsync(5_000);
    expect((await harness.service.execution(acked.routing.routeId, ASKER))?.execution).toMatchObject({
      state: "COMPLETED",
      final: true,
      filledSize: "0.1",
    });
    expect(allSessionsClosed(harness)).toBe(true);
  });
});

describe("an unknown outcome", () => {
  it("is resolved within the deadline by reading the venue, with one order and no second venue", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.indexLagMs = () => 900;
    const data = await harness.closeData();
    expect(data.execution).toMatchObject({ state: "COMPLETED", final: true, filledSize: "0.25" });
    expect(data.execution.legs[0]).toMatchObject({ outcome: "CONFIRMED" });
    expect(sells(harness)).toHaveLength(1);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("that turns out never placed is proven by time, and may then be tried elsewhere", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseRequest" });
    const data = await harness.closeData({ deadlineMs: 10_000 });
    expect(data.execution.legs).toMatchObject([
      { exchange: "venueone", outcome: "REJECTED", reason: "NOT_PLACED" },
      { exchange: "venuetwo", outcome: "CONFIRMED" },
    ]);
    const [lost] = harness.one.log;
    const [second] = harness.two.log;
    expect(second?.sentAtMs).toBeGreaterThan((lost?.expiresAtMs ?? 0) + 2_000);
  });

  it("past the deadline is answered UNKNOWN as a success, listed, and resolved later with an event", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    const readableAtMs = harness.clock.wallMs() + 8_000;
    harness.one.orderReadFailure = () => (harness.clock.wallMs() < readableAtMs ? "TIMEOUT" : null);
    const resolved: TradeData[] = [];
    harness.service.onResolved(({ data }) => resolved.push(data));
    const result = await harness.close({ deadlineMs: 1_000 });
    expect(result).toMatchObject({
      ok: true,
      success: true,
      data: {
        executedOn: "venueone",
        order: { status: "UNKNOWN" },
        execution: { state: "UNKNOWN", final: false },
        position: null,
      },
    });
    const routeId = result.ok ? result.data.routing.routeId : "";
    expect(harness.service.status()).toMatchObject({
      unknownCount: 1,
      unknown: [{ routeId, venue: "venueone", symbol: "BTC" }],
      resolver: { active: 1 },
    });
    // The session lives on for this order alone.
    expect(harness.one.sessions.filter((session) => !session.closed)).toHaveLength(1);
    expect(harness.two.sessions.every((session) => session.closed)).toBe(true);

    await harness.clock.advanceAsync(20_000);
    expect(resolved).toMatchObject([
      { routing: { routeId }, execution: { state: "COMPLETED", final: true, filledSize: "0.25" } },
    ]);
    expect((await harness.service.execution(routeId, ASKER))?.execution.state).toBe("COMPLETED");
    expect(harness.service.status()).toMatchObject({ unknownCount: 0, resolver: { active: 0, found: 1 } });
    expect(harness.events.at(-1)).toMatchObject({ kind: "resolved" });
    expect(allSessionsClosed(harness)).toBe(true);
    expect(sells(harness)).toHaveLength(1);
  });

  it("stays UNKNOWN when the venue cannot be read, polls on the stated schedule and gives the session up after 60 s", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    harness.one.readLatencyMs = () => 0;
    const data = await harness.closeData({ deadlineMs: 500 });
    expect(data.execution.state).toBe("UNKNOWN");
    await harness.clock.advanceAsync(59_000);
    expect(allSessionsClosed(harness)).toBe(false);
    await harness.clock.advanceAsync(2_000);
    expect(allSessionsClosed(harness)).toBe(true);
    // 0.25, 0.5, 1, 2, 4, 8, 16, then what is left of the 60 s.
    expect(harness.one.calls.orders).toBe(8);
    expect(harness.service.status()).toMatchObject({ unknownCount: 1, resolver: { active: 0, leftUnknown: 1 } });
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution.state).toBe("UNKNOWN");
  });

  it("beyond the bound of unresolved orders keeps its session no longer and stays listed", async () => {
    const harness = createHarness({ service: { maxUnresolved: 1 } });
    harness.one.setPosition("acct-venueone", "LONG", 1_000);
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    const request = { size: "0.1", deadlineMs: 500 };
    await harness.closeData(request);
    const second = await harness.closeData(request);
    expect(second.execution.state).toBe("UNKNOWN");
    expect(harness.service.status()).toMatchObject({ unknownCount: 2, resolver: { active: 1, refused: 1 } });
    expect(harness.one.sessions.filter((session) => !session.closed)).toHaveLength(1);
  });

  it("covers a duplicate client id: it is looked up, not failed", async () => {
    const harness = createHarness();
    const place = harness.one.fate;
    harness.one.fate = (command, account) =>
      harness.one.log.length === 0 ? { kind: "reject", reason: "DUPLICATE_CLIENT_ID" } : place(command, account);
    const result = await harness.close({ preferredExchange: "venueone", deadlineMs: 600 });
    expect(result).toMatchObject({ ok: true, success: true, data: { execution: { state: "UNKNOWN", final: false } } });
    expect(sells(harness)).toHaveLength(1);
  });

  it("covers a room that throws: by then the order may be out", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "throw" });
    const result = await harness.close({ deadlineMs: 600 });
    expect(result).toMatchObject({ ok: true, success: true, data: { execution: { state: "UNKNOWN" } } });
    expect(harness.two.log).toHaveLength(0);
  });
});

describe("a limit close", () => {
  it("rests reduce-only GTC on the venue", async () => {
    const harness = createHarness();
    const data = await harness.closeData({ orderType: "LIMIT", limitPrice: "101000" });
    const [entry] = sells(harness);
    expect(entry?.command).toMatchObject({
      type: "LIMIT",
      timeInForce: "GTC",
      reduceOnly: true,
      priceTicks: 1_010_000,
    });
    expect(data.execution).toMatchObject({
      state: "RESTING",
      final: false,
      algo: "GTC",
      filledSize: "0",
      submittedSize: "0.25",
    });
    expect(data.order).toMatchObject({ status: "OPEN", type: "LIMIT", price: "101000" });
    expect(allSessionsClosed(harness)).toBe(true);
  });
});

describe("a dry run", () => {
  it("checks everything, quotes, and writes, sends and reserves nothing", async () => {
    const harness = createHarness();
    const data = await harness.closeData({ dryRun: true }, { idempotencyKey: "k" });
    expect(data).toMatchObject({
      executedOn: null,
      order: null,
      position: null,
      execution: { state: "SIMULATED", mode: "DRY_RUN", legs: [], submittedSize: "0" },
    });
    expect(data.quote).toMatchObject({
      side: "SELL",
      size: "0.25",
      expectedPrice: "99990",
      worstPrice: data.routing.limits.worstPrice,
      binding: "WORST_PRICE",
    });
    expect(data.quote?.expiresAt).toBeGreaterThan(harness.clock.wallMs() - 100);
    expect(harness.store.rowCount()).toBe(0);
    expect(sells(harness)).toHaveLength(0);
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("over streamed accounts is answered in the turn it came in, with what it would say otherwise", async () => {
    const streamed = () => true;
    const harness = createHarness({ one: { streamed }, two: { streamed } });
    const { service, clock, one, two } = harness;
    // The fee rates are asked for once.
    one.feeRates = two.feeRates = { takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_000 };
    await harness.closeData({ dryRun: true });
    await clock.advanceAsync(50);
    const later = await harness.closeData({ dryRun: true });
    const before = sells(harness).length;
    const result = service.tradeAtOnce(closeRequest({ dryRun: true }), closeContext(clock));
    if (result?.ok !== true) throw new Error("not answered at once");
    const { routing, execution, quote } = result.data;
    expect(execution).toEqual(later.execution);
    expect(routing).toEqual({ ...later.routing, routeId: routing.routeId, decidedAt: routing.decidedAt });
    expect(quote).toEqual({ ...later.quote, quoteId: quote?.quoteId, expiresAt: quote?.expiresAt });
    expect(routing.candidates[0]).toMatchObject({ feeBps: "4", feeSource: "account" });
    expect(sells(harness)).toHaveLength(before);
    expect(one.calls.positions + two.calls.positions).toBe(0);
    expect(allSessionsClosed(harness)).toBe(true);
    expect(harness.events.at(-1)).toMatchObject({ kind: "replied", dryRun: true });
    // What it quotes binds as any quote does.
    const bound = await harness.closeData({ quoteId: quote?.quoteId ?? "" });
    expect(bound.execution.state).toBe("COMPLETED");
  });

  it("over streamed accounts is refused in the turn it came in", async () => {
    const streamed = () => true;
    const harness = createHarness({ one: { streamed }, two: { streamed } });
    harness.one.feeRates = harness.two.feeRates = { takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_000 };
    await harness.closeData({ dryRun: true });
    await harness.clock.advanceAsync(50);
    const context = closeContext(harness.clock);
    // The venues say whether it is too much.
    expect(harness.service.tradeAtOnce(closeRequest({ dryRun: true, size: "9" }), context)).toBeNull();
    expect(harness.service.tradeAtOnce(closeRequest({ dryRun: true, quoteId: "qt_none" }), context)).toMatchObject({
      ok: false,
      code: "QUOTE_UNKNOWN",
    });
    expect(harness.events.at(-1)).toMatchObject({ kind: "refused", code: "QUOTE_UNKNOWN" });
    expect(allSessionsClosed(harness)).toBe(true);
  });

  it("says where a fee is from: the account, else the configuration, else the venue's default", async () => {
    const routing = { ...DEFAULT_ROUTING_SETTINGS, configuredFees: new Set(["venueone", "venuetwo"] as const) };
    const harness = createHarness({ service: { routing } });
    harness.one.feeRates = { takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_000 };
    const sourcesOf = ({ routing: report }: TradeData) =>
      report.candidates.slice(0, 2).map(({ feeSource }) => feeSource);
    expect(sourcesOf(await harness.closeData({ dryRun: true }))).toEqual(["account", "config"]);
    expect(sourcesOf(await createHarness().closeData({ dryRun: true }))).toEqual(["venueDefault", "venueDefault"]);
  });

  it("is not answered at once where something has to be asked or sent", async () => {
    const wanted: (number | undefined)[] = [];
    const streamed = (lots: number | undefined) => {
      wanted.push(lots);
      return lots !== undefined && lots <= 300;
    };
    const harness = createHarness({ one: { streamed }, two: {} });
    const { service, clock } = harness;
    harness.one.feeRates = harness.two.feeRates = { takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_000 };
    const { venueone } = closeRequest().credentials;
    const alone = { dryRun: true, credentials: { venueone } };
    const atOnce = (request: Partial<TradeRequest>) => service.tradeAtOnce(closeRequest(request), closeContext(clock));
    // Fee rates are not known yet.
    expect(atOnce(alone)).toBeNull();
    // Two hold the position: their fee rates are waited for.
    await harness.closeData({ dryRun: true });
    expect(atOnce(alone)?.ok).toBe(true);
    expect(wanted.at(-1)).toBe(250);
    // The other venue streams nothing; the exact size has to be read; more than is sure to be there.
    expect(atOnce({ dryRun: true })).toBeNull();
    expect(atOnce({ ...alone, size: "ALL" })).toBeNull();
    expect(atOnce({ ...alone, size: null, sizePercent: "50" })).toBeNull();
    expect(atOnce({ ...alone, size: "0.4" })).toBeNull();
    // Live, an unknown symbol, credentials that do not open.
    expect(atOnce({ credentials: { venueone } })).toBeNull();
    expect(atOnce({ ...alone, symbol: "NONE" })).toBeNull();
    expect(atOnce({ dryRun: true, preferredExchange: "venueone", credentials: { venueone: {} } })).toBeNull();
    expect(allSessionsClosed(harness)).toBe(true);
    expect(harness.store.rowCount()).toBe(0);
  });

  it("in its public form needs no credentials and shows no positions", () => {
    const harness = createHarness();
    const result = harness.service.quote(
      {
        symbol: "BTC",
        side: "BUY",
        size: "0.25",
        maxSlippageBps: 100,
        maxQuoteAgeMs: 1e9,
        preferredExchange: null,
        excludeExchanges: [],
      },
      null,
    );
    expect(result).toMatchObject({
      ok: true,
      quote: { side: "BUY", size: "0.25" },
      routing: {
        candidates: [
          { exchange: "venueone", eligible: true, positionSize: null },
          { exchange: "venuetwo", eligible: true, positionSize: null },
          { exchange: "venuethree", reasonCode: "SYMBOL_NOT_LISTED", positionSize: null },
          { exchange: "venuefour", reasonCode: "SYMBOL_NOT_LISTED", positionSize: null },
        ],
      },
    });
    expect(
      harness.service.quote(
        {
          symbol: "X",
          side: "BUY",
          size: "1",
          maxSlippageBps: 100,
          maxQuoteAgeMs: 1e9,
          preferredExchange: null,
          excludeExchanges: [],
        },
        null,
      ),
    ).toMatchObject({ ok: false, code: "UNKNOWN_SYMBOL" });
  });
});

describe("the store", () => {
  it("holds the intent before the order leaves, and nothing open after", async () => {
    const harness = createHarness();
    let openAtSend = 0;
    harness.one.fate = () => {
      openAtSend = harness.store.writtenText.filter((line) => line.startsWith("intent-open")).length;
      return { kind: "fill" };
    };
    await harness.closeData();
    expect(openAtSend).toBe(1);
    await harness.run(harness.service.drain(1_000));
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 10 })).toHaveLength(0);
    expect(await harness.store.scan("intent-settled", { prefix: "", limit: 10 })).toHaveLength(1);
  });

  it("that fails before the send means STORE_UNAVAILABLE and no order", async () => {
    const harness = createHarness();
    harness.store.gate = () => Promise.reject(storeUnavailable("COMMIT_FAILED"));
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({ ok: false, code: "STORE_UNAVAILABLE" });
    expect(sells(harness)).toHaveLength(0);
    harness.store.gate = async () => {};
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({ ok: true, success: true });
    expect(sells(harness)).toHaveLength(1);
  });

  it("that stalls is abandoned after two seconds, and what lands late is reverted", async () => {
    const harness = createHarness();
    let release: () => void = () => {};
    const stalled = new Promise<void>((resolve) => {
      release = resolve;
    });
    harness.store.gate = () => stalled;
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({
      ok: false,
      code: "STORE_UNAVAILABLE",
      details: { reason: "TIMEOUT" },
    });
    expect(sells(harness)).toHaveLength(0);
    release();
    harness.store.gate = async () => {};
    await harness.clock.advanceAsync(10);
    expect(await harness.store.scan("intent-open", { prefix: "", limit: 10 })).toHaveLength(0);
    expect(await harness.close({}, { idempotencyKey: "k" })).toMatchObject({
      ok: true,
      success: true,
      replayed: false,
    });
  });
});

describe("load and shutdown", () => {
  it("refuses the close past the bound of closes in flight", async () => {
    const harness = createHarness({ service: { maxInFlight: 2 } });
    harness.one.readLatencyMs = () => 100;
    const running = [1, 2].map(() => harness.service.trade(closeRequest({ size: "0.1" }), closeContext(harness.clock)));
    expect(await harness.service.trade(closeRequest({ size: "0.1" }), closeContext(harness.clock))).toMatchObject({
      ok: false,
      code: "OVERLOADED",
    });
    await harness.run(Promise.all(running));
    expect(await harness.close({ size: "0.1" })).toMatchObject({ ok: true });
  });

  it("drains: lets running closes end, refuses new ones, ends the resolver and closes its sessions", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    await harness.closeData({ size: "0.1", deadlineMs: 300 });
    const running = harness.service.trade(
      closeRequest({ size: "0.1", preferredExchange: "venuetwo" }),
      closeContext(harness.clock),
    );
    const drained = harness.service.drain(30_000);
    expect(await harness.service.trade(closeRequest(), closeContext(harness.clock))).toMatchObject({
      ok: false,
      code: "SHUTTING_DOWN",
    });
    expect(await harness.run(running)).toMatchObject({ ok: true, success: true });
    await harness.run(drained);
    expect(allSessionsClosed(harness)).toBe(true);
    expect(harness.service.status()).toMatchObject({ draining: true, inFlight: 0, resolver: { active: 0 } });
  });

  it("keeps going when the decision sink throws", async () => {
    const harness = createHarness({
      service: {
        onDecision: () => {
          throw new TypeError("recorder");
        },
      },
    });
    expect((await harness.closeData()).execution.state).toBe("COMPLETED");
  });
});

describe("secrets", () => {
  it("appear in no reply, stored row, log line or event, also when a venue echoes them", async () => {
    const harness = createHarness();
    harness.one.fate = once(
      {
        kind: "reject",
        reason: "AUTH",
        venueText: `bad key ${SECRET_ONE.toUpperCase()} and 0x${SECRET_ONE} for acct-venueone`,
      },
      { kind: "loseReply" },
      { kind: "fill" },
    );
    const results = [
      await harness.close({ size: "0.1" }, { idempotencyKey: "a" }),
      await harness.close({ size: "0.1", preferredExchange: "venueone", deadlineMs: 400 }, { idempotencyKey: "b" }),
      await harness.close({ size: "0.1", preferredExchange: "venueone" }, { idempotencyKey: "c", ownerId: null }),
      await harness.close({ size: "9" }, { idempotencyKey: "d" }),
    ];
    await harness.clock.advanceAsync(70_000);
    const everything = [
      JSON.stringify(results),
      JSON.stringify(harness.events),
      ...harness.logLines,
      ...harness.store.writtenText,
      JSON.stringify(harness.service.status()),
    ]
      .join("\n")
      .toLowerCase();
    for (let start = 0; start + 8 <= SECRET_ONE.length; start++)
      expect(everything).not.toContain(SECRET_ONE.slice(start, start + 8).toLowerCase());
    expect(JSON.stringify(harness.store.writtenText)).not.toContain("acct-venue");
    expect(JSON.stringify(results[0])).toContain("bad key [redacted] and 0x[redacted]");
  });

  it("are in sessions that serialise to nothing", () => {
    expect(JSON.stringify(new FakeSession("venueone", "acct"))).toBe("{}");
  });
});
