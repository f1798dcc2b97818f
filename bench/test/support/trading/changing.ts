/** Chapters of orders that wait for a price, are changed, canceled together, or counted down. */
import { describe, expect, it } from "vitest";
import type { OrderCommand } from "../../../../engine/domain/order.js";
import { OPTIONS } from "../trading-half.js";
import { start, type TradingBench, type TradingVenue } from "./bench.js";

/** Distance of a stop from the mark, and of the market's move that fires it. */
const WAITS_AT = { STOP: 0.995, TAKE_PROFIT: 1.005 };
const FIRES_BPS = { STOP: -150, TAKE_PROFIT: 150 };
/** Share of its trigger: inside the band that venuetwo applies to a stop's limit. */
const WORST = 0.985;

/** Returns an order that closes the position once the price is reached. */
function closing(
  on: TradingBench,
  kind: "STOP" | "TAKE_PROFIT",
  factor = WAITS_AT[kind],
  changes: Partial<OrderCommand> = {},
): OrderCommand {
  return on.sell({
    trigger: { kind, priceTicks: on.ticks(factor), source: "MARK" },
    priceTicks: on.ticks(factor * WORST),
    ...changes,
  });
}

export function stopChapters(venue: TradingVenue): void {
  describe(`a stop or take-profit on ${venue.name}`, () => {
    it.each([
      ["STOP", "MARKET"],
      ["STOP", "LIMIT"],
      ["TAKE_PROFIT", "MARKET"],
      ["TAKE_PROFIT", "LIMIT"],
    ] as const)("that is a %s %s waits, fires on the mark and closes the position", async (kind, type) => {
      const on = await start(venue);
      await on.place(on.buy());
      const timeInForce = type === "LIMIT" ? "GTC" : "IOC";
      const command = closing(on, kind, WAITS_AT[kind], { type, timeInForce });
      const shown = {
        type: type === "LIMIT" ? "STOP_LIMIT" : "STOP_MARKET",
        triggerKind: kind,
        side: "SELL",
        reduceOnly: true,
      };
      expect(await on.place(command)).toMatchObject({ status: "OPEN", filledLots: 0, ...shown });
      const [row, ...others] = await on.openOrders(on.btc);
      expect(others).toEqual([]);
      expect(row).toMatchObject({ status: "OPEN", ...shown });
      expect(Number(row?.triggerPrice)).toBe((command.trigger?.priceTicks ?? 0) / 10 ** on.btc.priceDecimals);
      on.sim.exchange.controls.setPriceSkew(FIRES_BPS[kind], 0);
      on.clock.advance(5_000);
      expect(on.positionLots()).toBe(0);
      expect(await on.openOrders()).toEqual([]);
      const ended = await on.read({ venueOrderId: row?.venueOrderId ?? "" });
      expect(ended).toMatchObject({ status: "FILLED", filledLots: on.lots, ...shown });
    });

    it("that waits is listed beside another, canceled by its id, and leaves the other to fire", async () => {
      const on = await start(venue);
      await on.place(on.buy());
      await on.place(closing(on, "STOP"));
      const profit = await on.place(closing(on, "TAKE_PROFIT", 1.2));
      const waiting = await on.openOrders(on.btc);
      expect(waiting.map((order) => order.triggerKind).sort()).toEqual(["STOP", "TAKE_PROFIT"]);
      const found = waiting.find(({ triggerKind }) => triggerKind === "TAKE_PROFIT");
      expect(found?.venueClientOrderId).toBe(profit.venueClientOrderId);
      const ref = { venueOrderId: found?.venueOrderId ?? "" };
      expect(await on.half.orders.cancel(on.session, on.btc, ref, OPTIONS)).toMatchObject({ outcome: "accepted" });
      on.settle();
      expect((await on.openOrders(on.btc)).map(({ triggerKind }) => triggerKind)).toEqual(["STOP"]);
      on.sim.exchange.controls.setPriceSkew(FIRES_BPS.STOP, 0);
      on.clock.advance(5_000);
      expect(on.positionLots()).toBe(0);
    });

    it("whose price is reached already is refused, or fires at once", async () => {
      const on = await start(venue);
      await on.place(on.buy());
      const outcome = await on.send(closing(on, "STOP", 1.005));
      if (venue.habits.triggerThatHolds === "rejected") {
        expect(outcome).toMatchObject({ outcome: "rejected", reason: "PRICE", sent: true });
        expect(on.positionLots()).toBe(on.lots);
      } else {
        expect(outcome).toMatchObject({ outcome: "accepted" });
        on.clock.advance(5_000);
        expect(on.positionLots()).toBe(0);
      }
    });
  });
}

export function changeChapters(venue: TradingVenue): void {
  const { amend, countdownMs, countsCancelled } = venue.habits;
  describe(`a change on ${venue.name}`, () => {
    it("gives a resting order another price and size under its client id, or is refused unsent", async () => {
      const on = await start(venue);
      const { btc, half, session } = on;
      const command = on.resting();
      const before = await on.placed(command);
      const change = { priceTicks: on.ticks(0.94), qtyLots: on.lots * 2 };
      if (amend === null) {
        const logged = on.sim.log.length;
        const refused = { outcome: "rejected", venueCode: "NOT_SUPPORTED", sent: false };
        expect(await half.orders.amend(session, btc, before, change, OPTIONS)).toMatchObject(refused);
        expect(on.sim.log).toHaveLength(logged);
        return;
      }
      const outcome = await half.orders.amend(session, btc, before, change, OPTIONS);
      expect(outcome).toMatchObject({
        outcome: "accepted",
        order: amend.answersWithTheOrder ? { ...change, status: "OPEN", side: "BUY" } : null,
      });
      on.settle();
      const [after, ...others] = await on.openOrders(btc);
      expect(others).toEqual([]);
      expect(after).toMatchObject({ ...change, venueClientOrderId: before.venueClientOrderId });
      expect(after?.venueOrderId === before.venueOrderId).toBe(amend.keepsVenueOrderId);
      expect(await on.find(command)).toMatchObject({ status: "OPEN", ...change });
    });

    it.runIf(amend?.keepsVenueOrderId === false)(
      "of an order that has become another is refused by the venue",
      async () => {
        const on = await start(venue);
        const before = await on.placed(on.resting());
        const change = { priceTicks: on.ticks(0.94), qtyLots: on.lots * 2 };
        const ask = () => on.half.orders.amend(on.session, on.btc, before, change, OPTIONS);
        expect(await ask()).toMatchObject({ outcome: "accepted" });
        on.settle();
        expect(await ask()).toMatchObject({ outcome: "rejected", reason: "NOT_FOUND", sent: true });
        expect(await on.openOrders()).toHaveLength(1);
        expect(await on.read({ venueOrderId: before.venueOrderId })).toMatchObject({ status: "CANCELED" });
      },
    );

    it.runIf(amend !== null)("that no order can have is refused unsent, and leaves it as it is", async () => {
      const on = await start(venue);
      const { btc, half, lots, session } = on;
      const current = await on.placed(on.resting());
      const change = { priceTicks: on.ticks(0.94), qtyLots: lots * 2 };
      const logged = on.sim.log.length;
      for (const [order, wrong] of [
        [current, { ...change, qtyLots: 0 }],
        [current, { ...change, priceTicks: 0 }],
        [
          { ...current, filledLots: lots },
          { ...change, qtyLots: lots },
        ],
      ] as const)
        expect(await half.orders.amend(session, btc, order, wrong, OPTIONS)).toMatchObject({
          outcome: "rejected",
          sent: false,
        });
      expect(on.sim.log).toHaveLength(logged);
      const { priceTicks, qtyLots } = current;
      expect(await on.openOrders()).toMatchObject([{ priceTicks, qtyLots }]);
    });
  });

  describe(`a cancel of all on ${venue.name}`, () => {
    it("ends every order of one symbol, stops among them, then of every symbol, then none", async () => {
      const on = await start(venue);
      const { btc, half, session } = on;
      const counted = (canceledCount: number) => ({
        outcome: "accepted",
        canceledCount: countsCancelled ? canceledCount : null,
        failed: [],
      });
      await on.place(on.buy());
      for (let count = 0; count < 3; count++) await on.place(on.resting());
      await on.place(closing(on, "STOP", 0.9));
      await on.place(on.restingInEth());
      expect(await on.openOrders(btc)).toHaveLength(4);
      expect(await half.orders.cancelAll(session, btc, OPTIONS)).toEqual(counted(4));
      on.settle();
      expect(await on.openOrders()).toMatchObject([{ nativeSymbol: on.eth.nativeSymbol }]);
      await on.place(on.resting());
      expect(await half.orders.cancelAll(session, null, OPTIONS)).toMatchObject({ outcome: "accepted", failed: [] });
      on.settle();
      expect(await on.openOrders()).toEqual([]);
      expect(await half.orders.cancelAll(session, null, OPTIONS)).toMatchObject({ outcome: "accepted", failed: [] });
    });

    it("whose answer is lost is unknown, though it was done", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      on.sim.faults.add({ kind: "errorAfter", match: venue.habits.routes.cancelAll });
      expect(await on.half.orders.cancelAll(on.session, on.btc, OPTIONS)).toMatchObject({ outcome: "unknown" });
      on.sim.faults.clear();
      on.settle();
      expect(await on.openOrders()).toEqual([]);
    });
  });

  describe.runIf(countdownMs !== null)(`a countdown on ${venue.name}`, () => {
    const timeMs = countdownMs ?? 0;
    it("is refused unsent for a moment that is past or too near", async () => {
      const on = await start(venue);
      expect(await schedule(on, on.clock.wallMs() - 1)).toMatchObject({ outcome: "rejected", sent: false });
    });

    it("cancels everything at its end, begins again at each call, and stops when it is disarmed", async () => {
      const on = await start(venue);
      await on.place(on.resting());
      for (let round = 0; round < 2; round++) {
        expect(await schedule(on, on.clock.wallMs() + timeMs)).toMatchObject({ outcome: "accepted" });
        on.clock.advance(timeMs * 0.8);
      }
      expect(await schedule(on, null)).toMatchObject({ outcome: "accepted" });
      on.clock.advance(timeMs * 1.5);
      expect(await on.openOrders()).toHaveLength(1);
      expect(await schedule(on, on.clock.wallMs() + timeMs)).toMatchObject({ outcome: "accepted" });
      on.clock.advance(timeMs + 1_000);
      expect(await on.openOrders()).toEqual([]);
    });
  });
}

async function schedule({ half, session }: TradingBench, atMs: number | null) {
  const { scheduleCancel } = half.orders;
  if (scheduleCancel === undefined) throw new Error("the room has no countdown");
  return scheduleCancel.call(half.orders, session, atMs, OPTIONS);
}
