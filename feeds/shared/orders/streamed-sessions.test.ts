import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountReader, AccountSession, OrderSender, Read } from "../../../engine/ports.js";
import { ConnectionLife } from "../account/connection-life.js";
import { StreamedReads } from "../account/streamed-reads.js";
import { VerifiedReads } from "../account/verified-reads.js";
import { failedRead } from "../net/call-results.js";
import { TestSession } from "../test/session-venue.js";
import { streamedSessions } from "./streamed-sessions.js";

const OPTIONS = { timeoutMs: 100, lane: "exit" } as const;
const OUTCOME: PlaceOutcome = { outcome: "unknown", cause: "test", notPlacedAfterMs: 0 };

function session(secret: string, apiKey = "key"): TestSession {
  return new TestSession(apiKey, secret);
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

function setUp(positions: readonly VenuePosition[] | null, reader: Partial<typeof rest> = {}) {
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
  const life = new ConnectionLife(clock);
  life.noteFrame();
  const reads = new StreamedReads(clock, life);
  const streamed = [{ reads, refreshSoon: () => {}, compare: (_: unknown, held: readonly VenuePosition[]) => held }];
  const streams = {
    ofAccount: (accountId: string) => (accountId === session("s").accountId ? streamed : []),
    tagOf: (one: AccountSession) => (one instanceof TestSession && one.isOpen ? one.tag : null),
    ofSession: () => null,
    positionsOf: () =>
      positions === null ? null : { ok: true as const, value: positions, asOfMs: 1, source: "stream" as const },
  };
  const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
  const trading = { rest: { ...rest, ...reader }, orders: sender, streams, verified };
  return { clock, reads, ...streamedSessions(trading) };
}

describe("a room whose accounts are streamed by credentials", () => {
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

  it("asks nothing of the venue for a session that is closed", async () => {
    const { reader } = setUp([]);
    const closed = session("s");
    closed.close();
    expect(reader.heldPositions(closed, { nativeSymbol: "BTCUSDT" } as never)).toBeNull();
    expect(await reader.verifyPositions(closed, null, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
  });

  it("verifies within the time of each caller, whoever's read it shares", async () => {
    // The venue says nothing: each read ends with its own time.
    const timeouts: number[] = [];
    const readPositions: typeof rest.readPositions = (_session, _instrument, { timeoutMs }) => {
      timeouts.push(timeoutMs);
      return new Promise((resolve) => void clock.setTimer(() => resolve(failedRead("TIMEOUT", "")), timeoutMs));
    };
    const { clock, reader } = setUp([], { readPositions });
    const answeredMs: Record<string, number> = {};
    const verify = async (name: string, timeoutMs: number): Promise<void> => {
      const read = await reader.verifyPositions(session("s"), null, { timeoutMs, lane: "exit" });
      expect(read).toMatchObject({ ok: false, code: "TIMEOUT" });
      answeredMs[name] = clock.monoNs() / 1e6;
    };
    const all = [verify("patient", 10_000), verify("hasty", 500)];
    await clock.advanceAsync(600);
    expect(answeredMs).toEqual({ hasty: 500 });
    await clock.advanceAsync(20_000);
    await Promise.all(all);
    expect(answeredMs).toEqual({ hasty: 500, patient: 10_000 });
    const startMs = clock.monoNs() / 1e6;
    const more = [verify("first", 400), verify("second", 1_000)];
    await clock.advanceAsync(30_000);
    await Promise.all(more);
    expect(answeredMs["second"]).toBe(startMs + 1_000);
    expect(timeouts.slice(1)).toEqual([400, 600]);
  });

  it("announces orders and changes to the account's streams, which are in doubt until they show them", async () => {
    const { orders, reads } = setUp([]);
    const command = { instrument: { nativeSymbol: "BTCUSDT" }, clientIdHex: "1", side: "BUY" } as OrderCommand;
    await orders.place(session("s", "another"), command, OPTIONS);
    expect(reads.isPending).toBe(false);
    // Cancels take nothing.
    await orders.cancelAll?.(session("s"), null, OPTIONS);
    expect(reads.isPending).toBe(false);
    for (const change of [
      () => orders.place(session("s"), command, OPTIONS),
      // An amended order may fill at once as well.
      () => orders.amend?.(session("s"), {} as never, {} as never, {} as never, OPTIONS),
    ]) {
      reads.agreed(Number.MAX_SAFE_INTEGER);
      expect(reads.isTrusted([], null)).toBe(true);
      await change();
      expect(reads.isTrusted([], null)).toBe(false);
    }
  });
});
