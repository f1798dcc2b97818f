/** A transaction that was sent before, as after a reload of the page: followed to its end by its hash alone. */
import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { approveCall, callData } from "../../../client/venuefive/contract-calls.js";
import type { OpenPositionParameters } from "../../../client/venuefive/open-order.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { ORDER, PATIENT, refusal, type Stand, startStand } from "./stand.js";

const NOWHERE = `0x${"ab".repeat(32)}` as const;

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ mining: { kind: "manual" }, rolloverFeePerBlock: 0n, giveUpBlocks: null });
});
afterAll(() => world.stop());

/** With an order that waits for its block, of a page that is gone; and the approval before it. */
async function sent(more: Partial<OpenPositionParameters> = {}) {
  const stand = await startStand(world);
  const { Usdc, TradingStorage } = world.addresses;
  const data = callData(approveCall(Usdc, TradingStorage, 10_000_000_000n));
  const approval = await stand.wallet.send({ to: Usdc, data, value: 0n });
  await world.chain.mine();
  const { txHash } = await stand.trading.openPosition({ ...ORDER, ...more }, { waitFor: "sent" });
  stand.steps.length = 0;
  return { stand, txHash, approval };
}

/** Blocks come with the looks at a receipt, and the keeper with those at its logs. */
function liveWhileFollowed({ node }: Stand): void {
  node.intercept = async (request, forward) => {
    if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
    if (request.method === "eth_getLogs") await world.keeper.round();
    return forward(request);
  };
}

describe("a transaction that is resumed", () => {
  it("is followed into its block, and until the keeper has executed it", async () => {
    const { stand, txHash } = await sent();
    liveWhileFollowed(stand);
    expect(await stand.with({}).resume(txHash)).toBe(txHash);
    expect(stand.steps).toMatchObject([
      { operation: "resume", step: "mined", txHash, orderId: expect.stringMatching(/^\d+$/) },
      { operation: "resume", step: "executed", txHash, price: "92400" },
    ]);
    // It has ended long since.
    expect(await stand.with({}).resume(txHash)).toBe(txHash);
    expect(stand.signed()).toEqual(["openTrade"]);
  });

  it("of a limit order ends with its block", async () => {
    const { stand, txHash } = await sent({ orderType: "LIMIT", openPrice: "90000" });
    liveWhileFollowed(stand);
    expect(await stand.with({}).resume(txHash)).toBe(txHash);
    expect(stand.steps).toMatchObject([{ step: "mined", orderId: null }]);
  });

  it("and then sped up goes on under the new hash", async () => {
    const { stand, txHash } = await sent();
    let second: Hex | null = null;
    stand.node.intercept = async (request, forward) => {
      const answer = await forward(request);
      if (request.method !== "eth_getTransactionByHash" || second !== null) return answer;
      const { nonce, to, input, value } = answer as Record<"nonce" | "to" | "input" | "value", Hex>;
      const call = { to, data: input, value: BigInt(value) };
      second = await stand.wallet.send(call, Number(nonce), 3n);
      await world.chain.mine();
      return answer;
    };
    expect(await stand.with({}).resume(txHash, { waitFor: "mined" })).toBe(second);
  });

  it("by its hash in capitals is not taken for one that was sped up", async () => {
    const { stand, txHash } = await sent();
    await world.chain.mine();
    const { blockNumber } = (await world.chain.rpc("eth_getTransactionByHash", [txHash])) as { blockNumber: Hex };
    let noReceipts = 3;
    let isFirst = true;
    // Two nodes behind one address: the one that is asked first lags.
    stand.node.intercept = (request, forward) => {
      if (request.method === "eth_getTransactionReceipt" && noReceipts-- > 0) return Promise.resolve(null);
      if (request.method !== "eth_blockNumber" || !isFirst) return forward(request);
      isFirst = false;
      return Promise.resolve(`0x${(BigInt(blockNumber) - 1n).toString(16)}`);
    };
    const inCapitals = `0x${txHash.slice(2).toUpperCase()}` as Hex;
    expect(await stand.with({}).resume(inCapitals, { waitFor: "mined" })).toBe(txHash);
    expect(stand.steps.map(({ step }) => step)).toEqual(["mined"]);
  });

  it("and has reverted in its block is REVERTED", async () => {
    const { stand } = await sent();
    await world.chain.mine();
    // More than is allowed.
    const { data } = stand.wallet.asked.at(-1) as { data: Hex };
    await world.turn("TradingStorage", "setMaxTradesPerPair", [0]);
    const txHash = await stand.wallet.send({ to: world.addresses.Trading, data, value: 0n });
    await world.chain.mine();
    await world.turn("TradingStorage", "setMaxTradesPerPair", [40]);
    const error = await refusal(stand.with({}).resume(txHash));
    expect(error).toMatchObject({ code: "REVERTED", outcome: "failed", txHash });
  });
});

describe("a hash that cannot be resumed", () => {
  it("of another account or of another call is NOT_OWN_TRANSACTION", async () => {
    const { stand, txHash, approval } = await sent();
    const other = await startStand(world);
    for (const [trading, hash] of [
      [other.trading, txHash],
      [stand.trading, approval],
    ] as const)
      expect(await refusal(trading.resume(hash))).toMatchObject({ code: "NOT_OWN_TRANSACTION", txHash: hash });
    await world.chain.mine();
  });

  it("since the wallet shows another account by now is not reported as never sent", async () => {
    const { stand, txHash } = await sent();
    const other = await startStand(world);
    const { walletClient } = other.options;
    const error = await refusal(stand.with({ walletClient }).resume(txHash));
    expect(error).toMatchObject({ code: "NOT_OWN_TRANSACTION", outcome: "unknown", txHash });
    // It was on its way all the time.
    await world.chain.mine();
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(1n);
  });

  it("since an option is wrong is not reported as never sent", async () => {
    const { stand, txHash } = await sent();
    const error = await refusal(stand.trading.resume(txHash, { waitFor: "done" as never }));
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", outcome: "unknown", txHash });
    await world.chain.mine();
  });

  it("that is none is INVALID_PARAMETERS", async () => {
    const { trading } = await startStand(world);
    for (const hash of ["0x12", undefined, `${NOWHERE}00`])
      expect(await refusal(trading.resume(hash as never))).toMatchObject({ code: "INVALID_PARAMETERS" });
  });

  it("that no node shows stays unknown, and so does one without a wallet or on another chain", async () => {
    const stand = await startStand(world);
    const hurried = stand.with({ timeouts: { ...PATIENT, minedMs: 3 * PATIENT.pollMs } });
    const unknown = { outcome: "unknown", txHash: NOWHERE };
    expect(await refusal(hurried.resume(NOWHERE))).toMatchObject({ code: "RECEIPT_TIMEOUT", ...unknown });
    const walletless = stand.with({ walletClient: null });
    expect(await refusal(walletless.resume(NOWHERE))).toMatchObject({ code: "WALLET_DISCONNECTED", ...unknown });
    stand.wallet.chainId = 1;
    expect(await refusal(stand.trading.resume(NOWHERE))).toMatchObject({ code: "WRONG_CHAIN", ...unknown });
  });
});
