/**
 * The additional authenticated data of a sealed record: what the record is, in one canonical form.
 *
 * Every field is a kind byte, its length (u32, big-endian) and its bytes, and the parts are counted, so no two contexts
 * share an encoding. Fields, in order: layer, record format and algorithm, purpose, count of parts, the parts, record
 * version and, in the key layer alone, the KEK id. The content layer leaves the KEK id out, so that a rotation need not
 * open the content; its key is bound to the KEK id by the key layer.
 */
import { ServiceError } from "../../domain/errors.js";
import type { SealContext } from "./sealer.js";

export const RECORD_FORMAT = 1;
/** AES-256-GCM in both layers, 96-bit IV, 128-bit tag. */
export const ALGORITHM_AES_256_GCM = 1;
export const KEK_ID_BYTES = 8;

const KEY_LAYER = "unwind/seal/key";
const CONTENT_LAYER = "unwind/seal/content";

const KIND_TEXT = 1;
const KIND_BYTES = 2;
const KIND_NUMBER = 3;

const MAX_PARTS = 16;
const MAX_CONTEXT_BYTES = 8_192;
const PURPOSE_PATTERN = /^[a-z0-9-]{1,64}$/;
/** With the u flag a surrogate class matches lone surrogates only; UTF-8 has one form for all of them. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

export function contentLayerData(context: SealContext): Buffer {
  return joined([...fieldsOf(CONTENT_LAYER, context)]);
}

export function keyLayerData(context: SealContext, kekId: Uint8Array): Buffer {
  return joined([...fieldsOf(KEY_LAYER, context), field(KIND_BYTES, kekId)]);
}

function fieldsOf(layer: string, context: SealContext): Buffer[] {
  const { purpose, parts, recordVersion } = context;
  if (!PURPOSE_PATTERN.test(purpose)) throw misuse("PURPOSE");
  if (parts.length > MAX_PARTS) throw misuse("TOO_MANY_PARTS");
  if (!Number.isSafeInteger(recordVersion) || recordVersion < 0) throw misuse("RECORD_VERSION");
  return [
    textField(layer),
    field(KIND_BYTES, Uint8Array.of(RECORD_FORMAT, ALGORITHM_AES_256_GCM)),
    textField(purpose),
    numberField(parts.length),
    ...parts.map((part) => (typeof part === "string" ? textField(part) : field(KIND_BYTES, part))),
    numberField(recordVersion),
  ];
}

function textField(text: string): Buffer {
  if (LONE_SURROGATE.test(text)) throw misuse("TEXT");
  return field(KIND_TEXT, Buffer.from(text, "utf8"));
}

function numberField(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return field(KIND_NUMBER, bytes);
}

function field(kind: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(bytes.byteLength, 1);
  return Buffer.concat([head, bytes]);
}

function joined(fields: readonly Buffer[]): Buffer {
  const data = Buffer.concat(fields);
  if (data.byteLength > MAX_CONTEXT_BYTES) throw misuse("CONTEXT_TOO_LARGE");
  return data;
}

/** A caller inside this program named a record wrongly: our bug, not a state of the record. */
function misuse(problem: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `sealing: ${problem}` });
}
