/** What the local venuefive computes is what the real one published: liquidation prices, closed trades, rollover. */
import { type Hex, parseUnits } from "viem";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import fixture from "../fixtures/samples.json" with { type: "json" };
import { FEES, scaled } from "../pairs.js";
import { startVenuefive, type VenuefiveWorld } from "../world.js";
import { eventsSince, startTrader, type VenuefiveTrader } from "./trader.js";

const ETH = 0;
const E10 = 10n ** 10n;

let world: VenuefiveWorld;
let trader: VenuefiveTrader;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n, startSeconds: 1_758_710_000 });
  trader = await startTrader(world, 1);
});
afterAll(() => world.stop());
beforeEach(() => world.snapshot());

interface Row {
  readonly rolloverFee: bigint;
  readonly liquidationPrice: bigint;
}
async function firstRow(): Promise<Row> {
  type Rows = readonly [readonly [Row]];
  return (await world.read<Rows>("Multicall", "getPositionsForPairIndexes", [trader.address, ETH, ETH + 1, 1]))[0][0];
}

/** So that the position pays just that fee: its accumulator grows in parts of the notional. */
async function addRollover(fee: bigint, notional: bigint): Promise<void> {
  const grown = (fee * E10 + notional - 1n) / notional;
  await world.turn("PairInfos", "addRollover", [ETH, grown, grown]);
}

describe("a liquidation price", () => {
  it.each(fixture.liquidation.samples)("of $openPrice, long $buy, is $expected", async (sample) => {
    const { openPrice, buy, collateral, leverage, rolloverFee, expected } = sample;
    const args = [BigInt(openPrice), buy, BigInt(collateral), BigInt(leverage), BigInt(rolloverFee)];
    expect(await world.read("PairInfos", "getTradeLiquidationPricePure", args)).toBe(BigInt(expected));
  });

  it("of an open position has its own rollover fee in it", async () => {
    await world.turn("PairStorage", "setFees", [0, { ...FEES, openFeeP: 0n }]);
    await world.setPrices({ [ETH]: "44.3574692469" });
    await trader.opened({ pairIndex: ETH, isLong: false, collateral: "2000", leverage: "10", price: "44.3574692469" });
    await addRollover(10_908n, 20_000_000_000n);
    expect(await firstRow()).toMatchObject({ rolloverFee: 10_908n, liquidationPrice: 481_278_299_403n });
    // The fee grows by the block too, of what is open, and not of a position without fees.
    await world.turn("PairInfos", "setRolloverFeePerBlockP", [1000n]);
    await world.chain.mine(3);
    expect((await firstRow()).rolloverFee).toBe(10_908n + 6_000n);
  });
});

describe("a closed trade", () => {
  it.each(fixture.closes.samples)("of $symbol at $closePrice pays $sent, as it was published", async (sample) => {
    const { buy, leverage, openPrice, closePrice, held, closed, closeFeeP, rollover } = sample;
    await world.turn("PairStorage", "setFees", [0, { ...FEES, openFeeP: 0n, closeFeeP: scaled(closeFeeP) }]);
    await world.setPrices({ [ETH]: openPrice });
    await trader.opened({ pairIndex: ETH, isLong: buy, collateral: held, leverage, price: openPrice });
    const amount = parseUnits(closed, 6);
    await addRollover(parseUnits(rollover, 6), (amount * scaled(leverage)) / E10);
    await world.setPrices({ [ETH]: closePrice });
    const { receipt } = await trader.close(ETH, 0, amount);
    await world.keeper.round();
    const events = await eventsSince(world, receipt.blockNumber + 1n);
    const args = (name: string) => events.find((event) => event.name === name)?.args;
    const off = (value: unknown, expected: string) => Math.abs(Number((value as bigint) - parseUnits(expected, 6)));
    expect(off(args("FeesCharged")?.["fee"], sample.closingFee)).toBeLessThanOrEqual(1);
    expect(off(args("MarketExecuted")?.["usdcSentToTrader"], sample.sent)).toBeLessThanOrEqual(1);
    const left = await world.read<{ initialPosToken: bigint }>("TradingStorage", "openTrades", [
      ...[trader.address as Hex, ETH, 0],
    ]);
    expect(left.initialPosToken).toBe(parseUnits(held, 6) - amount);
  });

  it("counts only the unprotected part of a loss where the pair protects that tier", async () => {
    await world.turn("PairStorage", "setFees", [0, { ...FEES, openFeeP: 0n, closeFeeP: 0n }]);
    await world.turn("PairStorage", "setLossProtection", [ETH, 1, 8]);
    await world.turn("PairInfos", "setLossProtectionTier", [1]);
    await world.setPrices({ [ETH]: "3000" });
    await trader.opened({ pairIndex: ETH, collateral: "100", leverage: "10", price: "3000" });
    await world.setPrices({ [ETH]: "2850" });
    await trader.close(ETH, 0, 100_000_000n);
    await world.keeper.round();
    expect(await world.usdc(trader.address)).toBe("99954");
  });
});
