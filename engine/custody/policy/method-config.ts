/**
 * The methods of a contract in the policy file. Every argument must be accounted for: as the destination, as the amount,
 * as fixed, or by `free` as one that decides nothing about money. A forgotten argument could be where the money goes.
 */
import { readAddress, readHex, toHex } from "../digest/bytes.js";
import type { JsonValue } from "../digest/strict-json.js";
import type { AtomicType } from "../digest/typed-data-types.js";
import { type MethodSignature, readSignature, TOKEN_METHODS } from "./calldata.js";
import { type ConfigObject, readDestinations, readInteger, readLimits } from "./config-reader.js";
import type { FixedArgument, MethodRule } from "./policy.js";

const NO_METHOD: MethodSignature = { text: "", selector: "", types: [] };
/** An allowance over everything, which is no amount. */
const FORBIDDEN = ["setApprovalForAll(address,bool)"].map((text) => readSignature(text)?.selector);
const TOKEN_SELECTORS = Object.values(TOKEN_METHODS).map((method) => method.signature.selector);

export function readMethods(contract: ConfigObject): readonly MethodRule[] {
  const methods = contract.objects("methods", readMethod);
  if (methods.length === 0) contract.report("methods", "must name at least one method");
  for (const [index, { signature }] of methods.entries()) {
    const first = methods.find((other) => other.signature.selector === signature.selector);
    if (first !== undefined && first.signature.text !== signature.text)
      contract.report(`methods[${index}].signature`, "has the selector of another method of this contract");
  }
  return methods;
}

function readMethod(item: ConfigObject): MethodRule {
  const signature = readMethodSignature(item);
  const { types } = signature;
  const used = new Set<number>();
  const fixed = item.objects("fixed", (entry) => {
    const argument = readIndex(entry, types.length);
    use(entry, used, argument);
    return { argument, value: readFixed(entry, types[argument]) } satisfies FixedArgument;
  });
  const destination = item.has("destination") ? readDestination(item.object("destination"), types, used) : null;
  const amount = item.has("amount") ? readAmount(item.object("amount"), types, used) : null;
  for (const argument of item.list("free", (value, path) => readPosition(item, value, path, types.length)))
    use(item, used, argument);
  for (const index of types.keys())
    if (!used.has(index)) item.report("signature", `argument ${index} is neither destination, amount, fixed nor free`);
  return { signature, fixed, destination, amount, payable: item.flag("payable") };
}

function readMethodSignature(item: ConfigObject): MethodSignature {
  const signature = readSignature(item.text("signature"));
  if (signature === null) {
    item.report("signature", "must be name(type,…) with types of one word: no bytes, string, list or tuple");
    return NO_METHOD;
  }
  if (FORBIDDEN.includes(signature.selector)) item.report("signature", "allows everything without an amount");
  if (TOKEN_SELECTORS.includes(signature.selector))
    item.report("signature", "has the selector of a token's method: see tokens");
  return signature;
}

/** Twice used, and an argument would be held to one of two meanings. */
function use(item: ConfigObject, used: Set<number>, argument: number): void {
  if (used.has(argument)) item.report("argument", `argument ${argument} is named twice`);
  used.add(argument);
}

function readDestination(
  item: ConfigObject,
  types: readonly AtomicType[],
  used: Set<number>,
): MethodRule["destination"] {
  const argument = readIndex(item, types.length);
  use(item, used, argument);
  if (types[argument]?.kind !== "address") item.report("argument", "must be an address");
  const allowed = readDestinations(item, "allowed");
  item.end();
  return { argument, allowed };
}

function readAmount(item: ConfigObject, types: readonly AtomicType[], used: Set<number>): MethodRule["amount"] {
  const argument = readIndex(item, types.length);
  use(item, used, argument);
  if (types[argument]?.kind !== "uint") item.report("argument", "must be a uint");
  const amount = { argument, token: item.address("token"), ...readLimits(item) };
  item.end();
  return amount;
}

function readIndex(item: ConfigObject, count: number): number {
  return readPosition(item, item.take("argument"), item.at("argument"), count);
}

function readPosition(item: ConfigObject, value: JsonValue | undefined, path: string, count: number): number {
  if (typeof value === "number" && value >= 0 && value < count) return value;
  item.problems.add(path, `must be the position of an argument, 0 to ${count - 1}`);
  return 0;
}

/** In the form that `decodeCall` returns. */
function readFixed(item: ConfigObject, type: AtomicType | undefined): string | bigint {
  const value = item.take("value");
  if (type?.kind === "address") {
    const address = value === "self" ? value : typeof value === "string" ? readAddress(value) : null;
    if (address !== null) return address;
  } else if (type?.kind === "bool") {
    if (typeof value === "boolean") return value ? 1n : 0n;
  } else if (type?.kind === "fixedBytes") {
    const bytes = typeof value === "string" ? readHex(value) : null;
    if (bytes?.length === type.length) return toHex(bytes);
  } else if (typeof value === "string") {
    const integer = readInteger(value);
    if (integer !== null) return integer;
  }
  item.report("value", 'must be a value of the argument\'s type: integers as text, "self" for the wallet');
  return 0n;
}
