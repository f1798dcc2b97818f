/**
 * A KEK from a passphrase, through scrypt. Salt and parameters lie in the store, so they are bounded before they are
 * used: too large ones would take the machine's memory, too small ones would turn the id of the result, which may be
 * shown, into a fast test of guesses.
 */
import { scrypt } from "node:crypto";
import { keyRefused } from "./key-refused.js";
import type { SecretRandom } from "./secret-bytes.js";

export interface ScryptParameters {
  /** N = 2^log2N. */
  readonly log2N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
}

/** Cost of new keys, and the least that the store may ask for. */
export interface ScryptPolicy {
  readonly newLog2N: number;
  readonly minLog2N: number;
}

/** N = 2^17 with r = 8 takes 128 MiB and about a third of a second. */
export const SCRYPT_POLICY: ScryptPolicy = { newLog2N: 17, minLog2N: 17 };

const BLOCK_SIZE = 8;
const PARALLEL = 1;
/** 256 MiB. */
const MAX_LOG2N = 18;
const MAX_PARALLEL = 4;
const SALT_BYTES = 32;
const KEY_BYTES = 32;

/** In UTF-8. A bound against typing errors; the strength of the passphrase is its owner's. */
export const MIN_PASSPHRASE_BYTES = 12;
export const MAX_PASSPHRASE_BYTES = 1_024;

export function newScryptParameters(policy: ScryptPolicy, random: SecretRandom): ScryptParameters {
  const salt = Buffer.alloc(SALT_BYTES);
  random(salt);
  return { log2N: policy.newLog2N, r: BLOCK_SIZE, p: PARALLEL, salt };
}

/** Whether parameters of the store may be used. */
export function areBounded(parameters: ScryptParameters, policy: ScryptPolicy): boolean {
  const { log2N, r, p, salt } = parameters;
  return (
    Number.isInteger(log2N) &&
    log2N >= policy.minLog2N &&
    log2N <= MAX_LOG2N &&
    r === BLOCK_SIZE &&
    Number.isInteger(p) &&
    p >= 1 &&
    p <= MAX_PARALLEL &&
    salt.byteLength === SALT_BYTES
  );
}

export function assertPassphrase(passphrase: Uint8Array): void {
  const { byteLength } = passphrase;
  if (byteLength < MIN_PASSPHRASE_BYTES || byteLength > MAX_PASSPHRASE_BYTES)
    throw keyRefused(
      "PASSPHRASE_LENGTH",
      `the passphrase must have ${MIN_PASSPHRASE_BYTES} to ${MAX_PASSPHRASE_BYTES} bytes`,
    );
}

/** Returns a key that the caller wipes. Off the event loop: it takes a third of a second. */
export function scryptKey(passphrase: Uint8Array, parameters: ScryptParameters): Promise<Buffer> {
  const { log2N, r, p, salt } = parameters;
  const N = 2 ** log2N;
  // The limit of Node is 32 MiB; scrypt takes 128·N·r bytes and a little for each lane.
  const maxmem = 128 * N * r + 128 * r * (p + 2) + 1024 * 1024;
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, KEY_BYTES, { N, r, p, maxmem }, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
