/** The undo of an entry whose protection was refused: priced like any order, or not sent, and then reported so. */
import { describe, expect, it } from "vitest";
import type { OpenTerms, TradeData, TradeRequest } from "../types.js";
import type { PlaceFate } from "../test/fake-matching.js";
import type { FakeVenueOptions } from "../test/fake-venue.js";
import { CloseRows } from "../../recorder/close-rows.js";
import { readRows } from "../../recorder/test/read-row.js";
import { NO_RECORDS, type RecordSink } from "../conclude/record-sink.js";
import { createHarness, recordingLogger, type Harness } from "../test/harness.js";

const PROTECTED: Partial<OpenTerms> = { stopLoss: "95000", closeOnProtectionFailure: true };

function flat(one: Partial<FakeVenueOptions> = {}, records: RecordSink = NO_RECORDS): Harness {
  const harness = createHarness({ one, service: { records } });
  for (const venue of [harness.one, harness.two]) venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
  return harness;
}

/** The stop is refused, after `refusedMs` and whatever happens meanwhile; `undo` is the fate of the undo. */
function refuseStop(harness: Harness, refusedMs: number, meanwhile: () => void, undo: () => PlaceFate): void {
  harness.one.fate = (command) => {
    if (!command.reduceOnly) return { kind: "fill" };
    if (command.trigger === undefined) return undo();
    meanwhile();
    return { kind: "reject", reason: "VENUE_STATE", latencyMs: refusedMs };
  };
}

const filled = (): PlaceFate => ({ kind: "fill" });
const open = (harness: Harness, request: Partial<TradeRequest> = {}): Promise<TradeData> =>
  harness.openData(PROTECTED, { preferredExchange: "venueone", maxQuoteAgeMs: 2_000, ...request });
const undone = (harness: Harness) =>
  harness.one.log.filter(({ command }) => command.reduceOnly && command.trigger === undefined);

describe("the undo of a failed protection", () => {
  it("is bounded from the mid of its moment", async () => {
    const harness = flat();
    refuseStop(harness, 10, () => harness.one.setBook(979_900, 980_100, 1_000), filled);
    const data = await open(harness);
    expect(undone(harness)).toMatchObject([{ command: { priceTicks: 970_200, qtyLots: 250 } }]);
    expect(data.execution).toMatchObject({
      protection: "FAILED",
      protectionReason: "VENUE_STATE",
      protectionOrders: [{ kind: "STOP_LOSS" }, { kind: "CLOSE", price: "97020", filledSize: "0.25" }],
    });
  });

  it("is recorded against the mid of its own moment, not the entry's", async () => {
    const rows = new CloseRows(recordingLogger([]));
    const fills: unknown[] = [];
    const sink: RecordSink = {
      ...NO_RECORDS,
      decisionWrites(concluded) {
        for (const { key, value } of rows.decision(concluded))
          if (key.startsWith("fills|") && value !== null)
            fills.push(...readRows("fills", value).map(({ ref_mid, intent }) => [ref_mid, intent]));
        return [];
      },
    };
    const harness = flat({}, sink);
    refuseStop(harness, 10, () => harness.one.setBook(979_900, 980_100, 1_000), filled);
    await open(harness);
    await harness.clock.advanceAsync(100);
    expect(fills).toEqual([
      [expect.stringMatching(/^(99|100)/), "OPEN"],
      ["98000", "CLOSE"],
    ]);
  });

  it("is not sent from a book that is too old: the reply says why, and the position stays", async () => {
    const harness = flat();
    // Proven when the entry left; the refusal comes three seconds later.
    refuseStop(harness, 3_000, () => {}, filled);
    const data = await open(harness);
    expect(undone(harness)).toEqual([]);
    expect(harness.one.heldLots("acct-venueone", "LONG")).toBe(250);
    expect(data.execution).toMatchObject({
      state: "COMPLETED",
      protection: "FAILED",
      protectionReason: "UNDO_BOOK_STALE",
    });
    expect(data.position).toMatchObject({ size: "0.25" });
  });

  it("is sent as soon as the book is fresh again, while the caller still waits", async () => {
    const harness = flat();
    refuseStop(harness, 3_000, () => {}, filled);
    harness.clock.setTimer(() => harness.one.setBook(989_900, 990_100, 1_000), 4_000);
    const data = await open(harness);
    expect(undone(harness)).toMatchObject([{ command: { priceTicks: 980_100 } }]);
    expect(data.position).toMatchObject({ size: "0" });
  });

  it("is not sent without a live book, nor where the book is beyond the cap", async () => {
    for (const [meanwhile, reason] of [
      [(harness: Harness) => harness.one.market.book.invalidate("gap"), "UNDO_BOOK_INVALID"],
      // Best bid 98000, mid 99500: the cap of 100 bps lies at 98505.
      [(harness: Harness) => harness.one.setBook(980_000, 1_010_000, 1_000), "UNDO_SLIPPAGE_CAP"],
    ] as const) {
      const harness = flat();
      refuseStop(harness, 10, () => meanwhile(harness), filled);
      const data = await open(harness, { maxQuoteAgeMs: 1e9 });
      expect(undone(harness)).toEqual([]);
      expect(data.execution).toMatchObject({ protection: "FAILED", protectionReason: reason });
    }
  });

  it("is kept inside the venue's band, and priced once more by a fresh mark when refused for it", async () => {
    const harness = flat({ instrument: { bandUpPpm: 1_020_000, bandDownPpm: 980_000 }, askedMark: () => "101000" });
    harness.one.setMark("100000");
    const fates: PlaceFate[] = [{ kind: "reject", reason: "PRICE_BAND" }];
    refuseStop(
      harness,
      10,
      () => {},
      () => fates.shift() ?? { kind: "fill" },
    );
    const data = await open(harness, { maxSlippageBps: 300 });
    expect(undone(harness).map(({ command }) => command.priceTicks)).toEqual([982_500, 992_325]);
    expect(harness.one.heldLots("acct-venueone", "LONG")).toBe(0);
    expect(data.execution.protectionOrders).toMatchObject([
      { kind: "STOP_LOSS", outcome: "REJECTED" },
      { kind: "CLOSE", price: "98250", outcome: "REJECTED", reason: "PRICE_BAND" },
      { kind: "CLOSE", price: "99232.5", outcome: "CONFIRMED", filledSize: "0.25" },
    ]);
    expect(data.position).toMatchObject({ size: "0" });
  });
});
