/** "Reduce only" reported after the acknowledgement, by a status word, a code, or no word at all. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import type { PlaceFate } from "../test/fake-matching.js";
import type { FakeVenue } from "../test/fake-venue.js";
import { createHarness } from "../test/harness.js";
import { createDesk, closeRequest, orderContext } from "../single/test/desk-harness.js";

const REFUSED_LATE: Partial<VenueOrder> = {
  status: "REJECTED",
  venueStatus: "21740 invalid reduce only mode",
  endReason: "REDUCE_ONLY",
};
const CANCELED_LATE: Partial<VenueOrder> = {
  status: "CANCELED",
  venueStatus: "canceled-reduce-only",
  endReason: "REDUCE_ONLY",
};
/** A venue that has one word for every end. */
const EXPIRED: Partial<VenueOrder> = { status: "CANCELED", venueStatus: "EXPIRED" };
const REFUSED_WITHOUT_A_WORD: Partial<VenueOrder> = { status: "REJECTED", venueStatus: "rejected" };

/** The venue takes the first order, and then shows that `heldLots` are left of the position. */
function shrunkTo(venue: FakeVenue, account: string, heldLots: number, first: PlaceFate): void {
  venue.fate = () => {
    if (venue.log.length > 0) return { kind: "fill" };
    venue.clock.setTimer(() => venue.setPosition(account, "LONG", heldLots), 1);
    return first;
  };
}

describe("an order that the venue takes and then ends for want of a position", () => {
  it.each([
    ["refused by its sequencer", { ackOnlyMs: 50, shows: REFUSED_LATE }],
    ["canceled with the word for it", { ackOnlyMs: 50, shows: CANCELED_LATE }],
    ["canceled with it in the answer itself", { shows: CANCELED_LATE }],
    ["canceled with a word for every end", { shows: EXPIRED }],
    ["refused without a word", { ackOnlyMs: 50, shows: REFUSED_WITHOUT_A_WORD }],
  ] as const)("%s: a flat account is ALREADY_FLAT, and no other venue's position is closed", async (_how, fate) => {
    const harness = createHarness();
    shrunkTo(harness.one, "acct-venueone", 0, { kind: "fill", liquidity: 0, ...fate });
    const result = await harness.close();
    expect(result).toMatchObject({
      ok: true,
      success: true,
      data: {
        executedOn: null,
        order: null,
        execution: { state: "NOOP", final: true, note: "ALREADY_FLAT", filledSize: "0" },
        position: { exchange: "venueone", size: "0" },
      },
    });
    expect(harness.one.log).toHaveLength(1);
    expect(harness.two.log).toHaveLength(0);
    expect(harness.two.heldLots("acct-venuetwo", "LONG")).toBe(400);
  });

  it("after a part has filled is that part, and flat", async () => {
    const harness = createHarness();
    shrunkTo(harness.one, "acct-venueone", 0, { kind: "fill", liquidity: 0.4, shows: EXPIRED });
    const data = await harness.closeData();
    expect(data.execution).toMatchObject({ state: "PARTIAL", final: true, note: "ALREADY_FLAT", filledSize: "0.1" });
    expect(data.position).toMatchObject({ exchange: "venueone", size: "0" });
    expect(harness.two.log).toHaveLength(0);
  });

  it("is sent again for what is left of the position, there", async () => {
    const harness = createHarness();
    shrunkTo(harness.one, "acct-venueone", 90, { kind: "fill", liquidity: 0, ackOnlyMs: 50, shows: REFUSED_LATE });
    const data = await harness.closeData();
    expect(harness.one.log.map(({ command }) => command.qtyLots)).toEqual([250, 90]);
    expect(data.execution).toMatchObject({ state: "PARTIAL", filledSize: "0.09" });
    expect(data.position).toMatchObject({ exchange: "venueone", size: "0" });
    expect(harness.two.log).toHaveLength(0);
  });

  it.each([
    ["cannot be read", (venue: FakeVenue) => (venue.positionFailure = () => "TIMEOUT" as const)],
    ["reads as it did before", (venue: FakeVenue) => venue.setPosition("acct-venueone", "LONG", 400)],
  ])("goes nowhere else where the position %s: nothing was executed, and the reply says so", async (_how, then) => {
    const harness = createHarness();
    harness.one.fate = () => {
      then(harness.one);
      return { kind: "fill", liquidity: 0, ackOnlyMs: 50, shows: REFUSED_LATE };
    };
    const result = await harness.close();
    expect(result).toMatchObject({
      ok: true,
      success: false,
      data: { execution: { state: "REJECTED", legs: [{ outcome: "REJECTED", reason: "REDUCE_ONLY" }] } },
    });
    expect(harness.two.log).toHaveLength(0);
  });

  it("of a thin book goes on to the next venue with what remains, the position being as large as it left it", async () => {
    const harness = createHarness();
    harness.one.fate = () => ({ kind: "fill", liquidity: 0.4, shows: EXPIRED });
    const data = await harness.closeData();
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25", note: null });
    expect(harness.two.log.map(({ command }) => command.qtyLots)).toEqual([150]);
  });
});

describe("closing one position on its venue", () => {
  it.each([
    ["refused by its sequencer", REFUSED_LATE],
    ["canceled with the word for it", CANCELED_LATE],
    ["canceled with a word for every end", EXPIRED],
  ] as const)("is ALREADY_FLAT where the order was %s and nothing is held", async (_how, shows) => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    shrunkTo(harness.venue, "acct", 0, { kind: "fill", liquidity: 0, ackOnlyMs: 50, shows });
    const closed = await harness.run(harness.desk.closePosition(closeRequest(), orderContext(harness.clock)));
    expect(closed).toMatchObject({ ok: true, legs: [{ status: "CLOSED", note: "ALREADY_FLAT", filledSize: "0" }] });
    expect(harness.venue.log).toHaveLength(1);
  });

  it("is sent again for what is left", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    shrunkTo(harness.venue, "acct", 120, { kind: "fill", liquidity: 0, ackOnlyMs: 50, shows: CANCELED_LATE });
    const closed = await harness.run(harness.desk.closePosition(closeRequest(), orderContext(harness.clock)));
    expect(closed).toMatchObject({ legs: [{ status: "PARTIAL", filledSize: "0.12" }] });
  });
});
