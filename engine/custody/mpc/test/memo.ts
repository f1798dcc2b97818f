/**
 * Runs of one seed repeat the same products of points. Tests that make hundreds of keys keep them, so that a key costs
 * a tenth; what is tested there is the order of messages and rows, not the arithmetic.
 */
import type { Point } from "../base/point.js";

type Given = bigint | number | string | Uint8Array | Point;

type PointModule = typeof import("../base/point.js");

/** For `vi.mock` of base/point.js. */
export function memoizedPoints(point: PointModule): PointModule {
  const { baseTimes, secretTimes, publicTimes, decodePoints } = point;
  return {
    ...point,
    ...{ baseTimes: memoized(baseTimes), secretTimes: memoized(secretTimes) },
    ...{ publicTimes: memoized(publicTimes), decodePoints: memoized(decodePoints) },
  };
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
