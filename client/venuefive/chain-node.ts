/** A node, each question within its time. Throws CHAIN_UNAVAILABLE or CONTRACT_NOT_FOUND; it never writes. */
import type { Abi, Address, Block, Client, Hex, Log, Transaction, TransactionReceipt } from "viem";
import {
  getBalance,
  getBlock,
  getBlockNumber,
  getChainId,
  getGasPrice,
  getLogs,
  getTransaction,
  getTransactionCount,
  getTransactionReceipt,
  readContract,
  simulateContract,
} from "viem/actions";
import type { ContractCall } from "./contract-calls.js";
import type { TradingConfig } from "./options.js";
import { isNotFound, isWithoutContract, isWithoutFunds, revertReason, shortText } from "./rpc-errors.js";
import { type VenuefiveErrorFacts, VenuefiveTradeError, type VenuefiveStage } from "./trade-error.js";
import { isShown, TIMED_OUT, within } from "./within.js";

/** By client, over all that is made of it: the newest block that has something of an account of this page's. */
const newestBlocks = new WeakMap<Client, bigint>();

export class ChainNode {
  readonly #config: TradingConfig;
  readonly #client: Client;

  constructor(config: TradingConfig) {
    this.#config = config;
    this.#client = config.publicClient;
  }

  chainId(): Promise<number> {
    return this.within(getChainId(this.#client));
  }

  blockNumber(): Promise<bigint> {
    return this.within(getBlockNumber(this.#client, { cacheTime: 0 }));
  }

  /** Something of the account's is in this block, or in one before. */
  note(blockNumber: bigint | null): void {
    const newest = newestBlocks.get(this.#client) ?? 0n;
    if (blockNumber !== null && blockNumber > newest) newestBlocks.set(this.#client, blockNumber);
  }

  /** Waits until reads are of all that was noted: several nodes may answer under one address, some of them late. */
  async caughtUp(): Promise<void> {
    const newest = newestBlocks.get(this.#client) ?? 0n;
    if (newest > 0n && !(await isShown(this.#config, async () => (await this.blockNumber()) >= newest)))
      throw new VenuefiveTradeError("CHAIN_UNAVAILABLE", `the node is behind block ${newest}, which it has shown`);
  }

  gasPrice(): Promise<bigint> {
    return this.within(getGasPrice(this.#client));
  }

  /** In wei. */
  coins(address: Address): Promise<bigint> {
    return this.within(getBalance(this.#client, { address }));
  }

  /** How many of the sender's transactions are in blocks. */
  minedCount(address: Address): Promise<number> {
    return this.within(getTransactionCount(this.#client, { address, blockTag: "latest" }));
  }

  /** Null where the node shows none. */
  receipt(hash: Hex): Promise<TransactionReceipt | null> {
    return this.within(orNull(getTransactionReceipt(this.#client, { hash })));
  }

  transaction(hash: Hex): Promise<Transaction | null> {
    return this.within(orNull(getTransaction(this.#client, { hash })));
  }

  blockWithTransactions(blockNumber: bigint): Promise<Block<bigint, true>> {
    return this.within(getBlock(this.#client, { blockNumber, includeTransactions: true }));
  }

  logsFrom(fromBlock: bigint, address: readonly Address[]): Promise<Log[]> {
    return this.within(getLogs(this.#client, { address: [...address], fromBlock, toBlock: "latest" }));
  }

  /** Throws viem's error where the contract refuses: `revertReason` reads it. */
  simulate(call: ContractCall, account: Address, blockNumber?: bigint): Promise<unknown> {
    const at = blockNumber === undefined ? {} : { blockNumber };
    return this.#timed(simulateContract(this.#client, { ...call, account, ...at } as never));
  }

  read<T>(address: Address, abi: Abi, functionName: string, args: readonly unknown[]): Promise<T> {
    return this.within(readContract(this.#client, { address, abi, functionName, args }) as Promise<T>);
  }

  /** Throws CHAIN_UNAVAILABLE where `work` fails or takes too long. */
  async within<T>(work: Promise<T>): Promise<T> {
    try {
      return await this.#timed(work);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async #timed<T>(work: Promise<T>): Promise<T> {
    const { clock, timeouts } = this.#config;
    const answer = await within(clock, timeouts.readMs, work);
    if (answer === TIMED_OUT) throw new Error(`no answer within ${timeouts.readMs} ms`);
    return answer;
  }
}

const orNull = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });

/** Of what was asked of the chain before a signature. */
export function unavailable(error: unknown, stage: VenuefiveStage = "trade"): VenuefiveTradeError {
  if (error instanceof VenuefiveTradeError) return error;
  const facts = { stage, cause: error };
  if (isWithoutContract(error))
    return new VenuefiveTradeError(
      "CONTRACT_NOT_FOUND",
      `no contract of the venue is there: ${shortText(error)}`,
      facts,
    );
  if (isWithoutFunds(error)) return withoutGas(facts);
  const reason = revertReason(error);
  if (reason !== undefined)
    return new VenuefiveTradeError("REVERTED", `the contract refuses: ${reason ?? "no reason is known"}`, {
      ...facts,
      details: { reason, isSimulated: true },
    });
  return new VenuefiveTradeError("CHAIN_UNAVAILABLE", `the chain was not read: ${shortText(error)}`, facts);
}

export const withoutGas = (facts: VenuefiveErrorFacts): VenuefiveTradeError =>
  new VenuefiveTradeError("INSUFFICIENT_GAS", "the account cannot pay the gas and the fee", facts);
