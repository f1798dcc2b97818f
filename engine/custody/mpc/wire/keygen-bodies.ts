/** Bodies of KG1 to KG10 (docs/mpc.md, section 5.1). The flights from the sixth on are those of a refresh too. */

import {
  BASE_OT_POINTS_BYTES,
  BASE_OTS,
  HASH_BYTES,
  PAD_PAIRS_BYTES,
  PADS_BYTES,
  POINT_BYTES,
  PROOF_BYTES,
} from "../base/parameters.js";
import { decodePoints, type PublicPoint } from "../base/point.js";
import { type Slices, stretches } from "../base/slices.js";
import { decodeProof, type Proof } from "../parts/proof.js";
import { BodyReader } from "./body-reader.js";
import { BodyWriter } from "./body-writer.js";

export const REVEAL_BYTES = 2 * HASH_BYTES + 2 * POINT_BYTES + 2 * PROOF_BYTES;

/** Between two stops: 4.5 ms of 0.07 ms each (Node 20, one core that is idle). */
const POINTS_DECODED = 64;

/** What a party reveals, in the order of its commitment. */
export interface Reveal {
  readonly salt: Buffer;
  /** P_i */
  readonly share: PublicPoint;
  readonly shareProof: Proof;
  /** Y_i */
  readonly key: PublicPoint;
  readonly keyProof: Proof;
  /** gs_i */
  readonly seed: Buffer;
}

/** The fields that are committed to, the salt first. */
export function revealFields(reveal: Reveal): readonly Buffer[] {
  const { salt, share, shareProof, key, keyProof, seed } = reveal;
  return [salt, share.bytes, shareProof.bytes, key.bytes, keyProof.bytes, seed];
}

export function joined(...fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat(fields);
}

export function decodeKg1(body: Uint8Array): Buffer {
  return new BodyReader(body, HASH_BYTES).bytes(HASH_BYTES);
}

export function decodeKg2(body: Uint8Array): { readonly nonce: Buffer; readonly commitment: Buffer } {
  const reader = new BodyReader(body, 2 * HASH_BYTES);
  const nonce = reader.bytes(HASH_BYTES);
  return reader.whole({ nonce, commitment: reader.bytes(HASH_BYTES) });
}

export function decodeKg3(body: Uint8Array): { readonly commitment: Buffer; readonly reveal: Reveal } {
  const reader = new BodyReader(body, HASH_BYTES + REVEAL_BYTES);
  const commitment = reader.bytes(HASH_BYTES);
  return reader.whole({ commitment, reveal: readReveal(reader) });
}

export interface RevealAndPoints {
  readonly reveal: Reveal;
  readonly points: readonly PublicPoint[];
}

export function* decodeKg4(body: Uint8Array): Slices<RevealAndPoints> {
  const reader = new BodyReader(body, REVEAL_BYTES + BASE_OT_POINTS_BYTES);
  const reveal = readReveal(reader);
  return reader.whole({ reveal, points: yield* readPoints(reader) });
}

export interface PointsAndChallenge {
  readonly points: readonly PublicPoint[];
  readonly challenge: Buffer;
}

export function* decodeKg5(body: Uint8Array): Slices<PointsAndChallenge> {
  const reader = new BodyReader(body, BASE_OT_POINTS_BYTES + PADS_BYTES);
  const points = yield* readPoints(reader);
  return reader.whole({ points, challenge: reader.bytes(PADS_BYTES) });
}

export function decode6(body: Uint8Array): { readonly challenge: Buffer; readonly response: Buffer } {
  const reader = new BodyReader(body, 2 * PADS_BYTES);
  const challenge = reader.bytes(PADS_BYTES);
  return reader.whole({ challenge, response: reader.bytes(PADS_BYTES) });
}

export function decode7(body: Uint8Array): { readonly response: Buffer; readonly opening: Buffer } {
  const reader = new BodyReader(body, PADS_BYTES + PAD_PAIRS_BYTES);
  const response = reader.bytes(PADS_BYTES);
  return reader.whole({ response, opening: reader.bytes(PAD_PAIRS_BYTES) });
}

export function decode8(body: Uint8Array): { readonly opening: Buffer; readonly fin: Buffer } {
  const reader = new BodyReader(body, PAD_PAIRS_BYTES + HASH_BYTES);
  const opening = reader.bytes(PAD_PAIRS_BYTES);
  return reader.whole({ opening, fin: reader.bytes(HASH_BYTES) });
}

/** Two fields of fixed lengths: most flights of a key generation. */
export function pair(left: Uint8Array, right: Uint8Array): Buffer {
  const writer = new BodyWriter(left.byteLength + right.byteLength);
  return writer.raw(left, left.byteLength).raw(right, right.byteLength).finish();
}

export function* readPoints(reader: BodyReader): Slices<readonly PublicPoint[]> {
  const bytes = reader.bytes(BASE_OT_POINTS_BYTES);
  const points: PublicPoint[] = [];
  yield* stretches(BASE_OTS, POINTS_DECODED, (from, to) => {
    points.push(...decodePoints(bytes.subarray(from * POINT_BYTES, to * POINT_BYTES), to - from, "A"));
  });
  return points;
}

function readReveal(reader: BodyReader): Reveal {
  const salt = reader.bytes(HASH_BYTES);
  const share = reader.point("P");
  const shareProof = decodeProof(reader.bytes(PROOF_BYTES), "pok");
  const key = reader.point("Y");
  const keyProof = decodeProof(reader.bytes(PROOF_BYTES), "pokY");
  return { salt, share, shareProof, key, keyProof, seed: reader.bytes(HASH_BYTES) };
}
