// hot path
/**
 * Schnorr signatures over ECgFp5 and Poseidon2 (fact sheet 8.7): R = k·G, e = H(R ‖ m), s = k − e·sk; a signature is
 * s ‖ e, 80 bytes. Nearly all of the cost is k·G, which the message has no part in: a pool holds pairs (k, R) made
 * beforehand, each used once.
 *
 * Invariant: a k is never used twice, never stored, never leaves this process.
 */
import { randomBytes } from "node:crypto";
import {
  addPoints,
  encode,
  equalPoints,
  makeTable,
  multiplyGenerator,
  multiplyPoint,
  multiplyTable,
  neutral,
  ORDER,
  type Point,
  type PointTable,
  pointFromBytes,
  scalarFromBytes,
  scalarFromQuintic,
  scalarToBytes,
} from "./curve.js";
import type { Words } from "./goldilocks.js";
import { hashToQuintic } from "./poseidon2.js";
import { QUINTIC_WORDS, toBytes } from "./quintic.js";

export const KEY_BYTES = 40;
export const SIGNATURE_BYTES = 80;

/** One secret scalar and the encoding of its multiple of the generator. For one signature. */
export interface SigningNonce {
  readonly k: bigint;
  readonly encodedR: Words;
}

export function nonceOf(k: bigint): SigningNonce {
  return { k, encodedR: encode(multiplyGenerator(k)) };
}

/** Uniform in [1, ORDER). */
export function randomScalar(): bigint {
  for (;;) {
    const bytes = randomBytes(KEY_BYTES);
    // ORDER is just under 2^319: about every second draw fits.
    bytes[KEY_BYTES - 1] = (bytes[KEY_BYTES - 1] as number) & 0x7f;
    let value = 0n;
    for (let at = 32; at >= 0; at -= 8) value = (value << 64n) | bytes.readBigUInt64LE(at);
    if (value > 0n && value < ORDER) return value;
  }
}

/** Pairs made beforehand. Bounded; an empty pool makes one on the spot, which costs what it spares otherwise. */
export class NoncePool {
  readonly #capacity: number;
  readonly #nonces: SigningNonce[] = [];
  /** Signatures that found the pool empty. */
  missCount = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#nonces.length;
  }

  /** Adds at most `count` pairs; true while there is room for more. */
  fill(count: number): boolean {
    for (let made = 0; made < count && this.#nonces.length < this.#capacity; made++) {
      this.#nonces.push(nonceOf(randomScalar()));
    }
    return this.#nonces.length < this.#capacity;
  }

  take(): SigningNonce {
    const nonce = this.#nonces.pop();
    if (nonce !== undefined) return nonce;
    this.missCount++;
    return nonceOf(randomScalar());
  }

  clear(): void {
    this.#nonces.length = 0;
  }
}

export function publicKeyOf(privateKey: Uint8Array): Uint8Array {
  return toBytes(encode(multiplyGenerator(scalarFromBytes(privateKey))));
}

const transcript = new Uint32Array(2 * QUINTIC_WORDS);

function challenge(encodedR: Words, message: Words): bigint {
  transcript.set(encodedR, 0);
  transcript.set(message, QUINTIC_WORDS);
  return scalarFromQuintic(hashToQuintic(transcript, QUINTIC_WORDS));
}

/** `message` is a quintic element; `nonce` must not have been used before. */
export function signMessage(message: Words, privateKey: Uint8Array, nonce: SigningNonce): Uint8Array {
  const e = challenge(nonce.encodedR, message);
  const s = (nonce.k + (ORDER - ((e * scalarFromBytes(privateKey)) % ORDER))) % ORDER;
  const signature = new Uint8Array(SIGNATURE_BYTES);
  scalarToBytes(signature, 0, s);
  scalarToBytes(signature, KEY_BYTES, e);
  return signature;
}

export function verifySignature(message: Words, signature: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES || publicKey.length !== KEY_BYTES) return false;
  const known = knownKey(publicKey);
  if (known === null) return false;
  const s = scalarFromBytes(signature.subarray(0, KEY_BYTES));
  const e = scalarFromBytes(signature.subarray(KEY_BYTES));
  const r = multiplyGenerator(s);
  addPoints(r, r, known.table === null ? multiplyPoint(known.point, e) : multiplyTable(known.table, e));
  return challenge(encode(r), message) === e;
}

interface KnownKey {
  readonly point: Point;
  useCount: number;
  /** Multiples of the point, for a key that comes again and again: a third of the time. */
  table: PointTable | null;
}

/** Public keys seen by the verifier; the one seen longest ago goes. With tables some 5 MiB at most. */
const MAX_KNOWN_KEYS = 64;
/** Uses after which the table pays. */
const USES_BEFORE_TABLE = 4;
const knownKeys = new Map<string, KnownKey>();

/** Null when no point has this encoding. */
function knownKey(publicKey: Uint8Array): KnownKey | null {
  const name = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.byteLength).toString("latin1");
  let known = knownKeys.get(name);
  if (known === undefined) {
    const point = pointFromBytes(publicKey);
    if (point === null) return null;
    if (knownKeys.size >= MAX_KNOWN_KEYS) {
      const oldest = knownKeys.keys().next();
      if (oldest.done !== true) knownKeys.delete(oldest.value);
    }
    known = { point, useCount: 0, table: null };
  } else {
    knownKeys.delete(name);
  }
  knownKeys.set(name, known);
  known.useCount++;
  // The neutral has no table; nobody signs with the key 0.
  if (known.table === null && known.useCount > USES_BEFORE_TABLE && !equalPoints(known.point, neutral()))
    known.table = makeTable(known.point);
  return known;
}
