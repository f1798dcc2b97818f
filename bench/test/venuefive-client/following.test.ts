/**
 * A transaction after it has left, on a chain whose blocks come by hand: what the wallet, the node and the keeper may do with
 * it. Nothing that may be done yet is said to have failed.
 */
import type { Address, Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenuefiveStepEvent } from "../../../client/venuefive/steps.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import {
  keyClients,
  looks,
  nextKey,
  type Node,
  ORDER,
  PATIENT,
  pausingClock,
  refusal,
  type Stand,
  startApproved,
  startStand,
} from "./stand.js";

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ mining: { kind: "manual" }, rolloverFeePerBlock: 0n, giveUpBlocks: null });
});
afterAll(() => world.stop());

/** Answers `method` otherwise for so many times, with null or an error, and calls `then` once. */
function absent(node: Node, method: string, times: number, then: () => Promise<unknown>): void {
  let left = times;
  node.intercept = async (request, forward) => {
    if (request.method !== method || left < 0) return forward(request);
    left -= 1;
    if (left < 0) await then();
    return left < 0 ? forward(request) : null;
  };
}

/** Blocks come with the looks at a receipt. */
function mineWhileFollowed(node: Node): void {
  node.intercept = async (request, forward) => {
    if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
    return forward(request);
  };
}

/** Once the node has shown what was sent: before that, nobody knows its nonce. */
function onceShown(node: Node, act: (txHash: Hex) => Promise<unknown>): void {
  let isDone = false;
  node.intercept = async (request, forward) => {
    const answer = await forward(request);
    if (request.method !== "eth_getTransactionByHash" || answer === null || isDone) return answer;
    isDone = true;
    await act((answer as { readonly hash: Hex }).hash);
    return answer;
  };
}

async function transaction(hash: Hex): Promise<{ nonce: number; to: Address; input: Hex; value: Hex }> {
  const found = (await world.chain.rpc("eth_getTransactionByHash", [hash])) as Record<"nonce" | "to" | "input", Hex>;
  return { ...found, nonce: Number(found.nonce) } as never;
}

/** Puts another call in the place of the one that waits, and makes the block. */
async function replace(stand: Stand, hash: Hex, by: { to?: Address; data?: Hex; value?: bigint }): Promise<Hex> {
  const { nonce, to, input, value } = await transaction(hash);
  const other = await stand.wallet.send({ to, data: input, value: BigInt(value), ...by }, nonce, 3n);
  await world.chain.mine();
  return other;
}

describe("a transaction that the wallet replaces", () => {
  it("by the same call goes on under the new hash", async () => {
    const stand = await startApproved(world);
    let second: Hex | null = null;
    onceShown(stand.node, async (hash) => {
      second = await replace(stand, hash, {});
    });
    const { txHash } = await stand.trading.openPosition(ORDER);
    expect(txHash).toBe(second);
    const sent = stand.steps.filter(({ step }) => step === "sent") as { txHash: Hex; replaces: Hex | null }[];
    expect(sent).toMatchObject([{ replaces: null }, { txHash, replaces: sent[0]?.txHash }]);
    expect(stand.steps.at(-1)).toMatchObject({ step: "mined", txHash });
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(1n);
  });

  it("by the same call while the page sleeps is found in its block, not lost with its first hash", async () => {
    const clock = pausingClock();
    let sleptMs = 0;
    const sleeping = { ...clock, monoMs: () => clock.monoMs() + sleptMs };
    const timeouts = { ...PATIENT, droppedMs: looks(4), minedMs: looks(40) };
    const stand = await startApproved(world, { timeouts, clock: sleeping });
    let second: Hex | null = null;
    onceShown(stand.node, async (hash) => {
      second = await replace(stand, hash, {});
      sleptMs = looks(50);
    });
    expect((await stand.trading.openPosition(ORDER)).txHash).toBe(second);
  });

  it("by nothing is cancelled, and certainly without effect", async () => {
    const stand = await startApproved(world);
    let second: Hex | null = null;
    onceShown(stand.node, async (hash) => {
      second = await replace(stand, hash, { to: stand.address, data: "0x", value: 0n });
    });
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "TRANSACTION_CANCELLED", outcome: "failed", details: { replacedBy: second } });
  });

  it("by another call is replaced", async () => {
    const stand = await startApproved(world);
    const other = { to: world.addresses.Usdc, data: "0x06fdde03", value: 0n } as const;
    onceShown(stand.node, (hash) => replace(stand, hash, other));
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "TRANSACTION_REPLACED", outcome: "failed" });
  });
});

describe("a transaction that is in no block", () => {
  it("is unknown after its time, and may be mined then", async () => {
    const stand = await startApproved(world, { timeouts: { ...PATIENT, minedMs: looks(4) } });
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "RECEIPT_TIMEOUT", outcome: "unknown", stage: "trade" });
    expect(error.txHash).toBe((stand.steps.at(-1) as { txHash: Hex }).txHash);
    await world.chain.mine();
    const receipt = await world.chain.rpc("eth_getTransactionReceipt", [error.txHash]);
    expect(receipt).toMatchObject({ status: "0x1" });
  });

  it("and that the node drops is unknown too", async () => {
    const stand = await startApproved(world, { timeouts: { ...PATIENT, droppedMs: looks(3) } });
    stand.node.intercept = async (request, forward) => {
      const answer = await forward(request);
      // After it was seen.
      if (request.method === "eth_getTransactionByHash" && answer !== null)
        await world.chain.drop(request.params[0] as unknown as Hex);
      return answer;
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "TRANSACTION_DROPPED", outcome: "unknown" });
    expect(error.txHash).toMatch(/^0x/);
  });

  it("is not waited for where the hash is all that is asked for", async () => {
    const stand = await startApproved(world, { waitFor: "sent" });
    const { txHash } = await stand.trading.openPosition(ORDER);
    expect(await world.chain.rpc("eth_getTransactionReceipt", [txHash])).toBeNull();
    expect(stand.steps.map(({ step }) => step)).toEqual(["sign", "sent"]);
    await world.chain.mine();
  });
});

describe("a node that answers late or not", () => {
  it("shows the receipt after many looks", async () => {
    const stand = await startApproved(world);
    absent(stand.node, "eth_getTransactionReceipt", 6, () => world.chain.mine());
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
  });

  it("fails for some looks, and the transaction is followed on", async () => {
    const stand = await startApproved(world);
    let left = 5;
    stand.node.intercept = async (request, forward) => {
      if (request.method !== "eth_getTransactionReceipt") return forward(request);
      left -= 1;
      if (left > 0) throw new Error("connection reset");
      if (left === 0) await world.chain.mine();
      return forward(request);
    };
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
  });

  it("reads a state older than the approval's receipt for a while, and no order is signed until it does not", async () => {
    const stand = await startStand(world);
    const before = (await world.chain.rpc("eth_blockNumber")) as Hex;
    let isBehind = false;
    let left = 6;
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getTransactionReceipt") {
        await world.chain.mine();
        isBehind = true;
      }
      if (request.method !== "eth_call" || !isBehind || left <= 0) return forward(request);
      left -= 1;
      expect(stand.signed()).toEqual(["approve"]);
      // One of two nodes behind one address.
      if (left % 2 === 0) return forward(request);
      return forward({ ...request, params: [request.params[0], before] as never });
    };
    await stand.trading.openPosition(ORDER);
    expect({ left, signed: stand.signed() }).toEqual({ left: 0, signed: ["approve", "openTrade"] });
  });

  it("never shows the approval: no order is signed", async () => {
    const stand = await startStand(world, { timeouts: { ...PATIENT, lagMs: looks(4) } });
    const before = (await world.chain.rpc("eth_blockNumber")) as Hex;
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
      if (request.method !== "eth_call") return forward(request);
      return forward({ ...request, params: [request.params[0], before] as never });
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "INSUFFICIENT_ALLOWANCE", outcome: "notSent" });
    expect(error.details["approveTxHash"]).toMatch(/^0x/);
    expect(stand.signed()).toEqual(["approve"]);
  });

  it("loses its answer to a signed transaction that it took: the block shows it", async () => {
    const key = nextKey();
    const { walletClient } = keyClients(world, key);
    const request = walletClient.request as (args: { method: string }) => Promise<unknown>;
    const losing = {
      ...walletClient,
      request: async (args: { method: string }) => {
        const answer = await request(args);
        if (args.method === "eth_sendRawTransaction") throw new Error("socket hang up");
        return answer;
      },
    } as typeof walletClient;
    const stand = await startApproved(world, { key, walletClient: losing });
    const error = await refusal(stand.trading.openPosition(ORDER, { waitFor: "sent" }));
    expect(error).toMatchObject({ code: "SEND_UNKNOWN", outcome: "unknown" });
    await world.chain.mine();
    expect(await world.chain.rpc("eth_getTransactionReceipt", [error.txHash])).toMatchObject({ status: "0x1" });
    mineWhileFollowed(stand.node);
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
  });
});

describe("the keeper", () => {
  it("never executes: the order is pending, with its hash and number", async () => {
    const stand = await startApproved(world, { waitFor: "executed", timeouts: { ...PATIENT, executedMs: looks(4) } });
    mineWhileFollowed(stand.node);
    const error = await refusal(stand.trading.openPosition(ORDER));
    const mined = stand.steps.at(-1) as { txHash: Hex; orderId: string };
    expect(error).toMatchObject({ code: "EXECUTION_TIMEOUT", outcome: "pending", txHash: mined.txHash });
    expect(error.details).toEqual({ orderId: mined.orderId });
    expect((await world.keeper.round()).executed.map(String)).toContain(mined.orderId);
  });

  it("is not seen while logs cannot be read: the order is unknown", async () => {
    const stand = await startApproved(world, { waitFor: "executed", timeouts: { ...PATIENT, executedMs: looks(4) } });
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getLogs") throw new Error("range is not available");
      if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
      return forward(request);
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "EXECUTION_TIMEOUT", outcome: "unknown" });
    await world.keeper.round();
  });

  it("executes, though logs lag behind its block", async () => {
    const stand = await startApproved(world, { waitFor: "executed" });
    let left = 6;
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
      if (request.method !== "eth_getLogs") return forward(request);
      if (left === 6) await world.keeper.round();
      left -= 1;
      if (left % 2 === 0 && left > 0) throw new Error("block is not known");
      return left > 0 ? [] : forward(request);
    };
    await stand.trading.openPosition(ORDER);
    expect(stand.steps.at(-1)).toMatchObject({ step: "executed", price: "92400" });
    expect(left).toBe(0);
  });

  it("gives the order up: the collateral is back", async () => {
    const stand = await startApproved(world, { waitFor: "executed" });
    mineWhileFollowed(stand.node);
    const onStep = (event: VenuefiveStepEvent): void => {
      if (event.step === "mined") void world.keeper.cancel(BigInt(event.orderId ?? -1));
    };
    const error = await refusal(stand.trading.openPosition(ORDER, { onStep }));
    expect(error).toMatchObject({ code: "ORDER_CANCELED", outcome: "failed", txHash: expect.stringMatching(/^0x/) });
    expect(await world.usdc(stand.address)).toBe("10000");
  });
});

describe("a second call while the first is pending", () => {
  it("waits until the first is in its block, and has an allowance of its own", async () => {
    const stand = await startStand(world);
    const askedAt: number[] = [];
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getTransactionReceipt") {
        askedAt.push(stand.wallet.asked.length);
        await world.chain.mine();
      }
      return forward(request);
    };
    const results = await Promise.all([
      stand.trading.openPosition(ORDER),
      stand.trading.openPosition({ ...ORDER, direction: "SHORT" }),
      stand.with({}).openPosition({ ...ORDER, leverage: 20 }),
    ]);
    expect(new Set(results.map(({ txHash }) => txHash)).size).toBe(3);
    expect(results.map(({ direction, leverage }) => [direction, leverage])).toEqual([
      ["LONG", 10],
      ["SHORT", 10],
      ["LONG", 20],
    ]);
    expect(stand.signed()).toEqual(["approve", "openTrade", "approve", "openTrade", "approve", "openTrade"]);
    expect(new Set(askedAt)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(3n);
  });

  it("uses the next nonce of a key, even where the node has not counted the first yet", async () => {
    const key = nextKey();
    const { walletClient, account } = keyClients(world, key);
    const request = walletClient.request as (args: { method: string }) => Promise<unknown>;
    // As many as before the first of them.
    const lagging = {
      ...walletClient,
      request: (args: { method: string }) =>
        args.method === "eth_getTransactionCount" ? Promise.resolve("0x1") : request(args),
    } as typeof walletClient;
    const stand = await startApproved(world, { key, walletClient: lagging });
    mineWhileFollowed(stand.node);
    await Promise.all([stand.trading.openPosition(ORDER), stand.trading.openPosition(ORDER)]);
    const count = await world.chain.rpc("eth_getTransactionCount", [account.address, "latest"]);
    expect(Number(count)).toBe(3);
  });

  it("through another wallet client of the key uses the next nonce too", async () => {
    const key = nextKey();
    // As many as before the first of them.
    const lagging = () => {
      const { walletClient } = keyClients(world, key);
      const request = walletClient.request as (args: { method: string }) => Promise<unknown>;
      return {
        ...walletClient,
        request: (args: { method: string }) =>
          args.method === "eth_getTransactionCount" ? Promise.resolve("0x1") : request(args),
      } as typeof walletClient;
    };
    const stand = await startApproved(world, { key });
    mineWhileFollowed(stand.node);
    const calls = [lagging(), lagging()].map((walletClient) => stand.with({ walletClient }).openPosition(ORDER));
    await Promise.all(calls);
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(2n);
  });

  it("goes on where the first is rejected", async () => {
    const stand = await startApproved(world);
    mineWhileFollowed(stand.node);
    stand.wallet.next = () => Promise.reject(Object.assign(new Error("no"), { code: 4001 }));
    const [first, second] = await Promise.allSettled([
      stand.trading.openPosition(ORDER),
      stand.trading.openPosition(ORDER),
    ]);
    expect(first).toMatchObject({ status: "rejected", reason: { code: "USER_REJECTED" } });
    expect(second).toMatchObject({ status: "fulfilled" });
  });
});
