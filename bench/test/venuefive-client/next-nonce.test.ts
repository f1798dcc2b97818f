/** The nonce that a key of this process signs with: the account's next, also after what was signed has never arrived. */
import { createWalletClient, custom, type EIP1193RequestFn, type Hex, type NonceManager } from "viem";
import { nonceManager, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TradingClock } from "../../../client/venuefive/options.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { looks, nextKey, ORDER, PATIENT, pausingClock, refusal, type Stand, startApproved } from "./stand.js";

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
  return createWalletClient({ account, transport: custom({ request: request as unknown as EIP1193RequestFn }, ONCE) });
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

describe("a key whose node answers after its time", () => {
  it("has signed nothing, and its nonce manager has no gap", async () => {
    const key = nextKey();
    const clock = pausingClock();
    const timeouts = { ...HURRIED, readMs: 1e9 };
    /** Of the latest read. */
    let end = (): void => {};
    const ending: TradingClock = {
      ...clock,
      after(ms, callback) {
        if (ms === timeouts.readMs) end = callback;
        return clock.after(ms, callback);
      },
    };
    let answer = (): void => {};
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let isLate = true;
    const request = async ({ method, params }: { readonly method: string; readonly params: never }) => {
      if (method === "eth_estimateGas" && isLate) {
        isLate = false;
        setImmediate(() => end());
        await late;
      }
      return world.chain.rpc(method, params ?? []);
    };
    let noteConsumed = (): void => {};
    const consumed = new Promise<void>((resolve) => {
      noteConsumed = resolve;
    });
    const noting: NonceManager = {
      ...nonceManager,
      async consume(given) {
        const nonce = await nonceManager.consume(given);
        noteConsumed();
        return nonce;
      },
    };
    const account = privateKeyToAccount(key, { nonceManager: noting });
    const transport = custom({ request: request as unknown as EIP1193RequestFn }, ONCE);
    const walletClient = createWalletClient({ account, transport });
    const stand = await startApproved(world, { key, timeouts, clock: ending, walletClient });
    mineWhileFollowed(stand);
    const error = await refusal(stand.trading.openPosition(ORDER));
    expect(error).toMatchObject({ code: "CHAIN_UNAVAILABLE", outcome: "notSent" });
    answer();
    await consumed;
    expect((await stand.trading.openPosition(ORDER)).txHash).toMatch(/^0x/);
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
