/** Chapters of orders that are placed, rest, fill and are refused. */
import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome, TimeInForce, VenueOrder } from "../../../../engine/domain/order.js";
import { allRows, nextClientId, OPTIONS, unwrapRead } from "../trading-half.js";
import { start, type TradingBench, type TradingVenue } from "./bench.js";

export function placingChapters(venue: TradingVenue): void {
  const { habits } = venue;
  const shownAs = (timeInForce: TimeInForce) => (habits.saysTimeInForce ? { timeInForce } : {});
  describe(`an order on ${venue.name}`, () => {
    it("fills at once, with an answer, fills, a fee and a position that agree, and is closed by another", async () => {
      const on = await start(venue);
      const { accountId, btc, half, lots, session } = on;
      const command = on.buy();
      const answered = await on.place(command);
      const venueClientOrderId = half.orders.venueClientOrderId(command.clientIdHex);
      expect(answered).toMatchObject(
        habits.answersWithTheEnd
          ? { status: "FILLED", type: "MARKET", side: "BUY", filledLots: lots, venueClientOrderId }
          : { status: "OPEN", venueStatus: "submitted", venueOrderId: "", filledLots: 0, venueClientOrderId },
      );
      const order = await on.find(command);
      expect(order).toMatchObject({ status: "FILLED", side: "BUY", qtyLots: lots, filledLots: lots });
      expect(Number(order?.averagePrice)).toBeCloseTo(averageOf(on, order), 4);
      expect(on.positionLots()).toBe(lots);
      expect(unwrapRead(await half.reader.readPositions(session, btc, OPTIONS))).toMatchObject([
        { symbol: "BTC", direction: "LONG", qtyLots: lots, marginMode: "cross" },
      ]);
      const fills = await allRows((query) => half.history.readFills(session, query, OPTIONS), {});
      expect(fills.reduce((sum, fill) => sum + fill.qtyLots, 0)).toBe(lots);
      for (const fill of fills)
        expect(fill).toMatchObject({ side: "BUY", isMaker: false, venueOrderId: order?.venueOrderId });
      const [record] = on.taken();
      expect(record).toMatchObject({ accountId, side: "BUY", clientId: order?.venueClientOrderId });
      const closed = on.sell();
      await on.place(closed);
      expect(await on.find(closed)).toMatchObject({ status: "FILLED", side: "SELL", filledLots: lots });
      expect(on.taken().at(-1)).toMatchObject({ side: "SELL", reduceOnly: true });
      expect(unwrapRead(await half.reader.readPositions(session, null, OPTIONS))).toEqual([]);
      expect(on.positionLots()).toBe(0);
    });

    it("rests, is read by both ids, listed and canceled once", async () => {
      const on = await start(venue);
      const { btc, half, lots, session } = on;
      const command = on.resting();
      const order = await on.placed(command);
      expect(order).toMatchObject({ status: "OPEN", type: "LIMIT", filledLots: 0, qtyLots: lots, ...shownAs("GTC") });
      for (const ref of [{ clientIdHex: command.clientIdHex }, { venueOrderId: order.venueOrderId }])
        expect(await on.read(ref)).toMatchObject({ venueOrderId: order.venueOrderId, status: "OPEN" });
      expect(await on.openOrders(btc)).toMatchObject([
        { venueClientOrderId: half.orders.venueClientOrderId(command.clientIdHex), qtyLots: lots, filledLots: 0 },
      ]);
      const taken = habits.cancelIsReceipt ? { outcome: "accepted", isPending: true } : { outcome: "accepted" };
      const byClient = { clientIdHex: command.clientIdHex };
      expect(await half.orders.cancel(session, btc, byClient, OPTIONS)).toEqual(taken);
      on.settle();
      expect(await on.find(command)).toMatchObject({ status: "CANCELED" });
      expect(await on.openOrders()).toEqual([]);
      const again = await half.orders.cancel(session, btc, byClient, OPTIONS);
      if (habits.cancelIsReceipt) expect(again).toEqual(taken);
      else expect(again).toMatchObject({ outcome: "rejected", reason: "NOT_FOUND", sent: true });
      const second = await on.placed(on.resting());
      expect(await half.orders.cancel(session, btc, { venueOrderId: second.venueOrderId }, OPTIONS)).toEqual(taken);
      on.settle();
      expect(await on.openOrders()).toEqual([]);
    });

    it("that was never placed is read as none", async () => {
      const on = await start(venue);
      expect(await on.read({ clientIdHex: nextClientId() })).toBeNull();
    });

    it("carries a client id that is read back from the venue's form, and from no other text", async () => {
      const on = await start(venue);
      const { venueClientOrderId } = await on.placed(on.resting());
      const parsed = on.half.orders.parseClientOrderId(venueClientOrderId ?? "");
      expect(on.half.orders.venueClientOrderId(parsed ?? "")).toBe(venueClientOrderId);
      expect(on.half.orders.parseClientOrderId("web_123")).toBeNull();
    });

    it("rests, fills in part and then whole, and shows both", async () => {
      const on = await start(venue, { isEmpty: true });
      on.setDepth(on.ticks(0.99), on.ticks(1.01), 10 * on.lots);
      const priceTicks = on.ticks(0.999);
      const command = on.resting({ priceTicks, timeInForce: "POST_ONLY" });
      await on.place(command);
      expect(await on.find(command)).toMatchObject({ status: "OPEN", filledLots: 0, ...shownAs("POST_ONLY") });
      const other = on.openOther();
      const part = Math.round(on.lots * 0.4);
      await on.place(on.sell({ priceTicks, qtyLots: part, reduceOnly: false }), other);
      expect(await on.find(command)).toMatchObject({ status: "PARTIALLY_FILLED", filledLots: part });
      expect(Number((await on.find(command))?.averagePrice)).toBe(priceTicks / 10 ** on.btc.priceDecimals);
      await on.place(on.sell({ priceTicks, qtyLots: on.lots - part, reduceOnly: false }), other);
      expect(await on.find(command)).toMatchObject({ status: "FILLED", filledLots: on.lots });
      expect(on.positionLots()).toBe(on.lots);
    });

    it("that takes less than it wants ends canceled with what it filled", async () => {
      const on = await start(venue, { isEmpty: true });
      const half = on.lots / 2;
      const asked = on.ticks(1.005);
      on.setDepth(on.ticks(0.99), asked, half);
      const command = on.buy({ priceTicks: asked });
      await on.place(command);
      const ended = await on.find(command);
      expect(ended).toMatchObject({ status: "CANCELED", filledLots: half });
      expect(Number(ended?.averagePrice)).toBe(asked / 10 ** on.btc.priceDecimals);
      expect(on.positionLots()).toBe(half);
    });

    it("that is post-only and would take ends without a fill", async () => {
      const on = await start(venue);
      const crossing = on.buy({ type: "LIMIT", timeInForce: "POST_ONLY" });
      await endsUnfilled(on, crossing, habits.postOnlyThatTakes, "PRICE");
      const beside = on.resting({ timeInForce: "POST_ONLY" });
      expect(await on.placed(beside)).toMatchObject({ status: "OPEN", ...shownAs("POST_ONLY") });
    });

    it("that only reduces ends without a fill where there is nothing to reduce", async () => {
      const on = await start(venue);
      await endsUnfilled(on, on.sell(), habits.reduceOnlyOfNothing, "REDUCE_ONLY");
      // The side that would add is refused too.
      await on.place(on.buy());
      const adding = on.buy({ reduceOnly: true });
      await endsUnfilled(on, adding, habits.reduceOnlyOfNothing, "REDUCE_ONLY");
      expect(on.positionLots()).toBe(on.lots);
    });

    it("that reduces more than there is never turns the position over", async () => {
      const on = await start(venue);
      await on.place(on.buy());
      const tooMuch = on.sell({ qtyLots: 2 * on.lots });
      if (habits.reduceOnlyOfTooMuch === "rejected") {
        expect(await on.send(tooMuch)).toMatchObject({ outcome: "rejected", reason: "REDUCE_ONLY", sent: true });
        expect(on.positionLots()).toBe(on.lots);
        return;
      }
      await on.place(tooMuch);
      expect(on.positionLots()).toBe(0);
      expect(await on.find(tooMuch)).toMatchObject({ filledLots: on.lots });
    });

    it("that fills whole or not at all does so, or is refused unsent where the venue has no such order", async () => {
      const on = await start(venue);
      const unfillable = on.resting({ timeInForce: "FOK" });
      if (habits.hasFillOrKill) {
        await on.place(unfillable);
        expect(await on.find(unfillable)).toMatchObject({ status: "CANCELED", filledLots: 0 });
      } else await isUnsent(on, unfillable, "VENUE_STATE");
    });

    it("with a client id that is in use stays one order", async () => {
      const on = await start(venue);
      const command = on.resting();
      const order = await on.placed(command);
      const again = await on.send({ ...command, qtyLots: on.lots * 2 });
      if (habits.duplicate === "rejected")
        expect(again).toMatchObject({ outcome: "rejected", reason: "DUPLICATE_CLIENT_ID", sent: true });
      on.settle();
      expect(await on.find(command)).toMatchObject({ venueOrderId: order.venueOrderId, qtyLots: on.lots });
      expect(await on.openOrders()).toHaveLength(1);
    });

    it.each([
      ["no lots", { qtyLots: 0 }, "SIZE"],
      ["half a lot", { qtyLots: 0.5 }, "SIZE"],
      ["no price", { priceTicks: 0 }, "PRICE"],
      ["a client id that is none", { clientIdHex: "x" }, "VENUE_STATE"],
    ] as const)("of %s is refused unsent", async (_what, changes, reason) => {
      const on = await start(venue);
      await isUnsent(on, on.resting(changes), reason);
    });

    it("below the venue's least size or value is refused", async () => {
      const on = await start(venue);
      const least = on.resting({ instrument: on.eth, qtyLots: 1 });
      expect(await on.send(least)).toMatchObject({ outcome: "rejected", reason: "SIZE", sent: true });
      expect(on.taken()).toEqual([]);
    });

    it("beyond the margin ends without a fill, and the next one goes out", async () => {
      const on = await start(venue);
      const lowered = on.half.settings.setLeverage(on.session, on.btc, 1, OPTIONS);
      expect(await on.answered(lowered)).toMatchObject({ outcome: "accepted" });
      on.settle();
      const tooLarge = on.resting({ qtyLots: on.lotsOf(20) });
      expect(await on.send(tooLarge)).toMatchObject({ outcome: "rejected", reason: "INSUFFICIENT_MARGIN", sent: true });
      await on.place(on.resting());
      expect(await on.openOrders()).toHaveLength(1);
    });
  });
}

/** Average price of all fills, as the local venue has them, in quote units. */
function averageOf({ sim, accountId }: TradingBench, order: VenueOrder | null): number {
  const own = sim.exchange.orders.all(accountId).find(({ orderId }) => String(orderId) === order?.venueOrderId);
  const found = own ?? sim.exchange.orders.all(accountId).at(-1);
  if (found === undefined || order === null) return Number.NaN;
  const { qtyDecimals } = sim.exchange.instruments.get(found.symbol) ?? { qtyDecimals: 0 };
  return Number(found.filledNotionalE12) / 1e12 / (found.filledLots / 10 ** qtyDecimals);
}

async function endsUnfilled(
  on: TradingBench,
  command: OrderCommand,
  way: "rejected" | "ended",
  reason: Extract<PlaceOutcome, { outcome: "rejected" }>["reason"],
): Promise<void> {
  const lots = on.positionLots();
  const outcome = await on.send(command);
  on.settle();
  if (way === "rejected") expect(outcome).toMatchObject({ outcome: "rejected", reason, sent: true });
  else {
    expect(outcome).toMatchObject({ outcome: "accepted" });
    const found = await on.find(command);
    expect(["CANCELED", "REJECTED"]).toContain(found?.status);
    expect(found?.filledLots).toBe(0);
  }
  expect(on.positionLots()).toBe(lots);
}

async function isUnsent(
  on: TradingBench,
  command: OrderCommand,
  reason: Extract<PlaceOutcome, { outcome: "rejected" }>["reason"],
): Promise<void> {
  const logged = on.sim.log.length;
  expect(await on.send(command)).toMatchObject({ outcome: "rejected", reason, sent: false });
  expect(on.sim.log).toHaveLength(logged);
}
