/** Transactions of a step: what is signed, and the bytes that a chain takes, both from the fields of the row alone. */
import { readHex, toHex } from "../custody/digest/bytes.js";
import { transactionDigest } from "../custody/digest/transaction.js";
import { signedTransaction } from "../custody/provider/signed-transaction.js";
import { transactionToSign } from "../custody/provider/signing-intent.js";
import type { UnsignedTransaction } from "../custody/provider/wallet-provider.js";
import type { StoredStep, StoredVersion } from "./transfer-row.js";

interface SignedBytes {
  readonly bytes: Uint8Array;
  /** `0x` and 64 hex digits. */
  readonly hash: string;
}

type StepFields = Pick<StoredStep, "to" | "data" | "nonce" | "gasLimit">;
type Price = Pick<StoredVersion, "maxFeePerGas" | "maxPriorityFeePerGas">;

export function unsignedOf(chainId: number, step: StepFields, price: Price): UnsignedTransaction {
  return {
    type: "eip1559",
    chainId: BigInt(chainId),
    nonce: BigInt(step.nonce),
    maxPriorityFeePerGas: BigInt(price.maxPriorityFeePerGas),
    maxFeePerGas: BigInt(price.maxFeePerGas),
    gasLimit: BigInt(step.gasLimit),
    to: step.to,
    value: 0n,
    data: dataOf(step.data),
  };
}

/** `0x` and 64 hex digits: what the wallet signs. */
export function digestOf(chainId: number, step: StepFields, price: Price): string {
  return toHex(transactionDigest(transactionToSign(unsignedOf(chainId, step, price))));
}

/** Null: the signature is none of 65 bytes with v 27 or 28. */
export function rawOf(chainId: number, step: StepFields, price: Price, signature: string): SignedBytes | null {
  const unsigned = unsignedOf(chainId, step, price);
  const digest = digestOf(chainId, step, price);
  try {
    const { raw, hash } = signedTransaction(unsigned, { signature, digest });
    return { bytes: raw, hash };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function dataOf(hex: string): Uint8Array {
  const bytes = readHex(hex);
  if (bytes === null) throw new RangeError("the data of a step is no hex");
  return bytes;
}
