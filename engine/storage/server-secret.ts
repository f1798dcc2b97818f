/**
 * The server's HMAC key: what makes stored fingerprints, account hashes and derived client ids
 * useless to anyone who reads the store without it, and stable over restarts.
 *
 * 32 bytes from configuration, or created once in the store. It must never change while records that
 * depend on it live: with another key a retried request would derive other client ids.
 */
import { createHmac, randomBytes } from "node:crypto";
import { ServiceError } from "../domain/errors.js";
import type { KeyedHash, RandomIds } from "./keyed-hash.js";
import type { StateStore } from "./state-store.js";

export const SERVER_SECRET_BYTES = 32;
const NAMESPACE = "server";
const KEY = "hmac-key";

/** `configured` wins; otherwise the stored key, created on the first start. */
export async function loadServerSecret(store: StateStore, configured: Uint8Array | null): Promise<Uint8Array> {
  if (configured !== null) {
    if (configured.byteLength !== SERVER_SECRET_BYTES)
      throw new ServiceError("INTERNAL", { problem: "the server secret must have 32 bytes" });
    return configured;
  }
  await store.putIfAbsent(NAMESPACE, KEY, randomBytes(SERVER_SECRET_BYTES));
  const stored = await store.get(NAMESPACE, KEY);
  if (stored === null || stored.byteLength !== SERVER_SECRET_BYTES)
    throw new ServiceError("INTERNAL", { problem: "the stored server secret is damaged" });
  return stored;
}

export function createKeyedHash(secret: Uint8Array): KeyedHash {
  // Copied: the caller may wipe its own.
  const key = Buffer.from(secret);
  return {
    hmacHex(purpose, parts) {
      const hmac = createHmac("sha256", key);
      for (const part of [purpose, ...parts]) {
        const bytes = typeof part === "string" ? Buffer.from(part, "utf8") : part;
        const length = Buffer.alloc(4);
        length.writeUInt32BE(bytes.byteLength);
        hmac.update(length);
        hmac.update(bytes);
      }
      return hmac.digest("hex");
    },
  };
}

/** Drawn in blocks: a call of the system's generator costs more than all else about an id. */
const RANDOM_BLOCK_BYTES = 4096;
let randomBlock = Buffer.alloc(0);
let randomAt = 0;

export const cryptoRandomIds: RandomIds = {
  randomHex128() {
    if (randomAt + 16 > randomBlock.length) {
      randomBlock = randomBytes(RANDOM_BLOCK_BYTES);
      randomAt = 0;
    }
    randomAt += 16;
    return randomBlock.toString("hex", randomAt - 16, randomAt);
  },
};
