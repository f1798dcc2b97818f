/** Protection that a venue takes first and ends afterwards: it counts as what it is, and is sent again as a refused one. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { PlaceFate } from "../test/fake-matching.js";
import { FakeStreams } from "../test/fake-streams.js";
import { ASKER, createHarness, SECRET_ONE, type Harness } from "../test/harness.js";
import { createRowSink, rowFaults, recordedRows } from "../test/row-sink.js";
import type { TradeData } from "../types.js";

const ACCOUNT = "acct-venueone";
const MARKET = { preferredExchange: "venueone" } as const;
const STOP = { stopLoss: "95000" };
/** The venue's acknowledgement is a receipt: the order may be open, or not. */
const RECEIPT: PlaceFate = { kind: "fill", isReceipt: true };
const ENDS = (endReason: VenueOrder["endReason"] & string): PlaceFate => ({
  kind: "fill",
  isReceipt: true,
  shows: { status: "CANCELED", venueStatus: "canceled-position-not-allowed", endReason },
});
/** Its sequencer refuses it: no list shows it, its transaction says why. */
const REFUSED: PlaceFate = {
  kind: "fill",
  isReceipt: true,
  shows: {
    status: "REJECTED",
    venueStatus: "21717 maximum active limit order count reached",
    endReason: "VENUE_STATE",
  },
};

/** `guard`: the outcome of the n-th order with a trigger. */
function flat(guard: (count: number) => PlaceFate): Harness {
  const harness = createHarness({
    service: { records: createRowSink() },
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  harness.one.fate = (command) => (command.trigger === undefined ? { kind: "fill" } : guard(++count));
  return harness;
}

const stops = (harness: Harness) => harness.one.log.filter(({ command }) => command.trigger !== undefined);
const openGuards = (harness: Harness) => stops(harness).filter(({ order }) => order?.status === "OPEN");
const closes = (harness: Harness) =>
  harness.one.log.filter(({ command }) => command.reduceOnly && command.trigger === undefined);

async function later(harness: Harness, data: TradeData, ms: number): Promise<TradeData["execution"]> {
  await harness.clock.advanceAsync(ms);
  const current = await harness.service.execution(data.routing.routeId, ASKER);
  if (current === null) throw new Error("the execution is not known");
  return current.execution;
}

describe("a stop that its venue takes and then ends", () => {
  it("is reported as placed only once the venue shows it", async () => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData(STOP, MARKET);
    expect(data.execution).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(data.execution.protectionOrders?.[0]?.orderId).not.toBeNull();
    expect(stops(harness)).toHaveLength(1);
  });

  it("is of unknown outcome while the venue does not show it, and placed once it does", async () => {
    const harness = flat(() => RECEIPT);
    const place = harness.one.fate;
    harness.one.fate = (command, account) => {
      if (command.trigger !== undefined) harness.one.orderReadFailure = () => "TIMEOUT";
      return place(command, account);
    };
    const data = await harness.openData(STOP, { ...MARKET, deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "COMPLETED", protection: "UNKNOWN" });
    harness.one.orderReadFailure = () => null;
    expect(await later(harness, data, 30_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(stops(harness)).toHaveLength(1);
    expect(harness.service.status()).toMatchObject({ watchedCount: 0, unknownCount: 0 });
  });

  it("counts as placed once it is shown to whoever follows it, long after its outcome was abandoned", async () => {
    const harness = flat(() => RECEIPT);
    const place = harness.one.fate;
    harness.one.fate = (command, account) => {
      if (command.trigger !== undefined) harness.one.orderReadFailure = () => "TIMEOUT";
      return place(command, account);
    };
    const data = await harness.openData(STOP, { ...MARKET, deadlineMs: 1_000 });
    expect(await later(harness, data, 1_200_000)).toMatchObject({ protection: "UNKNOWN" });
    expect(harness.service.status()).toMatchObject({ watchedCount: 0, resolver: { active: 0 } });
    harness.one.orderReadFailure = () => null;
    expect(await later(harness, data, 600_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(stops(harness)).toHaveLength(1);
  });

  it.each([
    ["canceled in its list", ENDS("VENUE_STATE")],
    ["refused by its sequencer", REFUSED],
  ])("is reported as failed where it was %s, and sent again until it is placed", async (_, fate) => {
    const harness = flat((count) => (count <= 2 ? fate : RECEIPT));
    const data = await harness.openData(STOP, MARKET);
    expect(data.execution).toMatchObject({ protection: "FAILED", protectionReason: "VENUE_STATE" });
    expect(await later(harness, data, 20_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([250, 250, 250]);
    expect(openGuards(harness)).toHaveLength(1);
    const states = (await recordedRows(harness.store)).flatMap((row) => (row.table === "event" ? [row.status] : []));
    expect(states.filter((status) => status === "REJECTED")).toHaveLength(2);
    expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
  });

  it("and that turns out never to have arrived is sent again", async () => {
    const harness = flat((count) => (count === 1 ? { kind: "drop", isReceipt: true } : RECEIPT));
    const data = await harness.openData(STOP, { ...MARKET, deadlineMs: 1_000 });
    expect(data.execution.protection).toBe("UNKNOWN");
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED" });
    expect(stops(harness)).toHaveLength(2);
    expect(openGuards(harness)).toHaveLength(1);
  });

  it("and that turns out never to have arrived, long after its outcome was abandoned, is sent again", async () => {
    const harness = flat((count) => (count === 1 ? { kind: "drop", isReceipt: true } : RECEIPT));
    harness.one.orderReadFailure = () => (stops(harness).length > 0 ? "TIMEOUT" : null);
    const data = await harness.openData(STOP, { ...MARKET, deadlineMs: 1_000 });
    expect(await later(harness, data, 1_200_000)).toMatchObject({ protection: "UNKNOWN" });
    harness.one.orderReadFailure = () => null;
    expect(await later(harness, data, 600_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(openGuards(harness)).toHaveLength(1);
  });

  it("and that turns out never to have arrived, after a crash, is reported as failed", async () => {
    const harness = flat(() => ({ kind: "drop", isReceipt: true }));
    harness.one.orderReadFailure = () => (stops(harness).length > 0 ? "TIMEOUT" : null);
    const data = await harness.openData(STOP, { ...MARKET, deadlineMs: 1_000 });
    await later(harness, data, 1_000);
    const next = await harness.restart();
    harness.one.orderReadFailure = () => null;
    await harness.clock.advanceAsync(10_000);
    // Credentials of its account come by.
    const credentials = { venueone: { account: ACCOUNT, secret: SECRET_ONE } };
    await harness.run(next.askExecution(data.routing.routeId, credentials as never, ASKER));
    await harness.clock.advanceAsync(600_000);
    expect((await next.execution(data.routing.routeId, ASKER))?.execution).toMatchObject({
      protection: "FAILED",
      protectionReason: "NOT_PLACED",
    });
    expect(next.status().followedCount).toBe(0);
  });

  it("and that turns out never to have arrived is not taken back, where the position is closed instead", async () => {
    const harness = flat(() => ({ kind: "drop", isReceipt: true }));
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, { ...MARKET, deadlineMs: 1_000 });
    expect(await later(harness, data, 600_000)).toMatchObject({ protection: "FAILED", protectionReason: "NOT_PLACED" });
    expect(closes(harness).map(({ command }) => command.qtyLots)).toEqual([250]);
    expect(harness.one.calls.cancel).toBe(0);
    expect(harness.logLines.filter((line) => line.includes("protection_given_up"))).toEqual([]);
  });

  it("for good is not sent again, and reported as failed", async () => {
    const harness = flat(() => ENDS("INSUFFICIENT_MARGIN"));
    const data = await harness.openData(STOP, MARKET);
    expect(await later(harness, data, 300_000)).toMatchObject({
      protection: "FAILED",
      protectionReason: "INSUFFICIENT_MARGIN",
      protectionOrders: [{ status: "REJECTED", reason: "INSUFFICIENT_MARGIN" }],
    });
    expect(stops(harness)).toHaveLength(1);
  });

  it("has its position closed where the caller wants none without protection", async () => {
    const harness = flat(() => ENDS("VENUE_STATE"));
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, MARKET);
    expect(await later(harness, data, 20_000)).toMatchObject({ protection: "FAILED", protectionReason: "VENUE_STATE" });
    expect(stops(harness)).toHaveLength(1);
    expect(closes(harness).map(({ command }) => command.qtyLots)).toEqual([250]);
    expect(harness.one.heldLots(ACCOUNT, "LONG")).toBe(0);
  });
});

/** Something happens to the n-th stop, and its account's stream tells it. */
function endStop(harness: Harness, index: number, change: Partial<VenueOrder>): void {
  const entry = stops(harness)[index];
  if (entry?.order == null) throw new Error("no such stop");
  entry.order = { ...entry.order, ...change };
  (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order: entry.order });
}

describe("a stop that was placed long ago", () => {
  it.each([
    [
      "canceled by its venue, which is no reason to trust it",
      { status: "CANCELED", endReason: "VENUE_STATE" },
      "VENUE_STATE",
    ],
    ["canceled for want of a position", { status: "CANCELED", endReason: "REDUCE_ONLY" }, "REDUCE_ONLY"],
    ["canceled without a word", { status: "CANCELED" }, "CANCELED"],
  ] as const)("and is %s is not reported as placed any more", async (_, change, reason) => {
    const harness = flat((count) => (count === 1 ? RECEIPT : { kind: "reject", reason: "PRICE" }));
    const data = await harness.openData(STOP, MARKET);
    await later(harness, data, 3_600_000);
    endStop(harness, 0, change);
    const { protection, protectionOrders } = await later(harness, data, 2_000);
    expect(protection).toBe("FAILED");
    expect(protectionOrders?.[0]).toMatchObject({ status: "CANCELED", reason });
  });

  it("and that its venue cancels is sent again with the credentials that its order is followed with", async () => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData(STOP, MARKET);
    await later(harness, data, 3_600_000);
    endStop(harness, 0, { status: "CANCELED", endReason: "VENUE_STATE" });
    expect(await later(harness, data, 20_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(stops(harness).map(({ command }) => command.qtyLots)).toEqual([250, 250]);
    expect(harness.service.status().watchedCount).toBe(0);
  });

  it("and that its venue cancels has its position closed where the caller wants none without", async () => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, MARKET);
    await later(harness, data, 3_600_000);
    endStop(harness, 0, { status: "CANCELED", endReason: "NO_LIQUIDITY" });
    await later(harness, data, 20_000);
    expect(stops(harness)).toHaveLength(1);
    expect(closes(harness).map(({ command }) => command.qtyLots)).toEqual([250]);
    expect(harness.one.heldLots(ACCOUNT, "LONG")).toBe(0);
    expect(harness.one.sessions.filter(({ closed }) => !closed)).toEqual([]);
  });

  it.each([
    ["its owner", { status: "CANCELED" }],
    ["want of a position", { status: "CANCELED", endReason: "REDUCE_ONLY" }],
  ] as const)("and is canceled by %s is not sent again", async (_, change) => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData({ ...STOP, closeOnProtectionFailure: true }, MARKET);
    await later(harness, data, 3_600_000);
    endStop(harness, 0, change);
    await later(harness, data, 300_000);
    expect(harness.one.log).toHaveLength(2);
  });

  it("and is canceled because the take-profit closed all is still reported as placed", async () => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData({ ...STOP, takeProfit: "105000" }, MARKET);
    await later(harness, data, 60_000);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    endStop(harness, 0, { status: "FILLED", filledLots: 250, averagePrice: "105000" });
    endStop(harness, 1, { status: "CANCELED", endReason: "REDUCE_ONLY" });
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(harness.one.log).toHaveLength(3);
  });

  it.each([
    ["take-profit", 0, "105000"],
    ["stop", 1, "95000"],
  ] as const)(
    "is withdrawn once the %s beside it closed all, and closes nothing opened later",
    async (_, filled, price) => {
      const harness = flat(() => RECEIPT);
      const data = await harness.openData({ ...STOP, takeProfit: "105000" }, MARKET);
      await later(harness, data, 60_000);
      harness.one.setPosition(ACCOUNT, "LONG", 0);
      endStop(harness, filled, { status: "FILLED", filledLots: 250, averagePrice: price });
      await later(harness, data, 60_000);
      expect(openGuards(harness)).toEqual([]);
      const reported = await later(harness, data, 300_000);
      expect(reported).toMatchObject({ protection: "PLACED", protectionReason: null });
      expect(harness.one.log).toHaveLength(3);
      expect(harness.service.status().watchedCount).toBe(0);
    },
  );

  it.each([
    ["is still open", { status: "PARTIALLY_FILLED" }],
    ["is ended by its venue", { status: "CANCELED", endReason: "REDUCE_ONLY" }],
  ] as const)("and closed what its take-profit left, and %s, has the take-profit withdrawn too", async (_, end) => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData({ ...STOP, takeProfit: "105000" }, MARKET);
    await later(harness, data, 60_000);
    harness.one.setPosition(ACCOUNT, "LONG", 150);
    const profit = stops(harness).findIndex(({ command }) => command.trigger?.kind === "TAKE_PROFIT");
    endStop(harness, profit, { status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "105000" });
    await later(harness, data, 60_000);
    expect(stops(harness)).toHaveLength(2);
    expect(harness.one.calls.cancel).toBe(0);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    endStop(harness, 1 - profit, { ...end, filledLots: 150, averagePrice: "95000" });
    await later(harness, data, 300_000);
    const statuses = stops(harness).map(({ order }) => order?.status);
    expect(statuses).toEqual(["CANCELED", "CANCELED"]);
    expect(harness.one.log).toHaveLength(3);
  });

  it("is withdrawn for the part that its take-profit closed, and the rest stays guarded", async () => {
    const harness = flat(() => RECEIPT);
    const wish = { ...STOP, takeProfit: "105000" };
    const data = await harness.openData(wish, { orderType: "LIMIT", limitPrice: "99000", ...MARKET });
    const fillEntry = (filledLots: number, held: number): void => {
      const [entry] = harness.one.log;
      if (entry?.order == null) throw new Error("no entry is there");
      const status = filledLots === 250 ? "FILLED" : "PARTIALLY_FILLED";
      entry.order = { ...entry.order, status, filledLots, averagePrice: "99000" };
      harness.one.setPosition(ACCOUNT, "LONG", held);
      (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order: entry.order });
    };
    fillEntry(100, 100);
    await later(harness, data, 60_000);
    harness.one.setPosition(ACCOUNT, "LONG", 0);
    endStop(harness, 0, { status: "FILLED", filledLots: 100, averagePrice: "105000" });
    await later(harness, data, 60_000);
    expect(openGuards(harness)).toEqual([]);
    fillEntry(250, 150);
    expect(await later(harness, data, 60_000)).toMatchObject({ protection: "PLACED", protectionReason: null });
    expect(openGuards(harness).map(({ command }) => command.qtyLots)).toEqual([150, 150]);
    expect(stops(harness)).toHaveLength(4);
  });

  it.each([
    ["whole", { status: "FILLED", filledLots: 250 }, 0, []],
    ["in part", { status: "PARTIALLY_FILLED", filledLots: 100 }, 150, [150]],
  ] as const)(
    "and ends after its take-profit filled %s has what is left closed, no more",
    async (_, taken, held, sent) => {
      const harness = flat(() => RECEIPT);
      const data = await harness.openData({ ...STOP, takeProfit: "105000", closeOnProtectionFailure: true }, MARKET);
      await later(harness, data, 60_000);
      harness.one.setPosition(ACCOUNT, "LONG", held);
      endStop(harness, 0, { ...taken, averagePrice: "105000" });
      await later(harness, data, 1_000);
      endStop(harness, 1, { status: "CANCELED", endReason: "VENUE_STATE" });
      await later(harness, data, 300_000);
      expect(closes(harness).map(({ command }) => command.qtyLots)).toEqual(sent);
      expect(harness.one.heldLots(ACCOUNT, "LONG")).toBe(0);
    },
  );

  it("and that its venue ends again and again is sent a bounded number of times", async () => {
    const harness = flat(() => RECEIPT);
    const data = await harness.openData(STOP, MARKET);
    for (let count = 0; count < 40; count++) {
      const index = stops(harness).length - 1;
      if (stops(harness)[index]?.order?.status === "OPEN")
        endStop(harness, index, { status: "CANCELED", endReason: "VENUE_STATE" });
      await later(harness, data, 60_000);
    }
    expect(stops(harness).length).toBeLessThanOrEqual(16);
    expect(await later(harness, data, 0)).toMatchObject({ protection: "FAILED", protectionReason: "VENUE_STATE" });
  });
});
