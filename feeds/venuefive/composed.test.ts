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
import { READ, startRoomStand } from "./test/room-stand.js";

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

it("an order that was changed keeps the number of its placing, in the open orders and in the history", async () => {
  const one = await startTrader(world, 1);
  const clock = new VirtualClock(Date.now());
  const parts = { clock, random: createSeededRandom(1), logger: silentLogger, store };
  const config = {
    ...{ chainId: world.chainId, fromBlock: 1, historyUrl: null, map: pairMapOf(["ETH", "BTC"]) },
    addresses: { ...world.addresses, USDC: world.addresses.Usdc },
  };
  const { room, settled, holds } = await startRoomStand(world, {
    clock,
    parts: { createHistory: (...given) => createHistoryPart(config, parts, ...given) },
  });
  await settled(room.start());
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
