/**
 * Points of secp256k1. Received ones are decoded by length first: the library takes 65 bytes as well. The identity has
 * no encoding, and sums that may be the identity are tested before they are encoded.
 *
 * `encodePublic` may go through text inside the library; points that are secret are encoded by our own words.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import type { Arena } from "./arena.js";
import { violation } from "./outcome.js";
import { POINT_BYTES } from "./parameters.js";
import { reduced, writeWords } from "./scalar.js";

const Curve = secp256k1.ProjectivePoint;
export type Point = InstanceType<typeof Curve>;

const GENERATOR: Point = Curve.BASE;
const IDENTITY: Point = Curve.ZERO;
const ADDRESS_BYTES = 20;
const EVEN = 2;
const ODD = 3;

/** A point that both may know, with its one encoding; never the identity. */
export interface PublicPoint {
  readonly point: Point;
  readonly bytes: Buffer;
}

/** Exactly 33 bytes, first 02 or 03, x below p, on the curve; anything else is a violation. */
export function decodePoint(bytes: Uint8Array, field: string): PublicPoint {
  if (bytes.length !== POINT_BYTES || (bytes[0] !== EVEN && bytes[0] !== ODD)) throw violation(field);
  try {
    return { point: Curve.fromHex(bytes), bytes: Buffer.from(bytes) };
  } catch {
    throw violation(field);
  }
}

/** `count` points one behind the other. */
export function decodePoints(bytes: Uint8Array, count: number, field: string): PublicPoint[] {
  if (bytes.length !== count * POINT_BYTES) throw violation(field);
  return Array.from({ length: count }, (_, index) =>
    decodePoint(bytes.subarray(index * POINT_BYTES, (index + 1) * POINT_BYTES), field),
  );
}

export function isIdentity(point: Point): boolean {
  return point.equals(IDENTITY);
}

/** The identity is a fault here: who may have it tests before. */
export function encodePublic(point: Point): PublicPoint {
  if (isIdentity(point)) throw new Error("encoding of the identity");
  return { point, bytes: Buffer.from(point.toRawBytes(true)) };
}

/** Secret points in a buffer of the arena, 33 bytes each, by one shared inversion. None may be the identity. */
export function encodeSecretPoints(points: readonly Point[], arena: Arena): Buffer {
  if (points.some(isIdentity)) throw new Error("encoding of the identity");
  const target = arena.take(points.length * POINT_BYTES);
  for (const [index, normal] of Curve.normalizeZ([...points]).entries()) {
    const { x, y } = normal.toAffine();
    target[index * POINT_BYTES] = EVEN + Number(y & 1n);
    writeWords(x, target, index * POINT_BYTES + 1);
  }
  return target;
}

/** k G for a secret or public k; 0 gives the identity. */
export function baseTimes(scalar: bigint): Point {
  return scalar === 0n ? IDENTITY : GENERATOR.multiply(scalar);
}

/** k X for a secret k; 0 gives the identity. Slow, with the same additions for each k. */
export function secretTimes(point: Point, scalar: bigint): Point {
  return scalar === 0n || isIdentity(point) ? IDENTITY : point.multiply(scalar);
}

/** k X for public k: its time depends on k. */
export function publicTimes(point: Point, scalar: bigint): Point {
  return point.multiplyUnsafe(reduced(scalar));
}

export function sum(left: Point, right: Point): Point {
  return left.add(right);
}

export function difference(left: Point, right: Point): Point {
  return left.subtract(right);
}

/** Equality of points that are not the identity: the identity is unequal to anything, itself included. */
export function samePoint(left: Point, right: Point): boolean {
  const bothExist = !isIdentity(left) && !isIdentity(right);
  return left.equals(right) && bothExist;
}

/**
 * Bits of a window of the table. For some hundred products 6 costs as much in all as the library's own 8, and the table
 * itself a third: 4.5 ms, which nothing else can come between.
 */
const TABLE_BITS = 6;

/** A point whose products `secretTimes` makes quickly. The table is of a public point and dies with it. */
export function withTable(point: Point): Point {
  return secp256k1.utils.precompute(TABLE_BITS, Curve.fromAffine(point.toAffine()));
}

/** 65 bytes, for what takes keys in that form. */
export function uncompressed(point: PublicPoint): Uint8Array {
  return point.point.toRawBytes(false);
}

/** Last 20 bytes of keccak-256 of x ‖ y. */
export function addressOf(point: PublicPoint): Buffer {
  return Buffer.from(keccak_256(uncompressed(point).subarray(1)).subarray(-ADDRESS_BYTES));
}

/** For the final signature: x before reduction, and whether y is odd. */
export function coordinates(point: Point): { readonly x: bigint; readonly isOdd: boolean } {
  const { x, y } = point.toAffine();
  return { x, isOdd: (y & 1n) === 1n };
}
