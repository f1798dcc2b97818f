/**
 * Addresses of private keys, so that a caller who closes often pays for the curve once. What is kept cannot sign:
 * the entry's name is a digest of the key with salt of this process, its value a public address.
 */
import { hash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { addressOfPrivateKey } from "../../shared/sign/eip712.js";
import { secp256k1 } from "../../shared/sign/secp256k1.js";

/** The least recently used one goes. */
const MAX_ADDRESSES = 10_000;

const SALT_BYTES = 32;
const KEY_BYTES = 32;

export class AddressCache {
  /** Salt, then the key in hand; the key is wiped before the call ends. */
  readonly #salted = Buffer.alloc(SALT_BYTES + KEY_BYTES);
  readonly #addresses = new LRUCache<string, string>({ max: MAX_ADDRESSES });

  constructor() {
    randomBytes(SALT_BYTES).copy(this.#salted);
  }

  /** Lower-case address; null if these are not 32 bytes of a key of the curve. */
  addressOf(privateKey: Uint8Array): string | null {
    if (privateKey.length !== KEY_BYTES) return null;
    this.#salted.set(privateKey, SALT_BYTES);
    const name = hash("sha256", this.#salted, "base64");
    this.#salted.fill(0, SALT_BYTES);
    const known = this.#addresses.get(name);
    if (known !== undefined) return known;
    if (!secp256k1.isPrivateKey(privateKey)) return null;
    const address = addressOfPrivateKey(privateKey);
    this.#addresses.set(name, address);
    return address;
  }
}
