/** The end of an execution after its reply is reported once, with a decision row of its own, over refusals and crashes. */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { createHarness } from "../test/harness.js";
import { createRowSink, recordedRows, rowFaults } from "../test/row-sink.js";

describe("the end of a trade whose row the store refuses", () => {
  it("is recorded though the price of its fill is stored first, and the process dies", async () => {
    const harness = createHarness({ service: { records: createRowSink() } });
    const { clock, one, store } = harness;
    one.fate = () => ({ kind: "loseReply" });
    one.orderReadFailure = () => "TIMEOUT";
    await harness.closeData({ preferredExchange: "venueone", deadlineMs: 1_000 });
    await clock.advanceAsync(5_000);
    store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    one.shownOrder = (order) => ({ ...order, averagePrice: null });
    one.orderReadFailure = () => null;
    for (let ms = 0; harness.service.status().unknownCount > 0 && ms < 60_000; ms += 5) await clock.advanceAsync(5);
    store.gate = async () => {};
    one.shownOrder = (order) => order;
    await clock.advanceAsync(30_000);
    harness.kill();
    await harness.restart();
    const rows = await recordedRows(store);
    expect(rows.filter((row) => row.table === "fill")).toMatchObject([{ lots: 250 }]);
    expect(rows.filter((row) => row.table === "decision" && row.kind === "resolved")).toHaveLength(1);
    expect(await rowFaults(store, [one])).toEqual([]);
  });
});
