// hot path
/**
 * The Goldilocks field, p = 2^64 − 2^32 + 1 (fact sheet 8.1), on pairs of 32-bit words: word 0 is the low half. All
 * functions write a canonical element (below p) to `out[at]`, `out[at + 1]` and take canonical ones.
 *
 * JavaScript has no 64-bit product, and BigInt costs an allocation for each. The high half of a 32-bit product comes
 * from the rounded double instead: `a·b` as a double is off by less than 2^11, the low half is exact (Math.imul), so
 * `(a·b − low) / 2^32` is within 2^-20 of the integer it must be, and adding a half before truncation gives it.
 */

/** Little-endian 32-bit words, two for each element. */
export type Words = Uint32Array;

export const P = 0xffff_ffff_0000_0001n;
const TWO_32 = 4_294_967_296;
const PER_TWO_32 = 1 / TWO_32;
const MAX_WORD = 0xffff_ffff;

/**
 * out = high · 2^32 + low − top · 2^32 mod p, for sums of words that are not carried yet: integers as doubles, with
 * |low| < 2^52, |high| < 2^52, so that |high · 2^32 + low| < 2^85.
 */
export function reduceSum(out: Words, at: number, lowSum: number, highSum: number): void {
  let carry = Math.floor(lowSum * PER_TWO_32);
  let low = lowSum - carry * TWO_32;
  let high = highSum + carry;
  // Each 2^64 in the high sum is 2^32 − 1: add it to the high word and take it from the low one.
  while (high < 0 || high > MAX_WORD) {
    const over = Math.floor(high * PER_TWO_32);
    high += over - over * TWO_32;
    low -= over;
    carry = Math.floor(low * PER_TWO_32);
    low -= carry * TWO_32;
    high += carry;
  }
  if (high === MAX_WORD && low >= 1) {
    high = 0;
    low -= 1;
  }
  out[at] = low;
  out[at + 1] = high;
}

export function add(out: Words, at: number, a: Words, ai: number, b: Words, bi: number): void {
  reduceSum(out, at, (a[ai] as number) + (b[bi] as number), (a[ai + 1] as number) + (b[bi + 1] as number));
}

export function subtract(out: Words, at: number, a: Words, ai: number, b: Words, bi: number): void {
  reduceSum(out, at, (a[ai] as number) - (b[bi] as number), (a[ai + 1] as number) - (b[bi + 1] as number));
}

/** a · small, for 0 ≤ small < 2^20. */
export function multiplySmall(out: Words, at: number, a: Words, ai: number, small: number): void {
  reduceSum(out, at, (a[ai] as number) * small, (a[ai + 1] as number) * small);
}

export function multiply(out: Words, at: number, a: Words, ai: number, b: Words, bi: number): void {
  const aLow = a[ai] as number;
  const aHigh = a[ai + 1] as number;
  const bLow = b[bi] as number;
  const bHigh = b[bi + 1] as number;
  const low0 = Math.imul(aLow, bLow) >>> 0;
  const high0 = ((aLow * bLow - low0) * PER_TWO_32 + 0.5) >>> 0;
  const low1 = Math.imul(aLow, bHigh) >>> 0;
  const high1 = ((aLow * bHigh - low1) * PER_TWO_32 + 0.5) >>> 0;
  const low2 = Math.imul(aHigh, bLow) >>> 0;
  const high2 = ((aHigh * bLow - low2) * PER_TWO_32 + 0.5) >>> 0;
  const low3 = Math.imul(aHigh, bHigh) >>> 0;
  const high3 = ((aHigh * bHigh - low3) * PER_TWO_32 + 0.5) >>> 0;
  reduceColumns(out, at, low0, high0 + low1 + low2, high1 + high2 + low3, high3);
}

/**
 * out = Σ column_i · 2^(32 i) mod p, for columns below 2^46 that are not carried yet. 2^64 is 2^32 − 1 and 2^96 is −1
 * mod p, so columns 2 and 3 fold into the two low words.
 */
export function reduceColumns(out: Words, at: number, c0: number, c1: number, c2: number, c3: number): void {
  let low = c0 - c2 - c3;
  let high = c1 + c2;
  const carry = Math.floor(low * PER_TWO_32);
  low -= carry * TWO_32;
  high += carry;
  if (high >= 0 && high < MAX_WORD) {
    out[at] = low;
    out[at + 1] = high;
    return;
  }
  reduceSum(out, at, low, high);
}

export function fromBigInt(out: Words, at: number, value: bigint): void {
  const canonical = ((value % P) + P) % P;
  out[at] = Number(canonical & 0xffff_ffffn);
  out[at + 1] = Number(canonical >> 32n);
}

/** From a non-negative safe integer, which is always below p. */
export function fromInteger(out: Words, at: number, value: number): void {
  const high = Math.floor(value * PER_TWO_32);
  out[at] = value - high * TWO_32;
  out[at + 1] = high;
}

/** @testonly One field element, for the reference arithmetic. */
export function toBigInt(a: Words, ai: number): bigint {
  return (BigInt(a[ai + 1] as number) << 32n) | BigInt(a[ai] as number);
}

/** `"1"`. */
const ONE_DIGIT = 49;

/** a^exponent; not for the hot path. */
export function power(out: Words, at: number, a: Words, ai: number, exponent: bigint): void {
  const base = a.slice(ai, ai + 2);
  const result = new Uint32Array([1, 0]);
  const bits = exponent.toString(2);
  for (let index = 0; index < bits.length; index++) {
    multiply(result, 0, result, 0, result, 0);
    if (bits.charCodeAt(index) === ONE_DIGIT) multiply(result, 0, result, 0, base, 0);
  }
  out.set(result, at);
}

/** 0 for 0. */
export function invert(out: Words, at: number, a: Words, ai: number): void {
  power(out, at, a, ai, P - 2n);
}

const TWO_ADICITY = 32;
const ODD_PART = (P - 1n) >> BigInt(TWO_ADICITY);
/** 7^((p−1)/2^32): of order 2^32, as 7 is no square. */
const ROOT_OF_UNITY = 1_753_635_133_440_165_772n;

/** Tonelli–Shanks; false when `a` is no square. */
export function squareRoot(out: Words, at: number, a: Words, ai: number): boolean {
  if (a[ai] === 0 && a[ai + 1] === 0) {
    out.fill(0, at, at + 2);
    return true;
  }
  // With h = a^((ODD − 1) / 2): a·h is a root up to a root of unity, and a·h² that root's square.
  const root = new Uint32Array(2);
  const rest = new Uint32Array(2);
  const probe = new Uint32Array(2);
  power(root, 0, a, ai, (ODD_PART - 1n) >> 1n);
  multiply(rest, 0, root, 0, root, 0);
  multiply(rest, 0, rest, 0, a, ai);
  multiply(root, 0, root, 0, a, ai);
  const factor = new Uint32Array(2);
  fromBigInt(factor, 0, ROOT_OF_UNITY);
  // Invariant: root² = a · rest, and factor has order 2^order.
  for (let order = TWO_ADICITY; !isOne(rest); ) {
    let exponent = 0;
    for (probe.set(rest); !isOne(probe); multiply(probe, 0, probe, 0, probe, 0)) exponent++;
    // Of full order: no square.
    if (exponent === TWO_ADICITY) return false;
    for (; order > exponent + 1; order--) multiply(factor, 0, factor, 0, factor, 0);
    multiply(root, 0, root, 0, factor, 0);
    multiply(factor, 0, factor, 0, factor, 0);
    order = exponent;
    multiply(rest, 0, rest, 0, factor, 0);
  }
  out.set(root, at);
  return true;
}

function isOne(a: Words): boolean {
  return a[0] === 1 && a[1] === 0;
}
