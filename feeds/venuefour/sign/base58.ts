/** Base58 with the Bitcoin alphabet, as this venue writes keys, addresses and signatures. Exact in both directions. */
import { base58 } from "@scure/base";

/** A 64-byte value takes at most 88 letters; longer texts are refused before any work. */
const MAX_CHARS = 128;

export function encodeBase58(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

/** Returns null for a letter outside the alphabet, an empty text, or one that is too long. */
export function decodeBase58(text: string): Uint8Array | null {
  if (text.length === 0 || text.length > MAX_CHARS) return null;
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}
