/**
 * Key-encryption keys: 32 bytes that are not in the store, from a mounted file, an environment variable or a
 * passphrase. A key is held in one buffer and never as text that we make; `wipe` ends it.
 */
import { createHmac } from "node:crypto";
import { ServiceError } from "../../domain/errors.js";
import { KEK_ID_BYTES } from "./context.js";
import { keyRefused } from "./key-refused.js";
import { areBounded, assertPassphrase, type ScryptParameters, type ScryptPolicy, scryptKey } from "./passphrase.js";
import { readHexInto, secretBuffer } from "./secret-bytes.js";
import type { ReadSecretFile } from "./secret-file.js";

const KEY_BYTES = 32;
const HEX_KEY = /^[0-9a-fA-F]{64}$/;
const ID_TEXT = "unwind/seal/kek-id";

export type KekSource =
  /** 32 raw bytes, or 64 hex digits and at most one line end. */
  | { readonly kind: "file"; readonly path: string }
  /** 64 hex digits of an environment variable: they stay in the environment of the process, for all that can read it. */
  | { readonly kind: "environment"; readonly hex: string }
  /** UTF-8 as it was typed: no normal form, no trimming but one line end of a file. */
  | { readonly kind: "passphrase"; readonly passphrase: Uint8Array }
  | { readonly kind: "passphrase-file"; readonly path: string };

/** A source that was read; the caller wipes `bytes`. */
export interface KekSecret {
  readonly kind: "key" | "passphrase";
  readonly bytes: Buffer;
}

export class Kek {
  /** 16 hex digits, derived one-way from the key: no secret. */
  readonly id: string;
  readonly #key: Buffer;
  #isWiped = false;

  /** Takes the buffer over. */
  constructor(key: Buffer) {
    this.#key = key;
    this.id = createHmac("sha256", key).update(ID_TEXT).digest().toString("hex", 0, KEK_ID_BYTES);
  }

  /** A wiped key is zeros, under which nothing may be sealed. */
  get key(): Buffer {
    if (this.#isWiped) throw new ServiceError("INTERNAL", { problem: "sealing: KEY_WIPED" });
    return this.#key;
  }

  wipe(): void {
    this.#isWiped = true;
    this.#key.fill(0);
  }
}

/** Returns a copy that the caller wipes. Throws SEAL_KEY_REFUSED. */
export function readKekSource(source: KekSource, readFile: ReadSecretFile): KekSecret {
  switch (source.kind) {
    case "file":
      return fromFile(source.path, readFile, keyOfFile);
    case "environment":
      return { kind: "key", bytes: keyOfHexText(source.hex) };
    case "passphrase":
      return passphraseOf(source.passphrase);
    case "passphrase-file":
      return fromFile(source.path, readFile, (content) => passphraseOf(withoutLineEnd(content)));
  }
}

/** The KEK of a secret; null where the secret is of the other kind than the key in the store. */
export async function deriveKek(
  secret: KekSecret,
  scrypt: ScryptParameters | null,
  policy: ScryptPolicy,
): Promise<Kek | null> {
  if ((secret.kind === "passphrase") !== (scrypt !== null)) return null;
  if (scrypt === null) {
    const key = secretBuffer(KEY_BYTES);
    key.set(secret.bytes);
    return new Kek(key);
  }
  if (!areBounded(scrypt, policy))
    throw keyRefused("KEY_ROW_DAMAGED", "the scrypt parameters in the store are out of bounds");
  return new Kek(await scryptKey(secret.bytes, scrypt));
}

function fromFile(path: string, readFile: ReadSecretFile, parse: (content: Buffer) => KekSecret): KekSecret {
  const content = readFile(path);
  try {
    return parse(content);
  } finally {
    content.fill(0);
  }
}

function passphraseOf(passphrase: Uint8Array): KekSecret {
  assertPassphrase(passphrase);
  const bytes = secretBuffer(passphrase.byteLength);
  bytes.set(passphrase);
  return { kind: "passphrase", bytes };
}

function keyOfFile(content: Buffer): KekSecret {
  const key = secretBuffer(KEY_BYTES);
  if (content.byteLength === KEY_BYTES) {
    key.set(content);
    // A password, or half of a hex key: far from 256 bits. Random bytes are all text once in 10^13 times.
    if (content.every(isText)) throw weak(key, "32 characters of text are no key");
    return { kind: "key", bytes: checked(key) };
  }
  return { kind: "key", bytes: readHex(withoutLineEnd(content), key) };
}

function keyOfHexText(hex: string): Buffer {
  if (!HEX_KEY.test(hex)) throw notHex();
  const digits = secretBuffer(KEY_BYTES * 2);
  try {
    digits.write(hex, "latin1");
    return readHex(digits, secretBuffer(KEY_BYTES));
  } finally {
    digits.fill(0);
  }
}

function readHex(digits: Uint8Array, key: Buffer): Buffer {
  if (!readHexInto(digits, key)) {
    key.fill(0);
    throw notHex();
  }
  return checked(key);
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** A device of zeros, or a placeholder that nobody replaced. */
function checked(key: Buffer): Buffer {
  if (key.every((byte) => byte === key[0])) throw weak(key, "all its bytes are equal");
  return key;
}

function withoutLineEnd(content: Buffer): Buffer {
  if (content.at(-1) !== 0x0a) return content;
  return content.subarray(0, content.at(-2) === 0x0d ? -2 : -1);
}

function weak(key: Buffer, problem: string): ServiceError {
  key.fill(0);
  return keyRefused("KEY_WEAK", problem);
}

function notHex(): ServiceError {
  return keyRefused("KEY_FORM", "a key is 32 raw bytes (file) or 64 hex digits (file, environment)");
}
