/**
 * A small exact rational for reports and reference computations: numerator and denominator as
 * bigints, denominator always positive, not kept in lowest terms (values here live for one report).
 */
import { decimalPlaces, divideBig, formatScaledBig, parseScaledBig, pow10Big, type Rounding } from "./decimal.js";

export interface Ratio {
  readonly num: bigint;
  /** > 0. */
  readonly den: bigint;
}

export function ratio(num: bigint, den = 1n): Ratio {
  if (den === 0n) throw new RangeError("ratio with a zero denominator");
  return den < 0n ? { num: -num, den: -den } : { num, den };
}

/** value × 10^-decimals; decimals may be negative. */
export function ratioFromScaled(value: number | bigint, decimals: number): Ratio {
  const integer = BigInt(value);
  return decimals >= 0 ? { num: integer, den: pow10Big(decimals) } : { num: integer * pow10Big(-decimals), den: 1n };
}

/** Exact value of plain decimal text. Throws RangeError on malformed text. */
export function ratioFromText(text: string): Ratio {
  // Keeps as many places as the text has: smaller integers make all later steps cheaper.
  const places = decimalPlaces(text);
  const num = parseScaledBig(text, places);
  if (num === null) throw new RangeError("not a plain decimal");
  return { num, den: pow10Big(places) };
}

export function addRatio(left: Ratio, right: Ratio): Ratio {
  return { num: left.num * right.den + right.num * left.den, den: left.den * right.den };
}

export function subtractRatio(left: Ratio, right: Ratio): Ratio {
  return { num: left.num * right.den - right.num * left.den, den: left.den * right.den };
}

export function multiplyRatio(left: Ratio, right: Ratio): Ratio {
  return { num: left.num * right.num, den: left.den * right.den };
}

export function divideRatio(left: Ratio, right: Ratio): Ratio {
  return ratio(left.num * right.den, left.den * right.num);
}

export function absRatio(value: Ratio): Ratio {
  return value.num < 0n ? { num: -value.num, den: value.den } : value;
}

export function compareRatio(left: Ratio, right: Ratio): -1 | 0 | 1 {
  const a = left.num * right.den;
  const b = right.num * left.den;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Plain text with at most `places` decimals (places ≥ 0), no trailing zeros. */
export function formatRatio(value: Ratio, places: number, rounding: Rounding): string {
  return formatScaledBig(divideBig(value.num * pow10Big(places), value.den, rounding), places);
}

/** floor(log10(|value|)): 4 for 97357.3, -5 for 0.0000105; 0 for zero. Exact. */
export function magnitude(value: Ratio): number {
  if (value.num === 0n) return 0;
  const num = value.num < 0n ? -value.num : value.num;
  let exponent = String(num).length - String(value.den).length;
  // The digit counts give a candidate that is at most one too high.
  const below = exponent >= 0 ? num < value.den * pow10Big(exponent) : num * pow10Big(-exponent) < value.den;
  if (below) exponent--;
  return exponent;
}
