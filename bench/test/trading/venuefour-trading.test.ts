/** venuefour's trading half against its local venue: what every venue has, and what it has alone. */
import { describe, expect, it } from "vitest";
import { untilSettled } from "../../../feeds/shared/test/http-time.js";
import { start } from "../support/trading/bench.js";
import { startRoom } from "../support/trading/rooms.js";
import { tradingSuite } from "../support/trading/suite.js";
import { AGENT, VENUEFOUR, WALLET } from "../support/trading/venuefour.js";
import { opened, OPTIONS, unwrapRead } from "../support/trading-half.js";

tradingSuite(VENUEFOUR);

describe("an order of venuefour alone", () => {
  it.each([
    ["of a hedge side", { positionSide: "LONG" }],
    ["that takes profit of nothing", { trigger: { kind: "TAKE_PROFIT", priceTicks: 1, source: "MARK" } }],
  ] as const)("%s is refused unsent", async (_what, changes) => {
    const on = await start(VENUEFOUR);
    expect(await on.send(on.buy(changes))).toMatchObject({ outcome: "rejected", reason: "VENUE_STATE", sent: false });
    expect(on.sim.log).toHaveLength(0);
  });

  it("that only reduces and adds or exceeds is refused in the venue's words", async () => {
    const on = await start(VENUEFOUR);
    await on.place(on.buy());
    expect(await on.send(on.buy({ reduceOnly: true }))).toMatchObject({
      reason: "REDUCE_ONLY",
      venueCode: "INVALID_REDUCE_ONLY_ORDER_SIDE",
    });
    expect(await on.send(on.sell({ qtyLots: 2 * on.lots }))).toMatchObject({
      reason: "REDUCE_ONLY",
      venueCode: "INVALID_REDUCE_ONLY_ORDER_AMOUNT",
    });
  });

  it("that takes profit has no id in its answer", async () => {
    const on = await start(VENUEFOUR);
    await on.place(on.buy());
    const trigger = { kind: "TAKE_PROFIT", priceTicks: on.ticks(1.5), source: "MARK" } as const;
    expect(await on.place(on.sell({ trigger, priceTicks: on.ticks(1.4) }))).toMatchObject({
      venueOrderId: "",
      triggerKind: "TAKE_PROFIT",
    });
  });

  it.each([
    ["was executed", { kind: "replyLost" }, true],
    ["was not executed", { kind: "loss" }, false],
  ] as const)(
    "that is sent again because its outcome is unknown is one order, where it %s",
    async (_what, fault, isExecuted) => {
      const on = await start(VENUEFOUR);
      on.sim.faults.add({ ...fault, match: VENUEFOUR.habits.routes.place, count: 1 });
      const command = on.buy();
      expect(await on.send(command)).toMatchObject({ outcome: "unknown" });
      const again = isExecuted ? { outcome: "rejected", reason: "DUPLICATE_CLIENT_ID" } : { outcome: "accepted" };
      expect(await on.send(command)).toMatchObject(again);
      expect(on.sim.exchange.orders.all(on.accountId)).toHaveLength(1);
    },
  );

  it("is found in the lists while the history by id does not know it yet", async () => {
    const on = await start(VENUEFOUR);
    on.sim.room.setQuirks({ historyLagMs: 60_000 });
    const command = on.buy();
    const outcome = await untilSettled(on.clock, on.send(command));
    // The venue only acknowledged it; a search would cost a tenth of the minute's credits.
    if (outcome.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
    expect(outcome.order).toMatchObject({ status: "OPEN", filledLots: 0 });
    for (const ref of [{ venueOrderId: outcome.order.venueOrderId }, { clientIdHex: command.clientIdHex }])
      expect(await on.read(ref)).toMatchObject({ status: "FILLED" });
  });
});

describe("settings of venuefour alone", () => {
  it("begin at the largest leverage, and are not changed under an isolated position", async () => {
    const on = await start(VENUEFOUR);
    const { btc, half, session } = on;
    expect(unwrapRead(await half.settings.read(session, btc, OPTIONS))).toEqual({
      leverage: 50,
      marginMode: "cross",
      maxNotionalValue: null,
    });
    await half.settings.setMarginMode(session, btc, "isolated", OPTIONS);
    await on.place(on.buy());
    for (const outcome of [
      await half.settings.setLeverage(session, btc, 5, OPTIONS),
      await half.settings.setMarginMode(session, btc, "cross", OPTIONS),
    ])
      expect(outcome).toMatchObject({ outcome: "rejected", sent: true });
  });
});

describe("a key of venuefour", () => {
  it("is the wallet's own or a bound one, until that is revoked", async () => {
    const on = await start(VENUEFOUR);
    const own = on.open({ apiKey: WALLET.publicKey, apiSecret: WALLET.secret, walletAddress: WALLET.publicKey });
    expect(await on.place(on.buy(), own)).toMatchObject({ status: "FILLED" });
    on.sim.room.keys.revoke(WALLET.publicKey, AGENT.publicKey);
    expect(await on.send(on.buy())).toMatchObject({
      outcome: "rejected",
      reason: "AUTH",
      sent: true,
      venueCode: "AGENT_NOT_AUTHORIZED",
    });
    const address = opened(on.half.openAddress?.(WALLET.publicKey, null) ?? { ok: false, problem: "no address" });
    expect(await on.send(on.buy(), address)).toMatchObject({ reason: "AUTH", venueCode: "NEEDS_CREDENTIALS" });
  });
});

describe("the room of venuefour", () => {
  it("measures its clock again when the venue calls a request expired, and sends it once more", async () => {
    const on = await startRoom("venuefour");
    on.sim.faults.add({ kind: "clockSkew", delayMs: 60_000 });
    expect(await on.buy()).toMatchObject({ status: "FILLED" });
    expect(on.room.status().clockOffsetMs).toBeGreaterThan(55_000);
    on.sim.faults.clear();
    on.sim.faults.add({ kind: "clockSkew", delayMs: -60_000 });
    expect(await on.buy()).toMatchObject({ status: "FILLED" });
    expect(on.sim.exchange.accounts.position(on.accountId, "BTC", "BOTH")?.qtyLots).toBe(2 * on.lots);
  });
});
