/** Reads of the contracts as calls of a node, and what they answer. */
import type { Hex } from "viem";
import { decodeFunctionResult, encodeFunctionData, parseAbi } from "viem/utils";
import { MULTICALL_ABI, PAIR_STORAGE_ABI, TRADING_STORAGE_ABI, USDC_ABI } from "../../../schemas/venuefive/abi.js";
import type { RpcCall } from "../../shared/chain/rpc-endpoint.js";
import { readData } from "../../shared/chain/rpc-wire.js";
import { readUint } from "../../shared/chain/token-calls.js";
import { WireFault } from "../../shared/room/wire-fields.js";

/** Where the contracts that are read lie. */
export interface ReadAddresses {
  readonly TradingStorage: string;
  readonly PairStorage: string;
  readonly Multicall: string;
  readonly USDC: string;
}

const STORAGE = parseAbi(TRADING_STORAGE_ABI);
const PAIRS = parseAbi(PAIR_STORAGE_ABI);
const MULTICALL = parseAbi(MULTICALL_ABI);
const USDC = parseAbi(USDC_ABI);

/** In the place of a trader, where a call is encoded before there is one. */
const ANYBODY = `0x${"f1e2d3c4".repeat(5)}` as const;
/** In this order of each pair. */
const HELD_COUNTS = ["openTradesCount", "openLimitOrdersCount"] as const;
const PAIRS_COUNT = encodeFunctionData({ abi: PAIRS, functionName: "pairsCount" });
const TRADES_MAX = encodeFunctionData({ abi: STORAGE, functionName: "maxTradesPerPair" });

export interface PairName {
  readonly from: string;
  readonly to: string;
}

/** Of a pair: positions and resting limit orders. */
export interface HeldCounts {
  readonly trades: number;
  readonly orders: number;
}

export interface SlotPage {
  readonly from: number;
  /** The first that is not in it. */
  readonly to: number;
  readonly tradesPerPair: number;
}

/** The calls of one set of addresses; `tag` is the block's. */
export class ContractCalls {
  readonly #at: ReadAddresses;
  /** Hundreds of calls: encoded once for a number of pairs. */
  #heldOfAnybody: { readonly pairs: number; readonly data: Hex } | null = null;

  constructor(at: ReadAddresses) {
    this.#at = at;
  }

  pairsCount(tag: string): RpcCall {
    return call(this.#at.PairStorage, PAIRS_COUNT, tag);
  }

  tradesMax(tag: string): RpcCall {
    return call(this.#at.TradingStorage, TRADES_MAX, tag);
  }

  pairName(index: number, tag: string): RpcCall {
    return call(this.#at.PairStorage, encodePairName(index), tag);
  }

  /**
   * How many positions and limit orders the trader has of each of so many pairs: one call of the venue's own multicall.
   * `trader` is in lower case.
   */
  held(trader: string, pairs: number, tag: string): RpcCall {
    if (this.#heldOfAnybody?.pairs !== pairs) this.#heldOfAnybody = { pairs, data: this.#encodeHeld(pairs) };
    const data = this.#heldOfAnybody.data.replaceAll(ANYBODY.slice(2), trader.slice(2)) as Hex;
    return call(this.#at.Multicall, data, tag);
  }

  /** Of several pairs: one call, as above. */
  pairNames(indexes: readonly number[], tag: string): RpcCall {
    const target = this.#at.PairStorage as Hex;
    const calls = indexes.map((index) => ({ target, allowFailure: false, callData: encodePairName(index) }));
    const data = encodeFunctionData({ abi: MULTICALL, functionName: "aggregate3", args: [calls] });
    return call(this.#at.Multicall, data, tag);
  }

  slots(trader: string, { from, to, tradesPerPair }: SlotPage, tag: string): RpcCall {
    const data = encodeFunctionData({
      abi: MULTICALL,
      functionName: "getPositionsForPairIndexes",
      args: [trader as Hex, BigInt(from), BigInt(to), BigInt(tradesPerPair)],
    });
    return call(this.#at.Multicall, data, tag);
  }

  usdcBalance(of: string, tag: string): RpcCall {
    const data = encodeFunctionData({ abi: USDC, functionName: "balanceOf", args: [of as Hex] });
    return call(this.#at.USDC, data, tag);
  }

  /** What the storage may take: it is who moves the collateral. */
  usdcAllowance(of: string, tag: string): RpcCall {
    const args = [of as Hex, this.#at.TradingStorage as Hex] as const;
    return call(this.#at.USDC, encodeFunctionData({ abi: USDC, functionName: "allowance", args }), tag);
  }

  coinBalance(of: string, tag: string): RpcCall {
    return { method: "eth_getBalance", params: [of, tag] };
  }

  #encodeHeld(pairs: number): Hex {
    const target = this.#at.TradingStorage as Hex;
    const calls = Array.from({ length: pairs }, (_, pair) =>
      HELD_COUNTS.map((functionName) => ({
        ...{ target, allowFailure: false },
        callData: encodeFunctionData({ abi: STORAGE, functionName, args: [ANYBODY, BigInt(pair)] }),
      })),
    ).flat();
    return encodeFunctionData({ abi: MULTICALL, functionName: "aggregate3", args: [calls] });
  }
}

function encodePairName(index: number): Hex {
  return encodeFunctionData({ abi: PAIRS, functionName: "getPairData", args: [BigInt(index)] });
}

function call(to: string, data: Hex, tag: string): RpcCall {
  return { method: "eth_call", params: [{ to, data }, tag] };
}

/** From 0 to `max`. */
export function readBounded(result: unknown, max: number, what: string): number {
  const value = readUint(result);
  if (value > BigInt(max)) throw new WireFault(what, "is out of range");
  return Number(value);
}

export function readPairName(result: unknown): PairName {
  readData(result, "pair");
  try {
    const [from, to] = decodeFunctionResult({ abi: PAIRS, functionName: "getPairData", data: result as Hex });
    return { from, to };
  } catch {
    // Nothing at all where there is no such contract; a struct of another form where it is another one.
    throw new WireFault("pair", "is not as the contract says it");
  }
}

/** By pair index, of `pairs` pairs. None may be more than `max`. */
export function readHeld(result: unknown, pairs: number, max: number): readonly HeldCounts[] {
  readData(result, "held");
  const answers = decodedAnswers(result as Hex);
  if (answers?.length !== pairs * HELD_COUNTS.length || !answers.every(({ success }) => success))
    throw new WireFault("held", "are not as many as were asked for");
  const counts = answers.map(({ returnData }) => readBounded(returnData, max, "held"));
  return Array.from({ length: pairs }, (_, pair) => {
    const [trades = 0, orders = 0] = counts.slice(pair * HELD_COUNTS.length, (pair + 1) * HELD_COUNTS.length);
    return { trades, orders };
  });
}

/** In the order of the indexes, `count` of them. */
export function readPairNames(result: unknown, count: number): readonly PairName[] {
  readData(result, "pairs");
  const answers = decodedAnswers(result as Hex);
  if (answers?.length !== count || !answers.every(({ success }) => success))
    throw new WireFault("pairs", "are not as many as were asked for");
  return answers.map(({ returnData }) => readPairName(returnData));
}

/** Null where it is something else, or nothing: no such contract there. */
function decodedAnswers(data: Hex): readonly { readonly success: boolean; readonly returnData: Hex }[] | null {
  try {
    return decodeFunctionResult({ abi: MULTICALL, functionName: "aggregate3", data });
  } catch {
    return null;
  }
}
