/** What became of a transaction, of endpoints that lag, lie, forget or are on another branch; over HTTP on loopback. */
import { describe, expect, it } from "vitest";
import type { TransactionStanding } from "../../../engine/chain.js";
import { delay } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { HttpResult, VenueHttp } from "../net/http.js";
import { EvmChain } from "./evm-chain.js";
import { OPTIONS, startChain, type Harness } from "./test/harness.js";
import { hashOf, SENDER, ScriptedChain, TOKEN } from "./test/scripted-chain.js";
import { CUT, HANG } from "./test/scripted-endpoint.js";
import { toQuantity } from "./rpc-wire.js";

const OURS = hashOf("ours");
const DEARER = hashOf("ours, dearer");
const OF = { from: SENDER, nonce: 7, hashes: [OURS, DEARER] };

async function standing({ chain, settled }: Harness): Promise<TransactionStanding> {
  const read = await settled(chain.standing(OF, OPTIONS));
  if (!read.ok) throw new Error(read.message);
  return read.value;
}

/** Of our receipt in block 98. */
const FIVE_TOPICS = {
  ...{ address: TOKEN, topics: Array.from({ length: 5 }, () => hashOf("t")), data: "0x", transactionHash: OURS },
  blockHash: new ScriptedChain(98).blockHash(98),
};

/** In this block of each. */
async function minedChain(heads: readonly number[], height: number, hash = OURS): Promise<Harness> {
  const harness = await startChain({ heads });
  for (const one of harness.chains) one.mined.set(hash, { height });
  return harness;
}

function only<T>(list: readonly T[], index = 0): T {
  const one = list[index];
  if (one === undefined) throw new Error("no such endpoint");
  return one;
}

const forked = (chain: ScriptedChain, forkAt: number, branch = "b"): void =>
  void Object.assign(chain, { forkAt, branch });

describe("a transaction in a block", () => {
  it("is read with its block, its cost and its logs, and is final at the third block with it below", async () => {
    const harness = await minedChain([99, 99], 98, DEARER);
    expect(await standing(harness)).toEqual({
      ...{ kind: "mined", hash: DEARER, blockNumber: 98, blockHash: harness.chains[0]?.blockHash(98) },
      ...{ confirmations: 2, isFinal: false, succeeded: true, gasCost: 21_000n * 1_000_000_000n },
      logs: [{ address: TOKEN, topics: [hashOf("topic")], data: Uint8Array.of(1) }],
    });
    for (const one of harness.chains) one.head = 100;
    expect(await standing(harness)).toMatchObject({ confirmations: 3, isFinal: true });
  });

  it("is final by the only endpoint that is configured", async () => {
    const harness = await minedChain([100], 98);
    expect(harness.chain.agreement).toBe(1);
    expect(await standing(harness)).toMatchObject({ isFinal: true });
  });

  it("is not final while the second endpoint is away, and then is", async () => {
    const harness = await minedChain([200, 200], 98);
    const second = only(harness.endpoints, 1);
    const { replies } = second;
    second.replies = { ...replies, eth_getTransactionReceipt: () => CUT };
    expect(await standing(harness)).toMatchObject({ kind: "mined", isFinal: false });
    second.replies = replies;
    expect(await standing(harness)).toMatchObject({ isFinal: true });
  });

  it("is not final while the second endpoint hangs", async () => {
    const harness = await minedChain([200, 200], 98);
    const second = only(harness.endpoints, 1);
    second.replies = { ...second.replies, eth_getBlockByNumber: () => HANG };
    const read = harness.chain.standing(OF, OPTIONS);
    const hasArrived = () => second.countOf("eth_getBlockByNumber") === 1;
    expect(await harness.afterHang(read, hasArrived, 3_000)).toMatchObject({
      value: { kind: "mined", isFinal: false },
    });
  });

  it("is not final while the second endpoint lags", async () => {
    const harness = await minedChain([200, 97], 98);
    only(harness.chains, 1).mined.clear();
    expect(await standing(harness)).toMatchObject({ kind: "mined", isFinal: false });
    only(harness.chains, 1).mined.set(OURS, { height: 98 });
    only(harness.chains, 1).head = 99;
    expect(await standing(harness)).toMatchObject({ kind: "mined", isFinal: false, confirmations: 2 });
  });

  it("is never final of a receipt that one endpoint makes up, with whatever height", async () => {
    const harness = await startChain({ heads: [9_000, 100, 100] });
    const liar = only(harness.chains);
    liar.mined.set(OURS, { height: 50 });
    liar.branch = "lie";
    expect(await standing(harness)).toMatchObject({ kind: "mined", isFinal: false });
    for (const one of harness.chains.slice(1)) one.mined.set(OURS, { height: 98 });
    expect(await standing(harness)).toMatchObject({ isFinal: true, blockNumber: 98 });
  });

  it.each<[string, (liar: ScriptedChain) => void]>([
    ["that it failed", (liar) => void liar.mined.set(OURS, { height: 98, status: "0x0" })],
    ["another log", (liar) => void liar.mined.set(OURS, { height: 98, logData: "0x02" })],
    ["another block", (liar) => forked(liar, 98)],
    [
      "a block that its own chain does not have",
      (liar) => void liar.mined.set(OURS, { height: 98, blockHash: hashOf("x") }),
    ],
    ["a block above its head", (liar) => Object.assign(liar, { head: 97 })],
  ])("is not final where one of two shows %s", async (_name, lie) => {
    const harness = await minedChain([200, 200], 98);
    lie(only(harness.chains, 1));
    expect(await standing(harness)).toMatchObject({ kind: "mined", isFinal: false });
  });

  it("is not final where both keep a receipt of a block that was undone", async () => {
    const harness = await minedChain([100, 100], 98);
    const undone = only(harness.chains).blockHash(98);
    for (const one of harness.chains) {
      one.mined.set(OURS, { height: 98, blockHash: undone });
      forked(one, 98);
    }
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: true });
  });

  it("is open again after a reorg without it, and mined in another block after one with it", async () => {
    const harness = await minedChain([99, 99], 98);
    const before = await standing(harness);
    for (const one of harness.chains) {
      forked(one, 97);
      one.mined.clear();
      one.waiting.add(OURS);
    }
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: true });
    for (const one of harness.chains) {
      one.waiting.clear();
      one.mined.set(OURS, { height: 98 });
    }
    const after = await standing(harness);
    expect(after).toMatchObject({ kind: "mined", isFinal: false, blockNumber: 98 });
    expect(after.kind === "mined" && before.kind === "mined" && after.blockHash !== before.blockHash).toBe(true);
  });

  it("is read of a chain between two that had its block: the head after the receipt and before the block", async () => {
    const harness = await minedChain([100], 98);
    await standing(harness);
    expect(only(harness.endpoints).methods()).toEqual([
      ...["eth_chainId", "eth_getTransactionReceipt", "eth_getTransactionReceipt"],
      ...["eth_blockNumber", "eth_getBlockByNumber"],
    ]);
  });

  it("is not shown where an endpoint's head is below the block", async () => {
    const harness = await minedChain([100], 98);
    const endpoint = only(harness.endpoints);
    endpoint.replies = { ...endpoint.replies, eth_blockNumber: () => toQuantity(97) };
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: true });
  });

  it.each<[string, Record<string, unknown>]>([
    ["of another transaction", { transactionHash: hashOf("x") }],
    ["of another sender", { from: TOKEN }],
    ["without a status", { status: undefined }],
    ["with a status of its own", { status: "0x2" }],
    ["without its cost", { effectiveGasPrice: undefined }],
    ["with a block that is no hash", { blockHash: "0xb" }],
    ["with a log of another block", { blockHash: hashOf("y") }],
    ["without logs", { logs: null }],
    ["with five topics", { logs: [FIVE_TOPICS] }],
  ])("is not read of a receipt %s: the endpoint has failed", async (_name, change) => {
    const harness = await minedChain([100], 98);
    const endpoint = only(harness.endpoints);
    const receipt = { ...only(harness.chains).receipt(OURS), ...change };
    endpoint.replies = { ...endpoint.replies, eth_getTransactionReceipt: () => receipt };
    expect(await harness.settled(harness.chain.standing(OF, OPTIONS))).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("costs what the chain charges for its data too, where it says so", async () => {
    const harness = await minedChain([100], 98);
    const endpoint = only(harness.endpoints);
    const receipt = { ...only(harness.chains).receipt(OURS), l1Fee: "0x5" };
    const reply = ([hash]: readonly unknown[]) => (hash === OURS ? receipt : null);
    endpoint.replies = { ...endpoint.replies, eth_getTransactionReceipt: reply };
    expect(await standing(harness)).toMatchObject({ gasCost: 21_000n * 1_000_000_000n + 5n });
  });
});

describe("a transaction in no block", () => {
  it("is open, and known where an endpoint has it in its pool", async () => {
    const harness = await startChain({ heads: [100, 100] });
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: false });
    only(harness.chains, 1).waiting.add(DEARER);
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: true });
  });

  it("is replaced once another one used its nonce at the final depth, by both endpoints", async () => {
    const harness = await startChain({ heads: [100, 100] });
    for (const one of harness.chains) one.nonceAt = (height) => (height >= 99 ? 8 : 7);
    // Used in the latest blocks, but not as deep as that.
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: false });
    for (const one of harness.chains) one.head = 101;
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: false });
    only(harness.chains).head = 102;
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: false });
    only(harness.chains, 1).head = 102;
    expect(await standing(harness)).toEqual({ kind: "replaced" });
  });

  it("is not replaced where one endpoint has forgotten its receipt and the other shows it", async () => {
    const harness = await minedChain([200, 200], 98);
    for (const one of harness.chains) one.nonceAt = () => 8;
    only(harness.chains).mined.clear();
    expect(await standing(harness)).toMatchObject({ kind: "mined", isFinal: false });
  });

  it("is not replaced where it came into a block after its receipts were asked for", async () => {
    const harness = await startChain({ heads: [100] });
    const endpoint = only(harness.endpoints);
    const [chain] = harness.chains;
    if (chain === undefined) throw new Error("one chain");
    const { eth_blockNumber: height } = endpoint.replies;
    endpoint.replies = {
      ...endpoint.replies,
      eth_getTransactionByHash: () => null,
      eth_blockNumber: (...call) => {
        // The machine stood still in between, and the chain did not.
        chain.head = 110;
        chain.mined.set(OURS, { height: 101 });
        chain.nonceAt = (at) => (at >= 101 ? 8 : 7);
        return height?.(...call);
      },
    };
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: true });
  });

  it("is not replaced where an endpoint knows its block without having its receipt", async () => {
    const harness = await startChain({ heads: [100] });
    const endpoint = only(harness.endpoints);
    only(harness.chains).nonceAt = () => 8;
    endpoint.replies = {
      ...endpoint.replies,
      eth_getTransactionByHash: ([hash]) => ({ hash, blockHash: hash === DEARER ? hashOf("b") : null }),
    };
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: true });
  });

  it("is not replaced where a node no longer has the nonces of that depth: it has failed", async () => {
    const harness = await startChain({ heads: [100, 100] });
    for (const one of harness.chains) one.nonceAt = () => 8;
    const second = only(harness.endpoints, 1);
    second.replies = { ...second.replies, eth_getTransactionCount: () => CUT };
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: false });
  });

  it("has the nonce of the first block on a chain that is not as high as that", async () => {
    const harness = await startChain({ heads: [1] });
    only(harness.chains).nonceAt = (height) => (height === 0 ? 7 : 8);
    expect(await standing(harness)).toEqual({ kind: "open", isKnown: false });
    const [, nonce] = only(harness.endpoints).calls.filter(({ method }) => method === "eth_getTransactionCount");
    expect([
      only(harness.endpoints).calls.find((call) => call.method === "eth_getTransactionCount")?.params,
      nonce,
    ]).toEqual([[SENDER, toQuantity(0)], undefined]);
  });

  it("is not known where no endpoint answers", async () => {
    const harness = await startChain({ heads: [100], replies: { 0: { eth_getTransactionReceipt: () => CUT } } });
    expect(await harness.settled(harness.chain.standing(OF, OPTIONS))).toMatchObject({
      ok: false,
      code: "VENUE_ERROR",
    });
  });
});

describe("a transaction of six prices", () => {
  const hashes = Array.from({ length: 6 }, (_, index) => hashOf(`price ${index}`));

  it("is seen through an endpoint that takes a quarter of a second for each answer", async () => {
    const harness = await startChain({ heads: [100] });
    const { clock } = harness;
    const wire = only(harness.chains).replies();
    const node: VenueHttp = {
      async request({ body }) {
        const { id, method, params } = JSON.parse(body ?? "") as { id: number; method: string; params: unknown[] };
        await delay(clock, 250);
        const result = wire[method]?.(params, { id, method, params });
        const text = JSON.stringify({ jsonrpc: "2.0", id, result });
        return { kind: "response", status: 200, headers: {}, body: text, latencyNs: 0 } as unknown as HttpResult;
      },
    };
    const chain = new EvmChain({
      ...{ chainId: 56, confirmations: 3, urls: ["http://127.0.0.1:1"], clock, logger: silentLogger },
      ...{ gasLimits: { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }, random: createSeededRandom(1) },
      connect: () => ({ http: node, path: "/", headers: {}, close: async () => {} }),
    });
    const read = chain.standing({ from: SENDER, nonce: 7, hashes }, { timeoutMs: 3_000, lane: "reconcile" });
    await clock.advanceAsync(3_500);
    expect(await read).toMatchObject({ ok: true, value: { kind: "open", isKnown: false } });
  });
});

describe("an endpoint with many servers behind its name, one of which lags", () => {
  it("does not make a mined transaction a replaced one: its pool still has it", async () => {
    const harness = await startChain({ heads: [200, 200] });
    for (const one of harness.chains) {
      one.nonceAt = (height) => (height >= 98 ? 8 : 7);
      // The receipt and the transaction are asked of the server that lags.
      one.waiting.add(OURS);
    }
    expect(await standing(harness)).toMatchObject({ kind: "open" });
  });
});

describe("a transaction that was seen in a block, and whose receipt no endpoint keeps", () => {
  const seenIn = (chain: ScriptedChain) => ({ blockNumber: 98, blockHash: chain.blockHash(98) });

  async function pruned(heads: readonly number[]): Promise<Harness> {
    const harness = await startChain({ heads });
    for (const one of harness.chains) one.nonceAt = () => 8;
    return harness;
  }

  const read = async ({ chain, settled }: Harness, seen: { blockNumber: number; blockHash: string }) => {
    const value = await settled(chain.standing({ ...OF, seenIn: seen }, OPTIONS));
    if (!value.ok) throw new Error(value.message);
    return value.value;
  };

  it("is not shown, and as deep as its block is at as many as must agree", async () => {
    const harness = await pruned([5_000, 5_000]);
    const seen = seenIn(only(harness.chains));
    expect(await read(harness, seen)).toEqual({ kind: "unshown", confirmations: 4_903, isFinal: true });
  });

  it("is not replaced by the word of one where another one still has its block", async () => {
    const harness = await pruned([5_000, 5_000]);
    const seen = seenIn(only(harness.chains));
    forked(only(harness.chains, 1), 98);
    expect(await read(harness, seen)).toMatchObject({ kind: "unshown", isFinal: false });
  });

  it("is replaced where its block is in no chain any more", async () => {
    const harness = await pruned([5_000, 5_000]);
    const seen = seenIn(only(harness.chains));
    for (const one of harness.chains) forked(one, 98);
    expect(await read(harness, seen)).toEqual({ kind: "replaced" });
  });

  it("is mined where one endpoint keeps its receipt", async () => {
    const harness = await pruned([5_000, 5_000]);
    only(harness.chains, 1).mined.set(OURS, { height: 98 });
    const seen = seenIn(only(harness.chains));
    expect(await read(harness, seen)).toMatchObject({ kind: "mined", isFinal: false });
  });
});
