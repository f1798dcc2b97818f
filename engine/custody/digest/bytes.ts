/**
 * Bytes, integers and addresses as the digests need them. Integers are bigint, addresses lower-case text with `0x`.
 * Nothing here accepts two spellings that another reader could tell apart.
 */
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";

export const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
/** Code of `8`: from there on a digit of the hash makes a letter of the address a capital (EIP-55). */
const FIRST_UPPER = 0x38;

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}

export function keccakOfText(text: string): Uint8Array {
  return keccak_256(utf8ToBytes(text));
}

export function toHex(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`;
}

/** Returns null unless the text is `0x` and pairs of hex digits. `0X` is another spelling, and refused. */
export function readHex(text: string): Uint8Array | null {
  return /^0x(?:[0-9a-fA-F]{2})*$/.test(text) ? hexToBytes(text.slice(2)) : null;
}

/** Returns the lower-case address. Null for another shape, and for mixed case that is not the checksum of EIP-55. */
export function readAddress(text: string): string | null {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return null;
  const digits = text.slice(2);
  const lower = digits.toLowerCase();
  if (digits === lower || digits === digits.toUpperCase()) return `0x${lower}`;
  const hash = bytesToHex(keccakOfText(lower));
  for (const [index, digit] of [...lower].entries()) {
    const isUpper = hash.charCodeAt(index) >= FIRST_UPPER && digit >= "a";
    if (digits[index] !== (isUpper ? digit.toUpperCase() : digit)) return null;
  }
  return `0x${lower}`;
}

export function addressOfBytes(bytes: Uint8Array): string {
  if (bytes.length !== ADDRESS_BYTES) throw new RangeError("an address has 20 bytes");
  return toHex(bytes);
}

export function addressToBytes(address: string): Uint8Array {
  const bytes = readHex(address);
  if (bytes?.length !== ADDRESS_BYTES) throw new RangeError("an address has 20 bytes");
  return bytes;
}

export function uintOfBytes(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(toHex(bytes));
}

/** Big-endian, exactly `length` bytes. Throws RangeError for a value that does not fit. */
export function uintToBytes(value: bigint, length: number): Uint8Array {
  if (value < 0n || value >= 1n << BigInt(8 * length)) throw new RangeError(`not an integer of ${length} bytes`);
  return hexToBytes(value.toString(16).padStart(2 * length, "0"));
}

/** Two's complement in one word. */
export function intToWord(value: bigint): Uint8Array {
  return uintToBytes(BigInt.asUintN(8 * WORD_BYTES, value), WORD_BYTES);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}
