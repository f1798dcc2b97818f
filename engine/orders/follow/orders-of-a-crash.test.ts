/** Orders that rest at several venues, found one after the other by what comes after a crash: each is followed. */
import { describe, expect, it } from "vitest";
import type { TradeContext, TradeRequest } from "../types.js";
import { ASKER, closeContext, closeRequest, createHarness, openRequest, type Harness } from "../test/harness.js";
import { createRowSink, recordedRows } from "../test/row-sink.js";

const MINUTE_MS = 60_000;
const SPLIT = { allowSplit: true, size: "0.4", deadlineMs: 2_000 } as const;
const KEY = { idempotencyKey: "k" } as const;
const TIMEOUT = (): "TIMEOUT" => "TIMEOUT";
const ANSWERS = (): null => null;

/** No venue holds the size of the entry alone. */
function split(): Harness {
  const harness = createHarness({ service: { records: createRowSink() }, two: { bidTicks: 999_900 } });
  for (const venue of [harness.one, harness.two]) {
    venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
    venue.setBook(999_900, 1_000_100, 30);
  }
  return harness;
}

/** The process dies as soon as the venues have so many orders, each. */
async function diesWith(
  harness: Harness,
  request: TradeRequest,
  context: Partial<TradeContext>,
  counts: readonly [number, number],
): Promise<void> {
  const { clock, one, service, two } = harness;
  void service.trade(request, closeContext(clock, context));
  const isSent = (): boolean => one.log.length === counts[0] && two.log.length === counts[1];
  for (let ms = 0; !isSent() && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  expect([one.log.length, two.log.length]).toEqual(counts);
  harness.kill();
}

/** The stop of this venue closes all that it guards. */
function closes(harness: Harness, name: "one" | "two"): number {
  const logged = harness[name].log[1];
  if (logged?.order == null) throw new Error("no stop is there");
  const { qtyLots } = logged.command;
  logged.order = { ...logged.order, status: "FILLED", filledLots: qtyLots, averagePrice: "90000" };
  logged.filledLots = qtyLots;
  return qtyLots;
}

async function recordedLots(harness: Harness, name: "one" | "two"): Promise<number[]> {
  const clientIdHex = harness[name].log[1]?.command.clientIdHex;
  return (await recordedRows(harness.store)).flatMap((row) =>
    row.table === "fill" && row.order === clientIdHex ? [row.lots] : [],
  );
}

describe("stops of an entry on two venues, after a crash", () => {
  it("are both followed where one was found by a key used again, and the other by a question", async () => {
    const harness = split();
    const { clock, one, two, run } = harness;
    for (const venue of [one, two]) {
      venue.fate = ({ trigger }) => ({ kind: trigger === undefined ? "fill" : "loseReply" });
      venue.orderReadFailure = TIMEOUT;
    }
    const request = openRequest({ stopLoss: "90000" }, SPLIT);
    await diesWith(harness, request, KEY, [2, 2]);
    const service = await harness.restart();
    one.orderReadFailure = ANSWERS;
    const again = await run(service.trade(request, closeContext(clock, KEY)));
    if (!again.ok) throw new Error(again.code);
    two.orderReadFailure = ANSWERS;
    await run(service.askExecution(again.data.routing.routeId, request.credentials, ASKER));
    await clock.advanceAsync(MINUTE_MS);
    expect(service.status()).toMatchObject({ unknownCount: 0 });
    const lots = closes(harness, "one");
    await clock.advanceAsync(10 * MINUTE_MS);
    expect(await recordedLots(harness, "one")).toEqual([lots]);
    const others = closes(harness, "two");
    await clock.advanceAsync(10 * MINUTE_MS);
    expect(await recordedLots(harness, "two")).toEqual([others]);
  });

  it.each([
    ["of both accounts at once", ["venueone", "venuetwo"]],
    ["of one account after the other", ["venuetwo"]],
  ] as const)("are followed where one was known to rest as it died, with credentials %s", async (_, asked) => {
    const harness = split();
    const { clock, run, two } = harness;
    // The part without a stop is closed again; no word of that comes back.
    two.fate = ({ reduceOnly, trigger }) => ({ kind: !reduceOnly ? "fill" : trigger ? "reject" : "loseReply" });
    const request = openRequest({ stopLoss: "90000", closeOnProtectionFailure: true }, SPLIT);
    await diesWith(harness, request, {}, [2, 3]);
    const service = await harness.restart();
    const [routeId = ""] = service.status().unknown.map((listed) => listed.routeId);
    const credentials = Object.fromEntries(asked.map((venue) => [venue, request.credentials[venue]]));
    await run(service.askExecution(routeId, credentials, ASKER));
    expect(service.status()).toMatchObject({
      unknownCount: 0,
      followedCount: 1,
      unattendedCount: asked.length === 2 ? 0 : 1,
    });
    const lots = closes(harness, "one");
    if (asked.length < 2) await run(service.trade(closeRequest({ size: "0.01", dryRun: true }), closeContext(clock)));
    await clock.advanceAsync(10 * MINUTE_MS);
    expect(await recordedLots(harness, "one")).toEqual([lots]);
    expect(service.status()).toMatchObject({ followedCount: 0 });
  });
});
