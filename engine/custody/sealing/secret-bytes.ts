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
