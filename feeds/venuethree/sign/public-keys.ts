/**
 * Public keys of private keys, so that a caller who trades often pays for the curve once. What is kept cannot sign:
 * the entry's name is a digest of the key with salt of this process, its value the public key.
 */
import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { KEY_BYTES, publicKeyOf } from "./schnorr.js";

/** The least recently used one goes. */
const MAX_KEYS = 10_000;
const SALT_BYTES = 32;
/** Encoding of the neutral element: the key is a multiple of the group's order. */
const NO_KEY = "0".repeat(2 * KEY_BYTES);

export class PublicKeys {
  /** Salt, then the key in hand; the key is wiped before the call ends. */
  readonly #salted = Buffer.alloc(SALT_BYTES + KEY_BYTES);
  readonly #known = new LRUCache<string, string>({ max: MAX_KEYS });

  constructor() {
    randomBytes(SALT_BYTES).copy(this.#salted);
  }

  /** 80 hex digits, as the venue prints it; null for a key that signs nothing. */
  publicKeyOf(privateKey: Uint8Array): string | null {
    if (privateKey.length !== KEY_BYTES) return null;
    this.#salted.set(privateKey, SALT_BYTES);
    const name = hash("sha256", this.#salted, "base64");
    this.#salted.fill(0, SALT_BYTES);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const publicKey = Buffer.from(publicKeyOf(privateKey)).toString("hex");
    if (publicKey === NO_KEY) return null;
    this.#known.set(name, publicKey);
    return publicKey;
  }
}
