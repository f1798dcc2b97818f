/** Protection that is open beside one that was refused goes with the position that it guarded, whenever that is closed. */
import { describe, expect, it } from "vitest";
import { createHarness, type Harness } from "../test/harness.js";
import type { PlaceFate } from "../test/fake-matching.js";

const BOTH = { takeProfit: "105000", stopLoss: "95000", closeOnProtectionFailure: true };
const MARKET = { preferredExchange: "venueone", deadlineMs: 2_000 } as const;

/** The take-profit is open, the stop is refused; `undo`: the outcome of the n-th undo. */
function halfGuarded(undo: (count: number) => PlaceFate): Harness {
  const harness = createHarness();
  harness.one.setPosition("acct-venueone", "LONG", 0);
  let count = 0;
  harness.one.fate = ({ reduceOnly, trigger }) => {
    if (!reduceOnly || trigger?.kind === "TAKE_PROFIT") return { kind: "fill" };
    return trigger === undefined ? undo(++count) : { kind: "reject", reason: "VENUE_STATE" };
  };
  return harness;
}

const openGuards = (harness: Harness): number =>
  harness.one.log.filter(({ command, order }) => command.trigger !== undefined && order?.status === "OPEN").length;

const undone = (harness: Harness): number =>
  harness.one.log.filter(({ command }) => command.reduceOnly && command.trigger === undefined).length;

describe("a take-profit beside a refused stop", () => {
  it.each<[string, (count: number) => PlaceFate]>([
    ["at once", () => ({ kind: "fill" })],
    ["by a later try", (count) => (count < 2 ? { kind: "reject", reason: "RATE_LIMITED" } : { kind: "fill" })],
    ["in two parts", (count) => ({ kind: "fill", liquidity: count < 2 ? 0.4 : 1 })],
    ["by an order whose reply was lost", () => ({ kind: "loseReply" })],
  ])("is taken back when the position is closed %s", async (_how, undo) => {
    const harness = halfGuarded(undo);
    // The undo is sent by then, and cannot be read before the reply.
    const isDark = (): boolean => harness.clock.monoNs() - startNs < 10e9 && undone(harness) > 0;
    const startNs = harness.clock.monoNs();
    harness.one.orderReadFailure = () => (isDark() ? "VENUE_ERROR" : null);
    await harness.openData(BOTH, MARKET);
    await harness.clock.advanceAsync(60_000);
    expect(harness.one.heldLots("acct-venueone", "LONG")).toBe(0);
    expect(openGuards(harness)).toBe(0);
  });
});

describe("a way back that turns out never to have reached its venue", () => {
  it("is sent again after the reply: the position does not stay without its stop", async () => {
    const harness = halfGuarded((count) => ({ kind: count < 2 ? "loseRequest" : "fill" }));
    const data = await harness.openData({ ...BOTH, takeProfit: null }, MARKET);
    expect(data.execution.final).toBe(false);
    await harness.clock.advanceAsync(120_000);
    expect(harness.one.heldLots("acct-venueone", "LONG")).toBe(0);
  });
});
