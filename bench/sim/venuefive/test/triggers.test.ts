/** Limit orders, take-profits, stop-losses and liquidations of the local venuefive against the fact sheet. */
import type { Hex } from "viem";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startVenuefive, type VenuefiveWorld } from "../world.js";
import { eventsSince, type OpenOrder, startTrader, type VenuefiveTrader } from "./trader.js";

const ETH = 0;
const OPENED = 99_550_000n;
const ORDER = { pairIndex: ETH, collateral: "100", leverage: "10", price: "3000" } as const;
const E10 = 10n ** 10n;

interface LimitExecuted {
  readonly limitIndex: bigint;
  readonly orderType: number;
  readonly price: bigint;
  readonly percentProfit: bigint;
  readonly usdcSentToTrader: bigint;
}

let world: VenuefiveWorld;
let trader: VenuefiveTrader;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n, startSeconds: 1_758_710_000 });
  await world.setPrices({ [ETH]: "3000" });
  trader = await startTrader(world, 1);
});
afterAll(() => world.stop());
beforeEach(() => world.snapshot());

const hasOrder = (index = 0) =>
  world.read<boolean>("TradingStorage", "hasOpenLimitOrder", [trader.address, ETH, index]);
const isOpen = async (index = 0) =>
  (await world.read<{ leverage: bigint }>("TradingStorage", "openTrades", [trader.address, ETH, index])).leverage > 0n;
/** What the round at that price triggers. */
async function roundAt(price: string) {
  await world.setPrices({ [ETH]: price });
  return (await world.keeper.round()).triggered.map(({ kind, index }) => [kind, index]);
}
async function lastLimitExecuted(): Promise<LimitExecuted> {
  const events = (await eventsSince(world, 0n)).filter(({ name }) => name === "LimitExecuted");
  expect(events.at(-1)?.contract).toBe("TradingCallbacks");
  return events.at(-1)?.args as unknown as LimitExecuted;
}

describe("a limit order", () => {
  const RULES: readonly [type: "LIMIT" | "STOP_LIMIT", isLong: boolean, rests: string, fills: string][] = [
    ["LIMIT", true, "3000.01", "2995"],
    ["LIMIT", false, "2999.99", "3005"],
    ["STOP_LIMIT", true, "2999.99", "3005"],
    ["STOP_LIMIT", false, "3000.01", "2995"],
  ];
  it.each(RULES)("%s, long %s, rests at %s and fills at %s", async (type, isLong, rests, fills) => {
    const { events } = await trader.open({ ...ORDER, type, isLong });
    expect(events.at(-1)).toMatchObject({
      contract: "Trading",
      name: "OpenLimitPlaced",
      args: { index: 0n, isBuy: isLong, openPrice: 3000n * E10, collateral: 100_000_000n, leverage: 10n * E10 },
    });
    expect(events.at(-1)?.args).toMatchObject({ orderType: type === "LIMIT" ? 2 : 1, executionFee: 0n });
    expect(await world.usdc(trader.address)).toBe("99900");
    expect(await roundAt(rests)).toEqual([]);
    expect(await roundAt(fills)).toEqual([["OPEN", 0n]]);
    expect([await hasOrder(), await isOpen()]).toEqual([false, true]);
    // The overloaded fields: the slot of the order, its trigger, and the price before any impact.
    expect(await lastLimitExecuted()).toMatchObject({
      limitIndex: 0n,
      orderType: 3,
      price: BigInt(fills) * E10,
      positionSizeUSDC: OPENED,
      percentProfit: 3000n * E10,
      usdcSentToTrader: BigInt(fills) * E10,
    });
  });

  it("beyond its slippage rests on without an event, also where the keeper insists", async () => {
    await trader.open({ ...ORDER, type: "STOP_LIMIT" });
    expect(await roundAt("3009.01")).toEqual([]);
    await world.turn("Trading", "updateOperator", [await world.read("Trading", "gov"), true]);
    await world.turn("Trading", "executeLimitOrder", [3, trader.address, ETH, 0, [], 0]);
    expect(await hasOrder()).toBe(true);
    expect((await eventsSince(world, 0n)).at(-1)?.name).toBe("PriceReceived");
    expect(await roundAt("3009")).toEqual([["OPEN", 0n]]);
  });

  it("is changed and canceled no sooner than two blocks after it was placed or changed, and gives all back", async () => {
    await trader.open({ ...ORDER, type: "LIMIT" });
    const cancel = () => trader.write("Trading", "cancelOpenLimitOrder", [ETH, 0]);
    const update = (price: bigint, slippage: bigint, tp: bigint, sl: bigint) =>
      trader.write("Trading", "updateOpenLimitOrder", [ETH, 0, price * E10, slippage * E10, tp * E10, sl * E10]);
    await expect(cancel()).rejects.toThrow("LIMIT_TIMELOCK");
    await world.chain.mine();
    await expect(update(2900n, 1n, 0n, 0n)).rejects.toThrow("LIMIT_TIMELOCK");
    await world.chain.mine();
    await expect(update(2900n, 1n, 2900n, 0n)).rejects.toThrow("WRONG_TP");
    await expect(update(2900n, 1n, 0n, 2900n)).rejects.toThrow("WRONG_SL");
    await expect(update(2900n, 80n, 0n, 0n)).rejects.toThrow("INVALID_SLIPPAGE");
    const { events } = await update(2900n, 1n, 3100n, 2800n);
    expect(events).toMatchObject([
      { name: "OpenLimitUpdated", args: { newPrice: 2900n * E10, newTp: 3100n * E10, newSl: 2800n * E10 } },
    ]);
    await expect(cancel()).rejects.toThrow("LIMIT_TIMELOCK");
    await world.chain.mine(2);
    expect((await cancel()).events.at(-1)).toMatchObject({
      name: "OpenLimitCanceled",
      args: { collateral: 100_000_000n },
    });
    expect([await world.usdc(trader.address), await hasOrder()]).toEqual(["100000", false]);
    // Unknown: reverted, without a text.
    await expect(cancel()).rejects.toThrow(/reverted\.\s/);
    await expect(world.read("TradingStorage", "getOpenLimitOrder", [trader.address, ETH, 0])).rejects.toThrow();
  });

  it("shows in the sparse array of orders, with the price at which it would be liquidated", async () => {
    await trader.open({ ...ORDER, type: "LIMIT", isLong: false, price: "3100" });
    await trader.open({ ...ORDER, type: "STOP_LIMIT", price: "3200" });
    type Rows = readonly [unknown, readonly { order: { leverage: bigint; price: bigint }; liquidationPrice: bigint }[]];
    const [, orders] = await world.read<Rows>("Multicall", "getPositionsForPairIndexes", [trader.address, 0, 1, 40]);
    expect(orders.map(({ order, liquidationPrice }) => [order.price, liquidationPrice]).slice(0, 3)).toEqual([
      [3100n * E10, (31_000n + 2635n) * (E10 / 10n)],
      [3200n * E10, 2928n * E10],
      [0n, 0n],
    ]);
    expect([orders.length, await world.read("TradingStorage", "openLimitOrdersCount", [trader.address, ETH])]).toEqual([
      40,
      2n,
    ]);
    expect(await world.read<unknown[]>("TradingStorage", "getOpenLimitOrders")).toHaveLength(2);
  });
});

describe("an open position", () => {
  const open = (more: Partial<OpenOrder> = {}) => trader.opened({ ...ORDER, ...more });

  it("is closed at its take profit, for the closing fee and the keeper's reward", async () => {
    await open({ tp: "3300", sl: "2900" });
    expect(await roundAt("3299.99")).toEqual([]);
    expect(await roundAt("3310")).toEqual([["TP", 0n]]);
    // Profit 10.333 % of 995.5, fee 0.045 % of the notional with it, 0.01 % of the collateral to the keeper.
    const executed = await lastLimitExecuted();
    const gross = (OPENED * executed.percentProfit) / E10 / 100n;
    const fee = ((995_500_000n + gross) * 45n) / 100_000n;
    expect(executed).toMatchObject({ limitIndex: 3310n * E10, orderType: 0, price: 3310n * E10 });
    expect(executed.percentProfit).toBe(1_033_333_333_333n);
    expect(executed.usdcSentToTrader).toBe(OPENED + gross - fee - 9955n);
  });

  it("is closed at its stop loss, which goes before its liquidation", async () => {
    await open({ sl: "2900", isLong: true });
    expect(await roundAt("2700")).toEqual([["SL", 0n]]);
    expect(await lastLimitExecuted()).toMatchObject({ orderType: 1, price: 2700n * E10, usdcSentToTrader: 0n });
  });

  it("is liquidated at the price that Multicall shows, and the trader gets nothing", async () => {
    await open();
    const price = await world.read<bigint>("Multicall", "getLiquidationPrice", [trader.address, ETH, 0]);
    expect(price).toBe(2745n * E10);
    expect(await roundAt("2745.0000000001")).toEqual([]);
    expect(await roundAt("2745")).toEqual([["LIQ", 0n]]);
    expect(await lastLimitExecuted()).toMatchObject({ limitIndex: price, orderType: 2, usdcSentToTrader: 0n });
    expect([await isOpen(), await world.usdc(trader.address)]).toEqual([false, "99900"]);
    const keeper = await world.read<Hex>("Trading", "operator");
    expect(await world.usdc(keeper)).toBe("4.9775");
  });

  it("takes a stop loss before a take profit in its update, and no stop loss without oracle bytes", async () => {
    await open();
    const update = (sl: bigint, tp: bigint, bytes: readonly string[]) =>
      trader.write("Trading", "updateTpAndSl", [ETH, 0, sl * E10, tp * E10, bytes, 1], 1n);
    await expect(update(2900n, 3300n, ["0x01"])).rejects.toThrow("LIMIT_TIMELOCK");
    await world.chain.mine(2);
    await expect(update(2750n, 3300n, ["0x01"])).rejects.toThrow("SL_TOO_BIG");
    expect((await update(2900n, 3300n, [])).events.map(({ name }) => name)).toEqual(["TpUpdated"]);
    await world.chain.mine(2);
    const { events } = await update(2900n, 3200n, ["0x01"]);
    expect(events).toMatchObject([
      { name: "TpUpdated", args: { newTp: 3200n * E10 } },
      { contract: "Trading", name: "SlUpdated", args: { newSl: 2900n * E10 } },
    ]);
    await world.turn("PairStorage", "setGuaranteedSl", [ETH, true]);
    await world.chain.mine(2);
    const guaranteed = await update(2950n, 3200n, ["0x01"]);
    expect(guaranteed.events.map(({ contract, name }) => `${contract} ${name}`)).toEqual([
      "Trading TpUpdated",
      "Trading SlUpdateInitiated",
      "PriceAggregator PriceReceived",
      "TradingCallbacks SlUpdated",
    ]);
  });

  it("keeps its notional when its margin changes, and gives up none that it needs", async () => {
    await open();
    await world.chain.mine(2);
    const update = (type: 0 | 1, amount: bigint, bytes: readonly string[] = ["0x01"]) =>
      trader.write("Trading", "updateMargin", [ETH, 0, type, amount, bytes, 1], 1n);
    const { events } = await update(0, 100_450_000n);
    const stored = { initialPosToken: 200_000_000n, leverage: 49_775_000_000n };
    expect(events.find(({ name }) => name === "MarginUpdated")?.args).toMatchObject({ _type: 0, newTrade: stored });
    expect(await world.read("TradingStorage", "openTrades", [trader.address, ETH, 0])).toMatchObject(stored);
    expect(await world.usdc(trader.address)).toBe("99799.55");
    await world.chain.mine(2);
    await expect(update(1, 195_000_000n)).rejects.toThrow("LEVERAGE_INCORRECT");
    await world.setPrices({ [ETH]: "2800" });
    await expect(update(1, 150_000_000n)).rejects.toThrow("W_T_B");
    await update(1, 50_000_000n);
    expect(await world.usdc(trader.address)).toBe("99849.55");
    await trader.opened({ ...ORDER, price: "2800", type: "MARKET_ZERO_FEE", leverage: "100" });
    await world.chain.mine(2);
    const args = [ETH, 1, 1, 1_000_000n, ["0x01"]];
    await expect(trader.write("Trading", "updateMargin", args, 1n)).rejects.toThrow("NOT_ALLOWED");
  });
});
