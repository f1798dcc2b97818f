/**
 * What the record has of an order is kept in its run. Another batch that stores the run must not say of events that they
 * are recorded before their rows are durable: a crash would lose them.
 */
import { describe, expect, it } from "vitest";
import { storeUnavailable } from "../../storage/state-store.js";
import { ACCOUNT, change, MINUTE_MS, tell } from "../test/after-reply.js";
import { recorded } from "../test/after-reply-scenes.js";
import { ASKER, closeRequest } from "../test/harness.js";
import { recordedRows, rowFaults } from "../test/row-sink.js";

const RESTING_ENTRY = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;

/**
 * A volume that is almost full refuses a batch, and takes a smaller one that waits behind it: an entry fills, its stop is
 * refused, and the order that closes it again is written down while the rows of the fill are on their way.
 */
async function closesWhileRowsAreRefused(): Promise<{ readonly lots: unknown[]; readonly faults: string[] }> {
  const harness = recorded();
  const { clock, one, run, store } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  one.fate = ({ trigger }) =>
    trigger === undefined
      ? { kind: "fill" }
      : { kind: "reject", reason: "VENUE_STATE", isLasting: true, latencyMs: 50 };
  const terms = { stopLoss: "95000", closeOnProtectionFailure: true };
  const { routing } = await harness.openData(terms, RESTING_ENTRY);
  await clock.advanceAsync(MINUTE_MS);
  const refusals: (() => void)[] = [];
  store.gate = async ({ writes }) => {
    if (writes.some(({ namespace }) => namespace === "test-rows"))
      await new Promise<void>((_, reject) => refusals.push(() => reject(storeUnavailable("DISK_FULL"))));
  };
  one.setPosition(ACCOUNT, "LONG", 250);
  tell(harness, change(harness, 0, { status: "FILLED", filledLots: 250, averagePrice: "99000" }));
  for (let ms = 0; one.log.length < 2 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  await clock.advanceAsync(100);
  for (const refuse of refusals.splice(0)) refuse();
  for (let ms = 0; one.log.length < 3 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  harness.kill();
  store.gate = async () => {};
  const next = await harness.restart();
  await run(next.askExecution(routing.routeId, closeRequest().credentials, ASKER));
  await clock.advanceAsync(5 * MINUTE_MS);
  const rows = await recordedRows(store);
  const entry = one.log[0]?.command.clientIdHex;
  return {
    lots: rows.flatMap((row) => (row.table === "fill" && row.order === entry ? [row.lots] : [])),
    faults: await rowFaults(store, [one]),
  };
}

describe("events whose rows the store refuses", () => {
  it("are recorded by the next process though the run was stored meanwhile", async () => {
    expect(await closesWhileRowsAreRefused()).toEqual({ lots: [250], faults: [] });
  });
});
