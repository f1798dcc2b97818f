/**
 * Ids, secrets and tickets: a prefix and random digits of 62 letters. They are made in buffers, so that a secret can be
 * wiped; only the caller turns one into text, to show it.
 *
 * Invariant: a secret has at most 64 bytes, the block of SHA-256. HMAC takes a longer key's SHA-256 in its place: the
 * digest that `X-API-SECRET` is compared with would then sign.
 */
import { randomFillSync } from "node:crypto";
import { secretBuffer } from "../../engine/custody/sealing/secret-bytes.js";

/** Fills the buffer with bytes that nobody can guess. */
export type FillRandom = (target: Uint8Array) => void;

export const systemFillRandom: FillRandom = (target) => {
  randomFillSync(target);
};

const DIGITS = Buffer.from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "latin1");
/** The greatest multiple of 62 in a byte; bytes above it would make some digits more likely. */
const FAIR_BYTES = 248;
/** 62^22 > 2^128 and 62^43 > 2^256. */
const DIGITS_OF_128_BITS = 22;
const DIGITS_OF_256_BITS = 43;

export function mintKeyId(fill: FillRandom): string {
  return mint("pk_", DIGITS_OF_128_BITS, fill).toString("latin1");
}

export function mintOwnerId(fill: FillRandom): string {
  return mint("ow_", DIGITS_OF_128_BITS, fill).toString("latin1");
}

/** The caller wipes it. */
export function mintSecret(fill: FillRandom): Buffer {
  return mint("sk_", DIGITS_OF_256_BITS, fill);
}

export function mintTicket(fill: FillRandom): string {
  return mint("st_", DIGITS_OF_256_BITS, fill).toString("latin1");
}

function mint(prefix: string, digitCount: number, fill: FillRandom): Buffer {
  const text = secretBuffer(prefix.length + digitCount);
  const drawn = secretBuffer(64);
  let at = text.write(prefix, "latin1");
  while (at < text.length) {
    fill(drawn);
    for (const byte of drawn) {
      if (byte < FAIR_BYTES && at < text.length) text[at++] = DIGITS[byte % DIGITS.length] as number;
    }
  }
  drawn.fill(0);
  return text;
}
