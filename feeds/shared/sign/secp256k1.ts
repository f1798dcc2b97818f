// hot path
/**
 * secp256k1 signatures behind one small port: the native binding where a prebuilt binary exists, @noble/curves
 * otherwise. Both are deterministic (RFC 6979, no extra entropy) with low s, so they give the same bytes; the test
 * holds them against each other and against viem. An order waits for exactly one signature: hashing included it is
 * about 6 times as fast with the binding as without, 9 times as with viem (Node 20.20, two busy cores, 2026-11-21).
 */
import { createRequire } from "node:module";
import { secp256k1 as noble } from "@noble/curves/secp256k1";

export interface Secp256k1 {
  readonly kind: "native" | "js";
  /** 32 bytes, not zero, below the group order. */
  isPrivateKey(privateKey: Uint8Array): boolean;
  /** Uncompressed, 65 bytes, first byte 4. The key must have passed `isPrivateKey`. */
  publicKey(privateKey: Uint8Array): Uint8Array;
  /** Writes r ‖ s into `outRs` (64 bytes) and returns the recovery id. Allocates nothing of ours on the native path. */
  sign(digest: Uint8Array, privateKey: Uint8Array, outRs: Uint8Array): number;
  /** Uncompressed public key of the signer; null if no point fits the signature. */
  recover(digest: Uint8Array, rs: Uint8Array, recoveryId: number): Uint8Array | null;
  /** Of a public key of 33 or 65 bytes. A high s, and what is no point, are false. */
  verify(digest: Uint8Array, rs: Uint8Array, publicKey: Uint8Array): boolean;
}

/** The package root has these types, but would fall back to a slow library silently: its binding is loaded by name. */
type NativeBinding = typeof import("secp256k1");

const SIGNATURE_BYTES = 64;
const PRIVATE_KEY_BYTES = 32;

/** Null where the platform has no prebuilt binary. */
export function createNativeSecp256k1(): Secp256k1 | null {
  const require = createRequire(import.meta.url);
  let binding: NativeBinding;
  try {
    binding = require("secp256k1/bindings") as NativeBinding;
  } catch {
    // No binary for this platform is a supported state: the caller takes the portable implementation.
    return null;
  }
  return {
    kind: "native",
    isPrivateKey: (privateKey) => privateKey.length === PRIVATE_KEY_BYTES && binding.privateKeyVerify(privateKey),
    publicKey: (privateKey) => binding.publicKeyCreate(privateKey, false),
    sign: (digest, privateKey, outRs) => binding.ecdsaSign(digest, privateKey, undefined, outRs).recid,
    recover(digest, rs, recoveryId) {
      try {
        return binding.ecdsaRecover(rs, recoveryId, digest, false);
      } catch {
        // The binding throws for r, s or a recovery id that belong to no point: for a caller that is an answer.
        return null;
      }
    },
    verify(digest, rs, publicKey) {
      try {
        return binding.ecdsaVerify(rs, digest, publicKey);
      } catch {
        // As above.
        return false;
      }
    },
  };
}

export function createPortableSecp256k1(): Secp256k1 {
  return {
    kind: "js",
    isPrivateKey: (privateKey) => privateKey.length === PRIVATE_KEY_BYTES && noble.utils.isValidPrivateKey(privateKey),
    publicKey: (privateKey) => noble.getPublicKey(privateKey, false),
    sign(digest, privateKey, outRs) {
      const signature = noble.sign(digest, privateKey, { lowS: true, prehash: false });
      outRs.set(signature.toCompactRawBytes());
      return signature.recovery;
    },
    recover(digest, rs, recoveryId) {
      try {
        const signature = noble.Signature.fromCompact(rs.subarray(0, SIGNATURE_BYTES)).addRecoveryBit(recoveryId);
        return signature.recoverPublicKey(digest).toRawBytes(false);
      } catch {
        // As above: a signature that fits no point has no signer.
        return null;
      }
    },
    verify(digest, rs, publicKey) {
      try {
        return noble.verify(rs.subarray(0, SIGNATURE_BYTES), digest, publicKey, { lowS: true, prehash: false });
      } catch {
        return false;
      }
    },
  };
}

/** The implementation of this process, chosen once at load. It holds no state, so sharing it shares nothing. */
export const secp256k1: Secp256k1 = createNativeSecp256k1() ?? createPortableSecp256k1();
