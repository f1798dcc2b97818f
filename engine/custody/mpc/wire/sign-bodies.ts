/** Bodies of F1 to F6 (docs/mpc.md, 8.1). Each decoder reads the whole body before anything of it is used. */

import {
  CHECK_FIELD_BYTES,
  CORRECTION_BYTES,
  FOLDS_BYTES,
  HASH_BYTES,
  POINT_BYTES,
  SCALAR_BYTES,
  TAU_BYTES,
} from "../base/parameters.js";
import type { PublicPoint } from "../base/point.js";
import { encodeScalar } from "../base/scalar.js";
import type { ExtensionMessage } from "../parts/extension-chooser.js";
import type { SignatureShare } from "../parts/final-signature.js";
import { decodeTau, type MultiplyMessage } from "../parts/multiply-chooser.js";
import { BodyReader } from "./body-reader.js";
import { BodyWriter } from "./body-writer.js";
import { F1_FIXED_BYTES } from "./message-types.js";

const CTR_BYTES = 8;
export const MSG_A_BYTES = HASH_BYTES + CORRECTION_BYTES + CHECK_FIELD_BYTES + FOLDS_BYTES;
export const MSG_B_BYTES = 3 * POINT_BYTES + 4 * SCALAR_BYTES + TAU_BYTES;
export const MSG_E_BYTES = 2 * SCALAR_BYTES;

export interface MessageA {
  readonly commitment: Buffer;
  readonly extension: ExtensionMessage;
}

export interface MessageB {
  /** R */
  readonly nonce: PublicPoint;
  readonly salt: Buffer;
  readonly multiply: MultiplyMessage;
  readonly gammaU: PublicPoint;
  readonly gammaV: PublicPoint;
  readonly psi: bigint;
}

export interface F1Body {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly digest: Buffer;
  readonly intent: Buffer;
}

export interface F2Body {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly previousCtr: bigint;
  readonly messageA: MessageA;
}

export function encodeF1(body: {
  readonly nonce: Uint8Array;
  readonly tag: Uint8Array;
  readonly digest: Uint8Array;
  readonly intent: Uint8Array;
}): Buffer {
  const writer = new BodyWriter(F1_FIXED_BYTES + body.intent.byteLength).raw(body.nonce, HASH_BYTES);
  writer.raw(body.tag, HASH_BYTES).raw(body.digest, HASH_BYTES);
  return writer.raw(body.intent, body.intent.byteLength).finish();
}

export function decodeF1(body: Uint8Array): F1Body {
  const reader = new BodyReader(body, null);
  const nonce = reader.bytes(HASH_BYTES);
  const tag = reader.bytes(HASH_BYTES);
  return { nonce, tag, digest: reader.bytes(HASH_BYTES), intent: reader.rest() };
}

export function encodeF2(body: {
  readonly nonce: Uint8Array;
  readonly tag: Uint8Array;
  readonly previousCtr: bigint;
  readonly messageA: MessageA;
}): Buffer {
  const writer = new BodyWriter(2 * HASH_BYTES + CTR_BYTES + MSG_A_BYTES).raw(body.nonce, HASH_BYTES);
  writer.raw(body.tag, HASH_BYTES).u64(body.previousCtr);
  return writeMessageA(writer, body.messageA).finish();
}

export function decodeF2(body: Uint8Array): F2Body {
  const reader = new BodyReader(body, 2 * HASH_BYTES + CTR_BYTES + MSG_A_BYTES);
  const nonce = reader.bytes(HASH_BYTES);
  const tag = reader.bytes(HASH_BYTES);
  return reader.whole({ nonce, tag, previousCtr: reader.u64(), messageA: readMessageA(reader) });
}

export function encodeF3(messageA: MessageA, messageB: MessageB): Buffer {
  const writer = writeMessageA(new BodyWriter(MSG_A_BYTES + MSG_B_BYTES), messageA);
  return writeMessageB(writer, messageB).finish();
}

export function decodeF3(body: Uint8Array): { readonly messageA: MessageA; readonly messageB: MessageB } {
  const reader = new BodyReader(body, MSG_A_BYTES + MSG_B_BYTES);
  const messageA = readMessageA(reader);
  return reader.whole({ messageA, messageB: readMessageB(reader) });
}

export function encodeF4(messageB: MessageB, share: SignatureShare): Buffer {
  const writer = writeMessageB(new BodyWriter(MSG_B_BYTES + MSG_E_BYTES), messageB);
  return writeShare(writer, share).finish();
}

export function decodeF4(body: Uint8Array): { readonly messageB: MessageB; readonly share: SignatureShare } {
  const reader = new BodyReader(body, MSG_B_BYTES + MSG_E_BYTES);
  const messageB = readMessageB(reader);
  return reader.whole({ messageB, share: readShare(reader) });
}

export function encodeF5(share: SignatureShare): Buffer {
  return writeShare(new BodyWriter(MSG_E_BYTES), share).finish();
}

export function decodeF5(body: Uint8Array): SignatureShare {
  const reader = new BodyReader(body, MSG_E_BYTES);
  return reader.whole(readShare(reader));
}

function writeMessageA(writer: BodyWriter, { commitment, extension }: MessageA): BodyWriter {
  return writer
    .raw(commitment, HASH_BYTES)
    .raw(extension.correction, CORRECTION_BYTES)
    .raw(extension.choiceFold, CHECK_FIELD_BYTES)
    .raw(extension.rowFolds, FOLDS_BYTES);
}

function readMessageA(reader: BodyReader): MessageA {
  const commitment = reader.bytes(HASH_BYTES);
  const correction = reader.bytes(CORRECTION_BYTES);
  const choiceFold = reader.bytes(CHECK_FIELD_BYTES);
  return { commitment, extension: { correction, choiceFold, rowFolds: reader.bytes(FOLDS_BYTES) } };
}

function writeMessageB(writer: BodyWriter, message: MessageB): BodyWriter {
  return writer
    .raw(message.nonce.bytes, POINT_BYTES)
    .raw(message.salt, HASH_BYTES)
    .raw(message.multiply.tau.bytes, TAU_BYTES)
    .raw(encodeScalar(message.multiply.eta), SCALAR_BYTES)
    .raw(message.multiply.muHash, HASH_BYTES)
    .raw(message.gammaU.bytes, POINT_BYTES)
    .raw(message.gammaV.bytes, POINT_BYTES)
    .raw(encodeScalar(message.psi), SCALAR_BYTES);
}

function readMessageB(reader: BodyReader): MessageB {
  const nonce = reader.point("R");
  const salt = reader.bytes(HASH_BYTES);
  const tau = decodeTau(reader.bytes(TAU_BYTES), "tau");
  const eta = reader.scalar("eta");
  const muHash = reader.bytes(HASH_BYTES);
  const gammaU = reader.point("Gu");
  const gammaV = reader.point("Gv");
  return { nonce, salt, multiply: { tau, eta, muHash }, gammaU, gammaV, psi: reader.scalar("psi") };
}

function writeShare(writer: BodyWriter, { u, w }: SignatureShare): BodyWriter {
  return writer.raw(encodeScalar(u), SCALAR_BYTES).raw(encodeScalar(w), SCALAR_BYTES);
}

function readShare(reader: BodyReader): SignatureShare {
  const u = reader.scalar("u");
  return { u, w: reader.scalar("w") };
}
