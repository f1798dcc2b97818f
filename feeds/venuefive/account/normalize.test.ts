import { describe, expect, it } from "vitest";
import { VENUEFIVE_PAIRS } from "../../../schemas/venuefive/contracts.js";
import { pairMapOf } from "../market/pair-map.js";
import { notionalOf, orderOf, positionOf, sizeOf } from "./normalize.js";
import type { OrderRow, TradeRow } from "./slots.js";

const MEANING = { map: pairMapOf(VENUEFIVE_PAIRS), dollarBased: new Set<number>() };
const TRADE: TradeRow = {
  ...{
    trader: `0x${"7a".repeat(20)}`,
    pairIndex: 1,
    index: 2,
    collateral: 99_550_000n,
    openPrice: 650_000_000_000_000n,
  },
  ...{ isLong: true, leverage: 100_000_000_000n, tp: 0n, sl: 600_000_000_000_000n, openedAt: 1_758_710_931 },
  ...{ isBeingClosed: false, rolloverFee: 10_908n, liquidationPrice: 594_757_122_250_126n, isZeroFee: false },
};
const ORDER: OrderRow = {
  ...{
    trader: TRADE.trader,
    pairIndex: 3,
    index: 0,
    collateral: 60_000_000n,
    isLong: false,
    leverage: 125_000_000_000n,
  },
  ...{ tp: 0n, sl: 0n, price: 4_521_000_000n, slippage: 3_000_000_000n, block: 35_961_058, liquidationPrice: 0n },
};
const PLACED = { block: 35_961_000, orderType: null, timestampMs: 1, txHash: null };

describe("a row of the chain", () => {
  it("of a position is decimal text of its integers", () => {
    expect(positionOf(TRADE, MEANING)).toEqual({
      ...{ pairIndex: 1, index: 2, symbol: "BTC", direction: "LONG", size: "0.0153153846", entryPrice: "65000" },
      ...{ liquidationPrice: "59475.7122250126", rolloverFee: "0.010908", leverage: "10", collateral: "99.55" },
      ...{ takeProfit: null, stopLoss: "60000", openedAtMs: 1_758_710_931_000, isZeroFee: false, isBeingClosed: false },
    });
  });

  it("of a position without a fee and a price of liquidation has the fee 0 and no price", () => {
    const row = { ...TRADE, rolloverFee: 0n, liquidationPrice: 0n, isZeroFee: true, isBeingClosed: true };
    expect(positionOf(row, MEANING)).toMatchObject({
      ...{ rolloverFee: "0", liquidationPrice: null, isZeroFee: true, isBeingClosed: true },
    });
  });

  it("of a pair outside the map has a name of its index, and one of the dollar the notional as its size", () => {
    const row = { ...TRADE, pairIndex: 62 };
    expect(positionOf(row, MEANING)).toMatchObject({ symbol: "PAIR_62", size: "0.0153153846" });
    expect(positionOf(row, { ...MEANING, dollarBased: new Set([62]) }).size).toBe("995.5");
  });

  it("of a limit order has the number of its placing", () => {
    expect(orderOf(ORDER, MEANING, PLACED)).toMatchObject({
      ...{ orderId: "3:0:35961000", symbol: "ARB", direction: "SHORT", price: "0.4521", collateral: "60" },
      ...{ leverage: "12.5", slippagePercent: "0.3", liquidationPrice: null, size: "1658.9250165892" },
    });
  });

  it("without a price is a fault", () => {
    expect(() => positionOf({ ...TRADE, openPrice: 0n }, MEANING)).toThrow();
  });
});

describe("amounts", () => {
  it("are floored at each division", () => {
    // 1.999999 USDC of 1.9982863943: 3.99657… is 3.996570, not 3.996571.
    expect(notionalOf(1_999_999n, 19_982_863_943n)).toBe(3_996_570n);
    expect(sizeOf(1_999_999n, 19_982_863_943n, 30_000_000_000n, false)).toBe("1.33219");
    expect(sizeOf(100_000_000n, 10_000_000_000n, 30_000_000_000n, false)).toBe("33.3333333333");
  });

  it("beyond what a double holds keep every digit", () => {
    expect(sizeOf(9_007_199_254_740_993n, 10_000_000_000n, 1n, false)).toBe("90071992547409930000");
    expect(sizeOf(9_007_199_254_740_993n, 10_000_000_000n, 1n, true)).toBe("9007199254.740993");
  });
});
