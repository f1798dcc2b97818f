/** Bodies of RF1 to RF5 (docs/mpc.md, section 9). The later flights are those of a key generation. */

import { violation } from "../base/outcome.js";
import {
  BASE_OT_POINTS_BYTES,
  HASH_BYTES,
  PADS_BYTES,
  POINT_BYTES,
  PROOF_BYTES,
  SCALAR_BYTES,
} from "../base/parameters.js";
import type { PublicPoint } from "../base/point.js";
import { encodeScalar } from "../base/scalar.js";
import type { Slices } from "../base/slices.js";
import { decodeProof, type Proof } from "../parts/proof.js";
import type { RefreshMode } from "../state/state-row.js";
import { BodyReader } from "./body-reader.js";
import { BodyWriter } from "./body-writer.js";
import { readPoints } from "./keygen-bodies.js";

const CTR_BYTES = 8;
const RF1_BYTES = 2 * HASH_BYTES + 2 * CTR_BYTES + 1;
const REVEAL_BYTES = 2 * HASH_BYTES + SCALAR_BYTES + POINT_BYTES + PROOF_BYTES;

/** What a party reveals in a refresh, in the order of its commitment. */
export interface RefreshReveal {
  readonly salt: Buffer;
  readonly delta: bigint;
  readonly key: PublicPoint;
  readonly keyProof: Proof;
  readonly seed: Buffer;
}

export function refreshFields(reveal: RefreshReveal): readonly Buffer[] {
  const { salt, delta, key, keyProof, seed } = reveal;
  return [salt, encodeScalar(delta), key.bytes, keyProof.bytes, seed];
}

export interface Rf1Body {
  readonly nonce: Uint8Array;
  readonly ctr: bigint;
  /** What C's ctr is at least, unless its store was put back. */
  readonly peerCtr: bigint;
  readonly tag: Uint8Array;
  readonly mode: RefreshMode;
}

export function encodeRf1(body: Rf1Body): Buffer {
  const writer = new BodyWriter(RF1_BYTES).raw(body.nonce, HASH_BYTES).u64(body.ctr).u64(body.peerCtr);
  return writer.raw(body.tag, HASH_BYTES).u8(body.mode).finish();
}

export function decodeRf1(body: Uint8Array): Rf1Body {
  const reader = new BodyReader(body, RF1_BYTES);
  const nonce = reader.bytes(HASH_BYTES);
  const ctr = reader.u64();
  const peerCtr = reader.u64();
  const tag = reader.bytes(HASH_BYTES);
  const mode = reader.whole(reader.u8());
  if (mode !== 0 && mode !== 1 && mode !== 2) throw violation("mode");
  // C has no ctr that S did not give it.
  if (peerCtr > ctr) throw violation("peerCtr");
  return { nonce, ctr, peerCtr, tag, mode };
}

export interface Rf2Body {
  readonly nonce: Uint8Array;
  readonly ctr: bigint;
  readonly tag: Uint8Array;
  readonly commitment: Uint8Array;
}

export function encodeRf2(body: Rf2Body): Buffer {
  const writer = new BodyWriter(3 * HASH_BYTES + CTR_BYTES).raw(body.nonce, HASH_BYTES).u64(body.ctr);
  return writer.raw(body.tag, HASH_BYTES).raw(body.commitment, HASH_BYTES).finish();
}

export function decodeRf2(body: Uint8Array): Rf2Body {
  const reader = new BodyReader(body, 3 * HASH_BYTES + CTR_BYTES);
  const nonce = reader.bytes(HASH_BYTES);
  const ctr = reader.u64();
  const tag = reader.bytes(HASH_BYTES);
  return reader.whole({ nonce, ctr, tag, commitment: reader.bytes(HASH_BYTES) });
}

export function decodeRf3(body: Uint8Array): { readonly commitment: Buffer; readonly reveal: RefreshReveal } {
  const reader = new BodyReader(body, HASH_BYTES + REVEAL_BYTES);
  const commitment = reader.bytes(HASH_BYTES);
  return reader.whole({ commitment, reveal: readReveal(reader) });
}

export interface Rf4Body {
  readonly reveal: RefreshReveal;
  readonly shareProof: Proof;
  readonly points: readonly PublicPoint[];
}

export function* decodeRf4(body: Uint8Array): Slices<Rf4Body> {
  const reader = new BodyReader(body, REVEAL_BYTES + PROOF_BYTES + BASE_OT_POINTS_BYTES);
  const reveal = readReveal(reader);
  const shareProof = decodeProof(reader.bytes(PROOF_BYTES), "pokP");
  return reader.whole({ reveal, shareProof, points: yield* readPoints(reader) });
}

export interface Rf5Body {
  readonly shareProof: Proof;
  readonly points: readonly PublicPoint[];
  readonly challenge: Buffer;
}

export function* decodeRf5(body: Uint8Array): Slices<Rf5Body> {
  const reader = new BodyReader(body, PROOF_BYTES + BASE_OT_POINTS_BYTES + PADS_BYTES);
  const shareProof = decodeProof(reader.bytes(PROOF_BYTES), "pokP");
  const points = yield* readPoints(reader);
  return reader.whole({ shareProof, points, challenge: reader.bytes(PADS_BYTES) });
}

function readReveal(reader: BodyReader): RefreshReveal {
  const salt = reader.bytes(HASH_BYTES);
  const delta = reader.scalar("delta");
  const key = reader.point("Y");
  const keyProof = decodeProof(reader.bytes(PROOF_BYTES), "pokY");
  return { salt, delta, key, keyProof, seed: reader.bytes(HASH_BYTES) };
}
