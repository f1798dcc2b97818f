/** What the local venuefive refuses, with the real one's texts, in its order. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startVenuefive, type VenuefiveWorld } from "../world.js";
import { type OpenOrder, openArgs, startTrader, type VenuefiveTrader } from "./trader.js";

const [ETH, XRP] = [0, 18];
const ORDER: OpenOrder = { pairIndex: ETH, collateral: "100", leverage: "10", price: "3000" };

let world: VenuefiveWorld;
let trader: VenuefiveTrader;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n, startSeconds: 1_758_710_000 });
  await world.setPrices({ [ETH]: "3000" });
  trader = await startTrader(world, 1);
});
afterAll(() => world.stop());
beforeEach(() => world.snapshot());

/** Every fault at once, in the order of the checks: each row mends one more of them. */
const IN_ORDER: readonly [text: string, mended: Partial<OpenOrder>][] = [
  ["BELOW_MIN_POS", {}],
  ["WRONG_TP", { collateral: "200000" }],
  ["WRONG_SL", { tp: "0.7" }],
  ["INVALID_SLIPPAGE", { sl: "0.5" }],
  ["LEVERAGE_INCORRECT", { slippagePercent: "79.9999999999" }],
  ["PNL_ORDER_NOT_ALLOWED", { leverage: "50" }],
  ["ERC20: transfer amount exceeds balance", { type: "MARKET" }],
];
const FAULTY: OpenOrder = {
  ...{ pairIndex: XRP, collateral: "0.5", leverage: "51", price: "0.6", type: "MARKET_ZERO_FEE" },
  ...{ tp: "0.6", sl: "0.6", slippagePercent: "80" },
};

const LEVERAGES: readonly [
  pairIndex: number,
  type: NonNullable<OpenOrder["type"]>,
  leverage: string,
  isTaken: boolean,
][] = [
  [ETH, "MARKET", "75", true],
  [ETH, "MARKET", "75.0000000001", false],
  [XRP, "LIMIT", "50", true],
  [XRP, "STOP_LIMIT", "50.1", false],
  [ETH, "MARKET", "1", true],
  [ETH, "MARKET", "0.9", false],
  [ETH, "MARKET_ZERO_FEE", "74.9", false],
  [ETH, "MARKET_ZERO_FEE", "75", true],
  [ETH, "MARKET_ZERO_FEE", "250", true],
  [ETH, "MARKET_ZERO_FEE", "250.1", false],
];

describe("openTrade", () => {
  it("checks in the order of the real one", async () => {
    let order = FAULTY;
    for (const [text, mended] of IN_ORDER) {
      order = { ...order, ...mended };
      await expect(trader.open(order), text).rejects.toThrow(text);
    }
    await trader.open({ ...order, collateral: "100" });
  });

  it.each(LEVERAGES)("on pair %i as %s at %sx is taken: %s", async (pairIndex, type, leverage, isTaken) => {
    const opening = trader.open({ ...ORDER, pairIndex, type, leverage, collateral: "200" });
    if (isTaken) await opening;
    else await expect(opening).rejects.toThrow("LEVERAGE_INCORRECT");
  });

  it("takes a notional of 100 USD and none below, and no pair that is not listed", async () => {
    await trader.open({ ...ORDER, collateral: "10" });
    await expect(trader.open({ ...ORDER, collateral: "9.999999" })).rejects.toThrow("BELOW_MIN_POS");
    await expect(trader.open({ ...ORDER, pairIndex: 51 })).rejects.toThrow("LEVERAGE_INCORRECT");
  });

  it("caps what waits of a trader, and what a trader has on a pair", async () => {
    for (let count = 0; count < 5; count++) await trader.open(ORDER);
    await expect(trader.open({ ...ORDER, type: "LIMIT" })).rejects.toThrow("MAX_PENDING_ORDERS");
    await world.keeper.round();
    await world.turn("TradingStorage", "setMaxTradesPerPair", [6]);
    await trader.open({ ...ORDER, type: "LIMIT", price: "2900" });
    await expect(trader.open(ORDER)).rejects.toThrow("MAX_TRADES_PER_PAIR");
    await trader.open({ ...ORDER, pairIndex: XRP });
    await world.turn("TradingStorage", "setMaxTradesPerPair", [40]);
    expect(await world.read("TradingStorage", "maxTradesPerPair")).toBe(40n);
  });

  it("is refused while the venue is paused, and where its keeper takes no fee", async () => {
    const [args] = [openArgs(trader.address, ORDER)];
    await world.turn("Trading", "setOperator", [world.addresses.Usdc]);
    await expect(trader.write("Trading", "openTrade", args, 1n)).rejects.toThrow("EXECUTION_FEE_NOT_SENT");
    await world.turn("Trading", "setPaused", [true]);
    await expect(trader.open(ORDER)).rejects.toThrow("Pausable: paused");
    await expect(trader.close(ETH, 0, 0n)).rejects.toThrow("Pausable: paused");
  });
});

describe("closeTradeMarket", () => {
  it("refuses more than there is before all else, and a missing position by name only at zero", async () => {
    await expect(trader.close(ETH, 0, 1n)).rejects.toThrow("INV_AMOUNT");
    await expect(trader.close(ETH, 0, 0n)).rejects.toThrow("NO_TRADE");
    await trader.opened(ORDER);
    await expect(trader.close(ETH, 0, 99_550_001n)).rejects.toThrow("INV_AMOUNT");
    await trader.close(ETH, 0, 99_550_000n);
    await expect(trader.close(ETH, 0, 1n)).rejects.toThrow("ALREADY_BEING_CLOSED");
  });

  it("refuses a young position for as long as its size asks, and so does its take profit", async () => {
    await world.turn("PairStorage", "setTimers", [ETH, [0n, 500_000_000n], [0n, 60n]]);
    await trader.opened({ ...ORDER, tp: "3100" });
    await expect(trader.close(ETH, 0, 99_550_000n)).rejects.toThrow("EARLY_CLOSE");
    await world.setPrices({ [ETH]: "3100" });
    expect((await world.keeper.round()).triggered).toEqual([]);
    // A smaller part is in the tier that waits for nothing.
    await trader.close(ETH, 0, 40_000_000n);
    await world.keeper.round();
    await world.passSeconds(60);
    expect((await world.keeper.round()).triggered).toMatchObject([{ kind: "TP" }]);
  });
});

describe("what only the keeper may", () => {
  it("is refused to others", async () => {
    const slot = [trader.address, ETH, 0, [], 0];
    await expect(trader.write("Trading", "executeMarketOrders", [[1n], [], 0])).rejects.toThrow("ONLY_OPERATOR");
    await expect(trader.write("Trading", "executeLimitOrder", [2, ...slot])).rejects.toThrow("ONLY_OPERATOR");
    await expect(trader.write("Trading", "cancelPendingMarketOrder", [1n])).rejects.toThrow("ONLY_OPERATOR");
    await expect(trader.write("PriceAggregator", "setPrices", [[0n], [1n]])).rejects.toThrow("ONLY_GOV");
  });
});
