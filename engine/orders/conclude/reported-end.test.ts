/** Decisions, and ends after them, have a row of their own each, over a store that refuses and a crash before it is asked again. */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { change, tell } from "../test/after-reply.js";
import { recorded } from "../test/after-reply-scenes.js";
import { createHarness, type Harness } from "../test/harness.js";
import { createRowSink, recordedRows, rowFaults } from "../test/row-sink.js";

/** After a crash: the fill, and the decision of that kind. */
async function expectRecordedOnce(harness: Harness, kind: "replied" | "resolved"): Promise<void> {
  harness.kill();
  await harness.restart();
  const rows = await recordedRows(harness.store);
  expect(rows.filter((row) => row.table === "fill")).toMatchObject([{ lots: 250 }]);
  expect(rows.filter((row) => row.table === "decision" && row.kind === kind)).toHaveLength(1);
  expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
}

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
    await expectRecordedOnce(harness, "resolved");
  });
});

describe("the reply of a trade whose row the store refuses", () => {
  it("is recorded though what its order fills is stored first, and the process dies", async () => {
    const harness = recorded();
    const { clock, one, store } = harness;
    one.fate = () => ({ kind: "fill", latencyMs: 100 });
    const closing = harness.closeData({ orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" });
    for (let ms = 0; one.calls.place === 0 && ms < 60_000; ms += 5) await clock.advanceAsync(5);
    store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
    await closing;
    await clock.advanceAsync(10_000);
    store.gate = async () => {};
    tell(harness, change(harness, 0, { status: "FILLED", filledLots: 250 }));
    await clock.advanceAsync(5_000);
    await expectRecordedOnce(harness, "replied");
  });
});
