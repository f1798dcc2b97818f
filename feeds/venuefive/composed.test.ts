/** The room with its real history: what the chain's state lacks of an order that rests, its events have. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTrader } from "../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { createHistoryPart } from "./history-part.js";
import { pairMapOf } from "./market/pair-map.js";
import { READ, type RoomStand, startRoomStand } from "./test/room-stand.js";
import type { Twist } from "./test/rpc-proxy.js";

const BTC = 1;
/** More than the safe head is behind the newest block. */
const SAFE_BLOCKS = 100;

let world: VenuefiveWorld;
let store: StateStore;
const directory = mkdtempSync(join(tmpdir(), "venuefive-"));
beforeAll(async () => {
  world = await startVenuefive();
  store = openLmdbStore({ directory, clock: createSystemClock() });
});
afterAll(async () => {
  await world.stop();
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

async function started(count: number): Promise<RoomStand> {
  const clock = new VirtualClock(Date.now());
  const parts = { clock, random: createSeededRandom(1), logger: silentLogger, store };
  const config = {
    ...{ chainId: world.chainId, fromBlock: 1, historyUrl: null, map: pairMapOf(["ETH", "BTC"]) },
    addresses: { ...world.addresses, USDC: world.addresses.Usdc },
  };
  const stand = await startRoomStand(world, {
    ...{ clock, targets: Array.from({ length: count }, () => world.rpcUrl) },
    parts: { createHistory: (...given) => createHistoryPart(config, parts, ...given) },
  });
  await stand.settled(stand.room.start());
  return stand;
}

it("an order that was changed keeps the number of its placing, in the open orders and in the history", async () => {
  const one = await startTrader(world, 1);
  const { room, settled, holds } = await started(1);
  const { receipt } = await one.open({
    ...{ pairIndex: BTC, collateral: "60", leverage: "10", price: "90000", type: "STOP_LIMIT" },
  });
  await world.chain.mine(2);
  await one.write("Trading", "updateOpenLimitOrder", [BTC, 0, 910_000_000_000_000n, 3_000_000_000n, 0n, 0n]);
  await world.chain.mine(SAFE_BLOCKS);
  const { number } = (await world.chain.rpc("eth_getBlockByNumber", ["safe", false])) as { number: string };
  await holds(() => room.status().index.cursorBlock === Number(number));
  await holds(() => (room.status().block ?? 0) > Number(number));
  const open = await settled(room.readOpenOrders(one.address, READ));
  const past = await settled(room.readOrders(one.address, { limit: 10, cursor: null, symbol: null }, READ));
  const order = {
    ...{ orderId: `${BTC}:0:${receipt.blockNumber}`, orderType: "STOP_LIMIT", price: "91000", status: "OPEN" },
  };
  expect(open.ok && open.value).toMatchObject([order]);
  expect(past.ok && past.value.rows).toMatchObject([order]);
});

const hexOf = (number: number): string => `0x${number.toString(16)}`;

/** A branch of its own from that height on, some blocks ahead of the chain, in which nothing has happened. */
async function emptyBranch(height: number, aheadBlocks: number): Promise<Twist> {
  const base = (await world.chain.rpc("eth_getBlockByNumber", ["latest", false])) as Record<string, string>;
  const hash = (number: number): string =>
    number < height ? String(base["hash"]) : `0xf0${number.toString(16).padStart(62, "0")}`;
  const block = (number: number) => ({
    ...{ ...base, number: hexOf(number), hash: hash(number), parentHash: hash(number - 1) },
    timestamp: hexOf(Number(base["timestamp"]) + 2 * (number - Number(base["number"]))),
  });
  const top = async (): Promise<number> => Number(await world.chain.rpc("eth_blockNumber")) + aheadBlocks;
  return async ({ method, params }, result) => {
    if (method === "eth_getLogs")
      return (result as readonly { blockNumber: string }[]).filter((log) => Number(log.blockNumber) < height);
    if (method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash") return null;
    if (method !== "eth_getBlockByNumber" || params[0] === "safe") return undefined;
    const number = params[0] === "latest" ? await top() : Number(params[0]);
    return number < height ? undefined : number > (await top()) ? null : block(number);
  };
}

it("an order of just now is not looked for at an endpoint whose blocks are others than those of most", async () => {
  const one = await startTrader(world, 2);
  const { room, proxies, settled, holds } = await started(3);
  const { number } = (await world.chain.rpc("eth_getBlockByNumber", ["safe", false])) as { number: string };
  await holds(() => room.status().index.cursorBlock === Number(number));
  const height = Number(await world.chain.rpc("eth_blockNumber")) + 1;
  const [proxy] = proxies;
  if (proxy === undefined) throw new Error("there is no endpoint");
  proxy.twist = await emptyBranch(height, 2);
  const { receipt, events } = await one.open({
    ...{ pairIndex: BTC, collateral: "60", leverage: "10", price: "90000", type: "STOP_LIMIT" },
  });
  await holds(() => room.status().endpoints[0]?.state === "disagrees");
  const placed = events.find(({ name }) => name === "OpenLimitPlaced");
  const orderId = `${BTC}:${Number(placed?.args["index"])}:${receipt.blockNumber}`;
  const found = { ok: true, value: { kind: "limit", order: { orderId, status: "OPEN" } } };
  expect(await settled(room.findOrder(orderId, one.address, READ))).toMatchObject(found);
  expect(await settled(room.findOrder(receipt.transactionHash, one.address, READ))).toMatchObject(found);
});

it("an order of just now is found where a server of the only endpoint lagged at the last look at it", async () => {
  const one = await startTrader(world, 3);
  const { room, proxies, settled, holds, atTip } = await started(1);
  await holds(() => room.status().index.cursorBlock !== null);
  const { receipt, events } = await one.open({
    ...{ pairIndex: BTC, collateral: "60", leverage: "10", price: "90000", type: "STOP_LIMIT" },
  });
  await atTip();
  const [proxy] = proxies;
  if (proxy === undefined) throw new Error("there is no endpoint");
  const before = await world.chain.rpc("eth_getBlockByNumber", [hexOf(Number(receipt.blockNumber) - 1), false]);
  proxy.twist = ({ method, params }) =>
    method === "eth_getBlockByNumber" && params[0] === "latest" ? before : undefined;
  await holds(() => room.status().state === "STALE");
  proxy.twist = null;
  const placed = events.find(({ name }) => name === "OpenLimitPlaced");
  const orderId = `${BTC}:${Number(placed?.args["index"])}:${receipt.blockNumber}`;
  const found = { ok: true, value: { kind: "limit", order: { orderId, status: "OPEN" } } };
  expect(await settled(room.findOrder(orderId, one.address, READ))).toMatchObject(found);
});
