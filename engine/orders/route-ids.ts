/**
 * Ids of routes and quotes: prefix, 10 digits of time, 16 random digits, in Crockford's base 32. They sort by time
 * and cannot be guessed: whoever knows one may read the execution.
 */
import type { RandomIds } from "../storage/keyed-hash.js";

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

export function mintRouteId(prefix: "rt" | "qt", nowMs: number, random: RandomIds): string {
  // 80 of the 128 random bits, 5 per digit.
  const bits = BigInt(`0x${random.randomHex128()}`) & ((1n << 80n) - 1n);
  return `${prefix}_${base32(BigInt(Math.trunc(nowMs)), TIME_DIGITS)}${base32(bits, RANDOM_DIGITS)}`;
}

function base32(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest >>= 5n) text = (DIGITS[Number(rest & 31n)] ?? "0") + text;
  return text;
}
