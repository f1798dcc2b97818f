/** Orders whose size was changed after they were sent: what they fill counts against the size that they have. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import {
  createDesk,
  orderContext,
  orderName,
  type DeskHarness,
  type DeskHarnessOptions,
} from "../single/test/desk-harness.js";
import { ASKER, createHarness } from "../test/harness.js";
import { createRowSink, recordedRows, type RecordedRow } from "../test/row-sink.js";

const LIMIT = { type: "LIMIT", price: "95000", quantity: "0.25", timeInForce: "GTC" } as const;
const MINUTE_MS = 60_000;
const KEY = { idempotencyKey: "k" };

function desk(options: DeskHarnessOptions = {}): Promise<DeskHarness> {
  return createDesk({ ...options, desk: { records: createRowSink() } });
}

/** Something happens to the order at its venue. */
function change({ venue }: Pick<DeskHarness, "venue">, changes: Partial<VenueOrder>): void {
  const [entry] = venue.log;
  if (entry?.order == null) throw new Error("no order");
  entry.order = { ...entry.order, averagePrice: "95000", ...changes };
  entry.filledLots = entry.order.filledLots;
}

function amend(harness: DeskHarness, orderId: string, quantity: string): Promise<unknown> {
  const request = { ...orderName(orderId, { symbol: "BTC" }), price: null, quantity };
  return harness.run(harness.desk.amend(request, orderContext(harness.clock)));
}

const fillsOf = (rows: readonly RecordedRow[]): number[] =>
  rows.flatMap((row) => (row.table === "fill" ? [row.lots] : []));

describe("a single order that is amended", () => {
  it.each([true, false])("to more fills all of it, seen open in its new size: %s", async (isSeenOpen) => {
    const harness = await desk();
    const { orderId } = await harness.order(LIMIT, KEY);
    expect(await amend(harness, orderId ?? "", "0.45")).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    if (isSeenOpen) await harness.clock.advanceAsync(2 * MINUTE_MS);
    change(harness, { status: "FILLED", filledLots: 450 });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([450]);
    expect(await harness.place(LIMIT, KEY)).toMatchObject({
      replayed: true,
      order: { status: "FILLED", quantity: "0.45", filledQuantity: "0.45", filledNotional: "42750" },
    });
    expect(harness.logLines.filter((line) => line.includes("implausible"))).toEqual([]);
  });

  it("is shown in its new size while it rests, also after a restart", async () => {
    const harness = await desk();
    const { orderId } = await harness.order(LIMIT, KEY);
    await amend(harness, orderId ?? "", "0.45");
    await harness.clock.advanceAsync(2 * MINUTE_MS);
    const shown = { replayed: true, order: { status: "OPEN", quantity: "0.45", filledQuantity: "0" } };
    expect(await harness.place(LIMIT, KEY)).toMatchObject(shown);
    await harness.restart();
    expect(await harness.place(LIMIT, KEY)).toMatchObject(shown);
  });

  it.each([250, 450])("by a change whose answer is lost fills what its venue has of it: %i", async (qtyLots) => {
    const harness = await desk({ knobs: { amend: "lose" } });
    const { orderId } = await harness.order(LIMIT, KEY);
    expect(await amend(harness, orderId ?? "", "0.45")).toMatchObject({ ok: true, outcome: "UNKNOWN" });
    change(harness, { status: "FILLED", qtyLots, filledLots: qtyLots });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([qtyLots]);
    const quantity = (qtyLots / 1_000).toString();
    expect(await harness.place(LIMIT, KEY)).toMatchObject({ order: { quantity, filledQuantity: quantity } });
  });

  it.each(["FILLED", "CANCELED"] as const)("to less than has filled by then loses no fill: %s", async (status) => {
    const harness = await desk();
    const { orderId } = await harness.order(LIMIT, KEY);
    await amend(harness, orderId ?? "", "0.1");
    change(harness, { status, filledLots: 120 });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([120]);
    expect(await harness.place(LIMIT, KEY)).toMatchObject({ order: { quantity: "0.12", filledQuantity: "0.12" } });
  });

  it("while its own outcome is unknown is found in its new size", async () => {
    const harness = await desk();
    harness.venue.fate = () => ({ kind: "loseReply", liquidity: 0 });
    const { venueClientOrderId, outcome } = await harness.order({ ...LIMIT, deadlineMs: 300 }, KEY);
    expect(outcome).toBe("UNKNOWN");
    expect(await amend(harness, venueClientOrderId ?? "", "0.45")).toMatchObject({ ok: true, outcome: "ACCEPTED" });
    change(harness, { status: "FILLED", filledLots: 450 });
    await harness.clock.advanceAsync(20 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([450]);
    expect(harness.desk.status()).toMatchObject({ unknownCount: 0, followedCount: 0 });
  });
});

describe("a routed order that rests and is amended", () => {
  it.each([
    [450, "0.45", "0"],
    [200, "0.2", "0.05"],
  ])("to %i lots is reported by what it fills", async (qtyLots, size, remainingSize) => {
    const harness = createHarness({ service: { records: createRowSink() } });
    const resting = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
    const data = await harness.closeData(resting);
    change({ venue: harness.one }, { status: "FILLED", qtyLots, filledLots: qtyLots });
    await harness.clock.advanceAsync(10 * MINUTE_MS);
    expect(fillsOf(await recordedRows(harness.store))).toEqual([qtyLots]);
    const now = await harness.service.execution(data.routing.routeId, ASKER);
    expect(now).toMatchObject({
      order: { status: "FILLED", quantity: size, filledQuantity: size },
      execution: { submittedSize: size, filledSize: size, remainingSize, legs: [{ size, filledSize: size }] },
    });
  });
});
