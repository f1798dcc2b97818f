import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import type { AccountReader, AccountSession, OrderSender, Read } from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import { openVenuetwoSession } from "./session.js";
import { StreamFirstReader, withOrderMarks } from "./stream-first.js";

const OPTIONS = { timeoutMs: 100, lane: "exit" } as const;
const OUTCOME: PlaceOutcome = { outcome: "unknown", cause: "test", notPlacedAfterMs: 0 };

function session(secret: string): AccountSession {
  const opened = openVenuetwoSession({ apiKey: "key", apiSecret: secret });
  if (!opened.ok) throw new Error(opened.problem);
  return opened.session;
}

const fail = (): Promise<Read<never>> => Promise.resolve(failedRead("VENUE_ERROR", "rest"));
const rest: Required<Omit<AccountReader, "heldPositions" | "verifyPositions" | "followOrder">> = {
  readPositions: fail,
  readOrder: fail,
  readOpenOrders: fail,
  readBalances: fail,
  readFeeRates: fail,
  findOrder: fail,
  readAccount: fail,
};

function setUp(positions: readonly VenuePosition[] | null) {
  const clock = new VirtualClock();
  const sender: Required<OrderSender> = {
    placeBoundMs: () => 60_000,
    place: () => Promise.resolve(OUTCOME),
    amend: () => Promise.resolve({ outcome: "accepted", order: null }),
    cancel: () => Promise.resolve({ outcome: "accepted" }),
    cancelAll: () => Promise.resolve({ outcome: "accepted", canceledCount: 0, failed: [] }),
    scheduleCancel: () => Promise.resolve({ outcome: "accepted" }),
    venueClientOrderId: (clientIdHex) => clientIdHex,
    parseClientOrderId: (text) => text,
  };
  const marks = withOrderMarks(sender, clock);
  const streams = {
    positionsOf: () =>
      positions === null ? null : { ok: true as const, value: positions, asOfMs: 1, source: "stream" as const },
  };
  return { clock, marks, reader: new StreamFirstReader(rest, streams, marks) };
}

describe("StreamFirstReader", () => {
  it("answers positions from a LIVE stream, of one symbol where one is asked for", async () => {
    const rows = ["BTCUSDT", "ETHUSDT"].map((nativeSymbol) => ({ nativeSymbol }) as VenuePosition);
    const { reader } = setUp(rows);
    expect(await reader.readPositions(session("s"), null, OPTIONS)).toMatchObject({
      ok: true,
      source: "stream",
      value: rows,
    });
    const one = await reader.readPositions(session("s"), { nativeSymbol: "ETHUSDT" } as never, OPTIONS);
    expect(one).toMatchObject({ ok: true, value: [{ nativeSymbol: "ETHUSDT" }] });
  });

  it("asks REST without a stream, and for everything else", async () => {
    const { reader } = setUp(null);
    expect(await reader.readPositions(session("s"), null, OPTIONS)).toMatchObject({ ok: false, message: "rest" });
    expect(await setUp([]).reader.readOpenOrders(session("s"), null, OPTIONS)).toMatchObject({
      ok: false,
      message: "rest",
    });
  });

  it("asks REST for three seconds after an order of the same credentials", async () => {
    const { reader, marks, clock } = setUp([]);
    await marks.orders.place(session("s"), {} as OrderCommand, OPTIONS);
    expect((await reader.readPositions(session("s"), null, OPTIONS)).ok).toBe(false);
    expect((await reader.readPositions(session("other"), null, OPTIONS)).ok).toBe(true);
    await clock.advanceAsync(3_000);
    expect((await reader.readPositions(session("s"), null, OPTIONS)).ok).toBe(true);
    // An amended order may fill at once as well; cancels take nothing.
    await marks.orders.cancelAll?.(session("s"), null, OPTIONS);
    expect((await reader.readPositions(session("s"), null, OPTIONS)).ok).toBe(true);
    await marks.orders.amend?.(session("s"), {} as never, {} as never, {} as never, OPTIONS);
    expect((await reader.readPositions(session("s"), null, OPTIONS)).ok).toBe(false);
  });
});
