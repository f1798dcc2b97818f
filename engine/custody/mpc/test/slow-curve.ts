/**
 * secp256k1 on plain BigInt, written apart from the code: nothing here imports `base` or `parts`. Slow, and not for
 * secrets.
 */
const P = 2n ** 256n - 2n ** 32n - 977n;
export const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Affine, null for the identity. */
export type SlowPoint = { readonly x: bigint; readonly y: bigint } | null;
type Jacobian = readonly [bigint, bigint, bigint];

export const G: SlowPoint = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};
const NOTHING: Jacobian = [1n, 1n, 0n];

export function modulo(value: bigint, modulus = N): bigint {
  return ((value % modulus) + modulus) % modulus;
}

export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  let square = modulo(base, modulus);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

export function slowInverse(value: bigint, modulus = N): bigint {
  return power(value, modulus - 2n, modulus);
}

function doubled([x, y, z]: Jacobian): Jacobian {
  if (z === 0n) return NOTHING;
  const yy = (y * y) % P;
  const s = (4n * x * yy) % P;
  const m = (3n * x * x) % P;
  const x3 = modulo(m * m - 2n * s, P);
  return [x3, modulo(m * (s - x3) - 8n * yy * yy, P), (2n * y * z) % P];
}

function added(left: Jacobian, right: Jacobian): Jacobian {
  const [x1, y1, z1] = left;
  const [x2, y2, z2] = right;
  if (z1 === 0n) return right;
  if (z2 === 0n) return left;
  const [zz1, zz2] = [(z1 * z1) % P, (z2 * z2) % P];
  const [u1, u2] = [(x1 * zz2) % P, (x2 * zz1) % P];
  const [s1, s2] = [(y1 * zz2 * z2) % P, (y2 * zz1 * z1) % P];
  if (u1 === u2) return s1 === s2 ? doubled(left) : NOTHING;
  const [h, r] = [u2 - u1, s2 - s1];
  const hh = (h * h) % P;
  const hhh = (h * hh) % P;
  const v = (u1 * hh) % P;
  const x3 = modulo(r * r - hhh - 2n * v, P);
  return [x3, modulo(r * (v - x3) - s1 * hhh, P), modulo(h * z1 * z2, P)];
}

function affine([x, y, z]: Jacobian): SlowPoint {
  if (z === 0n) return null;
  const inverse = slowInverse(z, P);
  return { x: (x * inverse ** 2n) % P, y: (y * inverse ** 3n) % P };
}

function jacobian(point: SlowPoint): Jacobian {
  return point === null ? NOTHING : [point.x, point.y, 1n];
}

export function times(point: SlowPoint, scalar: bigint): SlowPoint {
  let result = NOTHING;
  let twice = jacobian(point);
  for (let rest = modulo(scalar); rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = added(result, twice);
    twice = doubled(twice);
  }
  return affine(result);
}

export function plus(left: SlowPoint, right: SlowPoint): SlowPoint {
  return affine(added(jacobian(left), jacobian(right)));
}

export function minus(left: SlowPoint, right: SlowPoint): SlowPoint {
  return plus(left, right === null ? null : { x: right.x, y: P - right.y });
}

export function encoded(point: SlowPoint): Buffer {
  if (point === null) throw new Error("identity");
  return Buffer.from((point.y & 1n ? "03" : "02") + point.x.toString(16).padStart(64, "0"), "hex");
}
