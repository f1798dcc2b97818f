/** Whatever accounts do to each other and to the crowd, the venue's books stay sound: judged after every round. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenueOrder } from "../orders/orders.js";
import { ASTER, BTC, ETH, startTraders, type Trader, type TraderVenue } from "./trader.js";

const MARKETS = [BTC, ETH, ASTER] as const;

/** One transaction of one of the two traders; numbers choose among what is sensible then. */
const ACTION = fc.record({
  isOther: fc.boolean(),
  kind: fc.constantFrom("market", "limit", "cancel", "modify", "stop", "take", "cancelAll", "leverage", "pair", "wait"),
  market: fc.constantFrom(...MARKETS),
  ask: fc.boolean(),
  reduce: fc.boolean(),
  base: fc.integer({ min: 1, max: 5_000 }),
  offset: fc.integer({ min: -3_000, max: 3_000 }),
  tif: fc.constantFrom(0, 1, 2),
  client: fc.integer({ min: 0, max: 9 }),
});
type Action = typeof ACTION extends fc.Arbitrary<infer T> ? T : never;

describe("invariants of the account side", () => {
  let bench: TraderVenue;
  let conserved = 0n;
  /** Orders seen ended, and how. */
  const ended = new Map<string, string>();

  beforeAll(async () => {
    bench = await startTraders({ seed: 21 });
    conserved = bench.venue.exchange.accounts.conservedE12();
  });
  afterAll(() => bench.venue.stop());

  const perform = async (action: Action): Promise<void> => {
    const trader = action.isOther ? bench.other : bench.trader;
    const { market, ask, reduce, base, client, tif } = action;
    const far = trader.touch(ask ? "BUY" : "SELL", market);
    const price = Math.max(1, far + action.offset);
    const options = { price_protection: "false" };
    const create = (choice: object): Promise<unknown> =>
      trader.create({ market, ask, reduce, base, client, ...choice }, null, options);
    switch (action.kind) {
      case "market":
        return void (await create({ type: 1, price: ask ? Math.max(1, far - 5_000) : far + 5_000 }));
      case "limit":
        return void (await create({ tif, price }));
      case "cancel":
        return void (await trader.send(15, { MarketIndex: market, Index: Math.max(1, client) }));
      case "modify": {
        const fields = {
          MarketIndex: market,
          Index: Math.max(1, client),
          BaseAmount: base,
          Price: price,
          TriggerPrice: 0,
        };
        return void (await trader.send(17, fields));
      }
      case "stop":
        return void (await create({ type: 2, tif: 0, trigger: price, price: ask ? 1 : price * 2 }));
      case "take":
        return void (await create({ type: 5, tif: 1, trigger: price, base: reduce ? 0 : base, price }));
      case "cancelAll":
        return void (await trader.send(16, { TimeInForce: 0, Time: 0 }));
      case "leverage":
        return void (await trader.send(20, {
          MarketIndex: market,
          InitialMarginFraction: 500 + base,
          MarginMode: client % 2,
        }));
      case "pair":
        return void (await sendPair(trader, market, ask, price));
      case "wait":
        bench.clock.advance(base);
    }
  };

  const sendPair = (trader: Trader, market: number, ask: boolean, price: number): Promise<unknown> => {
    const leg = { market, ask, reduce: true, base: 500 };
    const orders = [
      trader.order({ ...leg, type: 2, tif: 0, trigger: price, price }),
      trader.order({ ...leg, type: 4, tif: 0, trigger: price, price }),
    ];
    return trader.send(28, { GroupingType: 2, Orders: orders as never }, null, { price_protection: "false" });
  };

  const judge = async (trader: Trader): Promise<void> => {
    const { exchange } = bench.venue;
    expect(exchange.accounts.conservedE12()).toBe(conserved);
    for (const symbol of ["BTC", "ETH", "ASTER"]) expect(exchange.accounts.netLots(symbol)).toBe(0);
    const accountId = String(trader.accountIndex);
    // Orders of the core and of the venue are the same ones.
    const open = exchange.orders.open(accountId).map((order) => order.tag as VenueOrder);
    const shown = await trader.activeOrders();
    expect(shown.filter((row) => row.trigger_status !== "parent-order").map((row) => row.order_id)).toEqual(
      expect.arrayContaining(open.map(({ index }) => String(index))),
    );
    expect(shown.length).toBe(open.length);
    for (const row of await trader.inactiveOrders()) {
      const id = String(row.order_id);
      expect(shown.some((each) => each.order_id === id)).toBe(false);
      expect(ended.get(id) ?? row.status).toBe(row.status);
      ended.set(id, String(row.status));
      if (Number(row.initial_base_amount) > 0)
        expect(Number(row.filled_base_amount)).toBeLessThanOrEqual(Number(row.initial_base_amount));
    }
    // Each transaction taken spent one nonce, each refused one none.
    const { json } = await trader.read(
      `nextNonce?account_index=${trader.accountIndex}&api_key_index=${trader.apiKeyIndex}`,
      null,
    );
    expect(json.nonce).toBe(trader.nonce);
  };

  it("hold after any transactions", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ACTION, { minLength: 1, maxLength: 12 }), async (actions) => {
        for (const action of actions) await perform(action);
        bench.clock.advance(500);
        await judge(bench.trader);
        await judge(bench.other);
      }),
      { numRuns: 40, endOnFailure: true },
    );
    expect(ended.size).toBeGreaterThan(40);
    // The order log and the fills agree.
    const records = bench.venue.log.records({ action: "place" });
    for (const record of records) {
      const fills = record.fills.reduce((sum, fill) => sum + Number(fill.qty), 0);
      expect(fills).toBeCloseTo(Number(record.filledQty ?? 0), 9);
    }
  });
});
