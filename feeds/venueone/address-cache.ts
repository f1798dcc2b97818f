/**
 * Addresses of private keys, so that a caller who closes often pays for the curve once. What is kept cannot sign:
 * the entry's name is a digest of the key with salt of this process, its value a public address.
 */
import { createHash, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { addressOfPrivateKey } from "../shared/eip712.js";

/** The least recently used one goes. */
const MAX_ADDRESSES = 10_000;

export class AddressCache {
  readonly #salt = randomBytes(32);
  readonly #addresses = new LRUCache<string, string>({ max: MAX_ADDRESSES });

  /** Lower-case address. `privateKey` must be valid for the curve. */
  addressOf(privateKey: Uint8Array): string {
    const name = createHash("sha256").update(this.#salt).update(privateKey).digest("base64");
    const known = this.#addresses.get(name);
    if (known !== undefined) return known;
    const address = addressOfPrivateKey(privateKey);
    this.#addresses.set(name, address);
    return address;
  }
}
