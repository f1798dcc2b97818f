/**
 * What this venue wants signed: transactions, auth tokens, and the first-layer text that registers a key (fact sheet 4,
 * 7, 8). Pure: a key and a payload in, bytes out.
 */
import { nonceOf, randomScalar, signMessage, type SigningNonce } from "./schnorr.js";
import { toBytes } from "./quintic.js";
import { hashText, hashTransaction, transactionText, type TxAttributes, type TxFields } from "./tx.js";

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
