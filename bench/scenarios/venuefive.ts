/**
 * Positions of a wallet at venuefive over 112 pairs of 40 slots, as many as the live venue has: cold (at a block that was
 * not read before) and again at the same block. The peer reads the same pages in the same run with viem: a contract read
 * for each page, put into batches by its transport, and decodes every row. viem is timed our way too: how many the wallet has
 * of each pair first, then the pages of those pairs alone.
 */
import { type Address, createPublicClient, decodeFunctionResult, encodeFunctionData, http, parseAbi } from "viem";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import type { CallOptions } from "../../engine/ports.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { createClientSigned } from "../../gateway/app/client-signed-room.js";
import { readConfig } from "../../gateway/app/config.js";
import { RpcProxy } from "../../feeds/venuefive/test/rpc-proxy.js";
import { MULTICALL_ABI, TRADING_STORAGE_ABI } from "../../schemas/venuefive/abi.js";
import { latencyText, median } from "../lib/stats.js";
import type { BenchRow, Scenario } from "../lib/types.js";
import { openDemoOrders } from "../sim/venuefive/demo-trader.js";
import { withFillers } from "../sim/venuefive/pairs.js";
import { startVenuefive, type VenuefiveWorld } from "../sim/venuefive/world.js";

const PAIRS = 112;
const SLOTS = 40;
const PAGE = 12;
const TRADER = "0x00000000000000000000000000000000000005e5";
const POSITIONS = [
  { pairIndex: 0, price: "3180" },
  { pairIndex: 1, price: "92400" },
  { pairIndex: 2, price: "141.5" },
  { pairIndex: 111, price: "1" },
];
const READ: CallOptions = { timeoutMs: 60_000, lane: "read" };
const PEER = "viem, a contract read for each page, batched";
const MULTICALL = parseAbi(MULTICALL_ABI);
const STORAGE = parseAbi(TRADING_STORAGE_ABI);

interface Cost {
  readonly requests: number;
  readonly calls: number;
  /** Of the calls' results. */
  readonly bytes: number;
}
type Read = () => Promise<number>;

export const venuefive: Scenario = {
  name: "venuefive",
  title: "Positions of a wallet at venuefive, 112 pairs",
  async run({ smoke, log }) {
    const world = await startVenuefive({ pairs: withFillers(PAIRS), rolloverFeePerBlock: 0n });
    const proxy = await new RpcProxy(world.rpcUrl).listen();
    try {
      const orders = POSITIONS.map((one) => ({ ...one, collateral: "100", leverage: "10", type: 0 as const }));
      await openDemoOrders(world, TRADER, orders);
      // A node answers the sender before the block is there.
      for (let executed = 0; executed < orders.length; ) executed += (await world.keeper.round()).executed.length;
      // Counted at an endpoint between, timed without it.
      const costs: Cost[] = [];
      await byTurns(world, proxy.url, 1, async (read) => void costs.push(await costOf(proxy, read)));
      const times: number[] = [];
      await byTurns(world, world.rpcUrl, smoke ? 2 : 20, async (read) => {
        times.push(await msOf(read));
        if (times.length % WAYS.length === 0)
          log(
            times
              .slice(-WAYS.length)
              .map((ms) => ms.toFixed(1))
              .join(" "),
          );
      });
      return { rows: rowsOf(times, costs), profile: [] };
    } finally {
      proxy.stop();
      await world.stop();
    }
  },
};

/** In the order of their turns. */
const WAYS = [
  "at a new block",
  "again at the same block",
  PEER,
  "viem our way: counts, then the pages of pairs that have any",
];

/** Calls `take` with each way, so many times by turns, ours at a new block each time. */
async function byTurns(
  world: VenuefiveWorld,
  url: string,
  runs: number,
  take: (read: Read) => Promise<void>,
): Promise<void> {
  const parts = { clock: createSystemClock(), random: createSeededRandom(1), logger: silentLogger };
  const made = createClientSigned(configOf(world, url), parts, createMemoryStore());
  if (made === null) throw new Error("it is not configured");
  const { room } = made;
  const ours: Read = async () => {
    const read = await room.readPositions(TRADER, READ);
    if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
    return read.value.length;
  };
  await room.start();
  try {
    for (let run = 0; run < runs; run++) {
      const seen = new Promise<void>((resolve) => {
        const end = room.onBlock(() => {
          end();
          resolve();
        });
      });
      await world.chain.mine();
      await seen;
      for (const read of [ours, ours, peerOf(world, url), countsFirst(world, url)]) await take(read);
    }
  } finally {
    await room.stop();
  }
}

function configOf({ addresses, chainId }: VenuefiveWorld, url: string) {
  const result = readConfig(
    {
      ...{ VENUEFIVE_RPC_URLS: url, VENUEFIVE_CHAIN_ID: String(chainId), VENUEFIVE_POLL_MS: "100" },
      ...{ VENUEFIVE_TRADING_ADDRESS: addresses.Trading, VENUEFIVE_USDC_ADDRESS: addresses.Usdc },
      ...{ VENUEFIVE_TRADING_STORAGE_ADDRESS: addresses.TradingStorage, VENUEFIVE_CALLS_PER_MINUTE: "1000000" },
      ...{ VENUEFIVE_PAIR_STORAGE_ADDRESS: addresses.PairStorage, VENUEFIVE_MULTICALL_ADDRESS: addresses.Multicall },
    },
    () => null,
  );
  if (!result.ok) throw new Error(result.problems.join("; "));
  return result.config.clientSigned;
}

const clientOf = (url: string) =>
  createPublicClient({ transport: http(url, { batch: true, retryCount: 0, timeout: READ.timeoutMs }) });

/** Rows of one page that are positions. */
function pageOf(client: ReturnType<typeof clientOf>, address: Address, from: number, to: number): Promise<number> {
  const args = [TRADER, BigInt(from), BigInt(to), BigInt(SLOTS)] as const;
  return client
    .readContract({ address, abi: MULTICALL, functionName: "getPositionsForPairIndexes", args })
    .then(([trades]) => trades.filter(({ trade }) => trade.leverage > 0n).length);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** As the venue's own client reads: pages of 12 pairs, all at once. */
function peerOf({ addresses }: VenuefiveWorld, url: string): Read {
  const client = clientOf(url);
  const starts = Array.from({ length: Math.ceil(PAIRS / PAGE) }, (_, page) => page * PAGE);
  return async () =>
    sum(
      await Promise.all(starts.map((from) => pageOf(client, addresses.Multicall, from, Math.min(PAIRS, from + PAGE)))),
    );
}

/** The counts of positions and of orders of all pairs are one call of the venue's own multicall. */
function countsFirst({ addresses }: VenuefiveWorld, url: string): Read {
  const client = clientOf(url);
  const countCalls = Array.from({ length: PAIRS }, (_, pair) =>
    (["openTradesCount", "openLimitOrdersCount"] as const).map((functionName) => ({
      target: addresses.TradingStorage,
      allowFailure: false,
      callData: encodeFunctionData({ abi: STORAGE, functionName, args: [TRADER, BigInt(pair)] }),
    })),
  ).flat();
  const data = encodeFunctionData({ abi: MULTICALL, functionName: "aggregate3", args: [countCalls] });
  return async () => {
    const { data: answer = "0x" } = await client.call({ to: addresses.Multicall, data });
    const counts = decodeFunctionResult({ abi: MULTICALL, functionName: "aggregate3", data: answer });
    const held = Array.from({ length: PAIRS }, (_, pair) => pair).filter((pair) =>
      [counts[2 * pair], counts[2 * pair + 1]].some((count) => BigInt(count?.returnData ?? "0x0") > 0n),
    );
    return sum(await Promise.all(held.map((pair) => pageOf(client, addresses.Multicall, pair, pair + 1))));
  };
}

async function msOf(read: Read): Promise<number> {
  const startedMs = performance.now();
  const count = await read();
  const tookMs = performance.now() - startedMs;
  if (count !== POSITIONS.length) throw new Error(`${count} positions of ${POSITIONS.length}`);
  return tookMs;
}

/** What one read asks; the looks for new blocks beside it are not its own. */
async function costOf(proxy: RpcProxy, read: Read): Promise<Cost> {
  const before = proxy.requests.length;
  let bytes = 0;
  proxy.twist = ({ method }, result) => {
    if (method === "eth_call") bytes += String(result).length;
    return undefined;
  };
  await msOf(read);
  proxy.twist = null;
  const own = proxy.requests.slice(before).filter((calls) => calls.some(({ method }) => method === "eth_call"));
  return { requests: own.length, calls: sum(own.map(({ length }) => length)), bytes };
}

function rowsOf(times: readonly number[], costs: readonly Cost[]): BenchRow[] {
  const of = (way: number): number[] => times.filter((_, at) => at % WAYS.length === way);
  const peerWay = WAYS.indexOf(PEER);
  const peer = median(of(peerWay));
  const textOf = (way: number): string => {
    const { requests = 0, calls = 0, bytes = 0 } = costs[way] ?? {};
    return `${requests} requests, ${calls} calls, ${(bytes / 1e6).toFixed(3)} MB of results, ms ${latencyText(of(way))}`;
  };
  return WAYS.flatMap((what, way) => {
    if (way === peerWay) return [];
    const ours = median(of(way));
    const detail = `${textOf(way)}; viem ${textOf(peerWay)}`;
    return {
      what,
      unit: "ms",
      ours,
      peerName: PEER,
      peer,
      ratio: ours / peer,
      runCount: of(way).length,
      goal: null,
      detail,
    };
  });
}
