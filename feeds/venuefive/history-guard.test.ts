/** What the history says has symbols and sizes by its pairs: it is shown while these mean on the chain what they mean here. */
import { encodeFunctionResult, type Hex, parseAbi } from "viem";
import { decodeFunctionData } from "viem/utils";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import { aClosedTrade } from "../../engine/portfolio/test/fake-client-signed-room.js";
import { PAIR_STORAGE_ABI } from "../../schemas/venuefive/abi.js";
import { pairMapOf } from "./market/pair-map.js";
import type { HistoryPart } from "./history-guard.js";
import type { VenuefiveRoomParts } from "./room.js";
import { noHistory } from "./test/no-history.js";
import { READ, type RoomStandOptions, startRoomStand } from "./test/room-stand.js";
import type { RpcProxy } from "./test/rpc-proxy.js";

const PAIRS = parseAbi(PAIR_STORAGE_ABI);
const ALICE = `0x${"a1".repeat(20)}`;
const HASH = `0x${"0a".repeat(32)}`;
const QUERY = { limit: 10, cursor: null, symbol: null };
/** Of the local venue. */
const PAIR_COUNT = 51;

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive();
});
afterAll(() => world.stop());

/** A history of one trade of that pair, whose size is 1 where it is the notional and 2 where it is not. */
function historyOf(pairIndex: () => number, reads: string[]): VenuefiveRoomParts["createHistory"] {
  return (_, isDollarBased): HistoryPart => {
    const page = { nextCursor: null, since: { block: 1, timeMs: 0 }, older: null, toBlock: 1 };
    const good = { ok: true, asOfMs: 0, block: 1 } as const;
    return {
      ...noHistory(),
      async readClosedTrades() {
        reads.push("trades");
        const rows = [aClosedTrade({ size: isDollarBased(pairIndex()) ? "1" : "2" })];
        return { ...good, value: { rows, ...page } };
      },
      async readOrders() {
        reads.push("orders");
        return { ...good, value: { rows: [], ...page } };
      },
      async findOrder() {
        reads.push("find");
        return { ...good, value: null };
      },
    };
  };
}

async function standing(pairIndex: () => number, options: RoomStandOptions = {}) {
  const reads: string[] = [];
  const parts = { ...options.parts, createHistory: historyOf(pairIndex, reads) };
  const stand = await startRoomStand(world, { ...options, parts });
  await stand.settled(stand.room.start());
  const size = async (): Promise<string | undefined> => {
    const read = await stand.settled(stand.room.readClosedTrades(ALICE, QUERY, READ));
    return read.ok ? read.value.rows[0]?.size : read.code;
  };
  return { ...stand, reads, size };
}

/** Names the pair at that index on the chain, and as many pairs as that. */
function named(proxy: RpcProxy | undefined, index: number, from: string): void {
  if (proxy === undefined) throw new Error("no endpoint");
  proxy.twist = ({ method, params }, result) => {
    const { data } = (params[0] ?? {}) as { readonly data?: Hex };
    if (method !== "eth_call" || data === undefined) return result;
    try {
      const { functionName, args = [] } = decodeFunctionData({ abi: PAIRS, data });
      if (functionName === "pairsCount")
        return encodeFunctionResult({ abi: PAIRS, functionName, result: BigInt(Math.max(PAIR_COUNT, index + 1)) });
      if (functionName !== "getPairData" || Number(args[0]) !== index) return result;
      return encodeFunctionResult({ abi: PAIRS, functionName, result: [from, "JPY", 0n, [], []] });
    } catch {
      // A call of another contract.
      return result;
    }
  };
}

it("a history whose pairs differ is not shown under their symbols: not its trades, its orders, nor one order", async () => {
  const { room, settled, reads } = await standing(() => 1, { parts: { map: pairMapOf(["ETH", "DOGE"]) } });
  expect(room.status().state).toBe("DOWN");
  for (const read of [
    room.readClosedTrades(ALICE, QUERY, READ),
    room.readOrders(ALICE, QUERY, READ),
    room.findOrder(HASH, null, READ),
  ])
    expect(await settled<unknown>(read)).toMatchObject({ ok: false, code: "PAIRS_DIFFER" });
  expect(reads).toEqual([]);
});

it("a pair is known by its base on the chain: of one of dollars the size is the notional", async () => {
  const map = pairMapOf(["ETH", "BTC"]);
  const { size } = await standing(() => 11, { parts: { map }, prepare: ([proxy]) => named(proxy, 11, "USD") });
  expect(await size()).toBe("1");
  const other = await standing(() => 12, { parts: { map }, prepare: ([proxy]) => named(proxy, 11, "USD") });
  expect(await other.size()).toBe("2");
});

it("a pair that was added since the last look is compared before a row of it is shown", async () => {
  const map = pairMapOf(["ETH", "BTC"]);
  const { size, proxies, reads } = await standing(() => PAIR_COUNT, { parts: { map } });
  named(proxies[0], PAIR_COUNT, "USD");
  expect(await size()).toBe("1");
  expect(reads).toEqual(["trades", "trades"]);
});

it("a pair that the chain does not have is a failure, and no row of an unknown size", async () => {
  const { size, reads } = await standing(() => PAIR_COUNT + 7);
  expect(await size()).toBe("VENUE_ERROR");
  expect(reads.length).toBe(2);
});
