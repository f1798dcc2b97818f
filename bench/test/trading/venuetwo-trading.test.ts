/** venuetwo's trading half against its local venue: what every venue has, and what it has alone. */
import { describe, expect, it } from "vitest";
import type { OrderCommand } from "../../../engine/domain/order.js";
import { start } from "../support/trading/bench.js";
import { tradingSuite } from "../support/trading/suite.js";
import { VENUETWO, VENUETWO_BY_AGENT } from "../support/trading/venuetwo.js";
import { OPTIONS, unwrapRead } from "../support/trading-half.js";

tradingSuite(VENUETWO);
tradingSuite(VENUETWO_BY_AGENT);

describe("an order of venuetwo alone", () => {
  it.each([
    ["STOP", "LIMIT", 0.995, -150],
    ["TAKE_PROFIT", "MARKET", 1.005, 150],
  ] as const)("that is a %s %s fires on the last price too", async (kind, type, factor, skewBps) => {
    const on = await start(VENUETWO);
    await on.place(on.buy());
    const command = on.sell({
      type,
      timeInForce: type === "LIMIT" ? "GTC" : "IOC",
      trigger: { kind, priceTicks: on.ticks(factor), source: "LAST" },
      priceTicks: on.ticks(factor * 0.985),
    });
    expect(await on.place(command)).toMatchObject({ status: "OPEN", triggerKind: kind });
    on.sim.exchange.controls.setPriceSkew(skewBps, 0);
    on.clock.advance(5_000);
    expect(await on.find(command)).toMatchObject({ status: "FILLED", filledLots: on.lots });
    expect(on.positionLots()).toBe(0);
  });

  it("that would fire at once is refused by the venue's own word", async () => {
    const on = await start(VENUETWO);
    await on.place(on.buy());
    const trigger = { kind: "STOP", priceTicks: on.ticks(1.01), source: "MARK" } as const;
    expect(await on.send(on.sell({ trigger, priceTicks: on.ticks(0.99) }))).toMatchObject({ venueCode: "-2021" });
  });

  it("that waits has its limit far from the mark, judged around its trigger", async () => {
    const on = await start(VENUETWO);
    await on.place(on.buy());
    const stop = (factor: number): OrderCommand =>
      on.sell({
        type: "LIMIT",
        timeInForce: "GTC",
        trigger: { kind: "STOP", priceTicks: on.ticks(0.9), source: "MARK" },
        priceTicks: on.ticks(0.9 * factor),
      });
    expect(await on.place(stop(0.985))).toMatchObject({ status: "OPEN", type: "STOP_LIMIT" });
    expect(await on.send(stop(0.975))).toMatchObject({ outcome: "rejected", reason: "PRICE", venueCode: "-4184" });
  });

  it("beyond the band around the mark is refused as that, by a word of its own", async () => {
    const on = await start(VENUETWO);
    await on.place(on.buy());
    expect(await on.send(on.sell({ priceTicks: on.ticks(0.975) }))).toMatchObject({
      outcome: "rejected",
      reason: "PRICE_BAND",
      venueCode: "-4024",
    });
  });

  it("that fills whole or not at all ends in the venue's word for it", async () => {
    const on = await start(VENUETWO);
    const unfillable = on.resting({ timeInForce: "FOK", priceTicks: on.ticks(0.99) });
    expect(await on.place(unfillable)).toMatchObject({ status: "CANCELED", venueStatus: "EXPIRED", filledLots: 0 });
  });

  it("is not changed to a price beyond the band, and stays as it was", async () => {
    const on = await start(VENUETWO_BY_AGENT);
    const order = await on.placed(on.resting());
    const { priceTicks, qtyLots } = order;
    const change = { priceTicks: on.ticks(1.2), qtyLots: on.lots };
    expect(await on.half.orders.amend(on.session, on.btc, order, change, OPTIONS)).toMatchObject({
      outcome: "rejected",
      reason: "PRICE_BAND",
      sent: true,
    });
    expect(await on.openOrders(on.btc)).toMatchObject([{ priceTicks, qtyLots }]);
  });
});

describe("a countdown of venuetwo alone", () => {
  it("covers orders that come later in a symbol that it covered before", async () => {
    const on = await start(VENUETWO);
    const { clock, half, session } = on;
    const arm = () => half.orders.scheduleCancel(session, clock.wallMs() + 5_000, OPTIONS);
    await on.place(on.resting());
    expect(await arm()).toMatchObject({ outcome: "accepted" });
    await half.orders.cancelAll(session, null, OPTIONS);
    expect(await arm()).toMatchObject({ outcome: "accepted" });
    await on.place(on.resting());
    clock.advance(6_000);
    expect(await on.openOrders()).toEqual([]);
  });
});

describe("settings of venuetwo alone", () => {
  it("say the largest notional, and keep the margin mode of a symbol with open orders", async () => {
    const on = await start(VENUETWO);
    const { btc, half, session } = on;
    const settings = unwrapRead(await half.settings.read(session, btc, OPTIONS));
    expect(Number(settings.maxNotionalValue)).toBeGreaterThan(0);
    await on.place(on.resting());
    expect(await half.settings.setMarginMode(session, btc, "isolated", OPTIONS)).toMatchObject({
      outcome: "rejected",
      venueCode: "-4047",
      sent: true,
    });
  });
});

describe("a key of venuetwo", () => {
  it("with a wrong secret cancels nothing of every symbol, and sends nothing for it", async () => {
    const on = await start(VENUETWO);
    const [wrong] = VENUETWO.wrongCredentials;
    const session = on.open(wrong?.[1]);
    expect(await on.half.orders.cancelAll(session, null, OPTIONS)).toMatchObject({ reason: "AUTH", sent: false });
  });

  it.each([VENUETWO, VENUETWO_BY_AGENT])("creates, extends and closes a listen key: $name", async (venue) => {
    const on = await start(venue);
    const { listenKey } = on.half;
    expect(await listenKey.create(on.session, OPTIONS)).toMatchObject({ ok: true });
    expect(await listenKey.extend(on.session, OPTIONS)).toMatchObject({ ok: true, value: "extended" });
    expect(await listenKey.close(on.session, OPTIONS)).toMatchObject({ ok: true });
  });
});
