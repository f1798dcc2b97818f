/** What a stream that lost frames shows decides nothing that would turn on it: the venue is asked first. */
import { describe, expect, it } from "vitest";
import { closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";

const streamed = () => true;
const FLAT = new Map<"LONG" | "SHORT", number>();
const RATES = { takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_000 };

/** Both venues stream, and hold 0.4 each; the fee rates are known. */
async function start(): Promise<Harness> {
  const harness = createHarness({ one: { streamed }, two: { streamed } });
  harness.one.feeRates = harness.two.feeRates = RATES;
  await harness.closeData({ dryRun: true });
  await harness.clock.advanceAsync(50);
  return harness;
}

const reads = ({ one, two }: Harness): readonly number[] => [one.calls.positions, two.calls.positions];

describe("a close over streamed accounts", () => {
  it("costs no read while what is streamed covers the size", async () => {
    const harness = await start();
    expect((await harness.closeData()).execution.state).toBe("COMPLETED");
    expect(reads(harness)).toEqual([0, 0]);
  });

  it("is not refused for size on what a stream shows that lost frames", async () => {
    const harness = await start();
    harness.one.shown = harness.two.shown = FLAT;
    const data = await harness.closeData();
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
    expect(reads(harness)).toEqual([1, 1]);
    expect(harness.one.lanes.every((lane) => lane === "exit")).toBe(true);
  });

  it("asks no venue that is merely not chosen while another covers the size", async () => {
    const harness = await start();
    harness.two.shown = FLAT;
    expect((await harness.closeData()).executedOn).toBe("venueone");
    expect(reads(harness)).toEqual([0, 0]);
  });

  it("asks no venue that the caller ruled out", async () => {
    const harness = await start();
    expect(await harness.close({ size: "0.5", excludeExchanges: ["venuetwo"] })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxTotalSize: "0.4" },
    });
    expect(reads(harness)).toEqual([1, 0]);
  });

  it("is refused with the sizes that the venues say", async () => {
    const harness = await start();
    harness.one.shown = new Map([["LONG", 100]]);
    expect(await harness.close({ size: "0.9" })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxSingleVenueSize: "0.4", maxTotalSize: "0.8" },
    });
    expect(reads(harness)).toEqual([1, 1]);
  });

  it("is not refused for size where the venue does not answer: not known is not flat", async () => {
    const harness = await start();
    harness.one.shown = harness.two.shown = FLAT;
    harness.one.positionFailure = harness.two.positionFailure = () => "TIMEOUT";
    expect(await harness.close()).toMatchObject({ ok: false, code: "NO_ELIGIBLE_VENUE" });
    expect(harness.one.calls.place + harness.two.calls.place).toBe(0);
  });

  it.each([{ size: "ALL" }, { size: null, sizePercent: "100" }])("of %o rests on the venue's size", async (size) => {
    const harness = await start();
    harness.one.shown = new Map([["LONG", 100]]);
    const { venueone } = closeRequest().credentials;
    const data = await harness.closeData({ ...size, credentials: { venueone } });
    expect(data.execution).toMatchObject({ state: "COMPLETED", requestedSize: "0.4", filledSize: "0.4" });
    expect(harness.one.calls.positions).toBe(1);
  });

  it("as a dry run is not refused in the turn it came in: the venue is asked", async () => {
    const harness = await start();
    harness.one.shown = harness.two.shown = FLAT;
    const context = closeContext(harness.clock);
    expect(harness.service.tradeAtOnce(closeRequest({ dryRun: true }), context)).toBeNull();
    expect((await harness.closeData({ dryRun: true })).execution.state).toBe("SIMULATED");
    expect(reads(harness)).toEqual([1, 1]);
  });
});

describe("a close that the venue refuses as reduce-only", () => {
  it("is ALREADY_FLAT on the venue's word alone", async () => {
    const harness = await start();
    const { venueone } = closeRequest().credentials;
    harness.one.fate = () => ({ kind: "reject", reason: "REDUCE_ONLY" });
    harness.one.setPosition("acct-venueone", "LONG", 0);
    // The stream still shows what is gone.
    harness.one.shown = new Map([["LONG", 400]]);
    const data = await harness.closeData({ credentials: { venueone } });
    expect(data.execution).toMatchObject({ note: "ALREADY_FLAT", filledSize: "0" });
  });
});
