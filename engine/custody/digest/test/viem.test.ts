/** The digests against viem, over seeded intents of each kind that go through their encoding. `FUZZ_RUNS=2000` runs it whole. */
import fc from "fast-check";
import { hashMessage, hashTypedData, keccak256, serializeTransaction, type TransactionSerializable } from "viem";
import { describe, expect, it } from "vitest";
import { toHex } from "../bytes.js";
import { decodeIntent, encodeIntent, type IntentInput, intentDigest, MAX_PAYLOAD_BYTES } from "../intent.js";
import type { Transaction } from "../transaction.js";
import { hex, jsonBytes, typedDataArb } from "./typed-data-cases.js";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 300);

function digestThroughWire(input: IntentInput): string {
  const decoded = decodeIntent(encodeIntent(input));
  if (!decoded.ok) throw new Error(decoded.problem);
  if (decoded.intent.kind === "test") throw new Error("a test intent");
  return toHex(intentDigest(decoded.intent));
}

const origin = fc.constantFrom("caller" as const, "service" as const);
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const wei = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }),
  fc.constant(0n),
  fc.bigInt({ min: 0n, max: 300n }),
);
// viem takes nonces and chain ids as numbers.
const small = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) }));
const data = fc.oneof(fc.uint8Array({ maxLength: 80 }), fc.uint8Array({ minLength: 200, maxLength: 400 }));

const transaction: fc.Arbitrary<Transaction> = fc
  .record({
    type: fc.constantFrom("eip1559" as const, "legacy" as const),
    // EIP-155 puts 2 × chain id + 36 into v; viem's own check of it is a number's.
    chainId: fc.oneof(fc.bigInt({ min: 1n, max: 300n }), fc.bigInt({ min: 1n, max: 1n << 50n })),
    nonce: small,
    gasLimit: u64,
    to: hex(20),
    value: wei,
    data,
    fees: fc.tuple(wei, wei),
  })
  .map(({ type, fees: [a, b], ...fields }) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    return type === "legacy"
      ? { type, ...fields, gasPrice: high }
      : { type, ...fields, maxPriorityFee: low, maxFee: high };
  });

function viemTransaction(ours: Transaction): TransactionSerializable {
  const fields = {
    chainId: Number(ours.chainId),
    nonce: Number(ours.nonce),
    gas: ours.gasLimit,
    to: ours.to as `0x${string}`,
    value: ours.value,
    data: toHex(ours.data) as `0x${string}`,
  };
  return ours.type === "legacy"
    ? { type: "legacy", ...fields, gasPrice: ours.gasPrice }
    : { type: "eip1559", ...fields, maxPriorityFeePerGas: ours.maxPriorityFee, maxFeePerGas: ours.maxFee };
}

describe("digests against viem", () => {
  it(`are equal for ${RUNS} random typed data`, () => {
    fc.assert(
      fc.property(typedDataArb, origin, (typed, from) => {
        const json = jsonBytes(typed);
        fc.pre(json.length <= MAX_PAYLOAD_BYTES);
        const expected = hashTypedData(typed as unknown as Parameters<typeof hashTypedData>[0]);
        expect(digestThroughWire({ kind: "typedData", origin: from, json })).toBe(expected);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it(`are equal for ${RUNS} random messages`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), origin, (message, from) => {
        expect(digestThroughWire({ kind: "message", origin: from, message })).toBe(hashMessage({ raw: message }));
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it(`are equal for ${RUNS} random transactions of both kinds`, () => {
    fc.assert(
      fc.property(transaction, origin, (ours, from) => {
        const fits = ours.type === "eip1559" ? ours.maxFee : ours.gasPrice;
        // viem refuses 2^256 - 1 as a fee; the wire does not.
        fc.pre(fits < (1n << 256n) - 1n);
        expect(digestThroughWire({ kind: "transaction", origin: from, transaction: ours })).toBe(
          keccak256(serializeTransaction(viemTransaction(ours))),
        );
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it("are equal for the longest message and the longest calldata", () => {
    const message = new Uint8Array(65_536).fill(0x61);
    expect(digestThroughWire({ kind: "message", origin: "caller", message })).toBe(hashMessage({ raw: message }));
    const ours: Transaction = {
      type: "legacy",
      chainId: 56n,
      nonce: 0n,
      gasLimit: 21_000n,
      to: `0x${"11".repeat(20)}`,
      value: 0n,
      data: message,
      gasPrice: 1n,
    };
    expect(digestThroughWire({ kind: "transaction", origin: "caller", transaction: ours })).toBe(
      keccak256(serializeTransaction(viemTransaction(ours))),
    );
  });
});
