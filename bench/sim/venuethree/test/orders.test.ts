/** The outcome of orders: matching, ends, triggers, groups, changes, cancels. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ASTER, BTC, startTraders, type Trader, type TraderVenue, type WireOrder } from "./trader.js";

const MINUTE_MS = 60_000;

describe("orders of an account", () => {
  let bench: TraderVenue;
  let trader: Trader;
  beforeEach(async () => {
    bench = await startTraders();
    ({ trader } = bench);
  });
  afterEach(() => bench.venue.stop());

  const newest = async (): Promise<WireOrder | undefined> => (await trader.inactiveOrders())[0];

  it("answers at once and executes a taker after its delay", async () => {
    const before = bench.clock.wallMs();
    const { text, hash } = trader.sign(
      14,
      trader.order({ type: 1, client: 42, base: 2_000, price: trader.touch("SELL") + 5_000 }),
    );
    const { json } = await trader.post("sendTx", { tx_type: "14", tx_info: text });
    trader.nonce++;
    expect(json).toEqual({
      code: 200,
      message: '{"ratelimit": "didn\'t use volume quota"}',
      tx_hash: hash,
      predicted_execution_time_ms: before + 300,
    });
    bench.clock.advance(299);
    expect(await newest()).toBeUndefined();
    bench.clock.advance(2);
    expect(await newest()).toMatchObject({
      client_order_id: "42",
      status: "filled",
      type: "market",
      is_ask: false,
      initial_base_amount: "0.02000",
      filled_base_amount: "0.02000",
      remaining_base_amount: "0.00000",
    });
    expect(await trader.position()).toMatchObject({ sign: 1, position: "0.02000", initial_margin_fraction: "5.00" });
  });

  it("lets a cancel overtake a taker that was sent before it", async () => {
    await trader.create({ client: 7, tif: 2, price: trader.touch("BUY") - 5_000 });
    trader.settle();
    await trader.create({ type: 1, base: 100, price: trader.touch("SELL") + 1_000 });
    await trader.send(15, { MarketIndex: BTC, Index: 7 });
    bench.clock.advance(250);
    expect((await newest())?.status).toBe("canceled");
    expect(await trader.position()).toBeNull();
  });

  it("rests a limit order under its venue index and shows it in the public book", async () => {
    const price = trader.touch("BUY") - 3;
    await trader.create({ client: 9, base: 5_000, price });
    trader.settle(350);
    const [order] = await trader.activeOrders();
    expect(order).toMatchObject({ status: "open", client_order_index: 9, trigger_status: "na", reduce_only: false });
    const { order_id: id } = order as { order_id: string };
    expect(BigInt(id) >> 48n).toBe(2n);
    const book = await trader.read("orderBookOrders?market_id=1&limit=250", null);
    const own = (book.json.bids as WireOrder[]).find((row) => row.order_id === id);
    expect(own).toMatchObject({ owner_account_index: 65, remaining_base_amount: "0.05000" });
  });

  it("gives orders of late markets indexes beyond 2^53 and finds them again by those", async () => {
    await trader.create({ market: ASTER, client: 1, base: 1_000, price: trader.touch("BUY", ASTER) - 500 });
    trader.settle();
    const [order] = await trader.activeOrders();
    const index = BigInt(String(order?.order_id));
    expect(index > 2n ** 53n).toBe(true);
    const sent = await trader.send(15, { MarketIndex: ASTER, Index: index });
    trader.settle();
    expect(await trader.applicationError(sent.json.tx_hash)).toBeNull();
    expect((await newest())?.order_id).toBe(String(index));
  });

  it.each([
    ["a post-only order that would take", { tif: 2, price: "cross" }, "canceled-post-only"],
    ["a market order beyond its worst price", { type: 1, base: 1_000, price: "far" }, "canceled-too-much-slippage"],
    ["an immediate limit order without a match", { tif: 0, price: "far" }, "canceled"],
    [
      "a taker that the account cannot pay",
      { type: 1, base: 90_000_000, price: "cross" },
      "canceled-margin-not-allowed",
    ],
  ])("ends %s with its own status", async (_what, choice, status) => {
    const ask = trader.touch("SELL");
    const price = choice.price === "cross" ? ask + 50_000 : ask - 5_000;
    await trader.create({ ...choice, price });
    trader.settle();
    expect(await newest()).toMatchObject({ status, filled_base_amount: "0.00000" });
    expect(await trader.activeOrders()).toEqual([]);
  });

  it("refuses a maker that the account cannot pay at the door and keeps the nonce", async () => {
    const refused = await trader.create({ tif: 2, base: 90_000_000, price: trader.touch("BUY") - 10 });
    expect(refused).toMatchObject({ status: 400, json: { code: 21739 } });
    const { json } = await trader.read("nextNonce?account_index=65&api_key_index=5", null);
    expect(json.nonce).toBe(1);
  });

  it("ends an order at its expiry", async () => {
    await trader.create({ tif: 2, price: trader.touch("BUY") - 9_000, expiry: bench.clock.wallMs() + 6 * MINUTE_MS });
    trader.settle();
    bench.clock.advance(6 * MINUTE_MS);
    expect((await newest())?.status).toBe("canceled-expired");
  });

  it("takes a client index once while its order lives, and again afterwards", async () => {
    const resting = { client: 5, tif: 2, price: trader.touch("BUY") - 9_000 };
    await trader.create(resting);
    trader.settle();
    const second = await trader.create({ ...resting, market: ASTER, price: trader.touch("BUY", ASTER) - 900 });
    expect(second.status).toBe(200);
    trader.settle();
    expect(await trader.applicationError(second.json.tx_hash)).toBe(21728);
    await trader.send(15, { MarketIndex: BTC, Index: 5 });
    trader.settle();
    const third = await trader.create(resting);
    trader.settle();
    expect(await trader.applicationError(third.json.tx_hash)).toBeNull();
    bench.venue.room.setQuirks({ clientIndexUsedOnce: true });
    await trader.send(15, { MarketIndex: BTC, Index: 5 });
    trader.settle();
    const fourth = await trader.create(resting);
    trader.settle();
    expect(await trader.applicationError(fourth.json.tx_hash)).toBe(21728);
  });

  it("never turns a position: reduce-only is cut to it, and refused without one", async () => {
    const none = await trader.create({ type: 1, ask: true, reduce: true, price: trader.touch("BUY") - 5_000 });
    trader.settle();
    expect(await trader.applicationError(none.json.tx_hash)).toBe(21740);
    await trader.create({ type: 1, base: 300, price: trader.touch("SELL") + 5_000 });
    trader.settle();
    const wrongWay = await trader.create({ type: 1, reduce: true, price: trader.touch("SELL") + 5_000 });
    await trader.create({ type: 1, ask: true, reduce: true, base: 5_000, price: trader.touch("BUY") - 5_000 });
    trader.settle();
    expect(await trader.applicationError(wrongWay.json.tx_hash)).toBe(21732);
    expect(await trader.position()).toMatchObject({ position: "0.00000", sign: 1 });
    expect(await newest()).toMatchObject({ filled_base_amount: "0.00300", reduce_only: true });
  });

  it("closes the whole position with a base amount of zero", async () => {
    await trader.create({ type: 1, base: 700, price: trader.touch("SELL") + 5_000 });
    trader.settle();
    await trader.create({ type: 1, ask: true, reduce: true, base: 0, price: trader.touch("BUY") - 5_000 });
    trader.settle();
    expect(await trader.position()).toMatchObject({ position: "0.00000" });
    expect(await newest()).toMatchObject({ filled_base_amount: "0.00700" });
  });

  it("cancels the older of two own orders that meet", async () => {
    // Inside the spread, so that nobody else is ahead of it.
    bench.venue.exchange.stop();
    const price = trader.touch("SELL") - 1;
    await trader.create({ client: 1, tif: 2, ask: true, price });
    trader.settle();
    await trader.create({ type: 1, base: 500, price: price + 5_000 });
    trader.settle();
    const ended = await trader.inactiveOrders();
    expect(ended.find((row) => row.client_order_id === "1")?.status).toBe("canceled-self-trade");
  });

  describe("triggers", () => {
    beforeEach(async () => {
      await trader.create({ type: 1, base: 1_000, price: trader.touch("SELL") + 5_000 });
      trader.settle();
    });

    it("wait as pending and fire at the mark", async () => {
      const trigger = trader.touch("BUY") - 3_000;
      await trader.create({ client: 3, type: 2, tif: 0, ask: true, reduce: true, trigger, price: trigger - 20_000 });
      trader.settle();
      expect((await trader.activeOrders())[0]).toMatchObject({
        type: "stop-loss",
        status: "pending",
        trigger_status: "mark-price",
      });
      bench.venue.exchange.controls.setPriceSkew(-100, 0);
      bench.clock.advance(2_000);
      expect(await newest()).toMatchObject({ client_order_id: "3", status: "filled", trigger_status: "ready" });
      expect(await trader.position()).toMatchObject({ position: "0.00000" });
    });

    it("tied to a position go with it", async () => {
      const trigger = trader.touch("BUY") - 30_000;
      await trader.create({ type: 2, tif: 0, ask: true, reduce: true, base: 0, trigger, price: trigger - 100 });
      trader.settle();
      expect(await trader.position()).toMatchObject({ position_tied_order_count: 1, pending_order_count: 1 });
      await trader.create({ type: 1, ask: true, reduce: true, base: 0, price: trader.touch("BUY") - 5_000 });
      trader.settle();
      expect(await trader.activeOrders()).toEqual([]);
      const ended = await trader.inactiveOrders();
      expect(ended.find((row) => row.type === "stop-loss")?.status).toBe("canceled-reduce-only");
    });

    it("in pairs cancel each other", async () => {
      const stop = trader.touch("BUY") - 30_000;
      const take = trader.touch("SELL") + 3_000;
      const both = { ask: true, reduce: true, base: 1_000 };
      const orders = [
        trader.order({ ...both, type: 2, tif: 0, trigger: stop, price: stop - 100 }),
        trader.order({ ...both, type: 4, tif: 0, trigger: take, price: take - 30_000 }),
      ];
      await trader.send(28, { GroupingType: 2, Orders: orders as never });
      trader.settle();
      const [first, second] = await trader.activeOrders();
      expect(first?.to_cancel_order_id_0).toBe(second?.order_id);
      bench.venue.exchange.controls.setPriceSkew(100, 0);
      bench.clock.advance(2_000);
      const ended = await trader.inactiveOrders();
      expect(ended.find((row) => row.type === "take-profit")?.status).toBe("filled");
      expect(ended.find((row) => row.type === "stop-loss")?.status).toBe("canceled-oco");
    });

    it("are modified in place, under the same index", async () => {
      const trigger = trader.touch("BUY") - 30_000;
      await trader.create({ client: 8, type: 2, tif: 0, ask: true, reduce: true, trigger, price: trigger - 100 });
      trader.settle();
      const [before] = await trader.activeOrders();
      await trader.send(17, {
        MarketIndex: BTC,
        Index: 8,
        BaseAmount: 400,
        Price: trigger - 300,
        TriggerPrice: trigger - 100,
      });
      trader.settle();
      const [after] = await trader.activeOrders();
      expect(after).toMatchObject({
        order_id: before?.order_id,
        client_order_id: "8",
        initial_base_amount: "0.00400",
        status: "pending",
      });
      expect(await trader.inactiveOrders()).toHaveLength(1);
    });
  });

  it("starts the children of a filled parent and ends those of a canceled one", async () => {
    const price = trader.touch("SELL") + 5_000;
    const stop = trader.touch("BUY") - 30_000;
    const take = trader.touch("SELL") + 30_000;
    const child = { ask: true, reduce: true, base: 0 };
    const children = [
      trader.order({ ...child, type: 2, tif: 0, trigger: stop, price: stop - 100 }),
      trader.order({ ...child, type: 4, tif: 0, trigger: take, price: take - 100 }),
    ];
    const group = (parent: object): { GroupingType: number; Orders: never } => ({
      GroupingType: 3,
      Orders: [parent, ...children] as never,
    });
    await trader.send(28, group(trader.order({ type: 1, base: 1_000, price })));
    trader.settle();
    expect((await trader.activeOrders()).map((row) => [row.status, row.trigger_status])).toEqual([
      ["pending", "mark-price"],
      ["pending", "mark-price"],
    ]);
    await trader.send(16, { TimeInForce: 0, Time: 0 });
    trader.settle();
    const resting = trader.order({ tif: 1, client: 11, base: 1_000, price: trader.touch("BUY") - 50_000 });
    const same = children.map((order) => ({ ...order, OrderExpiry: resting.OrderExpiry }));
    await trader.send(28, { GroupingType: 3, Orders: [resting, ...same] as never });
    trader.settle();
    const waiting = (await trader.activeOrders()).filter((row) => row.trigger_status === "parent-order");
    expect(waiting).toHaveLength(2);
    await trader.send(15, { MarketIndex: BTC, Index: 11 });
    trader.settle();
    const statuses = (await trader.inactiveOrders()).slice(0, 3).map((row) => row.status);
    expect(statuses.sort()).toEqual(["canceled", "canceled-child", "canceled-child"]);
  });

  it("modifies price and size of a resting order", async () => {
    const price = trader.touch("BUY") - 9_000;
    await trader.create({ client: 4, tif: 2, base: 1_000, price });
    trader.settle();
    await trader.send(17, { MarketIndex: BTC, Index: 4, BaseAmount: 600, Price: price + 10, TriggerPrice: 0 });
    trader.settle();
    const [order] = await trader.activeOrders();
    expect(order).toMatchObject({ initial_base_amount: "0.00600", base_price: price + 10, status: "open" });
    const lost = await trader.send(17, { MarketIndex: BTC, Index: 99, BaseAmount: 1, Price: price, TriggerPrice: 0 });
    trader.settle();
    expect(await trader.applicationError(lost.json.tx_hash)).toBe(21700);
  });

  it("says why a cancel found nothing", async () => {
    await trader.create({ client: 4, tif: 2, price: trader.touch("BUY") - 9_000 });
    trader.settle();
    const [order] = await trader.activeOrders();
    const strange = await bench.other.send(15, { MarketIndex: BTC, Index: BigInt(String(order?.order_id)) });
    await trader.send(15, { MarketIndex: BTC, Index: 4 });
    trader.settle();
    const again = await trader.send(15, { MarketIndex: BTC, Index: 4 });
    const unknown = await trader.send(15, { MarketIndex: BTC, Index: 5 });
    trader.settle();
    expect(await trader.applicationError(strange.json.tx_hash)).toBe(21707);
    expect(await trader.applicationError(again.json.tx_hash)).toBe(21715);
    expect(await trader.applicationError(unknown.json.tx_hash)).toBe(21700);
  });

  describe("cancel all", () => {
    beforeEach(async () => {
      await trader.create({ tif: 2, price: trader.touch("BUY") - 9_000 });
      await trader.create({ market: ASTER, base: 1_000, tif: 2, price: trader.touch("BUY", ASTER) - 900 });
      trader.settle();
    });

    it("now, and in one market only when asked to", async () => {
      await trader.send(16, { TimeInForce: 0, Time: 0 }, new Map([[5, ASTER]]));
      trader.settle();
      expect((await trader.activeOrders()).map((row) => row.market_index)).toEqual([BTC]);
      await trader.send(16, { TimeInForce: 0, Time: 0 });
      trader.settle();
      expect(await trader.activeOrders()).toEqual([]);
    });

    it("at a scheduled time, which a later call moves and an abort takes back", async () => {
      const now = bench.clock.wallMs();
      await trader.send(16, { TimeInForce: 1, Time: now + 6 * MINUTE_MS });
      trader.settle();
      await trader.send(16, { TimeInForce: 1, Time: now + 10 * MINUTE_MS });
      trader.settle();
      bench.clock.advance(7 * MINUTE_MS);
      expect(await trader.activeOrders()).toHaveLength(2);
      await trader.send(16, { TimeInForce: 2, Time: 0 });
      trader.settle();
      bench.clock.advance(4 * MINUTE_MS);
      expect(await trader.activeOrders()).toHaveLength(2);
      await trader.send(16, { TimeInForce: 1, Time: bench.clock.wallMs() + 6 * MINUTE_MS });
      bench.clock.advance(6 * MINUTE_MS);
      expect(await trader.activeOrders()).toEqual([]);
    });

    it("refuses a time too near or too far", async () => {
      const now = bench.clock.wallMs();
      for (const ahead of [MINUTE_MS, 16 * 1_440 * MINUTE_MS]) {
        const refused = await trader.send(16, { TimeInForce: 1, Time: now + ahead });
        expect(refused).toMatchObject({ status: 400, json: { code: 21714 } });
      }
    });
  });

  it("sets leverage and margin mode, and refuses what the market or a position forbids", async () => {
    const leverage = (fraction: number, mode: number): Promise<{ json: Readonly<Record<string, unknown>> }> =>
      trader.send(20, { MarketIndex: BTC, InitialMarginFraction: fraction, MarginMode: mode });
    await leverage(1_000, 1);
    trader.settle();
    expect(await trader.position()).toMatchObject({ initial_margin_fraction: "10.00", margin_mode: 1 });
    const tooHigh = await leverage(100, 1);
    trader.settle();
    expect(await trader.applicationError(tooHigh.json.tx_hash)).toBe(21113);
    await trader.create({ type: 1, base: 1_000, price: trader.touch("SELL") + 5_000 });
    trader.settle();
    const inUse = await leverage(1_000, 0);
    trader.settle();
    expect(await trader.applicationError(inUse.json.tx_hash)).toBe(21132);
    const before = await trader.position();
    await trader.send(29, { MarketIndex: BTC, USDCAmount: 5_000_000, Direction: 1 });
    trader.settle();
    const after = await trader.position();
    expect(Number(after?.allocated_margin) - Number(before?.allocated_margin)).toBeCloseTo(5, 5);
  });

  it("liquidates what falls below its maintenance margin, and publishes it", async () => {
    await trader.send(20, { MarketIndex: BTC, InitialMarginFraction: 200, MarginMode: 1 });
    trader.settle();
    await trader.create({ type: 1, base: 1_000, price: trader.touch("SELL") + 5_000 });
    trader.settle();
    bench.venue.exchange.controls.setPriceSkew(-300, 0);
    bench.clock.advance(3_000);
    expect(await trader.position()).toMatchObject({ position: "0.00000" });
    expect(await newest()).toMatchObject({ type: "liquidation", status: "filled" });
  });
});
