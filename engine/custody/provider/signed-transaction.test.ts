/** The bytes that are sent, against viem, which signs the same transaction with the same key. `FUZZ_RUNS=2000` runs more. */
import fc from "fast-check";
import { type Hex, keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerializable } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { toHex } from "../digest/bytes.js";
import { rawTransaction, transactionDigest } from "../digest/transaction.js";
import { signedTransaction } from "./signed-transaction.js";
import { transactionToSign } from "./signing-intent.js";
import type { UnsignedTransaction, WalletSignature } from "./wallet-provider.js";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 100);
const ACCOUNT = privateKeyToAccount(`0x${"11".repeat(32)}`);

const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const wei = fc.oneof(fc.bigInt({ min: 0n, max: (1n << 200n) - 1n }), fc.constantFrom(0n, 1n, 127n, 128n, 255n, 256n));
const unsignedArb: fc.Arbitrary<UnsignedTransaction> = fc
  .record({
    type: fc.constantFrom("eip1559" as const, "legacy" as const),
    chainId: fc.constantFrom(1n, 56n, 42161n, 8453n, 1n << 40n),
    nonce: fc.oneof(fc.constantFrom(0n, 1n, 127n, 128n), fc.bigInt({ min: 0n, max: 1n << 50n })),
    gasLimit: u64,
    to: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(toHex),
    value: wei,
    data: fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ minLength: 250, maxLength: 300 })),
    fees: fc.tuple(wei, wei),
  })
  .map(({ type, fees: [a, b], ...fields }) => {
    const [low, high] = a < b ? [a, b] : [b, a];
    return type === "legacy"
      ? { type, ...fields, gasPrice: high }
      : { type, ...fields, maxPriorityFeePerGas: low, maxFeePerGas: high };
  });

function viemTransaction(ours: UnsignedTransaction): TransactionSerializable {
  const { data, to, gasLimit, chainId, nonce, value } = ours;
  const fields = { chainId: Number(chainId), nonce: Number(nonce), gas: gasLimit, to: to as Hex, value };
  const withData = { ...fields, data: toHex(data) as Hex };
  if (ours.type === "legacy") return { type: "legacy", ...withData, gasPrice: ours.gasPrice };
  const { maxFeePerGas, maxPriorityFeePerGas } = ours;
  return { type: "eip1559", ...withData, maxFeePerGas, maxPriorityFeePerGas };
}

async function walletSignature(unsigned: UnsignedTransaction): Promise<WalletSignature> {
  const digest = toHex(transactionDigest(transactionToSign(unsigned))) as Hex;
  return { digest, signature: await ACCOUNT.sign({ hash: digest }) };
}

const EXAMPLE: UnsignedTransaction = {
  ...{ type: "eip1559", chainId: 56n, nonce: 7n, gasLimit: 60_000n, to: `0x${"ab".repeat(20)}`, value: 5n },
  ...{ maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n, data: Uint8Array.of(1, 2, 3) },
};

describe("a signed transaction", () => {
  it(`has the bytes and the hash that viem gives ${RUNS} random ones`, async () => {
    await fc.assert(
      fc.asyncProperty(unsignedArb, async (unsigned) => {
        const expected = await ACCOUNT.signTransaction(viemTransaction(unsigned));
        const { raw, hash } = signedTransaction(unsigned, await walletSignature(unsigned));
        expect(toHex(raw)).toBe(expected);
        expect(hash).toBe(keccak256(expected));
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });

  it("gives back its sender and its fields to who reads it", async () => {
    const { raw } = signedTransaction(EXAMPLE, await walletSignature(EXAMPLE));
    const serializedTransaction = toHex(raw) as `0x02${string}`;
    expect(await recoverTransactionAddress({ serializedTransaction })).toBe(ACCOUNT.address);
    expect(parseTransaction(serializedTransaction)).toMatchObject({
      chainId: 56,
      nonce: 7,
      value: 5n,
      data: "0x010203",
    });
  });

  it("writes halves of the signature without their leading zeros", () => {
    const rs = new Uint8Array(64).fill(0xee);
    rs.set([0, 0, 1]);
    rs.set([0], 32);
    const { raw } = rawTransaction(transactionToSign(EXAMPLE), rs, 1);
    expect(parseTransaction(toHex(raw) as `0x02${string}`)).toMatchObject({
      r: `0x${"00".repeat(2)}01${"ee".repeat(29)}`,
      s: `0x00${"ee".repeat(31)}`,
      yParity: 1,
    });
    // Two bytes less of r and one of s, as an integer has no leading zeros.
    expect(raw.length).toBe(
      rawTransaction(transactionToSign(EXAMPLE), new Uint8Array(64).fill(0xee), 1).raw.length - 3,
    );
  });

  it("is not made of a signature of another transaction, nor of one of another shape", async () => {
    const signed = await walletSignature(EXAMPLE);
    expect(() => signedTransaction({ ...EXAMPLE, value: 6n }, signed)).toThrow(/another transaction/);
    const cut = { ...signed, signature: signed.signature.slice(0, -2) };
    expect(() => signedTransaction(EXAMPLE, cut)).toThrow(/65 bytes/);
    const otherV = { ...signed, signature: `${signed.signature.slice(0, -2)}1d` };
    expect(() => signedTransaction(EXAMPLE, otherV)).toThrow(/recovery id/);
    expect(() => signedTransaction({ ...EXAMPLE, to: "0x12" }, signed)).toThrow(/INVALID_PARAMETERS|invalid/i);
  });
});
