/** A contract that is listed on another scale between the read of a position and the decision that rests on it. */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../domain/instrument.js";
import { createHarness } from "../test/harness.js";

/** Venueone's contract changes while its position is being read. */
function rescaledWhileRead(change: Partial<Instrument>) {
  const harness = createHarness();
  const { one } = harness;
  one.readLatencyMs = () => {
    Object.assign(one.market, { instrument: { ...one.instrument, ...change } });
    return 5;
  };
  return harness;
}

describe("a position that was counted in lots of an old scale", () => {
  it.each([{ qtyDecimals: 2 }, { nativeSymbol: "BTC2" }])("is not known, and is not closed by %j", async (change) => {
    const harness = rescaledWhileRead(change);
    const data = await harness.closeData();
    expect(data.executedOn).toBe("venuetwo");
    expect(harness.one.log).toHaveLength(0);
  });

  it("is known where only other terms changed", async () => {
    const harness = rescaledWhileRead({ maxLeverage: 3 });
    const data = await harness.closeData();
    expect(data.executedOn).toBe("venueone");
  });
});
