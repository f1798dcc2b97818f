import { describe, expect, it } from "vitest";
import { checkIndex, checkOpen, type OpenPositionParameters } from "./open-order.js";
import { tradingConfig } from "./options.js";
import type { VenuefiveTradeError } from "./trade-error.js";

const PAIRS = tradingConfig({ publicClient: {} as never }).pairs;
const BTC = {
  ...{ symbol: "BTC", direction: "LONG", positionSizeUsd: "100", leverage: 10 },
  ...{ openPrice: "65000", orderType: "MARKET" },
} as const satisfies OpenPositionParameters;

const check = (changes: object) => checkOpen({ ...BTC, ...changes } as OpenPositionParameters, PAIRS);
function refusal(changes: object): Pick<VenuefiveTradeError, "code" | "outcome"> {
  try {
    check(changes);
  } catch (error) {
    const { code, outcome } = error as VenuefiveTradeError;
    return { code, outcome };
  }
  throw new Error("it was let through");
}

describe("an order to open", () => {
  it("has the integers of the contract, and the size in tokens at its price", () => {
    expect(checkOpen(BTC, PAIRS)).toEqual({
      ...{ symbol: "BTC", pairIndex: 1, direction: "LONG", orderTypeNumber: 0, isMarket: true, leverage: 10 },
      ...{ collateralE6: 100_000_000n, leverageE10: 100_000_000_000n, priceE10: 650_000_000_000_000n },
      ...{ slippageE10: 3_000_000_000n, tpE10: 0n, slE10: 0n, size: "0.0153846153" },
    });
    const other = check({ symbol: "eigen", direction: "SHORT", orderType: "STOP_LIMIT", openPrice: "0.5", tp: "0.4" });
    expect(other).toMatchObject({ symbol: "EIGEN", pairIndex: 50, orderTypeNumber: 1, isMarket: false, size: "2000" });
    expect(other.tpE10).toBe(4_000_000_000n);
  });

  it.each([
    [1.1, 11_000_000_000n],
    [12.5, 125_000_000_000n],
    [1.9982863943, 19_982_863_943n],
    [49.9999999999, 499_999_999_999n],
  ])("takes the leverage %s as its shortest text", (leverage, expected) => {
    expect(check({ leverage }).leverageE10).toBe(expected);
  });

  it.each([
    [1e-7, 1_000n],
    [1e-10, 1n],
    [0.0000000025, 25n],
    [0, 0n],
  ])("takes the slippage %s, however JavaScript writes it", (slippagePercent, expected) => {
    expect(check({ slippagePercent }).slippageE10).toBe(expected);
  });

  it.each([
    ["65000.1234567891", 650_001_234_567_891n],
    ["0.0000103457", 103_457n],
    ["90071992547409930.1234567891", 900_719_925_474_099_301_234_567_891n],
  ])("takes the price %s exactly", (openPrice, expected) => {
    expect(check({ openPrice }).priceE10).toBe(expected);
  });

  it.each([
    ["a symbol that is not in the map", { symbol: "ZZZ" }, "UNKNOWN_SYMBOL"],
    ["a name of every object for a symbol", { symbol: "constructor" }, "UNKNOWN_SYMBOL"],
    ["no symbol", { symbol: undefined }, "INVALID_PARAMETERS"],
    ["another direction", { direction: "long" }, "INVALID_PARAMETERS"],
    ["another order type", { orderType: "STOP_MARKET" }, "INVALID_PARAMETERS"],
    ["50 times and a little", { symbol: "SOL", leverage: 50.0000000001 }, "LEVERAGE_OUT_OF_RANGE"],
    ["76 times of BTC", { leverage: 76 }, "LEVERAGE_OUT_OF_RANGE"],
    ["less than once", { leverage: 0.9999999999, positionSizeUsd: "1000" }, "LEVERAGE_OUT_OF_RANGE"],
    ["74 times without fees", { orderType: "MARKET_ZERO_FEE", leverage: 74 }, "LEVERAGE_OUT_OF_RANGE"],
    ["251 times without fees", { orderType: "MARKET_ZERO_FEE", leverage: 251 }, "LEVERAGE_OUT_OF_RANGE"],
    ["XRP without fees", { symbol: "XRP", orderType: "MARKET_ZERO_FEE", leverage: 100 }, "ZERO_FEE_NOT_ALLOWED"],
    ["no number as leverage", { leverage: Number.NaN }, "INVALID_PARAMETERS"],
    ["leverage as text", { leverage: "10" }, "INVALID_PARAMETERS"],
    ["leverage of eleven decimals", { leverage: 1.12345678901 }, "TOO_MANY_DECIMALS"],
    ["a notional of 99.99999", { positionSizeUsd: "9.999999" }, "NOTIONAL_TOO_SMALL"],
    ["no collateral", { positionSizeUsd: "0" }, "NOTIONAL_TOO_SMALL"],
    ["USDC of seven decimals", { positionSizeUsd: "100.1234567" }, "TOO_MANY_DECIMALS"],
    ["collateral as a number", { positionSizeUsd: 100 }, "INVALID_PARAMETERS"],
    ["a negative collateral", { positionSizeUsd: "-100" }, "INVALID_PARAMETERS"],
    ["no price, of a market order too", { openPrice: undefined }, "INVALID_PARAMETERS"],
    ["a price of zero", { openPrice: "0", orderType: "LIMIT" }, "INVALID_PARAMETERS"],
    ["a price with an exponent", { openPrice: "6.5e4" }, "INVALID_PARAMETERS"],
    ["a price of eleven decimals, though all are zeros", { openPrice: "1.00000000000" }, "TOO_MANY_DECIMALS"],
    ["a take profit below a long's price", { tp: "64999" }, "INVALID_TAKE_PROFIT"],
    ["a take profit at the price", { tp: "65000" }, "INVALID_TAKE_PROFIT"],
    ["a take profit above a short's price", { direction: "SHORT", tp: "65001" }, "INVALID_TAKE_PROFIT"],
    ["a stop loss above a long's price", { sl: "65001" }, "INVALID_STOP_LOSS"],
    ["a stop loss below a short's price", { direction: "SHORT", sl: "64999" }, "INVALID_STOP_LOSS"],
    ["a stop loss of eleven decimals", { sl: "1.12345678901" }, "TOO_MANY_DECIMALS"],
    ["80 % of slippage", { slippagePercent: 80 }, "SLIPPAGE_OUT_OF_RANGE"],
    ["slippage below zero", { slippagePercent: -0.1 }, "INVALID_PARAMETERS"],
    ["slippage of eleven decimals", { slippagePercent: 1e-11 }, "TOO_MANY_DECIMALS"],
    ["a misspelt stop loss", { stopLoss: "60000" }, "INVALID_PARAMETERS"],
  ])("is refused with %s", (_, changes, code) => {
    expect(refusal(changes)).toEqual({ code, outcome: "notSent" });
  });

  it.each([
    ["75 times of ETH", { symbol: "ETH", leverage: 75 }],
    ["once", { leverage: 1 }],
    ["50 times of the others", { symbol: "SHIB", leverage: 50, openPrice: "0.00001" }],
    ["250 times without fees", { symbol: "SOL", orderType: "MARKET_ZERO_FEE", leverage: 250 }],
    ["a notional of exactly 100", { positionSizeUsd: "10" }],
    ["the triggers zero, which are none", { tp: "0", sl: "0" }],
    ["slippage just below 80 %", { slippagePercent: 79.9999999999 }],
  ])("is let through with %s", (_, changes) => {
    expect(() => check(changes)).not.toThrow();
  });

  it("is refused where it is no object", () => {
    expect(() => checkOpen(null as never, PAIRS)).toThrow("parameters must be an object");
  });
});

describe("an index of a pair", () => {
  it.each([-1, 1.5, Number.NaN, "1", undefined])("is not %s", (given) => {
    expect(() => checkIndex(given, "pairIndex")).toThrow(expect.objectContaining({ code: "UNKNOWN_PAIR" }));
  });
});

describe("options", () => {
  it.each([
    ["two symbols at one index", { pairs: { A: 1, B: 1 } }],
    ["a symbol in small letters", { pairs: { btc: 1 } }],
    ["an index that is none", { pairs: { BTC: -1 } }],
    ["an address that is none", { addresses: { Trading: "0x12" } }],
    ["a fee as a number", { executionFeeWei: 1 }],
    ["another wait", { waitFor: "filled" }],
    ["a timeout of zero", { timeouts: { minedMs: 0 } }],
  ])("are refused with %s", (_, options) => {
    expect(() => tradingConfig({ publicClient: {} as never, ...options } as never)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTIONS" }),
    );
  });
});
