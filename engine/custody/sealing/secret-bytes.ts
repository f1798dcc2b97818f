/** Buffers for keys and secrets, and the randomness that fills them. */
import { randomFillSync } from "node:crypto";

/**
 * Zeros at an address that stays. Of up to 64 bytes `Buffer.alloc` may lie in the heap of the engine, whose collector
 * moves it and leaves a copy that no `fill` reaches; a slice of the pool shares its memory with others.
 */
export function secretBuffer(byteLength: number): Buffer {
  return Buffer.from(new ArrayBuffer(byteLength));
}

/** Fills the caller's buffer, so that no second copy of a key exists. */
export type SecretRandom = (target: Uint8Array) => void;

export const systemSecretRandom: SecretRandom = (target) => {
  randomFillSync(target);
};

/** Hex digits to bytes, in buffers: text cannot be wiped. False: other lengths, or a digit that is none. */
export function readHexInto(digits: Uint8Array, target: Uint8Array): boolean {
  if (digits.byteLength !== target.byteLength * 2) return false;
  for (let at = 0; at < target.byteLength; at++) {
    const high = hexValue(digits[2 * at] ?? 0);
    const low = hexValue(digits[2 * at + 1] ?? 0);
    if (high === -1 || low === -1) return false;
    target[at] = (high << 4) | low;
  }
  return true;
}

function hexValue(digit: number): number {
  if (digit >= 0x30 && digit <= 0x39) return digit - 0x30;
  const lower = digit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}
