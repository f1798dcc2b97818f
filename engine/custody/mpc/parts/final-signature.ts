/** Shares of the signature, and what both make of them (docs/mpc.md, sections 8.4 and 8.5). */
import type { Point, PublicPoint } from "../base/point.js";

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

/** Public values only; the native binding may stand behind it. */
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
export declare function jointNonce(own: PublicPoint, other: PublicPoint): JointNonce;

export declare function signatureShare(terms: SignatureTerms): SignatureShare;

/** s, v and their proof. A zero u or s, or a signature that does not verify, is a cheat; v ≥ 2 is transport. */
export declare function finalSignature(input: FinalSignatureInput): FinalSignature;

/** SHA-256(r ‖ s ‖ v): F6. */
export declare function signatureHash(signature: FinalSignature): Buffer;

/** By the curve library, for platforms without the native binding. */
export declare const portableVerifier: SignatureVerifier;
