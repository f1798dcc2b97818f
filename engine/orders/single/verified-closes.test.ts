/** Closes of one venue over a stream that lost frames: flat, "too much" and "all of it" are the venue's own word. */
import { describe, expect, it } from "vitest";
import { closeAllRequest, closeRequest, createDesk, orderContext, type DeskHarness } from "./test/desk-harness.js";
import type { CloseAllAnswer, ClosePositionAnswer, ClosePositionRequest } from "./order-desk.js";

/** A venue that streams, and holds 0.3 long; its stream shows `shownLots`. */
async function start(shownLots: number): Promise<DeskHarness> {
  const harness = await createDesk({ venue: { streamed: () => true } });
  harness.venue.setPosition("acct", "LONG", 300);
  harness.venue.shown = new Map([["LONG", shownLots]]);
  return harness;
}

const close = (harness: DeskHarness, request: Partial<ClosePositionRequest> = {}): Promise<ClosePositionAnswer> =>
  harness.run(harness.desk.closePosition(closeRequest(request), orderContext(harness.clock, {})));
const closeAll = (harness: DeskHarness): Promise<CloseAllAnswer> =>
  harness.run(harness.desk.closeAll(closeAllRequest({}), orderContext(harness.clock, {})));

describe("a close over a streamed account", () => {
  it("of a size that is streamed costs no read", async () => {
    const harness = await start(300);
    expect(await close(harness, { quantity: "0.2" })).toMatchObject({
      legs: [{ status: "CLOSED", filledSize: "0.2" }],
    });
    expect(harness.venue.calls.positions).toBe(0);
  });

  it("is not refused as flat or too much on what a stream shows that lost frames", async () => {
    for (const shownLots of [0, 100]) {
      const harness = await start(shownLots);
      expect(await close(harness, { quantity: "0.2" })).toMatchObject({ legs: [{ filledSize: "0.2" }] });
      expect(harness.venue.calls.positions).toBe(1);
    }
  });

  it("is refused with the size that the venue says", async () => {
    const harness = await start(100);
    expect(await close(harness, { quantity: "0.4" })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxTotalSize: "0.3" },
    });
  });

  it("of the whole position takes its size from the venue", async () => {
    const harness = await start(100);
    expect(await close(harness)).toMatchObject({ legs: [{ status: "CLOSED", filledSize: "0.3" }] });
  });

  it("whose order found nothing is no ALREADY_FLAT on what a stream shows that lost frames", async () => {
    const harness = await start(300);
    harness.venue.fate = () => {
      harness.venue.shown = new Map();
      return { kind: "fill", liquidity: 0 };
    };
    expect(await close(harness, { quantity: "0.2" })).toMatchObject({
      legs: [{ status: "FAILED", note: null, filledSize: "0" }],
    });
    expect(harness.venue.heldLots("acct", "LONG")).toBe(300);
  });

  it("is no refusal for size where the venue does not answer", async () => {
    const harness = await start(0);
    harness.venue.positionFailure = () => "TIMEOUT";
    expect(await close(harness, { quantity: "0.2" })).toMatchObject({ ok: false, code: "VENUE_UNAVAILABLE" });
  });
});

describe("closing everything over a streamed account", () => {
  it("closes what the venue holds, whatever a stream shows that lost frames", async () => {
    const harness = await start(0);
    const answer = await closeAll(harness);
    const own = answer.ok ? answer.venues.find(({ venue }) => venue === "venueone") : undefined;
    expect(own).toMatchObject({ error: null, legs: [{ status: "CLOSED", filledSize: "0.3" }] });
    expect(harness.venue.heldLots("acct", "LONG")).toBe(0);
  });

  it("finds nothing only where the venue says so", async () => {
    const harness = await start(0);
    harness.venue.positionFailure = () => "TIMEOUT";
    const answer = await closeAll(harness);
    const own = answer.ok ? answer.venues.find(({ venue }) => venue === "venueone") : undefined;
    expect(own).toMatchObject({ error: { code: "VENUE_UNAVAILABLE" }, legs: [] });
  });
});
