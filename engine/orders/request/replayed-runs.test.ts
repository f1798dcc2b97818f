/** A key that is used again while orders of its first use are at work, or open to be read: one run, reported once. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { ListedOrder } from "../listed-orders.js";
import type { TradeService } from "./service.js";
import type { PlaceFate } from "../test/fake-matching.js";
import type { TradeData } from "../types.js";
import { ASKER, closeContext, closeRequest, createHarness, openRequest, type Harness } from "../test/harness.js";
import { createDesk } from "../single/test/desk-harness.js";
import { FakeStreams } from "../test/fake-streams.js";
import { createRowSink, rowFaults, recordedRows } from "../test/row-sink.js";

const ACCOUNT = "acct-venueone";
const RESTING_CLOSE = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
/** Below the market: nothing of it is marketable. */
const RESTS = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const MARKET_ENTRY = { preferredExchange: "venueone", deadlineMs: 2_000 } as const;
const STOP = { stopLoss: "95000" };
const KEY = { idempotencyKey: "k" };
const MINUTE_MS = 60_000;
const TURNS_MAX = 1_000;

function recorded(): Harness {
  return createHarness({
    service: { records: createRowSink() },
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
}

/** The market comes to the first order at its venue, whose stream reports it. */
function fillFirst(harness: Harness, filledLots: number, averagePrice: string): void {
  const [entry] = harness.one.log;
  if (entry?.order == null) throw new Error("no such order");
  const status = filledLots === entry.command.qtyLots ? "FILLED" : "PARTIALLY_FILLED";
  const order: VenueOrder = { ...entry.order, status, filledLots, averagePrice };
  entry.order = order;
  entry.filledLots = filledLots;
  (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order });
}

const fillsOf = async ({ store }: Harness): Promise<number[]> =>
  (await recordedRows(store)).flatMap((row) => (row.table === "fill" ? [row.lots] : []));

describe("a key of which an order rests whose outcome was abandoned", () => {
  it("has the order followed once its next use finds it", async () => {
    const harness = recorded();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    await harness.closeData({ ...RESTING_CLOSE, deadlineMs: 500 }, KEY);
    await harness.clock.advanceAsync(2 * MINUTE_MS);
    expect(harness.service.status()).toMatchObject({ resolver: { active: 0 }, unknownCount: 1 });
    harness.one.orderReadFailure = () => null;
    const found = await harness.closeData({ ...RESTING_CLOSE, deadlineMs: 500 }, KEY);
    expect(found.execution.state).toBe("RESTING");
    expect(harness.service.status().followedCount).toBe(1);
    fillFirst(harness, 100, "101000");
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    fillFirst(harness, 250, "101000");
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(await fillsOf(harness)).toEqual([100, 250]);
    expect(await rowFaults(harness.store, [harness.one, harness.two])).toEqual([]);
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
  });
});

describe("a key that is used again", () => {
  it("while the stop of its entry is on its way has no state recorded twice", async () => {
    const harness = recorded();
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    harness.one.fate = ({ reduceOnly }) => ({ kind: "fill", ...(reduceOnly ? { latencyMs: 2_000 } : {}) });
    await harness.openData(STOP, RESTS, KEY);
    fillFirst(harness, 100, "99000");
    for (let turn = 0; turn < TURNS_MAX && harness.one.log.length === 1; turn++) await harness.clock.advanceAsync(20);
    // What is known of the run is stored with a stop that has no outcome yet.
    fillFirst(harness, 150, "99000");
    await harness.clock.advanceAsync(1_000);
    await harness.openData(STOP, RESTS, KEY);
    await harness.clock.advanceAsync(MINUTE_MS);
    fillFirst(harness, 250, "99000");
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(await rowFaults(harness.store, [harness.one, harness.two])).toEqual([]);
    expect(harness.one.log.slice(1).map(({ command }) => command.qtyLots)).toEqual([100, 50, 100]);
  });

  it("takes nothing back of what became known while its order was read", async () => {
    const harness = recorded();
    const { one } = harness;
    one.setPosition(ACCOUNT, "LONG", 0);
    one.fate = ({ reduceOnly }) => ({ kind: "fill", ...(reduceOnly ? { latencyMs: 2_000 } : {}) });
    await harness.openData(STOP, RESTS, KEY);
    fillFirst(harness, 100, "99000");
    for (let turn = 0; turn < TURNS_MAX && one.log.length === 1; turn++) await harness.clock.advanceAsync(20);
    fillFirst(harness, 110, "99000");
    await harness.clock.advanceAsync(1_000);
    const [, stop] = one.log;
    one.readLatencyMs = () => 3_000;
    one.shownOrder = (order) =>
      order.venueOrderId === stop?.order?.venueOrderId
        ? { ...order, status: "OPEN", filledLots: 0, averagePrice: null }
        : order;
    const again = harness.service.trade(openRequest(STOP, RESTS), closeContext(harness.clock, KEY));
    await harness.clock.advanceAsync(2_000);
    if (stop?.order == null) throw new Error("no stop is there");
    stop.order = { ...stop.order, status: "FILLED", filledLots: 100, averagePrice: "95000" };
    stop.filledLots = 100;
    (one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order: stop.order });
    await harness.run(again);
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    const { clientIdHex } = stop.command;
    const states = (await recordedRows(harness.store)).flatMap((row) =>
      row.table === "event" && row.order === clientIdHex ? [row.status] : [],
    );
    expect(states.at(-1)).toBe("FILLED");
    expect(states.filter((status) => status === "FILLED")).toHaveLength(1);
    expect(await rowFaults(harness.store, [harness.one, harness.two])).toEqual([]);
  });

  it("before the end that its order found is stored has no state recorded twice", async () => {
    const harness = recorded();
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    harness.one.fate = ({ reduceOnly }) => ({ kind: reduceOnly ? "fill" : "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    const request = { ...RESTS, deadlineMs: 500 };
    const first = await harness.openData(STOP, request, KEY);
    expect(first.execution.state).toBe("UNKNOWN");
    await harness.clock.advanceAsync(1_000);
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let held = 0;
    harness.store.gate = () => {
      held++;
      return opened;
    };
    harness.one.orderReadFailure = () => null;
    for (let turn = 0; turn < TURNS_MAX && held === 0; turn++) await harness.clock.advanceAsync(20);
    expect(held).toBe(1);
    const again = harness.service.trade(openRequest(STOP, request), closeContext(harness.clock, KEY));
    await harness.clock.advanceAsync(1_000);
    open();
    expect(await harness.run(again)).toMatchObject({ ok: true, data: { execution: { state: "RESTING" } } });
    fillFirst(harness, 100, "99000");
    await harness.clock.advanceAsync(MINUTE_MS);
    fillFirst(harness, 250, "99000");
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(await rowFaults(harness.store, [harness.one, harness.two])).toEqual([]);
    expect(harness.one.log.slice(1).map(({ command }) => command.qtyLots)).toEqual([100, 150]);
  });

  it("before the end that its close found is stored has what fills later in the record", async () => {
    const harness = recorded();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    const request = { ...RESTING_CLOSE, deadlineMs: 500 };
    const first = await harness.closeData(request, KEY);
    expect(first.execution.state).toBe("UNKNOWN");
    await harness.clock.advanceAsync(1_000);
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let held = 0;
    harness.store.gate = () => {
      held++;
      return opened;
    };
    harness.one.orderReadFailure = () => null;
    for (let turn = 0; turn < TURNS_MAX && held === 0; turn++) await harness.clock.advanceAsync(20);
    expect(held).toBe(1);
    const again = harness.service.trade(closeRequest(request), closeContext(harness.clock, KEY));
    await harness.clock.advanceAsync(1_000);
    open();
    expect(await harness.run(again)).toMatchObject({ ok: true, data: { execution: { state: "RESTING" } } });
    fillFirst(harness, 100, "101000");
    await harness.clock.advanceAsync(MINUTE_MS);
    fillFirst(harness, 250, "101000");
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(await rowFaults(harness.store, [harness.one, harness.two])).toEqual([]);
    expect(await fillsOf(harness)).toEqual([100, 250]);
  });
});

describe("a key of an entry whose stop was sent after its reply by a process that died", () => {
  /** The first stop is refused, so that the reply is final; the second one's word dies with the process. */
  async function killedAtStop(second: PlaceFate): Promise<{ harness: Harness; service: TradeService }> {
    const harness = recorded();
    const { clock, one } = harness;
    one.setPosition(ACCOUNT, "LONG", 0);
    let count = 0;
    one.fate = ({ trigger }) => {
      if (trigger === undefined) return { kind: "fill" };
      return count++ === 0 ? { kind: "reject", reason: "RATE_LIMITED" } : second;
    };
    const { execution } = await harness.openData(STOP, MARKET_ENTRY, KEY);
    expect(execution).toMatchObject({ final: true, protection: "FAILED" });
    for (let turn = 0; turn < TURNS_MAX && count < 2; turn++) await clock.advanceAsync(20);
    const service = await harness.restart();
    await clock.advanceAsync(MINUTE_MS);
    return { harness, service };
  }

  const again = async ({ clock, run }: Harness, service: TradeService): Promise<TradeData> => {
    const result = await run(service.trade(openRequest(STOP, MARKET_ENTRY), closeContext(clock, KEY)));
    if (!result.ok) throw new Error(`refused: ${result.code}`);
    expect(result.replayed).toBe(true);
    return result.data;
  };

  it("has the stop looked up by its next use, which says what is known of it", async () => {
    const { harness, service } = await killedAtStop({ kind: "loseReply" });
    const { execution, routing } = await again(harness, service);
    expect(execution).toMatchObject({ final: true, protection: "PLACED" });
    expect(execution.protectionOrders).toHaveLength(2);
    expect((await service.execution(routing.routeId, ASKER))?.execution).toEqual(execution);
    expect(service.status()).toMatchObject({ unknownCount: 0, followedCount: 1 });
  });

  it("is answered with the stop of unknown outcome while its venue does not say", async () => {
    const { harness, service } = await killedAtStop({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const { execution } = await again(harness, service);
    expect(execution).toMatchObject({ final: false, protection: "UNKNOWN" });
    harness.one.orderReadFailure = () => null;
    expect((await again(harness, service)).execution).toMatchObject({ final: true, protection: "PLACED" });
  });

  it("says of a stop that never arrived that it was not placed", async () => {
    const { harness, service } = await killedAtStop({ kind: "loseRequest" });
    const { execution } = await again(harness, service);
    expect(execution).toMatchObject({ final: true, protection: "FAILED" });
    expect(execution.protectionOrders).toMatchObject([{ reason: "RATE_LIMITED" }, { reason: "NOT_PLACED" }]);
    expect(harness.one.log.filter(({ command }) => command.trigger !== undefined).length).toBeLessThanOrEqual(2);
  });

  it("says what a question for the execution found", async () => {
    const { harness, service } = await killedAtStop({ kind: "loseReply" });
    const [{ routeId }] = service.status().unknown as [ListedOrder];
    await harness.run(service.askExecution(routeId, openRequest().credentials, ASKER));
    const { execution } = await again(harness, service);
    expect(execution).toMatchObject({ final: true, protection: "PLACED" });
  });
});

describe("a key of a single order that rests and whose outcome was abandoned", () => {
  it("has the order followed once its next use finds it", async () => {
    const harness = await createDesk({ desk: { records: createRowSink() } });
    const { venue, clock } = harness;
    venue.fate = () => ({ kind: "loseReply" });
    venue.orderReadFailure = () => "VENUE_ERROR";
    const request = { type: "LIMIT", price: "95000", timeInForce: "GTC" } as const;
    await harness.order(request, KEY);
    await clock.advanceAsync(12 * MINUTE_MS);
    expect(harness.desk.status().resolver.active).toBe(0);
    venue.orderReadFailure = () => null;
    expect(await harness.order(request, KEY)).toMatchObject({ status: "OPEN" });
    expect(harness.desk.status().followedCount).toBe(1);
    const [entry] = venue.log;
    if (entry?.order == null) throw new Error("no such order");
    entry.order = { ...entry.order, status: "FILLED", filledLots: 250, averagePrice: "95000" };
    entry.filledLots = 250;
    await clock.advanceAsync(5 * MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(rows.flatMap((row) => (row.table === "fill" ? [row.lots] : []))).toEqual([250]);
  });
});
