/**
 * Typed reading of JSON nodes, with the venue's rules: a known key given twice is refused, an unknown key is refused
 * or ignored by place, integers must be written as integers. Every refusal is the same 422, so the reader throws one
 * marker that the two entry points (decodeInfo, decodeExchange) turn into a value.
 */
import type { JsonNode } from "./json.js";

/** Thrown inside a decoder only; `decodeOrNull` catches it. */
class ShapeMismatch extends Error {
  override readonly name = "ShapeMismatch";
}

export function mismatch(what: string): never {
  throw new ShapeMismatch(what);
}

/** Runs a decoder. Returns null for the venue's 422. */
export function decodeOrNull<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ShapeMismatch) return null;
    throw error;
  }
}

/** Known fields of an object that was read. */
export class Struct {
  readonly #fields: ReadonlyMap<string, JsonNode>;

  constructor(fields: ReadonlyMap<string, JsonNode>) {
    this.#fields = fields;
  }

  /** The node under a key, or undefined when absent; an explicit null counts as absent. */
  optional(key: string): JsonNode | undefined {
    const value = this.#fields.get(key);
    return value === undefined || value.kind === "null" ? undefined : value;
  }

  required(key: string): JsonNode {
    return this.optional(key) ?? mismatch(`missing ${key}`);
  }
}

export type UnknownKeys = "refuse" | "ignore";

/** Reads an object with the given known keys. */
export function readStruct(node: JsonNode, known: readonly string[], unknownKeys: UnknownKeys): Struct {
  if (node.kind !== "object") mismatch("object expected");
  const fields = new Map<string, JsonNode>();
  for (const [key, value] of node.entries) {
    if (!known.includes(key)) {
      if (unknownKeys === "refuse") mismatch(`unknown key ${key}`);
      continue;
    }
    if (fields.has(key)) mismatch(`duplicate key ${key}`);
    fields.set(key, value);
  }
  return new Struct(fields);
}

/** As `readStruct`, but also takes the positional array form: items in the order of `known`. */
export function readStructOrArray(node: JsonNode, known: readonly string[], unknownKeys: UnknownKeys): Struct {
  if (node.kind !== "array") return readStruct(node, known, unknownKeys);
  if (node.items.length > known.length) mismatch("too many positional items");
  const fields = new Map<string, JsonNode>();
  node.items.forEach((item, index) => {
    const key = known[index];
    if (key !== undefined) fields.set(key, item);
  });
  return new Struct(fields);
}

export function readText(node: JsonNode): string {
  return node.kind === "string" ? node.value : mismatch("text expected");
}

export function readBool(node: JsonNode): boolean {
  return node.kind === "bool" ? node.value : mismatch("boolean expected");
}

export function readArray<T>(node: JsonNode, readItem: (item: JsonNode) => T): T[] {
  return node.kind === "array" ? node.items.map(readItem) : mismatch("array expected");
}

/** An unsigned integer no larger than 2^53 - 1; every integer of the protocol stays below that. */
export function readUint(node: JsonNode, max: number = Number.MAX_SAFE_INTEGER): number {
  const value = readInt(node);
  return value >= 0 && value <= max ? value : mismatch("unsigned integer expected");
}

/** A signed integer, written without fraction or exponent; `-0` is a float to the venue's parser. */
export function readInt(node: JsonNode): number {
  if (node.kind !== "number" || !/^(?:0|-?[1-9]\d*)$/.test(node.text)) mismatch("integer expected");
  const value = Number(node.text);
  return Number.isSafeInteger(value) ? value : mismatch("integer out of range");
}

export function readOneOf<const T extends string>(node: JsonNode, allowed: readonly T[]): T {
  const text = readText(node);
  return allowed.find((candidate) => candidate === text) ?? mismatch(`one of ${allowed.join(" ")} expected`);
}

/** 20 bytes of hex in any case, `0x` optional but never `0X`; canonical form is lower case with `0x`. */
export function readAddress(node: JsonNode): string {
  const digits = /^(?:0x)?([0-9a-fA-F]{40})$/.exec(readText(node))?.[1];
  return digits === undefined ? mismatch("address expected") : `0x${digits.toLowerCase()}`;
}

/** 128 bits of hex; accepted without `0x`, but hashed with it, so that such a client's signature names a stranger. */
export function readCloid(node: JsonNode): string {
  const digits = /^(?:0x)?([0-9a-fA-F]{32})$/.exec(readText(node))?.[1];
  return digits === undefined ? mismatch("cloid expected") : `0x${digits.toLowerCase()}`;
}
