/** Protection that a venue refuses, and how soon a fill that is reported by the account's stream has its stop. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { TradeData } from "../types.js";
import { ASKER, createHarness, type Harness } from "../test/harness.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { FakeStreams } from "../test/fake-streams.js";

const RESTS = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const MARKET = { preferredExchange: "venueone" } as const;
const STOP = { stopLoss: "95000" };
const ACCOUNT = "acct-venueone";

/** `guard`: the outcome of the n-th order with a trigger. */
function flat(guard: (count: number) => PlaceFate): Harness {
  const harness = createHarness({
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  harness.one.fate = (command) => (command.trigger === undefined ? { kind: "fill" } : guard(++count));
  return harness;
}

function fillEntry(harness: Harness, filledLots: number, change: Partial<VenueOrder> = {}): VenueOrder {
  const [entry] = harness.one.log;
  if (entry?.order === null || entry === undefined) throw new Error("no entry is there");
  const status = filledLots === entry.command.qtyLots ? "FILLED" : "PARTIALLY_FILLED";
  entry.order = { ...entry.order, status, filledLots, averagePrice: "99000", ...change };
  entry.filledLots = filledLots;
  harness.one.setPosition(ACCOUNT, "LONG", filledLots);
  return entry.order;
}

const isStanding = ({ order }: { readonly order: VenueOrder | null }): boolean => order?.status === "OPEN";
const stops = (harness: Harness) => harness.one.log.filter(({ command }) => command.trigger !== undefined);
const closes = (harness: Harness) =>
  harness.one.log.filter(({ command }) => command.reduceOnly && command.trigger === undefined);
/** But for the one that the stream of its account is open with, while an order of it is followed. */
const isAllClosed = (harness: Harness): boolean =>
  harness.one.sessions.filter(({ closed }) => !closed).length === (harness.one.streams as FakeStreams).listenerCount;

async function now(harness: Harness, data: TradeData): Promise<TradeData["execution"]> {
  const current = await harness.service.execution(data.routing.routeId, ASKER);
  if (current === null) throw new Error("the execution is not known");
  return current.execution;
}

async function later(harness: Harness, data: TradeData, ms: number): Promise<TradeData["execution"]> {
  await harness.clock.advanceAsync(ms);
  return now(harness, data);
}

const LIMITED: PlaceFate = { kind: "reject", reason: "RATE_LIMITED" };

describe("a stop that its venue refuses", () => {
  it("for a reason that passes is tried again after the reply, and the execution tells both", async () => {
    const harness = flat((count) => (count <= 2 ? LIMITED : { kind: "fill" }));
    const data = await harness.openData(STOP, MARKET);
    expect(data.execution).toMatchObject({ protection: "FAILED", protectionReason: "RATE_LIMITED" });
    expect(await later(harness, data, 10_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([250, 250, 250]);
    expect(stops(harness).filter(isStanding)).toHaveLength(1);
    expect(harness.logLines.filter((line) => line.includes("protection_refused"))).toHaveLength(2);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("of a resting entry is tried again, and what fills meanwhile is covered too, once", async () => {
    const harness = flat((count) => (count <= 3 ? LIMITED : { kind: "fill" }));
    const data = await harness.openData(STOP, RESTS);
    fillEntry(harness, 100);
    await harness.clock.advanceAsync(3_000);
    fillEntry(harness, 250);
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    const covered = stops(harness)
      .filter(isStanding)
      .reduce((sum, { command }) => sum + command.qtyLots, 0);
    expect(covered).toBe(250);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("beside a take-profit that was placed is tried again alone", async () => {
    const harness = flat((count) => (count === 2 ? LIMITED : { kind: "fill" }));
    const data = await harness.openData({ ...STOP, takeProfit: "105000" }, MARKET);
    expect(data.execution).toMatchObject({ protection: "PARTIAL", protectionReason: "RATE_LIMITED" });
    expect(await later(harness, data, 10_000)).toMatchObject({ protection: "PLACED" });
    expect(stops(harness).map(({ command }) => command.trigger?.kind)).toEqual(["TAKE_PROFIT", "STOP", "STOP"]);
  });

  it("for good is not tried again", async () => {
    const harness = flat(() => ({ kind: "reject", reason: "PRICE" }));
    const data = await harness.openData(STOP, MARKET);
    expect(await later(harness, data, 300_000)).toMatchObject({ protection: "FAILED", protectionReason: "PRICE" });
    expect(stops(harness)).toHaveLength(1);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("for what is wrong with the order itself is not tried again, whatever the reason is called", async () => {
    const harness = flat(() => ({ kind: "reject", reason: "VENUE_STATE", isLasting: true }));
    const data = await harness.openData(STOP, MARKET);
    expect(await later(harness, data, 300_000)).toMatchObject({
      protection: "FAILED",
      protectionReason: "VENUE_STATE",
    });
    expect(stops(harness)).toHaveLength(1);
    expect(isAllClosed(harness)).toBe(true);
  });

  it.each(["REDUCE_ONLY", "SIZE", "PRICE"] as const)("for %s is not tried again", async (reason) => {
    const harness = flat(() => ({ kind: "reject", reason }));
    const data = await harness.openData(STOP, RESTS);
    fillEntry(harness, 250);
    expect(await later(harness, data, 300_000)).toMatchObject({ protection: "FAILED", protectionReason: reason });
    expect(stops(harness)).toHaveLength(1);
  });

  it("again and again is dropped after a bounded number of tries with pauses, which the log says", async () => {
    const harness = flat(() => LIMITED);
    const data = await harness.openData(STOP, MARKET);
    expect(await later(harness, data, 600_000)).toMatchObject({
      protection: "FAILED",
      protectionReason: "RATE_LIMITED",
    });
    const sent = stops(harness);
    expect(sent.length).toBeGreaterThan(5);
    expect(sent.length).toBeLessThanOrEqual(16);
    expect((sent.at(-1)?.sentAtMs ?? 0) - (sent[0]?.sentAtMs ?? 0)).toBeGreaterThan(60_000);
    expect(harness.logLines.filter((line) => line.includes("protection_given_up"))).toHaveLength(1);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("whose reply was lost and that turns out never to have been placed is sent again", async () => {
    const harness = flat((count) => (count === 1 ? { kind: "loseRequest" } : { kind: "fill" }));
    const data = await harness.openData(STOP, { ...MARKET, deadlineMs: 1_000 });
    expect(data.execution.protection).toBe("UNKNOWN");
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED" });
    expect(stops(harness).filter(isStanding)).toHaveLength(1);
  });
});

describe("with closeOnProtectionFailure, a refused stop of an entry that still rests", () => {
  it("closes what filled and cancels the rest of the entry", async () => {
    const harness = flat(() => LIMITED);
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, RESTS);
    fillEntry(harness, 100);
    const execution = await later(harness, data, 20_000);
    expect(harness.one.log[0]?.order?.status).toBe("CANCELED");
    expect(closes(harness).map(({ command }) => command.qtyLots)).toEqual([100]);
    expect(harness.one.heldLots(ACCOUNT, "LONG")).toBe(0);
    expect(execution).toMatchObject({ filledSize: "0.1", final: true, protectionReason: "RATE_LIMITED" });
    expect(isAllClosed(harness)).toBe(true);
  });

  it("closes what filled where the stop would trigger at once, and sends the stop once", async () => {
    const harness = flat(() => ({ kind: "reject", reason: "PRICE" }));
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, RESTS);
    fillEntry(harness, 100);
    const execution = await later(harness, data, 60_000);
    expect(stops(harness)).toHaveLength(1);
    expect(harness.one.log[0]?.order?.status).toBe("CANCELED");
    expect(harness.one.heldLots(ACCOUNT, "LONG")).toBe(0);
    expect(execution).toMatchObject({ final: true, protectionReason: "PRICE" });
  });

  it("closes what filled before the cancel came through as well", async () => {
    const harness = flat(() => LIMITED);
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, RESTS);
    fillEntry(harness, 100);
    const { one } = harness;
    const place = one.fate;
    one.fate = (command, account) => {
      // Between the refusal and the cancel the market goes on.
      if (command.trigger !== undefined) harness.clock.setTimer(() => void fillEntry(harness, 160), 12);
      return place(command, account);
    };
    await later(harness, data, 30_000);
    expect(one.log[0]?.order?.status).toBe("CANCELED");
    expect(closes(harness).reduce((sum, { filledLots }) => sum + filledLots, 0)).toBe(160);
    expect(one.heldLots(ACCOUNT, "LONG")).toBe(0);
  });

  it("asks for the cancel again while the venue does not answer it", async () => {
    const harness = flat(() => LIMITED);
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, RESTS);
    fillEntry(harness, 100);
    let lost = 2;
    harness.one.cancelFate = () => (lost-- > 0 ? "lose" : "accept");
    await later(harness, data, 60_000);
    expect(harness.one.log[0]?.order?.status).toBe("CANCELED");
    expect(harness.one.heldLots(ACCOUNT, "LONG")).toBe(0);
  });
});

describe("a fill that the account's stream tells", () => {
  it("has its stop at once, long before the next look", async () => {
    const harness = flat(() => ({ kind: "fill" }));
    await harness.openData(STOP, RESTS);
    // The pauses between looks have grown by now; one has just begun.
    await harness.clock.advanceAsync(120_000);
    for (const before = harness.one.calls.orders; harness.one.calls.orders === before; )
      await harness.clock.advanceAsync(100);
    await harness.clock.advanceAsync(500);
    const order = fillEntry(harness, 100);
    (harness.one.streams as FakeStreams).tellFill(ACCOUNT, order, 100, "t1");
    await harness.clock.advanceAsync(100);
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([100]);
  });

  it("is found by the look all the same where the stream is silent", async () => {
    const harness = flat(() => ({ kind: "fill" }));
    await harness.openData(STOP, RESTS);
    await harness.clock.advanceAsync(120_000);
    fillEntry(harness, 100);
    await harness.clock.advanceAsync(16_000);
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([100]);
  });

  it("needs no stream: where none opens the looks go on", async () => {
    const harness = flat(() => ({ kind: "fill" }));
    (harness.one.streams as FakeStreams).isFull = true;
    await harness.openData(STOP, RESTS);
    fillEntry(harness, 250);
    await harness.clock.advanceAsync(20_000);
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([250]);
    expect(isAllClosed(harness)).toBe(true);
  });
});

describe("a position that its owner closes by hand while a refused stop is tried again", () => {
  const refusedOnce = (): Harness => flat((count) => (count === 1 ? LIMITED : { kind: "fill" }));

  it("gets no stop any more", async () => {
    const harness = refusedOnce();
    const data = await harness.openData(STOP, MARKET);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    expect(await later(harness, data, 300_000)).toMatchObject({
      protection: "FAILED",
      protectionReason: "POSITION_CLOSED",
    });
    expect(stops(harness)).toHaveLength(1);
    expect(harness.service.status().watchedCount).toBe(0);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("in part gets a stop of what is left", async () => {
    const harness = refusedOnce();
    const data = await harness.openData(STOP, MARKET);
    harness.one.setPosition(ACCOUNT, "LONG", 100);
    expect(await later(harness, data, 300_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([250, 100]);
    expect(harness.service.status().watchedCount).toBe(0);
  });

  it("is acted on only when the venue shows it twice: a read may lag behind the entry", async () => {
    const harness = refusedOnce();
    const data = await harness.openData(STOP, MARKET);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    for (
      let turn = 0, before = harness.one.calls.positions;
      harness.one.calls.positions === before && turn < 500;
      turn++
    )
      await harness.clock.advanceAsync(20);
    await harness.clock.advanceAsync(20);
    harness.one.setPosition(ACCOUNT, "LONG", 250);
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED" });
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([250, 250]);
  });

  it("is guarded all the same where the venue does not say what is held", async () => {
    const harness = refusedOnce();
    const data = await harness.openData(STOP, MARKET);
    harness.one.positionFailure = () => "TIMEOUT";
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED" });
    expect(stops(harness)).toHaveLength(2);
  });

  it("gets no way back any more either, where the first one was refused", async () => {
    const harness = flat(() => LIMITED);
    const place = harness.one.fate;
    harness.one.fate = (command, account) =>
      command.reduceOnly && command.trigger === undefined
        ? { kind: "reject", reason: "VENUE_STATE" }
        : place(command, account);
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, MARKET);
    harness.one.fate = place;
    expect(closes(harness)).toHaveLength(1);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    expect(await later(harness, data, 300_000)).toMatchObject({
      protection: "FAILED",
      protectionReason: "POSITION_CLOSED",
    });
    expect(closes(harness)).toHaveLength(1);
    expect(harness.service.status().watchedCount).toBe(0);
    expect(isAllClosed(harness)).toBe(true);
  });

  it("beside a working stop gets none for what that one guards", async () => {
    const harness = flat((count) => (count === 2 ? LIMITED : { kind: "fill" }));
    const data = await harness.openData(STOP, RESTS);
    fillEntry(harness, 100);
    await later(harness, data, 20_000);
    fillEntry(harness, 250);
    for (let turn = 0; stops(harness).length < 2 && turn < 1_000; turn++) await harness.clock.advanceAsync(20);
    harness.one.setPosition(ACCOUNT, "LONG", 100);
    await later(harness, data, 300_000);
    expect(
      stops(harness)
        .filter(isStanding)
        .map(({ command }) => command.qtyLots),
    ).toEqual([100]);
  });
});
