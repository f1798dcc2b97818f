/**
 * From a transaction and the wallet's signature of it to the bytes that a chain takes. Invariant: it is the transaction
 * that was signed, for the digest is computed again.
 */
import { readHex, toHex } from "../digest/bytes.js";
import { type RawTransaction, rawTransaction, transactionDigest } from "../digest/transaction.js";
import { transactionToSign } from "./signing-intent.js";
import type { UnsignedTransaction, WalletSignature } from "./wallet-provider.js";

const RS_BYTES = 64;
/** v of a wallet's signature is this and the recovery id. */
const V_OFFSET = 27;

/**
 * Throws INVALID_PARAMETERS for a transaction that could not have been signed, RangeError for a signature of another one or
 * of another shape.
 */
export function signedTransaction(unsigned: UnsignedTransaction, signed: WalletSignature): RawTransaction {
  const transaction = transactionToSign(unsigned);
  if (toHex(transactionDigest(transaction)) !== signed.digest.toLowerCase())
    throw new RangeError("the signature is of another transaction");
  const bytes = readHex(signed.signature);
  const v = bytes?.[RS_BYTES];
  if (bytes?.length !== RS_BYTES + 1 || v === undefined) throw new RangeError("a wallet's signature has 65 bytes");
  return rawTransaction(transaction, bytes.subarray(0, RS_BYTES), v - V_OFFSET);
}
