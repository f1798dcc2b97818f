/** Transactions of a step: what is signed, and the bytes that a chain takes, both from the fields of the row alone. */
import { addressToBytes, concat, keccak256, readHex, toHex, uintOfBytes } from "../custody/digest/bytes.js";
import { rlpEncode, type RlpItem, rlpInteger } from "../custody/digest/rlp.js";
import type { UnsignedTransaction } from "../custody/provider/wallet-provider.js";
import type { StoredStep, StoredVersion } from "./transfer-row.js";

export interface RawTransaction {
  readonly bytes: Uint8Array;
  /** `0x` and 64 hex digits. */
  readonly hash: string;
}

type StepFields = Pick<StoredStep, "to" | "data" | "nonce" | "gasLimit">;
type Price = Pick<StoredVersion, "maxFeePerGas" | "maxPriorityFeePerGas">;

const TYPE_1559 = 0x02;
const WORD_BYTES = 32;
const SIGNATURE_BYTES = 65;
/** v of the first of the two points. */
const V_OFFSET = 27;

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
  return toHex(keccak256(concat([Uint8Array.of(TYPE_1559), rlpEncode(fieldsOf(chainId, step, price))])));
}

/** Null: the signature is none of 65 bytes with v 27 or 28. */
export function rawOf(chainId: number, step: StepFields, price: Price, signature: string): RawTransaction | null {
  const bytes = readHex(signature);
  if (bytes?.length !== SIGNATURE_BYTES) return null;
  const parity = (bytes[SIGNATURE_BYTES - 1] ?? 0) - V_OFFSET;
  if (parity !== 0 && parity !== 1) return null;
  const r = uintOfBytes(bytes.subarray(0, WORD_BYTES));
  const s = uintOfBytes(bytes.subarray(WORD_BYTES, 2 * WORD_BYTES));
  const fields = [...fieldsOf(chainId, step, price), rlpInteger(BigInt(parity)), rlpInteger(r), rlpInteger(s)];
  const raw = concat([Uint8Array.of(TYPE_1559), rlpEncode(fields)]);
  return { bytes: raw, hash: toHex(keccak256(raw)) };
}

function fieldsOf(chainId: number, step: StepFields, price: Price): RlpItem[] {
  return [
    rlpInteger(BigInt(chainId)),
    rlpInteger(BigInt(step.nonce)),
    rlpInteger(BigInt(price.maxPriorityFeePerGas)),
    rlpInteger(BigInt(price.maxFeePerGas)),
    rlpInteger(BigInt(step.gasLimit)),
    addressToBytes(step.to),
    rlpInteger(0n),
    dataOf(step.data),
    [],
  ];
}

function dataOf(hex: string): Uint8Array {
  const bytes = readHex(hex);
  if (bytes === null) throw new RangeError("the data of a step is no hex");
  return bytes;
}
