// hot path
/**
 * GF(p^5) = GF(p)[X] / (X^5 − 3) over the Goldilocks field (fact sheet 8.2). An element is ten words, coefficient of
 * X^0 first; `out` may be any of the inputs.
 */
import {
  add as addBase,
  fromBigInt,
  invert as invertBase,
  multiply as multiplyBase,
  multiplySmall as multiplySmallBase,
  power as powerBase,
  P,
  reduceColumns,
  squareRoot as squareRootBase,
  subtract as subtractBase,
  type Words,
} from "./goldilocks.js";

export const QUINTIC_WORDS = 10;
const DEGREE = 5;
/** 3^((p−1)/5): Frobenius multiplies the coefficient of X^i by its i-th power. */
const FIFTH_ROOT = 1_041_288_259_238_279_555n;
const PER_TWO_32 = 1 / 4_294_967_296;

export function quintic(...coefficients: readonly bigint[]): Words {
  const out = new Uint32Array(QUINTIC_WORDS);
  for (const [index, value] of coefficients.entries()) fromBigInt(out, 2 * index, value);
  return out;
}

export function add(out: Words, a: Words, b: Words): void {
  for (let at = 0; at < QUINTIC_WORDS; at += 2) addBase(out, at, a, at, b, at);
}

export function subtract(out: Words, a: Words, b: Words): void {
  for (let at = 0; at < QUINTIC_WORDS; at += 2) subtractBase(out, at, a, at, b, at);
}

const ZERO = new Uint32Array(QUINTIC_WORDS);

export function negate(out: Words, a: Words): void {
  subtract(out, ZERO, a);
}

/** a · small, for 0 ≤ small < 2^20. */
export function multiplySmall(out: Words, a: Words, small: number): void {
  for (let at = 0; at < QUINTIC_WORDS; at += 2) multiplySmallBase(out, at, a, at, small);
}

const product = new Uint32Array(QUINTIC_WORDS);

/** Schoolbook; the sums of five products are reduced once each. Columns stay below 13 · 2^34. */
export function multiply(out: Words, a: Words, b: Words): void {
  for (let power = 0; power < DEGREE; power++) {
    let c0 = 0;
    let c1 = 0;
    let c2 = 0;
    let c3 = 0;
    for (let i = 0; i < DEGREE; i++) {
      const wraps = i > power;
      const j = wraps ? power - i + DEGREE : power - i;
      // X^5 = 3.
      const factor = wraps ? 3 : 1;
      const aLow = a[2 * i] as number;
      const aHigh = a[2 * i + 1] as number;
      const bLow = b[2 * j] as number;
      const bHigh = b[2 * j + 1] as number;
      const low0 = Math.imul(aLow, bLow) >>> 0;
      const high0 = ((aLow * bLow - low0) * PER_TWO_32 + 0.5) >>> 0;
      const low1 = Math.imul(aLow, bHigh) >>> 0;
      const high1 = ((aLow * bHigh - low1) * PER_TWO_32 + 0.5) >>> 0;
      const low2 = Math.imul(aHigh, bLow) >>> 0;
      const high2 = ((aHigh * bLow - low2) * PER_TWO_32 + 0.5) >>> 0;
      const low3 = Math.imul(aHigh, bHigh) >>> 0;
      const high3 = ((aHigh * bHigh - low3) * PER_TWO_32 + 0.5) >>> 0;
      c0 += factor * low0;
      c1 += factor * (high0 + low1 + low2);
      c2 += factor * (high1 + high2 + low3);
      c3 += factor * high3;
    }
    reduceColumns(product, 2 * power, c0, c1, c2, c3);
  }
  out.set(product);
}

/** a · a, in fifteen products where a product takes twenty-five. Columns stay below 2^38. */
export function square(out: Words, a: Words): void {
  for (let power = 0; power < DEGREE; power++) {
    let c0 = 0;
    let c1 = 0;
    let c2 = 0;
    let c3 = 0;
    // Pairs i ≤ j with i + j = power or power + 5; X^5 = 3.
    for (let i = 0; i < DEGREE; i++) {
      const wraps = i > power;
      const j = wraps ? power - i + DEGREE : power - i;
      if (j < i) continue;
      const factor = (wraps ? 3 : 1) * (i === j ? 1 : 2);
      const aLow = a[2 * i] as number;
      const aHigh = a[2 * i + 1] as number;
      const bLow = a[2 * j] as number;
      const bHigh = a[2 * j + 1] as number;
      const low0 = Math.imul(aLow, bLow) >>> 0;
      const high0 = ((aLow * bLow - low0) * PER_TWO_32 + 0.5) >>> 0;
      const low1 = Math.imul(aLow, bHigh) >>> 0;
      const high1 = ((aLow * bHigh - low1) * PER_TWO_32 + 0.5) >>> 0;
      const low2 = Math.imul(aHigh, bLow) >>> 0;
      const high2 = ((aHigh * bLow - low2) * PER_TWO_32 + 0.5) >>> 0;
      const low3 = Math.imul(aHigh, bHigh) >>> 0;
      const high3 = ((aHigh * bHigh - low3) * PER_TWO_32 + 0.5) >>> 0;
      c0 += factor * low0;
      c1 += factor * (high0 + low1 + low2);
      c2 += factor * (high1 + high2 + low3);
      c3 += factor * high3;
    }
    reduceColumns(product, 2 * power, c0, c1, c2, c3);
  }
  out.set(product);
}

export function isZero(a: Words): boolean {
  for (let index = 0; index < QUINTIC_WORDS; index++) if (a[index] !== 0) return false;
  return true;
}

export function equals(a: Words, b: Words): boolean {
  for (let index = 0; index < QUINTIC_WORDS; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Powers of FIFTH_ROOT, once and twice applied. */
const FROBENIUS: readonly [Words, Words] = [frobeniusFactors(1n), frobeniusFactors(2n)];

function frobeniusFactors(times: bigint): Words {
  const root = quintic(FIFTH_ROOT);
  const out = new Uint32Array(QUINTIC_WORDS);
  for (let index = 0; index < DEGREE; index++) powerBase(out, 2 * index, root, 0, times * BigInt(index));
  return out;
}

function frobenius(out: Words, a: Words, times: 1 | 2): void {
  const factors = FROBENIUS[times - 1] as Words;
  for (let at = 0; at < QUINTIC_WORDS; at += 2) multiplyBase(out, at, a, at, factors, at);
}

/** a^(p + p² + p³ + p⁴): times a it lies in the base field. */
function conjugates(a: Words): Words {
  const first = new Uint32Array(QUINTIC_WORDS);
  const second = new Uint32Array(QUINTIC_WORDS);
  frobenius(first, a, 1);
  frobenius(second, first, 1);
  multiply(first, first, second);
  frobenius(second, first, 2);
  multiply(first, first, second);
  return first;
}

/** 0 for 0. */
export function invert(out: Words, a: Words): void {
  const rest = conjugates(a);
  const norm = new Uint32Array(QUINTIC_WORDS);
  multiply(norm, a, rest);
  invertBase(norm, 0, norm, 0);
  for (let at = 0; at < QUINTIC_WORDS; at += 2) multiplyBase(out, at, rest, at, norm, 0);
}

export function power(out: Words, a: Words, exponent: bigint): void {
  const base = a.slice();
  const result = quintic(1n);
  for (let bit = BigInt(exponent.toString(2).length) - 1n; bit >= 0n; bit--) {
    square(result, result);
    if ((exponent >> bit) & 1n) multiply(result, result, base);
  }
  out.set(result);
}

/** Euler's criterion on the norm; 0 counts as a square. */
export function isSquare(a: Words): boolean {
  const norm = conjugates(a);
  multiply(norm, norm, a);
  powerBase(norm, 0, norm, 0, (P - 1n) / 2n);
  return norm[1] === 0 && (norm[0] as number) <= 1;
}

/** Either root; false when `a` is no square. */
export function squareRoot(out: Words, a: Words): boolean {
  const d = new Uint32Array(QUINTIC_WORDS);
  const e = new Uint32Array(QUINTIC_WORDS);
  const g = new Uint32Array(QUINTIC_WORDS);
  power(d, a, (P + 1n) / 2n);
  frobenius(e, d, 2);
  multiply(e, d, e);
  frobenius(e, e, 1);
  multiply(g, e, e);
  multiply(g, g, a);
  const root = new Uint32Array(QUINTIC_WORDS);
  if (!squareRootBase(root, 0, g, 0)) return false;
  invert(e, e);
  multiply(d, root, e);
  multiply(g, d, d);
  if (!equals(g, a)) return false;
  out.set(d);
  return true;
}

/** Little-endian bytes, 8 a coefficient. Values from p up are reduced, as the venue's reference does. */
export function fromBytes(bytes: Uint8Array): Words {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new Uint32Array(QUINTIC_WORDS);
  for (let index = 0; index < DEGREE; index++) fromBigInt(out, 2 * index, view.getBigUint64(8 * index, true));
  return out;
}

export function toBytes(a: Words): Uint8Array {
  const bytes = new Uint8Array(4 * QUINTIC_WORDS);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < QUINTIC_WORDS; index++) view.setUint32(4 * index, a[index] as number, true);
  return bytes;
}
