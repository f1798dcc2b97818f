/** EIP-712 hashes of typed data that the strict reader has read. A value of another type than its field's is a fault. */
import { utf8ToBytes } from "@noble/hashes/utils";
import { addressToBytes, concat, intToWord, keccak256, keccakOfText, uintToBytes, WORD_BYTES } from "./bytes.js";
import {
  arrayType,
  atomicType,
  baseType,
  DOMAIN_FIELDS,
  DOMAIN_TYPE,
  type FieldTypes,
  isTypedList,
  isTypedStruct,
  type TypedData,
  type TypedDomain,
  type TypedField,
  type TypedStruct,
  type TypedValue,
} from "./typed-data-types.js";

export function typedDataDigest(typed: TypedData): Uint8Array {
  const message = new StructHasher(typed.types).struct(typed.primaryType, typed.message);
  return keccak256(concat([Uint8Array.of(0x19, 0x01), domainSeparator(typed.domain), message]));
}

export function domainSeparator(domain: TypedDomain): Uint8Array {
  const { name, version, chainId, verifyingContract, salt } = domain;
  const values: TypedStruct = new Map(
    Object.entries({ name, version, chainId, verifyingContract, salt }).flatMap(([member, value]) =>
      value === undefined ? [] : [[member, value] as const],
    ),
  );
  const fields = DOMAIN_FIELDS.filter((field) => values.has(field.name));
  return new StructHasher(new Map([[DOMAIN_TYPE, fields]])).struct(DOMAIN_TYPE, values);
}

/** `Primary(type field,…)` and behind it the structs that it uses, by name. */
export function typeString(types: FieldTypes, primaryType: string): string {
  const [, ...used] = structsOf(types, primaryType);
  return [primaryType, ...used.sort()].map((name) => oneTypeString(name, types.get(name) ?? [])).join("");
}

/** The struct itself, then all that it uses, each once. */
export function structsOf(types: FieldTypes, primaryType: string): string[] {
  const found = new Set([primaryType]);
  for (const name of found)
    for (const field of types.get(name) ?? []) {
      const base = baseType(field.type);
      if (types.has(base)) found.add(base);
    }
  return [...found];
}

function oneTypeString(name: string, fields: readonly TypedField[]): string {
  return `${name}(${fields.map((field) => `${field.type} ${field.name}`).join(",")})`;
}

class StructHasher {
  readonly #types: FieldTypes;
  /** Thousands of structs in an array have one type. */
  readonly #typeHashes = new Map<string, Uint8Array>();

  constructor(types: FieldTypes) {
    this.#types = types;
  }

  struct(name: string, values: TypedStruct): Uint8Array {
    const words = (this.#types.get(name) ?? []).map((field) => {
      const value = values.get(field.name);
      if (value === undefined) throw new TypeError(`typed data has no ${field.name}`);
      return this.#word(field.type, value);
    });
    return keccak256(concat([this.#typeHash(name), ...words]));
  }

  #typeHash(name: string): Uint8Array {
    const known = this.#typeHashes.get(name);
    if (known !== undefined) return known;
    const hash = keccakOfText(typeString(this.#types, name));
    this.#typeHashes.set(name, hash);
    return hash;
  }

  #word(type: string, value: TypedValue): Uint8Array {
    const array = arrayType(type);
    if (array !== null) {
      if (!isTypedList(value)) throw new TypeError(`${type} is not a list`);
      return keccak256(concat(value.map((item) => this.#word(array.item, item))));
    }
    if (isTypedStruct(value)) return this.struct(type, value);
    return atomWord(type, value);
  }
}

function atomWord(type: string, value: TypedValue): Uint8Array {
  const kind = atomicType(type)?.kind;
  if (typeof value === "string") {
    if (kind === "string") return keccak256(utf8ToBytes(value));
    if (kind === "address") return leftPadded(addressToBytes(value));
  }
  if (typeof value === "bigint" && (kind === "uint" || kind === "int")) return intToWord(value);
  if (typeof value === "boolean" && kind === "bool") return uintToBytes(value ? 1n : 0n, WORD_BYTES);
  if (value instanceof Uint8Array) {
    if (kind === "bytes") return keccak256(value);
    if (kind === "fixedBytes") return concat([value, new Uint8Array(WORD_BYTES - value.length)]);
  }
  throw new TypeError(`a value is not of the type ${type}`);
}

function leftPadded(bytes: Uint8Array): Uint8Array {
  return concat([new Uint8Array(WORD_BYTES - bytes.length), bytes]);
}
