/** A venue's deposits and payouts on chain: each once, through reorgs, drops and chains that do not answer. */
import { type Hex, parseUnits } from "viem";
import { describe, expect, it, onTestFinished } from "vitest";
import { ChainKey } from "./chain-account.js";
import { chainRpc, minedReceipt } from "./chain-rpc.js";
import type { ChainDeposit } from "./deposit-watcher.js";
import type { Mining } from "./local-chain.js";
import type { Payout } from "./payout-desk.js";
import { startDepositor } from "./test/depositor.js";
import { Treasury, type VenueChains } from "./treasury.js";
import { type ChainWorld, startChainWorld } from "./world.js";
import { VAULT_OPERATOR_KEY, WORLD, type WorldChainId, worldToken } from "./world-plan.js";

const USER_KEY: Hex = `0x${"31".repeat(32)}`;
const OTHER: Hex = "0x00000000000000000000000000000000000000cc";
const MANUAL: Mining = { kind: "manual" };

async function startWorld(chainId: WorldChainId, mining: Mining = MANUAL): Promise<ChainWorld> {
  const world = await startChainWorld({ chainIds: [chainId], mining });
  onTestFinished(() => world.stop());
  return world;
}

/** The treasury of a venue with all that it reported. */
function venueOf(kind: "vault" | "bridge", chains: VenueChains) {
  const deposits: ChainDeposit[] = [];
  const ended: Payout[] = [];
  const treasury = new Treasury(kind, chains, {
    onDeposit: (deposit) => deposits.push(deposit),
    onPayoutEnd: (payout) => ended.push(payout),
  });
  return { treasury, deposits, ended };
}

const rawOf = async (world: ChainWorld, chainId: WorldChainId, hash: Hex): Promise<Hex> =>
  (await world.chain(chainId).rpc("eth_getRawTransactionByHash", [hash])) as Hex;

describe("deposits that a venue sees", () => {
  it("count once they are as deep as it waits for, and once only", async () => {
    const world = await startWorld(56);
    const chain = world.chain(56);
    const user = await startDepositor(world, 56, "USDT", USER_KEY);
    const { treasury, deposits } = venueOf("vault", { rpcUrls: world.rpcUrls, confirmations: 3 });
    const hash = await user.deposit("12.5");
    await treasury.poll();
    expect([treasury.pending, deposits]).toEqual([[], []]);
    await chain.mine(2);
    await treasury.poll();
    expect(deposits).toEqual([]);
    expect(treasury.pending.map((deposit) => deposit.hash)).toEqual([hash]);
    await chain.mine();
    await treasury.poll();
    const facts = { account: user.address, token: "USDT", decimals: 18, amount: parseUnits("12.5", 18), broker: 1000n };
    expect(deposits).toMatchObject([{ ...facts, hash, chainId: 56 }]);
    await treasury.poll();
    await chain.mine(3);
    await treasury.poll();
    await treasury.poll();
    expect([treasury.pending.length, deposits.length, treasury.problem]).toEqual([0, 1, null]);
  });

  it("do not count where a reorg takes them away, and do once they are sent again", async () => {
    const world = await startWorld(56);
    const chain = world.chain(56);
    const user = await startDepositor(world, 56, "USDT", USER_KEY);
    const { treasury, deposits } = venueOf("vault", { rpcUrls: world.rpcUrls, confirmations: 2 });
    const hash = await user.deposit("3");
    const raw = await rawOf(world, 56, hash);
    await chain.mine();
    await treasury.poll();
    expect(treasury.pending).toHaveLength(1);
    await chain.reorg(1);
    await chain.mine(2);
    await treasury.poll();
    expect([treasury.pending, deposits]).toEqual([[], []]);
    await chain.rpc("eth_sendRawTransaction", [raw]);
    await chain.mine(2);
    await treasury.poll();
    expect(deposits.map((deposit) => deposit.hash)).toEqual([hash]);
  });

  it("count once through a reorg deeper than the venue waits for, and so do others that it brings", async () => {
    const world = await startWorld(56);
    const chain = world.chain(56);
    const user = await startDepositor(world, 56, "USDT", USER_KEY);
    const { treasury, deposits } = venueOf("vault", { rpcUrls: world.rpcUrls, confirmations: 2 });
    const raw = await rawOf(world, 56, await user.deposit("3"));
    await chain.mine(2);
    await treasury.poll();
    // The second deposit is taken out of the pool, and into a block that the venue has read already.
    const second = await user.deposit("4");
    const rawSecond = await rawOf(world, 56, second);
    await chain.drop(second);
    await chain.mine(2);
    await treasury.poll();
    expect(deposits.map(({ amount }) => amount)).toEqual([parseUnits("3", 18)]);
    await chain.reorg(4, [
      { raw, block: 1 },
      { raw: rawSecond, block: 2 },
    ]);
    await treasury.poll();
    expect(deposits.map(({ amount }) => amount)).toEqual([parseUnits("3", 18), parseUnits("4", 18)]);
  });

  it("count apart where they share a block, alike as they may be", async () => {
    const world = await startWorld(56);
    const user = await startDepositor(world, 56, "USDT", USER_KEY);
    const { treasury, deposits } = venueOf("vault", { rpcUrls: world.rpcUrls });
    for (const amount of ["1", "1", "2"]) await user.deposit(amount);
    await world.chain(56).mine();
    await treasury.poll();
    expect(deposits.map(({ amount }) => amount / 10n ** 18n)).toEqual([1n, 1n, 2n]);
    expect(new Set(deposits.map(({ id }) => id)).size).toBe(3);
  });

  it("at the bridge are transfers of its token to it, whoever sends them, but for what is minted", async () => {
    const world = await startWorld(42161);
    const user = await startDepositor(world, 42161, "USDC", USER_KEY);
    const bridge = WORLD[42161].bridge ?? OTHER;
    const { treasury, deposits } = venueOf("bridge", { rpcUrls: world.rpcUrls });
    await user.transfer(bridge, "5");
    await user.transfer(OTHER, "6");
    await world.mint({ chainId: 42161, token: "USDC", to: bridge, amount: "7" });
    await treasury.poll();
    expect(deposits).toMatchObject([{ account: user.address, token: "USDC", amount: 5_000_000n, broker: null }]);
  });

  it("wait while the chain does not answer, and are not lost by that", async () => {
    const world = await startWorld(56);
    const user = await startDepositor(world, 56, "USDT", USER_KEY);
    await user.deposit("1");
    await world.chain(56).mine();
    const deaf = venueOf("vault", { rpcUrls: { 56: "http://127.0.0.1:9" } });
    await deaf.treasury.poll();
    expect(deaf.treasury.problem).toMatch(/fetch failed/);
    const { treasury, deposits } = venueOf("vault", { rpcUrls: { ...world.rpcUrls, 1: "http://127.0.0.1:9" } });
    await Promise.all([treasury.poll(), treasury.poll(), treasury.poll()]);
    expect(deposits).toHaveLength(1);
    expect(treasury.problem).not.toBeNull();
  });
});

describe("payouts of a venue", () => {
  const order = (reference: string, id: bigint, amount: string, chainId: WorldChainId = 56) => ({
    ...{ reference, id, chainId, token: chainId === 56 ? "USDT" : "USDC", user: OTHER, destination: OTHER },
    amount: parseUnits(amount, worldToken(chainId, chainId === 56 ? "USDT" : "USDC").decimals),
    fee: 1n,
  });

  it("reach their receiver once, and end with the hash of the transaction that paid", async () => {
    const world = await startWorld(56);
    const chain = world.chain(56);
    const { treasury, ended } = venueOf("vault", { rpcUrls: world.rpcUrls, confirmations: 2 });
    treasury.pay(order("a", 1n, "2"));
    treasury.pay(order("b", 2n, "3"));
    await treasury.poll();
    expect(treasury.open.map(({ id, state }) => [id, state])).toEqual([
      ["a", "PROCESSING"],
      ["b", "PROCESSING"],
    ]);
    await chain.mine();
    await treasury.poll();
    expect(ended).toEqual([]);
    await chain.mine();
    await treasury.poll();
    await treasury.poll();
    expect(ended.map(({ id, state, chainId }) => [id, state, chainId])).toEqual([
      ["a", "SUCCESS", 56],
      ["b", "SUCCESS", 56],
    ]);
    expect(await minedReceipt(chain.rpc, ended[0]?.hash ?? "")).toMatchObject({ status: "0x1" });
    expect(await world.balance(56, "USDT", OTHER)).toBe("5");
  });

  it("are sent again as they were signed, after a drop and after a reorg", async () => {
    const world = await startWorld(56);
    const chain = world.chain(56);
    const { treasury, ended } = venueOf("vault", { rpcUrls: world.rpcUrls, confirmations: 3 });
    treasury.pay(order("a", 1n, "2"));
    treasury.pay(order("b", 2n, "3"));
    await treasury.poll();
    const hashes = treasury.open.map(({ hash }) => hash);
    for (const hash of hashes) if (hash !== null) await chain.drop(hash);
    await treasury.poll();
    await chain.mine(2);
    await treasury.poll();
    await chain.reorg(2);
    await treasury.poll();
    await chain.mine(3);
    await treasury.poll();
    expect(ended.map(({ hash }) => hash)).toEqual(hashes);
    expect(await world.balance(56, "USDT", OTHER)).toBe("5");
  });

  it("fail where the contract refuses them, and those behind go on", async () => {
    const world = await startWorld(56);
    const { treasury, ended } = venueOf("vault", { rpcUrls: world.rpcUrls });
    treasury.pay(order("too much", 1n, "2000000"));
    treasury.pay(order("fits", 2n, "3"));
    await treasury.poll();
    await world.chain(56).mine();
    await treasury.poll();
    expect(ended.map(({ id, state }) => [id, state])).toEqual([
      ["too much", "FAILED"],
      ["fits", "SUCCESS"],
    ]);
    expect(await world.balance(56, "USDT", OTHER)).toBe("3");
  });

  it("wait while they are held, and continue after a treasury of the same key", async () => {
    const world = await startWorld(56, { kind: "auto" });
    const first = venueOf("vault", { rpcUrls: world.rpcUrls });
    first.treasury.pay(order("a", 1n, "2"));
    first.treasury.hold(true);
    await first.treasury.poll();
    const operator = new ChainKey(VAULT_OPERATOR_KEY, 56).address;
    expect(await world.chain(56).rpc("eth_getTransactionCount", [operator, "pending"])).toBe("0x0");
    first.treasury.hold(false);
    await expect
      .poll(() => first.treasury.poll().then(() => [first.ended.length, first.treasury.problem]))
      .toEqual([1, null]);
    const second = venueOf("vault", { rpcUrls: world.rpcUrls });
    second.treasury.pay(order("b", 2n, "1"));
    await expect.poll(() => second.treasury.poll().then(() => second.ended.length)).toBe(1);
    expect(await world.balance(56, "USDT", OTHER)).toBe("3");
  });

  it("of the bridge are requested, then finalized", async () => {
    const world = await startWorld(42161);
    const chain = world.chain(42161);
    const { treasury, ended } = venueOf("bridge", { rpcUrls: world.rpcUrls });
    treasury.pay(order("w", 1_763_600_000_000n, "9", 42161));
    await treasury.poll();
    expect(treasury.open).toMatchObject([{ hash: null }]);
    await chain.mine();
    await treasury.poll();
    await chain.mine();
    await treasury.poll();
    expect(ended).toMatchObject([{ id: "w", state: "SUCCESS" }]);
    const logs = (await chainRpc(chain.rpcUrl)("eth_getLogs", [
      { address: WORLD[42161].bridge, fromBlock: "0x0" },
    ])) as { topics: Hex[] }[];
    expect(logs.map(({ topics }) => topics[0]?.slice(0, 10))).toEqual(["0xcc10abf5", "0xe5c7fe3a"]);
    expect(await world.balance(42161, "USDC", OTHER)).toBe("9");
  });
});
