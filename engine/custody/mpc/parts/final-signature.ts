/** Shares of the signature, and what both make of them (docs/mpc.md, sections 8.4 and 8.5). */
import { secp256k1 } from "@noble/curves/secp256k1";
import { isSame } from "../base/bits.js";
import { sha256 } from "../base/hash.js";
import { cheat, transport, violation } from "../base/outcome.js";
import { SCALAR_BYTES } from "../base/parameters.js";
import { coordinates, isIdentity, type Point, type PublicPoint, sum, uncompressed } from "../base/point.js";
import { digestScalar, HALF_ORDER, inversePublic, ORDER, reduced, writeScalar } from "../base/scalar.js";

/** What one party knows at the end of its checks. Nothing of it but u and w leaves. */
export interface SignatureTerms {
  readonly k: bigint;
  readonly share: bigint;
  readonly phi: bigint;
  /** psi of the other. */
  readonly otherPsi: bigint;
  /** c_0 = cu, c_1 = cv of the own direction; d_0 = du, d_1 = dv of the other's. */
  readonly multiplied: readonly [bigint, bigint];
  readonly chosen: readonly [bigint, bigint];
  readonly digest: Uint8Array;
  readonly r: bigint;
}

export interface SignatureShare {
  readonly u: bigint;
  readonly w: bigint;
}

export interface JointNonce {
  readonly point: Point;
  readonly r: bigint;
}

export interface FinalSignature {
  readonly r: bigint;
  readonly s: bigint;
  readonly recoveryId: 0 | 1;
  /** r ‖ s, 64 bytes. */
  readonly bytes: Buffer;
}

/** Public values only; the native binding may be behind it. */
export interface SignatureVerifier {
  /** Uncompressed public key, 65 bytes; null where the signature fits no point. */
  recover(digest: Uint8Array, rs: Uint8Array, recoveryId: number): Uint8Array | null;
  verify(digest: Uint8Array, rs: Uint8Array, publicKey: Uint8Array): boolean;
}

export interface FinalSignatureInput {
  readonly shares: readonly [SignatureShare, SignatureShare];
  readonly nonce: JointNonce;
  readonly digest: Uint8Array;
  /** P as it is stored. */
  readonly publicKey: PublicPoint;
  readonly verifier: SignatureVerifier;
}

/** R = R_0 + R_1 and r. The identity and r = 0 are a violation. */
export function jointNonce(own: PublicPoint, other: PublicPoint): JointNonce {
  const point = sum(own.point, other.point);
  if (isIdentity(point)) throw violation("R");
  const r = coordinates(point).x % ORDER;
  if (r === 0n) throw violation("r");
  return { point, r };
}

/** v of a party never leaves this function. */
export function signatureShare(terms: SignatureTerms): SignatureShare {
  const { k, share, phi, otherPsi, multiplied, chosen, digest, r } = terms;
  const factor = reduced(phi + otherPsi);
  const u = reduced(k * factor + multiplied[0] + chosen[0]);
  const v = reduced(share * factor + multiplied[1] + chosen[1]);
  return { u, w: reduced(digestScalar(digest) * phi + r * v) };
}

/** s, v and their proof. A zero u or s, or a signature that does not verify, is a cheat; v ≥ 2 is transport. */
export function finalSignature(input: FinalSignatureInput): FinalSignature {
  const { shares, nonce, digest, publicKey, verifier } = input;
  digestScalar(digest);
  const u = reduced(shares[0].u + shares[1].u);
  if (u === 0n) throw cheat("final-signature");
  const s = reduced((shares[0].w + shares[1].w) * inversePublic(u));
  if (s === 0n) throw cheat("final-signature");
  const { x, isOdd } = coordinates(nonce.point);
  if (x >= ORDER) throw transport("recovery-id");
  const isHigh = s > HALF_ORDER;
  const recoveryId = isOdd === isHigh ? 0 : 1;
  const low = isHigh ? ORDER - s : s;
  const bytes = Buffer.alloc(2 * SCALAR_BYTES);
  writeScalar(nonce.r, bytes, 0);
  writeScalar(low, bytes, SCALAR_BYTES);
  const recovered = verifier.recover(digest, bytes, recoveryId);
  // The whole key and not the address alone: an equal key has an equal address.
  const isRecovered = recovered !== null && isSame(recovered, uncompressed(publicKey));
  if (!verifier.verify(digest, bytes, publicKey.bytes) || !isRecovered) throw cheat("final-signature");
  return { r: nonce.r, s: low, recoveryId, bytes };
}

/** SHA-256(r ‖ s ‖ v): F6. */
export function signatureHash(signature: FinalSignature): Buffer {
  return sha256(Buffer.concat([signature.bytes, Uint8Array.of(signature.recoveryId)]));
}

/** @testonly By the curve library alone. The processes have that of feeds/shared/sign. */
export const portableVerifier: SignatureVerifier = {
  recover(digest, rs, recoveryId) {
    try {
      const signature = secp256k1.Signature.fromCompact(rs).addRecoveryBit(recoveryId);
      return signature.recoverPublicKey(digest).toRawBytes(false);
    } catch {
      // r or s that belong to no point: an answer, not an error.
      return null;
    }
  },
  verify: (digest, rs, publicKey) => secp256k1.verify(rs, digest, publicKey, { lowS: true, prehash: false }),
};
