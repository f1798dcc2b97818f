import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toHex } from "../../shared/sign/eip712.js";
import { ActionPacker, packMsgpack, type MsgpackValue } from "./msgpack.js";

/** A second encoder, written from the MessagePack specification over plain number lists: the reference. */
function reference(value: MsgpackValue | undefined): number[] {
  if (value === null || value === undefined) return [0xc0];
  if (typeof value === "boolean") return [value ? 0xc3 : 0xc2];
  if (typeof value === "string") {
    const bytes = [...Buffer.from(value, "utf8")];
    const n = bytes.length;
    if (n <= 31) return [0xa0 + n, ...bytes];
    if (n <= 0xff) return [0xd9, n, ...bytes];
    if (n <= 0xffff) return [0xda, ...big(BigInt(n), 2), ...bytes];
    return [0xdb, ...big(BigInt(n), 4), ...bytes];
  }
  if (typeof value === "number") {
    const n = BigInt(value);
    if (n >= 0n) {
      if (n < 128n) return [Number(n)];
      const [tag, size] = n < 2n ** 8n ? [0xcc, 1] : n < 2n ** 16n ? [0xcd, 2] : n < 2n ** 32n ? [0xce, 4] : [0xcf, 8];
      return [tag, ...big(n, size)];
    }
    if (n >= -32n) return [Number(256n + n)];
    const [tag, size] =
      n >= -(2n ** 7n) ? [0xd0, 1] : n >= -(2n ** 15n) ? [0xd1, 2] : n >= -(2n ** 31n) ? [0xd2, 4] : [0xd3, 8];
    return [tag, ...big(BigInt.asUintN(8 * size, n), size)];
  }
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((item: MsgpackValue) => reference(item))
    : Object.entries(value as Record<string, MsgpackValue | undefined>)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => [...reference(key), ...reference(item)]);
  const n = entries.length;
  const head =
    n < 16
      ? [(isList ? 0x90 : 0x80) + n]
      : n < 65_536
        ? [isList ? 0xdc : 0xde, ...big(BigInt(n), 2)]
        : [isList ? 0xdd : 0xdf, ...big(BigInt(n), 4)];
  return [...head, ...entries.flat()];
}

function big(value: bigint, size: number): number[] {
  return Array.from({ length: size }, (_, index) => Number((value >> BigInt(8 * (size - 1 - index))) & 0xffn));
}

const integers = fc.oneof(
  fc.constantFrom(0, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, Number.MAX_SAFE_INTEGER),
  fc.constantFrom(-1, -32, -33, -128, -129, -32_768, -32_769, -2_147_483_648, -2_147_483_649, Number.MIN_SAFE_INTEGER),
  fc.maxSafeInteger(),
);
const texts = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.constantFrom(31, 32, 64, 65, 255, 256).map((length) => "x".repeat(length)),
);
const { value: values } = fc.letrec<{ value: MsgpackValue; leaf: MsgpackValue }>((tie) => ({
  leaf: fc.oneof(integers, texts, fc.boolean(), fc.constant(null)),
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    fc.array(tie("value"), { maxLength: 17 }),
    fc.dictionary(fc.string({ maxLength: 10 }), fc.option(tie("value"), { nil: undefined }), {
      maxKeys: 17,
    }) as fc.Arbitrary<MsgpackValue>,
  ),
}));

describe("MessagePack of actions", () => {
  it("equals a second encoder on any value, with one reused buffer", () => {
    const packer = new ActionPacker();
    fc.assert(
      fc.property(values, (value) => {
        expect(Buffer.from(packer.pack(value)).toString("hex")).toBe(Buffer.from(reference(value)).toString("hex"));
      }),
      { numRuns: 400, seed: 31 },
    );
  });

  it.each([65_535, 65_536, 70_000])("equals it for a text and a list of %i", (length) => {
    for (const value of ["é".repeat(length / 2), Array.from({ length }, () => 1)] as MsgpackValue[]) {
      expect(Buffer.from(packMsgpack(value)).equals(Buffer.from(reference(value)))).toBe(true);
    }
  });

  it("keeps the key order given and leaves undefined keys out", () => {
    expect(toHex(packMsgpack({ b: 1, a: undefined, c: 2 }))).toBe("0x82a16201a16302");
  });

  it("packs ids and times beyond 32 bits as integers, not floats", () => {
    expect(toHex(packMsgpack(1_763_682_000_023))).toBe(
      "0xcf0000019aa36d3497".replace("019aa36d3497", (1_763_682_000_023).toString(16).padStart(12, "0")),
    );
  });

  it.each<[string, unknown]>([
    ["a fraction", 0.5],
    ["NaN", Number.NaN],
    ["an integer past 2^53", 2 ** 53],
    ["a bigint", 1n],
    ["a fraction in a list of a map", { a: [0.5] }],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
  ])("refuses %s", (_what, value) => {
    expect(() => packMsgpack(value as MsgpackValue)).toThrow();
  });

  it("refuses an action beyond its bound instead of growing without end", () => {
    expect(() => packMsgpack("x".repeat(1 << 20))).toThrow(RangeError);
  });
});
