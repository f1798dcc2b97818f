/**
 * Ids of routes and quotes: prefix, 10 digits of time, 16 random digits, in Crockford's base 32. They sort by time
 * and cannot be guessed: whoever knows one may read the execution.
 */
import type { RandomIds } from "../storage/keyed-hash.js";

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/** Reused: a text built digit by digit is a chain of pieces, which whoever writes or compares it has to join. */
const digitCodes: number[] = Array.from({ length: TIME_DIGITS + RANDOM_DIGITS }, () => 0);

export function mintRouteId(prefix: "rt" | "qt" | "or", nowMs: number, random: RandomIds): string {
  const hex = random.randomHex128();
  let rest = Math.trunc(nowMs);
  for (let index = TIME_DIGITS - 1; index >= 0; index--) {
    digitCodes[index] = codeOf(rest % 32);
    rest = Math.floor(rest / 32);
  }
  // 5 bits of each byte.
  for (let index = 0; index < RANDOM_DIGITS; index++)
    digitCodes[TIME_DIGITS + index] = codeOf(((nibble(hex, 2 * index) & 1) << 4) | nibble(hex, 2 * index + 1));
  return `${prefix}_${String.fromCharCode.apply(null, digitCodes)}`;
}

/** Of a value below 32. */
function codeOf(value: number): number {
  return DIGITS.charCodeAt(value);
}

/** Of a lower-case hex digit. */
function nibble(hex: string, index: number): number {
  const code = hex.charCodeAt(index);
  return code <= 57 ? code - 48 : code - 87;
}
