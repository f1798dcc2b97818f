/** Orders as the venue takes, refuses, fills, clamps and ends them. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  addressOf,
  ALICE,
  type Bench,
  BOB,
  btc,
  FIELDS,
  KEYS,
  oidOf,
  orderAction,
  type OrderFields,
  orderItem,
  startBench,
  statuses,
} from "./kit.js";

let bench: Bench;
beforeEach(async () => {
  bench = await startBench();
});
afterEach(() => bench.stop());

async function place(...orders: OrderFields[]): Promise<readonly unknown[]> {
  return statuses(await bench.act(KEYS.alice, orderAction(orders)));
}

/** Buys at market. */
async function openLong(size: string): Promise<void> {
  const status = (await place({ p: up(1.02), s: size, tif: "Ioc" }))[0];
  expect(status).toMatchObject({ filled: { totalSz: size } });
}

const up = (factor: number): string => String(Math.ceil(btc(bench).ask * factor));
const down = (factor: number): string => String(Math.floor(btc(bench).bid * factor));
const error = (text: string, asset = 0) => ({ error: `${text} asset=${asset}` });

async function openOrders(): Promise<readonly Record<string, unknown>[]> {
  return (await bench.info({ type: "frontendOpenOrders", user: ALICE })) as Record<string, unknown>[];
}

async function statusOf(oid: number | string): Promise<unknown> {
  const reply = (await bench.info({ type: "orderStatus", user: ALICE, oid })) as {
    order?: { status: string };
    status: string;
  };
  return reply.order?.status ?? reply.status;
}

async function szi(): Promise<string> {
  const state = (await bench.info({ type: "clearinghouseState", user: ALICE })) as {
    assetPositions: { position: { szi: string } }[];
  };
  return state.assetPositions[0]?.position.szi ?? "0.0";
}

describe("pre-validation of a batch", () => {
  it.each<[string, Partial<OrderFields>, string]>([
    ["a price finer than the tick", { p: "80000.55" }, "Price must be divisible by tick size. asset=0"],
    ["six significant figures", { p: "80000.5" }, "Price must be divisible by tick size. asset=0"],
    ["a size finer than szDecimals", { s: "0.0100001" }, "Order has invalid size."],
    ["a zero size", { s: "0" }, "Order has zero size. asset=0"],
    ["a zero price", { p: "0" }, "Order has invalid price. asset=0"],
    [
      "a price a fifth of the mark",
      { p: "15000" },
      "Order price cannot be more than 80% away from the reference price asset=0",
    ],
    [
      "a price over five times the mark",
      { p: "500000" },
      "Order price cannot be more than 80% away from the reference price asset=0",
    ],
    ["a delisted coin", { a: 2, p: "1", s: "20" }, "Trading is halted. asset=2"],
    ["an unknown asset", { a: 77 }, "Order has unknown asset. asset=77"],
    ["a spot asset", { a: 10_000, p: "1", s: "20" }, "Insufficient spot balance asset=10000"],
  ])("refuses %s with one error for the whole batch, and executes none of it", async (_name, bad, text) => {
    const good = { p: down(0.9), s: "0.01" };
    expect(await place(good, { ...good, ...bad }, good)).toEqual([{ error: text }]);
    expect(await openOrders()).toEqual([]);
  });

  it("refuses an empty batch and one of more than 200 items", async () => {
    expect(await place()).toEqual([{ error: "Orders are empty." }]);
    const cancels = Array.from({ length: 201 }, (_, index) => ({ a: 0, o: index + 1 }));
    expect(await bench.act(KEYS.alice, { type: "cancel", cancels })).toEqual({
      status: "err",
      response: "Signed action over weight limit of 200.",
    });
    expect(statuses(await bench.act(KEYS.alice, { type: "cancel", cancels: cancels.slice(0, 200) }))).toHaveLength(200);
  });

  it("takes an integer price of any length", async () => {
    expect(await place({ p: "100001", s: "0.01", b: false })).toEqual([{ resting: { oid: expect.any(Number) } }]);
  });
});

describe("placing", () => {
  it("answers resting, filled and refused items in request order, with the cloid where one was given", async () => {
    const c = "0x0123456789abcdef0123456789abcdef";
    const result = await place(
      { p: down(0.9), s: "0.01", c },
      { p: up(1.01), s: "0.01", tif: "Ioc" },
      { p: down(0.9), s: "0.01", tif: "Ioc" },
      { p: up(1.01), s: "0.01", tif: "Alo" },
      { p: down(0.9), s: "0.01", r: true, b: true },
    );
    expect(result).toEqual([
      { resting: { oid: expect.any(Number), cloid: c } },
      { filled: { totalSz: "0.01", avgPx: expect.stringMatching(/^\d+\.\d$/), oid: expect.any(Number) } },
      error("Order could not immediately match against any resting orders."),
      {
        error: expect.stringMatching(
          /^Post only order would have immediately matched, bbo was \d+(\.\d)?@\d+(\.\d)?\. asset=0$/,
        ),
      },
      error("Reduce only order would increase position."),
    ]);
  });

  it("ends a partly matched IOC as filled with less than asked", async () => {
    const touch = bench.sim.exchange.market.bestAsk("BTC");
    const lots = (touch?.qtyLots ?? 0) + 1000;
    const [status] = await place({ p: String(btc(bench).ask), s: (lots / 1e5).toFixed(5), tif: "Ioc" });
    const filled = (status as { filled: { totalSz: string; oid: number } }).filled;
    expect(Number(filled.totalSz)).toBeCloseTo((touch?.qtyLots ?? 0) / 1e5, 8);
    const reply = (await bench.info({ type: "orderStatus", user: ALICE, oid: filled.oid })) as {
      order: { status: string; order: { sz: string } };
    };
    expect(reply.order.status).toBe("filled");
    expect(reply.order.order.sz).toBe("0.01");
  });

  it("prints the average price truncated, and charges the taker rate truncated to six decimals", async () => {
    const [status] = await place({ p: up(1.02), s: "3", tif: "Ioc" });
    const { avgPx, oid } = (status as { filled: { avgPx: string; oid: number } }).filled;
    const fills = (
      (await bench.info({ type: "userFills", user: ALICE })) as { px: string; sz: string; oid: number; fee: string }[]
    ).filter((fill) => fill.oid === oid);
    expect(fills.length).toBeGreaterThan(1);
    const notionalE6 = fills.reduce(
      (sum, fill) => sum + BigInt(Math.round(Number(fill.px) * 10)) * BigInt(Math.round(Number(fill.sz) * 1e5)),
      0n,
    );
    expect(avgPx).toBe(`${(notionalE6 / 300_000n / 10n).toString()}.${((notionalE6 / 300_000n) % 10n).toString()}`);
    for (const fill of fills) {
      const feeE6 = Math.floor(Math.round(Number(fill.px) * 10) * Math.round(Number(fill.sz) * 1e5) * 0.00045 + 1e-6);
      expect(Math.abs(Number(fill.fee) * 1e6 - feeE6)).toBeLessThanOrEqual(1);
    }
  });

  it("refuses what the margin does not carry", async () => {
    expect(await place({ p: down(0.99), s: "100" })).toEqual([error("Insufficient margin to place order.")]);
  });

  it("matches two accounts against each other and cancels the own resting order on a self-trade", async () => {
    await bench.stop();
    bench = await startBench({ flow: null });
    const mark = Math.round(bench.sim.exchange.market.mark("BTC").markE8 / 1e8);
    const at = (offset: number, b: boolean, tif = "Gtc") =>
      orderAction([{ p: String(mark + offset), s: "0.01", b, tif }]);
    const [own] = statuses(await bench.act(KEYS.alice, at(1, false)));
    const [other] = statuses(await bench.act(KEYS.bob, at(2, false)));
    expect(statuses(await bench.act(KEYS.alice, at(5, true, "Ioc")))).toMatchObject([
      { filled: { totalSz: "0.01", avgPx: `${mark + 2}.0` } },
    ]);
    expect(await statusOf(oidOf(own))).toBe("selfTradeCanceled");
    const [trade] = (await bench.info({ type: "recentTrades", coin: "BTC" })) as { users: string[]; side: string }[];
    expect(trade).toMatchObject({ users: [ALICE, BOB], side: "B" });
    const [maker] = (await bench.info({ type: "userFills", user: BOB })) as Record<string, unknown>[];
    expect(maker).toMatchObject({
      oid: oidOf(other),
      crossed: false,
      side: "A",
      dir: "Open Short",
      startPosition: "0.0",
    });
    // (mark + 2) × 0.01 × 0.00015, truncated to six decimals.
    expect(Number(maker?.fee)).toBe(Math.floor((mark + 2) * 1.5) / 1e6);
  });

  it("frees a cloid with the end of its order and then finds the newest", async () => {
    const c = "0xabcdefabcdefabcdefabcdefabcdefab";
    const [first] = await place({ p: down(0.9), s: "0.01", c });
    expect(await place({ p: down(0.9), s: "0.01", c })).toEqual([error("Order with this cloid is already open.")]);
    await bench.act(KEYS.alice, { type: "cancelByCloid", cancels: [{ asset: 0, cloid: c }] });
    const [second] = await place({ p: down(0.9), s: "0.02", c });
    bench.clock.advance(2_000);
    const found = (await bench.info({ type: "orderStatus", user: ALICE, oid: c })) as {
      order: { order: { oid: number } };
    };
    expect(found.order.order.oid).toBe(oidOf(second));
    expect(oidOf(second)).not.toBe(oidOf(first));
  });

  it("finds an order by its id at once, by its cloid only after the index caught up", async () => {
    const c = "0x00000000000000000000000000000001";
    const [placed] = await place({ p: down(0.9), s: "0.01", c });
    expect(await statusOf(oidOf(placed))).toBe("open");
    expect(await statusOf(c)).toBe("unknownOid");
    bench.clock.advance(399);
    expect(await statusOf(c)).toBe("unknownOid");
    bench.clock.advance(701);
    expect(await statusOf(c)).toBe("open");
    expect(await statusOf(12_345)).toBe("unknownOid");
    const other = (await bench.info({ type: "orderStatus", user: BOB, oid: oidOf(placed) })) as { status: string };
    expect(other.status).toBe("unknownOid");
  });

  it("charges an approved builder and refuses one that is not", async () => {
    const builder = `0x${"b1".repeat(20)}`;
    const withBuilder = { ...orderAction([{ p: up(1.02), s: "0.1", tif: "Ioc" }]), builder: { b: builder, f: 10 } };
    expect(statuses(await bench.act(KEYS.alice, withBuilder))).toEqual([error("Builder fee has not been approved")]);
    await bench.actAsUser(
      KEYS.alice,
      { type: "approveBuilderFee", maxFeeRate: "0.01%", builder },
      FIELDS.approveBuilderFee,
    );
    const before = bench.sim.exchange.accounts.find(ALICE)?.walletE12 ?? 0n;
    expect(statuses(await bench.act(KEYS.alice, withBuilder))).toMatchObject([{ filled: { totalSz: "0.1" } }]);
    const fills = (await bench.info({ type: "userFills", user: ALICE })) as {
      fee: string;
      builderFee: string;
      px: string;
      sz: string;
    }[];
    const fees = fills.reduce((sum, fill) => sum + Number(fill.fee), 0);
    const builderFees = fills.reduce((sum, fill) => sum + Number(fill.builderFee), 0);
    expect(builderFees).toBeCloseTo(
      fills.reduce((sum, fill) => sum + Number(fill.px) * Number(fill.sz), 0) * 0.0001,
      4,
    );
    const after = bench.sim.exchange.accounts.find(ALICE)?.walletE12 ?? 0n;
    expect(Number(before - after) / 1e12).toBeCloseTo(fees, 4);
  });
});

describe("the ten-dollar minimum", () => {
  it("counts the limit of a resting order and the touch of an IOC, reduce-only or not", async () => {
    expect(await place({ p: down(0.9), s: "0.0001" })).toEqual([error("Order must have minimum value of $10.")]);
    // The limit alone would make this IOC worth more than ten dollars.
    expect(await place({ p: up(1.5), s: "0.0001", tif: "Ioc" })).toEqual([
      error("Order must have minimum value of $10."),
    ]);
    await openLong("0.01");
    expect(await place({ p: down(0.9), s: "0.0001", b: false, r: true, tif: "Ioc" })).toEqual([
      error("Order must have minimum value of $10."),
    ]);
  });

  it("exempts what closes the whole position, and a reduce-only order larger than it", async () => {
    bench.sim.exchange.desk.setPosition(ALICE, "BTC", "BOTH", 5, 900_000);
    expect(await place({ p: up(1.1), s: "0.00005", b: false })).toEqual([{ resting: { oid: expect.any(Number) } }]);
    await bench.act(KEYS.alice, { type: "cancel", cancels: [{ a: 0, o: Number((await openOrders())[0]?.oid) }] });
    expect(await place({ p: down(0.95), s: "0.00009", b: false, r: true, tif: "Ioc" })).toMatchObject([
      { filled: { totalSz: "0.00005" } },
    ]);
    expect(await szi()).toBe("0.0");
  });
});

describe("reduce-only", () => {
  it("clamps an IOC to the position", async () => {
    await openLong("0.02");
    expect(await place({ p: down(0.95), s: "0.05", b: false, r: true, tif: "Ioc" })).toMatchObject([
      { filled: { totalSz: "0.02" } },
    ]);
    expect(await szi()).toBe("0.0");
    expect(await place({ p: down(0.95), s: "0.05", b: false, r: true, tif: "Ioc" })).toEqual([
      error("Reduce only order would increase position."),
    ]);
  });

  it("shows a resting one clamped, and ends it with the position", async () => {
    await openLong("0.02");
    const [resting] = await place({ p: up(1.1), s: "0.05", b: false, r: true });
    expect((await openOrders())[0]).toMatchObject({
      sz: "0.02",
      origSz: "0.05",
      reduceOnly: true,
      orderType: "Limit",
      tif: "Gtc",
    });
    await place({ p: down(0.95), s: "0.015", b: false, tif: "Ioc" });
    expect((await openOrders())[0]).toMatchObject({ sz: "0.005", origSz: "0.05" });
    await place({ p: down(0.95), s: "0.005", b: false, tif: "Ioc" });
    expect(await openOrders()).toEqual([]);
    expect(await statusOf(oidOf(resting))).toBe("reduceOnlyCanceled");
  });

  it("lets a newer resting one push out the older when together they exceed the position", async () => {
    await openLong("0.02");
    const [older] = await place({ p: up(1.1), s: "0.015", b: false, r: true });
    const [newer] = await place({ p: up(1.2), s: "0.015", b: false, r: true });
    expect((await openOrders()).map((order) => order.oid)).toEqual([oidOf(newer)]);
    expect(await statusOf(oidOf(older))).toBe("reduceOnlyCanceled");
  });

  it("never enlarges or turns a position, whatever is sent", async () => {
    const order = fc.record({
      b: fc.boolean(),
      lots: fc.integer({ min: 1, max: 4_000 }),
      tif: fc.constantFrom("Ioc", "Gtc", "Alo"),
      far: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -3_000, max: 3_000 }),
        fc.array(order, { minLength: 1, maxLength: 6 }),
        async (startLots, orders) => {
          bench.sim.exchange.desk.setPosition(ALICE, "BTC", "BOTH", startLots, 900_000);
          const items = orders.map(({ b, lots, tif, far }) => ({
            b,
            r: true,
            tif,
            s: (lots / 1e5).toFixed(5),
            p: b === far ? down(0.9) : up(1.1),
          }));
          await place(...items);
          const endLots = bench.sim.exchange.accounts.position(ALICE, "BTC", "BOTH")?.qtyLots ?? 0;
          expect(Math.abs(endLots)).toBeLessThanOrEqual(Math.abs(startLots));
          expect(endLots * startLots).toBeGreaterThanOrEqual(0);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("cancelling and modifying", () => {
  it("answers a filled, a cancelled, a foreign and an invented order with one text", async () => {
    const [resting, filled] = await place({ p: down(0.9), s: "0.01" }, { p: up(1.02), s: "0.01", tif: "Ioc" });
    const [foreign] = statuses(await bench.act(KEYS.bob, orderAction([{ p: down(0.9), s: "0.01" }])));
    const oids = [oidOf(resting), oidOf(resting), oidOf(filled), oidOf(foreign), 1];
    const reply = await bench.act(KEYS.alice, { type: "cancel", cancels: oids.map((o) => ({ a: 0, o })) });
    const gone = error("Order was never placed, already canceled, or filled.");
    expect(statuses(reply)).toEqual(["success", gone, gone, gone, gone]);
    const wrongAsset = await bench.act(KEYS.bob, { type: "cancel", cancels: [{ a: 1, o: oidOf(foreign) }] });
    expect(statuses(wrongAsset)).toEqual([error("Order was never placed, already canceled, or filled.", 1)]);
  });

  it("gives a modified order a new id, forces Gtc to post-only, and refuses one that is gone", async () => {
    const [placed] = await place({ p: down(0.9), s: "0.01" });
    const oid = oidOf(placed);
    const modify = (order: OrderFields, ref: number) =>
      bench.act(KEYS.alice, { type: "modify", oid: ref, order: orderItem(order) });
    expect(await modify({ p: down(0.85), s: "0.02" }, oid)).toEqual({ status: "ok", response: { type: "default" } });
    const [open] = await openOrders();
    expect(open).toMatchObject({ origSz: "0.02", tif: "Alo" });
    expect(open?.oid).not.toBe(oid);
    expect(await statusOf(oid)).toBe("canceled");
    expect(await modify({ p: down(0.85), s: "0.02" }, oid)).toEqual({
      status: "err",
      response: "Cannot modify canceled or filled order",
    });
    const crossing = await modify({ p: up(1.05), s: "0.02" }, Number(open?.oid));
    expect(crossing).toMatchObject({
      status: "err",
      response: expect.stringContaining("Post only order would have immediately matched"),
    });
    expect((await openOrders())[0]?.oid).toBe(open?.oid);
  });

  it("does not change the old order when its replacement is too small", async () => {
    const [placed] = await place({ p: down(0.9), s: "0.01" });
    const order = orderItem({ p: down(0.9), s: "0.0001" });
    expect(await bench.act(KEYS.alice, { type: "modify", oid: oidOf(placed), order })).toEqual({
      status: "err",
      response: "Order must have minimum value of $10. asset=0",
    });
    expect(await statusOf(oidOf(placed))).toBe("open");
  });

  it("answers a batch of modifications with one status each", async () => {
    const placed = await place({ p: down(0.9), s: "0.01" }, { p: down(0.89), s: "0.01" });
    const modifies = [
      ...placed.map((status) => ({ oid: oidOf(status), order: orderItem({ p: down(0.8), s: "0.03" }) })),
      { oid: 1, order: orderItem({ p: down(0.8), s: "0.03" }) },
    ];
    expect(statuses(await bench.act(KEYS.alice, { type: "batchModify", modifies }))).toEqual([
      { resting: { oid: expect.any(Number) } },
      { resting: { oid: expect.any(Number) } },
      { error: "Cannot modify canceled or filled order" },
    ]);
  });
});

describe("trigger orders", () => {
  const mark = () => bench.sim.exchange.market.mark("BTC").markE8 / 1e8;
  const trigger = (tpsl: string, factor: number, isMarket = true) => ({
    isMarket,
    tpsl,
    triggerPx: String(Math.round(mark() * factor)),
  });

  it("hides the trigger in openOrders, shows it in frontendOpenOrders, and refuses one already met", async () => {
    await openLong("0.01");
    const [placed] = await place({ p: down(0.9), s: "0.01", b: false, r: true, trigger: trigger("sl", 0.95) });
    expect(placed).toEqual({ resting: { oid: expect.any(Number) } });
    const [plain] = (await bench.info({ type: "openOrders", user: ALICE })) as Record<string, unknown>[];
    expect(plain).not.toHaveProperty("isTrigger");
    expect(plain).toMatchObject({ reduceOnly: true });
    expect((await openOrders())[0]).toMatchObject({
      isTrigger: true,
      orderType: "Stop Market",
      triggerCondition: expect.stringMatching(/^Price below \d+$/),
    });
    expect(await place({ p: down(0.9), s: "0.01", b: false, r: true, trigger: trigger("sl", 1.05) })).toEqual([
      error("Invalid TP/SL price."),
    ]);
    expect(await place({ p: up(1.2), s: "0.01", b: false, r: true, trigger: trigger("tp", 0.95, false) })).toEqual([
      error("Invalid TP/SL price."),
    ]);
  });

  it("fires on the mark and closes the position", async () => {
    await openLong("0.01");
    const [stop, profit] = await place(
      { p: down(0.8), s: "0.01", b: false, r: true, trigger: trigger("sl", 0.98) },
      { p: down(0.8), s: "0.01", b: false, r: true, trigger: trigger("tp", 1.02) },
    );
    expect(await statusOf(oidOf(stop))).toBe("open");
    bench.sim.exchange.controls.setPriceSkew(-400, 0);
    bench.clock.advance(60_000);
    expect(await statusOf(oidOf(stop))).toBe("filled");
    expect(await szi()).toBe("0.0");
    // What could only reduce goes with the position.
    expect(await statusOf(oidOf(profit))).toBe("reduceOnlyCanceled");
  });

  it("keeps children waiting until the parent is filled whole, and drops them with the parent", async () => {
    const children = [
      { p: up(1.3), s: "0.01", b: false, r: true, trigger: trigger("tp", 1.1) },
      { p: down(0.7), s: "0.01", b: false, r: true, trigger: trigger("sl", 0.8) },
    ];
    const entry = { p: down(0.9), s: "0.01" };
    const waiting = statuses(await bench.act(KEYS.alice, orderAction([entry, ...children], "normalTpsl")));
    expect(waiting).toEqual([{ resting: { oid: expect.any(Number) } }, "waitingForFill", "waitingForFill"]);
    const [parent, ...others] = await openOrders();
    expect(others).toEqual([]);
    expect(parent?.children).toMatchObject([{ orderType: "Take Profit Market" }, { orderType: "Stop Market" }]);
    await bench.act(KEYS.alice, { type: "cancel", cancels: [{ a: 0, o: oidOf(waiting[0]) }] });
    expect(await openOrders()).toEqual([]);

    const atOnce = statuses(
      await bench.act(KEYS.alice, orderAction([{ ...entry, p: up(1.02), tif: "Ioc" }, ...children], "normalTpsl")),
    );
    expect(atOnce).toEqual([
      { filled: expect.objectContaining({ totalSz: "0.01" }) },
      "waitingForTrigger",
      "waitingForTrigger",
    ]);
    expect((await openOrders()).map((order) => order.orderType).sort()).toEqual(["Stop Market", "Take Profit Market"]);
    await place({ p: down(0.9), s: "0.01", b: false, r: true, tif: "Ioc" });
    expect(await openOrders()).toEqual([]);
    const history = (await bench.info({ type: "historicalOrders", user: ALICE })) as { status: string }[];
    expect(history.filter((row) => row.status === "reduceOnlyCanceled")).toHaveLength(2);
  });

  it("cancels the sibling of a child that filled", async () => {
    const children = [
      { p: up(1.3), s: "0.01", b: false, r: true, trigger: trigger("tp", 1.1) },
      { p: down(0.7), s: "0.01", b: false, r: true, trigger: trigger("sl", 0.98) },
    ];
    const entry = { p: up(1.02), s: "0.01", tif: "Ioc" };
    await bench.act(KEYS.alice, orderAction([entry, ...children], "normalTpsl"));
    bench.sim.exchange.controls.setPriceSkew(-400, 0);
    bench.clock.advance(60_000);
    expect(await szi()).toBe("0.0");
    const history = (await bench.info({ type: "historicalOrders", user: ALICE })) as {
      status: string;
      order: { orderType: string };
    }[];
    expect(history.map((row) => [row.order.orderType, row.status])).toEqual([
      ["Stop Market", "filled"],
      ["Take Profit Market", "siblingFilledCanceled"],
      ["Limit", "filled"],
    ]);
  });

  it("attaches position orders of no size to the position, and insists on reduce-only", async () => {
    await openLong("0.02");
    const order = { p: down(0.7), s: "0", b: false, r: true, trigger: trigger("sl", 0.8) };
    expect(statuses(await bench.act(KEYS.alice, orderAction([order], "positionTpsl")))).toEqual(["waitingForTrigger"]);
    expect((await openOrders())[0]).toMatchObject({ isPositionTpsl: true, origSz: "0.0" });
    expect(statuses(await bench.act(KEYS.alice, orderAction([{ ...order, r: false }], "positionTpsl")))).toEqual([
      error("TP/SL orders must be reduce only."),
    ]);
  });
});

describe("what the venue writes down", () => {
  it("logs every instruction whose signature it accepted, with signer, nonce and outcome", async () => {
    const nonce = bench.nextNonce();
    await bench.act(
      KEYS.agent,
      orderAction([
        { p: up(1.02), s: "0.01", tif: "Ioc" },
        { p: down(0.9), s: "0.0001" },
      ]),
      { nonce },
    );
    await bench.act(KEYS.stranger, orderAction([{ p: up(1.02), s: "0.01", tif: "Ioc" }]));
    await bench.act(KEYS.agent, orderAction([{ p: up(1.02), s: "0.02", tif: "Ioc" }]), { nonce });
    const records = bench.sim.log.records({ action: "place" });
    expect(records).toMatchObject([
      {
        signer: addressOf(KEYS.agent),
        accountId: ALICE,
        symbol: "BTC",
        side: "BUY",
        timeInForce: "Ioc",
        reduceOnly: false,
        nonce: String(nonce),
        status: "FILLED",
        filledQty: "0.01000",
      },
      { refusal: { text: "Order must have minimum value of $10. asset=0" }, orderId: null },
      {
        qty: "0.02",
        nonce: String(nonce),
        refusal: { code: "NONCE", text: `Invalid nonce: duplicate nonce ${nonce}` },
        orderId: null,
      },
    ]);
  });

  it("keeps money whole over a random walk of trading", async () => {
    const before = bench.sim.exchange.accounts.conservedE12();
    const step = fc.record({
      b: fc.boolean(),
      lots: fc.integer({ min: 20, max: 5_000 }),
      r: fc.boolean(),
      tif: fc.constantFrom("Ioc", "Gtc"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        await place(
          ...steps.map(({ b, lots, r, tif }) => ({
            b,
            r,
            tif,
            s: (lots / 1e5).toFixed(5),
            p: b ? up(1.02) : down(0.98),
          })),
        );
        bench.clock.advance(100);
        expect(bench.sim.exchange.accounts.conservedE12()).toBe(before);
        expect(bench.sim.exchange.accounts.netLots("BTC")).toBe(0);
      }),
      { numRuns: 25 },
    );
  });
});
