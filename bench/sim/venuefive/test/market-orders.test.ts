/** Market orders of the local venuefive against the fact sheet: two steps, the swap of fields, what a keeper does with them. */
import { encodeFunctionData, type Hex, parseUnits } from "viem";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { VENUEFIVE_CONTRACTS } from "../contracts/artifacts.js";
import { startVenuefive, type VenuefiveWorld } from "../world.js";
import {
  EXECUTION_FEE_WEI,
  eventsSince,
  openArgs,
  startTrader,
  type VenueEvent,
  type VenuefiveTrader,
} from "./trader.js";

const BTC = 1;
const GIVE_UP_BLOCKS = 10;
const LONG = { pairIndex: BTC, collateral: "100", leverage: "10", price: "65000" } as const;
/** 0.045 % of a notional of 1000. */
const OPENED = 99_550_000n;

interface StoredTrade {
  readonly initialPosToken: bigint;
  readonly positionSizeUSDC: bigint;
  readonly openPrice: bigint;
  readonly leverage: bigint;
  readonly tp: bigint;
  readonly timestamp: bigint;
}

let world: VenuefiveWorld;
let traderCount = 0;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n, giveUpBlocks: GIVE_UP_BLOCKS, startSeconds: 1_758_710_000 });
});
afterAll(() => world.stop());
/** Each test has the chain as it was deployed. */
beforeEach(() => world.snapshot());

/** A price of BTC, and somebody new who trades at it. */
async function traderAt(price: string): Promise<VenuefiveTrader> {
  await world.setPrices({ [BTC]: price });
  return startTrader(world, ++traderCount);
}
const trade = (trader: VenuefiveTrader, index = 0, pairIndex = BTC) =>
  world.read<StoredTrade>("TradingStorage", "openTrades", [trader.address, pairIndex, index]);
const isBeingClosed = async (trader: VenuefiveTrader) =>
  (await world.read<{ beingMarketClosed: boolean }>("TradingStorage", "openTradesInfo", [trader.address, BTC, 0]))
    .beingMarketClosed;
const pendingIds = (trader: VenuefiveTrader) =>
  world.read<bigint[]>("TradingStorage", "getPendingOrderIds", [trader.address]);
const named = (events: readonly VenueEvent[], name: string) => events.filter((event) => event.name === name);
const blockTime = async (): Promise<bigint> =>
  BigInt(((await world.chain.rpc("eth_getBlockByNumber", ["latest", false])) as { timestamp: string }).timestamp);

describe("a market order to open", () => {
  it("only queues, and its execution swaps the two fields and takes the fee from the collateral", async () => {
    const trader = await traderAt("65000");
    const { events, receipt } = await trader.open({ ...LONG, sl: "60000" });
    const [initiated] = named(events, "MarketOrderInitiated");
    const orderId = initiated?.args["orderId"];
    expect(initiated).toMatchObject({
      contract: "Trading",
      args: { trader: trader.address, pairIndex: 1n, open: true, isBuy: true, isPnl: false, leverage: 10n ** 11n },
    });
    expect(initiated?.args["initialPosToken"]).toBe(100_000_000n);
    expect((await trade(trader)).leverage).toBe(0n);
    expect(await pendingIds(trader)).toEqual([orderId]);
    expect(await world.usdc(trader.address)).toBe("99900");

    expect(await world.keeper.round()).toMatchObject({ executed: [orderId], waiting: [] });
    const seconds = await blockTime();
    const stored = await trade(trader);
    expect(stored).toMatchObject({
      trader: trader.address,
      initialPosToken: OPENED,
      positionSizeUSDC: seconds,
      timestamp: seconds,
      openPrice: 650_000_000_000_000n,
      sl: 600_000_000_000_000n,
    });
    // No take profit became that of the largest gain: 2500 % of the collateral is 250 % of the price at 10x.
    expect(stored.tp).toBe((650_000_000_000_000n * 350n) / 100n);
    const [executed] = named(await eventsSince(world, receipt.blockNumber + 1n), "MarketExecuted");
    expect(executed).toEqual({
      contract: "TradingCallbacks",
      name: "MarketExecuted",
      args: {
        orderId,
        t: stored,
        open: true,
        price: 650_000_000_000_000n,
        positionSizeUSDC: OPENED,
        percentProfit: 0n,
        usdcSentToTrader: 0n,
        isPnl: false,
      },
    });
    expect(await world.read("TradingStorage", "openTradesInfo", [trader.address, BTC, 0])).toMatchObject({
      openInterestUSDC: 995_500_000n,
      beingMarketClosed: false,
    });
    expect(await pendingIds(trader)).toEqual([]);
  });

  it("takes the collateral through the storage's allowance, not that of Trading", async () => {
    const trader = await traderAt("65000");
    await trader.approve("0");
    await trader.approve("1000", world.addresses.Trading);
    await expect(trader.open(LONG)).rejects.toThrow("ERC20: transfer amount exceeds allowance");
    await trader.approve("100");
    await trader.open(LONG);
    await expect(trader.open(LONG)).rejects.toThrow("ERC20: transfer amount exceeds allowance");
    await trader.approve("1000000");
    await expect(trader.open({ ...LONG, collateral: "99901" })).rejects.toThrow(
      "ERC20: transfer amount exceeds balance",
    );
    await world.keeper.round();
  });

  it("waits beyond its slippage, and fills once the price is back", async () => {
    const trader = await traderAt("65195.0000000001");
    await trader.open(LONG);
    const [orderId] = await pendingIds(trader);
    expect(await world.keeper.round()).toMatchObject({ executed: [], waiting: [{ orderId, reason: "HIGH_SLIPPAGE" }] });
    // 0.3 % above the price that was wanted.
    await world.setPrices({ [BTC]: "65195" });
    expect(await world.keeper.round()).toMatchObject({ executed: [orderId] });
    expect((await trade(trader)).openPrice).toBe(651_950_000_000_000n);
  });

  it("comes back whole but for the execution fee when the keeper gives up, in the storage's own event", async () => {
    const trader = await traderAt("70000");
    const keeper = await world.read<Hex>("Trading", "operator");
    const coins = async () => BigInt((await world.chain.rpc("eth_getBalance", [keeper, "latest"])) as string);
    const before = await coins();
    const { receipt } = await trader.open(LONG);
    expect((await coins()) - before).toBe(EXECUTION_FEE_WEI);
    const [orderId] = await pendingIds(trader);
    await world.chain.mine(GIVE_UP_BLOCKS - 1);
    expect(await world.keeper.round()).toMatchObject({ waiting: [{ orderId }], canceled: [] });
    await world.chain.mine(1);
    expect(await world.keeper.round()).toMatchObject({ waiting: [], canceled: [orderId] });
    expect(await world.usdc(trader.address)).toBe("100000");
    expect(named(await eventsSince(world, receipt.blockNumber + 1n), "MarketOpenCanceled")).toEqual([
      {
        contract: "TradingStorage",
        name: "MarketOpenCanceled",
        args: { orderId, trader: trader.address, pairIndex: 1n },
      },
    ]);
    expect((await trade(trader)).leverage).toBe(0n);
  });

  it("waits where the venue's open interest would grow beyond its cap, or where there is no price", async () => {
    const trader = await traderAt("0");
    await trader.open(LONG);
    expect(await world.keeper.round()).toMatchObject({ waiting: [{ reason: "HIGH_SLIPPAGE" }] });
    await world.setPrices({ [BTC]: "65000" });
    await world.turn("TradingStorage", "setMaxOpenInterest", [0n]);
    expect(await world.keeper.round()).toMatchObject({ waiting: [{ reason: "EXPOSURE_LIMITS_BREACHED" }] });
  });

  it("has a refusing keeper's nothing, until it works again or is made to cancel", async () => {
    const trader = await traderAt("65000");
    await world.keeper.round();
    world.keeper.refuse();
    await trader.open(LONG);
    await trader.open(LONG);
    const [first = 0n, second] = await pendingIds(trader);
    expect(await world.keeper.round()).toEqual({ executed: [], waiting: [], canceled: [], triggered: [] });
    await world.keeper.cancel(first);
    expect(await pendingIds(trader)).toEqual([second]);
    expect(await world.usdc(trader.address)).toBe("99900");
    world.keeper.refuse(false);
    expect(await world.keeper.round()).toMatchObject({ executed: [second] });
  });

  it("without fees keeps the collateral whole, gives a share of a profit, and pays nothing on a loss", async () => {
    const trader = await traderAt("65000");
    const zeroFee = { ...LONG, leverage: "100", type: "MARKET_ZERO_FEE" } as const;
    expect(await trader.opened(zeroFee)).toBe(0);
    expect(await trader.opened(zeroFee)).toBe(1);
    expect(await world.read("PairStorage", "getPosType", [trader.address, BTC, 0])).toBe(true);
    expect(await trade(trader)).toMatchObject({ initialPosToken: 100_000_000n });
    // 1 % of the price is 100 % of the collateral, of which that tier keeps 25 %: the first above it.
    await world.setPrices({ [BTC]: "65650" });
    const { events } = await trader.close(BTC, 0, 100_000_000n);
    expect(named(events, "MarketOrderInitiated")).toMatchObject([{ args: { open: false, isPnl: true } }]);
    await world.keeper.round();
    expect(await world.usdc(trader.address)).toBe("99975");
    await world.setPrices({ [BTC]: "64675" });
    await trader.close(BTC, 1, 100_000_000n);
    await world.keeper.round();
    expect(await world.usdc(trader.address)).toBe("100025");
  });

  it("goes to the first free slot, which a close gives back", async () => {
    const trader = await traderAt("65000");
    expect([await trader.opened(LONG), await trader.opened(LONG), await trader.opened(LONG)]).toEqual([0, 1, 2]);
    const before = (await trade(trader, 1)).timestamp;
    await trader.close(BTC, 1, OPENED);
    await world.keeper.round();
    expect((await trade(trader, 1)).leverage).toBe(0n);
    expect((await trade(trader, 2)).leverage).not.toBe(0n);
    expect(await world.read("TradingStorage", "openTradesCount", [trader.address, BTC])).toBe(2n);
    expect(await trader.opened({ ...LONG, isLong: false })).toBe(1);
    expect((await trade(trader, 1)).timestamp).toBeGreaterThan(before);
    type Rows = readonly [readonly { trade: { leverage: bigint; index: bigint; buy: boolean } }[], readonly unknown[]];
    const [rows, orders] = await world.read<Rows>("Multicall", "getPositionsForPairIndexes", [
      ...[trader.address, 0, 2, 40],
    ]);
    // One entry for each slot of both pairs; the empty ones are zero.
    expect([rows.length, orders.length]).toEqual([80, 80]);
    expect(rows.flatMap(({ trade: row }, at) => (row.leverage > 0n ? [[at, row.index, row.buy]] : []))).toEqual([
      [40, 0n, true],
      [41, 1n, false],
      [42, 2n, true],
    ]);
    expect(rows[0]?.trade).toMatchObject({ trader: `0x${"0".repeat(40)}`, pairIndex: 0n, leverage: 0n });
  });
});

describe("a market order to close", () => {
  it("of a part sends what the formula says of it and leaves the rest open", async () => {
    const trader = await traderAt("65000");
    await trader.opened(LONG);
    await world.setPrices({ [BTC]: "66300" });
    const before = await trade(trader);
    const { receipt } = await trader.close(BTC, 0, 40_000_000n);
    expect(await isBeingClosed(trader)).toBe(true);
    await world.keeper.round();
    // gross = 40 * 10 * 2 %; fee = 0.045 % of (400 + 8).
    const sent = 40_000_000n + 8_000_000n - 183_600n;
    const [executed] = named(await eventsSince(world, receipt.blockNumber + 1n), "MarketExecuted");
    expect(executed).toMatchObject({
      args: {
        open: false,
        t: before,
        price: 663_000_000_000_000n,
        positionSizeUSDC: 40_000_000n,
        percentProfit: parseUnits("20", 10),
        usdcSentToTrader: sent,
      },
    });
    expect(await world.usdc(trader.address)).toBe("99947.8164");
    expect(await trade(trader)).toEqual({ ...before, initialPosToken: OPENED - 40_000_000n });
    expect(await isBeingClosed(trader)).toBe(false);
    expect(await world.read("TradingStorage", "openTradesInfo", [trader.address, BTC, 0])).toMatchObject({
      openInterestUSDC: 595_500_000n,
    });
  });

  it("stays where the keeper gives it up, and only the mark of being closed goes", async () => {
    const trader = await traderAt("65000");
    await trader.opened(LONG);
    await trader.close(BTC, 0, OPENED);
    const [orderId = 0n] = await pendingIds(trader);
    await expect(trader.close(BTC, 0, OPENED)).rejects.toThrow("ALREADY_BEING_CLOSED");
    await world.keeper.cancel(orderId);
    expect([await isBeingClosed(trader), (await trade(trader)).initialPosToken]).toEqual([false, OPENED]);
    expect(await world.usdc(trader.address)).toBe("99900");
  });

  it("of a position that was liquidated first ends as canceled, in the callbacks' event", async () => {
    const trader = await traderAt("65000");
    await trader.opened(LONG);
    const { receipt } = await trader.close(BTC, 0, OPENED);
    await world.setPrices({ [BTC]: "59475" });
    const gov = await world.read<Hex>("Trading", "gov");
    await world.turn("Trading", "updateOperator", [gov, true]);
    await world.turn("Trading", "executeLimitOrder", [2, trader.address, BTC, 0, [], 0]);
    await world.keeper.round();
    const events = await eventsSince(world, receipt.blockNumber + 1n);
    expect(named(events, "LimitExecuted")).toMatchObject([{ args: { orderType: 2, usdcSentToTrader: 0n } }]);
    expect(named(events, "MarketOpenCanceled")).toMatchObject([
      { contract: "TradingCallbacks", args: { trader: trader.address, pairIndex: 1n } },
    ]);
    expect(await pendingIds(trader)).toEqual([]);
  });

  it("may come from the trader's delegate, on the trader's position and at the trader's profit", async () => {
    const [trader, delegate] = [await traderAt("65000"), await startTrader(world, ++traderCount, "0")];
    const data = (functionName: string, args: readonly unknown[]) =>
      encodeFunctionData({ abi: VENUEFIVE_CONTRACTS.Trading.abi, functionName, args });
    const act = (inner: Hex) =>
      delegate.write("Trading", "delegatedAction", [trader.address, inner], EXECUTION_FEE_WEI);
    const open = data("openTrade", openArgs(trader.address, LONG));
    await expect(act(open)).rejects.toThrow("DELEGATE_NOT_APPROVED");
    await trader.write("Trading", "setDelegate", [delegate.address]);
    await act(open);
    await world.keeper.round();
    expect((await trade(trader)).initialPosToken).toBe(OPENED);
    await expect(act(data("closeTradeMarket", [1n, 0n, OPENED + 1n]))).rejects.toThrow("INV_AMOUNT");
    await act(data("closeTradeMarket", [1n, 0n, OPENED]));
    await world.keeper.round();
    expect((await trade(trader)).leverage).toBe(0n);
    expect(await world.usdc(delegate.address)).toBe("0");
    await trader.write("Trading", "removeDelegate", []);
    await expect(act(open)).rejects.toThrow("DELEGATE_NOT_APPROVED");
  });
});
