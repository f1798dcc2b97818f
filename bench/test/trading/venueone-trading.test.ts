/** venueone's trading half against its local venue: what every venue has, and what it has alone. */
import { describe, expect, it } from "vitest";
import type { OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { addressOf, AGENT, ALICE, KEYS } from "../../sim/venueone/test/kit.js";
import { start } from "../support/trading/bench.js";
import { tradingSuite } from "../support/trading/suite.js";
import { VENUEONE, VENUEONE_BY_AGENT } from "../support/trading/venueone.js";
import { allRows, OPTIONS, opened, unwrapRead } from "../support/trading-half.js";

const HOUR_MS = 3_600_000;

tradingSuite(VENUEONE);
tradingSuite(VENUEONE_BY_AGENT);

describe("an order of venueone alone", () => {
  it("that waits for a price is refused by the venue where it would fire at once, unsent where it could never fill", async () => {
    const on = await start(VENUEONE);
    await on.place(on.buy());
    const stop = (trigger: number, worst: number): OrderCommand =>
      on.sell({
        trigger: { kind: "STOP", priceTicks: on.ticks(trigger), source: "MARK" },
        priceTicks: on.ticks(worst),
      });
    expect(await on.send(stop(1.05, 0.95))).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      venueCode: "badTriggerPxRejected",
      sent: true,
    });
    const logged = on.sim.log.length;
    expect(await on.send(stop(0.9, 0.95))).toMatchObject({
      outcome: "rejected",
      venueCode: "TRIGGER_WORST_PRICE",
      sent: false,
    });
    expect(on.sim.log).toHaveLength(logged);
  });

  it("that reduces more than there is ends as canceled, and only its fills tell how far it came", async () => {
    const on = await start(VENUEONE);
    await on.place(on.buy());
    await on.place(on.sell({ qtyLots: 5 * on.lots }));
    const [row] = await allRows((query) => on.half.history.readOrders(on.session, query, OPTIONS), {});
    expect(row).toMatchObject({ side: "SELL", status: "CANCELED", filledLots: on.lots });
  });
});

describe("a change of venueone alone", () => {
  it("is post-only, and leaves the order where it is when it would take", async () => {
    const on = await start(VENUEONE);
    const { btc, half, session } = on;
    const order = await on.placed(on.resting());
    const crossing = { priceTicks: on.ticks(1.02), qtyLots: on.lots };
    expect(await half.orders.amend(session, btc, order, crossing, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE",
      venueCode: "badAloPxRejected",
    });
    expect(await on.openOrders(btc)).toMatchObject([{ venueOrderId: order.venueOrderId }]);
    const lower = { priceTicks: on.ticks(0.94), qtyLots: on.lots };
    expect(await half.orders.amend(session, btc, order, lower, OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(await on.openOrders(btc)).toMatchObject([{ ...lower, timeInForce: "POST_ONLY" }]);
  });

  it("of an order that waits for a price is refused unsent", async () => {
    const on = await start(VENUEONE);
    const order = await on.placed(on.resting());
    const logged = on.sim.log.length;
    const stop: VenueOrder = { ...order, type: "STOP_MARKET", triggerPrice: "1" };
    const change = { priceTicks: on.ticks(0.94), qtyLots: on.lots };
    expect(await on.half.orders.amend(on.session, on.btc, stop, change, OPTIONS)).toMatchObject({
      venueCode: "NOT_SUPPORTED",
      sent: false,
    });
    expect(on.sim.log).toHaveLength(logged);
  });
});

describe("a cancel of all of venueone alone", () => {
  it("goes out in batches, and counts them together", async () => {
    const on = await start(VENUEONE);
    for (let index = 0; index < 205; index++) await on.send(on.resting());
    expect(await on.half.orders.cancelAll(on.session, on.btc, OPTIONS)).toEqual({
      outcome: "accepted",
      canceledCount: 205,
      failed: [],
    });
    expect(await on.half.orders.cancelAll(on.session, null, OPTIONS)).toMatchObject({ canceledCount: 0 });
  });

  it("of a countdown is refused unsent within five seconds, and by the venue to who has traded too little", async () => {
    const on = await start(VENUEONE);
    const { clock, half, session } = on;
    expect(await half.orders.scheduleCancel(session, clock.wallMs() + 4_000, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "SCHEDULE_TOO_SOON",
      sent: false,
    });
    expect(await half.orders.scheduleCancel(on.openOther(), clock.wallMs() + 10_000, OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "scheduleCancelVolume",
      sent: true,
    });
  });
});

describe("settings of venueone alone", () => {
  it("are not sent where they are so already, and say no largest notional", async () => {
    const on = await start(VENUEONE);
    const { btc, half, session } = on;
    const settings = { leverage: 8, marginMode: "cross", maxNotionalValue: null };
    expect(await half.settings.setLeverage(session, btc, 8, OPTIONS)).toEqual({ outcome: "accepted", settings });
    const logged = on.sim.log.length;
    expect(await half.settings.setLeverage(session, btc, 8, OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(on.sim.log).toHaveLength(logged);
    await on.place(on.buy());
    expect(await half.settings.setMarginMode(session, btc, "isolated", OPTIONS)).toMatchObject({
      venueCode: "leverageType",
    });
  });
});

describe("an agent of venueone", () => {
  it("is read by its own address as the account that it acts for", async () => {
    const on = await start(VENUEONE);
    await on.place(on.buy());
    const session = opened(on.half.openAddress(AGENT, null));
    expect(unwrapRead(await on.half.reader.readPositions(session, on.btc, OPTIONS))).toMatchObject([
      { direction: "LONG", qtyLots: on.lots },
    ]);
    expect(await on.send(on.buy(), session)).toMatchObject({ reason: "AUTH", venueCode: "NO_KEY", sent: false });
  });

  it("that was revoked or has expired is refused as AUTH, for orders and for reads", async () => {
    const on = await start(VENUEONE, { stepMs: 20_000 });
    const { btc, clock, half, sim } = on;
    const agent = on.open({ privateKey: KEYS.agent });
    const expiring = on.open({ privateKey: KEYS.stranger });
    const approve = (agentAddress: string, agentName: string) =>
      sim.room.venue.agents.approve({
        accountId: ALICE,
        agentAddress,
        agentName,
        subAccountCount: 0,
        nowMs: sim.exchange.nowMs(),
      });
    approve(addressOf(KEYS.stranger), `short valid_until ${clock.wallMs() + 1_000}`);
    await on.place(on.buy(), expiring);
    // The venue lets an expired agent act for a quarter of an hour.
    clock.advance(HOUR_MS);
    expect(await on.send(on.buy(), expiring)).toMatchObject({ reason: "AUTH", sent: true });
    expect(await half.reader.readPositions(expiring, btc, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    await on.place(on.sell());
    expect(unwrapRead(await half.reader.readPositions(agent, btc, OPTIONS))).toEqual([]);
    approve(`0x${"0".repeat(40)}`, "bot");
    expect(await on.send(on.buy(), agent)).toMatchObject({ outcome: "rejected", reason: "AUTH", sent: true });
    clock.advance(5_000);
    expect(await half.reader.readPositions(agent, btc, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
    expect(await half.orders.cancelAll(agent, btc, OPTIONS)).toMatchObject({ outcome: "rejected", reason: "AUTH" });
  });
});
