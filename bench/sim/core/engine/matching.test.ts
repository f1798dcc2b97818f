import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { moneyText } from "../model/fixed.js";
import { BTC, CLAMPING, limit, market, REJECTING, testExchange } from "../test/support.js";
import type { SimExchange } from "./exchange.js";
import type { OrderEntry } from "./order-entry.js";
import type { SimFill, SimOrder, SimOrderRequest, SimPolicies } from "../model/types.js";

function twoUsers(policies: SimPolicies = REJECTING): SimExchange {
  const { exchange } = testExchange({ policies });
  exchange.desk.createAccount({ accountId: "a", deposit: "1000000" });
  exchange.desk.createAccount({ accountId: "b", deposit: "1000000" });
  exchange.controls.setHouseLevel("BTCUSDT", "BUY", 899_000, 1000);
  exchange.controls.setHouseLevel("BTCUSDT", "SELL", 1_101_000, 1000);
  return exchange;
}

function placed(result: ReturnType<OrderEntry["place"]>): SimOrder {
  if (!result.ok) throw new Error(`refused: ${result.reason}`);
  return result.value;
}

describe("matching", () => {
  it("fills the older order of a level first, and better levels before worse ones", () => {
    const exchange = twoUsers();
    exchange.desk.createAccount({ accountId: "c", deposit: "1000000" });
    const worse = placed(exchange.orders.place("a", limit("SELL", 1_000_200, 5)));
    const first = placed(exchange.orders.place("a", limit("SELL", 1_000_100, 5)));
    const second = placed(exchange.orders.place("b", limit("SELL", 1_000_100, 5)));
    const taker = placed(exchange.orders.place("c", limit("BUY", 1_000_200, 12)));
    expect([first.filledLots, second.filledLots, worse.filledLots]).toEqual([5, 5, 2]);
    expect(taker.fills.map((fill) => [fill.priceTicks, fill.qtyLots, fill.maker])).toEqual([
      [1_000_100, 5, false],
      [1_000_100, 5, false],
      [1_000_200, 2, false],
    ]);
    expect(taker.status).toBe("FILLED");
    expect(worse.status).toBe("PARTIALLY_FILLED");
  });

  it("charges taker and maker fees to the last digit and realizes profit at the close", () => {
    const exchange = twoUsers();
    placed(exchange.orders.place("a", limit("SELL", 1_000_000, 10)));
    const buy = placed(exchange.orders.place("b", market("BUY", 10)));
    // 0.010 × 100000.0 = 1000; taker 3.5 bps = 0.35, maker 1 bps = 0.1.
    expect(moneyText(buy.feeE12, 8)).toBe("0.35000000");
    expect(moneyText(exchange.accounts.margin("b").walletE12, 8)).toBe("999999.65000000");
    expect(moneyText(exchange.accounts.margin("a").walletE12, 8)).toBe("999999.90000000");
    placed(exchange.orders.place("a", limit("BUY", 1_001_000, 4)));
    const close = placed(exchange.orders.place("b", market("SELL", 4, { reduceOnly: true })));
    expect(
      close.fills.map((fill) => [fill.positionBeforeLots, fill.positionAfterLots, moneyText(fill.realizedE12, 4)]),
    ).toEqual([[10, 6, "0.4000"]]);
    expect(exchange.accounts.position("b", "BTCUSDT", "BOTH")).toMatchObject({
      qtyLots: 6,
      costE12: 600n * 10n ** 12n,
    });
  });

  it("lets a FOK fill whole or not at all, an IOC in part, and expires the rest", () => {
    const exchange = twoUsers();
    placed(exchange.orders.place("a", limit("SELL", 1_000_000, 10)));
    const fok = placed(exchange.orders.place("b", limit("BUY", 1_000_000, 11, { timeInForce: "FOK" })));
    expect([fok.status, fok.filledLots, fok.endReason]).toEqual(["EXPIRED", 0, "FOK"]);
    const ioc = placed(exchange.orders.place("b", limit("BUY", 1_000_000, 11, { timeInForce: "IOC" })));
    expect([ioc.status, ioc.filledLots, ioc.endReason]).toEqual(["EXPIRED", 10, "IOC"]);
  });

  it("treats a crossing post-only, an empty IOC and an unfillable FOK as the venue's policy says", () => {
    const clamping = twoUsers(CLAMPING);
    placed(clamping.orders.place("a", limit("SELL", 1_000_000, 10)));
    expect(clamping.orders.place("b", limit("BUY", 1_000_000, 1, { timeInForce: "POST_ONLY" }))).toEqual({
      ok: false,
      reason: "POST_ONLY",
    });
    expect(clamping.orders.place("b", limit("BUY", 999_999, 1, { timeInForce: "IOC" }))).toEqual({
      ok: false,
      reason: "NO_LIQUIDITY",
    });
    expect(clamping.orders.place("b", limit("BUY", 1_000_000, 11, { timeInForce: "FOK" }))).toEqual({
      ok: false,
      reason: "FOK",
    });
    const rejecting = twoUsers();
    placed(rejecting.orders.place("a", limit("SELL", 1_000_000, 10)));
    expect(placed(rejecting.orders.place("b", limit("BUY", 1_000_000, 1, { timeInForce: "POST_ONLY" })))).toMatchObject(
      {
        status: "EXPIRED",
        filledLots: 0,
      },
    );
  });

  it("clamps or refuses a reduce-only order larger than the position, and refuses one without position", () => {
    for (const policies of [CLAMPING, REJECTING]) {
      const exchange = twoUsers(policies);
      exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 8, 1_000_000);
      expect(exchange.orders.place("b", market("SELL", 1, { reduceOnly: true }))).toEqual({
        ok: false,
        reason: "REDUCE_ONLY",
      });
      expect(exchange.orders.place("a", market("BUY", 1, { reduceOnly: true }))).toEqual({
        ok: false,
        reason: "REDUCE_ONLY",
      });
      const excess = exchange.orders.place("a", market("SELL", 9, { reduceOnly: true }));
      if (policies === REJECTING) expect(excess).toEqual({ ok: false, reason: "REDUCE_ONLY" });
      else {
        expect(placed(excess)).toMatchObject({ status: "FILLED", filledLots: 8, requestedLots: 9 });
        expect(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.qtyLots).toBe(0);
      }
    }
  });

  it("shrinks a resting reduce-only order at the moment it would flip, and ends it when the position is gone", () => {
    const exchange = twoUsers(CLAMPING);
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 10, 1_000_000);
    const resting = placed(exchange.orders.place("a", limit("SELL", 1_000_500, 10, { reduceOnly: true })));
    placed(exchange.orders.place("a", market("SELL", 7, { reduceOnly: true })));
    placed(exchange.orders.place("b", limit("BUY", 1_000_500, 10)));
    expect(resting).toMatchObject({ filledLots: 3, qtyLots: 3, status: "FILLED" });
    expect(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.qtyLots).toBe(0);
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 5, 1_000_000);
    const orphan = placed(exchange.orders.place("a", limit("SELL", 1_001_000, 5, { reduceOnly: true })));
    placed(exchange.orders.place("a", market("SELL", 5, { reduceOnly: true })));
    expect(orphan).toMatchObject({ status: "CANCELED", endReason: "REDUCE_ONLY", filledLots: 0 });
  });

  it("keeps hedge-mode sides apart and never turns one", () => {
    const exchange = twoUsers();
    expect(exchange.desk.setHedgeMode("a", true).ok).toBe(true);
    expect(exchange.orders.place("a", market("BUY", 1))).toEqual({ ok: false, reason: "POSITION_SIDE" });
    placed(exchange.orders.place("b", limit("SELL", 1_000_000, 50)));
    placed(exchange.orders.place("b", limit("BUY", 999_000, 50)));
    placed(exchange.orders.place("a", market("BUY", 5, { positionSide: "LONG" })));
    placed(exchange.orders.place("a", market("SELL", 3, { positionSide: "SHORT" })));
    expect(exchange.accounts.position("a", "BTCUSDT", "LONG")?.qtyLots).toBe(5);
    expect(exchange.accounts.position("a", "BTCUSDT", "SHORT")?.qtyLots).toBe(-3);
    expect(exchange.orders.place("a", market("SELL", 6, { positionSide: "LONG" }))).toEqual({
      ok: false,
      reason: "REDUCE_ONLY",
    });
    placed(exchange.orders.place("a", market("SELL", 5, { positionSide: "LONG" })));
    expect(exchange.accounts.position("a", "BTCUSDT", "LONG")?.qtyLots).toBe(0);
  });

  it("cancels the own resting order instead of trading with itself where the venue prevents it", () => {
    const exchange = twoUsers(CLAMPING);
    const resting = placed(exchange.orders.place("a", limit("SELL", 1_000_000, 5)));
    const other = placed(exchange.orders.place("b", limit("SELL", 1_000_000, 5)));
    const taker = placed(exchange.orders.place("a", limit("BUY", 1_000_000, 5)));
    expect(resting).toMatchObject({ status: "CANCELED", endReason: "SELF_TRADE", filledLots: 0 });
    expect(other.status).toBe("FILLED");
    expect(taker.status).toBe("FILLED");
  });

  it("keeps priority for a smaller quantity at the same price and loses it otherwise", () => {
    const exchange = twoUsers();
    const first = placed(exchange.orders.place("a", limit("SELL", 1_000_000, 10)));
    const second = placed(exchange.orders.place("b", limit("SELL", 1_000_000, 10)));
    expect(exchange.orders.amend("a", first.orderId, 6, 1_000_000).ok).toBe(true);
    placed(exchange.orders.place("b", limit("BUY", 1_000_000, 3)));
    expect([first.filledLots, second.filledLots]).toEqual([3, 0]);
    expect(exchange.orders.amend("a", first.orderId, 20, 1_000_000).ok).toBe(true);
    placed(exchange.orders.place("b", limit("BUY", 1_000_000, 2)));
    expect([first.filledLots, second.filledLots]).toEqual([3, 2]);
  });

  it("fires stops and take-profits by the last price, stop limits as limits, trailing stops from the extreme", () => {
    const exchange = twoUsers();
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 20, 1_000_000);
    const tradeAt = (priceTicks: number): void => {
      placed(exchange.orders.place("b", limit("SELL", priceTicks, 1)));
      placed(exchange.orders.place("b", limit("BUY", priceTicks, 1)));
    };
    tradeAt(1_000_000);
    const base = { source: "LAST", activationTicks: null, callbackPpm: 0 } as const;
    const stop = placed(
      exchange.orders.place(
        "a",
        market("SELL", 4, { reduceOnly: true, trigger: { kind: "STOP", triggerTicks: 990_000, ...base } }),
      ),
    );
    const gain = placed(
      exchange.orders.place(
        "a",
        limit("SELL", 1_012_000, 4, {
          reduceOnly: true,
          trigger: { kind: "TAKE_PROFIT", triggerTicks: 1_010_000, ...base },
        }),
      ),
    );
    const trailing = placed(
      exchange.orders.place(
        "a",
        market("SELL", 4, {
          reduceOnly: true,
          trigger: { ...base, kind: "TRAILING", triggerTicks: 0, callbackPpm: 10_000 },
        }),
      ),
    );
    expect(
      exchange.orders.place("a", market("SELL", 1, { trigger: { kind: "STOP", triggerTicks: 1_000_001, ...base } })),
    ).toEqual({ ok: false, reason: "WOULD_TRIGGER" });
    expect([stop.triggered, gain.triggered, trailing.triggered]).toEqual([false, false, false]);
    tradeAt(1_010_000);
    expect(gain).toMatchObject({ triggered: true, status: "NEW" });
    expect(trailing.triggered).toBe(false);
    tradeAt(999_900);
    expect(trailing).toMatchObject({ triggered: true, status: "FILLED" });
    tradeAt(990_000);
    expect(stop).toMatchObject({ triggered: true, status: "FILLED", filledLots: 4 });
  });

  it("closes the whole position when a close-all stop fires, and expires one that finds nothing", () => {
    const exchange = twoUsers();
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 20, 1_000_000);
    placed(exchange.orders.place("b", limit("SELL", 1_000_000, 1)));
    placed(exchange.orders.place("b", limit("BUY", 1_000_000, 1)));
    const trigger = {
      kind: "STOP",
      triggerTicks: 899_500,
      source: "LAST",
      activationTicks: null,
      callbackPpm: 0,
    } as const;
    const closeAll = placed(exchange.orders.place("a", market("SELL", 0, { closePosition: true, trigger })));
    placed(exchange.orders.place("b", market("SELL", 1)));
    expect(closeAll).toMatchObject({ status: "FILLED", filledLots: 20 });
    expect(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.qtyLots).toBe(0);
  });

  it("refuses what the free margin cannot carry and lets a closing order through", () => {
    const exchange = twoUsers();
    exchange.desk.createAccount({ accountId: "poor", deposit: "100" });
    exchange.desk.setPosition("b", "BTCUSDT", "BOTH", 0, 1_000_000);
    placed(exchange.orders.place("b", limit("SELL", 1_000_000, 100)));
    expect(exchange.orders.place("poor", market("BUY", 30))).toEqual({ ok: false, reason: "MARGIN" });
    placed(exchange.orders.place("poor", market("BUY", 15)));
    expect(exchange.orders.place("poor", limit("BUY", 1_000_000, 15))).toEqual({ ok: false, reason: "MARGIN" });
    placed(exchange.orders.place("poor", limit("SELL", 1_100_000, 15)));
  });
});

/* ------------------------------------------------------------------ properties */

type Step =
  | { readonly kind: "place"; readonly user: number; readonly request: SimOrderRequest }
  | { readonly kind: "cancel"; readonly user: number; readonly pick: number }
  | {
      readonly kind: "amend";
      readonly user: number;
      readonly pick: number;
      readonly qtyLots: number;
      readonly priceTicks: number;
    }
  | { readonly kind: "house"; readonly side: "BUY" | "SELL"; readonly offset: number; readonly qtyLots: number };

const USERS = ["u0", "u1", "u2"];
const side = fc.constantFrom("BUY" as const, "SELL" as const);
const price = fc.integer({ min: 999_950, max: 1_000_050 });
const qty = fc.integer({ min: 1, max: 40 });

const request: fc.Arbitrary<SimOrderRequest> = fc
  .record({
    side,
    price,
    qty,
    reduceOnly: fc.boolean(),
    isMarket: fc.boolean(),
    timeInForce: fc.constantFrom("GTC" as const, "GTC" as const, "IOC" as const, "FOK" as const, "POST_ONLY" as const),
  })
  .map((draw) =>
    limit(
      draw.side,
      draw.price,
      draw.qty,
      draw.isMarket
        ? { type: "MARKET", priceTicks: null, timeInForce: "IOC", reduceOnly: draw.reduceOnly }
        : { timeInForce: draw.timeInForce, reduceOnly: draw.reduceOnly },
    ),
  );

const user = fc.nat({ max: USERS.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("place" as const), user, request }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel" as const), user, pick: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("amend" as const),
      user,
      pick: fc.nat(),
      qtyLots: qty,
      priceTicks: price,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("house" as const),
      side,
      offset: fc.integer({ min: 1, max: 60 }),
      qtyLots: fc.integer({ min: 0, max: 50 }),
    }),
  },
);

function apply(exchange: SimExchange, action: Step): void {
  if (action.kind === "place") exchange.orders.place(USERS[action.user] ?? "", action.request);
  else if (action.kind === "house")
    exchange.controls.setHouseLevel(
      "BTCUSDT",
      action.side,
      1_000_000 + (action.side === "BUY" ? -action.offset : action.offset),
      action.qtyLots,
    );
  else {
    const open = exchange.orders.open(USERS[action.user] ?? "");
    const order = open[action.pick % Math.max(1, open.length)];
    if (order === undefined) return;
    if (action.kind === "cancel") exchange.orders.cancel(order.accountId, order.orderId);
    else exchange.orders.amend(order.accountId, order.orderId, action.qtyLots, action.priceTicks);
  }
}

describe.each([
  ["rejecting venue", REJECTING],
  ["clamping venue", CLAMPING],
])("properties of the %s", (_name, policies) => {
  it("conserves money and positions, never crosses, never over-fills, never flips by reduce-only", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 120 }), (steps) => {
        const { exchange } = testExchange({ policies });
        for (const accountId of USERS) exchange.desk.createAccount({ accountId, deposit: "1000000" });
        const conserved = exchange.accounts.conservedE12();
        const fills: SimFill[] = [];
        const ends = new Map<number, number>();
        // An amendment may lower the quantity below what was filled before it.
        const largest = new Map<number, number>();
        exchange.addListener({
          onOrder: (order, event, fill) => {
            if (fill !== null) fills.push(fill);
            largest.set(order.orderId, Math.max(largest.get(order.orderId) ?? 0, order.requestedLots));
            if (event === "CANCELED" || event === "EXPIRED" || order.status === "FILLED")
              ends.set(order.orderId, (ends.get(order.orderId) ?? 0) + 1);
          },
        });
        for (const action of steps) {
          apply(exchange, action);
          const bid = exchange.market.bestBid("BTCUSDT");
          const ask = exchange.market.bestAsk("BTCUSDT");
          if (bid !== null && ask !== null) expect(bid.priceTicks).toBeLessThan(ask.priceTicks);
          expect(exchange.accounts.conservedE12()).toBe(conserved);
          expect(exchange.accounts.netLots("BTCUSDT")).toBe(0);
        }
        for (const accountId of USERS) {
          for (const order of exchange.orders.all(accountId)) {
            expect(order.filledLots).toBeLessThanOrEqual(largest.get(order.orderId) ?? 0);
            expect(order.fills.reduce((sum, fill) => sum + fill.qtyLots, 0)).toBe(order.filledLots);
            expect(ends.get(order.orderId) ?? 0).toBeLessThanOrEqual(1);
          }
        }
        for (const fill of fills) {
          if (exchange.orders.find(fill.orderId)?.reduceOnly !== true) continue;
          expect(Math.abs(fill.positionAfterLots)).toBeLessThan(Math.abs(fill.positionBeforeLots));
          expect(fill.positionAfterLots * fill.positionBeforeLots).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 150 },
    );
  });
});

/** The slowest possible book: one list, scanned for each fill. */
class NaiveBook {
  readonly rows: { side: "BUY" | "SELL"; price: number; lots: number; arrival: number; owner: string }[] = [];
  readonly trades: [number, number, string][] = [];
  #arrival = 0;

  place(owner: string, takerSide: "BUY" | "SELL", limitPrice: number | null, lots: number, rests: boolean): void {
    let left = lots;
    while (left > 0) {
      const makers = this.rows.filter(
        (row) =>
          row.side !== takerSide &&
          (limitPrice === null || (takerSide === "BUY" ? row.price <= limitPrice : row.price >= limitPrice)),
      );
      makers.sort(
        (one, two) =>
          (takerSide === "BUY" ? one.price - two.price : two.price - one.price) || one.arrival - two.arrival,
      );
      const maker = makers[0];
      if (maker === undefined) break;
      const traded = Math.min(left, maker.lots);
      this.trades.push([maker.price, traded, maker.owner]);
      maker.lots -= traded;
      left -= traded;
      if (maker.lots === 0) this.rows.splice(this.rows.indexOf(maker), 1);
    }
    if (left > 0 && rests && limitPrice !== null)
      this.rows.push({ side: takerSide, price: limitPrice, lots: left, arrival: this.#arrival++, owner });
  }

  levels(ofSide: "BUY" | "SELL"): [number, number][] {
    const totals = new Map<number, number>();
    for (const row of this.rows)
      if (row.side === ofSide) totals.set(row.price, (totals.get(row.price) ?? 0) + row.lots);
    return [...totals].sort((one, two) => (ofSide === "BUY" ? two[0] - one[0] : one[0] - two[0]));
  }
}

describe("price-time priority", () => {
  const order = fc.record({
    user,
    side,
    price,
    qty,
    kind: fc.constantFrom("GTC" as const, "IOC" as const, "MARKET" as const),
  });

  it("trades and rests exactly as the naive book, after any sequence; the history undoes to each state", () => {
    fc.assert(
      fc.property(fc.array(order, { minLength: 1, maxLength: 80 }), (orders) => {
        const { exchange } = testExchange({ seqJumpMax: 50 });
        for (const accountId of USERS) exchange.desk.createAccount({ accountId, deposit: "100000000" });
        const naive = new NaiveBook();
        const trades: [number, number, string][] = [];
        exchange.addListener({
          onTrade: (trade) =>
            trades.push([
              trade.priceTicks,
              trade.qtyLots,
              (trade.takerSide === "BUY" ? trade.sellerAccountId : trade.buyerAccountId) ?? "",
            ]),
        });
        const states: { seq: number; bids: [number, number][]; asks: [number, number][] }[] = [];
        for (const draw of orders) {
          const owner = USERS[draw.user] ?? "";
          placed(
            exchange.orders.place(
              owner,
              draw.kind === "MARKET"
                ? market(draw.side, draw.qty)
                : limit(draw.side, draw.price, draw.qty, { timeInForce: draw.kind }),
            ),
          );
          naive.place(owner, draw.side, draw.kind === "MARKET" ? null : draw.price, draw.qty, draw.kind === "GTC");
          const book = exchange.market.book("BTCUSDT");
          const pairs = (levels: typeof book.bids): [number, number][] =>
            levels.map((level) => [level.priceTicks, level.qtyLots]);
          expect(pairs(book.bids)).toEqual(naive.levels("BUY"));
          expect(pairs(book.asks)).toEqual(naive.levels("SELL"));
          states.push({ seq: book.seq, bids: pairs(book.bids), asks: pairs(book.asks) });
        }
        expect(trades).toEqual(naive.trades);
        for (const state of states) {
          const truth = exchange.market.trueBook("BTCUSDT", state.seq);
          expect(truth?.bids.map((level) => [level.priceTicks, level.qtyLots])).toEqual(state.bids);
          expect(truth?.asks.map((level) => [level.priceTicks, level.qtyLots])).toEqual(state.asks);
        }
        expect(exchange.market.trueBook(BTC.symbol, 0)).toBeNull();
      }),
      { numRuns: 120 },
    );
  });
});
