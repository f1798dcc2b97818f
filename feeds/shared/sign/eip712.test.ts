import fc from "fast-check";
import { encodeFunctionData, hashMessage, hashTypedData as viemHashTypedData, parseAbi } from "viem";
import { describe, expect, it } from "vitest";
import {
  encodeCall,
  hashDomain,
  hashPersonalMessage,
  hashStruct,
  hashTypedData,
  toHex,
  type TypedDomain,
  type TypedField,
  type TypedValue,
} from "./eip712.js";

const domain: TypedDomain = {
  name: "Exchange",
  version: "1",
  chainId: 1337,
  verifyingContract: "0x0000000000000000000000000000000000000000",
};

const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(toHex);

/** A field type with values of it. */
const typedValue: fc.Arbitrary<readonly [string, TypedValue]> = fc.oneof(
  fc.string({ unit: "grapheme" }).map((value) => ["string", value] as const),
  fc.boolean().map((value) => ["bool", value] as const),
  address.map((value) => ["address", value] as const),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((value) => ["bytes32", toHex(value)] as const),
  fc.uint8Array({ maxLength: 70 }).map((value) => ["bytes", toHex(value)] as const),
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => ["uint256", value] as const),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => ["uint64", value] as const),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ["int64", value] as const),
);

describe("typed data", () => {
  it("hashes any flat struct as viem does", () => {
    fc.assert(
      fc.property(fc.array(typedValue, { minLength: 1, maxLength: 8 }), (values) => {
        const fields: TypedField[] = values.map(([type], index) => ({ name: `field ${index}`, type }));
        const message = Object.fromEntries(values.map(([, value], index) => [`field ${index}`, value]));
        const ours = hashTypedData(hashDomain(domain), hashStruct("Thing:With Colon", fields, message));
        const reference = viemHashTypedData({
          domain: { ...domain, verifyingContract: domain.verifyingContract as `0x${string}` },
          types: { "Thing:With Colon": fields },
          primaryType: "Thing:With Colon",
          message,
        });
        expect(toHex(ours)).toBe(reference);
      }),
      { numRuns: 200, seed: 11 },
    );
  });

  it("hashes personal messages as viem does", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (raw) => {
        expect(toHex(hashPersonalMessage(raw))).toBe(hashMessage({ raw }));
      }),
      { seed: 12 },
    );
  });

  it("encodes calls as viem does", () => {
    const abi = parseAbi(["function deposit(address currency, uint256 amount, uint256 broker)"]);
    fc.assert(
      fc.property(address, fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (currency, amount) => {
        const reference = encodeFunctionData({
          abi,
          functionName: "deposit",
          args: [currency as `0x${string}`, amount, 1000n],
        });
        expect(encodeCall("0x0efe6a8b", [{ address: currency }, { uint: amount }, { uint: 1000n }])).toBe(reference);
      }),
      { seed: 13 },
    );
  });

  it.each<[string, TypedField, TypedValue | undefined]>([
    ["a missing field", { name: "a", type: "string" }, undefined],
    ["a negative unsigned integer", { name: "a", type: "uint64" }, -1],
    ["an integer one past its type", { name: "a", type: "uint64" }, 2n ** 64n],
    ["an integer one past its signed type", { name: "a", type: "int64" }, 2n ** 63n],
    ["a short address", { name: "a", type: "address" }, "0x12"],
    ["bytes32 of 31 bytes", { name: "a", type: "bytes32" }, `0x${"11".repeat(31)}`],
    ["a number for text", { name: "a", type: "string" }, 5],
    ["text for a truth value", { name: "a", type: "bool" }, "true"],
    ["a type it does not know", { name: "a", type: "fixed" }, 1],
  ])("throws on %s instead of hashing something else", (_what, field, value) => {
    const message: Record<string, TypedValue> = value === undefined ? {} : { a: value };
    expect(() => hashStruct("T", [field], message)).toThrow();
  });
});
