/** Bytes and addresses as viem and the endpoints take them. */
import { bytesToHex } from "@noble/hashes/utils";

export type Hex = `0x${string}`;

export function toHex(bytes: Uint8Array): Hex {
  return `0x${bytesToHex(bytes)}`;
}

/** Throws RangeError: an address comes from our own code, which has read it. */
export function asAddress(text: string): Hex {
  if (!/^0x[0-9a-f]{40}$/.test(text)) throw new RangeError("an address is 0x and 40 hex digits in lower case");
  return text as Hex;
}

/** As above, of a transaction. */
export function asHash(text: string): Hex {
  if (!/^0x[0-9a-f]{64}$/.test(text)) throw new RangeError("a hash is 0x and 64 hex digits in lower case");
  return text as Hex;
}
