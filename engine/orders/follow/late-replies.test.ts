/** A reply that comes after its process gave up waiting for it: the order rests, and the next start has it. */
import { expect, it } from "vitest";
import { closeContext, closeRequest, createHarness } from "../test/harness.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";

const MINUTE_MS = 60_000;

it("a close that rests is followed by the next start where its reply came after the drain", async () => {
  const harness = createHarness({ service: { records: createRowSink() } });
  const { clock, one, run, service, store } = harness;
  one.fate = () => ({ kind: "fill", latencyMs: 3_000 });
  const closing = harness.close({ orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" });
  for (let ms = 0; service.status().inFlight === 0 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  await run(service.drain(1_000));
  expect(await closing).toMatchObject({ ok: true, data: { execution: { state: "RESTING" } } });
  await clock.advanceAsync(1_000);
  const sessions = one.sessions.length;
  const next = await harness.restart();
  expect(next.status()).toMatchObject({ followedCount: 1, unattendedCount: 1 });
  expect([one.sessions.length, one.sessions.every(({ closed }) => closed)]).toEqual([sessions, true]);
  const [logged] = one.log;
  if (logged?.order == null) throw new Error("no order is there");
  logged.order = { ...logged.order, status: "FILLED", filledLots: 250, averagePrice: "101000" };
  const asked = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true });
  await run(next.trade(asked, closeContext(clock)));
  await clock.advanceAsync(MINUTE_MS);
  const fills = (await recordedRows(store)).flatMap((row) => (row.table === "fill" ? [row.lots] : []));
  expect(fills).toEqual([250]);
});
