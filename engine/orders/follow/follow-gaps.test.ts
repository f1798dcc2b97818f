/** Where an order that rests could be lost from sight: a stream that names no price, a venue out of reach, a crash. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { Market } from "../../market/market.js";
import { ASKER, closeContext, closeRequest, createHarness, recordingLogger, type Harness } from "../test/harness.js";
import { FakeStreams } from "../test/fake-streams.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";
import { createDesk, orderContext, orderName } from "../single/test/desk-harness.js";
import type { OrderAttempt } from "../run.js";
import { Resolver } from "../send/resolver.js";
import { applyPrice } from "../send/fill-price.js";

const ACCOUNT = "acct-venueone";
const RESTING_CLOSE = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
const MINUTE_MS = 60_000;
const CREDENTIALS = closeRequest().credentials;

function recorded(): Harness {
  return createHarness({
    service: { records: createRowSink() },
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
}

/** Something happens to the n-th order at its venue. */
function change(harness: Harness, index: number, change: Partial<VenueOrder>): VenueOrder {
  const entry = harness.one.log[index];
  if (entry?.order == null) throw new Error("no such order");
  entry.order = { ...entry.order, averagePrice: "101000", ...change };
  entry.filledLots = entry.order.filledLots;
  return entry.order;
}

const tell = (harness: Harness, order: VenueOrder): void =>
  (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order });

describe("a stream that tells an order's end without the price of its fills", () => {
  it("has the price read, for the record and the execution", async () => {
    const harness = recorded();
    const data = await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(MINUTE_MS);
    tell(harness, { ...change(harness, 0, { status: "FILLED", filledLots: 250 }), averagePrice: null });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", averagePrice: "101000" });
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("keeps the price of what filled before, until there is a newer one", async () => {
    const harness = recorded();
    const data = await harness.closeData(RESTING_CLOSE);
    const part = change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100 });
    await harness.clock.advanceAsync(MINUTE_MS);
    change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 200, averagePrice: "101010" });
    tell(harness, { ...part, filledLots: 200, averagePrice: null });
    await harness.clock.advanceAsync(MINUTE_MS);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ filledSize: "0.2", averagePrice: "101010" });
  });
});

describe("a stream that is lost after a look at a venue where nothing happened for long", () => {
  it.each(["STALE", "DOWN"] as const)("does not put off the next look: %s", async (state) => {
    const harness = recorded();
    const streams = harness.one.streams as FakeStreams;
    const data = await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(20 * MINUTE_MS);
    const { orders } = harness.one.calls;
    for (let ms = 0; harness.one.calls.orders === orders && ms < 10 * MINUTE_MS; ms += 1_000)
      await harness.clock.advanceAsync(1_000);
    streams.isFull = true;
    streams.setState(state);
    await harness.clock.advanceAsync(1_000);
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(MINUTE_MS + 1_000);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
  });
});

describe("a venue that is out of reach at the start", () => {
  it("has its orders followed once it lists its contracts", async () => {
    const harness = recorded();
    await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(1_000);
    const listed = new Map<string, Market>();
    const room = harness.one.room;
    harness.one.room = (gate) => ({ ...room.call(harness.one, gate), markets: listed });
    const next = await harness.restart();
    expect(next.status()).toMatchObject({ followedCount: 1, unattendedCount: 1 });
    listed.set("BTC", harness.one.market);
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    const request = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true });
    await harness.run(next.trade(request, closeContext(harness.clock)));
    await harness.clock.advanceAsync(MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(rows.flatMap((row) => (row.table === "fill" ? [row.lots] : []))).toEqual([250]);
  });
});

describe("an order that its caller's question finds resting", () => {
  it("is followed from then on", async () => {
    const harness = recorded();
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "VENUE_ERROR";
    const { routing } = await harness.closeData({ ...RESTING_CLOSE, deadlineMs: 500 });
    await harness.clock.advanceAsync(2 * MINUTE_MS);
    expect(harness.service.status()).toMatchObject({ resolver: { active: 0 }, unknownCount: 1 });
    harness.one.orderReadFailure = () => null;
    const asked = await harness.run(harness.service.askExecution(routing.routeId, CREDENTIALS, ASKER));
    expect(asked).toMatchObject({ ok: true, data: { execution: { state: "RESTING" } } });
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    const now = await harness.service.execution(routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
  });
});

describe("a single order that its caller's question finds resting", () => {
  it("is followed from then on", async () => {
    const harness = await createDesk({ desk: { records: createRowSink() } });
    const { venue, clock } = harness;
    venue.fate = () => ({ kind: "loseReply" });
    venue.orderReadFailure = () => "VENUE_ERROR";
    const order = await harness.order({ type: "LIMIT", price: "95000", timeInForce: "GTC" });
    await clock.advanceAsync(12 * MINUTE_MS);
    expect(harness.desk.status().resolver.active).toBe(0);
    venue.orderReadFailure = () => null;
    const name = orderName(order.clientOrderId ?? order.venueClientOrderId ?? "");
    const asked = await harness.run(harness.desk.orderStatus(name, orderContext(clock)));
    expect(asked).toMatchObject({ ok: true, order: { status: "OPEN" } });
    expect(harness.desk.status().followedCount).toBe(1);
    const [entry] = venue.log;
    if (entry?.order == null) throw new Error("no such order");
    entry.order = { ...entry.order, status: "FILLED", filledLots: 250, averagePrice: "95000" };
    await clock.advanceAsync(5 * MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(rows.flatMap((row) => (row.table === "fill" ? [row.lots] : []))).toEqual([250]);
  });
});

describe("a price that is read late", () => {
  it("takes nothing back of what is known of its order by then", async () => {
    const harness = recorded();
    await harness.closeData(RESTING_CLOSE);
    const known = change(harness, 0, { status: "FILLED", filledLots: 250, averagePrice: null });
    const attempt = {
      outcome: "CONFIRMED",
      venue: "venueone",
      qtyLots: 250,
      timeInForce: "GTC",
      order: known,
    } as OrderAttempt;
    const logger = recordingLogger([]);
    const parts = { clock: harness.clock, logger, resolver: new Resolver(harness.clock, logger) };
    const before: VenueOrder = { ...known, status: "PARTIALLY_FILLED", averagePrice: "101000" };
    applyPrice(parts, attempt, { ...before, filledLots: 100 });
    expect(attempt.order).toMatchObject({ status: "FILLED", filledLots: 250, averagePrice: null });
    applyPrice(parts, attempt, { ...before, filledLots: 250 });
    expect(attempt.order).toMatchObject({ status: "FILLED", filledLots: 250, averagePrice: "101000" });
  });
});

describe("a read that lags behind an end whose price is read", () => {
  it("does not end the reading: the price of all that filled is found", async () => {
    const harness = recorded();
    harness.one.fate = () => ({ kind: "loseReply", liquidity: 1 });
    const sinceMs = harness.one.nowMs();
    harness.one.shownOrder = (order) => {
      const passedMs = harness.one.nowMs() - sinceMs;
      if (passedMs < 10_000) return { ...order, averagePrice: null, fee: null };
      if (passedMs > 20_000) return order;
      return { ...order, status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "100500" };
    };
    const { routing } = await harness.closeData({ ...RESTING_CLOSE, limitPrice: "99000" });
    await harness.clock.advanceAsync(MINUTE_MS);
    const averagePrice = harness.one.log[0]?.order?.averagePrice ?? null;
    const now = await harness.service.execution(routing.routeId, ASKER);
    expect(averagePrice).not.toBeNull();
    expect(now?.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", averagePrice });
  });
});

describe("a crash between a stop and the report of it", () => {
  it("leaves one run: the stop that is found is not lost again when the entry goes on filling", async () => {
    const harness = recorded();
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    harness.one.fate = (command) => ({ kind: command.trigger === undefined ? "fill" : "loseReply" });
    const entry = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
    const { routing } = await harness.openData({ stopLoss: "95000" }, entry);
    await harness.clock.advanceAsync(1_000);
    change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "99000" });
    harness.one.setPosition(ACCOUNT, "LONG", 100);
    for (let ms = 0; harness.one.log.length < 2 && ms < 60_000; ms += 5) await harness.clock.advanceAsync(5);
    expect(harness.one.log).toHaveLength(2);
    const next = await harness.restart();
    const asked = await harness.run(next.askExecution(routing.routeId, CREDENTIALS, ASKER));
    expect(asked).toMatchObject({ ok: true, data: { execution: { protectionOrders: [{ kind: "STOP_LOSS" }] } } });
    change(harness, 0, { status: "FILLED", filledLots: 250, averagePrice: "99000" });
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    const now = await next.execution(routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({
      filledSize: "0.25",
      protectionOrders: [{ kind: "STOP_LOSS", status: "OPEN" }],
    });
  });
});
