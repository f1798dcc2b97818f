/**
 * Calls of contracts by their signature, of static arguments only: every argument is one word at a known place, so
 * calldata has one length and one reading. A signature with `bytes`, `string`, a list or a tuple is refused when the
 * policy is read; with them go the methods that carry other calls inside (multicall, execute).
 */
import { keccakOfText, toHex, uintOfBytes, WORD_BYTES } from "../digest/bytes.js";
import { type AtomicType, atomicType } from "../digest/typed-data-types.js";

const SELECTOR_BYTES = 4;
const ADDRESS_BYTES = 20;
/** Fewer than any compiler allows; a bound for what is read from a file. */
const MAX_ARGUMENTS = 16;

export interface MethodSignature {
  /** Canonical: `name(type,type)`, no blank, no names of arguments. */
  readonly text: string;
  /** `0x` and 8 hex digits. */
  readonly selector: string;
  readonly types: readonly AtomicType[];
}

/** Returns null for what is no canonical signature of static arguments. */
export function readSignature(text: string): MethodSignature | null {
  const match = /^[A-Za-z_$][A-Za-z0-9_$]{0,127}\(([a-z0-9,]*)\)$/.exec(text);
  if (match?.[1] === undefined) return null;
  const names = match[1] === "" ? [] : match[1].split(",");
  const types = names.map(atomicType);
  if (types.length > MAX_ARGUMENTS || !types.every(isStatic)) return null;
  return { text, selector: toHex(keccakOfText(text).subarray(0, SELECTOR_BYTES)), types };
}

function isStatic(type: AtomicType | null): type is AtomicType {
  return type !== null && type.kind !== "string" && type.kind !== "bytes";
}

function knownSignature(text: string): MethodSignature {
  const signature = readSignature(text);
  if (signature === null) throw new RangeError(`not a signature: ${text}`);
  return signature;
}

/** Where each of the three methods of ERC-20 that move money has its destination and amount. */
export const TOKEN_METHODS = {
  transfer: { signature: knownSignature("transfer(address,uint256)"), destination: 0, amount: 1 },
  /** An allowance is an amount towards the spender. */
  approve: { signature: knownSignature("approve(address,uint256)"), destination: 0, amount: 1 },
  transferFrom: { signature: knownSignature("transferFrom(address,address,uint256)"), destination: 1, amount: 2 },
} as const;

export type TokenMethod = keyof typeof TOKEN_METHODS;
export const TOKEN_METHOD_NAMES = Object.keys(TOKEN_METHODS) as readonly TokenMethod[];

/** Null when the data is too short to name a method. */
export function selectorOf(data: Uint8Array): string | null {
  return data.length < SELECTOR_BYTES ? null : toHex(data.subarray(0, SELECTOR_BYTES));
}

/** Lower-case text of an address, 0 or 1 of a truth value, lower-case hex of fixed bytes. */
export type CallArgument = string | bigint;

/**
 * Returns null unless the data is the selector and exactly one clean word for each argument. Contracts ignore what is
 * behind their arguments and some ignore the high bytes of an address: neither is signed.
 */
export function decodeCall(signature: MethodSignature, data: Uint8Array): readonly CallArgument[] | null {
  if (data.length !== SELECTOR_BYTES + WORD_BYTES * signature.types.length) return null;
  if (selectorOf(data) !== signature.selector) return null;
  const decoded: CallArgument[] = [];
  for (const [index, type] of signature.types.entries()) {
    const start = SELECTOR_BYTES + WORD_BYTES * index;
    const argument = decodeWord(type, data.subarray(start, start + WORD_BYTES));
    if (argument === null) return null;
    decoded.push(argument);
  }
  return decoded;
}

function decodeWord(type: AtomicType, word: Uint8Array): CallArgument | null {
  const integer = uintOfBytes(word);
  switch (type.kind) {
    case "address":
      return integer >> BigInt(8 * ADDRESS_BYTES) === 0n ? toHex(word.subarray(WORD_BYTES - ADDRESS_BYTES)) : null;
    case "bool":
      return integer <= 1n ? integer : null;
    case "uint":
      return BigInt.asUintN(type.bits, integer) === integer ? integer : null;
    case "int": {
      const signed = BigInt.asIntN(8 * WORD_BYTES, integer);
      return BigInt.asIntN(type.bits, signed) === signed ? signed : null;
    }
    case "fixedBytes":
      return word.subarray(type.length).every((byte) => byte === 0) ? toHex(word.subarray(0, type.length)) : null;
    default:
      return null;
  }
}
