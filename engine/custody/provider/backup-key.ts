/**
 * The key that a party seals its backups to (docs/mpc.md, section 13): X25519, its private half offline. A key has one
 * form and so one id: what is no reduced coordinate, or a point of low order, is refused.
 */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from "node:crypto";
import { sha256 } from "../mpc/base/hash.js";
import type { RandomSource } from "../mpc/base/random.js";
import { readHexInto, secretBuffer } from "../sealing/secret-bytes.js";

export const BACKUP_KEY_BYTES = 32;

const HEX = /^[0-9a-fA-F]{64}$/;
const BASE64URL = /^[A-Za-z0-9_-]{43}$/;
/** DER before the 32 bytes of a key (RFC 8410). */
const PUBLIC_DER = Buffer.from("302a300506032b656e032100", "hex");
const PRIVATE_DER = Buffer.from("302e020100300506032b656e04220420", "hex");
/** p = 2^255 - 19, little-endian as keys are. */
const FIELD = Buffer.concat([Buffer.of(0xed), Buffer.alloc(30, 0xff), Buffer.of(0x7f)]);
/** Any scalar shows a point of low order: all are multiples of 8. */
const PROBE = Buffer.alloc(BACKUP_KEY_BYTES, 0x2a);

export interface BackupPublicKey {
  /** 32 bytes. */
  readonly bytes: Buffer;
  /** SHA-256 of the key, 32 bytes: what `Hello` compares. */
  readonly id: Buffer;
}

export type ParsedBackupKey =
  | { readonly ok: true; readonly key: BackupPublicKey }
  /** A sentence for the operator. */
  | { readonly ok: false; readonly problem: string };

/** `text`: 64 hex digits or 43 digits of Base64 for URLs. */
export function parseBackupPublicKey(text: string): ParsedBackupKey {
  const bytes = HEX.test(text)
    ? Buffer.from(text, "hex")
    : BASE64URL.test(text)
      ? Buffer.from(text, "base64url")
      : null;
  const isCanonical = bytes !== null && (HEX.test(text) || bytes.toString("base64url") === text);
  if (bytes === null || !isCanonical)
    return { ok: false, problem: "a backup key is 32 bytes as 64 hex digits or 43 digits of Base64 for URLs" };
  const problem = problemOf(bytes);
  return problem === null ? { ok: true, key: backupKey(bytes) } : { ok: false, problem };
}

/** Of a private key that is in a secret buffer. */
export function backupPublicKey(privateKey: Uint8Array): BackupPublicKey {
  return backupKey(publicBytes(privateObject(privateKey)));
}

/** A pair; the caller wipes the private half, a secret buffer of 32 bytes. */
export function makeBackupPair(random: RandomSource): {
  readonly privateKey: Buffer;
  readonly publicKey: BackupPublicKey;
} {
  const privateKey = secretBuffer(BACKUP_KEY_BYTES);
  random.fill("backup-key", privateKey);
  return { privateKey, publicKey: backupPublicKey(privateKey) };
}

/** 32 raw bytes, or 64 hex digits and at most one line end. A secret buffer that the caller wipes; null: none of these. */
export function readBackupPrivateKey(content: Uint8Array): Buffer | null {
  const key = secretBuffer(BACKUP_KEY_BYTES);
  if (content.byteLength === BACKUP_KEY_BYTES) key.set(content);
  else if (!readHexInto(withoutLineEnd(content), key)) {
    key.fill(0);
    return null;
  }
  // A device of zeros, or a placeholder that nobody replaced.
  return key.some((byte) => byte !== key[0]) ? key : null;
}

/** X25519. Fresh bytes that the caller wipes; null for a zero result, which a point of low order gives. */
export function agreed(privateKey: Uint8Array, publicKey: Uint8Array): Buffer | null {
  let shared: Buffer;
  try {
    shared = diffieHellman({ privateKey: privateObject(privateKey), publicKey: publicObject(publicKey) });
  } catch {
    // The library gives no zero result out either; the only other cause is a length, which every caller has fixed.
    return null;
  }
  return shared.some((byte) => byte !== 0) ? shared : null;
}

function problemOf(bytes: Buffer): string | null {
  if (!isReduced(bytes)) return "the backup key is no coordinate of the curve in its one form";
  if (agreed(PROBE, bytes) === null) return "the backup key is a point of low order, under which nothing is secret";
  return null;
}

function isReduced(bytes: Buffer): boolean {
  return Buffer.compare(Buffer.from(bytes).reverse(), Buffer.from(FIELD).reverse()) < 0;
}

function backupKey(bytes: Buffer): BackupPublicKey {
  return { bytes, id: sha256(bytes) };
}

function publicBytes(privateKey: KeyObject): Buffer {
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return Buffer.from(der.subarray(PUBLIC_DER.byteLength));
}

function publicObject(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([PUBLIC_DER, bytes]), format: "der", type: "spki" });
}

function privateObject(bytes: Uint8Array): KeyObject {
  const der = secretBuffer(PRIVATE_DER.byteLength + BACKUP_KEY_BYTES);
  try {
    der.set(PRIVATE_DER);
    der.set(bytes, PRIVATE_DER.byteLength);
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

function withoutLineEnd(content: Uint8Array): Uint8Array {
  if (content.at(-1) !== 0x0a) return content;
  return content.subarray(0, content.at(-2) === 0x0d ? -2 : -1);
}
