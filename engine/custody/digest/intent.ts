/**
 * The intent: what is to be signed, as bytes between the two parties (docs/mpc.md section 12). Each reads it for itself
 * and computes the digest from what it read. One encoding per intent: the kind, the origin, then fields with their
 * length before them, and nothing behind.
 */
import { addressOfBytes, addressToBytes, concat, uintOfBytes, uintToBytes, WORD_BYTES } from "./bytes.js";
import { messageDigest } from "./message.js";
import { type Transaction, transactionDigest } from "./transaction.js";
import { typedDataDigest } from "./typed-data-hash.js";
import { readTypedData } from "./typed-data-reader.js";
import type { TypedData } from "./typed-data-types.js";

export const MAX_INTENT_BYTES = 131_072;
/** Of a message, a typed-data text and calldata alike. */
export const MAX_PAYLOAD_BYTES = 65_536;

/** `caller`: a caller of the sign route chose what is signed. `service`: an act that the service built itself. */
export type IntentOrigin = "caller" | "service";
const ORIGINS: readonly IntentOrigin[] = ["caller", "service"];

export type IntentInput =
  | { readonly kind: "message"; readonly origin: IntentOrigin; readonly message: Uint8Array }
  | { readonly kind: "typedData"; readonly origin: IntentOrigin; readonly json: Uint8Array }
  | { readonly kind: "transaction"; readonly origin: IntentOrigin; readonly transaction: Transaction }
  | { readonly kind: "digest"; readonly origin: IntentOrigin; readonly digest: Uint8Array };

/** What the other party's bytes say. */
export type SignIntent =
  | Exclude<IntentInput, { kind: "typedData" }>
  | { readonly kind: "typedData"; readonly origin: IntentOrigin; readonly json: Uint8Array; readonly typed: TypedData };

/** The digest of `test` is the protocol's, for the epoch that it prepares. */
export type Intent = SignIntent | { readonly kind: "test" };

export type DecodedIntent =
  | { readonly ok: true; readonly intent: Intent }
  | { readonly ok: false; readonly problem: string };

const TEST = 0;
const MESSAGE = 1;
const TYPED_DATA = 2;
const TRANSACTION_1559 = 3;
const TRANSACTION_LEGACY = 4;
const DIGEST = 5;
const U64_BYTES = 8;
const U32_BYTES = 4;
const ADDRESS_BYTES = 20;

/** Lengths of the fields of each kind; null: up to MAX_PAYLOAD_BYTES. */
const FIELD_LENGTHS: ReadonlyMap<number, readonly (number | null)[]> = new Map<number, readonly (number | null)[]>([
  [MESSAGE, [null]],
  [TYPED_DATA, [null]],
  [TRANSACTION_1559, [U64_BYTES, U64_BYTES, WORD_BYTES, WORD_BYTES, U64_BYTES, ADDRESS_BYTES, WORD_BYTES, null]],
  [TRANSACTION_LEGACY, [U64_BYTES, U64_BYTES, WORD_BYTES, U64_BYTES, ADDRESS_BYTES, WORD_BYTES, null]],
  [DIGEST, [WORD_BYTES]],
]);

/** Throws RangeError for an integer that its field cannot hold. What is refused otherwise `decodeIntent` says. */
export function encodeIntent(input: IntentInput): Uint8Array {
  const [kind, fields] = fieldsOf(input);
  const framed = fields.flatMap((field) => [uintToBytes(BigInt(field.length), U32_BYTES), field]);
  return concat([Uint8Array.of(kind, ORIGINS.indexOf(input.origin)), ...framed]);
}

function fieldsOf(input: IntentInput): [number, readonly Uint8Array[]] {
  switch (input.kind) {
    case "message":
      return [MESSAGE, [input.message]];
    case "typedData":
      return [TYPED_DATA, [input.json]];
    case "digest":
      return [DIGEST, [input.digest]];
    case "transaction": {
      const { transaction } = input;
      const { chainId, nonce, gasLimit, to, value, data } = transaction;
      const head = [uintToBytes(chainId, U64_BYTES), uintToBytes(nonce, U64_BYTES)];
      const tail = [uintToBytes(gasLimit, U64_BYTES), addressToBytes(to), uintToBytes(value, WORD_BYTES), data];
      if (transaction.type === "legacy")
        return [TRANSACTION_LEGACY, [...head, uintToBytes(transaction.gasPrice, WORD_BYTES), ...tail]];
      const fees = [transaction.maxPriorityFee, transaction.maxFee].map((fee) => uintToBytes(fee, WORD_BYTES));
      return [TRANSACTION_1559, [...head, ...fees, ...tail]];
    }
  }
}

/** Returns copies: the frame that the bytes came in may be reused. */
export function decodeIntent(bytes: Uint8Array): DecodedIntent {
  if (bytes.length > MAX_INTENT_BYTES) return refuse("the intent is too long");
  const [kind, originByte] = bytes;
  if (kind === TEST) return bytes.length === 1 ? { ok: true, intent: { kind: "test" } } : refuse("more than a test");
  const lengths = kind === undefined ? undefined : FIELD_LENGTHS.get(kind);
  const origin = originByte === undefined ? undefined : ORIGINS[originByte];
  if (kind === undefined || lengths === undefined) return refuse("unknown kind of intent");
  if (origin === undefined) return refuse("unknown origin");
  const fields = cutFields(bytes, lengths);
  if (fields === null) return refuse("a field has another length than its kind allows");
  return intentOf(kind, origin, fields);
}

/** Returns null unless the bytes behind kind and origin are exactly the fields. */
function cutFields(bytes: Uint8Array, lengths: readonly (number | null)[]): readonly Uint8Array[] | null {
  const fields: Uint8Array[] = [];
  let offset = 2;
  for (const expected of lengths) {
    const start = offset + U32_BYTES;
    if (start > bytes.length) return null;
    const length = Number(uintOfBytes(bytes.subarray(offset, start)));
    offset = start + length;
    if (offset > bytes.length || (expected === null ? length > MAX_PAYLOAD_BYTES : length !== expected)) return null;
    fields.push(bytes.slice(start, offset));
  }
  return offset === bytes.length ? fields : null;
}

function intentOf(kind: number, origin: IntentOrigin, fields: readonly Uint8Array[]): DecodedIntent {
  const field = (index: number): Uint8Array => {
    const bytes = fields[index];
    if (bytes === undefined) throw new RangeError(`the intent has no field ${index}`);
    return bytes;
  };
  if (kind === MESSAGE) return { ok: true, intent: { kind: "message", origin, message: field(0) } };
  if (kind === DIGEST) return { ok: true, intent: { kind: "digest", origin, digest: field(0) } };
  if (kind === TYPED_DATA) {
    const json = field(0);
    const read = readTypedData(json);
    return read.ok ? { ok: true, intent: { kind: "typedData", origin, json, typed: read.typed } } : read;
  }
  const uint = (index: number): bigint => uintOfBytes(field(index));
  const head = { chainId: uint(0), nonce: uint(1) };
  if (head.chainId === 0n) return refuse("chain id 0 is every chain");
  const tail = (first: number) => ({
    gasLimit: uint(first),
    to: addressOfBytes(field(first + 1)),
    value: uint(first + 2),
    data: field(first + 3),
  });
  const transaction: Transaction =
    kind === TRANSACTION_LEGACY
      ? { type: "legacy", ...head, gasPrice: uint(2), ...tail(3) }
      : { type: "eip1559", ...head, maxPriorityFee: uint(2), maxFee: uint(3), ...tail(4) };
  return { ok: true, intent: { kind: "transaction", origin, transaction } };
}

function refuse(problem: string): DecodedIntent {
  return { ok: false, problem };
}

/** Computed from what was read, never from what somebody sent. */
export function intentDigest(intent: SignIntent): Uint8Array {
  switch (intent.kind) {
    case "message":
      return messageDigest(intent.message);
    case "typedData":
      return typedDataDigest(intent.typed);
    case "transaction":
      return transactionDigest(intent.transaction);
    case "digest":
      return intent.digest;
  }
}
