/** Orders that rest after their reply: what fills later, and how they end, reaches the record, once. */
import { Owners } from "../../domain/owner.js";
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import { decodeJson } from "../../storage/state-store.js";
import { Background } from "../background.js";
import { SendBounds } from "../send/absence-proof.js";
import type { FollowRow } from "./followed-run.js";
import { OrderFollows } from "./order-follows.js";
import {
  ASKER,
  closeContext,
  closeRequest,
  createHarness,
  recordingLogger,
  SECRET_ONE,
  testHash,
  type Harness,
} from "../test/harness.js";
import type { TradeRun } from "../run.js";
import { FakeStreams } from "../test/fake-streams.js";
import { createRowSink, rowFaults, recordedRows, type RecordedRow } from "../test/row-sink.js";
import { createDesk, CREDENTIALS, orderName, orderContext, type DeskHarness } from "../single/test/desk-harness.js";

const ACCOUNT = "acct-venueone";
const RESTING_CLOSE = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
const MINUTE_MS = 60_000;

function recorded(withStreams: boolean): Harness {
  return createHarness({
    service: { records: createRowSink() },
    prepareVenue: (venue) => {
      if (withStreams) venue.streams = new FakeStreams();
    },
  });
}

/** Something happens to the n-th order at its venue. */
function change(harness: { one: Harness["one"] }, index: number, change: Partial<VenueOrder>): VenueOrder {
  const entry = harness.one.log[index];
  if (entry?.order == null) throw new Error("no such order");
  entry.order = { ...entry.order, averagePrice: "101000", ...change };
  entry.filledLots = entry.order.filledLots;
  return entry.order;
}

const fillsOf = (rows: readonly RecordedRow[]): number[] =>
  rows.flatMap((row) => (row.table === "fill" ? [row.lots] : []));
const statesOf = (rows: readonly RecordedRow[]): string[] =>
  rows.flatMap((row) => (row.table === "event" ? [row.status] : []));
const tell = (harness: Harness, order: VenueOrder, lots: number, tradeId: string): void =>
  (harness.one.streams as FakeStreams).tellFill(ACCOUNT, order, lots, tradeId);

describe("a LIMIT close that rests", () => {
  it("has each later fill and its end in the record, once", async () => {
    const harness = recorded(false);
    const data = await harness.closeData(RESTING_CLOSE);
    expect(data.execution.state).toBe("RESTING");
    change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100 });
    await harness.clock.advanceAsync(2 * MINUTE_MS);
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(statesOf(rows)).toEqual(["INTENT", "SENT", "OPEN", "PARTIALLY_FILLED", "FILLED"]);
    expect(fillsOf(rows)).toEqual([100, 250]);
    expect(await rowFaults(harness.store, [harness.one, harness.two])).toEqual([]);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now?.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", final: true });
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
    expect(harness.service.status()).toMatchObject({ followedCount: 0, unattendedCount: 0 });
  });

  it.each(["CANCELED", "FILLED"] as const)(
    "whose size was changed meanwhile has its end in the record: %s",
    async (status) => {
      const harness = recorded(false);
      await harness.closeData(RESTING_CLOSE);
      // No read shows it open in this size.
      change(harness, 0, { status, qtyLots: 200, filledLots: status === "FILLED" ? 200 : 0 });
      await harness.clock.advanceAsync(10 * MINUTE_MS);
      expect(statesOf(await recordedRows(harness.store))).toEqual(["INTENT", "SENT", "OPEN", status]);
      expect(harness.service.status()).toMatchObject({ followedCount: 0 });
    },
  );

  it("that is canceled has its end in the record, once", async () => {
    const harness = recorded(false);
    await harness.closeData(RESTING_CLOSE);
    change(harness, 0, { status: "CANCELED", averagePrice: null });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(statesOf(rows)).toEqual(["INTENT", "SENT", "OPEN", "CANCELED"]);
    expect(fillsOf(rows)).toEqual([]);
  });

  it("is reported at once where the account's stream reports it, and a fill reported twice is one", async () => {
    const harness = recorded(true);
    await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    const part = change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100 });
    tell(harness, part, 60, "t1");
    tell(harness, part, 40, "t2");
    tell(harness, part, 40, "t2");
    await harness.clock.advanceAsync(3_000);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([100]);
    const whole = change(harness, 0, { status: "FILLED", filledLots: 250 });
    (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order: whole });
    tell(harness, part, 40, "t2");
    await harness.clock.advanceAsync(3_000);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([100, 250]);
    expect((harness.one.streams as FakeStreams).listenerCount).toBe(0);
    expect(harness.one.sessions.every(({ closed }) => closed)).toBe(true);
  });

  it("is never taken back by a read that lags behind", async () => {
    const harness = recorded(false);
    await harness.closeData(RESTING_CLOSE);
    const order = change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100 });
    await harness.clock.advanceAsync(MINUTE_MS);
    harness.one.shownOrder = () => ({ ...order, status: "OPEN", filledLots: 0, averagePrice: null });
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(statesOf(await recordedRows(harness.store))).toEqual(["INTENT", "SENT", "OPEN", "PARTIALLY_FILLED"]);
  });

  it("is read on the background lane alone, at most once a second for all orders of a venue", async () => {
    const harness = recorded(false);
    for (let count = 0; count < 8; count++) await harness.closeData({ ...RESTING_CLOSE, size: "0.01" });
    const { lanes } = harness.one;
    const before = lanes.length;
    await harness.clock.advanceAsync(20_000);
    const reads = lanes.slice(before);
    expect(reads.length).toBeGreaterThan(8);
    expect(reads.length).toBeLessThanOrEqual(21);
    expect(new Set(reads)).toEqual(new Set(["background"]));
  });

  it("survives a restart: the next request with its account's credentials takes it up again", async () => {
    const harness = recorded(false);
    const data = await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(1_000);
    const next = await harness.restart();
    expect(next.status()).toMatchObject({ followedCount: 1, unattendedCount: 1 });
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([]);
    // Of another account: nothing is read with it.
    await harness.run(next.askExecution("rt_other", { venueone: { account: "someone", secret: SECRET_ONE } }, ASKER));
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([]);
    const request = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true });
    await harness.run(next.trade(request, closeContext(harness.clock)));
    await harness.clock.advanceAsync(MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(fillsOf(rows)).toEqual([250]);
    expect(statesOf(rows)).toEqual(["INTENT", "SENT", "OPEN", "FILLED"]);
    expect(next.status()).toMatchObject({ followedCount: 0, unattendedCount: 0 });
    expect((await next.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({ state: "COMPLETED" });
    expect(harness.store.writtenText.every((text) => !text.includes(SECRET_ONE))).toBe(true);
    // Nothing of it is left for the start after that.
    const last = await harness.restart();
    expect(last.status()).toMatchObject({ followedCount: 0 });
  });

  it("keeps its credentials a day at most, then waits for the next ones", async () => {
    const harness = recorded(false);
    await harness.closeData(RESTING_CLOSE);
    await harness.clock.advanceAsync(1_000);
    harness.clock.advance(25 * 60 * MINUTE_MS);
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(harness.service.status()).toMatchObject({ followedCount: 1, unattendedCount: 1 });
    const reads = harness.one.calls.orders;
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(harness.one.calls.orders).toBe(reads);
  });
});

describe("a stop that an entry got", () => {
  it("and that fires later is in the record with its fill", async () => {
    const harness = recorded(false);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    await harness.openData({ stopLoss: "95000" }, { preferredExchange: "venueone" });
    await harness.clock.advanceAsync(1_000);
    change(harness, 1, { status: "FILLED", filledLots: 250, averagePrice: "94900" });
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([250, 250]);
    expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
  });
});

describe("a resting entry that is watched for its protection", () => {
  it("has each part that fills in the record, once", async () => {
    const harness = recorded(true);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    const entry = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
    await harness.openData({ stopLoss: "95000" }, entry);
    const part = change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100 });
    harness.one.setPosition(ACCOUNT, "LONG", 100);
    tell(harness, part, 100, "t1");
    await harness.clock.advanceAsync(MINUTE_MS);
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await harness.clock.advanceAsync(MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([100, 250]);
    expect(harness.one.log.slice(1).map(({ command }) => command.qtyLots)).toEqual([100, 150]);
  });
});

describe("a single order that rests", () => {
  const LIMIT = { type: "LIMIT", price: "95000", timeInForce: "GTC" } as const;
  const desk = (): Promise<DeskHarness> => createDesk({ desk: { records: createRowSink() } });
  const filled = (harness: DeskHarness, filledLots: number, status: VenueOrder["status"]): void =>
    void change({ one: harness.venue }, 0, { status, filledLots, averagePrice: "95000" });

  it("has each later fill and its end in the record, once", async () => {
    const harness = await desk();
    await harness.order(LIMIT, { idempotencyKey: "k" });
    filled(harness, 100, "PARTIALLY_FILLED");
    await harness.clock.advanceAsync(2 * MINUTE_MS);
    filled(harness, 250, "FILLED");
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(statesOf(rows)).toEqual(["INTENT", "SENT", "OPEN", "PARTIALLY_FILLED", "FILLED"]);
    expect(fillsOf(rows)).toEqual([100, 250]);
    expect(harness.venue.sessions.every(({ closed }) => closed)).toBe(true);
    const again = await harness.place(LIMIT, { idempotencyKey: "k" });
    expect(again).toMatchObject({ ok: true, replayed: true, order: { status: "FILLED", filledQuantity: "0.25" } });
  });

  it("survives a restart: the next call of its account takes it up again", async () => {
    const harness = await desk();
    const order = await harness.order(LIMIT);
    await harness.clock.advanceAsync(1_000);
    await harness.restart();
    filled(harness, 250, "FILLED");
    await harness.clock.advanceAsync(5 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([]);
    const name = orderName(order.orderId ?? "");
    await harness.run(harness.desk.orderStatus(name, orderContext(harness.clock)));
    await harness.clock.advanceAsync(MINUTE_MS);
    const rows = await recordedRows(harness.store);
    expect(fillsOf(rows)).toEqual([250]);
    expect(statesOf(rows)).toEqual(["INTENT", "SENT", "OPEN", "FILLED"]);
    expect(harness.store.writtenText.every((text) => !text.includes(CREDENTIALS.secret))).toBe(true);
  });
});

describe("a copy of a followed run that another path brought further", () => {
  it("is followed with the credentials that are kept of its accounts", async () => {
    const harness = recorded(false);
    const { clock, logLines, one, store } = harness;
    await harness.closeData(RESTING_CLOSE);
    await clock.advanceAsync(1_000);
    const [row] = await store.scan("followed-trade", { prefix: "", limit: 1 });
    if (row === undefined) throw new Error("nothing is followed");
    const { run } = decodeJson(row.value) as FollowRow<TradeRun>;
    const logger = recordingLogger(logLines);
    const room = one.room();
    const background = new Background(clock, logger);
    const rooms = new Map([[room.venue, room]]);
    const published: TradeRun[] = [];
    const follows = new OrderFollows<TradeRun>(
      { clock, logger, rooms, store, hash: testHash, owners: new Owners(), background, bounds: new SendBounds() },
      { namespace: "followed-copy", publish: async (seen) => void published.push(seen) },
    );
    const credentials = { account: ACCOUNT, secret: SECRET_ONE };
    const opened = room.openSession(credentials, null);
    if (!opened.ok) throw new Error(opened.problem);
    follows.consider(run, null, () => ({ session: opened.session, credentials }));
    opened.session.close();
    const copy = structuredClone(run);
    follows.rows(copy);
    expect([follows.runOf(run.routeId) === copy, follows.waitingCount]).toEqual([true, 0]);
    change(harness, 0, { status: "FILLED", filledLots: 250 });
    await clock.advanceAsync(MINUTE_MS);
    expect(published.map(({ attempts }) => attempts[0]?.order?.filledLots)).toEqual([250]);
    expect(follows.credentialsOf(run)).toEqual({});
    await follows.stop();
  });
});
