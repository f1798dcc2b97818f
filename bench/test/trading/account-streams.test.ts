/**
 * Whole rooms against their local venues over real sockets: what an account stream reports, how it makes good what it
 * missed, and the limits of such streams.
 */
import { describe, expect, it } from "vitest";
import { ROUTABLE_VENUES } from "../../../engine/domain/venue.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { failedRead } from "../../../feeds/shared/net/call-results.js";
import type { SimOrderRequest } from "../../sim/core/model/types.js";
import { keyPairOf } from "../../sim/venuefour/records/keys.js";
import { type RoomBench, startRoom } from "../support/trading/rooms.js";
import { WALLET } from "../support/trading/venuefour.js";
import { open, opened, PATIENT, unwrapRead, type Watching } from "../support/trading-half.js";

const MISSING = failedRead("VENUE_ERROR", "the room does not offer it");

type Fill = Extract<AccountEvent, { readonly kind: "fill" }>;

function fillsOf({ events }: Watching): readonly Fill[] {
  return events.flatMap((event) => (event.kind === "fill" ? [event] : []));
}

function filledLots(watching: Watching): number {
  return fillsOf(watching).reduce((sum, { qtyLots }) => sum + qtyLots, 0);
}

/** By the client id, because a receipt does not have the venue's. */
function isOrder(clientId: string | null, status: string) {
  return (event: AccountEvent): boolean =>
    event.kind === "order" && event.order.venueClientOrderId === clientId && event.order.status === status;
}

/** Orders, fills and positions come in frames of their own, in any order. */
async function untilPositions(
  watching: Watching,
  what: string,
  holds: (held: readonly VenuePosition[]) => boolean,
): Promise<void> {
  await expect
    .poll(
      () => {
        const read = watching.stream.positions();
        return read.ok && holds(read.value);
      },
      { message: what },
    )
    .toBe(true);
}

async function untilFilled(watching: Watching, lots: number): Promise<void> {
  await expect.poll(() => filledLots(watching)).toBe(lots);
  expect(new Set(fillsOf(watching).map(({ tradeId }) => tradeId)).size).toBe(fillsOf(watching).length);
}

function heldLots({ btc, room, session }: RoomBench): number | null {
  const read = room.reader.heldPositions?.(session, btc) ?? null;
  return read?.ok === true ? (read.value[0]?.qtyLots ?? 0) : null;
}

describe.each(ROUTABLE_VENUES)("an account stream of %s", (venue) => {
  it("tells order, fills and position, each fill once, and nothing of another account", async () => {
    const on = await startRoom(venue, { isQuiet: true });
    const { btc, lots, other, room, session } = on;
    const mine = await on.watch();
    const theirs = await on.watch(other);
    const bid = await on.bid();
    const id = bid.venueClientOrderId;
    await mine.until("open order", isOrder(id, "OPEN"));
    await on.hit(bid, lots * 0.4);
    await mine.until("partly filled", isOrder(id, "PARTIALLY_FILLED"));
    await on.hit(bid, lots * 0.6);
    await mine.until("filled", isOrder(id, "FILLED"));
    await untilFilled(mine, lots);
    for (const { order } of fillsOf(mine)) expect(order).toMatchObject({ side: "BUY", venueClientOrderId: id });
    await untilFilled(theirs, lots);
    for (const { order } of fillsOf(theirs)) expect(order).toMatchObject({ side: "SELL" });
    await untilPositions(mine, "long", ([held]) => held?.qtyLots === lots && held.direction === "LONG");
    await untilPositions(theirs, "short", ([held]) => held?.qtyLots === lots && held.direction === "SHORT");
    // All of it was streamed, so the position is known without a request.
    await expect.poll(() => room.reader.heldPositions?.(session, btc) ?? null).toMatchObject({ source: "stream" });
    const clientIdHex = room.orders.parseClientOrderId?.(id ?? "") ?? "";
    expect(await room.reader.readOrder(other, btc, { clientIdHex }, PATIENT)).toMatchObject({ value: null });
  });

  it("tells of a stop that fires: its fill, its end, the flat position", async () => {
    const on = await startRoom(venue);
    const watching = await on.watch();
    await on.buy();
    await untilFilled(watching, on.lots);
    const stop = await on.place({
      side: "SELL",
      trigger: { kind: "STOP", priceTicks: on.ticks(0.995), source: "MARK" },
      priceTicks: on.ticks(0.98),
      reduceOnly: true,
    });
    const isStop = (status: string) => isOrder(stop.venueClientOrderId, status);
    const waiting = await watching.until("order that waits", isStop("OPEN"));
    expect(waiting).toMatchObject({ order: { type: "STOP_MARKET", triggerKind: "STOP", reduceOnly: true } });
    on.sim.exchange.controls.setPriceSkew(-150, 0);
    await watching.until("end of the stop", isStop("FILLED"));
    await untilFilled(watching, 2 * on.lots);
    for (const { fee, order } of fillsOf(watching).filter(({ order: { side } }) => side === "SELL")) {
      expect(order.venueClientOrderId).toBe(stop.venueClientOrderId);
      // The tier of the venuethree account pays no fees.
      if (venue !== "venuethree") expect(Number(fee?.amount)).toBeGreaterThan(0);
    }
    await untilPositions(watching, "flat", (held) => held.length === 0);
  });

  it("tells how an order ended that filled at once and never rested", async () => {
    const on = await startRoom(venue);
    const watching = await on.watch();
    const { venueClientOrderId } = await on.buy();
    const end = await watching.until("its end", isOrder(venueClientOrderId, "FILLED"));
    expect(end).toMatchObject({ order: { filledLots: on.lots, qtyLots: on.lots } });
  });

  it("tells after a loss what was missed: a cancel, fills once, the position", async () => {
    const on = await startRoom(venue, { isQuiet: true });
    const { accountId, btc, lots, sim } = on;
    const watching = await on.watch();
    const canceled = await on.bid({ priceTicks: on.ticks(0.97) });
    const filled = await on.bid();
    const shown = await watching.until("open order", isOrder(canceled.venueClientOrderId, "OPEN"));
    await watching.until("open order", isOrder(filled.venueClientOrderId, "OPEN"));
    await on.hit(filled, lots * 0.4);
    await untilFilled(watching, lots * 0.4);
    // No connection opens until all of it has happened.
    const refusal = sim.faults.add({ kind: "refuseHandshake", status: 503 });
    await on.cut();
    await expect.poll(() => watching.stream.state).not.toBe("LIVE");
    expect(watching.stream.positions()).toMatchObject({ ok: false });
    const { priceTicks } = filled;
    const sale = elsewhere(on, "SELL", { priceTicks: on.simTicks(priceTicks), qtyLots: lots * 0.6 });
    expect(sim.exchange.orders.place(on.side.otherAccountId, sale).ok).toBe(true);
    expect(sim.exchange.accounts.position(accountId, btc.nativeSymbol, "BOTH")?.qtyLots).toBe(lots);
    if (shown.kind !== "order") throw new Error("not an order");
    cancelAtVenue(on, shown.order.venueClientOrderId);
    sim.faults.remove(refusal.id);
    await watching.until("missed cancel", isOrder(canceled.venueClientOrderId, "CANCELED"));
    await watching.until("missed end", isOrder(filled.venueClientOrderId, "FILLED"));
    await expect.poll(() => watching.stream.state).toBe("LIVE");
    await untilFilled(watching, lots);
    await untilPositions(watching, "long", ([held]) => held?.qtyLots === lots && held.direction === "LONG");
  });

  it("tells of a position that came about while nobody listened", async () => {
    const on = await startRoom(venue);
    const watching = await on.watch();
    await on.cut();
    expect(on.sim.exchange.orders.place(on.accountId, elsewhere(on, "BUY")).ok).toBe(true);
    await untilPositions(watching, "the position", ([held]) => held?.direction === "LONG" && held.qtyLots === on.lots);
  });

  it("tells of a change and of a cancel of all that the room is asked for", async () => {
    const on = await startRoom(venue);
    const { btc, lots, room, session } = on;
    const { history, orders, reader, settings } = room;
    if (history === undefined || settings === undefined) throw new Error("a port is missing");
    const watching = await on.watch();
    expect(await settings.setLeverage(session, btc, 8, PATIENT)).toMatchObject({ outcome: "accepted" });
    await expect.poll(async () => unwrapRead(await settings.read(session, btc, PATIENT)).leverage).toBe(8);
    const { venueClientOrderId } = await on.bid();
    const opened = await watching.until("open order", isOrder(venueClientOrderId, "OPEN"));
    if (opened.kind !== "order") throw new Error("not an order");
    const { venueOrderId } = opened.order;
    expect(unwrapRead((await reader.findOrder?.(session, { venueOrderId }, PATIENT)) ?? MISSING)).toMatchObject({
      status: "OPEN",
    });
    expect(Number(unwrapRead((await reader.readAccount?.(session, PATIENT)) ?? MISSING).equity)).toBeGreaterThan(0);
    const query = { instrument: btc, sinceMs: null, untilMs: null, limit: 10, cursor: null };
    expect(unwrapRead(await history.readOrders(session, query, PATIENT)).rows).toMatchObject([{ venueOrderId }]);
    expect(unwrapRead(await history.readFills(session, query, PATIENT)).rows).toEqual([]);
    expect(unwrapRead(await history.readFunding(session, query, PATIENT)).rows).toEqual([]);
    const change = { priceTicks: on.ticks(0.984), qtyLots: lots * 2 };
    const outcome = await orders.amend?.(session, btc, opened.order, change, PATIENT);
    expect(outcome).toMatchObject({ outcome: "accepted" });
    await watching.until(
      "the order as amended",
      (event) =>
        event.kind === "order" &&
        event.order.status === "OPEN" &&
        event.order.qtyLots === change.qtyLots &&
        event.order.priceTicks === change.priceTicks,
    );
    expect(await orders.cancelAll?.(session, btc, PATIENT)).toMatchObject({ outcome: "accepted", failed: [] });
    await watching.until(
      "its cancel",
      (event) =>
        event.kind === "order" && event.order.status === "CANCELED" && event.order.priceTicks === change.priceTicks,
    );
  });

  it("tells of a liquidation: its fills, and the position gone", async () => {
    const on = await startRoom(venue);
    const { accountId, btc, sim } = on;
    const watching = await on.watch();
    const { exchange } = sim;
    const coin = btc.nativeSymbol;
    const { qtyDecimals, priceDecimals } = exchange.instruments.get(coin) ?? { qtyDecimals: 0, priceDecimals: 0 };
    const mark = exchange.market.mark(coin).markE8 / 1e8;
    const coins = ((Number(exchange.accounts.margin(accountId).equityE12) / 1e12) * 30) / mark;
    expect(exchange.desk.setLeverage(accountId, coin, 40).ok).toBe(true);
    const markTicks = Math.round(mark * 10 ** priceDecimals);
    exchange.desk.setPosition(accountId, coin, "BOTH", Math.floor(coins * 10 ** qtyDecimals), markTicks);
    exchange.controls.setPriceSkew(-450, 0);
    const fill = await watching.until("fill of the liquidation", (event) => event.kind === "fill");
    expect(fill).toMatchObject({ order: { side: "SELL" } });
    await untilPositions(watching, "flat", (held) => held.length === 0);
  });

  it("whose frames are lost is used for no answer that turns on them, and is corrected by the read that contradicts it", async () => {
    const on = await startRoom(venue, { isQuiet: true });
    const { accountId, btc, lots, room, session, sim } = on;
    const watching = await on.watch();
    const bid = await on.bid();
    await watching.until("open order", isOrder(bid.venueClientOrderId, "OPEN"));
    await expect.poll(() => heldLots(on)).toBe(0);
    sim.faults.add({ kind: "gap", scope: ["user"], match: accountId });
    await on.hit(bid, lots);
    await expect.poll(() => sim.exchange.accounts.position(accountId, btc.nativeSymbol, "BOTH")?.qtyLots).toBe(lots);
    const read = await room.reader.verifyPositions?.(session, btc, PATIENT);
    expect(read).toMatchObject({ ok: true, source: "venue", value: [{ direction: "LONG", qtyLots: lots }] });
    expect(heldLots(on)).not.toBe(0);
    await expect.poll(() => heldLots(on)).toBe(lots);
  });

  it("under duplicated and reordered frames tells each fill once, and comes to the position", async () => {
    const on = await startRoom(venue);
    const { accountId, lots, sim } = on;
    sim.faults.add({ kind: "duplicate", scope: ["user"], match: accountId, probability: 0.5 });
    sim.faults.add({ kind: "reorder", scope: ["user"], match: accountId, probability: 0.3 });
    const watching = await on.watch();
    for (let round = 0; round < 6; round++) {
      await on.buy();
      await expect.poll(() => positionLots(on)).toBe(lots);
      await on.place({ side: "SELL", priceTicks: on.ticks(0.985), reduceOnly: true });
      await expect.poll(() => positionLots(on)).toBe(0);
    }
    sim.faults.clear();
    await on.buy();
    await expect.poll(() => fillsOf(watching).length).toBe(sim.exchange.accounts.fills(accountId).length);
    await untilFilled(watching, 13 * lots);
    await untilPositions(watching, "long", ([held]) => held?.qtyLots === lots);
  });
});

describe.each(["venueone", "venuetwo", "venuethree"] as const)("a key that is none of the account's on %s", (venue) => {
  it("receives no event", async () => {
    const on = await startRoom(venue);
    const watching = await on.watch();
    const stranger = open(on.room, on.side.wrongCredentials);
    const events: AccountEvent[] = [];
    await new Promise<void>((resolve) => {
      const result = on.room.streams?.openAccountStream(stranger, (event) => {
        events.push(event);
        if (event.kind === "state" && event.state === "DOWN") resolve();
      });
      if (result?.ok !== true) throw new Error("not opened");
    });
    const { venueClientOrderId } = await on.bid();
    await watching.until("open order", isOrder(venueClientOrderId, "OPEN"));
    expect(events).toEqual([{ kind: "state", state: "DOWN" }]);
    expect(await on.room.reader.readPositions(stranger, null, PATIENT)).toMatchObject({ ok: false, code: "AUTH" });
  });
});

describe.each(["venuethree", "venuefour"] as const)("a closed account stream of %s", (venue) => {
  it("has no positions any more once nobody watches", async () => {
    const on = await startRoom(venue);
    const { stream } = await on.watch();
    expect(stream.positions()).toMatchObject({ ok: true });
    stream.close();
    expect(stream.positions()).toMatchObject({ ok: false });
  });
});

describe("an order of venuethree whose end was streamed", () => {
  it("is read without a question to the venue", async () => {
    const on = await startRoom("venuethree");
    const watching = await on.watch();
    const { venueClientOrderId } = await on.buy();
    await watching.until("its end", isOrder(venueClientOrderId, "FILLED"));
    await untilFilled(watching, on.lots);
    const clientIdHex = on.room.orders.parseClientOrderId?.(venueClientOrderId ?? "") ?? "";
    expect(await on.room.reader.readOrder(on.session, on.btc, { clientIdHex }, PATIENT)).toMatchObject({
      source: "stream",
      value: { status: "FILLED", filledLots: on.lots },
    });
  });
});

describe.each(["venuethree", "venuefour"] as const)("a subscription of %s", (venue) => {
  it("that the venue ignores is asked for again until it is acknowledged", async () => {
    const on = await startRoom(venue);
    on.sim.faults.add({ kind: "ignoreSubscribe", match: on.side.subscription ?? "", count: 1 });
    const watching = await on.watch();
    expect(watching.stream.state).toBe("LIVE");
    expect(on.sim.faults.hits().ignoreSubscribe).toBe(1);
  });
});

describe("account streams of venueone", () => {
  it("are ten on an address: the eleventh user is refused by name, and taken when one is given back", async () => {
    const on = await startRoom("venueone");
    const { room } = on;
    const address = (index: number): string => `0x${index.toString(16).padStart(40, "0")}`;
    const sessionOf = (index: number) =>
      opened(room.openAddress?.(address(index), null) ?? { ok: false, problem: "none" });
    const streams: Watching[] = [];
    for (let index = 1; index <= 10; index++) streams.push(await on.watch(sessionOf(index)));
    expect(room.streams?.openAccountStream(sessionOf(11), () => undefined)).toEqual({
      ok: false,
      problem: "STREAM_LIMIT: all 10 account streams of this venue are in use",
    });
    // A second stream of the same account needs no slot.
    await on.watch(sessionOf(10));
    streams[0]?.stream.close();
    await on.watch(sessionOf(11));
  });
});

describe("account streams of venuefour", () => {
  it("are 32 at a time", async () => {
    const { room } = await startRoom("venuefour");
    const isOpen = (index: number): boolean => {
      const { publicKey, secret } = keyPairOf(Buffer.alloc(32, 100 + index));
      const session = open(room, { apiKey: publicKey, apiSecret: secret, walletAddress: publicKey });
      return room.streams?.openAccountStream(session, () => undefined).ok === true;
    };
    expect(Array.from({ length: 33 }, (_, index) => isOpen(index)).indexOf(false)).toBe(32);
  });

  it("are shared with no other credentials of the account", async () => {
    const on = await startRoom("venuefour");
    const { btc, room, session } = on;
    const watching = await on.watch();
    const owner = open(room, { apiKey: WALLET.publicKey, apiSecret: WALLET.secret, walletAddress: WALLET.publicKey });
    await on.buy();
    await untilPositions(watching, "long", ([held]) => held?.qtyLots === on.lots);
    await expect.poll(() => room.reader.heldPositions?.(session, btc) ?? null).toMatchObject({ source: "stream" });
    expect(room.reader.heldPositions?.(owner, btc) ?? null).toBeNull();
    watching.stream.close();
    expect(watching.stream.state).toBe("DOWN");
  });
});

function positionLots({ accountId, btc, sim }: RoomBench): number {
  return sim.exchange.accounts.position(accountId, btc.nativeSymbol, "BOTH")?.qtyLots ?? 0;
}

/** Cancels at the venue, as the owner may by another program. */
function cancelAtVenue({ accountId, sim }: RoomBench, clientId: string | null): void {
  const order = sim.exchange.orders.open(accountId).find((open) => open.clientId === clientId);
  if (order === undefined) throw new Error("the venue has no such order");
  sim.exchange.orders.cancel(accountId, order.orderId, "USER");
}

function elsewhere(
  { btc, lots, sim }: RoomBench,
  side: "BUY" | "SELL",
  changes: Partial<SimOrderRequest> = {},
): SimOrderRequest {
  return {
    symbol: btc.nativeSymbol,
    side,
    type: "LIMIT",
    timeInForce: "IOC",
    priceTicks: (sim.exchange.market.bestAsk(btc.nativeSymbol)?.priceTicks ?? 0) * 2,
    qtyLots: lots,
    reduceOnly: false,
    positionSide: "BOTH",
    clientId: null,
    trigger: null,
    closePosition: false,
    ...changes,
  };
}
