/**
 * Ids of routes and quotes: prefix, 10 digits of time, 16 random digits, in Crockford's base 32. They sort by time
 * and cannot be guessed: whoever knows one may read the execution.
 */
import type { RandomIds } from "../storage/keyed-hash.js";

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

export function mintRouteId(prefix: "rt" | "qt" | "or", nowMs: number, random: RandomIds): string {
  const hex = random.randomHex128();
  let text = `${prefix}_${timeDigits(nowMs)}`;
  // 5 bits of each byte.
  for (let index = 0; index < RANDOM_DIGITS; index++) {
    text += DIGITS[((nibble(hex, 2 * index) & 1) << 4) | nibble(hex, 2 * index + 1)] ?? "";
  }
  return text;
}

/** Of a lower-case hex digit. */
function nibble(hex: string, index: number): number {
  const code = hex.charCodeAt(index);
  return code <= 57 ? code - 48 : code - 87;
}

function timeDigits(nowMs: number): string {
  let text = "";
  let rest = Math.trunc(nowMs);
  for (let index = 0; index < TIME_DIGITS; index++) {
    text = (DIGITS[rest % 32] ?? "0") + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
