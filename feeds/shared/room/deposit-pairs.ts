/**
 * Deposit pairs as an operator writes them: a JSON list of tokens, each with its chain and the contract that takes it. Read
 * strictly, since a wrong address or scale sends money away.
 */
import { parseScaledBig } from "../../../engine/domain/decimal.js";
import type { Token } from "../../../engine/venue-money.js";

export interface DepositPair extends Token {
  /** Lower case. */
  readonly contract: string;
  /** Smallest unit. */
  readonly minimum: bigint;
}

export type DepositPairs =
  | { readonly ok: true; readonly pairs: readonly DepositPair[] }
  | { readonly ok: false; readonly problem: string };

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const SYMBOL = /^[A-Z0-9]{2,12}$/;
const DECIMALS_MAX = 36;
const PAIRS_MAX = 32;

/**
 * `text`: "" for none. `contract`: what the venue calls the one that takes the token. `minimum`: decimal text in token
 * units, of every pair.
 */
export function readDepositPairs(text: string, contract: "vault" | "bridge", minimum: string): DepositPairs {
  if (text === "") return { ok: true, pairs: [] };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: "must be a JSON list" };
  }
  if (!Array.isArray(value) || value.length === 0 || value.length > PAIRS_MAX)
    return { ok: false, problem: `must be a JSON list of 1 to ${PAIRS_MAX} pairs` };
  const pairs: DepositPair[] = [];
  for (const [index, item] of value.entries()) {
    const pair = readPair(item, contract, minimum);
    if (typeof pair === "string") return { ok: false, problem: `pair ${index + 1}: ${pair}` };
    if (pairs.some((one) => isSamePair(one, pair))) return { ok: false, problem: `pair ${index + 1} is there twice` };
    pairs.push(pair);
  }
  return { ok: true, pairs };
}

/** Those of `own`, and those of `defaults` that it has none for. */
export function withDefaults<T extends Pick<Token, "chainId" | "symbol">>(
  own: readonly T[],
  defaults: readonly T[],
): readonly T[] {
  return [...own, ...defaults.filter((one) => !own.some((other) => isSamePair(one, other)))];
}

function isSamePair(one: Pick<Token, "chainId" | "symbol">, other: Pick<Token, "chainId" | "symbol">): boolean {
  return one.chainId === other.chainId && one.symbol === other.symbol;
}

function readPair(item: unknown, contract: string, minimumText: string): DepositPair | string {
  if (item === null || typeof item !== "object" || Array.isArray(item)) return "must be an object";
  const { chainId, symbol, address, decimals, resetsAllowance = false, [contract]: taker, ...rest } = item as Fields;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `has the unknown member ${JSON.stringify(unknown.slice(0, 40))}`;
  if (!Number.isSafeInteger(chainId) || (chainId as number) < 1) return "chainId must be a whole number from 1";
  if (typeof symbol !== "string" || !SYMBOL.test(symbol)) return "symbol must be a name such as USDT";
  if (typeof address !== "string" || !ADDRESS.test(address)) return "address must be 0x and 40 hex digits";
  if (typeof taker !== "string" || !ADDRESS.test(taker)) return `${contract} must be 0x and 40 hex digits`;
  if (!Number.isInteger(decimals) || (decimals as number) < 0 || (decimals as number) > DECIMALS_MAX)
    return `decimals must be a whole number from 0 to ${DECIMALS_MAX}`;
  if (typeof resetsAllowance !== "boolean") return "resetsAllowance must be true or false";
  const minimum = parseScaledBig(minimumText, decimals as number);
  if (minimum === null) return "the minimum deposit is finer than the token";
  return {
    ...{ chainId: chainId as number, symbol, address: address.toLowerCase(), decimals: decimals as number },
    ...{ resetsAllowance, contract: taker.toLowerCase(), minimum },
  };
}

type Fields = Readonly<Record<string, unknown>>;
