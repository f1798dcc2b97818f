/**
 * What this venue wants signed: transactions, auth tokens, and the first-layer text that registers a key (fact sheet 4,
 * 7, 8). Pure: a key and a payload in, bytes out.
 */
import { KeyCache } from "../../shared/sign/key-cache.js";
import { KEY_BYTES, nonceOf, publicKeyOf, randomScalar, signMessage, type SigningNonce } from "./schnorr.js";
import { toBytes } from "./quintic.js";
import { hashText, hashTransaction, transactionText, type TxAttributes, type TxFields } from "./tx.js";

/** Encoding of the neutral element: the key is a multiple of the group's order. */
const NO_KEY = "0".repeat(2 * KEY_BYTES);

/** Public keys as the venue prints them, 80 hex digits; null of a key that signs nothing. */
export function createPublicKeyCache(): KeyCache {
  return new KeyCache(KEY_BYTES, (privateKey) => {
    const publicKey = Buffer.from(publicKeyOf(privateKey)).toString("hex");
    return publicKey === NO_KEY ? null : publicKey;
  });
}

export interface SignedTransaction {
  /** The `tx_info` field. */
  readonly text: string;
  /** As the venue returns it: 80 lower-case hex digits. */
  readonly hash: string;
  readonly signature: Uint8Array;
}

/** `fields` without `Sig`. `nonce` must come from the pool, or be made for this call. */
export function signTransaction(
  chainId: number,
  type: number,
  fields: TxFields,
  attributes: TxAttributes | null,
  privateKey: Uint8Array,
  nonce: SigningNonce = nonceOf(randomScalar()),
): SignedTransaction {
  const message = hashTransaction(chainId, type, fields, attributes);
  const signature = signMessage(message, privateKey, nonce);
  return {
    text: transactionText(type, fields, attributes, signature),
    hash: Buffer.from(toBytes(message)).toString("hex"),
    signature,
  };
}

export function authMessage(deadlineS: number, accountIndex: number, apiKeyIndex: number): string {
  return `${deadlineS}:${accountIndex}:${apiKeyIndex}`;
}

/** The venue takes deadlines at most 8 hours ahead. */
export function signAuthToken(
  message: string,
  privateKey: Uint8Array,
  nonce: SigningNonce = nonceOf(randomScalar()),
): string {
  const signature = signMessage(hashText(message), privateKey, nonce);
  return `${message}:${Buffer.from(signature).toString("hex")}`;
}

const hex16 = (value: number): string => `0x${value.toString(16).padStart(16, "0")}`;

/** Signed with the account's own (first-layer) key when a new API key is registered. The wording is the venue's. */
export function changePublicKeyMessage(
  publicKeyHex: string,
  nonce: number,
  accountIndex: number,
  apiKeyIndex: number,
): string {
  return `Register Lighter Account\n\npubkey: 0x${publicKeyHex}\nnonce: ${hex16(nonce)}\naccount index: ${hex16(accountIndex)}\napi key index: ${hex16(apiKeyIndex)}\nOnly sign this message for a trusted client!`;
}
