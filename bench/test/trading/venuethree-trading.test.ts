/** venuethree's trading half against its local venue: what every venue has, and what it has alone. */
import { describe, expect, it } from "vitest";
import { start } from "../support/trading/bench.js";
import { tradingSuite } from "../support/trading/suite.js";
import { ALICE, BOB, KEYS, L1_ALICE, VENUETHREE } from "../support/trading/venuethree.js";
import { OPTIONS, opened, unwrapRead } from "../support/trading-half.js";

tradingSuite(VENUETHREE);

describe("an order of venuethree alone", () => {
  it("has an id of more than 48 bits, which its receipt does not know", async () => {
    const on = await start(VENUETHREE);
    const command = on.buy();
    expect(await on.place(command)).toMatchObject({ venueOrderId: "" });
    expect(BigInt((await on.find(command))?.venueOrderId ?? 0) >= 1n << 48n).toBe(true);
  });

  it("that is post-only and would take ends in the venue's word for it", async () => {
    const on = await start(VENUETHREE);
    const crossing = on.buy({ type: "LIMIT", timeInForce: "POST_ONLY" });
    await on.place(crossing);
    expect(await on.find(crossing)).toMatchObject({ status: "CANCELED", venueStatus: "canceled-post-only" });
  });

  it("that rests is bound by the minimum of the listing; what takes goes down to one lot, and dust closes", async () => {
    const on = await start(VENUETHREE);
    const minimum = on.btc.restingMinimum;
    if (minimum === undefined) throw new Error("none listed");
    expect(await on.send(on.resting({ qtyLots: minimum.qtyLots - 1 }))).toMatchObject({
      outcome: "rejected",
      reason: "SIZE",
      venueCode: "21706",
    });
    await on.place(on.resting({ qtyLots: minimum.qtyLots, priceTicks: on.ticks(0.99) }));
    const dust = on.buy({ qtyLots: 1 });
    await on.place(dust);
    expect(await on.find(dust)).toMatchObject({ status: "FILLED", filledLots: 1 });
    await on.place(on.sell({ qtyLots: 1 }));
    expect(on.positionLots()).toBe(0);
  });

  it("that takes and that the sequencer refuses is found rejected by its transaction", async () => {
    const on = await start(VENUETHREE);
    const command = on.buy({ qtyLots: 100_000_000_000, priceTicks: on.ticks(1.2) });
    expect(await on.send(command)).toMatchObject({ outcome: "accepted" });
    on.settle();
    const order = await on.find(command);
    expect(["REJECTED", "CANCELED"]).toContain(order?.status);
    expect(order?.filledLots).toBe(0);
  });

  it("that rests without margin is refused by the API, by a code of its own", async () => {
    const on = await start(VENUETHREE);
    expect(await on.send(on.resting({ qtyLots: 100_000_000_000 }))).toMatchObject({
      reason: "INSUFFICIENT_MARGIN",
      venueCode: "21739",
    });
  });

  it("is not changed to a price beyond the venue's 32 bits", async () => {
    const on = await start(VENUETHREE);
    const current = await on.placed(on.resting());
    const change = { priceTicks: 2 ** 32, qtyLots: on.lots };
    expect(await on.half.orders.amend(on.session, on.btc, current, change, OPTIONS)).toMatchObject({ sent: false });
  });

  it("is not counted down to a moment that is too near", async () => {
    const on = await start(VENUETHREE);
    expect(await on.half.orders.scheduleCancel(on.session, on.clock.wallMs() + 1_000, OPTIONS)).toMatchObject({
      outcome: "rejected",
      sent: false,
    });
  });
});

describe("a key of venuethree", () => {
  it("trades with the right index and wallet, and for each account that has it", async () => {
    const on = await start(VENUETHREE);
    const named = { accountIndex: String(ALICE), apiKeyIndex: 5, walletAddress: L1_ALICE };
    await on.place(on.resting(), on.open({ apiKeyPrivateKey: KEYS.alice, ...named }));
    for (const [accountIndex, count] of [
      [ALICE, 1],
      [BOB, 0],
    ] as const) {
      const session = on.open({ apiKeyPrivateKey: KEYS.bob, accountIndex });
      expect(unwrapRead(await on.half.reader.readOpenOrders(session, null, OPTIONS))).toHaveLength(count);
    }
  });

  it("is not needed to read an address in any case, nor one that has nothing", async () => {
    const on = await start(VENUETHREE);
    await on.place(on.buy());
    const positionsOf = async (address: string) =>
      unwrapRead(await on.half.reader.readPositions(opened(on.half.openAddress(address, null)), null, OPTIONS));
    expect(await positionsOf(L1_ALICE.toUpperCase().replace("0X", "0x"))).toMatchObject([{ symbol: "BTC" }]);
    expect(await positionsOf(`0x${"00".repeat(20)}`)).toEqual([]);
  });
});
