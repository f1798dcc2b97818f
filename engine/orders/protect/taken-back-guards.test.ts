/** Protection that is taken back with the part that its sibling closed: what its cancel came to is the venue's to say. */
import { expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import { FakeStreams } from "../test/fake-streams.js";
import { ASKER, createHarness, type Harness } from "../test/harness.js";
import { createRowSink, rowFaults } from "../test/row-sink.js";
import type { TradeData } from "../types.js";

const ACCOUNT = "acct-venueone";
const RESTS = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const BOTH = { stopLoss: "95000", takeProfit: "105000" };

const guards = (harness: Harness, kind: "STOP" | "TAKE_PROFIT") =>
  harness.one.log.filter(({ command }) => command.trigger?.kind === kind);
const openGuards = (harness: Harness, kind: "STOP" | "TAKE_PROFIT"): readonly number[] =>
  guards(harness, kind).flatMap(({ command, order }) => (order?.status === "OPEN" ? command.qtyLots : []));

function change(harness: Harness, entry: Harness["one"]["log"][number] | undefined, to: Partial<VenueOrder>): void {
  if (entry?.order == null) throw new Error("no such order");
  entry.order = { ...entry.order, ...to };
  entry.filledLots = entry.order.filledLots;
  (harness.one.streams as FakeStreams).tell(ACCOUNT, { kind: "order", order: entry.order });
}

async function fillEntry(harness: Harness, filledLots: number, held: number): Promise<void> {
  harness.one.setPosition(ACCOUNT, "LONG", held);
  change(harness, harness.one.log[0], { status: "PARTIALLY_FILLED", filledLots, averagePrice: "99000" });
  await harness.clock.advanceAsync(60_000);
}

/** An entry of 0.4 that has filled 0.1 and then `filled`, each part with its guards; it rests still. */
async function filledTwice(filled = 250): Promise<{ readonly harness: Harness; readonly data: TradeData }> {
  const harness = createHarness({
    service: { records: createRowSink() },
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  const data = await harness.openData(BOTH, { ...RESTS, size: "0.4" });
  await fillEntry(harness, 100, 100);
  await fillEntry(harness, filled, filled);
  expect([openGuards(harness, "STOP"), openGuards(harness, "TAKE_PROFIT")]).toEqual([
    [100, filled - 100],
    [100, filled - 100],
  ]);
  return { harness, data };
}

/** The take-profit of the first part fills: the stop of that part goes. */
function closeFirst(harness: Harness): void {
  harness.one.setPosition(ACCOUNT, "LONG", harness.one.heldLots(ACCOUNT, "LONG") - 100);
  change(harness, guards(harness, "TAKE_PROFIT")[0], { status: "FILLED", filledLots: 100, averagePrice: "105000" });
}

it("a protection order that is withdrawn is reported and recorded with what it filled while its cancel was on its way", async () => {
  const { harness, data } = await filledTwice();
  closeFirst(harness);
  const stop = guards(harness, "STOP")[0];
  harness.one.cancelFate = () => {
    // The market fell: some of it filled before the cancel came, and no frame tells of it.
    if (stop?.order?.status === "OPEN") {
      stop.order = { ...stop.order, status: "PARTIALLY_FILLED", filledLots: 40, averagePrice: "94900" };
      stop.filledLots = 40;
    }
    return "accept";
  };
  await harness.clock.advanceAsync(120_000);
  expect(stop?.order).toMatchObject({ status: "CANCELED", filledLots: 40 });
  const execution = (await harness.service.execution(data.routing.routeId, ASKER))?.execution;
  expect(execution?.protectionOrders?.map(({ filledSize }) => filledSize)).toContain("0.04");
  expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
});

it("the cancel of a protection order is sent again where the venue refuses it, until the order is gone", async () => {
  const { harness } = await filledTwice();
  let refused = 3;
  harness.one.cancelFate = () => (refused-- > 0 ? "refuse" : "accept");
  closeFirst(harness);
  await harness.clock.advanceAsync(120_000);
  expect([openGuards(harness, "STOP"), openGuards(harness, "TAKE_PROFIT")]).toEqual([[150], [150]]);
});

it("a protection order counts as protection again where its cancel was refused and it is needed: ended by its venue it is sent again", async () => {
  const { harness } = await filledTwice();
  // Refused as long as it is in excess.
  harness.one.cancelFate = () => "refuse";
  closeFirst(harness);
  await harness.clock.advanceAsync(2_000);
  expect(harness.one.calls.cancel).toBeGreaterThan(0);
  harness.one.cancelFate = () => "accept";
  await fillEntry(harness, 350, 250);
  expect(openGuards(harness, "STOP").reduce((sum, lots) => sum + lots, 0)).toBe(250);
  const first = guards(harness, "STOP")[0];
  expect(first?.order?.status).toBe("OPEN");
  change(harness, first, { status: "CANCELED", endReason: "VENUE_STATE" });
  await harness.clock.advanceAsync(120_000);
  expect(openGuards(harness, "STOP").reduce((sum, lots) => sum + lots, 0)).toBe(250);
});

it("a protection order counts as protection again where its cancel had no effect and it is needed: ended by its venue it is sent again", async () => {
  const { harness } = await filledTwice();
  harness.one.cancelFate = () => "lose";
  closeFirst(harness);
  await harness.clock.advanceAsync(2_000);
  expect(harness.one.calls.cancel).toBeGreaterThan(0);
  harness.one.cancelFate = () => "accept";
  await fillEntry(harness, 350, 250);
  expect(openGuards(harness, "STOP").reduce((sum, lots) => sum + lots, 0)).toBe(250);
  for (const guard of guards(harness, "STOP")) {
    if (guard.order?.status !== "OPEN") continue;
    change(harness, guard, { status: "CANCELED", endReason: "VENUE_STATE" });
    await harness.clock.advanceAsync(120_000);
    expect(openGuards(harness, "STOP").reduce((sum, lots) => sum + lots, 0)).toBe(250);
  }
});

it("the protection order that is withdrawn is the one that guarded the closed part, also where a smaller one was placed later", async () => {
  const { harness } = await filledTwice(150);
  closeFirst(harness);
  await harness.clock.advanceAsync(120_000);
  expect([openGuards(harness, "STOP"), openGuards(harness, "TAKE_PROFIT")]).toEqual([[50], [50]]);
});

it("a protection order that is withdrawn is no failed protection where its end could not be read for a while", async () => {
  const { harness, data } = await filledTwice();
  harness.one.orderReadFailure = () => "TIMEOUT";
  closeFirst(harness);
  await harness.clock.advanceAsync(10_000);
  expect(openGuards(harness, "STOP")).toEqual([150]);
  harness.one.orderReadFailure = () => null;
  await harness.clock.advanceAsync(600_000);
  const execution = (await harness.service.execution(data.routing.routeId, ASKER))?.execution;
  expect(execution?.protectionOrders?.map(({ kind, reason, status }) => [kind, status, reason])).toEqual([
    ["TAKE_PROFIT", "FILLED", null],
    ["STOP_LOSS", "CANCELED", null],
    ["TAKE_PROFIT", "OPEN", null],
    ["STOP_LOSS", "OPEN", null],
  ]);
});
