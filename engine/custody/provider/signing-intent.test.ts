/** Requests become the bytes that C reads, with the digest that viem has for the same request; bad ones name each place. */
import { hashMessage, hashTypedData, type Hex, keccak256, serializeTransaction } from "viem";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../domain/errors.js";
import { toHex } from "../digest/bytes.js";
import { decodeIntent, MAX_PAYLOAD_BYTES } from "../digest/intent.js";
import { signingIntent } from "./signing-intent.js";
import type { SigningRequest, UnsignedTransaction } from "./wallet-provider.js";

const TO = "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826";
const LEGACY: Extract<UnsignedTransaction, { type: "legacy" }> = {
  type: "legacy",
  chainId: 56n,
  nonce: 7n,
  gasPrice: 3n,
  gasLimit: 21_000n,
  to: TO,
  value: 5n,
  data: Uint8Array.of(1, 2, 3, 4),
};
const { gasPrice: _, type: _type, ...COMMON } = LEGACY;
const EIP1559: UnsignedTransaction = { type: "eip1559", ...COMMON, maxFeePerGas: 9n, maxPriorityFeePerGas: 9n };
const TYPED = {
  types: { Post: [{ name: "text", type: "string" }] },
  primaryType: "Post",
  domain: { name: "Forum", chainId: 1 },
  message: { text: "é" },
} as const;

function viemTransaction(transaction: UnsignedTransaction): Hex {
  const { data, nonce, chainId, gasLimit, value } = transaction;
  const common = {
    chainId: Number(chainId),
    nonce: Number(nonce),
    gas: gasLimit,
    value,
    to: TO,
    data: toHex(data),
  } as const;
  const request = { ...common, data: common.data as Hex } as const;
  if (transaction.type === "legacy")
    return keccak256(serializeTransaction({ type: "legacy", ...request, gasPrice: transaction.gasPrice }));
  const { maxFeePerGas, maxPriorityFeePerGas } = transaction;
  return keccak256(serializeTransaction({ type: "eip1559", ...request, maxFeePerGas, maxPriorityFeePerGas }));
}

describe("a signing request", () => {
  const message = Uint8Array.of(0, 255, 10);
  it.each<[string, SigningRequest, string]>([
    ["message", { kind: "message", bytes: message }, hashMessage({ raw: message })],
    ["empty message", { kind: "message", bytes: new Uint8Array() }, hashMessage("")],
    ["typed data", { kind: "typedData", text: JSON.stringify(TYPED) }, hashTypedData(TYPED)],
    ["digest", { kind: "digest", digest: new Uint8Array(32).fill(3) }, `0x${"03".repeat(32)}`],
    ["legacy transaction", { kind: "transaction", transaction: LEGACY }, viemTransaction(LEGACY)],
    ["EIP-1559 transaction", { kind: "transaction", transaction: EIP1559 }, viemTransaction(EIP1559)],
    [
      "transaction to an address in small letters",
      { kind: "transaction", transaction: { ...LEGACY, to: TO.toLowerCase() } },
      viemTransaction(LEGACY),
    ],
  ])("for a %s has viem's digest, and C reads it with its origin", (_name, request, digest) => {
    for (const origin of ["caller", "service"] as const) {
      const signing = signingIntent(origin, request);
      expect(toHex(signing.digest)).toBe(digest);
      expect(decodeIntent(signing.intent)).toMatchObject({ ok: true, intent: { kind: request.kind, origin } });
    }
  });

  it("for the largest message and typed data is read", () => {
    const bytes = new Uint8Array(MAX_PAYLOAD_BYTES).fill(97);
    expect(toHex(signingIntent("caller", { kind: "message", bytes }).digest)).toBe(hashMessage({ raw: bytes }));
  });
});

function problems(request: SigningRequest): readonly string[] {
  try {
    signingIntent("caller", request);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "INVALID_PARAMETERS") throw error;
    return (error.context["fields"] as { path: string; problem: string }[]).map(
      ({ path, problem }) => `${path}: ${problem}`,
    );
  }
  return [];
}

const wrong = (changed: Partial<typeof LEGACY>): SigningRequest => ({
  kind: "transaction",
  transaction: { ...LEGACY, ...changed },
});
const typed = (changed: object): SigningRequest => ({
  kind: "typedData",
  text: JSON.stringify({ ...TYPED, ...changed }),
});

describe("a bad signing request", () => {
  const U64 = 1n << 64n;
  it.each<[string, SigningRequest, RegExp]>([
    ["a long message", { kind: "message", bytes: new Uint8Array(MAX_PAYLOAD_BYTES + 1) }, /^message: .*65536/],
    ["a digest of 31 bytes", { kind: "digest", digest: new Uint8Array(31) }, /^digest: must have 32/],
    ["a digest of 33 bytes", { kind: "digest", digest: new Uint8Array(33) }, /^digest: must have 32/],
    ["typed data that is no JSON", { kind: "typedData", text: "{" }, /^typedData: /],
    ["typed data with a member twice", { kind: "typedData", text: '{"a":1,"a":1}' }, /^typedData: .*twice/],
    ["typed data with an unknown member", typed({ extra: 1 }), /^typedData: /],
    ["typed data without its field", typed({ message: {} }), /^typedData: /],
    ["typed data with half a pair", { kind: "typedData", text: `{"a":"\ud800"}` }, /^typedData: .*Unicode/],
    [
      "long typed data",
      { kind: "typedData", text: `${JSON.stringify(TYPED)}${" ".repeat(MAX_PAYLOAD_BYTES)}` },
      /^typedData: .*65536/,
    ],
    ["a transaction for all chains", wrong({ chainId: 0n }), /^transaction\.chainId: .* from 1 /],
    ["a chain id that is too large", wrong({ chainId: U64 }), /^transaction\.chainId: /],
    ["a negative nonce", wrong({ nonce: -1n }), /^transaction\.nonce: /],
    ["a nonce that is too large", wrong({ nonce: U64 }), /^transaction\.nonce: /],
    ["gas that is too much", wrong({ gasLimit: U64 }), /^transaction\.gasLimit: /],
    ["a price that is too high", wrong({ gasPrice: 1n << 256n }), /^transaction\.gasPrice: /],
    ["a value that is too large", wrong({ value: 1n << 256n }), /^transaction\.value: /],
    ["a negative value", wrong({ value: -1n }), /^transaction\.value: /],
    ["long data", wrong({ data: new Uint8Array(MAX_PAYLOAD_BYTES + 1) }), /^transaction\.data: /],
    ["no destination", wrong({ to: "" }), /^transaction\.to: /],
    ["a destination of 19 bytes", wrong({ to: TO.slice(0, -2) }), /^transaction\.to: /],
    ["a destination with a wrong checksum", wrong({ to: TO.replace("CD2a", "Cd2a") }), /^transaction\.to: /],
    [
      "a tip above the price",
      { kind: "transaction", transaction: { ...EIP1559, maxPriorityFeePerGas: 10n } },
      /^transaction\.maxPriorityFeePerGas: .* to 9$/,
    ],
    [
      "a price of EIP-1559 that is too high",
      { kind: "transaction", transaction: { ...EIP1559, maxFeePerGas: 1n << 256n } },
      /^transaction\.maxFeePerGas: /,
    ],
  ])("is refused with its place: %s", (_name, request, problem) => {
    expect(problems(request)).toEqual([expect.stringMatching(problem)]);
  });

  it("names all places at once", () => {
    expect(problems(wrong({ chainId: 0n, to: "0x", value: -1n })).map((problem) => problem.split(":")[0])).toEqual([
      "transaction.chainId",
      "transaction.value",
      "transaction.to",
    ]);
  });
});
