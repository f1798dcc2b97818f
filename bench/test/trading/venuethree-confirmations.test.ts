/**
 * The outcome of orders, changes and cancels of venuethree after its API accepts them, against its local venue over
 * real sockets: from the account's stream, without a read, and from reads where the stream is silent.
 */
import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { Resolver } from "../../../engine/orders/send/resolver.js";
import type { AccountSession } from "../../../engine/ports.js";
import { type RoomBench, startRoom } from "../support/trading/rooms.js";
import { commandOf, nextClientId, open, PATIENT, unwrapRead } from "../support/trading-half.js";

/** One BTC. */
const HELD_LOTS = 100_000;
/** For what comes over a socket of this process within milliseconds. */
const EVENTUALLY_MS = 60_000;

const start = (): Promise<RoomBench> => startRoom("venuethree", { heldOnVenuethree: "1" });

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const endMs = performance.now() + EVENTUALLY_MS; performance.now() < endMs; ) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never: ${what}`);
}

/** A request of a trader: a session of its own, closed at its end. */
async function within<T>({ room, side }: RoomBench, work: (session: AccountSession) => Promise<T>): Promise<T> {
  const session = open(room, side.credentials);
  try {
    return await work(session);
  } finally {
    session.close();
  }
}

/** Two requests that read the position, after which the account is streamed without anybody's key. */
async function makeHot(on: RoomBench): Promise<void> {
  for (let count = 0; count < 2; count++)
    await within(on, async (session) => {
      const [held] = unwrapRead(await on.room.reader.readPositions(session, on.btc, PATIENT));
      expect(held?.qtyLots).toBe(HELD_LOTS);
    });
  await within(on, (session) => eventually("streamed positions", () => streamedLots(on, session) === HELD_LOTS));
}

function streamedLots({ room, btc }: RoomBench, session: AccountSession): number | null {
  const read = room.reader.heldPositions?.(session, btc) ?? null;
  return read?.ok === true && read.source === "stream" ? (read.value[0]?.qtyLots ?? 0) : null;
}

function closing(on: RoomBench, qtyLots: number): OrderCommand {
  return commandOf(on.btc, {
    side: "SELL",
    reduceOnly: true,
    qtyLots,
    priceTicks: on.ticks(0.97),
    clientIdHex: nextClientId(),
  });
}

/** Trades as the trade path does: places the order, and a resolver with a session of its own learns its end. */
async function trade(on: RoomBench, command: OrderCommand): Promise<VenueOrder> {
  const { room, btc } = on;
  const outcome = await within(on, (session) => room.orders.place(session, command, PATIENT));
  expect(outcome).toMatchObject({ outcome: "accepted", order: { status: "OPEN" } });
  const resolution = await new Resolver(createSystemClock(), silentLogger).resolve(
    {
      routeId: "rt",
      room,
      instrument: btc,
      clientIdHex: command.clientIdHex,
      bound: () => null,
      markSeen: () => {},
      takePrice: () => {},
      isAcknowledged: true,
      sent: { side: command.side, qtyLots: command.qtyLots },
      mayRest: false,
    },
    open(room, on.side.credentials),
  );
  if (resolution.kind !== "found") throw new Error(resolution.kind);
  return resolution.order;
}

async function place(on: RoomBench, session: AccountSession): Promise<VenueOrder> {
  const { room, btc } = on;
  const clientIdHex = nextClientId();
  const terms = { type: "LIMIT", timeInForce: "GTC", qtyLots: 1_000, priceTicks: on.ticks(0.9), clientIdHex } as const;
  expect(await room.orders.place(session, commandOf(btc, terms), PATIENT)).toMatchObject({ outcome: "accepted" });
  for (let look = 0; look < 1_000; look++) {
    const order = unwrapRead(await room.reader.readOrder(session, btc, { clientIdHex }, PATIENT));
    if (order !== null) return order;
  }
  throw new Error("it does not show");
}

describe("orders of an account that trades again and again", () => {
  it("end when the stream says so, and need no read: neither for the fill nor for the position after it", async () => {
    const on = await start();
    await makeHot(on);
    // From here on every read of the account is refused.
    on.sim.faults.add({ kind: "errorBefore", scope: ["rest"], match: "GET /api/v1/account" });
    let heldLots = HELD_LOTS;
    for (let count = 0; count < 3; count++) {
      const order = await trade(on, closing(on, 1_000));
      expect(order).toMatchObject({ status: "FILLED", filledLots: 1_000, side: "SELL", reduceOnly: true });
      heldLots -= 1_000;
      await within(on, (session) => eventually("the position after it", () => streamedLots(on, session) === heldLots));
    }
    expect(on.sim.exchange.accounts.position(on.accountId, "BTC", "BOTH")?.qtyLots).toBe(heldLots);
  });

  it("that run at once leave a position for each next one that fits, and the exact one only when all is reported", async () => {
    const on = await start();
    await makeHot(on);
    const trades = Array.from({ length: 5 }, () => trade(on, closing(on, 1_000)));
    await within(on, async (session) => {
      const held = (wantedLots?: number) => on.room.reader.heldPositions?.(session, on.btc, wantedLots)?.ok ?? null;
      expect([held(), held(HELD_LOTS - 5_000), held(HELD_LOTS - 4_999)]).toEqual([null, true, null]);
      for (const order of await Promise.all(trades)) expect(order.status).toBe("FILLED");
      await eventually("the position after all", () => streamedLots(on, session) === HELD_LOTS - 5_000);
    });
  });

  it("are looked up where the stream is deaf", async () => {
    const on = await start();
    await makeHot(on);
    on.sim.faults.add({ kind: "loss", scope: ["user"], match: `update/account_all_orders:${on.accountId}` });
    expect(await trade(on, closing(on, 1_000))).toMatchObject({ status: "FILLED", filledLots: 1_000 });
  });

  it("under a client id that an earlier order had are not taken for that one", async () => {
    const on = await start();
    await makeHot(on);
    const command = closing(on, 1_000);
    expect((await trade(on, command)).filledLots).toBe(1_000);
    expect(await trade(on, { ...command, qtyLots: 700 })).toMatchObject({ status: "FILLED", filledLots: 700 });
  });

  it("that the sequencer refuses, of which the stream tells nothing, are found refused", async () => {
    const on = await start();
    await makeHot(on);
    const order = await trade(on, { ...closing(on, 1_000), side: "BUY", priceTicks: on.ticks(1.03) });
    expect(order).toMatchObject({ status: "REJECTED", filledLots: 0 });
  });
});

describe("changes and cancels of all", () => {
  it("are answered with their outcome, where the account is streamed", async () => {
    const on = await start();
    const { room, btc, sim } = on;
    await within(on, async (session) => {
      const stream = await on.watch(session);
      const shown = (order: VenueOrder) =>
        stream.until(
          "open order",
          (event) => event.kind === "order" && event.order.venueOrderId === order.venueOrderId,
        );
      const current = await place(on, session);
      await shown(current);
      await shown(await place(on, session));
      // Slow, so that the stream reports it long before.
      const slow = sim.faults.add({ kind: "latency", scope: ["rest"], match: "GET /api/v1/tx", delayMs: 10_000 });
      const change = { priceTicks: on.ticks(0.88), qtyLots: 1_500 };
      const amended = await room.orders.amend?.(session, btc, current, change, PATIENT);
      expect(amended).toMatchObject({ outcome: "accepted", order: { status: "OPEN", ...change } });
      const canceled = await room.orders.cancelAll?.(session, btc, PATIENT);
      expect(canceled).toEqual({ outcome: "accepted", canceledCount: 2, failed: [] });
      sim.faults.remove(slow.id);
      expect(await room.orders.amend?.(session, btc, current, { ...change, qtyLots: 1_600 }, PATIENT)).toMatchObject({
        outcome: "rejected",
        reason: "NOT_FOUND",
        sent: true,
      });
      expect(await room.orders.cancelAll?.(session, btc, PATIENT)).toMatchObject({ canceledCount: 0 });
      stream.stream.close();
    });
  });

  it("are true when they are answered, where it is not", async () => {
    const on = await start();
    const { room, btc } = on;
    await within(on, async (session) => {
      const current = await place(on, session);
      const change = { priceTicks: on.ticks(0.88), qtyLots: 1_500 };
      const amended = await room.orders.amend?.(session, btc, current, change, PATIENT);
      expect(amended).toEqual({ outcome: "accepted", order: null });
      const ref = { venueOrderId: current.venueOrderId };
      expect(unwrapRead(await room.reader.readOrder(session, btc, ref, PATIENT))).toMatchObject(change);
      const canceled = await room.orders.cancelAll?.(session, btc, PATIENT);
      expect(canceled).toEqual({ outcome: "accepted", canceledCount: null, failed: [] });
      expect(unwrapRead(await room.reader.readOpenOrders(session, null, PATIENT))).toEqual([]);
      expect(await room.orders.amend?.(session, btc, current, { ...change, qtyLots: 1_600 }, PATIENT)).toMatchObject({
        outcome: "rejected",
        reason: "NOT_FOUND",
      });
    });
  });

  it("are unknown, for cancels, where the sequencer has not decided in time: what is open stays open", async () => {
    const on = await start();
    const { room, sim } = on;
    await within(on, async (session) => {
      await place(on, session);
      await fetch(`${sim.restUrl}/_sim/limits`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ makerDelayMs: 600_000 }),
      });
      const canceled = await room.orders.cancelAll?.(session, null, PATIENT);
      expect(unwrapRead(await room.reader.readOpenOrders(session, null, PATIENT))).toHaveLength(1);
      expect(canceled).toMatchObject({ outcome: "unknown" });
    });
  });
});
