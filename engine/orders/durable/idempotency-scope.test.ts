/** Keys of the version before, whose scope in public mode was named otherwise: the same request is not executed twice. */
import { describe, expect, it } from "vitest";
import { createKeyedHash } from "../../storage/server-secret.js";
import { IdempotencyRecords, type IdempotencyScope } from "./idempotency.js";
import { closeContext, createHarness, type Harness } from "../test/harness.js";
import { accountHashOf } from "../accounts.js";
import type { TradeResult } from "../types.js";

const testHash = createKeyedHash(new Uint8Array(32).fill(5));
const VENUES = ["venueone", "venuetwo"] as const;

/** As the version before named it: from the accounts of the venues that take part. */
function scopeBefore(venues: readonly (typeof VENUES)[number][]): IdempotencyScope {
  const names = venues.map((venue) => accountHashOf(testHash, venue, `acct-${venue}`, null));
  return { scope: `accounts:${testHash.hmacHex("accounts", names.sort())}`, key: "k" };
}

/** The harness's own reply, kept under that scope. */
async function keptBefore(harness: Harness, venues: readonly (typeof VENUES)[number][], reply: TradeResult) {
  const { clock, store } = harness;
  const records = new IdempotencyRecords({ store, hash: testHash, clock, bootId: "boot-before" });
  const begun = await records.begin(scopeBefore(venues), closeContext(clock).rawBody);
  if (begun.kind !== "fresh") throw new Error("the key is in use");
  const routeId = reply.ok ? reply.data.routing.routeId : "";
  const run = { routeId, attempts: [] } as never;
  const { batch, row } = records.runningRows(begun.ticket, run);
  await store.commit(batch);
  records.committed(begun.ticket, row);
  await records.complete(begun.ticket, run, reply, (doneWrites) => store.commit({ writes: doneWrites() }));
}

describe("a key used in public mode before an upgrade", () => {
  it.each([
    ["all venues", VENUES, {}],
    ["the preferred venue", ["venueone"], { preferredExchange: "venueone" }],
  ] as const)("is answered from its record: %s", async (_, venues, request) => {
    const harness = createHarness();
    const reply = await harness.close(request);
    const before = harness.one.log.length;
    await keptBefore(harness, venues, reply);
    const context = { idempotencyKey: "k", ownerId: null };
    const again = await harness.close(request, context);
    expect(again).toMatchObject({ ok: true, replayed: true });
    expect(harness.one.log).toHaveLength(before);
    // Another body under that key is refused as ever.
    const other = { ...context, rawBody: Buffer.from('{"size":"0.1"}') };
    expect(await harness.close({ ...request, size: "0.1" }, other)).toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
  });

  it("is distinguished from one that is new", async () => {
    const harness = createHarness();
    const context = { idempotencyKey: "k", ownerId: null };
    expect(await harness.close({}, context)).toMatchObject({ ok: true, replayed: false });
    expect(await harness.close({}, context)).toMatchObject({ ok: true, replayed: true });
    expect(harness.one.log).toHaveLength(1);
  });
});
