import { onTestFinished, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { RpcPool } from "../../shared/chain/rpc-pool.js";
import { RawBody, type Reply, RpcFault, ScriptedEndpoint } from "../../shared/chain/test/scripted-endpoint.js";
import type { HistoryEndpoint, LogFilter } from "./chain-port.js";
import { RpcHistoryChain } from "./rpc-chain.js";

const OPTIONS = { timeoutMs: 10_000, lane: "read" } as const;
const HASH = `0x${"ab".repeat(32)}`;
const TX = `0x${"cd".repeat(32)}`;
const ADDRESS = `0x${"7A".repeat(20)}`;
const FILTER: LogFilter = {
  fromBlock: 5,
  toBlock: 9,
  blockHash: null,
  addresses: [ADDRESS.toLowerCase()],
  topics: [HASH],
};
const LOG = {
  ...{ address: ADDRESS, topics: [HASH], data: "0x01", blockNumber: "0x7", blockHash: HASH, logIndex: "0x2" },
  ...{ transactionHash: TX, removed: false },
};
const HEADER = { number: "0x7", hash: HASH, parentHash: TX, timestamp: "0x65" };
const RECEIPT = { transactionHash: TX, blockNumber: "0x7", blockHash: HASH, status: "0x1", logs: [LOG] };

async function endpointOf(
  replies: Record<string, Reply>,
): Promise<{ readonly endpoint: HistoryEndpoint; readonly server: ScriptedEndpoint }> {
  const server = await new ScriptedEndpoint({ eth_chainId: () => "0x2105", ...replies }).listen();
  // Its clock never moves: a machine that pauses lets no call run out of time.
  const common = { clock: new VirtualClock(), random: createSeededRandom(1), logger: silentLogger };
  const pool = new RpcPool({ chainId: 8453, urls: [server.url], ...common });
  onTestFinished(async () => {
    server.stop();
    await pool.close(0);
  });
  const [endpoint] = await new RpcHistoryChain(pool, async () => pool.endpoints).endpoints();
  if (endpoint === undefined) throw new Error("no endpoint");
  return { endpoint, server };
}

const logsOf = async (reply: Reply, filter = FILTER) => {
  const { endpoint, server } = await endpointOf({ eth_getLogs: reply });
  return { answer: await endpoint.logs(filter, OPTIONS), params: server.calls.at(-1)?.params };
};

/** What it answers, and what that means. */
const REFUSALS: readonly (readonly [string, Reply, object])[] = [
  ["a range that is too long", () => new RpcFault(-32600, "block range is too wide"), { kind: "tooLarge" }],
  ["an answer above our bound", () => Array.from({ length: 5_000 }, () => LOG), { kind: "tooLarge" }],
  ["a limit of calls", () => new RpcFault(-32005, "request rate limited"), { code: "RATE_LIMITED" }],
  ["a limit by status", () => new RawBody("slow down", 429), { code: "RATE_LIMITED" }],
  ["pruned history", () => new RpcFault(4444, "pruned history unavailable"), { code: "PRUNED" }],
  ["a block that it does not have", () => new RpcFault(-32000, "unknown block"), { code: "LAGGING" }],
  ["an error of its own", () => new RpcFault(-32603, "internal error"), { code: "VENUE_ERROR" }],
  ["a page of a proxy", () => new RawBody("<html>"), { code: "BAD_RESPONSE" }],
  ["no list", () => null, { code: "BAD_RESPONSE" }],
  ["a log without a place", () => [{ ...LOG, logIndex: null }], { code: "BAD_RESPONSE" }],
  ["a log of no hash", () => [{ ...LOG, blockHash: "0x1" }], { code: "BAD_RESPONSE" }],
];

describe("the history's calls of an endpoint", () => {
  it("ask for logs of a range, or of a block by its hash", async () => {
    const range = await logsOf(() => [LOG]);
    expect(range.params).toEqual([
      { fromBlock: "0x5", toBlock: "0x9", address: [ADDRESS.toLowerCase()], topics: [[HASH]] },
    ]);
    expect(range.answer).toEqual({
      kind: "value",
      value: [
        {
          ...{ address: ADDRESS.toLowerCase(), topics: [HASH], data: "0x01", block: 7, blockHash: HASH },
          ...{ logIndex: 2, txHash: TX, isRemoved: false },
        },
      ],
    });
    const one = await logsOf(() => [{ ...LOG, removed: true }], { ...FILTER, blockHash: HASH });
    expect(one.params).toEqual([{ blockHash: HASH, address: [ADDRESS.toLowerCase()], topics: [[HASH]] }]);
    expect(one.answer).toMatchObject({ value: [{ isRemoved: true }] });
  });

  it.each(REFUSALS)("know %s", async (_name, reply, expected) => {
    expect((await logsOf(reply)).answer).toMatchObject(expected);
  });

  it("read headers, receipts, what is in a pool, and the address that executes orders", async () => {
    const { endpoint, server } = await endpointOf({
      eth_getBlockByNumber: ([tag]) => (tag === "0x63" ? null : HEADER),
      eth_getTransactionReceipt: () => RECEIPT,
      eth_getTransactionByHash: () => ({ hash: TX, blockHash: null }),
      eth_call: () => `0x${"0".repeat(24)}${"7A".repeat(20)}`,
    });
    const header = { number: 7, hash: HASH, parentHash: TX, timeMs: 101_000 };
    expect(await endpoint.tip("safe", OPTIONS)).toEqual({ kind: "value", value: header });
    expect(server.calls.at(-1)?.params).toEqual(["safe", false]);
    expect(await endpoint.header(99, OPTIONS)).toEqual({ kind: "value", value: null });
    expect(await endpoint.transaction(TX, OPTIONS)).toMatchObject({ value: { block: 7, hasSucceeded: true } });
    expect(await endpoint.transaction(HASH, OPTIONS)).toMatchObject({ kind: "failed", code: "BAD_RESPONSE" });
    expect(await endpoint.knows(TX, OPTIONS)).toEqual({ kind: "value", value: true });
    expect(await endpoint.callbacks(ADDRESS, OPTIONS)).toEqual({ kind: "value", value: ADDRESS.toLowerCase() });
    server.replies = { ...server.replies, eth_getTransactionReceipt: () => ({ ...RECEIPT, blockHash: TX }) };
    expect(await endpoint.transaction(TX, OPTIONS)).toMatchObject({ kind: "failed", code: "BAD_RESPONSE" });
  });
});

describe("the endpoints of the history", () => {
  it("begin with those that answered last, so that one which hangs holds up no read of the others", async () => {
    const common = { clock: new VirtualClock(), random: createSeededRandom(1), logger: silentLogger };
    const replies = { eth_chainId: () => "0x2105", eth_getBlockByNumber: () => HEADER };
    const broken = await new ScriptedEndpoint({
      ...replies,
      eth_getBlockByNumber: () => new RawBody("", 503),
    }).listen();
    const well = await new ScriptedEndpoint(replies).listen();
    const pool = new RpcPool({ chainId: 8453, urls: [broken.url, well.url], ...common });
    onTestFinished(async () => {
      for (const server of [broken, well]) server.stop();
      await pool.close(0);
    });
    const chain = new RpcHistoryChain(pool, async () => pool.endpoints);
    const before = await chain.endpoints();
    for (const endpoint of before) await endpoint.header(7, OPTIONS);
    expect(await chain.endpoints()).toEqual(before.toReversed());
  });
});
