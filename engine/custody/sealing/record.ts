/**
 * A sealed record: a secret under a key of its own (DEK), that key under the KEK, both with AES-256-GCM.
 *
 *   0      1         2       10       22           54        70    82          82+n   98+n
 *   format algorithm KEK id  wrap IV  wrapped DEK  wrap tag  IV    ciphertext  tag
 *   1      1         8       12       32           16        12    n           16        bytes
 *
 * Invariants: a DEK encrypts one plaintext, so its IV cannot repeat; every byte of a record and of its context is
 * authenticated, and the ciphertext reaches to the end, so a byte too few or too many fails; DEKs are wiped when the
 * call returns or throws. Errors name a step, never a byte of key or content.
 */
import { ServiceError } from "../../domain/errors.js";
import { ALGORITHM_AES_256_GCM, contentLayerData, KEK_ID_BYTES, keyLayerData, RECORD_FORMAT } from "./context.js";
import { GCM_IV_BYTES, GCM_KEY_BYTES, GCM_TAG_BYTES, gcmOpen, type GcmParts, gcmSeal } from "./gcm.js";
import type { Kek } from "./kek.js";
import type { SealContext } from "./sealer.js";
import { type SecretRandom, secretBuffer } from "./secret-bytes.js";

const KEK_ID_AT = 2;
const WRAP_IV_AT = KEK_ID_AT + KEK_ID_BYTES;
const WRAPPED_AT = WRAP_IV_AT + GCM_IV_BYTES;
const WRAP_TAG_AT = WRAPPED_AT + GCM_KEY_BYTES;
const IV_AT = WRAP_TAG_AT + GCM_TAG_BYTES;
const CIPHERTEXT_AT = IV_AT + GCM_IV_BYTES;

/** By this much a record is longer than its plaintext. */
export const RECORD_OVERHEAD_BYTES = CIPHERTEXT_AT + GCM_TAG_BYTES;
/** A record fits a row of the store, also in Base64 and beside other fields. */
export const MAX_PLAINTEXT_BYTES = 512 * 1024;

interface RecordParts {
  readonly kekId: Buffer;
  readonly wrapIv: Buffer;
  readonly wrapped: Buffer;
  readonly wrapTag: Buffer;
  readonly iv: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

export function sealRecord(kek: Kek, context: SealContext, plaintext: Uint8Array, random: SecretRandom): Buffer {
  if (plaintext.byteLength > MAX_PLAINTEXT_BYTES)
    throw new ServiceError("INTERNAL", { problem: "sealing: PLAINTEXT_TOO_LARGE" });
  const contentData = contentLayerData(context);
  const record = Buffer.alloc(RECORD_OVERHEAD_BYTES + plaintext.byteLength);
  const dek = secretBuffer(GCM_KEY_BYTES);
  try {
    random(dek);
    const parts = partsOf(record);
    writeKeyLayer(record, kek, context, dek, random);
    random(parts.iv);
    gcmSeal(dek, { ...parts, data: contentData }, plaintext);
  } finally {
    dek.fill(0);
  }
  return record;
}

/** Returns a buffer that the caller wipes. Throws SEAL_KEY_UNKNOWN for another KEK, SEAL_BROKEN for all else. */
export function openRecord(kek: Kek, context: SealContext, record: Uint8Array): Buffer {
  const parts = parseRecord(record);
  const contentData = contentLayerData(context);
  const dek = unwrapDek(kek, context, parts);
  try {
    return opened(dek, { ...parts, data: contentData }, "CONTENT");
  } finally {
    dek.fill(0);
  }
}

/** The same content with its DEK under another KEK; the content is not opened. Throws as `openRecord`. */
export function rewrapRecord(
  from: Kek,
  to: Kek,
  context: SealContext,
  record: Uint8Array,
  random: SecretRandom,
): Buffer {
  const dek = unwrapDek(from, context, parseRecord(record));
  try {
    const rewrapped = Buffer.alloc(record.byteLength);
    rewrapped.set(record);
    writeKeyLayer(rewrapped, to, context, dek, random);
    return rewrapped;
  } finally {
    dek.fill(0);
  }
}

/** Id of the KEK that a record names, as hex. Throws SEAL_BROKEN for what is no record. */
export function recordKekId(record: Uint8Array): string {
  return parseRecord(record).kekId.toString("hex");
}

function unwrapDek(kek: Kek, context: SealContext, parts: RecordParts): Buffer {
  const kekId = parts.kekId.toString("hex");
  if (kekId !== kek.id) throw keyUnknown(kekId);
  const { kekId: id, wrapIv: iv, wrapped: ciphertext, wrapTag: tag } = parts;
  return opened(kek.key, { iv, data: keyLayerData(context, id), ciphertext, tag }, "KEY");
}

/** Writes everything before the content's IV. */
function writeKeyLayer(record: Buffer, kek: Kek, context: SealContext, dek: Buffer, random: SecretRandom): void {
  const parts = partsOf(record);
  record.writeUInt8(RECORD_FORMAT, 0);
  record.writeUInt8(ALGORITHM_AES_256_GCM, 1);
  parts.kekId.write(kek.id, "hex");
  random(parts.wrapIv);
  const { kekId: id, wrapIv: iv, wrapped: ciphertext, wrapTag: tag } = parts;
  gcmSeal(kek.key, { iv, data: keyLayerData(context, id), ciphertext, tag }, dek);
}

function parseRecord(record: Uint8Array): RecordParts {
  // A later format may be shorter, so its name is read first.
  if (record.byteLength < 2) throw broken("LENGTH");
  const [format, algorithm] = record;
  if (format !== RECORD_FORMAT) throw broken("UNKNOWN_FORMAT", { format });
  if (algorithm !== ALGORITHM_AES_256_GCM) throw broken("UNKNOWN_ALGORITHM", { algorithm });
  if (record.byteLength < RECORD_OVERHEAD_BYTES) throw broken("LENGTH");
  if (record.byteLength > RECORD_OVERHEAD_BYTES + MAX_PLAINTEXT_BYTES) throw broken("LENGTH");
  return partsOf(Buffer.from(record.buffer, record.byteOffset, record.byteLength));
}

/** Views, not copies. */
function partsOf(record: Buffer): RecordParts {
  const tagAt = record.byteLength - GCM_TAG_BYTES;
  return {
    kekId: record.subarray(KEK_ID_AT, WRAP_IV_AT),
    wrapIv: record.subarray(WRAP_IV_AT, WRAPPED_AT),
    wrapped: record.subarray(WRAPPED_AT, WRAP_TAG_AT),
    wrapTag: record.subarray(WRAP_TAG_AT, IV_AT),
    iv: record.subarray(IV_AT, CIPHERTEXT_AT),
    ciphertext: record.subarray(CIPHERTEXT_AT, tagAt),
    tag: record.subarray(tagAt),
  };
}

function opened(key: Buffer, parts: GcmParts, layer: string): Buffer {
  const plaintext = gcmOpen(key, parts);
  if (plaintext === null) throw broken(layer);
  return plaintext;
}

export function keyUnknown(kekId: string): ServiceError {
  return new ServiceError("SEAL_KEY_UNKNOWN", { kekId });
}

function broken(reason: string, details: Readonly<Record<string, unknown>> = {}): ServiceError {
  return new ServiceError("SEAL_BROKEN", { reason, ...details });
}
