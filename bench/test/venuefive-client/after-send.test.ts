/** What is reported of a transaction that has left: only what its receipt, its nonce or its events prove. */
import { encodeAbiParameters, encodeEventTopics, type Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approveCall, callData, TRADING_CALLBACKS } from "../../../client/venuefive/contract-calls.js";
import type { VenuefiveStepEvent } from "../../../client/venuefive/steps.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { keyClients, looks, nextKey, ORDER, PATIENT, refusal, type Stand, startApproved, startStand } from "./stand.js";

const BTC = 1;

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ mining: { kind: "manual" }, rolloverFeePerBlock: 0n, giveUpBlocks: null });
});
afterAll(() => world.stop());

/** Blocks come with the looks at a receipt; `change` may alter what is seen of it. */
function mineWhileFollowed(stand: Stand, change = (receipt: unknown): unknown => receipt): void {
  stand.node.intercept = async (request, forward) => {
    if (request.method !== "eth_getTransactionReceipt") return forward(request);
    await world.chain.mine();
    return change(await forward(request));
  };
}

const sentHash = ({ steps }: Stand): Hex => {
  const sent = steps.find(({ step }) => step === "sent") as { txHash: Hex } | undefined;
  if (sent === undefined) throw new Error("nothing was sent");
  return sent.txHash;
};

describe("a look at the chain after the send that fails", () => {
  it.each(["insufficient funds: the plan of this key is used up", "execution reverted"])(
    "with the text %j says nothing of the transaction, which is followed on",
    async (text) => {
      const stand = await startApproved(world);
      let left = 4;
      stand.node.intercept = async (request, forward) => {
        if (request.method !== "eth_getTransactionReceipt") return forward(request);
        left -= 1;
        if (left > 0) throw Object.assign(new Error(text), { code: -32000 });
        await world.chain.mine();
        return forward(request);
      };
      expect((await stand.trading.openPosition(ORDER)).txHash).toBe(sentHash(stand));
    },
  );

  it("for what no node should answer is followed on too", async () => {
    const stand = await startApproved(world);
    let left = 4;
    const isSent = () => stand.steps.some(({ step }) => step === "sent");
    stand.node.intercept = async (request, forward) => {
      if (isSent() && left > 0 && request.method === "eth_getTransactionCount") return "0xffff";
      if (isSent() && left > 0 && request.method === "eth_blockNumber") return "0xffffff";
      // A block without transactions.
      if (request.method === "eth_getBlockByNumber" && left-- > 0) return { number: "0x1" };
      if (request.method === "eth_getTransactionReceipt" && left <= 0) await world.chain.mine();
      return forward(request);
    };
    expect((await stand.trading.openPosition(ORDER)).txHash).toBe(sentHash(stand));
  });

  it("keeps the hash where the receipt cannot be read", async () => {
    const stand = await startApproved(world);
    mineWhileFollowed(stand, (receipt) => receipt && { ...receipt, logs: undefined });
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ outcome: "unknown", txHash: sentHash(stand) });
  });
});

describe("a receipt of success", () => {
  const withoutLogs = (receipt: unknown): unknown => receipt && { ...receipt, logs: [] };

  it.each(["MARKET", "LIMIT"] as const)("that shows no %s order is none of an order", async (orderType) => {
    const stand = await startApproved(world);
    mineWhileFollowed(stand, withoutLogs);
    const error = await refusal(stand.trading.openPosition({ ...ORDER, orderType }));
    expect(error).toMatchObject({ code: "UNEXPECTED_RECEIPT", outcome: "unknown", txHash: sentHash(stand) });
  });

  it("of another pair's order is none of this order", async () => {
    const stand = await startApproved(world);
    // The user's wallet sends something else than it was asked for.
    stand.wallet.next = async () => {
      const { data } = stand.wallet.asked.at(-1) as { data: Hex };
      const pairWord = 10 + 64;
      const otherPair = `${data.slice(0, pairWord)}${"0".repeat(64)}${data.slice(pairWord + 64)}` as Hex;
      return stand.wallet.send({ to: world.addresses.Trading, data: otherPair, value: 0n });
    };
    mineWhileFollowed(stand);
    const error = await refusal(stand.trading.openPosition({ ...ORDER, openPrice: "3000" }));
    expect(error).toMatchObject({ code: "UNEXPECTED_RECEIPT", outcome: "unknown", txHash: sentHash(stand) });
  });
});

describe("a stop loss", () => {
  it("that the contract leaves as it was is not reported as set", async () => {
    const getPriceUpdate = async () => ({ priceUpdateData: ["0xcafe"], priceSourcing: 1 }) as const;
    const stand = await startApproved(world, { getPriceUpdate });
    mineWhileFollowed(stand);
    await stand.trading.openPosition(ORDER);
    await world.keeper.round();
    await world.chain.mine(2);
    await world.turn("PairStorage", "setGuaranteedSl", [BTC, true]);
    try {
      const slot = { pairIndex: BTC, tradeIndex: 0 };
      // Above the price of now: the contract takes the transaction, and leaves the stop loss without a word.
      const error = await refusal(stand.trading.updateTpAndSl({ ...slot, sl: "92500" }));
      const { sl } = await world.read<{ sl: bigint }>("TradingStorage", "openTrades", [stand.address, BTC, 0]);
      expect(sl).toBe(0n);
      expect(error).toMatchObject({ code: "UNEXPECTED_RECEIPT", outcome: "unknown" });
      expect(error.txHash).toMatch(/^0x/);
      await world.chain.mine(2);
      expect(await stand.trading.updateTpAndSl({ ...slot, sl: "92000" })).toMatch(/^0x/);
    } finally {
      await world.turn("PairStorage", "setGuaranteedSl", [BTC, false]);
    }
  });

  it("that is set within its block leaves nothing to wait for", async () => {
    const getPriceUpdate = async () => ({ priceUpdateData: ["0xcafe"], priceSourcing: 1 }) as const;
    const stand = await startApproved(world, { getPriceUpdate, timeouts: { ...PATIENT, executedMs: looks(4) } });
    mineWhileFollowed(stand);
    await stand.trading.openPosition(ORDER);
    await world.keeper.round();
    await world.chain.mine(2);
    await world.turn("PairStorage", "setGuaranteedSl", [BTC, true]);
    try {
      const trading = stand.with({ waitFor: "executed" });
      const txHash = await trading.updateTpAndSl({ pairIndex: BTC, tradeIndex: 0, sl: "92000" });
      expect(stand.steps.at(-1)).toMatchObject({ step: "mined", txHash, orderId: null });
      expect(await trading.resume(txHash)).toBe(txHash);
      expect(stand.steps.at(-1)).toMatchObject({ operation: "resume", step: "mined", orderId: null });
    } finally {
      await world.turn("PairStorage", "setGuaranteedSl", [BTC, false]);
    }
  });
});

describe("a transaction that is sped up", () => {
  async function speedUp(stand: Stand, hash: Hex): Promise<Hex> {
    const { nonce, to, input, value } = (await world.chain.rpc("eth_getTransactionByHash", [hash])) as Record<
      "nonce" | "to" | "input" | "value",
      Hex
    >;
    const second = await stand.wallet.send({ to, data: input, value: BigInt(value) }, Number(nonce), 3n);
    await world.chain.mine();
    return second;
  }

  it("before the public node has seen it is followed, since the wallet's own node knows its nonce", async () => {
    const stand = await startApproved(world);
    let first: Hex | null = null;
    let second: Hex | null = null;
    stand.node.intercept = (request, forward) =>
      request.method === "eth_getTransactionByHash" && String(request.params[0]) === first
        ? Promise.resolve(null)
        : forward(request);
    stand.wallet.node.intercept = async (request, forward) => {
      const answer = await forward(request);
      if (request.method === "eth_getTransactionByHash" && second === null && first !== null)
        second = await speedUp(stand, first);
      return answer;
    };
    const onStep = (event: VenuefiveStepEvent): void => {
      if (event.step === "sent") first ??= event.txHash;
    };
    const { txHash } = await stand.trading.openPosition(ORDER, { onStep });
    expect(txHash).toBe(second);
  });

  it("after its user has changed the approval is followed as what was sent", async () => {
    const stand = await startStand(world);
    const { Usdc, TradingStorage } = world.addresses;
    let first: Hex | null = null;
    stand.wallet.next = async () => {
      const more = callData(approveCall(Usdc, TradingStorage, 500_000_000n));
      first = await stand.wallet.send({ to: Usdc, data: more, value: 0n });
      return first;
    };
    let isSpedUp = false;
    stand.node.intercept = async (request, forward) => {
      const answer = await forward(request);
      if (request.method === "eth_getTransactionByHash" && first !== null && !isSpedUp) {
        isSpedUp = true;
        await speedUp(stand, first);
      } else if (request.method === "eth_getTransactionReceipt" && isSpedUp) await world.chain.mine();
      return answer;
    };
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
    expect(stand.signed()).toEqual(["approve", "openTrade"]);
  });
});

describe("the keeper's events", () => {
  it("that are not shown leave unknown an order that no longer waits", async () => {
    const stand = await startApproved(world, { waitFor: "executed", timeouts: { ...PATIENT, executedMs: looks(4) } });
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
      if (request.method !== "eth_getLogs") return forward(request);
      await world.keeper.round();
      return [];
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "EXECUTION_TIMEOUT", outcome: "unknown", txHash: sentHash(stand) });
  });

  it("of another trader's order under the same number are not taken for ours", async () => {
    const stand = await startApproved(world, { waitFor: "executed", timeouts: { ...PATIENT, executedMs: looks(4) } });
    const callbacks = await world.read<Hex>("TradingStorage", "callbacks");
    let orderId = 0n;
    stand.node.intercept = async (request, forward) => {
      if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
      if (request.method !== "eth_getLogs") return forward(request);
      return [executedLog(callbacks, orderId, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")];
    };
    const onStep = (event: VenuefiveStepEvent): void => {
      if (event.step === "mined") orderId = BigInt(event.orderId ?? -1);
    };
    const error = await refusal(stand.trading.openPosition(ORDER, { onStep }));
    expect(error).toMatchObject({ code: "EXECUTION_TIMEOUT", outcome: "pending" });
    await world.keeper.round();
  });
});

function executedLog(address: Hex, orderId: bigint, trader: Hex) {
  const t = {
    ...{ trader, pairIndex: 1n, index: 0n, initialPosToken: 1n, positionSizeUSDC: 1n, openPrice: 1n, buy: true },
    ...{ leverage: 1n, tp: 0n, sl: 0n, timestamp: 1n },
  };
  const event = TRADING_CALLBACKS.find((one) => one.type === "event" && one.name === "MarketExecuted");
  if (event?.type !== "event" || event.name !== "MarketExecuted") throw new Error("the ABI has no such event");
  const data = encodeAbiParameters(event.inputs as never, [orderId, t, true, 1n, 1n, 0n, 0n, false] as never);
  const word = `0x${"1".padStart(64, "0")}`;
  return {
    ...{ address, data, topics: encodeEventTopics({ abi: TRADING_CALLBACKS, eventName: "MarketExecuted" }) },
    ...{ blockNumber: "0x1", blockHash: word, transactionHash: word, transactionIndex: "0x0", logIndex: "0x0" },
    removed: false,
  };
}

describe("a transaction of a key in this process that reverts in its block", () => {
  it("has used its nonce, even where the node has not counted it yet", async () => {
    const key = nextKey();
    const { walletClient } = keyClients(world, key);
    const request = walletClient.request as (args: { method: string }) => Promise<unknown>;
    // As many as before the first of them.
    const lagging = {
      ...walletClient,
      request: (args: { method: string }) =>
        args.method === "eth_getTransactionCount" ? Promise.resolve("0x1") : request(args),
    } as typeof walletClient;
    const stand = await startApproved(world, {
      key,
      walletClient: lagging,
      timeouts: { ...PATIENT, minedMs: looks(6) },
    });
    let isFirst = true;
    stand.node.intercept = async (asked, forward) => {
      if (asked.method === "eth_getTransactionReceipt") {
        if (isFirst) await world.turn("Trading", "setPaused", [true]);
        else await world.chain.mine();
      }
      return forward(asked);
    };
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "REVERTED", outcome: "failed" });
    isFirst = false;
    await world.turn("Trading", "setPaused", [false]);
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
  });
});
