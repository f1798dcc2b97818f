/** An order that rests longer than its idempotency record lives, and whose key names another request by then. */
import { expect, it } from "vitest";
import { RETENTION_MS } from "../durable/idempotency.js";
import { createDesk } from "../single/test/desk-harness.js";
import { createHarness } from "../test/harness.js";
import { createRowSink, recordedRows, type RecordedRow } from "../test/row-sink.js";
import type { FakeVenue } from "../test/fake-venue.js";

const MINUTE_MS = 60_000;
const KEY = { idempotencyKey: "k" };

/** The first order fills at its venue. */
function fill(venue: FakeVenue, averagePrice: string): string {
  const [logged] = venue.log;
  if (logged?.order == null) throw new Error("no such order");
  logged.order = { ...logged.order, status: "FILLED", filledLots: 250, averagePrice };
  logged.filledLots = 250;
  return logged.command.clientIdHex;
}

const ofOrder = (rows: readonly RecordedRow[], order: string): (string | number)[] =>
  rows.flatMap((row) => {
    if (row.table === "decision" || row.order !== order) return [];
    return [row.table === "fill" ? row.lots : row.status];
  });

it("a close that rests has its fill and its end recorded after its key was used again", async () => {
  const { clock, closeData, one, restart, service, store } = createHarness({ service: { records: createRowSink() } });
  await closeData({ orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" }, KEY);
  await clock.advanceAsync(1_000);
  clock.advance(RETENTION_MS + MINUTE_MS);
  const next = await closeData({ size: "0.01", preferredExchange: "venueone" }, KEY);
  expect(next.execution.state).toBe("COMPLETED");
  const order = fill(one, "101000");
  await clock.advanceAsync(5 * MINUTE_MS);
  expect(ofOrder(await recordedRows(store), order)).toEqual(["INTENT", "SENT", "OPEN", "FILLED", 250]);
  expect(service.status()).toMatchObject({ followedCount: 0 });
  // The key answers for the request that has it now.
  const again = await closeData({ size: "0.01", preferredExchange: "venueone" }, KEY);
  expect(again.routing.routeId).toBe(next.routing.routeId);
  expect((await restart()).status()).toMatchObject({ followedCount: 0 });
});

it("a single order that rests has its fill and its end recorded after its key was used again", async () => {
  const harness = await createDesk({ desk: { records: createRowSink() } });
  const { clock, store, venue } = harness;
  await harness.order({ type: "LIMIT", price: "95000", timeInForce: "GTC" }, KEY);
  await clock.advanceAsync(1_000);
  clock.advance(RETENTION_MS + MINUTE_MS);
  const next = await harness.order({ quantity: "0.01" }, KEY);
  const order = fill(venue, "95000");
  await clock.advanceAsync(5 * MINUTE_MS);
  expect(ofOrder(await recordedRows(store), order)).toEqual(["INTENT", "SENT", "OPEN", "FILLED", 250]);
  const again = await harness.order({ quantity: "0.01" }, KEY);
  expect(again.orderId).toBe(next.orderId);
});
