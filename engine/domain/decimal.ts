// hot path
/**
 * The one number module. Decimal text lives at the edges, integers inside: a number with `decimals`
 * places is the integer value × 10^decimals (`"0.25"` with 3 decimals is 250). `decimals` may be
 * negative: with -3 the integer counts thousands.
 *
 * Nothing here goes through a binary fraction, so parse ∘ print is the identity. Grammar of plain
 * text: `-?digits[.digits]`, at most MAX_DECIMAL_CHARS; no plus sign, exponent, blank, separator or
 * lone dot. Digits finer than `decimals` are refused unless they are zeros; nothing is rounded
 * unless the call names a direction. Imports nothing.
 */

/**
 * What the allocation-free parsers return for malformed, too fine or too large text. Every sum with it is NaN too: test
 * with Number.isNaN.
 */
export const BAD_NUMBER = Number.NaN;

/** Longer text is refused unread: no venue prints a price or size nearly as long. */
export const MAX_DECIMAL_CHARS = 64;

/** Scales beyond this are refused when instruments load; 10^22 is the last power of ten a double holds exactly. */
export const MAX_ABS_DECIMALS = 22;

/** `halfUp`: to the nearest integer; a tie goes toward +∞. */
export type Rounding = "floor" | "ceil" | "halfUp";

const MAX_SAFE = Number.MAX_SAFE_INTEGER;
const ZERO = 48;
const MINUS = 45;

const POW10: Float64Array = Float64Array.from({ length: MAX_ABS_DECIMALS + 1 }, (_, exponent) =>
  Number(`1e${exponent}`),
);
const POW10_BIG: readonly bigint[] = Array.from({ length: 129 }, (_, exponent) => 10n ** BigInt(exponent));

/** Returns 10^exponent as an exact double; BAD_NUMBER outside 0…22. */
export function pow10(exponent: number): number {
  const power = POW10[exponent];
  return power === undefined ? BAD_NUMBER : power;
}

/** Returns 10^exponent for exponent ≥ 0. */
export function pow10Big(exponent: number): bigint {
  return POW10_BIG[exponent] ?? 10n ** BigInt(exponent);
}

// ---------------------------------------------------------------- parsing

/**
 * Exact parse into a safe integer, without allocation. BAD_NUMBER if the text is malformed, has
 * non-zero digits finer than `decimals`, or leaves the safe range.
 */
export function parseScaled(text: string, decimals: number): number {
  return parseDigits(text, decimals, REFUSE_FINER);
}

/**
 * Like parseScaled, but digits finer than `decimals` are rounded down (toward -∞) or up (toward +∞) instead of refused:
 * for reference values, such as a mark price, that a venue prints finer than its tick.
 */
export function parseScaledRounded(text: string, decimals: number, rounding: "floor" | "ceil"): number {
  return parseDigits(text, decimals, rounding === "floor" ? FLOOR_FINER : CEIL_FINER);
}

const REFUSE_FINER = 0;
const FLOOR_FINER = 1;
const CEIL_FINER = 2;

function parseDigits(text: string, decimals: number, finer: number): number {
  const length = text.length;
  if (length === 0 || length > MAX_DECIMAL_CHARS) return BAD_NUMBER;
  const start = text.charCodeAt(0) === MINUS ? 1 : 0;
  const point = text.indexOf(".");
  const integerEnd = point < 0 ? length : point;
  if (integerEnd === start || point === length - 1) return BAD_NUMBER;
  // With negative decimals the last integer digits lie below one unit, as do fraction digits past `decimals`.
  const keptEnd =
    decimals < 0
      ? integerEnd + decimals
      : decimals === 0 || point < 0
        ? integerEnd
        : Math.min(length, point + 1 + decimals);
  let value = 0;
  let inexact = false;
  for (let index = start; index < length; index++) {
    if (index === point) continue;
    const digit = text.charCodeAt(index) - ZERO;
    if (digit < 0 || digit > 9) return BAD_NUMBER;
    if (index < keptEnd) {
      value = value * 10 + digit;
      if (value > MAX_SAFE) return BAD_NUMBER;
    } else if (digit !== 0) inexact = true;
  }
  if (decimals > 0 && value !== 0) {
    const fractionDigits = point < 0 ? 0 : keptEnd - point - 1;
    if (fractionDigits < decimals) {
      value *= pow10(decimals - fractionDigits);
      // Also catches the BAD_NUMBER of a scale outside the allowed range.
      if (!(value <= MAX_SAFE)) return BAD_NUMBER;
    }
  }
  if (inexact) {
    if (finer === REFUSE_FINER) return BAD_NUMBER;
    // Away from zero: up for a positive value, down for a negative one.
    if ((finer === CEIL_FINER) === (start === 0)) value++;
    if (value > MAX_SAFE) return BAD_NUMBER;
  }
  return start === 1 && value !== 0 ? -value : value;
}

/** Reports whether the text is plain decimal text by the grammar above. */
export function isPlainDecimal(text: string): boolean {
  const length = text.length;
  if (length === 0 || length > MAX_DECIMAL_CHARS) return false;
  let index = text.charCodeAt(0) === MINUS ? 1 : 0;
  let digitsInRun = 0;
  let points = 0;
  for (; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code >= ZERO && code <= ZERO + 9) {
      digitsInRun++;
    } else if (code === 46 && digitsInRun > 0 && points === 0) {
      points = 1;
      digitsInRun = 0;
    } else return false;
  }
  return digitsInRun > 0;
}

/** Counts the significant decimal places of plain text, without trailing zeros: 2 for `"0.250"`, 0 for `"12"`. */
export function decimalPlaces(text: string): number {
  const point = text.indexOf(".");
  if (point < 0) return 0;
  let end = text.length;
  while (end > point + 1 && text.charCodeAt(end - 1) === ZERO) end--;
  return end - point - 1;
}

export type ParseProblem = "malformed" | "tooFine" | "tooLarge";
export type ParseResult =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly problem: ParseProblem };

/** Like parseScaled, for the edges of the program: names what is wrong, so that the caller can be shown it. */
export function parseScaledStrict(text: string, decimals: number): ParseResult {
  const value = parseScaled(text, decimals);
  if (!Number.isNaN(value)) return { ok: true, value };
  if (!isPlainDecimal(text)) return { ok: false, problem: "malformed" };
  return { ok: false, problem: parseScaledBig(text, decimals) === null ? "tooFine" : "tooLarge" };
}

/** Exact parse into a bigint of any size; null if malformed or finer than `decimals`. */
export function parseScaledBig(text: string, decimals: number): bigint | null {
  if (!isPlainDecimal(text)) return null;
  const places = Math.max(decimals, decimalPlaces(text));
  const scaled = parseScaledBigUnchecked(text, places);
  const divisor = pow10Big(places - decimals);
  return scaled % divisor === 0n ? scaled / divisor : null;
}

/** Text must be plain and have at most `places` significant decimal places, places ≥ 0. */
function parseScaledBigUnchecked(text: string, places: number): bigint {
  const fraction = decimalPlaces(text);
  const point = text.indexOf(".");
  const digits = point < 0 ? text : text.slice(0, point) + text.slice(point + 1, point + 1 + fraction);
  return BigInt(digits) * pow10Big(Math.max(0, places) - fraction) * (places < 0 ? 0n : 1n);
}

const SCIENTIFIC = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,3})$/;

/**
 * Returns plain text for a number that a venue printed in plain or scientific form (`1e-05`, `1.7E-4`). Returns null if
 * it is neither, or longer than MAX_DECIMAL_CHARS when written out. For venue payloads only: callers of our own API
 * must send plain text.
 */
export function plainFromVenueNumber(text: string): string | null {
  if (isPlainDecimal(text)) return text;
  if (text.length > MAX_DECIMAL_CHARS) return null;
  const match = SCIENTIFIC.exec(text);
  if (match === null) return null;
  const [, sign = "", integer = "", fraction = "", exponentText = "0"] = match;
  const places = fraction.length - Number(exponentText);
  if (Math.abs(places) > MAX_DECIMAL_CHARS) return null;
  const plain = formatScaledBig(BigInt(`${sign}${integer}${fraction}`), places);
  return plain.length > MAX_DECIMAL_CHARS ? null : plain;
}

// ---------------------------------------------------------------- printing

/** Plain decimal text without trailing zeros; `value` must be a safe integer. */
export function formatScaled(value: number, decimals: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError("formatScaled needs a safe integer");
  return formatDigits(value < 0 ? "-" : "", String(Math.abs(value)), decimals);
}

/** Plain decimal text without trailing zeros. */
export function formatScaledBig(value: bigint, decimals: number): string {
  return formatDigits(value < 0n ? "-" : "", String(value < 0n ? -value : value), decimals);
}

function formatDigits(sign: string, digits: string, decimals: number): string {
  if (digits === "0") return "0";
  if (decimals <= 0) return sign + digits + "0".repeat(-decimals);
  const padded = digits.length > decimals ? digits : digits.padStart(decimals + 1, "0");
  const pointAt = padded.length - decimals;
  let end = padded.length;
  while (end > pointAt && padded.charCodeAt(end - 1) === ZERO) end--;
  const integer = sign + padded.slice(0, pointAt);
  return end === pointAt ? integer : `${integer}.${padded.slice(pointAt, end)}`;
}

// ---------------------------------------------------------------- arithmetic

/** `text` × 10^exponent; null for what is no plain decimal, as a figure that the venue has not sent. */
export function scaleText(text: string, exponent: number): string | null {
  if (!isPlainDecimal(text)) return null;
  const places = decimalPlaces(text);
  const scaled = parseScaledBig(text, places);
  return scaled === null ? null : formatScaledBig(scaled, places - exponent);
}

/** numerator / denominator to an integer in the stated direction. */
export function divideBig(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  if (denominator < 0n) return divideBig(-numerator, -denominator, rounding);
  if (rounding === "halfUp") return divideBig(2n * numerator + denominator, 2n * denominator, "floor");
  const quotient = numerator / denominator;
  const remainder = numerator % denominator;
  if (remainder === 0n) return quotient;
  if (rounding === "floor") return numerator < 0n ? quotient - 1n : quotient;
  return numerator < 0n ? quotient : quotient + 1n;
}

/** Returns BAD_NUMBER outside the safe range. */
export function toSafeNumber(value: bigint): number {
  return value > 9_007_199_254_740_991n || value < -9_007_199_254_740_991n ? BAD_NUMBER : Number(value);
}

/**
 * Returns the same value at another scale, rounded as stated; BAD_NUMBER if it leaves the safe range. Allocates
 * nothing.
 */
export function rescale(value: number, fromDecimals: number, toDecimals: number, rounding: "floor" | "ceil"): number {
  if (toDecimals >= fromDecimals) {
    const scaled = value === 0 ? 0 : value * pow10(toDecimals - fromDecimals);
    return Math.abs(scaled) <= MAX_SAFE ? scaled : BAD_NUMBER;
  }
  const divisor = pow10(fromDecimals - toDecimals);
  // With |value| < 10^16 ≤ divisor only a fraction is left; otherwise % of two exact integers is exact.
  const remainder = value % divisor;
  const quotient = (value - remainder) / divisor + 0;
  if (remainder === 0) return quotient;
  if (Number.isNaN(remainder)) return BAD_NUMBER;
  if (rounding === "floor") return value < 0 ? quotient - 1 : quotient;
  return value < 0 ? quotient : quotient + 1;
}

/** Returns the product where it is a safe integer, else BAD_NUMBER. */
export function multiplySafe(left: number, right: number): number {
  const product = left * right;
  return Math.abs(product) <= MAX_SAFE ? product + 0 : BAD_NUMBER;
}

/**
 * Returns a × b / c rounded as stated, exactly, for safe integers a, b ≥ 0 and c > 0; BAD_NUMBER if the result leaves
 * the safe range. Allocates (bigint) only when a × b leaves it.
 */
export function multiplyDivide(a: number, b: number, c: number, rounding: Rounding): number {
  const product = a * b;
  if (product <= MAX_SAFE) {
    const remainder = product % c;
    const quotient = (product - remainder) / c;
    if (remainder === 0) return quotient;
    if (rounding === "floor") return quotient;
    if (rounding === "ceil") return quotient + 1;
    return remainder >= c - remainder ? quotient + 1 : quotient;
  }
  if (Number.isNaN(product)) return BAD_NUMBER;
  return toSafeNumber(divideBig(BigInt(a) * BigInt(b), BigInt(c), rounding));
}

/** Compares two plain decimal texts: -1, 0 or 1. Throws RangeError on malformed text. */
export function compareDecimals(left: string, right: string): -1 | 0 | 1 {
  if (!isPlainDecimal(left) || !isPlainDecimal(right)) throw new RangeError("compareDecimals needs plain decimal text");
  const places = Math.max(decimalPlaces(left), decimalPlaces(right));
  const a = parseScaledBigUnchecked(left, places);
  const b = parseScaledBigUnchecked(right, places);
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * For loading instruments: checks that `largest` (plain text, e.g. the highest price to expect) fits the safe range
 * with `decimals` places. Throws RangeError naming `what`.
 */
export function assertSafeRange(what: string, largest: string, decimals: number): void {
  if (!Number.isInteger(decimals) || Math.abs(decimals) > MAX_ABS_DECIMALS) {
    throw new RangeError(`${what}: ${decimals} decimals are outside ±${MAX_ABS_DECIMALS}`);
  }
  if (!isPlainDecimal(largest)) throw new RangeError(`${what}: not a plain decimal`);
  if (Number.isNaN(parseScaledRounded(largest, decimals, "ceil"))) {
    throw new RangeError(`${what}: ${largest} with ${decimals} decimals leaves the safe integer range`);
  }
}
