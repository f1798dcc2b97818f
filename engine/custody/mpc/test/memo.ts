/**
 * Runs of one seed repeat the same products of points. Tests that make hundreds of keys keep them, so that a key costs
 * a tenth; what is tested there is the order of messages and rows, not the arithmetic.
 */
import type { Point } from "../base/point.js";

export function memoized<Arguments extends readonly (bigint | Point)[], Result>(
  times: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const known = new Map<string, Result>();
  return (...given) => {
    const key = given.map((each) => (typeof each === "bigint" ? each : `${each.px}/${each.py}/${each.pz}`)).join(":");
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = times(...given);
    known.set(key, made);
    return made;
  };
}
