/** The end of an order that is found while the store refuses: it is stored when the store is back, with its fill. */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { createHarness } from "../test/harness.js";
import { createRowSink, rowFaults, recordedRows } from "../test/row-sink.js";
import { createDesk } from "../single/test/desk-harness.js";

const MINUTE_MS = 60_000;
const refuse = (): Promise<never> => Promise.reject(storeUnavailable("DISK_FULL"));

/** A store that refuses takes everything again after so long, and for five minutes. */
async function healAfter(
  { clock, store }: Pick<ReturnType<typeof createHarness>, "clock" | "store">,
  refusedMs: number,
): Promise<void> {
  await clock.advanceAsync(refusedMs);
  store.gate = async () => {};
  await clock.advanceAsync(5 * MINUTE_MS);
}

async function expectRecordedOnce(
  harness: ReturnType<typeof createHarness>,
  kind: "replied" | "resolved",
): Promise<void> {
  const rows = await recordedRows(harness.store);
  expect(rows.filter(({ table }) => table === "fill")).toMatchObject([{ lots: 250 }]);
  expect(rows.filter((row) => row.table === "decision" && row.kind === kind)).toHaveLength(1);
  expect(await rowFaults(harness.store, [harness.one])).toEqual([]);
  expect((await harness.restart()).status().unknownCount).toBe(0);
}

describe("an end that is found after the reply while the store refuses", () => {
  it.each([
    ["for a moment", 5_000],
    ["for minutes", 5 * MINUTE_MS],
  ])("%s, of a trade, is recorded once when the store is back", async (_, refusedMs) => {
    const harness = createHarness({ service: { records: createRowSink() } });
    harness.one.fate = () => ({ kind: "loseReply" });
    harness.one.orderReadFailure = () => "TIMEOUT";
    const request = { preferredExchange: "venueone", deadlineMs: 1_000 } as const;
    const data = await harness.closeData(request, { idempotencyKey: "k" });
    expect(data.execution.state).toBe("UNKNOWN");
    await harness.clock.advanceAsync(5_000);
    harness.store.gate = refuse;
    harness.one.orderReadFailure = () => null;
    await healAfter(harness, refusedMs);
    await expectRecordedOnce(harness, "resolved");
  });

  it.each([
    ["for a moment", 5_000],
    ["for minutes", 5 * MINUTE_MS],
  ])("%s, of a single order, is durable when the store is back", async (_, refusedMs) => {
    const desk = await createDesk();
    desk.venue.fate = () => ({ kind: "loseReply" });
    desk.venue.orderReadFailure = () => "TIMEOUT";
    await desk.order({ deadlineMs: 1_000 });
    await desk.clock.advanceAsync(5_000);
    expect(desk.desk.status().unknownCount).toBe(1);
    desk.store.gate = refuse;
    desk.venue.orderReadFailure = () => null;
    await healAfter(desk, refusedMs);
    expect(await desk.store.scan("order-intent-open", { prefix: "", limit: 10 })).toEqual([]);
  });
});

describe("a reply that was given while the store refuses its conclusion", () => {
  it.each([
    ["for a moment", 5_000, null],
    ["for minutes", 5 * MINUTE_MS, null],
    ["for minutes, with a key,", 5 * MINUTE_MS, "k"],
  ])("%s, of a trade, is recorded once when the store is back", async (_, refusedMs, idempotencyKey) => {
    const harness = createHarness({ service: { records: createRowSink() } });
    harness.one.fate = () => ({ kind: "fill", latencyMs: 100 });
    const closing = harness.closeData({ preferredExchange: "venueone" }, { idempotencyKey });
    for (let ms = 0; harness.one.calls.place === 0 && ms < MINUTE_MS; ms += 5) await harness.clock.advanceAsync(5);
    harness.store.gate = refuse;
    expect((await closing).execution.state).toBe("COMPLETED");
    await healAfter(harness, refusedMs);
    await expectRecordedOnce(harness, "replied");
  });

  it.each([
    ["for a moment", 5_000],
    ["for minutes", 5 * MINUTE_MS],
  ])("%s, of a single order, is durable when the store is back", async (_, refusedMs) => {
    const desk = await createDesk();
    desk.venue.fate = () => ({ kind: "fill", latencyMs: 100 });
    const placing = desk.order();
    for (let ms = 0; desk.venue.calls.place === 0 && ms < MINUTE_MS; ms += 5) await desk.clock.advanceAsync(5);
    desk.store.gate = refuse;
    expect((await placing).status).toBe("FILLED");
    await healAfter(desk, refusedMs);
    expect(await desk.store.scan("order-intent-open", { prefix: "", limit: 10 })).toEqual([]);
  });
});
