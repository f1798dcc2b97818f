/** Each operation of the client against the contracts: what it resolves with, and what is on the chain then. */
import { parseUnits } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import fixture from "../../../client/venuefive/fixtures/calldata.json" with { type: "json" };
import type { OpenPositionParameters } from "../../../client/venuefive/open-order.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { FEE_WEI, keyClients, nextKey, ORDER, refusal, type Stand, startStand } from "./stand.js";

const BTC = 1;
const HASH = /^0x[0-9a-f]{64}$/;

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n });
});
afterAll(() => world.stop());

interface Trade {
  readonly initialPosToken: bigint;
  readonly leverage: bigint;
  readonly buy: boolean;
  readonly tp: bigint;
  readonly sl: bigint;
}
const tradeOf = (stand: Stand, index = 0) =>
  world.read<Trade>("TradingStorage", "openTrades", [stand.address, BTC, index]);
const steps = ({ steps: all }: Stand) => all.map(({ step }) => step);
/** An open position, and what the test sees begins after it. */
async function opened(more: Partial<OpenPositionParameters> = {}, options = {}): Promise<Stand> {
  const stand = await startStand(world, options);
  await stand.trading.openPosition({ ...ORDER, ...more });
  await world.keeper.round();
  stand.steps.length = 0;
  stand.wallet.asked.length = 0;
  return stand;
}
const oracle = { getPriceUpdate: async () => ({ priceUpdateData: ["0xcafe"], priceSourcing: 1 }) as const };

describe("opening a position", () => {
  it("approves the collateral for the storage, opens, and resolves with the fields of the interface spec", async () => {
    const stand = await startStand(world);
    const result = await stand.trading.openPosition(ORDER);
    expect(result).toEqual({
      txHash: expect.stringMatching(HASH),
      ...{ symbol: "BTC", direction: "LONG", size: "0.0108225108", leverage: 10 },
    });
    expect(stand.signed()).toEqual(["approve", "openTrade"]);
    expect(stand.steps).toEqual([
      ...[{ operation: "openPosition", step: "approve", spender: world.addresses.TradingStorage, amount: "100" }],
      ...[{ operation: "openPosition", step: "approve-mined", txHash: expect.stringMatching(HASH) }],
      ...[{ operation: "openPosition", step: "sign" }],
      ...[{ operation: "openPosition", step: "sent", txHash: result.txHash, replaces: null }],
      {
        ...{ operation: "openPosition", step: "mined", txHash: result.txHash },
        ...{ blockNumber: expect.stringMatching(/^\d+$/), orderId: expect.stringMatching(/^\d+$/) },
      },
    ]);
    const mined = stand.steps.at(-1) as { orderId: string };
    expect((await world.keeper.round()).executed.map(String)).toContain(mined.orderId);
    expect(await tradeOf(stand)).toMatchObject({ initialPosToken: 99_550_000n, leverage: 100_000_000_000n, buy: true });
    expect(await world.usdc(stand.address)).toBe("9900");
    expect(await world.read("Usdc", "allowance", [stand.address, world.addresses.TradingStorage])).toBe(0n);
  });

  it("approves once where it may approve for ever, and not where there is enough", async () => {
    const stand = await startStand(world, { approve: "max" });
    await stand.trading.openPosition(ORDER);
    await stand.trading.openPosition(ORDER);
    expect(stand.signed()).toEqual(["approve", "openTrade", "openTrade"]);
    expect(stand.steps[0]).toMatchObject({ step: "approve", amount: "max" });
  });

  it("sends the published bytes for the published inputs", async () => {
    const vectors = fixture.vectors.filter(({ group }) => group === "openTrade");
    expect(vectors).toHaveLength(3);
    // The account of the vectors, whose key every local chain knows.
    const key = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
    const stand = await startStand(world, { key });
    for (const { input, account, expected } of vectors) {
      expect(account).toBe(stand.address);
      await stand.trading.openPosition(input as OpenPositionParameters);
      expect(stand.wallet.asked.at(-1)).toMatchObject({ data: expected.data, value: FEE_WEI });
    }
  });

  it("places limit and stop orders and orders without fees under their numbers", async () => {
    const stand = await startStand(world);
    await stand.trading.openPosition({ ...ORDER, orderType: "LIMIT", openPrice: "90000" });
    expect(stand.steps.at(-1)).toMatchObject({ step: "mined", orderId: null });
    await stand.trading.openPosition({ ...ORDER, orderType: "STOP_LIMIT", openPrice: "95000" });
    await stand.trading.openPosition({ ...ORDER, orderType: "MARKET_ZERO_FEE", leverage: 100 });
    await world.keeper.round();
    expect(await tradeOf(stand)).toMatchObject({ initialPosToken: 100_000_000n, leverage: 1_000_000_000_000n });
    const types = [0, 1].map((index) =>
      world.read<number>("TradingStorage", "openLimitOrderTypes", [stand.address, BTC, index]),
    );
    expect(await Promise.all(types)).toEqual([2, 1]);
  });

  it("waits for the keeper where it is asked to, and shows the price of the execution", async () => {
    const stand = await startStand(world, { waitFor: "executed" });
    const { txHash } = await stand.trading.openPosition(ORDER, {
      onStep: ({ step }) => {
        if (step === "mined") void world.keeper.round();
      },
    });
    expect(stand.steps.at(-1)).toMatchObject({
      ...{ step: "executed", txHash, price: "92400", executedTxHash: expect.stringMatching(HASH) },
    });
    expect((await tradeOf(stand)).initialPosToken).toBe(99_550_000n);
  });

  it("works with a key of this process over HTTP, and pays the fee by the gas price", async () => {
    const key = nextKey();
    const { walletClient, publicClient, account } = keyClients(world, key);
    const stand = await startStand(world, { key, walletClient, publicClient, executionFeeWei: undefined });
    const gasPrice = await publicClient.getGasPrice();
    const { txHash } = await stand.trading.openPosition(ORDER);
    await stand.trading.openPosition(ORDER);
    const sent = await publicClient.getTransaction({ hash: txHash });
    const paid = { low: 935_000n * (gasPrice / 2n), high: 935_000n * gasPrice * 2n };
    expect(sent.value > paid.low && sent.value < paid.high).toBe(true);
    expect((sent.value - 5_000_000_000n) % 935_000n).toBe(0n);
    expect(await publicClient.getTransactionCount({ address: account.address })).toBe(4);
    expect(stand.signed()).toEqual([]);
  });

  it("finds the account of a wallet client that names none", async () => {
    const stand = await startStand(world);
    const { account: _, ...nameless } = stand.wallet.client();
    const trading = stand.with({ walletClient: nameless as never });
    expect((await trading.openPosition(ORDER)).txHash).toMatch(HASH);
  });
});

describe("closing", () => {
  it("takes the whole stored collateral where no amount is given", async () => {
    const stand = await opened();
    const txHash = await stand.trading.closePosition({ pairIndex: BTC, tradeIndex: 0 });
    expect(txHash).toMatch(HASH);
    expect(stand.signed()).toEqual(["closeTradeMarket"]);
    expect(BigInt(`0x${stand.wallet.asked[0]?.data.slice(-64)}`)).toBe(99_550_000n);
    await world.keeper.round();
    expect((await tradeOf(stand)).leverage).toBe(0n);
  });

  it("takes a part, and waits for the keeper where it is asked to", async () => {
    const stand = await opened();
    const close = { pairIndex: BTC, tradeIndex: 0, closeAmountUsdc: "40.5" };
    await stand.trading.closePosition(close, {
      waitFor: "executed",
      onStep: ({ step }) => {
        if (step === "mined") void world.keeper.round();
      },
    });
    expect((await tradeOf(stand)).initialPosToken).toBe(59_050_000n);
    expect(steps(stand)).toEqual(["sign", "sent", "mined", "executed"]);
  });

  it("by symbol closes the lowest of several whole, and says how many there are", async () => {
    const stand = await opened();
    await stand.trading.openPosition({ ...ORDER, direction: "SHORT" });
    await stand.trading.openPosition({ ...ORDER, leverage: 20 });
    await world.keeper.round();
    stand.steps.length = 0;
    expect(await stand.trading.closeBySymbol("btc", "LONG")).toMatch(HASH);
    const matched = { step: "matched", operation: "closeBySymbol", pairIndex: BTC, tradeIndex: 0, matchCount: 2 };
    expect(stand.steps[0]).toEqual(matched);
    // The one that is being closed already is not closed again.
    expect(await stand.trading.closeBySymbol("BTC", "LONG")).toMatch(HASH);
    await world.keeper.round();
    const leverages = [0, 1, 2].map(async (index) => (await tradeOf(stand, index)).leverage);
    expect(await Promise.all(leverages)).toEqual([0n, 100_000_000_000n, 0n]);
    expect(await refusal(stand.trading.closeBySymbol("BTC", "LONG"))).toMatchObject({ code: "NO_POSITION" });
  });
});

describe("limit orders", () => {
  const LIMIT = { ...ORDER, orderType: "LIMIT", openPrice: "90000", tp: "99000", sl: "85000" } as const;

  it("are changed in what is given alone, and canceled with their collateral back", async () => {
    const stand = await startStand(world);
    await stand.trading.openPosition(LIMIT);
    await world.chain.mine(2);
    const slot = { pairIndex: BTC, orderIndex: 0 };
    expect(await stand.trading.updateLimitOrder({ ...slot, price: "89000.5", sl: "0" })).toMatch(HASH);
    expect(await world.read("TradingStorage", "getOpenLimitOrder", [stand.address, BTC, 0])).toMatchObject({
      ...{ price: parseUnits("89000.5", 10), tp: parseUnits("99000", 10), sl: 0n, slippageP: 3_000_000_000n },
    });
    const early = await refusal(stand.trading.cancelLimitOrder(slot));
    expect(early).toMatchObject({ code: "REVERTED", outcome: "notSent", details: { reason: "LIMIT_TIMELOCK" } });
    await world.chain.mine(2);
    expect(await stand.trading.cancelLimitOrder(slot)).toMatch(HASH);
    expect(await world.usdc(stand.address)).toBe("10000");
    expect(stand.signed()).toEqual(["approve", "openTrade", "updateOpenLimitOrder", "cancelOpenLimitOrder"]);
  });

  it("keep their triggers on the right side", async () => {
    const stand = await startStand(world);
    await stand.trading.openPosition(LIMIT);
    const change = stand.trading.updateLimitOrder({ pairIndex: BTC, orderIndex: 0, price: "84000" });
    expect(await refusal(change)).toMatchObject({ code: "INVALID_STOP_LOSS" });
    expect(await refusal(stand.trading.cancelLimitOrder({ pairIndex: BTC, orderIndex: 1 }))).toMatchObject({
      code: "NO_LIMIT_ORDER",
    });
    expect(stand.signed()).toEqual(["approve", "openTrade"]);
  });
});

describe("changes of a position", () => {
  it("move margin in after an approval, and out without one", async () => {
    const stand = await opened({}, oracle);
    await world.chain.mine(2);
    const slot = { pairIndex: BTC, tradeIndex: 0 };
    await stand.trading.updateMargin({ ...slot, type: "DEPOSIT", amountUsdc: "50" });
    expect((await tradeOf(stand)).initialPosToken).toBe(149_550_000n);
    await world.chain.mine(2);
    await stand.trading.updateMargin({ ...slot, type: "WITHDRAW", amountUsdc: "20.25" });
    expect((await tradeOf(stand)).initialPosToken).toBe(129_300_000n);
    expect(stand.signed()).toEqual(["approve", "updateMargin", "updateMargin"]);
    expect(stand.wallet.asked.map(({ value }) => value)).toEqual([0n, 1n, 1n]);
  });

  it("set one trigger and keep the other", async () => {
    const stand = await opened({ sl: "90000", tp: "99000" }, oracle);
    const slot = { pairIndex: BTC, tradeIndex: 0 };
    await world.chain.mine(2);
    await stand.trading.updateTpAndSl({ ...slot, sl: "91000" });
    const wanted = { sl: parseUnits("91000", 10), tp: parseUnits("99000", 10) };
    expect(await tradeOf(stand)).toMatchObject(wanted);
    await world.chain.mine(2);
    await stand.trading.updateTpAndSl({ ...slot, tp: "98000" });
    expect(await tradeOf(stand)).toMatchObject({ ...wanted, tp: parseUnits("98000", 10) });
    expect(stand.signed()).toEqual(["updateTpAndSl", "updateTpAndSl"]);
  });

  it.each([
    ["no source of prices", {}],
    ["no bytes", { getPriceUpdate: async () => ({ priceUpdateData: [], priceSourcing: 0 }) }],
    ["empty bytes", { getPriceUpdate: async () => ({ priceUpdateData: ["0x"], priceSourcing: 0 }) }],
    ["an unknown source", { getPriceUpdate: async () => ({ priceUpdateData: ["0x01"], priceSourcing: 2 }) }],
    ["a source that fails", { getPriceUpdate: () => Promise.reject(new Error("no feed")) }],
  ])("are refused with %s, since the stop loss would silently stay", async (_, options) => {
    const stand = await opened({}, options);
    const slot = { pairIndex: BTC, tradeIndex: 0 };
    const missing = { code: "PRICE_UPDATE_MISSING", outcome: "notSent" };
    expect(await refusal(stand.trading.updateTpAndSl({ ...slot, sl: "90000" }))).toMatchObject(missing);
    const margin = { ...slot, type: "DEPOSIT", amountUsdc: "5" } as const;
    expect(await refusal(stand.trading.updateMargin(margin))).toMatchObject(missing);
    expect(stand.signed()).toEqual([]);
  });
});
