/** The chain of several endpoints over chains as real processes: deposits, reorgs, drops, replacements, odd tokens. */
import { type Abi, encodeFunctionData, type Hex, parseUnits, toEventSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ChainCall, TransactionStanding } from "../../../engine/chain.js";
import { readHex, toHex } from "../../../engine/custody/digest/bytes.js";
import { type RawTransaction, transactionDigest } from "../../../engine/custody/digest/transaction.js";
import { signedTransaction } from "../../../engine/custody/provider/signed-transaction.js";
import { transactionToSign } from "../../../engine/custody/provider/signing-intent.js";
import type { UnsignedTransaction } from "../../../engine/custody/provider/wallet-provider.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Read } from "../../../engine/ports.js";
import { EvmChain } from "../../../feeds/shared/chain/evm-chain.js";
import { connectRpc } from "../../../feeds/shared/chain/rpc-connection.js";
import { CONTRACTS } from "../../sim/chain/contracts/artifacts.js";
import type { LocalChain } from "../../sim/chain/local-chain.js";
import { type ChainWorld, startChainWorld } from "../../sim/chain/world.js";
import { WORLD, type WorldChainId, worldToken } from "../../sim/chain/world-plan.js";

const WALLET = privateKeyToAccount(`0x${"51".repeat(32)}`);
const FROM = WALLET.address.toLowerCase();
const OPTIONS = { timeoutMs: 10_000, lane: "exit" } as const;
const GWEI = 1_000_000_000n;
const lower = (address: Hex): string => address.toLowerCase();

/** A wallet with 100 coins and 1000 tokens, and the chain as the service sees it: one node by two names. */
class Wallet {
  readonly chain: EvmChain;
  readonly node: LocalChain;
  readonly token: string;
  readonly vault: string;
  readonly decimals: number;
  readonly #chainId: WorldChainId;

  private constructor(world: ChainWorld, chainId: WorldChainId, urls: readonly string[]) {
    // Time does not pass: no call runs out of it, however slow the machine is.
    const clock = new VirtualClock();
    const common = { clock, random: createSeededRandom(1), logger: silentLogger };
    this.#chainId = chainId;
    this.node = world.chain(chainId);
    this.token = lower(worldToken(chainId, "USDT").address);
    this.decimals = worldToken(chainId, "USDT").decimals;
    this.vault = lower(WORLD[chainId].vault);
    this.chain = new EvmChain({
      ...{ chainId, confirmations: 3, urls, errors: CONTRACTS.Vault.abi, ...common },
      gasLimits: { maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: 10n * GWEI },
      connect: (url, place) =>
        connectRpc(url, { ...common, name: `chain.${place}`, callsPerMinute: 3_000, connectTimeoutMs: 60_000 }),
    });
    onTestFinished(async () => {
      const closed = this.chain.close(0);
      clock.advance(0);
      await closed;
    });
  }

  static async start(chainId: WorldChainId): Promise<Wallet> {
    const world = await startChainWorld({ chainIds: [chainId], mining: { kind: "manual" } });
    onTestFinished(() => world.stop());
    await world.setCoins(chainId, WALLET.address, "100");
    await world.mint({ chainId, token: "USDT", to: WALLET.address, amount: "1000" });
    const { rpcUrl } = world.chain(chainId);
    return new Wallet(world, chainId, [`${rpcUrl}/?a`, `${rpcUrl}/?b`]);
  }

  amount(tokens: string): bigint {
    return parseUnits(tokens, this.decimals);
  }

  approve(tokens: string): ChainCall {
    return this.call(this.token, CONTRACTS.Token.abi, "approve", [this.vault, this.amount(tokens)]);
  }

  deposit(tokens: string): ChainCall {
    return this.call(this.vault, CONTRACTS.Vault.abi, "deposit", [this.token, this.amount(tokens), 1000n]);
  }

  call(to: string, abi: Abi, functionName: string, args: readonly unknown[]): ChainCall {
    const data = readHex(encodeFunctionData({ abi, functionName, args }));
    if (data === null) throw new Error("no data");
    return { from: FROM, to, value: 0n, data };
  }

  /** As the service would: estimate, nonce and price of the chain, unless given. */
  async sign(call: ChainCall, given: { readonly nonce?: number; readonly tip?: bigint } = {}): Promise<RawTransaction> {
    const estimate = value(await this.chain.estimateGas(call, OPTIONS));
    if (estimate.kind !== "gas") throw new Error(estimate.reason);
    const price = value(await this.chain.gasPrice(OPTIONS));
    const { tip = price.maxPriorityFeePerGas } = given;
    const unsigned: UnsignedTransaction = {
      ...{ type: "eip1559", chainId: BigInt(this.#chainId), to: call.to, value: call.value, data: call.data },
      ...{ nonce: BigInt(given.nonce ?? (await this.nonce())), gasLimit: 2n * estimate.gas },
      ...{ maxFeePerGas: price.maxFeePerGas + tip, maxPriorityFeePerGas: tip },
    };
    const digest = toHex(transactionDigest(transactionToSign(unsigned))) as Hex;
    return signedTransaction(unsigned, { digest, signature: await WALLET.sign({ hash: digest }) });
  }

  async nonce(): Promise<number> {
    return value(await this.chain.nextNonce(FROM, OPTIONS));
  }

  broadcast({ raw }: RawTransaction) {
    return this.chain.broadcast(raw, OPTIONS);
  }

  async standing(nonce: number, ...signed: readonly RawTransaction[]): Promise<TransactionStanding> {
    return value(await this.chain.standing({ from: FROM, nonce, hashes: signed.map(({ hash }) => hash) }, OPTIONS));
  }

  /** Into a block. */
  async act(call: ChainCall): Promise<RawTransaction> {
    const signed = await this.sign(call);
    expect(await this.broadcast(signed)).toEqual({ kind: "taken" });
    await this.node.mine();
    return signed;
  }
}

function value<T>(read: Read<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

describe("a deposit on a real chain", () => {
  it("is an approval and a deposit, each signed, sent, mined and final three blocks deep", async () => {
    const wallet = await Wallet.start(56);
    const { chain, node, token, vault } = wallet;
    expect(chain.agreement).toBe(2);
    expect(value(await chain.tokenDecimals(token, OPTIONS))).toBe(18);
    expect(value(await chain.nativeBalance(FROM, OPTIONS))).toBe(100n * GWEI ** 2n);
    expect(value(await chain.estimateGas(wallet.deposit("12.5"), OPTIONS))).toEqual({
      ...{ kind: "reverted", reason: "ERC20: insufficient allowance" },
    });
    const before = value(await chain.tokenBalance(token, vault, OPTIONS));
    const nonce = await wallet.nonce();
    const approval = await wallet.sign(wallet.approve("12.5"));
    expect(await wallet.standing(nonce, approval)).toEqual({ kind: "open", isKnown: false });
    expect(await wallet.broadcast(approval)).toEqual({ kind: "taken" });
    expect(await wallet.broadcast(approval)).toEqual({ kind: "unknown" });
    expect(await wallet.standing(nonce, approval)).toEqual({ kind: "open", isKnown: true });
    expect(await wallet.nonce()).toBe(nonce + 1);
    await node.mine();
    expect(await wallet.standing(nonce, approval)).toMatchObject({ kind: "mined", confirmations: 1, isFinal: false });
    expect(value(await chain.allowance(token, FROM, vault, OPTIONS))).toBe(wallet.amount("12.5"));
    const deposit = await wallet.act(wallet.deposit("12.5"));
    await node.mine();
    expect(await wallet.standing(nonce + 1, deposit)).toMatchObject({ confirmations: 2, isFinal: false });
    await node.mine();
    const done = await wallet.standing(nonce + 1, deposit);
    expect(done).toMatchObject({ kind: "mined", hash: deposit.hash, confirmations: 3, isFinal: true, succeeded: true });
    if (done.kind !== "mined") return;
    expect(done.gasCost).toBeGreaterThan(0n);
    const topic = toEventSelector("Deposit(address,address,bool,uint256,uint256)");
    expect(done.logs.filter(({ address }) => address === vault).map(({ topics }) => topics[0])).toEqual([topic]);
    expect(value(await chain.tokenBalance(token, vault, OPTIONS)) - before).toBe(wallet.amount("12.5"));
    // Late, and of a nonce that is used.
    expect(await wallet.broadcast(deposit)).toEqual({ kind: "unknown" });
  });

  it("gives the vault's own reasons by name, and its texts", async () => {
    const wallet = await Wallet.start(56);
    const reason = async (call: ChainCall) => value(await wallet.chain.estimateGas(call, OPTIONS));
    expect(await reason(wallet.deposit("0"))).toEqual({ kind: "reverted", reason: "ZeroAmount()" });
    const other = wallet.call(wallet.vault, CONTRACTS.Vault.abi, "deposit", [`0x${"11".repeat(20)}`, 1n, 1000n]);
    expect(await reason(other)).toEqual({ kind: "reverted", reason: `CurrencyNotSupport(0x${"11".repeat(20)})` });
    const native = wallet.call(wallet.vault, CONTRACTS.Vault.abi, "depositNative", [1000n]);
    expect(await reason(native)).toEqual({ kind: "reverted", reason: "msg.value must be greater than 0" });
    expect(await reason({ ...wallet.deposit("1"), to: `0x${"22".repeat(20)}` })).toEqual({
      ...{ kind: "reverted", reason: "no contract at this address" },
    });
  });

  it("is priced on a chain without a base fee, and mined", async () => {
    const wallet = await Wallet.start(56);
    await wallet.node.setNextBaseFee(0n);
    await wallet.node.mine();
    const price = value(await wallet.chain.gasPrice(OPTIONS));
    expect(price.maxFeePerGas).toBe(price.maxPriorityFeePerGas);
    const nonce = await wallet.nonce();
    const signed = await wallet.act(wallet.approve("1"));
    expect(await wallet.standing(nonce, signed)).toMatchObject({ kind: "mined", succeeded: true });
  });

  it("is refused by the chain where there is no coin for the gas", async () => {
    const wallet = await Wallet.start(56);
    const signed = await wallet.sign(wallet.approve("1"));
    await wallet.node.setBalance(WALLET.address, 0n);
    expect(await wallet.broadcast(signed)).toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(/insufficient funds/i),
    });
    expect(await wallet.broadcast({ ...signed, raw: signed.raw.subarray(0, -1) })).toMatchObject({ kind: "refused" });
  });
});

describe("a transaction on a chain that changes its mind", () => {
  it("is open after a reorg of two blocks, and mined in another block once it was sent again", async () => {
    const wallet = await Wallet.start(56);
    const nonce = await wallet.nonce();
    const signed = await wallet.act(wallet.approve("1"));
    await wallet.node.mine();
    const before = await wallet.standing(nonce, signed);
    expect(before).toMatchObject({ kind: "mined", confirmations: 2, isFinal: false });
    await wallet.node.reorg(2);
    expect(await wallet.standing(nonce, signed)).toEqual({ kind: "open", isKnown: false });
    expect(await wallet.broadcast(signed)).toEqual({ kind: "taken" });
    await wallet.node.mine(3);
    const after = await wallet.standing(nonce, signed);
    expect(after).toMatchObject({ kind: "mined", confirmations: 3, isFinal: true });
    expect(before.kind === "mined" && after.kind === "mined" && before.blockHash !== after.blockHash).toBe(true);
  });

  it("is open after it was dropped, and taken once more", async () => {
    const wallet = await Wallet.start(56);
    const nonce = await wallet.nonce();
    const signed = await wallet.sign(wallet.approve("1"));
    await wallet.broadcast(signed);
    expect(await wallet.node.drop(signed.hash as Hex)).toBe(true);
    await wallet.node.mine(5);
    expect(await wallet.standing(nonce, signed)).toEqual({ kind: "open", isKnown: false });
    expect(await wallet.broadcast(signed)).toEqual({ kind: "taken" });
    await wallet.node.mine();
    expect(await wallet.standing(nonce, signed)).toMatchObject({ kind: "mined", hash: signed.hash });
  });

  it("is found by the dearer one of two that were signed for its nonce", async () => {
    const wallet = await Wallet.start(56);
    const nonce = await wallet.nonce();
    const first = await wallet.sign(wallet.approve("1"), { nonce });
    const dearer = await wallet.sign(wallet.approve("1"), { nonce, tip: 8n * GWEI });
    expect(await wallet.broadcast(first)).toEqual({ kind: "taken" });
    expect(await wallet.broadcast(dearer)).toEqual({ kind: "taken" });
    await wallet.node.mine(3);
    expect(await wallet.standing(nonce, first, dearer)).toMatchObject({ hash: dearer.hash, isFinal: true });
  });

  it("is replaced once another of its nonce is deep, not before", async () => {
    const wallet = await Wallet.start(56);
    const nonce = await wallet.nonce();
    const ours = await wallet.sign(wallet.approve("1"), { nonce });
    const foreign = await wallet.sign(wallet.approve("2"), { nonce, tip: 8n * GWEI });
    expect(await wallet.broadcast(foreign)).toEqual({ kind: "taken" });
    expect(await wallet.broadcast(ours)).toEqual({ kind: "unknown" });
    await wallet.node.mine();
    for (let blocks = 0; blocks < 3; blocks++) {
      expect(await wallet.standing(nonce, ours)).toEqual({ kind: "open", isKnown: false });
      await wallet.node.mine();
    }
    expect(await wallet.standing(nonce, ours)).toEqual({ kind: "replaced" });
    expect(await wallet.broadcast(ours)).toEqual({ kind: "unknown" });
  });
});

describe("a token from before the standard", () => {
  it("is approved and moved though it returns nothing, and refuses a second allowance without a reason", async () => {
    const wallet = await Wallet.start(1);
    expect(value(await wallet.chain.tokenDecimals(wallet.token, OPTIONS))).toBe(6);
    const nonce = await wallet.nonce();
    const approval = await wallet.act(wallet.approve("5"));
    expect(await wallet.standing(nonce, approval)).toMatchObject({ kind: "mined", succeeded: true });
    const again = value(await wallet.chain.estimateGas(wallet.approve("6"), OPTIONS));
    expect(again).toEqual({ kind: "reverted", reason: "" });
    expect(value(await wallet.chain.estimateGas(wallet.approve("0"), OPTIONS))).toMatchObject({ kind: "gas" });
    await wallet.act(wallet.deposit("5"));
    const transfer = wallet.call(wallet.token, CONTRACTS.OldToken.abi, "transfer", [wallet.vault, 7n]);
    await wallet.act(transfer);
    expect(value(await wallet.chain.tokenBalance(wallet.token, FROM, OPTIONS))).toBe(wallet.amount("995") - 7n);
  });
});
