import { describe, expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import type { OrderCommand } from "../../domain/order.js";
import type { VenueRoom } from "../../ports.js";
import { closeAllRequest, closeRequest, createDesk, orderContext, type DeskHarness } from "./test/desk-harness.js";
import type {
  CloseAllAnswer,
  CloseAllRequest,
  ClosePositionAnswer,
  ClosePositionRequest,
  OrderRequestContext,
} from "./order-desk.js";

const KEYED = { idempotencyKey: "key-1" };

function close(
  harness: DeskHarness,
  request: Partial<ClosePositionRequest> = {},
  context: Partial<OrderRequestContext> = {},
): Promise<ClosePositionAnswer> {
  return harness.run(harness.desk.closePosition(closeRequest(request), orderContext(harness.clock, context)));
}

function closeAll(
  harness: DeskHarness,
  request: Partial<CloseAllRequest> = {},
  context: Partial<OrderRequestContext> = {},
): Promise<CloseAllAnswer> {
  return harness.run(harness.desk.closeAll(closeAllRequest(request), orderContext(harness.clock, context)));
}

/** A position that another order has made smaller by the time the first of ours arrives. */
function shrinkBeforeTheOrder({ venue }: DeskHarness): void {
  venue.setPosition("acct", "LONG", 300);
  venue.fate = (command: OrderCommand) => {
    if (command.qtyLots < 300) return { kind: "fill" };
    venue.setPosition("acct", "LONG", 120);
    return { kind: "reject", reason: "REDUCE_ONLY" };
  };
}

describe("closing a position on its venue", () => {
  it("derives the side from the live position, always reduce-only, bounded from the mid", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "SHORT", 300);
    expect(await close(harness)).toMatchObject({
      ok: true,
      legs: [
        {
          direction: "SHORT",
          positionSize: "0.3",
          filledSize: "0.3",
          status: "CLOSED",
          order: { side: "BUY", reduceOnly: true },
        },
      ],
    });
    expect(harness.venue.log[0]?.command).toMatchObject({
      reduceOnly: true,
      side: "BUY",
      priceTicks: 1_010_000,
      qtyLots: 300,
    });
    expect(harness.venue.lanes.every((lane) => lane === "exit")).toBe(true);
  });

  it("closes both sides of a hedge, the larger first, and one when it is named", async () => {
    const harness = await createDesk({ venue: { hedgeMode: true } });
    harness.venue.setPosition("acct", "SHORT", 100);
    harness.venue.setPosition("acct", "LONG", 300);
    expect(await close(harness, { quantity: "0.1" })).toMatchObject({ code: "INVALID_PARAMETERS" });
    expect(await close(harness)).toMatchObject({
      legs: [
        { direction: "LONG", positionSide: "LONG", status: "CLOSED" },
        { direction: "SHORT", positionSide: "SHORT", status: "CLOSED" },
      ],
    });
    harness.venue.setPosition("acct", "SHORT", 100);
    harness.venue.setPosition("acct", "LONG", 300);
    expect(await close(harness, { direction: "LONG", quantity: "0.05" })).toMatchObject({
      legs: [{ filledSize: "0.05" }],
    });
    expect(harness.venue.heldLots("acct", "SHORT")).toBe(100);
  });

  it("refuses more than is held, and nothing held", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    expect(await close(harness, { quantity: "0.301" })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxSingleVenueSize: "0.3", maxTotalSize: "0.3" },
    });
    expect(await close(harness, { direction: "SHORT" })).toMatchObject({
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxTotalSize: "0" },
    });
    expect(harness.venue.calls.place).toBe(0);
  });

  it("takes a position that cannot be read for no answer, never for flat", async () => {
    const harness = await createDesk();
    for (const [failure, code] of [
      ["TIMEOUT", "VENUE_UNAVAILABLE"],
      ["HANG", "VENUE_UNAVAILABLE"],
      ["RATE_LIMITED", "VENUE_RATE_LIMITED"],
      ["AUTH", "MISSING_CREDENTIALS"],
    ] as const) {
      harness.venue.positionFailure = () => failure;
      expect(await close(harness)).toMatchObject({ ok: false, code });
    }
  });

  it("reads the position again when the venue says that it shrank, once", async () => {
    const harness = await createDesk();
    shrinkBeforeTheOrder(harness);
    expect(await close(harness, { clientOrderId: "mine" })).toMatchObject({
      legs: [{ status: "PARTIAL", requestedSize: "0.3", filledSize: "0.12", order: { clientOrderId: "mine" } }],
    });
    harness.venue.setPosition("acct", "LONG", 300);
    harness.venue.fate = () => {
      harness.venue.setPosition("acct", "LONG", 0);
      return { kind: "reject", reason: "REDUCE_ONLY" };
    };
    expect(await close(harness)).toMatchObject({ legs: [{ status: "CLOSED", note: "ALREADY_FLAT", order: null }] });
    expect(harness.venue.log).toHaveLength(3);
  });

  it("takes the name of the refused order also where that one's end is slow to be written down", async () => {
    const harness = await createDesk();
    shrinkBeforeTheOrder(harness);
    harness.store.gate = () => delay(harness.clock, 100);
    expect(await close(harness, { clientOrderId: "mine" })).toMatchObject({
      legs: [{ filledSize: "0.12", order: { clientOrderId: "mine" } }],
    });
    expect(harness.venue.log).toHaveLength(2);
  });

  it("reports its outcome: part, nothing, unknown, resting", async () => {
    const harness = await createDesk();
    const closeWith = async (
      fate: ReturnType<DeskHarness["venue"]["fate"]>,
      request: Partial<ClosePositionRequest> = {},
    ) => {
      harness.venue.setPosition("acct", "LONG", 300);
      harness.venue.fate = () => fate;
      const answer = await close(harness, { deadlineMs: 400, ...request });
      return answer.ok ? answer.legs.map(({ status }) => status).join() : answer.code;
    };
    expect(await closeWith({ kind: "fill", liquidity: 0.5 })).toBe("PARTIAL");
    expect(await closeWith({ kind: "fill", liquidity: 0 })).toBe("FAILED");
    expect(await closeWith({ kind: "reject", reason: "VENUE_STATE" })).toBe("FAILED");
    expect(await closeWith({ kind: "late", executeAfterMs: 100 })).toBe("UNKNOWN");
    expect(await closeWith({ kind: "fill" }, { type: "LIMIT", price: "101000" })).toBe("RESTING");
  });
});

describe("closing everything", () => {
  it("names the positions that are too many for one request", async () => {
    const many = (room: VenueRoom): VenueRoom["reader"] => ({
      ...room.reader,
      async readPositions(session, instrument, options) {
        const read = await room.reader.readPositions(session, instrument, options);
        if (!read.ok || instrument !== null) return read;
        const value = read.value.flatMap((row) => Array.from({ length: 201 }, () => ({ ...row, qtyLots: 1 })));
        return { ...read, value };
      },
    });
    const harness = await createDesk({ mutateRoom: (room) => ({ ...room, reader: many(room) }) });
    harness.venue.setPosition("acct", "LONG", 300);
    const answer = await closeAll(harness, { deadlineMs: 60_000 });
    const legs = answer.ok ? (answer.venues[0]?.legs ?? []) : [];
    expect([legs.length, legs.filter(({ status }) => status === "CLOSED").length]).toEqual([201, 200]);
    expect(legs[200]).toMatchObject({ status: "FAILED", filledSize: "0", error: { code: "OVERLOADED" } });
    expect(harness.venue.log).toHaveLength(200);
  });

  it("cancels first, closes all venues, and one venue's failure hides no other", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.two.setPosition("acct", "SHORT", 200);
    await harness.order({ type: "LIMIT", price: "95000" });
    expect(await closeAll(harness)).toMatchObject({
      ok: true,
      venues: [
        {
          venue: "venueone",
          error: null,
          cancel: { outcome: "ACCEPTED", canceledCount: 1 },
          legs: [{ status: "CLOSED" }],
        },
        {
          venue: "venuetwo",
          error: null,
          cancel: { canceledCount: 0 },
          legs: [{ status: "CLOSED", direction: "SHORT" }],
        },
      ],
    });
    harness.two.setPosition("acct", "SHORT", 200);
    harness.venue.positionFailure = () => "TIMEOUT";
    expect(await closeAll(harness)).toMatchObject({
      venues: [
        { error: { code: "VENUE_UNAVAILABLE" }, legs: [] },
        { error: null, legs: [{ status: "CLOSED" }] },
      ],
    });
    const bad = [{ venue: "venueone", credentials: {} }, ...closeAllRequest().accounts.slice(1)] as const;
    harness.two.setPosition("acct", "SHORT", 200);
    expect(await closeAll(harness, { accounts: bad })).toMatchObject({
      venues: [{ error: { code: "MISSING_CREDENTIALS" } }, { legs: [{ status: "CLOSED" }] }],
    });
  });

  it("closes on although the cancel failed, and says so", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.calls.cancelAllFates.push("throw", "throw");
    const answer = await closeAll(harness);
    expect(answer).toMatchObject({
      venues: [{ cancel: { outcome: "UNKNOWN" }, legs: [{ status: "CLOSED" }] }, { legs: [] }],
    });
  });

  it("with a key is one close, replayed, also while its outcome is unknown", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.two.setPosition("acct", "SHORT", 200);
    harness.venue.fate = () => ({ kind: "loseReply" });
    harness.venue.orderReadFailure = () => "TIMEOUT";
    const first = await closeAll(harness, { deadlineMs: 500 }, KEYED);
    expect(first).toMatchObject({
      replayed: false,
      venues: [{ legs: [{ status: "UNKNOWN" }] }, { legs: [{ status: "CLOSED" }] }],
    });
    harness.venue.orderReadFailure = () => null;
    await harness.clock.advanceAsync(60_000);
    harness.venue.setPosition("acct", "LONG", 77);
    expect(await closeAll(harness, { deadlineMs: 500 }, KEYED)).toMatchObject({
      replayed: true,
      venues: [{ legs: [{ status: "CLOSED", filledSize: "0.3" }] }, { legs: [{ status: "CLOSED" }] }],
    });
    expect([harness.venue.log.length, harness.two.log.length]).toEqual([1, 1]);
    expect(await closeAll(harness, {}, { ...KEYED, rawBody: Buffer.from("other") })).toMatchObject({
      code: "IDEMPOTENCY_MISMATCH",
    });
  });

  it("goes on after a crash where that stopped it, and sends no leg twice", async () => {
    const harness = await createDesk();
    harness.venue.setPosition("acct", "LONG", 300);
    harness.two.setPosition("acct", "SHORT", 200);
    harness.venue.fate = () => ({ kind: "fill", latencyMs: 300 });
    harness.two.fate = () => ({ kind: "loseRequest" });
    void harness.desk.closeAll(closeAllRequest(), orderContext(harness.clock, KEYED));
    await harness.clock.advanceAsync(150);
    harness.kill();
    await harness.clock.advanceAsync(100);
    await harness.restart();
    harness.two.fate = () => ({ kind: "fill" });
    const answer = await closeAll(harness, { deadlineMs: 30_000 }, KEYED);
    expect(answer).toMatchObject({
      replayed: true,
      venues: [{ legs: [{ status: "CLOSED", filledSize: "0.3" }] }, { legs: [{ status: "CLOSED" }] }],
    });
    expect(harness.venue.log).toHaveLength(1);
    expect(harness.two.log.filter(({ filledLots }) => filledLots > 0)).toHaveLength(1);
    expect(harness.venue.sessions.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(2);
  });
});
