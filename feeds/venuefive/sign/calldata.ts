/** Calls of the venue's contracts as bytes, and what they answer and log as values, by the contracts' own descriptions. */
import type { Abi, AbiFunction, AbiParameter, Hex } from "viem";
import { decodeEventLog, decodeFunctionResult, encodeFunctionData, hashTypedData, parseAbi } from "viem/utils";
import {
  MULTICALL_ABI,
  PAIR_STORAGE_ABI,
  TRADING_ABI,
  TRADING_CALLBACKS_ABI,
  TRADING_STORAGE_ABI,
  USDC_ABI,
} from "../../../schemas/venuefive/abi.js";
import { VENUEFIVE_ADDRESSES } from "../../../schemas/venuefive/contracts.js";

/** What the venue's keeper calls; nobody here does. */
const KEEPER_ABI = [
  "function executeMarketOrders(uint256[] orderId, bytes[] priceUpdateData, uint8 _priceSourcing) payable",
];

const ABIS: Readonly<Record<string, Abi>> = {
  Trading: [...parseAbi(TRADING_ABI), ...parseAbi(KEEPER_ABI)] as Abi,
  TradingStorage: parseAbi(TRADING_STORAGE_ABI),
  TradingCallbacks: parseAbi(TRADING_CALLBACKS_ABI),
  Multicall: parseAbi(MULTICALL_ABI),
  PairStorage: parseAbi(PAIR_STORAGE_ABI),
  USDC: parseAbi(USDC_ABI),
};

/** What a call pays: the execution fee as the venue asks by default, or the one wei that an oracle's answer costs. */
const EXECUTION_FEE_WEI = 350_000_000_000_000n;
const ORACLE_WEI = 1n;
const VALUES: Readonly<Record<string, bigint>> = {
  openTrade: EXECUTION_FEE_WEI,
  closeTradeMarket: EXECUTION_FEE_WEI,
  delegatedAction: EXECUTION_FEE_WEI,
  updateMargin: ORACLE_WEI,
  updateTpAndSl: ORACLE_WEI,
};

export interface EncodedCall {
  readonly to: string;
  readonly data: Hex;
  readonly value: bigint;
}

/** `args`: in the order of the function, or by the names of its parameters; integers as text. Throws for what it has not. */
export function encodedCall(contract: string, name: string, args: unknown): EncodedCall {
  const given = Array.isArray(args) ? (args as unknown[]) : Object.values(args as object);
  const item = functionOf(contract, name, given.length);
  const values = item.inputs.map((input, at) =>
    asValue(input, Array.isArray(args) ? given[at] : (args as Record<string, unknown>)[input.name ?? ""]),
  );
  const to = (VENUEFIVE_ADDRESSES as Readonly<Record<string, string>>)[contract];
  if (to === undefined) throw new RangeError(`${contract} has no address`);
  return { to, data: encodeFunctionData({ abi: [item], args: values }), value: VALUES[name] ?? 0n };
}

export function decodedResult(contract: string, name: string, data: string): unknown {
  return decodeFunctionResult({ abi: abiOf(contract), functionName: name, data: data as Hex });
}

export function decodedEvent(
  contract: string,
  topics: readonly string[],
  data: string,
): { readonly name: string; readonly args: unknown } {
  const abi = abiOf(contract);
  const { eventName, args } = decodeEventLog({ abi, topics: topics as unknown as [Hex, ...Hex[]], data: data as Hex });
  return { name: String(eventName), args };
}

/** EIP-712, of what the venue takes since v2. */
export function typedDigest(domain: unknown, types: unknown, primaryType: string, message: unknown): Hex {
  return hashTypedData({ domain, types, primaryType, message } as Parameters<typeof hashTypedData>[0]);
}

/** One text for equal values: integers as text whatever they were, addresses in lower case, keys sorted. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value === "bigint" || typeof value === "number") return value.toString();
  if (typeof value === "string") return value.startsWith("0x") ? value.toLowerCase() : value;
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, sorted(one)] as const);
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function abiOf(contract: string): Abi {
  const abi = Object.hasOwn(ABIS, contract) ? ABIS[contract] : undefined;
  if (abi === undefined) throw new RangeError(`contract ${contract} is not known`);
  return abi;
}

/** Overloads differ in the number of their parameters. */
function functionOf(contract: string, name: string, count: number): AbiFunction {
  const found = abiOf(contract).find(
    (item): item is AbiFunction => item.type === "function" && item.name === name && item.inputs.length === count,
  );
  if (found === undefined) throw new RangeError(`${contract} has no ${name} of ${count} parameters`);
  return found;
}

type Parts = { readonly components?: readonly AbiParameter[] };

function asValue(input: AbiParameter, value: unknown): unknown {
  if (input.type.endsWith("[]")) {
    const one = { ...input, type: input.type.slice(0, -2) } as AbiParameter;
    return (value as readonly unknown[]).map((part) => asValue(one, part));
  }
  if (input.type === "tuple") {
    const fields = value as Readonly<Record<string, unknown>>;
    const parts = (input as Parts).components ?? [];
    return Object.fromEntries(parts.map((part) => [part.name, asValue(part, fields[part.name ?? ""])]));
  }
  return /^u?int/.test(input.type) ? BigInt(value as string | number) : value;
}
