/** Proof of knowledge of x in X = x G (docs/mpc.md, section 5): 65 bytes T ‖ z, bound to prover, purpose and session. */
import type { Arena } from "../base/arena.js";
import { type HashScope, hashToScalar } from "../base/hash.js";
import { PROOF_BYTES, type Party, POINT_BYTES } from "../base/parameters.js";
import { baseTimes, decodePoint, encodePublic, type PublicPoint, publicTimes, samePoint, sum } from "../base/point.js";
import { drawScalar, type RandomSource } from "../base/random.js";
import { decodeScalar, reduced, writeScalar } from "../base/scalar.js";
import { violation } from "../base/outcome.js";

export type ProofPurpose = "share" | "ot";

export interface ProofContext {
  /** sid = gsid or rsid. */
  readonly scope: HashScope;
  readonly purpose: ProofPurpose;
  readonly prover: Party;
}

/** A proof as it was received: its 65 bytes, and what they are. */
export interface Proof {
  readonly bytes: Buffer;
  readonly commitment: PublicPoint;
  readonly response: bigint;
}

/** Asks the generator for `pok/share` or `pok/ot`. */
export function prove(
  context: ProofContext,
  secret: bigint,
  statement: PublicPoint,
  random: RandomSource,
  arena: Arena,
): Buffer {
  const nonce = drawScalar(random, `pok/${context.purpose}`, arena);
  const commitment = encodePublic(baseTimes(nonce));
  const bytes = Buffer.alloc(PROOF_BYTES);
  bytes.set(commitment.bytes);
  writeScalar(reduced(nonce + challenge(context, statement, commitment) * secret), bytes, POINT_BYTES);
  return bytes;
}

/** Malformed bytes are a violation. */
export function decodeProof(bytes: Uint8Array, field: string): Proof {
  if (bytes.length !== PROOF_BYTES) throw violation(field);
  return {
    bytes: Buffer.from(bytes),
    commitment: decodePoint(bytes.subarray(0, POINT_BYTES), field),
    response: decodeScalar(bytes.subarray(POINT_BYTES), field),
  };
}

/** `context.prover` is the other party's index. */
export function isProven(context: ProofContext, statement: PublicPoint, proof: Proof): boolean {
  const share = publicTimes(statement.point, challenge(context, statement, proof.commitment));
  return samePoint(baseTimes(proof.response), sum(proof.commitment.point, share));
}

function challenge(context: ProofContext, statement: PublicPoint, commitment: PublicPoint): bigint {
  const place = { actor: context.prover };
  return hashToScalar(context.scope, `pok/${context.purpose}`, place, statement.bytes, commitment.bytes);
}
