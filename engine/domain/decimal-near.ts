/**
 * Prints values that are known as a double and a bound on its error. Each function returns what the exact value rounds
 * to, or null where the error allows more than one result (exact arithmetic then decides). So a text that is returned
 * is the exact one.
 */
import { formatScaled, pow10 } from "./decimal.js";

/** Covers the roundings made here: a product, a sum and a difference, each at most 2^-53 of the scaled value. */
const OWN_ERROR = 2 ** -50;

/** Equals `formatRatio(exact, places, "halfUp")` for |exact − value| ≤ error; null where that is not certain. */
export function printNear(value: number, error: number, places: number): string | null {
  const scale = pow10(places);
  const scaled = value * scale;
  const rounded = Math.floor(scaled + 0.5);
  const slack = error * scale + Math.abs(scaled) * OWN_ERROR;
  // The value must lie strictly inside the half-open interval that rounds to `rounded`; NaN and values beyond 2^49 fail
  // too.
  if (!(scaled - (rounded - 0.5) > slack && rounded + 0.5 - scaled > slack)) return null;
  return formatScaled(rounded, places);
}

/** Equals `magnitude(exact)` for |exact − value| ≤ error; NaN where that is not certain. */
export function magnitudeNear(value: number, error: number): number {
  const size = Math.abs(value);
  const exponent = Math.floor(Math.log10(size));
  const low = exponent >= 0 ? pow10(exponent) : 1 / pow10(-exponent);
  const slack = error + size * OWN_ERROR;
  return size - slack > low && size + slack < low * 10 ? exponent : Number.NaN;
}
