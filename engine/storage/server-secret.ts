/**
 * The server's HMAC key. It makes stored fingerprints, account hashes and derived client ids useless without it, and
 * stable over restarts.
 *
 * 32 bytes from configuration, or created once in the store. It must never change while records that depend on it
 * exist: with another key a retried request would derive other client ids.
 */
import { hash, randomBytes } from "node:crypto";
import { ServiceError } from "../domain/errors.js";
import type { KeyedHash, RandomIds } from "./keyed-hash.js";
import type { StateStore } from "./state-store.js";

export const SERVER_SECRET_BYTES = 32;
const NAMESPACE = "server";
const KEY = "hmac-key";

/** A configured key takes precedence; otherwise the stored key, created on the first start. */
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
  // RFC 2104 computed from two one-shot digests: an Hmac object costs several times what the digests do, and every
  // close hashes its account. The pads are copies, so the caller may wipe its secret.
  const innerPad = Buffer.alloc(BLOCK_BYTES);
  innerPad.set(secret.byteLength > BLOCK_BYTES ? hash("sha256", secret, "buffer") : secret);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  for (let index = 0; index < BLOCK_BYTES; index++) {
    const byte = innerPad[index] as number;
    innerPad[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  }
  return {
    hmacHex(purpose, parts) {
      let bytes = BLOCK_BYTES + encodedBytes(purpose);
      for (const part of parts) bytes += encodedBytes(part);
      const message = Buffer.allocUnsafe(bytes);
      innerPad.copy(message);
      let at = writePart(message, BLOCK_BYTES, purpose);
      for (const part of parts) at = writePart(message, at, part);
      outer.write(hash("sha256", message, "hex"), BLOCK_BYTES, "hex");
      return hash("sha256", outer, "hex");
    },
  };
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;

function encodedBytes(part: string | Uint8Array): number {
  return LENGTH_BYTES + (typeof part === "string" ? Buffer.byteLength(part) : part.byteLength);
}

/** Returns where the next part begins. */
function writePart(message: Buffer, at: number, part: string | Uint8Array): number {
  const from = at + LENGTH_BYTES;
  if (typeof part !== "string") message.set(part, from);
  const bytes = typeof part === "string" ? message.write(part, from) : part.byteLength;
  message.writeUInt32BE(bytes, at);
  return from + bytes;
}

/** Random bytes are drawn in blocks: a call of the system's generator costs more than the rest of an id. */
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
