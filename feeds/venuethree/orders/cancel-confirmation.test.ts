/**
 * The outcome of a cancel, by the stream or by its transaction, whichever is first, and never past the caller's time.
 */
import { describe, expect, it } from "vitest";
import type { CancelOutcome, VenueOrder } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { decodeTx, type VenuethreeWireTx } from "../account/wire.js";
import { confirmCancel, hadEnded } from "./cancel-confirmation.js";
import { orderOf } from "../account/sent-orders.js";
import { CLOSE_LONG } from "../test/trading-harness.js";

const HASH = "ab".repeat(40);
const DELAY_MS = 200;
const PENDING = { outcome: "accepted", isPending: true };

function order(status: VenueOrder["status"]): VenueOrder {
  return { ...orderOf(CLOSE_LONG, 1, 0), status };
}

function tx(status: number, ae: string | null): VenuethreeWireTx {
  return decodeTx({ status, event_info: ae === null ? "" : JSON.stringify({ ae }) });
}

function read(value: VenuethreeWireTx | null): Read<VenuethreeWireTx | null> {
  return { ok: true, value, asOfMs: 0, source: "venue" };
}

const REFUSED = tx(2, JSON.stringify({ code: 21715, message: "order is not active" }));

interface Run {
  readonly outcome: CancelOutcome;
  readonly readCount: number;
  readonly tookMs: number;
}

/** `reads`: answers in order, the last one again and again; `endAtMs`: when the stream reports `ended`. */
async function run(
  reads: readonly Read<VenuethreeWireTx | null>[],
  { ended = null as VenueOrder | null, endAtMs = 0, timeoutMs = 5_000 } = {},
): Promise<Run> {
  const clock = new VirtualClock();
  const startMs = clock.wallMs();
  let readCount = 0;
  const readTx = async (hash: string, options: CallOptions): Promise<Read<VenuethreeWireTx | null>> => {
    expect(hash).toBe(HASH);
    expect(options.timeoutMs).toBeGreaterThan(0);
    return reads[Math.min(readCount++, reads.length - 1)] as Read<VenuethreeWireTx | null>;
  };
  const streamed = (): VenueOrder | null => (clock.wallMs() - startMs >= endAtMs ? ended : null);
  let outcome: CancelOutcome | null = null;
  const options: CallOptions = { timeoutMs, lane: "exit" };
  void confirmCancel({ clock, cancelDelayMs: DELAY_MS, readTx }, HASH, streamed, options).then((value) => {
    outcome = value;
  });
  for (let step = 0; step < 1_000 && outcome === null; step++) {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    if (outcome === null) clock.advance(10);
  }
  if (outcome === null) throw new Error("no end");
  return { outcome, readCount, tookMs: clock.wallMs() - startMs };
}

describe("the outcome of a cancel on venuethree:", () => {
  it("the transaction says canceled: one read, after the venue's delay and not before", async () => {
    const { outcome, readCount, tookMs } = await run([read(tx(2, ""))]);
    expect(outcome).toEqual({ outcome: "accepted" });
    expect(readCount).toBe(1);
    expect(tookMs).toBeGreaterThanOrEqual(DELAY_MS);
    expect(tookMs).toBeLessThan(DELAY_MS + 100);
  });

  it.each([
    ["21715", 21715, "NOT_FOUND"],
    ["21700", 21700, "NOT_FOUND"],
    ["21707, somebody else's", 21707, "NOT_FOUND"],
    ["21605", 21605, "VENUE_STATE"],
  ])("the sequencer refused it with %s", async (_what, code, reason) => {
    const refused = read(tx(2, JSON.stringify({ code, message: "order is not active" })));
    expect((await run([refused])).outcome).toEqual({
      outcome: "rejected",
      reason,
      venueCode: String(code),
      venueText: "order is not active",
      sent: true,
    });
  });

  it("a transaction that failed without a word canceled nothing", async () => {
    expect((await run([read(tx(0, null))])).outcome).toMatchObject({ outcome: "rejected", sent: true });
  });

  it("one that is not decided yet is looked at again, then pending, never guessed", async () => {
    expect(await run([read(null), read(tx(1, null)), read(tx(2, ""))])).toMatchObject({
      outcome: { outcome: "accepted" },
      readCount: 3,
    });
    expect(await run([read(tx(1, null))])).toMatchObject({ outcome: PENDING, readCount: 3 });
    expect(await run([read(tx(3, null))])).toMatchObject({ outcome: PENDING });
  });

  it("the stream is first, and saves the read", async () => {
    const canceled = await run([read(REFUSED)], { ended: order("CANCELED"), endAtMs: 100 });
    expect(canceled).toMatchObject({ outcome: { outcome: "accepted" }, readCount: 0 });
    expect(canceled.tookMs).toBeLessThan(DELAY_MS);
    const filled = await run([read(null)], { ended: order("FILLED"), endAtMs: 300 });
    expect(filled.outcome).toMatchObject({ outcome: "rejected", reason: "NOT_FOUND", venueCode: "FILLED", sent: true });
  });

  it("a read that fails is not repeated: pending", async () => {
    expect(await run([failedRead("RATE_LIMITED", "too many", 900)])).toMatchObject({ outcome: PENDING, readCount: 1 });
  });

  it("the question keeps to the caller's time", async () => {
    const { outcome, readCount, tookMs } = await run([read(null)], { timeoutMs: 350 });
    expect(outcome).toEqual(PENDING);
    expect(readCount).toBe(0);
    expect(tookMs).toBeLessThanOrEqual(350);
    expect((await run([read(null)], { timeoutMs: 10 })).tookMs).toBe(0);
  });

  it("an order known to have ended is not asked about at all", () => {
    expect(hadEnded(order("FILLED"))).toMatchObject({ outcome: "rejected", reason: "NOT_FOUND", sent: false });
  });
});
