/** The local venuefive as a world: how blocks come, what is undone, what its levers change while it runs. */
import { afterEach, describe, expect, it } from "vitest";
import { SPEC_PAIRS, withFillers } from "../pairs.js";
import { startVenuefive, type VenuefiveOptions, type VenuefiveWorld } from "../world.js";
import { openArgs, startTrader } from "./trader.js";

const [ETH, BTC] = [0, 1];
const ORDER = { pairIndex: BTC, collateral: "100", leverage: "10", price: "92400" } as const;

const running: VenuefiveWorld[] = [];
async function start(options: VenuefiveOptions = {}): Promise<VenuefiveWorld> {
  const world = await startVenuefive(options);
  running.push(world);
  return world;
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((world) => world.stop()));
});

type Pair = readonly [from: string, to: string];
const pairData = async (world: VenuefiveWorld, index: number) =>
  (await world.read<Pair>("PairStorage", "getPairData", [index])).slice(0, 2);

describe("the local venuefive", () => {
  it("answers as chain 8453 with the pairs of the interface spec, and takes more and other names while it runs", async () => {
    const world = await start();
    expect(Number(await world.chain.rpc("eth_chainId"))).toBe(8453);
    expect(await world.read("PairStorage", "pairsCount")).toBe(51n);
    expect(SPEC_PAIRS.length).toBe(51);
    expect([await pairData(world, 21), await pairData(world, 50)]).toEqual([
      ["PEPE", "USD"],
      ["EIGEN", "USD"],
    ]);
    await world.turn("PairStorage", "renamePair", [21, "XAU"]);
    await world.addPairs([{ symbol: "NEW", price: "2", leverageMax: 20, hasZeroFee: false }]);
    expect([await pairData(world, 21), await pairData(world, 51)]).toEqual([
      ["XAU", "USD"],
      ["NEW", "USD"],
    ]);
    const trader = await startTrader(world, 1);
    expect(await trader.opened({ ...ORDER, pairIndex: 51, price: "2" })).toBe(0);
  });

  it("shows all slots of 112 pairs in one read, and nothing of what is empty", async () => {
    const world = await start({ pairs: withFillers(112) });
    const trader = await startTrader(world, 1);
    await trader.opened({ ...ORDER, pairIndex: 111, price: "1" });
    type Rows = readonly [readonly { readonly trade: { readonly leverage: bigint } }[], readonly unknown[]];
    const [rows, orders] = await world.read<Rows>("Multicall", "getPositions", [trader.address]);
    expect([rows.length, orders.length]).toEqual([112 * 40, 112 * 40]);
    expect(rows.flatMap(({ trade }, at) => (trade.leverage > 0n ? [at] : []))).toEqual([111 * 40]);
  });

  it("makes blocks by hand alone where it is asked to: what a trader sends waits, and a reorg forgets it", async () => {
    const world = await start({ mining: { kind: "manual" }, rolloverFeePerBlock: 0n });
    const trader = await startTrader(world, 1);
    const seconds = async () =>
      Number(((await world.chain.rpc("eth_getBlockByNumber", ["latest", false])) as { timestamp: string }).timestamp);
    const before = await seconds();
    await world.chain.mine(3);
    expect(await seconds()).toBe(before + 6);
    await world.passSeconds(100);
    expect(await seconds()).toBe(before + 106);
    await trader.opened(ORDER);
    const count = () => world.read("TradingStorage", "openTradesCount", [trader.address, BTC]);
    expect(await count()).toBe(1n);
    // The newest block holds the keeper's execution: without it the order waits again, and is executed again.
    await world.chain.reorg(1);
    expect(await count()).toBe(0n);
    expect((await world.keeper.round()).executed).toHaveLength(1);
    expect(await count()).toBe(1n);
  });

  it("makes blocks by time where it is asked to, for whatever keeper and traders send", async () => {
    const world = await start({ mining: { kind: "interval", seconds: 1 } });
    const trader = await startTrader(world, 1);
    expect(await trader.opened(ORDER)).toBe(0);
  });

  it("is the same in every run, addresses and all", async () => {
    const [one, other] = [await start({ startSeconds: 1_700_000_000 }), await start({ startSeconds: 1_700_000_000 })];
    const run = async (world: VenuefiveWorld) => {
      const trader = await startTrader(world, 1);
      await trader.write("Trading", "openTrade", openArgs(trader.address, { ...ORDER, pairIndex: ETH, price: "3180" }));
      await world.keeper.round();
      return world.read("TradingStorage", "openTrades", [trader.address, ETH, 0]);
    };
    expect(await run(one)).toEqual(await run(other));
  });
});
