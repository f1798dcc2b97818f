/** What a look-up may write into an order of unknown outcome, for a request that holds its key. */
import { describe, expect, it } from "vitest";
import { Deadline } from "../../domain/deadline.js";
import { silentLogger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { AccountSession, Read, VenueRoom } from "../../ports.js";
import { findEnd, type FindEnd } from "./order-finder.js";
import { Resolver, type UnknownOrder } from "../send/resolver.js";
import { fakeAttempt, fakeVenueOrder } from "../test/fake-run.js";
import { FakeVenue } from "../test/fake-venue.js";
import { encodeRun, type OrderAttempt } from "../run.js";
import { recordOrder, recordVerdict } from "../run-writes.js";

const DEADLINE_MS = 2_000;

interface Looked {
  readonly end: FindEnd;
  readonly attempt: OrderAttempt;
  readonly lookCount: number;
  readonly tookMs: number;
}

/** `reads`: answers of the venue in order, the last one again and again. */
async function find(
  attempt: OrderAttempt,
  reads: readonly (VenueOrder | null)[],
  { waitForProof = true, whileAsked = () => {}, isOpen = (): boolean => true, isAbsenceProof = false } = {},
): Promise<Looked> {
  const clock = new VirtualClock(1_000_000);
  const room = new FakeVenue({ venue: "venueone", clock }).room();
  let lookCount = 0;
  const readOrder = async (): Promise<Read<VenueOrder | null>> => {
    const value = reads[Math.min(lookCount++, reads.length - 1)] ?? null;
    whileAsked();
    return { ok: true, value, asOfMs: clock.wallMs(), source: "venue" };
  };
  const instrument = [...room.markets.values()][0]?.instrument;
  if (instrument === undefined) throw new Error("a venue without a market");
  const order: UnknownOrder = {
    routeId: "rt_1",
    room: { ...room, reader: { ...room.reader, readOrder } } as VenueRoom,
    instrument,
    clientIdHex: attempt.clientIdHex,
    bound: () => (isAbsenceProof ? { venueMs: 0, monoNs: null } : null),
    markSeen: () => {},
    takePrice: () => {},
    isAcknowledged: false,
    sent: attempt,
    mayRest: false,
  };
  const session: AccountSession = { venue: "venueone", accountId: "a", payer: null, close: () => {} };
  const parts = { clock, logger: silentLogger, resolver: new Resolver(clock, silentLogger) };
  const by = { session, deadline: new Deadline(clock, DEADLINE_MS), waitForProof };
  let end: FindEnd | null = null;
  const finding = findEnd(parts, { attempt, order, isOpen }, by, () => {}).then((found) => {
    end = found;
  });
  const startMs = clock.wallMs();
  while (end === null && clock.wallMs() - startMs <= 2 * DEADLINE_MS) {
    clock.advance(10);
    await new Promise(setImmediate);
  }
  await finding;
  if (end === null) throw new Error("no end");
  return { end, attempt, lookCount, tookMs: clock.wallMs() - startMs };
}

const pending = (): OrderAttempt => fakeAttempt({ outcome: "PENDING", order: null, sentAtMs: null, ackAtMs: null });

describe("the look-up of an order of unknown outcome", () => {
  it("writes the end that the venue shows", async () => {
    const { attempt, end } = await find(pending(), [fakeVenueOrder()]);
    expect({ end, outcome: attempt.outcome, filledLots: attempt.order?.filledLots }).toEqual({
      end: "found",
      outcome: "CONFIRMED",
      filledLots: 25_000,
    });
  });

  it("makes a pending order unknown before it asks, and leaves it so where the venue does not say", async () => {
    const { attempt, end } = await find(pending(), [null]);
    expect({ end, outcome: attempt.outcome }).toEqual({ end: "open", outcome: "UNKNOWN" });
  });

  it("asks once, or until the deadline, with pauses that double", async () => {
    const once = await find(pending(), [null], { waitForProof: false });
    expect(once.lookCount).toBe(1);
    expect(once.tookMs).toBeLessThan(250);
    const { lookCount, tookMs } = await find(pending(), [null]);
    expect(lookCount).toBe(5);
    expect(tookMs).toBeGreaterThanOrEqual(DEADLINE_MS);
    expect(tookMs).toBeLessThan(DEADLINE_MS + 100);
  });

  it("never lowers what filled: a read that shows less lags behind", async () => {
    const attempt = fakeAttempt();
    recordOrder(attempt, fakeVenueOrder({ status: "PARTIALLY_FILLED", filledLots: 20_000 }));
    recordVerdict(attempt, { outcome: "CONFIRMED" });
    const before = encodeRun(attempt);
    const { end } = await find(attempt, [fakeVenueOrder({ status: "CANCELED", filledLots: 10_000 })]);
    expect(end).toBe("open");
    expect(encodeRun(attempt)).toBe(before);
  });

  it("leaves what somebody else found while the venue was asked", async () => {
    const attempt = pending();
    let isOpen = true;
    const whileAsked = (): void => {
      recordOrder(attempt, fakeVenueOrder());
      recordVerdict(attempt, { outcome: "CONFIRMED" });
      isOpen = false;
    };
    const { end } = await find(attempt, [null], { whileAsked, isOpen: () => isOpen, isAbsenceProof: true });
    expect(end).toBe("overtaken");
    expect(attempt).toMatchObject({ outcome: "CONFIRMED", order: { filledLots: 25_000 } });
  });
});
