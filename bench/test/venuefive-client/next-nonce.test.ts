/** The nonce that a key of this process signs with: the account's next, also after what was signed has never arrived. */
import { createWalletClient, custom, type EIP1193RequestFn, type Hex } from "viem";
import { nonceManager, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { looks, nextKey, ORDER, PATIENT, refusal, type Stand, startApproved } from "./stand.js";

const ONCE = { retryCount: 0 };
const HURRIED = { ...PATIENT, minedMs: looks(4), lagMs: looks(4) };

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ mining: { kind: "manual" }, rolloverFeePerBlock: 0n, giveUpBlocks: null });
});
afterAll(() => world.stop());

/** Blocks come with the looks at a receipt. */
function mineWhileFollowed({ node }: Stand): void {
  node.intercept = async (request, forward) => {
    if (request.method === "eth_getTransactionReceipt") await world.chain.mine();
    return forward(request);
  };
}

/** A key whose first transaction is lost on its way to the node. */
function losingOne(key: Hex, withManager: boolean) {
  let isLost = false;
  const request = async ({ method, params }: { readonly method: string; readonly params: never }) => {
    if (method !== "eth_sendRawTransaction" || isLost) return world.chain.rpc(method, params ?? []);
    isLost = true;
    throw new Error("connection reset");
  };
  const account = privateKeyToAccount(key, withManager ? { nonceManager } : {});
  return createWalletClient({ account, transport: custom({ request: request as EIP1193RequestFn }, ONCE) });
}

describe("a key whose transaction has never arrived", () => {
  it.each([false, true])("trades on with the nonce of that one, with a nonce manager: %s", async (withManager) => {
    const key = nextKey();
    const stand = await startApproved(world, { key, timeouts: HURRIED, walletClient: losingOne(key, withManager) });
    mineWhileFollowed(stand);
    expect(await refusal(stand.trading.openPosition(ORDER))).toMatchObject({ outcome: "unknown" });
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(1n);
  });
});

describe("a key whose transaction the chain has undone", () => {
  it("trades on with the nonce of that one", async () => {
    const key = nextKey();
    const stand = await startApproved(world, { key, timeouts: HURRIED, walletClient: keyed(key) });
    mineWhileFollowed(stand);
    const undo = await world.snapshot();
    await stand.trading.openPosition(ORDER);
    const seen = BigInt((await world.chain.rpc("eth_blockNumber")) as Hex);
    await undo();
    // As high as before, with other blocks.
    while (BigInt((await world.chain.rpc("eth_blockNumber")) as Hex) < seen) await world.chain.mine();
    expect(await world.read("TradingStorage", "pendingOrderIdsCount", [stand.address])).toBe(0n);
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
  });
});

function keyed(key: Hex) {
  const request = ({ method, params }: { readonly method: string; readonly params: never }) =>
    world.chain.rpc(method, params ?? []);
  return createWalletClient({
    account: privateKeyToAccount(key),
    transport: custom({ request: request as unknown as EIP1193RequestFn }, ONCE),
  });
}
