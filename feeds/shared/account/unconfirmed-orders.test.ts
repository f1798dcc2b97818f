/** Whether the order events of a stream reported all that we know to have happened: orders of ours, cancels, and doubts. */
import { describe, expect, it } from "vitest";
import type { CancelOutcome, OrderCommand, PlaceOutcome, VenueOrder } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { cancelAllTold, cancelTold, changeTold, type OrderAudience, placeTold } from "../orders/own-order.js";
import { ConnectionLife } from "./connection-life.js";
import { StreamedReads, SURELY_LATER_MS } from "./streamed-reads.js";

const order = (status: VenueOrder["status"], id = "1"): VenueOrder =>
  ({ venueClientOrderId: id, venueOrderId: `v${id}`, status, filledLots: 0 }) as unknown as VenueOrder;
const STOP = {
  instrument: { nativeSymbol: "BTC" },
  side: "SELL",
  type: "STOP_MARKET",
  qtyLots: 5,
  trigger: {},
} as unknown as OrderCommand;
const accepted = (status: VenueOrder["status"]): PlaceOutcome => ({
  outcome: "accepted",
  order: order(status),
  ackMs: 1,
});

/** By our own budget: it never left. */
const refused: CancelOutcome = {
  outcome: "rejected",
  reason: "RATE_LIMITED",
  venueCode: "RATE_BUDGET",
  venueText: "",
  sent: false,
  retryAfterMs: 1_000,
};

function setUp() {
  const clock = new VirtualClock();
  const reads = new StreamedReads(clock, new ConnectionLife(clock));
  const account = { reads, refreshSoon: () => {} };
  const audience: OrderAudience = { streamed: () => [account], note: () => {} };
  clock.advance(60_000);
  const nowMs = (): number => clock.monoNs() / 1e6;
  const place = (outcome: PlaceOutcome, during: () => void = () => {}): Promise<PlaceOutcome> =>
    placeTold(audience, STOP, "1", true, async () => {
      during();
      return outcome;
    });
  return { clock, reads, audience, nowMs, place };
}

describe("what order events did not report", () => {
  it("is still an order that was never reported, when its cancel had no effect", async () => {
    const { clock, reads, audience, nowMs, place } = setUp();
    await place(accepted("OPEN"));
    const sinceMs = nowMs();
    await cancelTold(audience, "1", () => Promise.resolve(refused));
    clock.advance(SURELY_LATER_MS);
    expect(reads.orders.sinceMs()).toBe(sinceMs);
  });

  it("is not an order that was reported while its cancel had no effect", async () => {
    const { clock, reads, audience, place } = setUp();
    await place(accepted("OPEN"));
    await cancelTold(audience, "1", () => {
      reads.told(order("OPEN"));
      return Promise.resolve(refused);
    });
    clock.advance(SURELY_LATER_MS);
    expect(reads.orders.sinceMs()).toBeNull();
  });

  it("is an order that rests, answered and not reported in time; also after positions were read", async () => {
    const { clock, reads, nowMs, place } = setUp();
    await place(accepted("OPEN"));
    const sinceMs = nowMs();
    expect(reads.orders.sinceMs()).toBeNull();
    clock.advance(SURELY_LATER_MS);
    expect(reads.orders.sinceMs()).toBe(sinceMs);
    // A resting order moves no position: that those agree says nothing of it.
    clock.advance(5_000);
    reads.agreed(nowMs());
    expect(reads.orders.sinceMs()).toBe(sinceMs);
    reads.told(order("OPEN"));
    expect(reads.orders.sinceMs()).toBeNull();
  });

  it("is nothing of an order reported before its answer, of one that ended with it, and of one refused", async () => {
    for (const [outcome, isTold] of [
      [accepted("OPEN"), true],
      [accepted("FILLED"), false],
      [{ outcome: "rejected", reason: "PRICE", venueCode: "", venueText: "", sent: true, retryAfterMs: null }, false],
    ] as const) {
      const { clock, reads, place } = setUp();
      await place(outcome, () => {
        if (isTold) reads.told(order("OPEN"));
      });
      clock.advance(60_000);
      expect(reads.orders.sinceMs()).toBeNull();
    }
  });

  it("may be anything after an unknown outcome, an order that was changed, and a frame that was late", async () => {
    const { clock, reads, audience, nowMs, place } = setUp();
    await place({ outcome: "unknown", cause: "timeout", notPlacedAfterMs: 0 });
    expect(reads.orders.sinceMs()).toBe(nowMs());
    clock.advance(10_000);
    await changeTold(audience, async () => 1);
    expect(reads.orders.sinceMs()).toBe(nowMs());
    clock.advance(10_000);
    const before = reads.orders.sinceMs();
    await changeTold(audience, async () => 1, "positions");
    expect(reads.orders.sinceMs()).toBe(before);
    reads.happened(clock.wallMs() - 10_000);
    expect(reads.orders.sinceMs()).toBe(nowMs());
  });

  it("is the end of an order that we cancelled, by either of its ids", async () => {
    for (const id of ["v1", "1"]) {
      const { clock, reads, audience, nowMs } = setUp();
      const cancel = (outcome: unknown) => cancelTold(audience, id, async () => outcome as never);
      await cancel({ outcome: "accepted" });
      const sinceMs = nowMs();
      // That it is open was reported before, and again: not its end.
      reads.told(order("OPEN"));
      clock.advance(SURELY_LATER_MS);
      expect(reads.orders.sinceMs()).toBe(sinceMs);
      reads.told(order("CANCELED"));
      expect(reads.orders.sinceMs()).toBeNull();
      await cancel({ outcome: "rejected", reason: "VENUE_STATE" });
      clock.advance(10_000);
      expect(reads.orders.sinceMs()).toBeNull();
      // It is gone, and nobody told.
      await cancel({ outcome: "rejected", reason: "NOT_FOUND" });
      expect(reads.orders.sinceMs()).toBe(nowMs());
      clock.advance(10_000);
      await cancel({ outcome: "unknown" });
      expect(reads.orders.sinceMs()).toBe(nowMs());
      clock.advance(10_000);
      await cancelAllTold(audience, async () => ({ outcome: "accepted", canceledCount: null, failed: [] }));
      expect(reads.orders.sinceMs()).toBe(nowMs());
    }
  });

  it("is the end that one cancel was promised, whatever the outcome of another cancel of the same order", async () => {
    const refused = { outcome: "rejected", reason: "RATE_LIMITED" };
    const cancel = (audience: OrderAudience, outcome: unknown, gate: Promise<void> = Promise.resolve()) =>
      cancelTold(audience, "v1", async () => {
        await gate;
        return outcome as never;
      });
    {
      // After it.
      const { clock, reads, audience, nowMs } = setUp();
      await cancel(audience, { outcome: "accepted" });
      const sinceMs = nowMs();
      clock.advance(500);
      await cancel(audience, refused);
      clock.advance(SURELY_LATER_MS);
      expect(reads.orders.sinceMs()).toBe(sinceMs);
    }
    {
      // While it is under way.
      const { clock, reads, audience, nowMs } = setUp();
      let answer: () => void = () => {};
      const first = cancel(audience, { outcome: "accepted" }, new Promise((resolve) => (answer = resolve)));
      await cancel(audience, refused);
      answer();
      await first;
      const sinceMs = nowMs();
      clock.advance(SURELY_LATER_MS);
      expect(reads.orders.sinceMs()).toBe(sinceMs);
    }
    {
      // And the time at which it was promised is not forgotten while the other is under way.
      const { clock, reads, audience, nowMs } = setUp();
      await cancel(audience, { outcome: "accepted" });
      const sinceMs = nowMs();
      clock.advance(500);
      void cancel(audience, refused, new Promise(() => {}));
      clock.advance(SURELY_LATER_MS);
      expect(reads.orders.sinceMs()).toBe(sinceMs);
    }
  });

  it("is bounded: what is awaited for longest becomes a doubt of all", async () => {
    const { clock, reads, nowMs } = setUp();
    for (let count = 0; count < 5_000; count++) reads.orders.expect(String(count), false);
    expect(reads.orders.sinceMs()).toBe(nowMs());
    clock.advance(1_000);
    expect(reads.orders.size).toBeLessThanOrEqual(1_024);
  });
});
