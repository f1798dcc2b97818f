import { describe, expect, it } from "vitest";
import type { EventBody, EventTrade, VenuefiveEvent } from "./event.js";
import { foldClosing, foldMarketOrder, foldOrder } from "./fold.js";

const TRADER = `0x${"1a".repeat(20)}`;
const symbolOf = (pairIndex: number): string => (pairIndex === 1 ? "BTC" : `PAIR_${pairIndex}`);
/** A pair like USD/JPY: its size is the notional. */
const DOLLAR = 11;
const isDollarBased = (pairIndex: number): boolean => pairIndex === DOLLAR;
const TRADE: EventTrade = {
  ...{ index: 0, collateral: "99550000", openPrice: "650000000000000", isLong: true, leverage: "100000000000" },
  ...{ tp: "700000000000000", sl: "0", openedAt: 1_757_600_519 },
};
const PLACED = {
  ...({ kind: "placed", index: 2, isLong: false, price: "650000000000000", orderType: 1 } as const),
  ...{ slippage: "3000000000", collateral: "100000000", leverage: "100000000000" },
};
const FILLED = {
  ...({ kind: "filled", orderId: "9", index: 2, trade: TRADE, price: "651000000000000" } as const),
  ...{ triggerPrice: "650000000000000", collateral: "99550000" },
};
const UPDATED = { kind: "updated", index: 2, price: "600000000000000", tp: "0", sl: "610000000000000" } as const;
const CANCELED = { kind: "canceled", index: 2, collateral: "100000000" } as const;
const CLOSE = {
  ...({ kind: "executed", orderId: "7", isOpen: false, trade: TRADE, price: "660000000000000" } as const),
  ...{ collateral: "50000000", percentProfit: "153846153846", sent: "57000000", isZeroFee: false },
};

function event<B extends EventBody>(body: B, block: number): VenuefiveEvent & B {
  const place = { block, blockHash: "0x0b", logIndex: 3, txHash: `0x${block}`, timeMs: block * 2_000 };
  return { ...place, trader: TRADER, pairIndex: 1, ...body } as unknown as VenuefiveEvent & B;
}

describe("a limit order of its events", () => {
  it("that was placed is open, with all but what the event of a placing lacks", () => {
    const start = event(PLACED, 10);
    expect(foldOrder({ start, latest: start, before: null }, symbolOf, isDollarBased)).toEqual({
      ...{ orderId: "1:2:10", symbol: "BTC", direction: "SHORT", orderType: "STOP_LIMIT", price: "65000" },
      ...{ size: "0.0153846153", collateral: "100", leverage: "10", takeProfit: null, stopLoss: null },
      ...{ slippagePercent: "0.3", liquidationPrice: null, status: "OPEN", timestampMs: 20_000, txHash: "0x10" },
    });
  });

  it("that was changed has its new price and stops, and no slippage that is known", () => {
    const parts = { start: event(PLACED, 10), latest: event(UPDATED, 12), before: event(PLACED, 10) };
    expect(foldOrder(parts, symbolOf, isDollarBased)).toMatchObject({
      ...{ price: "60000", takeProfit: null, stopLoss: "61000", slippagePercent: null, status: "OPEN" },
      ...{ timestampMs: 20_000, txHash: "0x12" },
    });
  });

  it("that has ended keeps its last change, and has the time of its end", () => {
    const ended = { start: event(PLACED, 10), before: event(UPDATED, 12) };
    expect(foldOrder({ ...ended, latest: event(CANCELED, 15) }, symbolOf, isDollarBased)).toMatchObject({
      ...{ status: "CANCELED", price: "60000", timestampMs: 30_000, txHash: "0x15" },
    });
    expect(foldOrder({ ...ended, latest: event(FILLED, 16) }, symbolOf, isDollarBased)).toMatchObject({
      ...{ status: "FILLED", price: "60000", collateral: "100", direction: "SHORT", stopLoss: "61000" },
    });
  });

  it("whose placing is of before the index has what the events say, and nothing else", () => {
    const canceled = event(CANCELED, 15);
    expect(foldOrder({ start: canceled, latest: canceled, before: null }, symbolOf, isDollarBased)).toMatchObject({
      ...{ orderId: "1:2:15", direction: null, orderType: null, price: null, size: null, collateral: "100" },
      ...{ leverage: null, takeProfit: null, slippagePercent: null, status: "CANCELED" },
    });
    const filled = event(FILLED, 16);
    expect(foldOrder({ start: filled, latest: filled, before: null }, symbolOf, isDollarBased)).toMatchObject({
      ...{
        direction: "LONG",
        price: "65000",
        collateral: "99.55",
        leverage: "10",
        takeProfit: "70000",
        stopLoss: null,
      },
    });
    const updated = event(UPDATED, 17);
    expect(foldOrder({ start: updated, latest: updated, before: null }, symbolOf, isDollarBased)).toMatchObject({
      ...{ direction: null, price: "60000", collateral: null, size: null, status: "OPEN" },
    });
  });
});

describe("a closed trade of its event", () => {
  it("has what came back less the collateral, and as fees what the profit at its price is above that", () => {
    expect(foldClosing(event(CLOSE, 20), symbolOf, isDollarBased)).toEqual({
      ...{ symbol: "BTC", direction: "LONG", entryPrice: "65000", exitPrice: "66000", collateral: "50" },
      // 15.3846153846 % of 50 is 7.692307, of which 7 came back.
      ...{ size: "0.0076923076", leverage: "10", realizedPnl: "7", fees: "0.692307", usdcReceived: "57" },
      ...{ isZeroFee: false, isLiquidation: false, openedAtMs: 1_757_600_519_000, closedAtMs: 40_000, txHash: "0x20" },
    });
  });

  it("is a liquidation only where the trigger is one", () => {
    const { isOpen: _, kind: __, ...rest } = CLOSE;
    const lost = { percentProfit: "-900000000000", sent: "0" };
    const of = (trigger: "SL" | "LIQ") =>
      foldClosing(event({ ...rest, ...lost, kind: "triggered", trigger } as const, 20), symbolOf, isDollarBased);
    expect([of("LIQ"), of("SL")].map(({ isLiquidation }) => isLiquidation)).toEqual([true, false]);
    expect(of("LIQ")).toMatchObject({ realizedPnl: "-50", fees: "5", usdcReceived: "0" });
  });

  it("has no fees where the venue gave some of a loss back", () => {
    const event20 = event({ ...CLOSE, percentProfit: "-200000000000", sent: "45000000" }, 20);
    expect(foldClosing(event20, symbolOf, isDollarBased)).toMatchObject({ realizedPnl: "-5", fees: null });
  });
});

describe("a market order of its events", () => {
  const QUEUED = {
    ...({ kind: "queued", orderId: "7", isOpen: false, isLong: true, isZeroFee: false } as const),
    ...{ collateral: "99550000", leverage: "100000000000" },
  };

  it("is pending, filled or canceled, with the collateral that was closed once that is known", () => {
    const queued = event(QUEUED, 18);
    expect(foldMarketOrder([queued], symbolOf, isDollarBased)).toMatchObject({
      status: "PENDING",
      collateral: "99.55",
      price: null,
    });
    expect(foldMarketOrder([queued, event(CLOSE, 20)], symbolOf, isDollarBased)).toEqual({
      ...{ txHash: "0x18", venueOrderId: "7", symbol: "BTC", direction: "LONG", isOpen: false, isZeroFee: false },
      ...{
        collateral: "50",
        leverage: "10",
        status: "FILLED",
        price: "66000",
        size: "0.0076923076",
        timestampMs: 36_000,
      },
      walletAddress: TRADER,
    });
    const gaveUp = event({ kind: "gave-up", orderId: "7" } as const, 20);
    expect(foldMarketOrder([queued, gaveUp], symbolOf, isDollarBased)).toMatchObject({ status: "CANCELED" });
    expect(foldMarketOrder([gaveUp], symbolOf, isDollarBased)).toBeNull();
  });

  it("that closes has the size that the position had at its entry, not what its notional is at the exit", () => {
    const [queued, closed] = [event(QUEUED, 18), event(CLOSE, 20)];
    const market = foldMarketOrder([queued, closed], symbolOf, isDollarBased);
    expect(market?.size).toBe(foldClosing(closed, symbolOf, isDollarBased).size);
    expect(market?.size).toBe("0.0076923076");
    expect(foldMarketOrder([queued], symbolOf, isDollarBased)?.size).toBeNull();
  });
});

describe("of a pair whose base is the dollar", () => {
  const ofPair = <E extends VenuefiveEvent>(one: E): E => ({ ...one, pairIndex: DOLLAR });

  it("the size of an order and of a trade is the notional itself", () => {
    const start = ofPair(event(PLACED, 10));
    expect(foldOrder({ start, latest: start, before: null }, symbolOf, isDollarBased).size).toBe("1000");
    const closed = ofPair(event(CLOSE, 20));
    expect(foldClosing(closed, symbolOf, isDollarBased).size).toBe("500");
    expect(foldMarketOrder([closed], symbolOf, isDollarBased)?.size).toBe("500");
  });
});
