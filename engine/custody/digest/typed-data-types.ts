/**
 * The types of EIP-712 as they may be written here, and the shapes that the reader returns.
 *
 * Invariant: names hold no comma, parenthesis or bracket and types no blank, so a type string can be cut into its types
 * and fields in one way only. A colon in a type's name and single blanks inside a field's name are allowed: two venues
 * use them. Where a name with a colon or a dollar sign would be read in two ways the reader refuses it.
 */

export interface TypedField {
  readonly name: string;
  readonly type: string;
}

export type FieldTypes = ReadonlyMap<string, readonly TypedField[]>;

/**
 * As the type of the place says: text → string, address → lower-case text, integers → bigint, bytes → Uint8Array,
 * arrays → arrays, structs → Maps.
 */
export type TypedValue = string | bigint | boolean | Uint8Array | readonly TypedValue[] | TypedStruct;
export type TypedStruct = ReadonlyMap<string, TypedValue>;

/** A member that is absent is not part of the domain. */
export interface TypedDomain {
  readonly name?: string;
  readonly version?: string;
  readonly chainId?: bigint;
  /** Lower case. */
  readonly verifyingContract?: string;
  readonly salt?: Uint8Array;
}

export interface TypedData {
  readonly domain: TypedDomain;
  /** Without EIP712Domain. */
  readonly types: FieldTypes;
  readonly primaryType: string;
  readonly message: TypedStruct;
}

export const DOMAIN_TYPE = "EIP712Domain";

/** All that a domain may have, in the order of the standard. */
export const DOMAIN_FIELDS: readonly TypedField[] = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
  { name: "salt", type: "bytes32" },
];

export type AtomicType =
  | { readonly kind: "address" | "bool" | "string" | "bytes" }
  | { readonly kind: "uint" | "int"; readonly bits: number }
  | { readonly kind: "fixedBytes"; readonly length: number };

const PLAIN_ATOMS: ReadonlyMap<string, AtomicType> = new Map([
  ["address", { kind: "address" }],
  ["bool", { kind: "bool" }],
  ["string", { kind: "string" }],
  ["bytes", { kind: "bytes" }],
]);

/** Returns null for what is no atomic type. `uint` and `int` without bits are aliases that hash otherwise: none. */
export function atomicType(type: string): AtomicType | null {
  const plain = PLAIN_ATOMS.get(type);
  if (plain !== undefined) return plain;
  const integer = /^(u?int)([1-9][0-9]{0,2})$/.exec(type);
  if (integer !== null) {
    const bits = Number(integer[2]);
    return bits % 8 === 0 && bits <= 256 ? { kind: integer[1] === "uint" ? "uint" : "int", bits } : null;
  }
  const length = Number(/^bytes([1-9][0-9]?)$/.exec(type)?.[1] ?? 0);
  return length >= 1 && length <= 32 ? { kind: "fixedBytes", length } : null;
}

export interface ArrayType {
  readonly item: string;
  /** Null: of any length. */
  readonly length: number | null;
}

/** Takes the last pair of brackets off; null when there is none. A length is at most 9,999, and not zero. */
export function arrayType(type: string): ArrayType | null {
  const match = /^(.+)\[([1-9][0-9]{0,3})?\]$/.exec(type);
  if (match?.[1] === undefined) return null;
  return { item: match[1], length: match[2] === undefined ? null : Number(match[2]) };
}

/** The type without any brackets. */
export function baseType(type: string): string {
  let base = type;
  for (let array = arrayType(base); array !== null; array = arrayType(base)) base = array.item;
  return base;
}

/** Names that look like an atomic type would be read as one by some, and as a struct by others. */
export function isStructName(name: string): boolean {
  return (
    /^[A-Za-z_$][A-Za-z0-9_$:]{0,127}$/.test(name) && !/^(?:u?int|bytes)[0-9]*$|^(?:address|bool|string)$/.test(name)
  );
}

export function isFieldName(name: string): boolean {
  return name.length <= 128 && /^[A-Za-z_$][A-Za-z0-9_$]*(?: [A-Za-z0-9_$]+)*$/.test(name);
}

export function isTypedStruct(value: TypedValue | undefined): value is TypedStruct {
  return value instanceof Map;
}

export function isTypedList(value: TypedValue | undefined): value is readonly TypedValue[] {
  return Array.isArray(value);
}
