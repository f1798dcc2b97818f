// hot path
/**
 * The group of ECgFp5 (fact sheet 8.3): classes of points of y² = x(x² + 2x + b), b = 263·X, of prime order, in
 * fractional coordinates x = X/Z, u = x/y = U/T. The formulas are complete: no special cases, the neutral included.
 *
 * Multiples of the generator come from a table of signed windows; the look-up depends on the scalar, so time may reveal
 * something of it to who shares this machine. Keys and nonces are this process's own, and no caller can time one
 * multiplication: the pool of nonces is filled beside the orders.
 */
import {
  add,
  equals,
  fromBytes,
  invert,
  isSquare,
  isZero,
  multiply,
  multiplySmall,
  negate,
  QUINTIC_WORDS,
  quintic,
  square,
  squareRoot,
  subtract,
  toBytes,
} from "./quintic.js";
import { multiplySmall as multiplySmallBase, type Words } from "./goldilocks.js";

/** Order of the group: prime, just under 2^319. */
export const ORDER =
  1_067_993_516_717_146_951_041_484_916_571_792_702_745_057_740_581_727_230_159_139_685_185_762_082_554_198_619_328_292_418_486_241n;

const B_FACTOR = 263;

export interface Point {
  readonly x: Words;
  readonly z: Words;
  readonly u: Words;
  readonly t: Words;
}

/** z = t = 1. */
interface AffinePoint {
  readonly x: Words;
  readonly u: Words;
}

const element = (): Words => new Uint32Array(QUINTIC_WORDS);
const ONE = quintic(1n);
const TWO = quintic(2n);

export function neutral(): Point {
  return { x: element(), z: quintic(1n), u: element(), t: quintic(1n) };
}

export function generator(): Point {
  return {
    x: quintic(
      12_883_135_586_176_881_569n,
      4_356_519_642_755_055_268n,
      5_248_930_565_894_896_907n,
      2_165_973_894_480_315_022n,
      2_448_410_071_095_648_785n,
    ),
    z: quintic(1n),
    u: quintic(1n),
    t: quintic(4n),
  };
}

/** out = b·a: a rotation of the coefficients, the wrapped one three times. `out` is not `a`. */
function multiplyByB(out: Words, a: Words): void {
  multiplySmallBase(out, 0, a, 8, 3 * B_FACTOR);
  for (let at = 2; at < QUINTIC_WORDS; at += 2) multiplySmallBase(out, at, a, at - 2, B_FACTOR);
}

const t1 = element();
const t3 = element();
const t5 = element();
const t6 = element();
const t7 = element();
const t8 = element();
const t9 = element();
const t10 = element();
const bt2 = element();
const s = element();

/** out = a ⊕ b. `out` may be either. */
export function addPoints(out: Point, a: Point, b: Point): void {
  const t2 = element();
  const t4 = element();
  multiply(t1, a.x, b.x);
  multiply(t2, a.z, b.z);
  multiply(t3, a.u, b.u);
  multiply(t4, a.t, b.t);
  add(t5, a.x, a.z);
  add(s, b.x, b.z);
  multiply(t5, t5, s);
  subtract(t5, t5, t1);
  subtract(t5, t5, t2);
  add(t6, a.u, a.t);
  add(s, b.u, b.t);
  multiply(t6, t6, s);
  subtract(t6, t6, t3);
  subtract(t6, t6, t4);
  finishAddition(out, t2, t4);
}

/** out = a ⊕ b for b with z = t = 1, which spares four products. */
function addAffine(out: Point, a: Point, b: AffinePoint): void {
  multiply(t1, a.x, b.x);
  multiply(t3, a.u, b.u);
  multiply(t5, a.z, b.x);
  add(t5, t5, a.x);
  multiply(t6, a.t, b.u);
  add(t6, t6, a.u);
  finishAddition(out, a.z, a.t);
}

/** The second half of the addition law. `t2` and `t4` may belong to `out`. */
function finishAddition(out: Point, t2: Words, t4: Words): void {
  multiplyByB(bt2, t2);
  add(t7, t1, bt2);
  multiply(t8, t4, t7);
  multiplyByB(s, t5);
  add(s, s, t7);
  multiplySmall(s, s, 2);
  multiply(t9, t3, s);
  multiplySmall(s, t3, 2);
  add(s, s, t4);
  add(t10, t5, t7);
  multiply(t10, s, t10);
  subtract(s, t10, t8);
  multiplyByB(out.x, s);
  subtract(out.z, t8, t9);
  subtract(s, bt2, t1);
  multiply(out.u, t6, s);
  add(out.t, t8, t9);
}

/** Equality of classes: U1·T2 = U2·T1. */
export function equalPoints(a: Point, b: Point): boolean {
  const left = element();
  const right = element();
  multiply(left, a.u, b.t);
  multiply(right, b.u, a.t);
  return equals(left, right);
}

/** w = T/U; 0 for the neutral. */
export function encode(point: Point): Words {
  const w = element();
  invert(w, point.u);
  multiply(w, w, point.t);
  return w;
}

/** Null when no class has this encoding. */
export function decode(w: Words): Point | null {
  const e = element();
  const delta = element();
  const b4 = quintic(0n, BigInt(4 * B_FACTOR));
  multiply(e, w, w);
  subtract(e, e, TWO);
  multiply(delta, e, e);
  subtract(delta, delta, b4);
  const root = element();
  if (!squareRoot(root, delta)) return isZero(w) ? neutral() : null;
  const half = element();
  invert(half, TWO);
  const x = element();
  add(x, e, root);
  multiply(x, x, half);
  if (isSquare(x)) {
    subtract(x, e, root);
    multiply(x, x, half);
  }
  return { x, z: quintic(1n), u: quintic(1n), t: w.slice() };
}

const d1 = element();
const d2 = element();
const d3 = element();
const d4 = element();
const dz = element();
const dw = element();

/** out = a ⊕ a, in four products and five squares. `out` may be `a`. */
export function doublePoint(out: Point, a: Point): void {
  multiply(d1, a.z, a.t);
  multiply(d2, d1, a.t);
  multiply(dz, d1, a.u);
  square(d3, a.u);
  add(dw, a.x, a.z);
  multiplySmall(dw, dw, 2);
  multiply(dw, dw, d3);
  subtract(dw, d2, dw);
  square(d4, dz);
  square(out.z, dw);
  add(dz, dw, dz);
  square(dz, dz);
  subtract(dz, dz, d4);
  subtract(out.u, dz, out.z);
  multiplySmall(d4, d4, 4);
  multiplyByB(out.x, d4);
  square(d2, d2);
  multiplySmall(d2, d2, 2);
  subtract(d2, d2, d4);
  subtract(out.t, d2, out.z);
}

const WINDOW_BITS = 5;
const HALF_WINDOW = 1 << (WINDOW_BITS - 1);
/** 319 bits and a carry. */
const WINDOWS = 64;

/** Digits of the scalar under way, each in (−16, 16], lowest first: Σ digit · 32^index. */
const digits = new Int8Array(WINDOWS);

function splitScalar(scalar: bigint): void {
  let carry = 0;
  let window = 0;
  // 60 bits at a time, as doubles: a bigint is touched six times, not sixty-four.
  for (let left = scalar; window < WINDOWS; left >>= 60n) {
    let part = Number(left & 0x3fff_ffffn);
    const high = Number((left >> 30n) & 0x3fff_ffffn);
    for (let index = 0; index < 12 && window < WINDOWS; index++) {
      if (index === 6) part = high;
      let digit = (part & 31) + carry;
      part >>>= WINDOW_BITS;
      carry = digit > HALF_WINDOW ? 1 : 0;
      if (carry === 1) digit -= 2 * HALF_WINDOW;
      digits[window++] = digit;
    }
  }
}

/** scalar · point for 0 ≤ scalar < ORDER: signed windows over doublings. */
export function multiplyPoint(point: Point, scalar: bigint): Point {
  const multiples: Point[] = [];
  const running = neutral();
  for (let digit = 1; digit <= HALF_WINDOW; digit++) {
    addPoints(running, running, point);
    multiples.push(copyOf(running));
  }
  splitScalar(scalar);
  const result = neutral();
  const negative: Point = neutral();
  for (let window = WINDOWS - 1; window >= 0; window--) {
    if (window < WINDOWS - 1) for (let bit = 0; bit < WINDOW_BITS; bit++) doublePoint(result, result);
    const digit = digits[window] as number;
    if (digit === 0) continue;
    const multiple = multiples[Math.abs(digit) - 1] as Point;
    if (digit > 0) addPoints(result, result, multiple);
    else {
      negative.x.set(multiple.x);
      negative.z.set(multiple.z);
      negate(negative.u, multiple.u);
      negative.t.set(multiple.t);
      addPoints(result, result, negative);
    }
  }
  return result;
}

/** Entry [window · HALF_WINDOW + digit − 1] is digit · 2^(5·window) · point. 80 KiB; spares all doublings. */
export type PointTable = readonly AffinePoint[];

let generatorTable: PointTable | null = null;

/** scalar · G for 0 ≤ scalar < ORDER. The table is made at first use. */
export function multiplyGenerator(scalar: bigint): Point {
  generatorTable ??= makeTable(generator());
  return multiplyTable(generatorTable, scalar);
}

const negativeEntry: AffinePoint = { x: element(), u: element() };

/** scalar · point for 0 ≤ scalar < ORDER, of the point that the table was made of. */
export function multiplyTable(table: PointTable, scalar: bigint): Point {
  const result = neutral();
  splitScalar(scalar);
  for (let window = 0; window < WINDOWS; window++) {
    const digit = digits[window] as number;
    if (digit === 0) continue;
    const entry = table[window * HALF_WINDOW + Math.abs(digit) - 1] as AffinePoint;
    if (digit > 0) addAffine(result, result, entry);
    else {
      negativeEntry.x.set(entry.x);
      negate(negativeEntry.u, entry.u);
      addAffine(result, result, negativeEntry);
    }
  }
  return result;
}

/** Costs about as much as three multiplications by `multiplyPoint`. The point is not the neutral. */
export function makeTable(point: Point): PointTable {
  const points: Point[] = [];
  const base = copyOf(point);
  for (let window = 0; window < WINDOWS; window++) {
    const multiple = neutral();
    for (let digit = 1; digit <= HALF_WINDOW; digit++) {
      addPoints(multiple, multiple, base);
      points.push(copyOf(multiple));
    }
    doublePoint(base, multiple);
  }
  const inverseZ = invertAll(points.map(({ z }) => z));
  const inverseT = invertAll(points.map(({ t }) => t));
  return points.map(({ x, u }, index) => {
    const affine = { x: element(), u: element() };
    multiply(affine.x, x, inverseZ[index] as Words);
    multiply(affine.u, u, inverseT[index] as Words);
    return affine;
  });
}

function copyOf(point: Point): Point {
  return { x: point.x.slice(), z: point.z.slice(), u: point.u.slice(), t: point.t.slice() };
}

/** One inversion for all: prefix products there, inverses back. None of the values is zero. */
function invertAll(values: readonly Words[]): Words[] {
  const prefixes: Words[] = [];
  const running = ONE.slice();
  for (const value of values) {
    prefixes.push(running.slice());
    multiply(running, running, value);
  }
  invert(running, running);
  const inverses: Words[] = new Array<Words>(values.length);
  for (let index = values.length - 1; index >= 0; index--) {
    const inverse = element();
    multiply(inverse, running, prefixes[index] as Words);
    inverses[index] = inverse;
    multiply(running, running, values[index] as Words);
  }
  return inverses;
}

/** 40 bytes, little-endian, reduced into the group's order. */
export function scalarFromBytes(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let value = 0n;
  for (let at = 32; at >= 0; at -= 8) value = (value << 64n) | view.getBigUint64(at, true);
  return value >= ORDER ? value % ORDER : value;
}

/** Σ c_i · 2^(64 i) mod ORDER. */
export function scalarFromQuintic(words: Words): bigint {
  return scalarFromBytes(toBytes(words));
}

export function scalarToBytes(out: Uint8Array, at: number, scalar: bigint): void {
  const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
  let left = scalar;
  for (let index = 0; index < 5; index++) {
    view.setBigUint64(at + 8 * index, left & 0xffff_ffff_ffff_ffffn, true);
    left >>= 64n;
  }
}

/** Null when no point has this encoding. */
export function pointFromBytes(bytes: Uint8Array): Point | null {
  return decode(fromBytes(bytes));
}
