/**
 * MessagePack encoder for the values that actions consist of, in the smallest form of each, as the venue hashes them.
 * Maps keep the insertion order of their object; keys are never integer-like, so that order is safe.
 */

export type PackValue = null | string | boolean | number | bigint | readonly PackValue[] | PackMap;
export interface PackMap {
  readonly [key: string]: PackValue;
}

const UTF8 = new TextEncoder();

/** Encodes a value; a non-integer number is a bug of the caller, because the venue hashes decimals as text. */
export function packMessage(value: PackValue): Uint8Array {
  const bytes: number[] = [];
  pack(value, bytes);
  return Uint8Array.from(bytes);
}

function pack(value: PackValue, out: number[]): void {
  if (value === null) out.push(0xc0);
  else if (typeof value === "boolean") out.push(value ? 0xc3 : 0xc2);
  else if (typeof value === "string") packText(value, out);
  else if (typeof value === "number" || typeof value === "bigint") packInteger(BigInt(value), out);
  else if (isArray(value)) {
    packHead(value.length, 0x90, 0xdc, out);
    for (const item of value) pack(item, out);
  } else {
    const keys = Object.keys(value);
    packHead(keys.length, 0x80, 0xde, out);
    for (const key of keys) {
      packText(key, out);
      pack(value[key] ?? null, out);
    }
  }
}

/** `Array.isArray` does not narrow readonly arrays out of a union. */
function isArray(value: PackValue): value is readonly PackValue[] {
  return Array.isArray(value);
}

function packText(text: string, out: number[]): void {
  const bytes = UTF8.encode(text);
  if (bytes.length < 32) out.push(0xa0 | bytes.length);
  else if (bytes.length < 0x100) out.push(0xd9, bytes.length);
  else if (bytes.length < 0x1_0000) packUint(0xda, BigInt(bytes.length), 2, out);
  else packUint(0xdb, BigInt(bytes.length), 4, out);
  for (const byte of bytes) out.push(byte);
}

function packHead(count: number, fixTag: number, tag16: number, out: number[]): void {
  if (count < 16) out.push(fixTag | count);
  else if (count < 0x1_0000) packUint(tag16, BigInt(count), 2, out);
  else packUint(tag16 + 1, BigInt(count), 4, out);
}

function packInteger(value: bigint, out: number[]): void {
  if (value >= 0n) {
    if (value < 0x80n) out.push(Number(value));
    else if (value < 0x100n) packUint(0xcc, value, 1, out);
    else if (value < 0x1_0000n) packUint(0xcd, value, 2, out);
    else if (value < 0x1_0000_0000n) packUint(0xce, value, 4, out);
    else packUint(0xcf, value, 8, out);
  } else if (value >= -0x20n) out.push(Number(value + 0x100n));
  else if (value >= -0x80n) packUint(0xd0, value + 0x100n, 1, out);
  else if (value >= -0x8000n) packUint(0xd1, value + 0x1_0000n, 2, out);
  else if (value >= -0x8000_0000n) packUint(0xd2, value + 0x1_0000_0000n, 4, out);
  else packUint(0xd3, BigInt.asUintN(64, value), 8, out);
}

function packUint(tag: number, value: bigint, width: number, out: number[]): void {
  out.push(tag);
  for (let shift = BigInt(8 * (width - 1)); shift >= 0n; shift -= 8n) out.push(Number((value >> shift) & 0xffn));
}
