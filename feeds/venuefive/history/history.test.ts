/** The history over the local venuefive: what its contracts do is seen in the queries, through a fork and a restart. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClientSignedOrder, ClosedTrade } from "../../../engine/client-signed-room.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import type { StateStore } from "../../../engine/storage/state-store.js";
import { contractCall } from "../../../bench/sim/venuefive/calls.js";
import { startTrader, type VenuefiveTrader } from "../../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../../bench/sim/venuefive/world.js";
import { RpcPool } from "../../shared/chain/rpc-pool.js";
import { encodeFunctionData } from "viem";
import { VenuefiveHistory } from "./history.js";
import { RpcHistoryChain } from "./rpc-chain.js";

const BTC = 1;
/** The node's safe head is an epoch behind its newest block. */
const SAFE_BLOCKS = 33;
const OPTIONS = { timeoutMs: 10_000, lane: "read" } as const;
const TICK_MS = 70_000;
const TURNS_MAX = 1_000_000;
const ALL = { limit: 100, cursor: null, symbol: null } as const;

let world: VenuefiveWorld;
let pool: RpcPool;
let store: StateStore;
let directory: string;
let history: VenuefiveHistory;
let clock: VirtualClock;
let trader: VenuefiveTrader;

beforeAll(async () => {
  world = await startVenuefive({ startSeconds: 1_758_710_000, giveUpBlocks: null });
  const { chainId, rpcUrl } = world;
  const common = { random: createSeededRandom(1), logger: silentLogger };
  // Its clock never moves: a machine that pauses lets no call run out of time.
  const still = new VirtualClock();
  pool = new RpcPool({ chainId, urls: [rpcUrl], callsPerMinute: 100_000_000, clock: still, ...common });
  directory = mkdtempSync(join(tmpdir(), "unwind-venuefive-"));
  openStore();
  await world.setPrices({ [BTC]: "65000" });
  trader = await startTrader(world, 1);
  await world.chain.mine(SAFE_BLOCKS);
  history = begin();
  await history.start();
});
afterAll(async () => {
  await history.stop();
  await store.close();
  await pool.close(0);
  await world.stop();
  rmSync(directory, { recursive: true, force: true });
});

function openStore(): void {
  store = openLmdbStore({ directory, clock: createSystemClock() });
}

function begin(): VenuefiveHistory {
  clock = new VirtualClock();
  return new VenuefiveHistory({
    ...{
      chainId: world.chainId,
      addresses: world.addresses,
      chain: new RpcHistoryChain(pool, async () => pool.endpoints),
      store,
    },
    symbolOf: (pairIndex) => (pairIndex === BTC ? "BTC" : `PAIR_${pairIndex}`),
    isDollarBased: () => false,
    ...{ fromBlock: null, older: null, clock, random: createSeededRandom(1), logger: silentLogger },
  });
}

/** All that was done is safe, and in the index. */
async function indexed(): Promise<void> {
  await world.chain.mine(SAFE_BLOCKS);
  await followed();
}

async function followed(): Promise<void> {
  const { number } = (await world.chain.rpc("eth_getBlockByNumber", ["safe", false])) as { number: string };
  for (let turn = 0; turn < TURNS_MAX && history.status().cursorBlock !== Number(number); turn++) {
    clock.advance(TICK_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(history.status()).toMatchObject({ cursorBlock: Number(number), behindBlocks: 0, problem: null });
}

async function trades(address: string = trader.address): Promise<readonly ClosedTrade[]> {
  const page = await history.readClosedTrades(address, ALL, OPTIONS);
  if (!page.ok) throw new Error(page.message);
  return page.value.rows;
}

async function orders(address: string = trader.address): Promise<readonly ClientSignedOrder[]> {
  const page = await history.readOrders(address, ALL, OPTIONS);
  if (!page.ok) throw new Error(page.message);
  return page.value.rows;
}

async function found(orderId: string, address: string | null = null) {
  const read = await history.findOrder(orderId, address, OPTIONS);
  return read.ok ? read.value : read;
}

const usdcOf = async () => BigInt(Math.round(Number(await world.usdc(trader.address)) * 1e6));
const LONG = { pairIndex: BTC, collateral: "100", leverage: "10", price: "65000" } as const;

describe("closed trades of the local venuefive", () => {
  it("has a part, the rest, a take profit and a liquidation, newest first, with what the trader got for each", async () => {
    const before = await usdcOf();
    const index = await trader.opened(LONG);
    await world.setPrices({ [BTC]: "66000" });
    await trader.close(BTC, index, 40_000_000n);
    await world.keeper.round();
    await trader.close(BTC, index, 59_550_000n);
    await world.keeper.round();
    await trader.opened({ ...LONG, price: "66000", tp: "67000" });
    await world.setPrices({ [BTC]: "67100" });
    await world.keeper.round();
    await trader.opened({ ...LONG, price: "67100", leverage: "50" });
    await world.setPrices({ [BTC]: "65600" });
    await world.keeper.round();
    await indexed();
    const rows = await trades();
    expect(rows.map(({ collateral, isLiquidation }) => [collateral, isLiquidation])).toEqual([
      ["97.75", true],
      ["99.55", false],
      ["59.55", false],
      ["40", false],
    ]);
    const [liquidated, triggered, rest, part] = rows;
    expect(part).toMatchObject({
      ...{ symbol: "BTC", direction: "LONG", entryPrice: "65000", exitPrice: "66000", leverage: "10" },
      // 40 * 10 / 65000, rounded down.
      ...{ size: "0.0061538461", isZeroFee: false },
    });
    expect(rest?.openedAtMs).toBe(part?.openedAtMs);
    expect([triggered?.exitPrice, liquidated?.usdcReceived]).toEqual(["67100", "0"]);
    for (const row of rows) {
      expect(Number(row.realizedPnl)).toBeCloseTo(Number(row.usdcReceived) - Number(row.collateral), 6);
      // A loss of all of it leaves nothing to take a fee of.
      expect(Number(row.fees) > 0).toBe(!row.isLiquidation);
      expect(row.openedAtMs ?? 0).toBeLessThan(row.closedAtMs);
    }
    // Three openings of 100 went out, and all that came back came by a close.
    const received = rows.reduce((sum, { usdcReceived }) => sum + BigInt(Math.round(Number(usdcReceived) * 1e6)), 0n);
    expect((await usdcOf()) - before).toBe(received - 300_000_000n);
  });
});

describe("limit orders of the local venuefive", () => {
  it("are open, canceled and filled, by their id, a later block of theirs and each of their transactions", async () => {
    await world.setPrices({ [BTC]: "65000" });
    const order = { ...LONG, price: "60000", type: "LIMIT" } as const;
    const placed = await trader.open(order);
    await world.chain.mine(2);
    const updated = await trader.write("Trading", "updateOpenLimitOrder", [
      1n,
      0n,
      61_000n * 10n ** 10n,
      0n,
      0n,
      50_000n * 10n ** 10n,
    ]);
    const second = await trader.open({ ...order, type: "STOP_LIMIT", price: "70000", isLong: true });
    await world.chain.mine(3);
    const canceled = await trader.write("Trading", "cancelOpenLimitOrder", [1n, 1n]);
    // The slot is used again.
    const third = await trader.open({ ...order, price: "59000" });
    await world.setPrices({ [BTC]: "61000" });
    await world.keeper.round();
    await indexed();
    const firstId = `1:0:${placed.receipt.blockNumber}`;
    const rows = await orders();
    expect(rows.map(({ orderId, status, price, orderType }) => [orderId, status, price, orderType])).toEqual([
      [`1:1:${third.receipt.blockNumber}`, "OPEN", "59000", "LIMIT"],
      [`1:1:${second.receipt.blockNumber}`, "CANCELED", "70000", "STOP_LIMIT"],
      [firstId, "FILLED", "61000", "LIMIT"],
    ]);
    expect(rows[2]).toMatchObject({ collateral: "100", leverage: "10", stopLoss: "50000", slippagePercent: null });
    expect(rows[0]).toMatchObject({
      slippagePercent: "0.3",
      size: "0.0169491525",
      txHash: third.receipt.transactionHash,
    });
    const first = { kind: "limit", order: rows[2], walletAddress: trader.address.toLowerCase() };
    for (const id of [firstId, `1:0:${updated.receipt.blockNumber}`])
      expect(await found(id, trader.address)).toEqual(first);
    for (const { receipt } of [placed, updated]) expect(await found(receipt.transactionHash)).toEqual(first);
    expect(await found(canceled.receipt.transactionHash)).toMatchObject({ order: { orderId: rows[1]?.orderId } });
    expect(await found(`1:0:${placed.receipt.blockNumber + 1n}`, trader.address)).toBeNull();
    expect(await found("1:0:1", trader.address)).toMatchObject({ ok: false, code: "BEFORE_INDEX" });
  });
});

describe("a transaction of the local venuefive", () => {
  it("is pending, filled and canceled before and after the index has it", async () => {
    await world.setPrices({ [BTC]: "65000" });
    const { receipt } = await trader.open(LONG);
    const hash = receipt.transactionHash;
    expect(await found(hash)).toMatchObject({
      kind: "market",
      order: { status: "PENDING", isOpen: true, price: null },
    });
    await world.keeper.round();
    clock.advance(2_000);
    expect(await found(hash)).toMatchObject({ order: { status: "FILLED", price: "65000", txHash: hash } });
    const { receipt: other, events } = await trader.open(LONG);
    await world.keeper.cancel(events.find(({ name }) => name === "MarketOrderInitiated")?.args["orderId"] as bigint);
    clock.advance(2_000);
    expect(await found(other.transactionHash)).toMatchObject({ kind: "market", order: { status: "CANCELED" } });
    const { receipt: closing } = await trader.close(BTC, 0, 1_000_000n);
    await indexed();
    expect(await found(hash)).toMatchObject({ order: { status: "FILLED", collateral: "100", leverage: "10" } });
    expect(await found(other.transactionHash)).toMatchObject({ order: { status: "CANCELED" } });
    expect(await found(closing.transactionHash)).toMatchObject({ order: { status: "PENDING", isOpen: false } });
    await world.keeper.round();
  });

  it("is reverted, of no order, or unknown to the chain", async () => {
    const call = contractCall("Trading", "closeTradeMarket", [BTC, 30, 1n]);
    await world.chain.rpc("anvil_impersonateAccount", [trader.address]);
    const data = encodeFunctionData({ abi: call.abi, functionName: call.functionName, args: [BigInt(BTC), 30n, 1n] });
    const sent = { from: trader.address, to: call.to, data, gas: "0x100000" };
    const hash = (await world.chain.rpc("eth_sendTransaction", [sent])) as string;
    const { receipt } = await trader.approve("1000000000");
    expect(await found(hash)).toEqual({ kind: "transaction", txHash: hash, status: "REVERTED" });
    expect(await found(receipt.transactionHash)).toMatchObject({ kind: "transaction", status: "NO_ORDER" });
    expect(await found(`0x${"ab".repeat(32)}`)).toBeNull();
  });
});

describe("a limit order of just now at the local venuefive", () => {
  it("is found by its block also within the moment in which another look read the newest events", async () => {
    const owner = await startTrader(world, 2);
    const height = Number(await world.chain.rpc("eth_blockNumber"));
    expect(await found(`1:0:${height}`, owner.address)).toBeNull();
    expect(await found(`1:0:${height + 50}`, owner.address)).toMatchObject({ ok: false });
    const { receipt, events } = await owner.open({ ...LONG, price: "39000", type: "LIMIT" });
    const index = Number(events.find(({ name }) => name === "OpenLimitPlaced")?.args["index"]);
    const orderId = `1:${index}:${receipt.blockNumber}`;
    expect(await found(orderId, owner.address)).toMatchObject({ kind: "limit", order: { orderId, status: "OPEN" } });
  });
});

describe("what the index of the local venuefive keeps", () => {
  it("loses an order whose block vanished, also from the queries, and finds what came instead", async () => {
    await indexed();
    const before = history.status();
    const known = await orders();
    const { receipt } = await trader.open({ ...LONG, price: "40000", type: "LIMIT" });
    await indexed();
    expect(history.status().eventCount).toBe(before.eventCount + 1);
    expect(await orders()).toHaveLength(known.length + 1);
    await world.chain.reorg(SAFE_BLOCKS + 2);
    await followedAfter(before.retractedCount + 1);
    expect(history.status()).toMatchObject({ eventCount: before.eventCount, problem: null });
    expect(await orders()).toEqual(known);
    expect(await found(receipt.transactionHash)).toBeNull();
    await trader.open({ ...LONG, price: "41000", type: "LIMIT" });
    await indexed();
    expect((await orders()).map(({ price }) => price)).toEqual(["41000", ...known.map(({ price }) => price)]);
  });

  it("is the same after a restart, and goes on", async () => {
    const before = { status: history.status(), orders: await orders(), trades: await trades() };
    await history.stop();
    await store.close();
    openStore();
    await trader.open({ ...LONG, price: "42000", type: "LIMIT" });
    history = begin();
    await history.start();
    expect(history.status().sinceBlock).toBe(before.status.sinceBlock);
    expect([await orders(), await trades()]).toEqual([before.orders, before.trades]);
    await indexed();
    expect((await orders()).length).toBe(before.orders.length + 1);
    expect(history.status().eventCount).toBe(before.status.eventCount + 1);
  });
});

/** The fork is seen, and the chain followed again. */
async function followedAfter(retractedCount: number): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX && history.status().retractedCount !== retractedCount; turn++) {
    clock.advance(TICK_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await followed();
}
