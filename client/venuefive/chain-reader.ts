/** What the chain shows, each read within its time. Throws CHAIN_UNAVAILABLE or CONTRACT_NOT_FOUND; it never writes. */
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
import {
  type ContractCall,
  MULTICALL,
  PAIR_STORAGE,
  TRADING_CALLBACKS,
  TRADING_STORAGE,
  USDC,
} from "./contract-calls.js";
import type { TradingConfig } from "./options.js";
import { isNotFound, isWithoutContract, isWithoutFunds, revertReason, shortText } from "./rpc-errors.js";
import { VenuefiveTradeError } from "./trade-error.js";
import { TIMED_OUT, within } from "./within.js";

/** Of `TradingStorage.openTrades`; leverage 0: the slot is empty. */
export interface StoredTrade {
  readonly initialPosToken: bigint;
  readonly openPrice: bigint;
  readonly buy: boolean;
  readonly leverage: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
}

export interface StoredLimitOrder {
  readonly buy: boolean;
  readonly price: bigint;
  readonly slippageP: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
}

interface PositionRow {
  readonly trade: StoredTrade & { readonly pairIndex: bigint; readonly index: bigint };
  readonly tradeInfo: { readonly beingMarketClosed: boolean };
}

export class ChainReader {
  readonly #config: TradingConfig;
  readonly #client: Client;
  #callbacks: Address | null = null;

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

  usdc(owner: Address): Promise<bigint> {
    return this.#read<bigint>(this.#config.addresses.USDC, USDC, "balanceOf", [owner]);
  }

  /** The spender is the storage. */
  allowance(owner: Address): Promise<bigint> {
    const { USDC: token, TradingStorage } = this.#config.addresses;
    return this.#read<bigint>(token, USDC, "allowance", [owner, TradingStorage]);
  }

  async pairNames(pairIndex: number): Promise<readonly [from: string, to: string]> {
    const { PairStorage } = this.#config.addresses;
    type PairData = readonly [string, string, ...unknown[]];
    const [from, to] = await this.#read<PairData>(PairStorage, PAIR_STORAGE, "getPairData", [BigInt(pairIndex)]);
    return [from, to];
  }

  pairsCount(): Promise<bigint> {
    return this.#read<bigint>(this.#config.addresses.PairStorage, PAIR_STORAGE, "pairsCount", []);
  }

  async trade(trader: Address, pairIndex: number, index: number): Promise<StoredTrade & { isBeingClosed: boolean }> {
    const args = [trader, BigInt(pairIndex), BigInt(index)];
    const [trade, info] = await Promise.all([
      this.#storage<StoredTrade>("openTrades", args),
      this.#storage<{ beingMarketClosed: boolean }>("openTradesInfo", args),
    ]);
    return { ...trade, isBeingClosed: info.beingMarketClosed };
  }

  /** Slots of one pair that hold a position. */
  async tradesOfPair(trader: Address, pairIndex: number): Promise<readonly PositionRow[]> {
    const slots = await this.#storage<bigint>("maxTradesPerPair", []);
    const args = [trader, BigInt(pairIndex), BigInt(pairIndex + 1), slots];
    const { Multicall } = this.#config.addresses;
    type Rows = readonly [readonly PositionRow[], unknown];
    const [rows] = await this.#read<Rows>(Multicall, MULTICALL, "getPositionsForPairIndexes", args);
    return rows.filter(({ trade }) => trade.leverage > 0n);
  }

  async limitOrder(trader: Address, pairIndex: number, index: number): Promise<StoredLimitOrder | null> {
    const args = [trader, BigInt(pairIndex), BigInt(index)];
    if (!(await this.#storage<boolean>("hasOpenLimitOrder", args))) return null;
    return this.#storage<StoredLimitOrder>("getOpenLimitOrder", args);
  }

  /** Where the keeper's executions are logged. */
  async callbacks(): Promise<Address> {
    this.#callbacks ??= await this.#storage<Address>("callbacks", []);
    return this.#callbacks;
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

  #storage<T>(functionName: string, args: readonly unknown[]): Promise<T> {
    return this.#read<T>(this.#config.addresses.TradingStorage, TRADING_STORAGE, functionName, args);
  }

  #read<T>(address: Address, abi: Abi, functionName: string, args: readonly unknown[]): Promise<T> {
    return this.within(readContract(this.#client, { address, abi, functionName, args }) as Promise<T>);
  }
}

/** What the keeper's events are decoded with. */
export const KEEPER_EVENTS: Abi = TRADING_CALLBACKS;

const orNull = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });

export function unavailable(error: unknown): VenuefiveTradeError {
  if (error instanceof VenuefiveTradeError) return error;
  if (isWithoutContract(error))
    return new VenuefiveTradeError("CONTRACT_NOT_FOUND", `no contract of the venue is there: ${shortText(error)}`, {
      cause: error,
    });
  if (isWithoutFunds(error))
    return new VenuefiveTradeError("INSUFFICIENT_GAS", "the account cannot pay the gas and the fee", { cause: error });
  const reason = revertReason(error);
  if (reason !== undefined)
    return new VenuefiveTradeError("REVERTED", `the contract refuses: ${reason ?? "no reason"}`, {
      details: { reason, isSimulated: true },
      cause: error,
    });
  return new VenuefiveTradeError("CHAIN_UNAVAILABLE", `the chain was not read: ${shortText(error)}`, { cause: error });
}
