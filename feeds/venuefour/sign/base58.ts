/** Base58 with the Bitcoin alphabet, as this venue writes keys, addresses and signatures. Exact in both directions. */

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const VALUES: ReadonlyMap<string, number> = new Map([...ALPHABET].map((letter, value) => [letter, value]));
/** A 64-byte value takes at most 88 letters; longer texts are refused before any work. */
const MAX_CHARS = 128;

export function encodeBase58(bytes: Uint8Array): string {
  // Little-endian base-58 digits.
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let index = 0; index < digits.length; index++) {
      carry += (digits[index] ?? 0) * 256;
      digits[index] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    for (; carry > 0; carry = Math.floor(carry / 58)) digits.push(carry % 58);
  }
  const letters = digits.reverse().map((digit) => ALPHABET[digit] ?? "");
  return "1".repeat(leadingCount(bytes, 0)) + letters.join("");
}

/** Null for a letter outside the alphabet, an empty text, or one that is too long. */
export function decodeBase58(text: string): Uint8Array | null {
  if (text.length === 0 || text.length > MAX_CHARS) return null;
  // Little-endian bytes.
  const bytes: number[] = [];
  const values: number[] = [];
  for (const letter of text) {
    const value = VALUES.get(letter);
    if (value === undefined) return null;
    values.push(value);
    let carry = value;
    for (let index = 0; index < bytes.length; index++) {
      carry += (bytes[index] ?? 0) * 58;
      bytes[index] = carry & 0xff;
      carry >>= 8;
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 0xff);
  }
  const zeros = leadingCount(values, 0);
  const decoded = new Uint8Array(zeros + bytes.length);
  for (const [index, byte] of bytes.entries()) decoded[decoded.length - 1 - index] = byte;
  return decoded;
}

function leadingCount(values: ArrayLike<number>, value: number): number {
  let count = 0;
  while (count < values.length && values[count] === value) count++;
  return count;
}
