/** Randomness for keys and IVs, written into the caller's buffer so that no second copy of a key exists. */
import { randomFillSync } from "node:crypto";

export type SecretRandom = (target: Uint8Array) => void;

export const systemSecretRandom: SecretRandom = (target) => {
  randomFillSync(target);
};
