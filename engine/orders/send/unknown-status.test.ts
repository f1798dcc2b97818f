/** An accepted order whose status word nobody knows here: unknown, and it may yet fill. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { PlaceFate } from "../test/fake-matching.js";
import type { FakeVenue } from "../test/fake-venue.js";
import { ASKER, createHarness } from "../test/harness.js";
import { createDesk, orderName } from "../single/test/desk-harness.js";

const ODD: PlaceFate["shows"] = { status: "UNKNOWN", venueStatus: "amending" };

/** The venue's record of its first order becomes what it shows from now on. */
function showFirst(venue: FakeVenue, change: Partial<VenueOrder>): void {
  const [first] = venue.log;
  if (first?.order === null || first === undefined) throw new Error("no order is there");
  first.order = { ...first.order, ...change };
}

describe("an accepted order with a status that is not known", () => {
  it("is UNKNOWN and not final, never a refusal, and no other venue is tried", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0, shows: ODD });
    const result = await harness.close({ deadlineMs: 1_000 });
    expect(result).toMatchObject({
      ok: true,
      success: true,
      data: {
        executedOn: "venueone",
        order: { status: "UNKNOWN" },
        execution: { state: "UNKNOWN", final: false, legs: [{ status: "UNKNOWN", outcome: "UNKNOWN" }] },
      },
    });
    expect(harness.two.log).toHaveLength(0);
    expect(harness.service.status()).toMatchObject({ unknownCount: 1, resolver: { active: 1 } });
    expect(harness.logLines.some((line) => line.startsWith("error") && line.includes("amending"))).toBe(true);
  });

  it("counts what it shows as filled, which is no end of it", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4, shows: ODD });
    const data = await harness.closeData({ deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", final: false, filledSize: "0.1", remainingSize: "0.15" });
    expect(data.execution.legs).toMatchObject([{ outcome: "UNKNOWN", status: "UNKNOWN", filledSize: "0.1" }]);
    expect(harness.two.log).toHaveLength(0);
  });

  it("that only a read shows makes an acknowledged order unknown", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", ackOnlyMs: 50, shows: ODD });
    const data = await harness.closeData({ deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "SUBMITTED", final: false });
    await harness.clock.advanceAsync(70_000);
    const later = await harness.service.execution(data.routing.routeId, ASKER);
    expect(later?.execution).toMatchObject({ state: "UNKNOWN", final: false, filledSize: "0.25" });
    expect(harness.service.status().unknownCount).toBe(1);
  });

  it("is not proven absent by the time after which its venue takes it no more", async () => {
    const harness = createHarness();
    // A receipt with an odd word and a bound; no look-up shows the order.
    harness.one.fate = () => ({ kind: "drop", shows: ODD });
    const data = await harness.closeData({ deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", final: false });
    await harness.clock.advanceAsync(70_000);
    const later = await harness.service.execution(data.routing.routeId, ASKER);
    expect(later?.execution).toMatchObject({ state: "UNKNOWN", final: false });
    expect(harness.two.log).toHaveLength(0);
  });

  it("ends with the first word that is known", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4, shows: ODD });
    const data = await harness.closeData({ deadlineMs: 1_000 });
    showFirst(harness.one, { status: "FILLED", venueStatus: "filled", filledLots: 250 });
    await harness.clock.advanceAsync(10_000);
    const later = await harness.service.execution(data.routing.routeId, ASKER);
    expect(later?.execution).toMatchObject({ state: "COMPLETED", final: true, filledSize: "0.25" });
    expect(harness.service.status().unknownCount).toBe(0);
  });

  it("of an entry is protected as far as it shows a fill, and the reply says that more may come", async () => {
    const harness = createHarness();
    for (const venue of [harness.one, harness.two]) venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
    harness.one.fate = (command) =>
      command.reduceOnly ? { kind: "fill" } : { kind: "fill", liquidity: 0.4, shows: ODD };
    const data = await harness.openData({ stopLoss: "95000" }, { preferredExchange: "venueone", deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", protectionReason: "OUTCOME_UNKNOWN" });
    expect(harness.one.log[1]?.command).toMatchObject({ reduceOnly: true, qtyLots: 100 });
  });

  it("that rests is unknown too", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", shows: ODD });
    const data = await harness.closeData({ orderType: "LIMIT", limitPrice: "101000", deadlineMs: 1_000 });
    expect(data.execution).toMatchObject({ state: "UNKNOWN", final: false });
  });
});

describe("a single order with a status that is not known", () => {
  it("is of unknown outcome with what it shows as filled, listed, and found at its end", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "fill", liquidity: 0.4, shows: ODD });
    const order = await harness.order({ deadlineMs: 1_000, clientOrderId: "mine" });
    expect(order).toMatchObject({ outcome: "UNKNOWN", status: "UNKNOWN", orderId: "9000000", filledQuantity: "0.1" });
    expect(harness.desk.status().unknownCount).toBe(1);
    showFirst(harness.venue, { status: "CANCELED", venueStatus: "canceled" });
    const asked = await harness.run(
      harness.desk.orderStatus(orderName("mine"), {
        requestId: "r",
        idempotencyKey: null,
        ownerId: "pk_test",
        rawBody: Buffer.from(""),
        receivedAtMs: 0,
        payer: null,
      }),
    );
    expect(asked).toMatchObject({
      ok: true,
      order: { outcome: "CONFIRMED", status: "CANCELED", filledQuantity: "0.1" },
    });
    expect(harness.desk.status().unknownCount).toBe(0);
  });
});
