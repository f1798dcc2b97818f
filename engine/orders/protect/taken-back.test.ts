/** Protection that is taken back may have closed something first: its report shows that too. */
import { describe, expect, it } from "vitest";
import { ASKER, createHarness, type Harness } from "../test/harness.js";
import { createRowSink, rowFaults } from "../test/row-sink.js";

const ACCOUNT = "acct-venueone";
const WISH = { takeProfit: "105000", stopLoss: "95000", closeOnProtectionFailure: true };

/** Beside 0.5 held before; the stop is refused, and while that is on its way the take-profit closes 0.1 of 0.25. */
function refused(): Harness {
  const harness = createHarness({ service: { records: createRowSink() } });
  harness.one.setPosition(ACCOUNT, "LONG", 500);
  harness.one.fate = (command) => {
    if (command.trigger?.kind !== "STOP") return { kind: "fill" };
    harness.clock.setTimer(() => closeByProfit(harness), 500);
    return { kind: "reject", reason: "PRICE", latencyMs: 1_000 };
  };
  return harness;
}

function closeByProfit(harness: Harness): void {
  const profit = harness.one.log.find(({ command }) => command.trigger?.kind === "TAKE_PROFIT");
  if (profit?.order == null) throw new Error("no take-profit is there");
  profit.order = { ...profit.order, status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "105000" };
  profit.filledLots = 100;
  harness.one.setPosition(ACCOUNT, "LONG", 650);
}

describe("a take-profit that is withdrawn after it closed a part", () => {
  it("is reported with what it closed", async () => {
    const harness = refused();
    const { routing } = await harness.openData(WISH, { preferredExchange: "venueone", maxQuoteAgeMs: 60_000 });
    await harness.clock.advanceAsync(600_000);
    const reported = await harness.service.execution(routing.routeId, ASKER);
    expect(reported?.execution.protectionOrders?.map(({ kind, filledSize }) => [kind, filledSize])).toEqual([
      ["TAKE_PROFIT", "0.1"],
      ["STOP_LOSS", "0"],
      ["CLOSE", "0.25"],
    ]);
    expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
  });
});
