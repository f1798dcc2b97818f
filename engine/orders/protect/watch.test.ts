/** Entries that rest, or whose outcome is not known at the reply: watched, and protected as they fill. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { TradeData } from "../types.js";
import { ASKER, createHarness, SECRET_ONE, type Harness, type HarnessOptions } from "../test/harness.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { FakeStreams } from "../test/fake-streams.js";
import type { FakeVenue } from "../test/fake-venue.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { createRowSink, recordedRows, rowFaults } from "../test/row-sink.js";

/** Below the market: nothing of it is marketable. */
const RESTS = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const STOP = { stopLoss: "95000" };
const DAY_MS = 86_400_000;

function flat(options: HarnessOptions = {}, guard: PlaceFate = { kind: "fill" }): Harness {
  const harness = createHarness(options);
  harness.one.setPosition("acct-venueone", "LONG", 0);
  harness.one.fate = (command) => (command.reduceOnly && command.trigger !== undefined ? guard : { kind: "fill" });
  return harness;
}

/** The market comes to the entry. */
function fillEntry(harness: Harness, filledLots: number, change: Partial<VenueOrder> = {}): void {
  const [entry] = harness.one.log;
  if (entry?.order === null || entry === undefined) throw new Error("no entry is there");
  const status = filledLots === entry.command.qtyLots ? "FILLED" : "PARTIALLY_FILLED";
  entry.order = { ...entry.order, status, filledLots, averagePrice: "99000", ...change };
  entry.filledLots = filledLots;
  harness.one.setPosition("acct-venueone", "LONG", filledLots);
}

const guards = (harness: Harness) => harness.one.log.slice(1).map(({ command }) => command);
const isAllClosed = (harness: Harness): boolean =>
  [...harness.one.sessions, ...harness.two.sessions].every(({ closed }) => closed);

async function later(harness: Harness, data: TradeData, ms = 20_000): Promise<TradeData["execution"]> {
  await harness.clock.advanceAsync(ms);
  const now = await harness.service.execution(data.routing.routeId, ASKER);
  if (now === null) throw new Error("the execution is not known");
  return now.execution;
}

describe("a watch while the store refuses", () => {
  it.each([
    ["for a moment", 5_000],
    ["for minutes", 300_000],
    ["for hours", 7_200_000],
  ])("%s goes on, and what fills after that has its stop", async (_, refusedMs) => {
    const harness = flat({ service: { records: createRowSink() } });
    const data = await harness.openData(STOP, RESTS);
    await harness.clock.advanceAsync(5_000);
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    fillEntry(harness, 100);
    await harness.clock.advanceAsync(refusedMs);
    harness.store.gate = async () => {};
    await later(harness, data, 120_000);
    expect(guards(harness).map(({ qtyLots }) => qtyLots)).toEqual([100]);
    fillEntry(harness, 250);
    const execution = await later(harness, data, 120_000);
    expect(guards(harness).map(({ qtyLots }) => qtyLots)).toEqual([100, 150]);
    expect(execution.protectionOrders?.length).toBeLessThan(20);
    expect(execution).toMatchObject({ state: "COMPLETED", protection: "PLACED", protectionReason: null });
    expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
    expect(harness.service.status()).toMatchObject({ watchedCount: 0, followedCount: 1 });
  });

  it.each([
    ["for a moment", 5_000],
    ["for minutes", 300_000],
  ])("%s reports the end of its entry once the store is back", async (_, refusedMs) => {
    const harness = flat({ service: { records: createRowSink() } });
    const data = await harness.openData(STOP, RESTS);
    await harness.clock.advanceAsync(5_000);
    harness.store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    fillEntry(harness, 0, { status: "CANCELED", averagePrice: null });
    await harness.clock.advanceAsync(refusedMs);
    harness.store.gate = async () => {};
    const execution = await later(harness, data, 300_000);
    expect(execution).toMatchObject({ final: true, protectionReason: "NOTHING_FILLED" });
    const rows = await recordedRows(harness.store);
    expect(rows.filter((row) => row.table === "event" && row.status === "CANCELED")).toHaveLength(1);
    expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
    expect((await harness.restart()).status()).toMatchObject({ followedCount: 0, unknownCount: 0 });
  });
});

describe("an entry that rests with protection", () => {
  it("is protected for each part as it fills, and the session ends with the entry", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS);
    expect(data.execution).toMatchObject({ state: "RESTING", protection: "NOT_PLACED", protectionReason: "WATCHED" });
    expect(harness.service.status().watchedCount).toBe(1);
    fillEntry(harness, 100);
    expect(await later(harness, data)).toMatchObject({
      state: "RESTING",
      filledSize: "0.1",
      protection: "PLACED",
      protectionReason: "WATCHED",
    });
    expect(guards(harness)).toMatchObject([
      { side: "SELL", reduceOnly: true, qtyLots: 100, trigger: { kind: "STOP" } },
    ]);
    fillEntry(harness, 250);
    expect(await later(harness, data)).toMatchObject({
      state: "COMPLETED",
      final: true,
      filledSize: "0.25",
      protection: "PLACED",
      protectionReason: null,
    });
    expect(guards(harness).map(({ qtyLots }) => qtyLots)).toEqual([100, 150]);
    expect(new Set(harness.one.log.map(({ command }) => command.clientIdHex)).size).toBe(3);
    expect(harness.service.status().watchedCount).toBe(0);
    expect(isAllClosed(harness)).toBe(true);
    expect(harness.events.filter(({ kind }) => kind === "resolved")).toHaveLength(1);
  });

  it("that fills while the stop of its first part is on its way is protected for the rest as well", async () => {
    const prepareVenue = (venue: FakeVenue): void => {
      venue.streams = new FakeStreams();
    };
    const harness = flat({ service: { records: createRowSink() }, prepareVenue }, { kind: "fill", latencyMs: 2_000 });
    const data = await harness.openData(STOP, RESTS);
    const tell = (filledLots: number): void => {
      fillEntry(harness, filledLots);
      const order = harness.one.log[0]?.order;
      if (order != null) (harness.one.streams as FakeStreams).tell("acct-venueone", { kind: "order", order });
    };
    tell(100);
    for (let turn = 0; turn < 1_000 && guards(harness).length === 0; turn++) await harness.clock.advanceAsync(20);
    tell(250);
    expect(await later(harness, data)).toMatchObject({ state: "COMPLETED", filledSize: "0.25", protection: "PLACED" });
    expect(guards(harness).map(({ qtyLots }) => qtyLots)).toEqual([100, 150]);
  });

  it("that is canceled with nothing filled is watched no more, and nothing is sent", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS);
    fillEntry(harness, 0, { status: "CANCELED" });
    expect(await later(harness, data)).toMatchObject({
      state: "REJECTED",
      final: true,
      protection: "NOT_PLACED",
      protectionReason: "NOTHING_FILLED",
    });
    expect(guards(harness)).toEqual([]);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("that ends in part keeps the protection of that part", async () => {
    const harness = flat();
    const data = await harness.openData({ ...STOP, takeProfit: "105000" }, RESTS);
    fillEntry(harness, 40, { status: "CANCELED" });
    expect(await later(harness, data)).toMatchObject({ state: "PARTIAL", final: true, protection: "PLACED" });
    expect(guards(harness).map(({ qtyLots, trigger }) => [qtyLots, trigger?.kind])).toEqual([
      [40, "TAKE_PROFIT"],
      [40, "STOP"],
    ]);
  });

  it("of which a part is refused its stop has that part alone closed where the caller wants that", async () => {
    const harness = flat({}, { kind: "fill" });
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, RESTS);
    fillEntry(harness, 100);
    await later(harness, data);
    harness.one.fate = (command) =>
      command.trigger === undefined ? { kind: "fill" } : { kind: "reject", reason: "PRICE" };
    fillEntry(harness, 250);
    expect(await later(harness, data)).toMatchObject({ protection: "PARTIAL", protectionReason: "PRICE" });
    expect(guards(harness).map(({ qtyLots, trigger }) => [qtyLots, trigger?.kind ?? "CLOSE"])).toEqual([
      [100, "STOP"],
      [150, "STOP"],
      [150, "CLOSE"],
    ]);
    // The stop of what filled first is open.
    expect(harness.one.log[1]?.order?.status).toBe("OPEN");
  });

  it("that fills lot by lot gets a bounded number of stops, and all of it is covered at its end", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS);
    for (let lots = 1; lots <= 60; lots++) {
      fillEntry(harness, lots);
      await later(harness, data);
    }
    fillEntry(harness, 250);
    await later(harness, data);
    const sizes = guards(harness).map(({ qtyLots }) => qtyLots);
    expect(sizes.length).toBeLessThanOrEqual(16);
    expect(sizes.reduce((sum, lots) => sum + lots, 0)).toBe(250);
  });

  it("beyond the bound is not watched, and the reply says so", async () => {
    const harness = flat({ service: { maxWatched: 1 } });
    await harness.openData(STOP, RESTS);
    const second = await harness.openData(STOP, { ...RESTS, size: "0.1" });
    expect(second.execution).toMatchObject({ protection: "NOT_PLACED", protectionReason: "NOT_WATCHED" });
    expect(harness.service.status().watchedCount).toBe(1);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("is watched for a day, and then the execution says that it is not any more", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS);
    harness.clock.advance(DAY_MS);
    expect(await later(harness, data)).toMatchObject({ state: "RESTING", protectionReason: "WATCH_ENDED" });
    expect(isAllClosed(harness)).toBe(true);
  });

  it("is looked at once more at a shutdown, and what is left of it is reported as unwatched", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS, { idempotencyKey: "k" });
    fillEntry(harness, 100);
    await harness.run(harness.service.drain(5_000));
    expect(guards(harness)).toMatchObject([{ qtyLots: 100 }]);
    expect(isAllClosed(harness)).toBe(true);
    const next = await harness.restart();
    expect((await next.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      filledSize: "0.1",
      protection: "PARTIAL",
      protectionReason: "WATCH_ENDED",
    });
  });

  it("after a crash is reported as no longer watched: its credentials were in memory only", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS, { idempotencyKey: "k" });
    await harness.clock.advanceAsync(100);
    const next = await harness.restart();
    fillEntry(harness, 250);
    await harness.clock.advanceAsync(30_000);
    expect((await next.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      state: "RESTING",
      protection: "NOT_PLACED",
      protectionReason: "WATCH_LOST",
    });
    expect(guards(harness)).toEqual([]);
    expect(harness.store.writtenText.every((text) => !text.includes(SECRET_ONE))).toBe(true);
  });

  it("goes on to be watched while the venue cannot be read", async () => {
    const harness = flat();
    const data = await harness.openData(STOP, RESTS);
    harness.one.orderReadFailure = () => "TIMEOUT";
    fillEntry(harness, 250);
    expect(await later(harness, data)).toMatchObject({ state: "RESTING", protectionReason: "WATCHED" });
    harness.one.orderReadFailure = () => null;
    expect(await later(harness, data)).toMatchObject({ state: "COMPLETED", protection: "PLACED" });
  });
});

describe("an entry with protection that its venue fills while nothing of it can be read", () => {
  /** Above the best ask of 100010: it fills on arrival. */
  const ARRIVES = { orderType: "LIMIT", limitPrice: "100100", preferredExchange: "venueone" } as const;
  /** After the venue can be read again: a second or a tenth of the time without an answer, and the order. */
  const guardedWithinMs = (refusedMs: number): number => Math.max(1_000, refusedMs / 10) + 500;
  const acknowledged = (): Harness => {
    const harness = flat();
    harness.one.fate = ({ reduceOnly }) => ({ kind: "fill", ...(reduceOnly ? {} : { liquidity: 1, ackOnlyMs: 80 }) });
    return harness;
  };
  const guardedAfterMs = async (harness: Harness, fromMs: number): Promise<number> => {
    for (let turn = 0; turn < 6_000 && guards(harness).length === 0; turn++) await harness.clock.advanceAsync(20);
    expect(guards(harness)).toMatchObject([{ qtyLots: 250, trigger: { kind: "STOP" } }]);
    return harness.clock.wallMs() - fromMs;
  };

  it.each([3_000, 8_000, 31_000])("has its stop soon after reads that were refused for %i ms", async (refusedMs) => {
    for (const failure of ["BREAKER_OPEN", "RATE_LIMITED", "TIMEOUT"] as const) {
      const harness = acknowledged();
      const readableMs = harness.clock.wallMs() + refusedMs;
      harness.one.orderReadFailure = () => (harness.clock.wallMs() < readableMs ? failure : null);
      const data = await harness.openData(STOP, { ...ARRIVES, deadlineMs: 1_000 });
      expect(data.execution).toMatchObject({ state: "RESTING", filledSize: "0", protectionReason: "WATCHED" });
      expect(await guardedAfterMs(harness, readableMs)).toBeLessThan(guardedWithinMs(refusedMs));
      expect(await later(harness, data)).toMatchObject({ state: "COMPLETED", protection: "PLACED" });
    }
  });

  it("is read on the exit lane until the venue shows it, a bounded number of times", async () => {
    const harness = acknowledged();
    harness.one.orderReadFailure = () => "TIMEOUT";
    await harness.openData(STOP, { ...ARRIVES, deadlineMs: 1_000 });
    harness.one.lanes.length = 0;
    await harness.clock.advanceAsync(60_000);
    const exits = harness.one.lanes.filter((lane) => lane === "exit").length;
    expect(exits).toBeGreaterThan(0);
    expect(exits).toBeLessThanOrEqual(5);
    expect(harness.one.lanes.length).toBeGreaterThan(20);
  });

  it("is read on the exit lane when its account's stream tells of a fill without its price", async () => {
    const prepareVenue = (venue: FakeVenue): void => {
      venue.streams = new FakeStreams();
    };
    const harness = flat({ service: { records: createRowSink() }, prepareVenue });
    await harness.openData(STOP, RESTS);
    await harness.clock.advanceAsync(40_000);
    fillEntry(harness, 250);
    harness.one.lanes.length = 0;
    const order = harness.one.log[0]?.order;
    if (order == null) throw new Error("no entry is there");
    (harness.one.streams as FakeStreams).tell("acct-venueone", {
      kind: "order",
      order: { ...order, averagePrice: null },
    });
    await harness.clock.advanceAsync(1_000);
    expect(harness.one.lanes[0]).toBe("exit");
    expect(guards(harness)).toMatchObject([{ qtyLots: 250, trigger: { kind: "STOP" } }]);
  });

  it("is asked for seldom where its key is refused: no read of it will be answered", async () => {
    const harness = acknowledged();
    harness.one.orderReadFailure = () => "AUTH";
    await harness.openData(STOP, { ...ARRIVES, deadlineMs: 1_000 });
    const before = harness.one.calls.orders;
    await harness.clock.advanceAsync(60_000);
    expect(harness.one.calls.orders - before).toBeLessThanOrEqual(8);
  });
});

describe("an entry of unknown outcome with protection", () => {
  it("has its stop soon after reads that were refused for half a minute", async () => {
    const harness = flat();
    harness.one.fate = (command) => (command.reduceOnly ? { kind: "fill" } : { kind: "loseReply" });
    const readableMs = harness.clock.wallMs() + 33_000;
    harness.one.orderReadFailure = () => (harness.clock.wallMs() < readableMs ? "BREAKER_OPEN" : null);
    await harness.openData(STOP, { preferredExchange: "venueone", deadlineMs: 1_000 });
    while (harness.clock.wallMs() < readableMs + 4_000) await harness.clock.advanceAsync(20);
    expect(guards(harness)).toMatchObject([{ qtyLots: 250, trigger: { kind: "STOP" } }]);
  });

  it("is protected when it turns out to have filled after the reply", async () => {
    const harness = flat();
    harness.one.fate = (command) => (command.reduceOnly ? { kind: "fill" } : { kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const data = await harness.openData(STOP, { preferredExchange: "venueone", deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", protection: "NOT_PLACED" });
    expect(guards(harness)).toEqual([]);
    harness.one.orderReadFailure = () => null;
    expect(await later(harness, data)).toMatchObject({ state: "COMPLETED", final: true, protection: "PLACED" });
    expect(guards(harness)).toMatchObject([{ qtyLots: 250, trigger: { kind: "STOP" } }]);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("is watched no longer than the resolver looks for it", async () => {
    const harness = flat();
    harness.one.fate = (command) => (command.reduceOnly ? { kind: "fill" } : { kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const data = await harness.openData(STOP, { preferredExchange: "venueone", deadlineMs: 1_000 });
    expect(harness.service.status().watchedCount).toBe(1);
    expect(await later(harness, data, 700_000)).toMatchObject({
      state: "UNKNOWN",
      final: false,
      protection: "NOT_PLACED",
      protectionReason: "OUTCOME_UNKNOWN",
    });
    expect(harness.service.status().watchedCount).toBe(0);
    expect(isAllClosed(harness)).toBe(true);
  });

  const unclear = async (
    options?: Parameters<typeof flat>[0],
  ): Promise<{ readonly harness: Harness; readonly data: TradeData }> => {
    const harness = flat(options);
    harness.one.fate = (command) => (command.reduceOnly ? { kind: "fill" } : { kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const data = await harness.openData(STOP, { preferredExchange: "venueone", deadlineMs: 1_000 });
    return { harness, data };
  };

  it("is protected where its venue is away for nine minutes, within a tenth of that time", async () => {
    const { harness, data } = await unclear();
    await harness.clock.advanceAsync(540_000);
    harness.one.orderReadFailure = () => null;
    await harness.clock.advanceAsync(54_000);
    expect(guards(harness)).toMatchObject([{ qtyLots: 250, trigger: { kind: "STOP" } }]);
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      state: "COMPLETED",
      protection: "PLACED",
    });
  });

  it("is given up after a minute where others need the resolver's places", async () => {
    const { harness } = await unclear({ service: { maxUnresolved: 1 } });
    await harness.clock.advanceAsync(50_000);
    expect(harness.service.status()).toMatchObject({ watchedCount: 1, resolver: { active: 1 } });
    await harness.clock.advanceAsync(20_000);
    expect(harness.service.status()).toMatchObject({ watchedCount: 0, resolver: { active: 0 } });
  });

  it("is protected at a shutdown too, where only the resolver's last look shows the fill", async () => {
    const { harness, data } = await unclear();
    harness.one.orderReadFailure = () => null;
    await harness.run(harness.service.drain(20_000));
    expect(guards(harness)).toMatchObject([{ qtyLots: 250, trigger: { kind: "STOP" } }]);
    expect((await harness.service.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      state: "COMPLETED",
      protection: "PLACED",
    });
    expect(isAllClosed(harness)).toBe(true);
  });

  it("is not reported as unprotected for good between the resolver's end and the watch's round", async () => {
    const { harness } = await unclear();
    const reported: unknown[] = [];
    harness.service.onResolved(({ data: { execution } }) => {
      const { protection, protectionReason, state } = execution;
      reported.push({ protection, protectionReason, state });
    });
    harness.one.orderReadFailure = () => null;
    await harness.clock.advanceAsync(60_000);
    expect(guards(harness)).toHaveLength(1);
    expect(reported).toEqual([{ state: "COMPLETED", protection: "NOT_PLACED", protectionReason: "WATCHED" }]);
  });

  it("is reported once and listed no more where the watch finds its end after the resolver gave up", async () => {
    const { harness, data } = await unclear();
    const reported: string[] = [];
    harness.service.onResolved(({ routeId }) => reported.push(routeId));
    for (let turn = 0; turn < 10_000 && harness.service.status().resolver.active > 0; turn++)
      await harness.clock.advanceAsync(100);
    expect(harness.service.status()).toMatchObject({ watchedCount: 1, unknownCount: 1, resolver: { leftUnknown: 1 } });
    harness.one.orderReadFailure = () => null;
    expect(await later(harness, data)).toMatchObject({ state: "COMPLETED", final: true, protection: "PLACED" });
    expect(reported).toEqual([data.routing.routeId]);
    expect(harness.service.status()).toMatchObject({ watchedCount: 0, unknownCount: 0 });
  });
});

describe("a stop that a watch had sent when its process died", () => {
  it("is in its execution after the restart, and ends when its caller asks", async () => {
    const harness = flat({}, { kind: "fill", latencyMs: 1_000 });
    const data = await harness.openData(STOP, RESTS, { idempotencyKey: "k" });
    fillEntry(harness, 250);
    for (let turn = 0; turn < 1_000 && guards(harness).length === 0; turn++) await harness.clock.advanceAsync(20);
    await harness.clock.advanceAsync(100);
    const next = await harness.restart();
    expect(next.status().unknown).toMatchObject([{ routeId: data.routing.routeId, fromEarlierStart: true }]);
    const credentials = { venueone: { account: "acct-venueone", secret: SECRET_ONE } };
    const answer = await harness.run(next.askExecution(data.routing.routeId, credentials, ASKER));
    expect(answer).toMatchObject({
      ok: true,
      data: {
        execution: { filledSize: "0.25", protectionOrders: [{ kind: "STOP_LOSS", size: "0.25", status: "OPEN" }] },
      },
    });
    expect(next.status().unknownCount).toBe(0);
    expect(guards(harness)).toHaveLength(1);
  });
});
