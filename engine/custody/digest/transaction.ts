/**
 * Digests of the two kinds of transactions that are signed: EIP-1559 with an empty access list, and legacy with the
 * chain id of EIP-155; and the bytes that are sent once there is a signature. There is none without a chain id, and none
 * that deploys a contract.
 */
import { addressToBytes, concat, keccak256, toHex, uintOfBytes } from "./bytes.js";
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
const SIGNATURE_BYTES = 64;
const HALF_BYTES = SIGNATURE_BYTES / 2;
/** EIP-155: v is twice the chain id, this, and the recovery id. */
const V_OFFSET = 35n;

export function transactionDigest(transaction: Transaction): Uint8Array {
  const fields = fieldsOf(transaction);
  if (transaction.type === "eip1559") return keccak256(typed(fields));
  return keccak256(rlpEncode([...fields, rlpInteger(transaction.chainId), rlpInteger(0n), rlpInteger(0n)]));
}

export interface RawTransaction {
  /** What `eth_sendRawTransaction` takes. */
  readonly raw: Uint8Array;
  /** By which the chain knows it: `0x` and 64 hex digits. */
  readonly hash: string;
}

/** Throws RangeError unless the signature is r ‖ s of 64 bytes and a recovery id of 0 or 1. */
export function rawTransaction(transaction: Transaction, rs: Uint8Array, recoveryId: number): RawTransaction {
  if (rs.length !== SIGNATURE_BYTES || (recoveryId !== 0 && recoveryId !== 1))
    throw new RangeError("a signature is r and s of 64 bytes and a recovery id of 0 or 1");
  // As integers: a chain refuses leading zeros.
  const [r, s] = [rs.subarray(0, HALF_BYTES), rs.subarray(HALF_BYTES)].map((half) => rlpInteger(uintOfBytes(half)));
  if (r === undefined || s === undefined) throw new RangeError("a signature has two halves");
  const fields = fieldsOf(transaction);
  const parity = BigInt(recoveryId);
  const raw =
    transaction.type === "eip1559"
      ? typed([...fields, rlpInteger(parity), r, s])
      : rlpEncode([...fields, rlpInteger(2n * transaction.chainId + V_OFFSET + parity), r, s]);
  return { raw, hash: toHex(keccak256(raw)) };
}

/** In the order of the encoding, without the chain id of a legacy one, which is in its signature. */
function fieldsOf(transaction: Transaction): readonly RlpItem[] {
  const { chainId, nonce, gasLimit, to, value, data } = transaction;
  const tail: readonly RlpItem[] = [rlpInteger(gasLimit), addressToBytes(to), rlpInteger(value), data];
  if (transaction.type === "legacy") return [rlpInteger(nonce), rlpInteger(transaction.gasPrice), ...tail];
  const fees = [rlpInteger(transaction.maxPriorityFee), rlpInteger(transaction.maxFee)];
  return [rlpInteger(chainId), rlpInteger(nonce), ...fees, ...tail, []];
}

function typed(fields: readonly RlpItem[]): Uint8Array {
  return concat([Uint8Array.of(TYPE_1559), rlpEncode(fields)]);
}

/** The most that the transaction can cost in gas, in wei. */
export function highestGasCost(transaction: Transaction): bigint {
  return transaction.gasLimit * (transaction.type === "legacy" ? transaction.gasPrice : transaction.maxFee);
}
