/**
 * Digests of the two kinds of transactions that are signed: EIP-1559 with an empty access list, and legacy with the
 * chain id of EIP-155. There is none without a chain id, and none that deploys a contract.
 */
import { addressToBytes, concat, keccak256 } from "./bytes.js";
import { type RlpItem, rlpEncode, rlpInteger } from "./rlp.js";

interface TransactionBase {
  /** At least 1: chain id 0 would be a signature for all chains. */
  readonly chainId: bigint;
  readonly nonce: bigint;
  readonly gasLimit: bigint;
  /** Lower case. */
  readonly to: string;
  /** Wei. */
  readonly value: bigint;
  readonly data: Uint8Array;
}

export interface Transaction1559 extends TransactionBase {
  readonly type: "eip1559";
  /** Wei per gas, as below. */
  readonly maxPriorityFee: bigint;
  readonly maxFee: bigint;
}

export interface TransactionLegacy extends TransactionBase {
  readonly type: "legacy";
  readonly gasPrice: bigint;
}

export type Transaction = Transaction1559 | TransactionLegacy;

const TYPE_1559 = 0x02;

export function transactionDigest(transaction: Transaction): Uint8Array {
  const { chainId, nonce, gasLimit, to, value, data } = transaction;
  const tail: readonly RlpItem[] = [rlpInteger(gasLimit), addressToBytes(to), rlpInteger(value), data];
  if (transaction.type === "legacy") {
    const fields = [rlpInteger(nonce), rlpInteger(transaction.gasPrice), ...tail];
    return keccak256(rlpEncode([...fields, rlpInteger(chainId), rlpInteger(0n), rlpInteger(0n)]));
  }
  const fees = [rlpInteger(transaction.maxPriorityFee), rlpInteger(transaction.maxFee)];
  const body = rlpEncode([rlpInteger(chainId), rlpInteger(nonce), ...fees, ...tail, []]);
  return keccak256(concat([Uint8Array.of(TYPE_1559), body]));
}

/** The most that the transaction can cost in gas, in wei. */
export function highestGasCost(transaction: Transaction): bigint {
  return transaction.gasLimit * (transaction.type === "legacy" ? transaction.gasPrice : transaction.maxFee);
}
