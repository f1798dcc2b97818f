/**
 * What is derived from private keys by a curve, so that a caller who comes often pays for that once. What is kept cannot
 * sign: an entry's name is a digest of the key with salt of this process, its value what is public of the key.
 */
import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { addressOfPrivateKey } from "./eip712.js";
import { secp256k1 } from "./secp256k1.js";

/** The least recently used one goes. */
const MAX_KEYS = 10_000;
const SALT_BYTES = 32;
const ADDRESS_KEY_BYTES = 32;

/** Lower-case addresses of keys of secp256k1. */
export function createAddressCache(): KeyCache {
  return new KeyCache(ADDRESS_KEY_BYTES, (privateKey) =>
    secp256k1.isPrivateKey(privateKey) ? addressOfPrivateKey(privateKey) : null,
  );
}

export class KeyCache {
  readonly #keyBytes: number;
  readonly #derive: (privateKey: Uint8Array) => string | null;
  /** Salt, then the key in hand; the key is wiped before the call ends. */
  readonly #salted: Buffer;
  readonly #known = new LRUCache<string, string>({ max: MAX_KEYS });

  /** `derive` returns null for bytes that sign nothing; that is not kept. */
  constructor(keyBytes: number, derive: (privateKey: Uint8Array) => string | null) {
    this.#keyBytes = keyBytes;
    this.#derive = derive;
    this.#salted = Buffer.alloc(SALT_BYTES + keyBytes);
    randomBytes(SALT_BYTES).copy(this.#salted);
  }

  /** Null for what is no key. */
  publicOf(privateKey: Uint8Array): string | null {
    if (privateKey.length !== this.#keyBytes) return null;
    this.#salted.set(privateKey, SALT_BYTES);
    const name = hash("sha256", this.#salted, "base64");
    this.#salted.fill(0, SALT_BYTES);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const derived = this.#derive(privateKey);
    if (derived !== null) this.#known.set(name, derived);
    return derived;
  }
}
