/** What the functions that write into a run hold, whoever calls them. */
import { describe, expect, it } from "vitest";
import { fakeAttempt, fakeRun, fakeVenueOrder } from "./test/fake-run.js";
import { decodeRun, encodeRun, type TradeRun } from "./run.js";
import {
  addAttempt,
  addPosition,
  dropAttempts,
  endTimings,
  recordAbandoned,
  recordNotSent,
  recordOrder,
  recordRefusal,
  recordTimings,
  shrinkPosition,
} from "./run-writes.js";

const PENDING = { outcome: "PENDING", order: null, sentAtMs: null, ackAtMs: null } as const;

describe("writing into a run", () => {
  it("never lets an order have filled more than was submitted, or less than nothing", () => {
    for (const [shown, written] of [
      [25_001, 25_000],
      [-1, 0],
      [Number.NaN, 0],
      [0.5, 0],
      [Number.MAX_SAFE_INTEGER, 25_000],
    ] as const) {
      const attempt = fakeAttempt();
      expect(recordOrder(attempt, fakeVenueOrder({ filledLots: shown })).filledLots).toBe(written);
      expect(attempt.order?.filledLots).toBe(written);
    }
  });

  it("keeps no average price that is no decimal", () => {
    expect(recordOrder(fakeAttempt(), fakeVenueOrder({ averagePrice: "1e5" })).averagePrice).toBeNull();
  });

  it("leaves the attempt as it was where the venue's order cannot be read", () => {
    const attempt = fakeAttempt();
    const before = encodeRun(attempt);
    const broken = Object.defineProperty(fakeVenueOrder(), "status", {
      enumerable: true,
      get: () => {
        throw new Error("broken");
      },
    });
    expect(() => recordOrder(attempt, broken)).toThrow("broken");
    expect(encodeRun(attempt)).toBe(before);
  });

  it("drops only orders that never left this machine", () => {
    const sent = fakeAttempt();
    const run = fakeRun([sent]);
    addAttempt(run, fakeAttempt({ ...PENDING, attempt: 2 }));
    dropAttempts(run, 1);
    expect(run.attempts).toEqual([sent]);
    expect(() => dropAttempts(run, 0)).toThrow(expect.objectContaining({ code: "INTERNAL" }));
    expect(run.attempts).toEqual([sent]);
  });

  it("keeps a refusal before the send apart from the venue's own", () => {
    const refusal = { reason: "RATE_LIMITED", venueText: null, retryAfterMs: 500, atMs: 7 };
    const kept = fakeAttempt({ ...PENDING, sentAtMs: 5 });
    recordRefusal(kept, { ...refusal, isSent: false });
    expect(kept).toMatchObject({ outcome: "NOT_SENT", sentAtMs: null, ackAtMs: null, retryAfterMs: 500 });
    const refused = fakeAttempt({ ...PENDING, sentAtMs: 5 });
    recordRefusal(refused, { ...refusal, isSent: true });
    expect(refused).toMatchObject({ outcome: "REJECTED", sentAtMs: 5, ackAtMs: 7, retryAfterMs: 500 });
  });

  it("makes an abandoned order unknown, and leaves every other outcome", () => {
    const pending = fakeAttempt(PENDING);
    const unsent = fakeAttempt(PENDING);
    recordNotSent(unsent, "TRADING_HALTED");
    const confirmed = fakeAttempt();
    for (const attempt of [pending, unsent, confirmed]) recordAbandoned(attempt);
    expect([pending, unsent, confirmed].map(({ outcome }) => outcome)).toEqual(["UNKNOWN", "NOT_SENT", "CONFIRMED"]);
  });

  it("lets a position only shrink, and keeps what was found there first", () => {
    const run = fakeRun([]);
    addPosition(run, { venue: "venueone", qtyLots: 1, qtyDecimals: 5, entryPrice: null });
    shrinkPosition(run, "venueone", 90_000);
    expect(run.positionsBefore).toMatchObject([{ venue: "venueone", qtyLots: 40_000 }]);
    shrinkPosition(run, "venueone", 10_000);
    expect(run.positionsBefore).toMatchObject([{ venue: "venueone", qtyLots: 10_000 }]);
  });

  it("makes the parts of the time add up to its total", () => {
    const run = fakeRun([]);
    recordTimings(run, { positions: 3.1, routing: 0.4, venue: 2.1, sign: 1 });
    endTimings(run, 60.06);
    const { other = 0, positions, routing, sign, total, venue } = run.timingMs;
    expect(positions + routing + sign + venue + other).toBeCloseTo(total, 6);
    expect({ positions, routing, sign, venue }).toEqual({ positions: 3.1, routing: 0.4, sign: 3, venue: 15.1 });
  });

  it("gives a run back as it was written down", () => {
    const run = fakeRun([fakeAttempt(), fakeAttempt({ ...PENDING, attempt: 2 })]);
    expect(decodeRun<TradeRun>(encodeRun(run))).toEqual(run);
  });
});
