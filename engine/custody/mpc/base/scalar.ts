/**
 * Numbers mod n. They become bytes and come from bytes by 64-bit words, never through text: a string cannot be wiped.
 * `decode…` is for what a peer sent and refuses; `read…` and `reduced` are for what was made here.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { violation } from "./outcome.js";
import { SCALAR_BYTES, WIDE_SCALAR_BYTES } from "./parameters.js";

export const ORDER: bigint = secp256k1.CURVE.n;
export const HALF_ORDER: bigint = ORDER >> 1n;

const WORD_BYTES = 8;
const WORD_BITS = 64n;

/** x mod n, for any x, negative ones too. */
export function reduced(value: bigint): bigint {
  const rest = value % ORDER;
  return rest < 0n ? rest + ORDER : rest;
}

/** 1/x mod n for public x: the time depends on x. Zero has no inverse: a fault of the caller. */
export function inversePublic(value: bigint): bigint {
  let [low, high] = [reduced(value), ORDER];
  if (low === 0n) throw new Error("inverse of zero");
  let [factor, nextFactor] = [1n, 0n];
  while (low > 1n) {
    const quotient = high / low;
    [low, high] = [high % low, low];
    [factor, nextFactor] = [nextFactor - quotient * factor, factor];
  }
  return reduced(factor);
}

/** 32 bytes, big-endian, not reduced. */
export function readScalar(bytes: Uint8Array, at: number): bigint {
  return readWords(bytes, at, SCALAR_BYTES);
}

/** 64 bytes mod n: for nonces, shares and other random scalars, whose bias must not show. */
export function wideScalar(bytes: Uint8Array): bigint {
  if (bytes.length !== WIDE_SCALAR_BYTES) throw new Error("length of a wide scalar");
  return reduced(readWords(bytes, 0, WIDE_SCALAR_BYTES));
}

/** A digest as a number mod n. */
export function digestScalar(digest: Uint8Array): bigint {
  if (digest.length !== SCALAR_BYTES) throw new Error("length of a digest");
  return reduced(readScalar(digest, 0));
}

export function writeScalar(value: bigint, target: Uint8Array, at: number): void {
  if (value < 0n || value >= ORDER) throw new Error("scalar out of range");
  writeWords(value, target, at);
}

/** For values that are sent. A secret one is written into a buffer of an arena by `writeScalar`. */
export function encodeScalar(value: bigint): Buffer {
  const bytes = Buffer.alloc(SCALAR_BYTES);
  writeScalar(value, bytes, 0);
  return bytes;
}

/** Exactly 32 bytes below n; anything else is a violation. */
export function decodeScalar(bytes: Uint8Array, field: string): bigint {
  if (bytes.length !== SCALAR_BYTES) throw violation(field);
  const value = readScalar(bytes, 0);
  if (value >= ORDER) throw violation(field);
  return value;
}

/** `count` scalars one behind the other. All are looked at before the decision. */
export function decodeScalars(bytes: Uint8Array, count: number, field: string): bigint[] {
  if (bytes.length !== count * SCALAR_BYTES) throw violation(field);
  const values: bigint[] = new Array<bigint>(count);
  let areLegal = true;
  for (let index = 0; index < count; index++) {
    const value = readScalar(bytes, index * SCALAR_BYTES);
    if (value >= ORDER) areLegal = false;
    values[index] = value;
  }
  if (!areLegal) throw violation(field);
  return values;
}

/** Any value below 2^256, coordinates of points too. */
export function writeWords(value: bigint, target: Uint8Array, at: number): void {
  if (at + SCALAR_BYTES > target.length) throw new Error("length of a scalar");
  const view = new DataView(target.buffer, target.byteOffset + at, SCALAR_BYTES);
  let rest = value;
  for (let word = SCALAR_BYTES - WORD_BYTES; word >= 0; word -= WORD_BYTES) {
    view.setBigUint64(word, rest);
    rest >>= WORD_BITS;
  }
}

/**
 * 2^256 + the scalar: for bytes that were selected under a secret mask. A zero and a scalar so give numbers of one
 * length, and the arithmetic on them takes one path.
 */
export function readLifted(bytes: Uint8Array, at: number): bigint {
  return readWords(bytes, at, SCALAR_BYTES, 1n);
}

/** What `readLifted` adds. */
export const LIFT: bigint = 1n << 256n;

function readWords(bytes: Uint8Array, at: number, byteLength: number, start = 0n): bigint {
  // A view reaches past the end of a buffer that lies in a larger one.
  if (at + byteLength > bytes.length) throw new Error("length of a scalar");
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, byteLength);
  let value = start;
  for (let word = 0; word < byteLength; word += WORD_BYTES) value = (value << WORD_BITS) | view.getBigUint64(word);
  return value;
}
