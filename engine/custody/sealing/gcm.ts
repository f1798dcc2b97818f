/**
 * AES-256-GCM over secrets: 96-bit IV, 128-bit tag. What is opened lies in a secret buffer of the caller's, and what
 * Node made on the way is written over.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { secretBuffer } from "./secret-bytes.js";

const CIPHER = "aes-256-gcm";
export const GCM_KEY_BYTES = 32;
export const GCM_IV_BYTES = 12;
/** Explicit at every cipher: without it the decipher accepts a tag of four bytes. */
export const GCM_TAG_BYTES = 16;

/**
 * Node decrypts into a native buffer one byte longer than the result, copies it and frees it as it is. So a secret is
 * opened in pieces for which the allocator keeps exact free lists (glibc: up to 1,032 bytes), and after each a cipher
 * that means nothing runs over as many bytes: it gets the same memory and writes over it.
 */
const PIECE_BYTES = 1_000;
const SCRUB_CIPHER = "aes-128-ctr";
const SCRUB_KEY = Buffer.alloc(16);
const SCRUB_IV = Buffer.alloc(16);

/** The authenticated data, the IV, and where ciphertext and tag are (opening) or go to (sealing). */
export interface GcmParts {
  readonly iv: Uint8Array;
  readonly data: Uint8Array;
  /** As long as the plaintext. */
  readonly ciphertext: Uint8Array;
  readonly tag: Uint8Array;
}

/** One key and IV seal one plaintext. */
export function gcmSeal(key: Uint8Array, { iv, data, ciphertext, tag }: GcmParts, plaintext: Uint8Array): void {
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: GCM_TAG_BYTES });
  cipher.setAAD(data);
  ciphertext.set(cipher.update(plaintext));
  // GCM is a stream: `final` adds no byte, it makes the tag and frees the native key schedule.
  cipher.final();
  tag.set(cipher.getAuthTag());
}

/** Returns a secret buffer that the caller wipes; null where a byte was changed, or key, IV or data are others. */
export function gcmOpen(key: Uint8Array, { iv, data, ciphertext, tag }: GcmParts): Buffer | null {
  const scrubber = createCipheriv(SCRUB_CIPHER, SCRUB_KEY, SCRUB_IV);
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: GCM_TAG_BYTES });
  decipher.setAAD(data);
  decipher.setAuthTag(tag);
  const plaintext = secretBuffer(ciphertext.byteLength);
  for (let at = 0; at < ciphertext.byteLength; at += PIECE_BYTES) {
    const piece = ciphertext.subarray(at, at + PIECE_BYTES);
    const opened = decipher.update(piece);
    opened.copy(plaintext, at);
    opened.fill(0);
    scrubber.update(piece);
  }
  try {
    decipher.final();
  } catch {
    // What was decrypted before the tag was checked is nobody's. The cause says nothing more and is left out.
    plaintext.fill(0);
    return null;
  }
  return plaintext;
}
