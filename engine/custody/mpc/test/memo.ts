/**
 * Runs of one seed repeat the same products of points. Tests that make hundreds of keys keep them, and have the native
 * library make them, so that a key costs a tenth; what is tested there is the order of messages and rows, not the
 * arithmetic. In the long form (MPC_RUNS) the products are our own.
 */
import { createRequire } from "node:module";
import { secp256k1 } from "@noble/curves/secp256k1";
import { SCALAR_BYTES } from "../base/parameters.js";
import type { Point } from "../base/point.js";

const native = createRequire(import.meta.url)("secp256k1") as typeof import("secp256k1");

type Given = bigint | number | string | Uint8Array | Point;

type PointModule = typeof import("../base/point.js");

/** For `vi.mock` of base/point.js. */
export function memoizedPoints(point: PointModule): PointModule {
  const { baseTimes, secretTimes } = process.env["MPC_RUNS"] === undefined ? nativeProducts(point) : point;
  const { publicTimes, decodePoints } = point;
  return {
    ...point,
    ...{ baseTimes: memoized(baseTimes), secretTimes: memoized(secretTimes) },
    ...{ publicTimes: memoized(publicTimes), decodePoints: memoized(decodePoints) },
  };
}

/** The same points; zero and the identity, which the library refuses, stay with our own. */
function nativeProducts(point: PointModule): Pick<PointModule, "baseTimes" | "secretTimes"> {
  return {
    baseTimes: (scalar) =>
      scalar === 0n ? point.baseTimes(scalar) : pointOf(native.publicKeyCreate(bytesOf(scalar), false)),
    secretTimes: (factor, scalar) =>
      scalar === 0n || point.isIdentity(factor)
        ? point.secretTimes(factor, scalar)
        : pointOf(native.publicKeyTweakMul(factor.toRawBytes(false), bytesOf(scalar), false)),
  };
}

function bytesOf(scalar: bigint): Uint8Array {
  return Buffer.from(scalar.toString(16).padStart(2 * SCALAR_BYTES, "0"), "hex");
}

/** Of 65 bytes. */
function pointOf(bytes: Uint8Array): Point {
  const coordinate = (from: number) => BigInt(`0x${Buffer.from(bytes).toString("hex", from, from + SCALAR_BYTES)}`);
  return secp256k1.ProjectivePoint.fromAffine({ x: coordinate(1), y: coordinate(1 + SCALAR_BYTES) });
}

function memoized<Arguments extends readonly Given[], Result>(
  times: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const known = new Map<string, Result>();
  return (...given) => {
    const key = given.map(textOf).join(":");
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = times(...given);
    known.set(key, made);
    return made;
  };
}

function textOf(given: Given): string {
  if (given instanceof Uint8Array) return Buffer.from(given).toString("base64");
  return typeof given === "object" ? `${given.px}/${given.py}/${given.pz}` : String(given);
}
