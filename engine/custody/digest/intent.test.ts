/** The bytes of an intent: one encoding each, and nothing is guessed. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TEST_INTENT } from "../mpc/sessions/sign-cosigner.js";
import { concat, uintToBytes } from "./bytes.js";
import { decodeIntent, encodeIntent, type IntentInput, MAX_INTENT_BYTES, MAX_PAYLOAD_BYTES } from "./intent.js";
import { rlpEncode, rlpInteger } from "./rlp.js";
import type { Transaction } from "./transaction.js";

const LEGACY: Transaction = {
  type: "legacy",
  chainId: 56n,
  nonce: 7n,
  gasPrice: 5n,
  gasLimit: 21_000n,
  to: `0x${"ab".repeat(20)}`,
  value: 9n,
  data: Uint8Array.of(1, 2),
};
const EIP1559: Transaction = {
  type: "eip1559",
  chainId: 42_161n,
  nonce: (1n << 64n) - 1n,
  maxPriorityFee: 1n,
  maxFee: (1n << 256n) - 1n,
  gasLimit: 0n,
  to: `0x${"00".repeat(20)}`,
  value: 0n,
  data: new Uint8Array(),
};
const typed = new TextEncoder().encode(
  '{"types":{"T":[{"name":"x","type":"bool"}]},"primaryType":"T","domain":{},"message":{"x":true}}',
);
const INPUTS: readonly IntentInput[] = [
  { kind: "message", origin: "caller", message: new Uint8Array() },
  { kind: "message", origin: "service", message: Uint8Array.of(0, 255) },
  { kind: "typedData", origin: "caller", json: typed },
  { kind: "transaction", origin: "service", transaction: LEGACY },
  { kind: "transaction", origin: "caller", transaction: EIP1559 },
  { kind: "digest", origin: "caller", digest: new Uint8Array(32).fill(7) },
];

function problemOf(bytes: Uint8Array): string | null {
  const decoded = decodeIntent(bytes);
  return decoded.ok ? null : decoded.problem;
}

describe("an intent", () => {
  it.each(INPUTS)("of kind $kind and origin $origin is read as it was written", (input) => {
    const decoded = decodeIntent(encodeIntent(input));
    if (!decoded.ok || decoded.intent.kind === "test") throw new Error("not read");
    expect(decoded.intent).toMatchObject(input);
    expect(encodeIntent(decoded.intent)).toEqual(encodeIntent(input));
  });

  it.each(INPUTS)(
    "of kind $kind and origin $origin is refused with a byte more, a byte less, or cut anywhere",
    (input) => {
      const bytes = encodeIntent(input);
      expect(problemOf(concat([bytes, Uint8Array.of(0)]))).not.toBeNull();
      for (let length = 0; length < bytes.length; length++) expect(problemOf(bytes.subarray(0, length))).not.toBeNull();
    },
  );

  it("keeps no view of the bytes it came in", () => {
    const bytes = encodeIntent({ kind: "message", origin: "caller", message: Uint8Array.of(1, 2, 3) });
    const decoded = decodeIntent(bytes);
    bytes.fill(9);
    expect(decoded).toMatchObject({ intent: { message: Uint8Array.of(1, 2, 3) } });
  });

  it("of another origin is another intent, and a third origin is none", () => {
    const caller = encodeIntent({ kind: "message", origin: "caller", message: Uint8Array.of(1) });
    const service = encodeIntent({ kind: "message", origin: "service", message: Uint8Array.of(1) });
    expect([caller[1], service[1]]).toEqual([0, 1]);
    caller[1] = 2;
    expect(problemOf(caller)).toBe("unknown origin");
  });

  it("of kind 0 is one byte", () => {
    expect(decodeIntent(TEST_INTENT)).toEqual({ ok: true, intent: { kind: "test" } });
    expect(problemOf(Uint8Array.of(0, 0))).not.toBeNull();
  });

  it("of an unknown kind, or of no kind, is refused", () => {
    expect(problemOf(Uint8Array.of(6, 0, 0, 0, 0, 0))).toBe("unknown kind of intent");
    expect(problemOf(new Uint8Array())).toBe("unknown kind of intent");
  });

  it("for chain id 0 is refused, since it would be valid on every chain", () => {
    for (const transaction of [LEGACY, EIP1559])
      expect(
        problemOf(
          encodeIntent({ kind: "transaction", origin: "service", transaction: { ...transaction, chainId: 0n } }),
        ),
      ).toMatch(/chain id 0/);
  });

  it("holds up to 65,536 bytes of message, typed data and calldata, and no more", () => {
    const most = new Uint8Array(MAX_PAYLOAD_BYTES);
    const more = new Uint8Array(MAX_PAYLOAD_BYTES + 1);
    for (const [data, isRead] of [
      [most, true],
      [more, false],
    ] as const) {
      const message = problemOf(encodeIntent({ kind: "message", origin: "caller", message: data }));
      const transaction = problemOf(
        encodeIntent({ kind: "transaction", origin: "caller", transaction: { ...LEGACY, data } }),
      );
      expect([message === null, transaction === null]).toEqual([isRead, isRead]);
    }
    expect(problemOf(new Uint8Array(MAX_INTENT_BYTES + 1))).toBe("the intent is too long");
  });

  it("whose field claims a length of 2^32 - 1 is refused", () => {
    expect(problemOf(Uint8Array.of(1, 0, 255, 255, 255, 255, 1))).not.toBeNull();
  });

  it("of random bytes never throws", () => {
    const kinds = fc.tuple(
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 2 }),
      fc.uint8Array({ maxLength: 300 }),
    );
    fc.assert(
      fc.property(kinds, ([kind, origin, rest]) => {
        decodeIntent(concat([Uint8Array.of(kind, origin), rest]));
      }),
      { numRuns: 2000 },
    );
  });

  it("with an integer that its field cannot hold is a fault", () => {
    const transaction = { ...LEGACY, chainId: 1n << 64n };
    expect(() => encodeIntent({ kind: "transaction", origin: "service", transaction })).toThrow(RangeError);
  });
});

describe("RLP", () => {
  it("has no leading zeros, and no byte for zero", () => {
    expect(rlpInteger(0n)).toEqual(new Uint8Array());
    expect(rlpEncode(rlpInteger(0n))).toEqual(Uint8Array.of(0x80));
    expect(rlpEncode(rlpInteger(127n))).toEqual(Uint8Array.of(127));
    expect(rlpEncode(rlpInteger(128n))).toEqual(Uint8Array.of(0x81, 128));
    expect(() => rlpInteger(-1n)).toThrow(RangeError);
  });

  it("has its length in the first byte up to 55 bytes, and behind it beyond", () => {
    expect(rlpEncode(uintToBytes(1n, 55))[0]).toBe(0x80 + 55);
    expect([...rlpEncode(uintToBytes(1n, 56)).subarray(0, 2)]).toEqual([0xb8, 56]);
    expect(rlpEncode([uintToBytes(1n, 54)])[0]).toBe(0xc0 + 55);
    expect([...rlpEncode([uintToBytes(1n, 55)]).subarray(0, 2)]).toEqual([0xf8, 56]);
  });
});
