/** RLP, encoding only: byte strings and lists, and integers as byte strings without leading zeros. */
import { hexToBytes } from "@noble/hashes/utils";
import { concat } from "./bytes.js";

/** Up to here the length is in the first byte. */
const SHORT_BYTES = 55;
const STRING_OFFSET = 0x80;
const LIST_OFFSET = 0xc0;

export type RlpItem = Uint8Array | readonly RlpItem[];

export function rlpEncode(item: RlpItem): Uint8Array {
  if (item instanceof Uint8Array) {
    const [first] = item;
    if (item.length === 1 && first !== undefined && first < STRING_OFFSET) return item;
    return concat([prefix(item.length, STRING_OFFSET), item]);
  }
  const body = concat(item.map(rlpEncode));
  return concat([prefix(body.length, LIST_OFFSET), body]);
}

/** Zero is the empty byte string. */
export function rlpInteger(value: bigint): Uint8Array {
  if (value < 0n) throw new RangeError("RLP has no negative integers");
  if (value === 0n) return new Uint8Array();
  const digits = value.toString(16);
  return hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`);
}

function prefix(length: number, offset: number): Uint8Array {
  if (length <= SHORT_BYTES) return Uint8Array.of(offset + length);
  const bytes = rlpInteger(BigInt(length));
  return concat([Uint8Array.of(offset + SHORT_BYTES + bytes.length), bytes]);
}
