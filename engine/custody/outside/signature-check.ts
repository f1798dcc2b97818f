/**
 * What an outside signer hands over, before anything uses it: a signature that recovers to the wallet's key, and a key
 * that belongs to its address. What fails here goes no further.
 */
import { SIGNATURE_TEXT } from "../../key-registrar.js";
import { isSame } from "../mpc/base/bits.js";
import type { SignatureVerifier } from "../mpc/parts/final-signature.js";
import { decodePoint, uncompressed } from "../mpc/base/point.js";
import { HALF_ORDER, ORDER, readScalar } from "../mpc/base/scalar.js";
import { addressBytesOf, addressText } from "../provider/wallet-names.js";
import type { OutsideWallet } from "./outside-signer.js";

const PUBLIC_KEY = /^0x0[23][0-9a-fA-F]{64}$/;
const WALLET_REF = /^[\x21-\x7e]{1,128}$/;
const RS_BYTES = 64;
const V_BASE = 27;

/** Lower-case `0x` hex; null: it is none of this key over this digest in the one form that is taken. */
export function checkedSignature(
  text: string,
  digest: Uint8Array,
  publicKey: string,
  verifier: SignatureVerifier,
): string | null {
  if (!SIGNATURE_TEXT.test(text)) return null;
  const bytes = Buffer.from(text.slice(2), "hex");
  const [r, s] = [readScalar(bytes, 0), readScalar(bytes, RS_BYTES / 2)];
  if (r === 0n || r >= ORDER || s === 0n || s > HALF_ORDER) return null;
  const recoveryId = (bytes[RS_BYTES] ?? 0) - V_BASE;
  if (recoveryId !== 0 && recoveryId !== 1) return null;
  const rs = bytes.subarray(0, RS_BYTES);
  const key = decodePoint(Buffer.from(publicKey.slice(2), "hex"), "P");
  const recovered = verifier.recover(digest, rs, recoveryId);
  if (recovered === null || !isSame(recovered, uncompressed(key))) return null;
  return verifier.verify(digest, rs, key.bytes) ? `0x${bytes.toString("hex")}` : null;
}

export interface CheckedWallet {
  readonly walletRef: string;
  /** Lower case. */
  readonly publicKey: string;
  /** EIP-55. */
  readonly address: string;
}

/** Null: no key of the curve, or one of another address. */
export function checkedWallet({ walletRef, publicKey, address }: OutsideWallet): CheckedWallet | null {
  if (!WALLET_REF.test(walletRef) || !PUBLIC_KEY.test(publicKey)) return null;
  const ofKey = addressOfKey(Buffer.from(publicKey.slice(2), "hex"));
  if (ofKey === null || ofKey.toLowerCase() !== address.toLowerCase()) return null;
  return { walletRef, publicKey: publicKey.toLowerCase(), address: ofKey };
}

function addressOfKey(publicKey: Uint8Array): string | null {
  try {
    return addressText(addressBytesOf(publicKey));
  } catch {
    // An x that no point has: an answer, not an error.
    return null;
  }
}
