/** What the venue's contracts hold of an account, read through one node. */
import type { Address } from "viem";
import { ChainNode } from "./chain-node.js";
import { MULTICALL, PAIR_STORAGE, TRADING_STORAGE, USDC } from "./contract-calls.js";
import type { TradingConfig } from "./options.js";

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
  readonly node: ChainNode;
  readonly #config: TradingConfig;
  #callbacks: Address | null = null;

  constructor(config: TradingConfig) {
    this.#config = config;
    this.node = new ChainNode(config);
  }

  usdc(owner: Address): Promise<bigint> {
    return this.node.read<bigint>(this.#config.addresses.USDC, USDC, "balanceOf", [owner]);
  }

  /** The spender is the storage. */
  allowance(owner: Address): Promise<bigint> {
    const { USDC: token, TradingStorage } = this.#config.addresses;
    return this.node.read<bigint>(token, USDC, "allowance", [owner, TradingStorage]);
  }

  async pairNames(pairIndex: number): Promise<readonly [from: string, to: string]> {
    const { PairStorage } = this.#config.addresses;
    type PairData = readonly [string, string, ...unknown[]];
    const [from, to] = await this.node.read<PairData>(PairStorage, PAIR_STORAGE, "getPairData", [BigInt(pairIndex)]);
    return [from, to];
  }

  pairsCount(): Promise<bigint> {
    return this.node.read<bigint>(this.#config.addresses.PairStorage, PAIR_STORAGE, "pairsCount", []);
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
    const [rows] = await this.node.read<Rows>(Multicall, MULTICALL, "getPositionsForPairIndexes", args);
    return rows.filter(({ trade }) => trade.leverage > 0n);
  }

  async limitOrder(trader: Address, pairIndex: number, index: number): Promise<StoredLimitOrder | null> {
    const args = [trader, BigInt(pairIndex), BigInt(index)];
    if (!(await this.#storage<boolean>("hasOpenLimitOrder", args))) return null;
    return this.#storage<StoredLimitOrder>("getOpenLimitOrder", args);
  }

  /** Market orders and closes that wait for the keeper. */
  pendingOrderIds(trader: Address): Promise<readonly bigint[]> {
    return this.#storage<readonly bigint[]>("getPendingOrderIds", [trader]);
  }

  /** Where the keeper's executions are logged. */
  async callbacks(): Promise<Address> {
    this.#callbacks ??= await this.#storage<Address>("callbacks", []);
    return this.#callbacks;
  }

  #storage<T>(functionName: string, args: readonly unknown[]): Promise<T> {
    return this.node.read<T>(this.#config.addresses.TradingStorage, TRADING_STORAGE, functionName, args);
  }
}
