/** What ends an order of unknown outcome, and what does not: clocks that step, orders that are not ours, yeses without an end. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { TradeData, TradeResult } from "../types.js";
import { ASKER, closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";
import type { TradeService } from "../request/service.js";

const HOUR_MS = 3_600_000;
const KEY = { idempotencyKey: "key-1" };

const filledLots = ({ one, two }: Harness): number =>
  [...one.log, ...two.log].reduce((sum, order) => sum + order.filledLots, 0);
const orderCount = ({ one, two }: Harness): number => one.log.length + two.log.length;

async function settledWithin(harness: Harness, promise: Promise<TradeResult>, ms: number): Promise<TradeResult | null> {
  let settled: TradeResult | null = null;
  void promise.then((result) => {
    settled = result;
  });
  await harness.clock.advanceAsync(ms);
  return settled;
}

function again(harness: Harness, service: TradeService): Promise<TradeResult> {
  return service.trade(closeRequest({ deadlineMs: 1_000 }), closeContext(harness.clock, KEY));
}

describe("our wall clock", () => {
  it.each([HOUR_MS, 4_000, -HOUR_MS])("set by %i ms proves no order absent that may still be taken", async (stepMs) => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "late", executeAfterMs: 1_400 });
    const reply = harness.service.trade(closeRequest({ deadlineMs: 12_000 }), closeContext(harness.clock));
    await harness.clock.advanceAsync(450);
    harness.clock.stepWall(stepMs);
    await harness.clock.advanceAsync(15_000);
    expect(await reply).toMatchObject({ data: { execution: { state: "COMPLETED", filledSize: "0.25" } } });
    expect([filledLots(harness), orderCount(harness)]).toEqual([250, 1]);
  });

  it("set forward by a day ends no key, whatever is swept by it", async () => {
    const harness = createHarness();
    await harness.service.start();
    harness.one.fate = () => ({ kind: "late", executeAfterMs: 1_400 });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const close = () =>
      harness.run(
        harness.service.trade(
          closeRequest({ deadlineMs: 1_000 }),
          closeContext(harness.clock, { idempotencyKey: "k" }),
        ),
      );
    expect(await close()).toMatchObject({ data: { execution: { state: "UNKNOWN" } } });
    harness.clock.stepWall(25 * HOUR_MS);
    // Long enough for the sweeps.
    await harness.clock.advanceAsync(HOUR_MS);
    harness.one.fate = () => ({ kind: "fill" });
    expect(await close()).toMatchObject({ data: { execution: { state: "UNKNOWN" } } });
    expect(harness.one.log.length + harness.two.log.length).toBe(1);
  });

  it("set back keeps no order unknown that was never placed", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseRequest" });
    const reply = harness.service.trade(closeRequest({ deadlineMs: 12_000 }), closeContext(harness.clock));
    await harness.clock.advanceAsync(450);
    harness.clock.stepWall(-HOUR_MS);
    expect(await settledWithin(harness, reply, 12_000)).toMatchObject({
      data: { execution: { state: "COMPLETED", legs: [{ reason: "NOT_PLACED" }, { outcome: "CONFIRMED" }] } },
    });
  });

  it("set forward before a start proves no order of the start before it absent: the venue's time does", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "late", executeAfterMs: 1_400 });
    void harness.service.trade(closeRequest(), closeContext(harness.clock, KEY));
    while (orderCount(harness) === 0) await harness.clock.advanceAsync(1);
    harness.clock.stepWall(HOUR_MS);
    const service = await harness.restart();
    harness.one.fate = () => ({ kind: "fill" });
    expect(await harness.run(again(harness, service))).toMatchObject({ data: { execution: { state: "UNKNOWN" } } });
    await harness.clock.advanceAsync(5_000);
    expect(await harness.run(again(harness, service))).toMatchObject({
      data: { execution: { state: "COMPLETED", filledSize: "0.25" } },
    });
    expect([filledLots(harness), orderCount(harness)]).toEqual([250, 1]);
  });

  it("set back before a start delays no proof", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseRequest" });
    void harness.service.trade(closeRequest(), closeContext(harness.clock, KEY));
    while (orderCount(harness) === 0) await harness.clock.advanceAsync(1);
    harness.clock.stepWall(-HOUR_MS);
    const service = await harness.restart();
    harness.one.fate = () => ({ kind: "fill" });
    await harness.clock.advanceAsync(8_000);
    expect(await harness.run(again(harness, service))).toMatchObject({
      data: { execution: { state: "COMPLETED", filledSize: "0.25" } },
    });
  });
});

describe("an order found under the client id of one of unknown outcome", () => {
  const other: [string, (order: VenueOrder) => VenueOrder][] = [
    ["side", (order) => ({ ...order, side: "BUY" })],
    ["size", (order) => ({ ...order, qtyLots: order.qtyLots + 1 })],
    ["age", (order) => ({ ...order, tsVenueMs: order.tsVenueMs - 24 * HOUR_MS })],
  ];
  it.each(other)("of another %s is not taken for it, and proves no absence", async (_, shown) => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.shownOrder = shown;
    const data = await harness.closeData({ deadlineMs: 12_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", filledSize: "0", final: false });
    expect(orderCount(harness)).toBe(1);
    harness.one.shownOrder = (order) => order;
    await harness.clock.advanceAsync(60_000);
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution.state).toBe("COMPLETED");
  });
});

describe("an acknowledged order", () => {
  const hide = (harness: Harness): void => {
    harness.one.fate = () => ({ kind: "fill", ackOnlyMs: 300_000 });
  };
  const rowsOf = (service: TradeService): unknown => {
    const { openCount, open, unknownCount } = service.status();
    return { openCount, open: open.map(({ routeId, fromEarlierStart }) => [routeId, fromEarlierStart]), unknownCount };
  };

  it("whose end is never seen is listed as open until it is, and found by its execution, also after a restart", async () => {
    const harness = createHarness();
    hide(harness);
    const data = await harness.closeData({ deadlineMs: 500 });
    const { routeId } = data.routing;
    expect(data.execution).toMatchObject({ state: "SUBMITTED", final: false });
    await harness.clock.advanceAsync(70_000);
    expect(rowsOf(harness.service)).toEqual({ openCount: 1, open: [[routeId, false]], unknownCount: 0 });
    expect((await harness.service.execution(routeId, ASKER))?.execution.state).toBe("SUBMITTED");

    const service = await harness.restart();
    expect(rowsOf(service)).toEqual({ openCount: 1, open: [[routeId, true]], unknownCount: 0 });
    await harness.clock.advanceAsync(300_000);
    const asked = await harness.run(service.askExecution(routeId, closeRequest().credentials, ASKER));
    expect(asked).toMatchObject({ ok: true, data: { execution: { state: "COMPLETED", filledSize: "0.25" } } });
    expect(rowsOf(service)).toEqual({ openCount: 0, open: [], unknownCount: 0 });
  });

  it("that the venue may still drop, and knows no more after its bound, was never placed", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "drop" });
    const resolved: TradeData[] = [];
    harness.service.onResolved(({ data }) => resolved.push(data));
    const data = await harness.closeData({ deadlineMs: 500 });
    expect(data.execution.state).toBe("SUBMITTED");
    await harness.clock.advanceAsync(70_000);
    expect(resolved).toMatchObject([
      { execution: { state: "REJECTED", filledSize: "0", legs: [{ reason: "NOT_PLACED" }] } },
    ]);
    expect(rowsOf(harness.service)).toEqual({ openCount: 0, open: [], unknownCount: 0 });
  });
});

describe("an Idempotency-Key used again after its 24 hours", () => {
  it.each([
    ["swept", true],
    ["still in the store", false],
  ])("is a new order while the record before is %s", async (_, swept) => {
    const harness = createHarness();
    harness.one.setPosition("acct-venueone", "LONG", 1_000);
    if (swept) await harness.service.start();
    await harness.closeData({}, KEY);
    await harness.clock.advanceAsync(25 * HOUR_MS);
    const data = await harness.closeData({}, KEY);
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
    expect([filledLots(harness), orderCount(harness)]).toEqual([500, 2]);
    expect(new Set(harness.one.log.map(({ command }) => command.clientIdHex)).size).toBe(2);
  });
});

describe("the scope of an Idempotency-Key in public mode", () => {
  const PUBLIC = { ...KEY, ownerId: null };

  it("is the accounts of the credentials, whichever venue is preferred", async () => {
    const harness = createHarness();
    const first = await harness.close({ preferredExchange: "venueone" }, { ...PUBLIC, rawBody: Buffer.from("one") });
    expect(first).toMatchObject({ ok: true, success: true });
    for (const preferredExchange of ["venuetwo", null] as const) {
      const other = { ...PUBLIC, rawBody: Buffer.from(preferredExchange ?? "none") };
      expect(await harness.close({ preferredExchange }, other)).toMatchObject({
        ok: false,
        code: "IDEMPOTENCY_MISMATCH",
      });
    }
    expect(filledLots(harness)).toBe(250);
    expect([...harness.one.sessions, ...harness.two.sessions].every(({ closed }) => closed)).toBe(true);
  });

  it("is another one for other accounts, and for another account of the same key", async () => {
    const harness = createHarness();
    harness.one.setPosition("acct-venueone", "LONG", 2_000);
    const block = { account: "acct-venueone", secret: "s" };
    for (const credentials of [{ venueone: block }, { venueone: { ...block, scope: "vault" } }])
      expect(await harness.close({ credentials }, PUBLIC)).toMatchObject({ ok: true, replayed: false });
    expect(filledLots(harness)).toBe(500);
  });
});
