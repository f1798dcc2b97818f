/**
 * keccak-256, Ethereum addresses, EIP-191 text and EIP-712 typed data over flat structs, which is all that venues
 * ask to be signed. Field names are hashed as given: two venues' names hold a colon or a blank, which general
 * encoders refuse or escape. Wrong values throw RangeError or TypeError: they are faults of ours, checked before.
 */
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { secp256k1 } from "./secp256k1.js";

export interface TypedField {
  readonly name: string;
  /** An atomic Solidity type: string, bytes, bytes32, address, bool, uint<N>, int<N>. */
  readonly type: string;
}

export interface TypedDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: string;
}

export type TypedValue = string | number | bigint | boolean;

const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
export const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";

// One blank state and one working state: cloning into the second saves an allocation per hash on the order path.
const blank = keccak_256.create();
const work = keccak_256.create();

/** Hash of `bytes` written to `out` (32 bytes). Not re-entrant, and needs not be: it never yields. */
export function keccak256Into(bytes: Uint8Array, out: Uint8Array): Uint8Array {
  blank._cloneInto(work);
  work.update(bytes);
  work.digestInto(out);
  return out;
}

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak256Into(bytes, new Uint8Array(WORD_BYTES));
}

export function hashText(text: string): Uint8Array {
  return keccak256(utf8ToBytes(text));
}

export function toHex(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`;
}

/** Accepts `0x` or bare hex of an even number of digits. */
export function fromHex(text: string): Uint8Array {
  return hexToBytes(text.startsWith("0x") ? text.slice(2) : text);
}

/** 20 bytes of hex with a lower-case `0x`; the checksum of mixed case is not judged here (`isMistyped`). */
export function isAddress(text: string): boolean {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

/** The letters of an address in mixed case are a checksum of its digits (EIP-55): other letters are a slip, or made up. */
export function isMistyped(address: string): boolean {
  const digits = address.slice(2);
  const lower = digits.toLowerCase();
  if (digits === lower || digits === digits.toUpperCase()) return false;
  const hash = bytesToHex(hashText(lower));
  for (const [index, digit] of [...lower].entries()) {
    const isUpper = (hash.codePointAt(index) ?? 0) >= FIRST_UPPER && digit >= "a";
    if (digits[index] !== (isUpper ? digit.toUpperCase() : digit)) return true;
  }
  return false;
}

/** Code of `8`: from there on a digit of the hash makes a letter of the address a capital. */
const FIRST_UPPER = 0x38;

/** Lower-case address of an uncompressed public key. */
export function addressOfPublicKey(publicKey: Uint8Array): string {
  return toHex(keccak256(publicKey.subarray(1)).subarray(WORD_BYTES - ADDRESS_BYTES));
}

export function addressOfPrivateKey(privateKey: Uint8Array): string {
  return addressOfPublicKey(secp256k1.publicKey(privateKey));
}

/** Lower-case address that signed `digest`, null if the signature fits no key. `v` is 27 or 28. */
export function recoverAddress(digest: Uint8Array, rs: Uint8Array, v: number): string | null {
  const publicKey = secp256k1.recover(digest, rs, v - 27);
  return publicKey === null ? null : addressOfPublicKey(publicKey);
}

/** The usual 65 bytes r ‖ s ‖ v as hex, v 27 or 28. */
export function signDigestHex(digest: Uint8Array, privateKey: Uint8Array): string {
  const signature = new Uint8Array(65);
  signature[64] = 27 + secp256k1.sign(digest, privateKey, signature.subarray(0, 64));
  return toHex(signature);
}

/** `Name(type field,type field)`. */
export function encodeTypeString(primaryType: string, fields: readonly TypedField[]): string {
  return `${primaryType}(${fields.map((field) => `${field.type} ${field.name}`).join(",")})`;
}

export const DOMAIN_FIELDS: readonly TypedField[] = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
];

export function hashDomain(domain: TypedDomain): Uint8Array {
  return hashStruct("EIP712Domain", DOMAIN_FIELDS, { ...domain });
}

/** keccak256(typeHash ‖ encoded fields in the order of the type). */
export function hashStruct(
  primaryType: string,
  fields: readonly TypedField[],
  message: Readonly<Record<string, TypedValue>>,
): Uint8Array {
  const encoded = new Uint8Array(WORD_BYTES * (fields.length + 1));
  encoded.set(hashText(encodeTypeString(primaryType, fields)), 0);
  for (const [index, field] of fields.entries()) {
    const value = message[field.name];
    if (value === undefined) throw new TypeError(`typed data field ${field.name} is missing`);
    encodeField(field, value, encoded.subarray(WORD_BYTES * (index + 1), WORD_BYTES * (index + 2)));
  }
  return keccak256(encoded);
}

/** keccak256(0x1901 ‖ domain ‖ struct): what the key signs. */
export function hashTypedData(domainSeparator: Uint8Array, structHash: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(2 + 2 * WORD_BYTES);
  bytes[0] = 0x19;
  bytes[1] = 0x01;
  bytes.set(domainSeparator, 2);
  bytes.set(structHash, 2 + WORD_BYTES);
  return keccak256(bytes);
}

/** EIP-191 digest of a message, `personal_sign`. */
export function hashPersonalMessage(message: Uint8Array): Uint8Array {
  const prefix = utf8ToBytes(`\u0019Ethereum Signed Message:\n${message.length}`);
  const bytes = new Uint8Array(prefix.length + message.length);
  bytes.set(prefix);
  bytes.set(message, prefix.length);
  return keccak256(bytes);
}

/** Big-endian 32-byte word; `value` must fit `bits`. */
export function writeUintWord(value: bigint, bits: number, out: Uint8Array): void {
  if (value < 0n || value >= 1n << BigInt(bits)) throw new RangeError(`integer does not fit uint${bits}`);
  writeWord(value, out);
}

export function writeAddressWord(address: string, out: Uint8Array): void {
  if (!isAddress(address)) throw new TypeError("not an address");
  out.fill(0, 0, WORD_BYTES - ADDRESS_BYTES);
  out.set(fromHex(address), WORD_BYTES - ADDRESS_BYTES);
}

/** Selector and static words, as a call of a function whose arguments are addresses and integers. */
export function encodeCall(
  selector: string,
  args: readonly ({ readonly address: string } | { readonly uint: bigint })[],
): string {
  const data = new Uint8Array(4 + WORD_BYTES * args.length);
  data.set(fromHex(selector));
  for (const [index, arg] of args.entries()) {
    const word = data.subarray(4 + WORD_BYTES * index, 4 + WORD_BYTES * (index + 1));
    if ("address" in arg) writeAddressWord(arg.address, word);
    else writeUintWord(arg.uint, 256, word);
  }
  return toHex(data);
}

function writeWord(value: bigint, out: Uint8Array): void {
  let rest = value;
  for (let index = WORD_BYTES - 1; index >= 0; index--) {
    out[index] = Number(rest & 0xffn);
    rest >>= 8n;
  }
}

function encodeField(field: TypedField, value: TypedValue, out: Uint8Array): void {
  const { type } = field;
  if (type === "string") {
    if (typeof value !== "string") throw new TypeError(`${field.name} is not text`);
    keccak256Into(utf8ToBytes(value), out);
  } else if (type === "bool") {
    if (typeof value !== "boolean") throw new TypeError(`${field.name} is not a truth value`);
    writeWord(value ? 1n : 0n, out);
  } else if (type === "address") {
    if (typeof value !== "string") throw new TypeError(`${field.name} is not an address`);
    writeAddressWord(value, out);
  } else if (type === "bytes") {
    if (typeof value !== "string") throw new TypeError(`${field.name} is not hex`);
    keccak256Into(fromHex(value), out);
  } else if (type === "bytes32") {
    const bytes = typeof value === "string" ? fromHex(value) : new Uint8Array();
    if (bytes.length !== WORD_BYTES) throw new TypeError(`${field.name} is not 32 bytes`);
    out.set(bytes);
  } else {
    const match = /^(u?)int(\d{1,3})$/.exec(type);
    if (match === null || typeof value === "boolean") throw new TypeError(`type ${type} is not supported`);
    const bits = Number(match[2]);
    const integer = BigInt(value);
    if (match[1] === "u") writeUintWord(integer, bits, out);
    else writeWord(BigInt.asUintN(256, checkedInt(integer, bits)), out);
  }
}

function checkedInt(value: bigint, bits: number): bigint {
  if (BigInt.asIntN(bits, value) !== value) throw new RangeError(`integer does not fit int${bits}`);
  return value;
}
