import { expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { INDEXING_LAG_MS } from "../send/absence-proof.js";
import { RecentOrders } from "./recent-orders.js";
import type { SingleRun } from "./single-run.js";

/** What is asked of a run here. */
function confirmed(ackAtMs: number): SingleRun {
  const attempt = { outcome: "CONFIRMED", order: { venueOrderId: "7" }, venueClientOrderId: "c", ackAtMs };
  return { accountHash: "a", clientOrderId: null, attempts: [attempt] } as unknown as SingleRun;
}

it("speak for as long as a venue may not know them, whatever our wall clock is set to", () => {
  for (const stepMs of [0, -3_600_000, 3_600_000]) {
    const clock = new VirtualClock();
    const recent = new RecentOrders(clock);
    recent.add(confirmed(clock.wallMs()));
    clock.stepWall(stepMs);
    clock.advance(INDEXING_LAG_MS);
    expect([stepMs, recent.find(["a"], "7") === null]).toEqual([stepMs, false]);
    clock.advance(1);
    expect([stepMs, recent.find(["a"], "7")]).toEqual([stepMs, null]);
  }
});

it("count for no longer when they are reported again, nor when their confirmation was long ago", () => {
  const clock = new VirtualClock();
  const recent = new RecentOrders(clock);
  const run = confirmed(clock.wallMs());
  recent.add(run);
  clock.advance(INDEXING_LAG_MS - 500);
  recent.add(run);
  clock.advance(501);
  expect(recent.find(["a"], "7")).toBeNull();
  recent.add(run);
  expect(recent.find(["a"], "7")).toBeNull();
});
