/**
 * The local venuefive: chain 8453 with its contracts at the addresses of the plan, its keeper, and levers for what the real
 * one does by itself. The storage owns enough to pay profits out. Blocks that do not come by time are two seconds apart,
 * so a test's clock is the chain's own.
 */
import { formatUnits, type Hex, parseUnits } from "viem";
import { ChainKey, type ChainSender } from "../chain/chain-account.js";
import { type LocalChain, type Mining, startLocalChain } from "../chain/local-chain.js";
import { contractCall, ContractSender, readContract } from "./calls.js";
import { VENUEFIVE_CONTRACTS, type VenuefiveContract } from "./contracts/artifacts.js";
import { type KeeperOptions, VenuefiveKeeper } from "./keeper.js";
import { FEES, type PairSpec, pairStruct, PROFIT_TIERS, scaled, SPEC_PAIRS } from "./pairs.js";
import { DEPLOYED, GOV_KEY, KEEPER_KEY, VENUEFIVE_ADDRESSES, VENUEFIVE_CHAIN_ID } from "./plan.js";

export interface VenuefiveOptions {
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default auto. */
  readonly mining?: Mining;
  /** Unix time of the first block; default now. */
  readonly startSeconds?: number;
  /** Default the 51 of the interface spec. */
  readonly pairs?: readonly PairSpec[];
  /** What a position costs a block, as a part of its notional in 1e-10. Default 95: 0.0017 % an hour. */
  readonly rolloverFeePerBlock?: bigint;
  readonly giveUpBlocks?: KeeperOptions["giveUpBlocks"];
  /** Of the chain: how far its safe head, which histories follow, is behind the newest block. */
  readonly safeLagBlocks?: number;
}

const USDC_DECIMALS = 6;
const COIN_DECIMALS = 18;
/** Above what the venue's heaviest read takes here, all slots of 112 pairs; a real node grants such a read too. */
const GAS_LIMIT = 4_000_000_000n;
const BLOCK_SECONDS = 2;
const ROLLOVER_FEE_PER_BLOCK = 95n;
/** For gas, of each key of the world. */
const OPERATOR_COINS = "1000000";
/** What the storage pays profits from. */
const RESERVE_USDC = "10000000";
/** So many fit into one transaction. */
const PAIRS_AT_ONCE = 20;

export class VenuefiveWorld {
  readonly chainId = VENUEFIVE_CHAIN_ID;
  readonly addresses = VENUEFIVE_ADDRESSES;
  readonly chain: LocalChain;
  readonly keeper: VenuefiveKeeper;
  /** Whether blocks come by hand alone; what the world sends makes its own then. */
  readonly minesItself: boolean;
  readonly #gov: ContractSender;

  /** Use `startVenuefive`. */
  constructor(chain: LocalChain, minesItself: boolean, giveUpBlocks: KeeperOptions["giveUpBlocks"]) {
    this.chain = chain;
    this.minesItself = minesItself;
    const { rpc } = chain;
    this.#gov = new ContractSender(new ChainKey(GOV_KEY, VENUEFIVE_CHAIN_ID), rpc, minesItself);
    this.keeper = new VenuefiveKeeper({ rpc, minesItself, ...(giveUpBlocks === undefined ? {} : { giveUpBlocks }) });
  }

  get rpcUrl(): string {
    return this.chain.rpcUrl;
  }

  /** A call of whoever deployed the contract: its levers. Throws where it fails. */
  async turn(contract: VenuefiveContract, functionName: string, args: readonly unknown[]): Promise<void> {
    const call = contractCall(contract, functionName, args);
    const { status } = await this.#gov.send(call);
    if (status !== "0x1")
      throw new Error(`${contract}.${functionName}: ${(await this.#gov.refusal(call)) ?? "failed"}`);
  }

  /** At the newest block; several values are an array. */
  read<T>(contract: VenuefiveContract, functionName: string, args: readonly unknown[] = []): Promise<T> {
    return readContract<T>(this.chain.rpc, contract, functionName, args);
  }

  /** At which orders are executed from now on, by pair index; decimal text in USD, "0": there is none. */
  async setPrices(prices: Readonly<Record<number, string>>): Promise<void> {
    const pairIndexes = Object.keys(prices);
    await this.turn("PriceAggregator", "setPrices", [pairIndexes.map(BigInt), Object.values(prices).map(scaled)]);
  }

  /** Behind those that are listed. */
  async addPairs(pairs: readonly PairSpec[]): Promise<void> {
    for (let from = 0; from < pairs.length; from += PAIRS_AT_ONCE) {
      const some = pairs.slice(from, from + PAIRS_AT_ONCE);
      const listed = Number(await this.read<bigint>("PairStorage", "pairsCount"));
      const isZeroFee = some.map(({ hasZeroFee }) => hasZeroFee);
      await this.turn("PairStorage", "addPairs", [some.map(({ symbol }) => symbol), some.map(pairStruct), isZeroFee]);
      await this.setPrices(Object.fromEntries(some.map(({ price }, at) => [listed + at, price])));
    }
  }

  /** As decimal text; `coins` replace what was there. */
  async fund(address: Hex, { usdc, coins }: { readonly usdc?: string; readonly coins?: string }): Promise<void> {
    if (coins !== undefined) await this.chain.setBalance(address, parseUnits(coins, COIN_DECIMALS));
    if (usdc !== undefined) await this.turn("Usdc", "mint", [address, parseUnits(usdc, USDC_DECIMALS)]);
  }

  /** Decimal text. */
  async usdc(address: Hex): Promise<string> {
    return formatUnits(await this.read<bigint>("Usdc", "balanceOf", [address]), USDC_DECIMALS);
  }

  /** Returns what brings the chain back to here, once. */
  async snapshot(): Promise<() => Promise<void>> {
    const id = await this.chain.rpc("evm_snapshot");
    return async () => void (await this.chain.rpc("evm_revert", [id]));
  }

  /** Makes a block so much later than the newest. */
  async passSeconds(seconds: number): Promise<void> {
    const { timestamp } = (await this.chain.rpc("eth_getBlockByNumber", ["latest", false])) as { timestamp: Hex };
    await this.chain.rpc("evm_setNextBlockTimestamp", [Number(timestamp) + seconds]);
    await this.chain.mine();
  }

  async stop(): Promise<void> {
    await this.chain.stop();
  }

  /** Puts the plan on the chain. Throws where a contract does not lie where the plan says. */
  async deploy(pairs: readonly PairSpec[], rolloverFeePerBlock: bigint): Promise<void> {
    for (const key of [GOV_KEY, KEEPER_KEY])
      await this.fund(new ChainKey(key, VENUEFIVE_CHAIN_ID).address, { coins: OPERATOR_COINS });
    for (const name of DEPLOYED) await this.#deployOne(this.#gov.sender, name, rolloverFeePerBlock);
    await this.addPairs(pairs);
    await this.fund(VENUEFIVE_ADDRESSES.TradingStorage, { usdc: RESERVE_USDC });
  }

  async #deployOne(sender: ChainSender, name: VenuefiveContract, rolloverFeePerBlock: bigint): Promise<void> {
    const { hash, address } = await sender.deploy(
      VENUEFIVE_CONTRACTS[name],
      constructorArgs(name, rolloverFeePerBlock),
    );
    const { status } = await this.#gov.landed(hash);
    if (status !== "0x1" || address !== VENUEFIVE_ADDRESSES[name]) throw new Error(`${name} lies at ${address}`);
  }
}

function constructorArgs(name: VenuefiveContract, rolloverFeePerBlock: bigint): readonly unknown[] {
  const addresses = VENUEFIVE_ADDRESSES;
  const parts = {
    usdc: addresses.Usdc,
    pairStorage: addresses.PairStorage,
    pairInfos: addresses.PairInfos,
    priceAggregator: addresses.PriceAggregator,
    tradingStorage: addresses.TradingStorage,
    tradingCallbacks: addresses.TradingCallbacks,
    trading: addresses.Trading,
    keeper: new ChainKey(KEEPER_KEY, VENUEFIVE_CHAIN_ID).address,
  };
  if (name === "Usdc") return [];
  if (name === "PairStorage") return [parts, FEES, PROFIT_TIERS.tiersP, PROFIT_TIERS.feesP];
  return name === "PairInfos" ? [parts, rolloverFeePerBlock] : [parts];
}

/** Nothing is left running where it fails. */
export async function startVenuefive(options: VenuefiveOptions = {}): Promise<VenuefiveWorld> {
  const {
    port = 0,
    mining = { kind: "auto" },
    pairs = SPEC_PAIRS,
    giveUpBlocks,
    startSeconds,
    safeLagBlocks,
  } = options;
  const chain = await startLocalChain({
    chainId: VENUEFIVE_CHAIN_ID,
    port,
    // Deployed with a block for each transaction, whatever comes later.
    mining: mining.kind === "interval" ? { kind: "auto" } : mining,
    gasLimit: GAS_LIMIT,
    ...(startSeconds === undefined ? {} : { startSeconds }),
    ...(safeLagBlocks === undefined ? {} : { safeLagBlocks }),
  });
  const world = new VenuefiveWorld(chain, mining.kind === "manual", giveUpBlocks);
  try {
    if (mining.kind !== "interval") await chain.rpc("anvil_setBlockTimestampInterval", [BLOCK_SECONDS]);
    await world.deploy(pairs, options.rolloverFeePerBlock ?? ROLLOVER_FEE_PER_BLOCK);
    if (mining.kind === "interval") {
      await chain.setAutomine(false);
      await chain.rpc("evm_setIntervalMining", [mining.seconds]);
    }
    return world;
  } catch (error) {
    await world.stop();
    throw error;
  }
}
