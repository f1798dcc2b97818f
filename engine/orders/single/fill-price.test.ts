/** A fill whose price its venue did not say with the order's end: read again, and never recorded as a fill at 0. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { VenueRoom } from "../../ports.js";
import { ASKER, closeRequest, createHarness } from "../test/harness.js";
import type { OrderEvent } from "../conclude/order-events.js";
import { NO_RECORDS, type RecordSink } from "../conclude/record-sink.js";
import { CloseRows } from "../../recorder/close-rows.js";
import { readRows } from "../../recorder/test/read-row.js";
import { createDesk, orderContext, orderName, type DeskHarness } from "./test/desk-harness.js";

interface ReportedFill {
  readonly px: unknown;
  readonly qty: unknown;
  readonly ver: unknown;
}

/** As the recorder makes them: the rows that wait for the store. */
function rowSink(): { readonly sink: RecordSink; readonly fills: ReportedFill[] } {
  const fills: ReportedFill[] = [];
  const rows = new CloseRows({ debug() {}, info() {}, warn() {}, error() {} });
  const note = (events: readonly OrderEvent[], writes: ReturnType<CloseRows["events"]>): void => {
    for (const { key, value } of events.length === 0 ? [] : writes) {
      if (!key.startsWith("fills|") || value === null) continue;
      for (const { price, qty, ver } of readRows("fills", value)) fills.push({ px: price, qty, ver });
    }
  };
  const sink: RecordSink = {
    ...NO_RECORDS,
    decisionWrites(concluded) {
      note(concluded.events, rows.decision(concluded));
      return [];
    },
    eventWrites(run, events) {
      note(events, rows.events(run, events));
      return [];
    },
  };
  return { sink, fills };
}

/** Reads show orders without their price until the virtual time. */
function unpricedUntil(until: () => number, now: () => number): (room: VenueRoom) => VenueRoom {
  const bare = (order: VenueOrder | null): VenueOrder | null =>
    order === null || now() >= until() ? order : { ...order, averagePrice: null, fee: null };
  return (room) => ({
    ...room,
    reader: {
      ...room.reader,
      readOrder: async (...args: Parameters<VenueRoom["reader"]["readOrder"]>) => {
        const read = await room.reader.readOrder(...args);
        return read.ok ? { ...read, value: bare(read.value) } : read;
      },
    },
  });
}

async function lossyDesk(pricedAfterMs: number): Promise<{ desk: DeskHarness; fills: ReportedFill[] }> {
  const { sink, fills } = rowSink();
  let untilMs = Number.POSITIVE_INFINITY;
  let nowMs = (): number => 0;
  const desk = await createDesk({
    desk: { records: sink },
    mutateRoom: unpricedUntil(
      () => untilMs,
      () => nowMs(),
    ),
  });
  nowMs = () => desk.clock.wallMs();
  untilMs = desk.clock.wallMs() + pricedAfterMs;
  desk.venue.fate = () => ({ kind: "loseReply" });
  return { desk, fills };
}

describe("a single order whose reply was lost, and the price of its fill with it", () => {
  it("is answered with the price that a later look finds, and recorded with it", async () => {
    const { desk, fills } = await lossyDesk(900);
    const order = await desk.order();
    expect(order).toMatchObject({ status: "FILLED", averagePrice: expect.stringMatching(/[1-9]/) });
    await desk.clock.advanceAsync(2_000);
    expect(fills.map(({ px }) => px)).toEqual([order.averagePrice]);
  });

  it("is recorded without a price, never with 0, and again with it once its venue says it", async () => {
    const { desk, fills } = await lossyDesk(8_000);
    expect(await desk.order()).toMatchObject({ status: "FILLED", averagePrice: null });
    await desk.clock.advanceAsync(60_000);
    expect(fills.map(({ px }) => px)).toEqual([null, expect.stringMatching(/[1-9]/)]);
    expect(Number(fills[1]?.ver)).toBeGreaterThan(Number(fills[0]?.ver));
    expect(fills[1]?.qty).toBe(fills[0]?.qty);
  });

  it("answers a replay with the price that was found after the reply", async () => {
    const { desk } = await lossyDesk(8_000);
    const context = { idempotencyKey: "k" };
    expect(await desk.order({}, context)).toMatchObject({ averagePrice: null });
    await desk.clock.advanceAsync(60_000);
    expect(await desk.order({}, context)).toMatchObject({ averagePrice: expect.stringMatching(/[1-9]/) });
  });

  it("leaves no session open, also where its venue never says the price", async () => {
    const { desk, fills } = await lossyDesk(Number.POSITIVE_INFINITY);
    await desk.order();
    await desk.clock.advanceAsync(600_000);
    expect(fills.map(({ px }) => px)).toEqual([null]);
    expect(desk.venue.sessions.filter(({ closed }) => !closed)).toEqual([]);
  });
});

describe("a close whose reply was lost, and the price of its fill with it", () => {
  it("goes on at once, and is recorded with the price when its venue says it", async () => {
    const { sink, fills } = rowSink();
    const harness = createHarness({ service: { records: sink } });
    harness.one.fate = () => ({ kind: "loseReply", shows: { averagePrice: null } });
    const data = await harness.closeData({ preferredExchange: "venueone" });
    expect(data.execution).toMatchObject({ state: "COMPLETED", averagePrice: null });
    await harness.clock.advanceAsync(1_000);
    expect(fills.map(({ px }) => px)).toEqual([null]);
    for (const logged of harness.one.log)
      if (logged.order !== null) logged.order = { ...logged.order, averagePrice: "1000.5" };
    await harness.clock.advanceAsync(60_000);
    expect(fills.map(({ px }) => px)).toEqual([null, "1000.5"]);
  });
});

describe("an order of unknown outcome that is found by asking, without the price of its fill", () => {
  it("of the desk is read again until its venue says the price", async () => {
    const { desk, fills } = await lossyDesk(68_000);
    const { venue } = desk;
    venue.orderReadFailure = () => "TIMEOUT";
    const { venueClientOrderId } = await desk.order({ deadlineMs: 500 });
    await desk.clock.advanceAsync(63_000);
    expect(desk.desk.status().unknownCount).toBe(1);
    venue.orderReadFailure = () => null;
    const asked = await desk.run(desk.desk.orderStatus(orderName(venueClientOrderId ?? ""), orderContext(desk.clock)));
    expect(asked).toMatchObject({ ok: true, order: { status: "FILLED", averagePrice: null } });
    await desk.clock.advanceAsync(60_000);
    expect(fills.map(({ px }) => px)).toEqual([null, expect.stringMatching(/[1-9]/)]);
    expect(venue.sessions.filter(({ closed }) => !closed)).toEqual([]);
  });

  it("of a close is read again until its venue says the price", async () => {
    const { sink, fills } = rowSink();
    const harness = createHarness({ service: { records: sink } });
    const { one } = harness;
    one.fate = () => ({ kind: "loseReply", shows: { averagePrice: null } });
    one.orderReadFailure = () => "TIMEOUT";
    const request = { preferredExchange: "venueone", deadlineMs: 500 } as const;
    const data = await harness.closeData(request);
    const { routeId } = data.routing;
    await harness.clock.advanceAsync(63_000);
    one.orderReadFailure = () => null;
    const { credentials } = closeRequest();
    expect(await harness.run(harness.service.askExecution(routeId, credentials, ASKER))).toMatchObject({
      ok: true,
      data: { execution: { state: "COMPLETED", averagePrice: null } },
    });
    for (const logged of one.log) if (logged.order !== null) logged.order = { ...logged.order, averagePrice: "1000.5" };
    await harness.clock.advanceAsync(60_000);
    expect(fills.map(({ px }) => px)).toEqual([null, "1000.5"]);
    expect((await harness.service.execution(routeId, ASKER))?.execution.averagePrice).not.toBeNull();
    expect(one.sessions.filter(({ closed }) => !closed)).toEqual([]);
  });
});
