import fc from "fast-check";
import { expect, it } from "vitest";
import { failureFrom } from "../test/ot-seeds.js";
import {
  decodeScalar,
  decodeScalars,
  digestScalar,
  encodeScalar,
  inversePublic,
  LIFT,
  ORDER,
  readLifted,
  readScalar,
  reduced,
  wideScalar,
  writeScalar,
} from "./scalar.js";

const violation = { kind: "violation", field: "w" };
const raw = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
const scalars = fc.bigInt({ min: 0n, max: ORDER - 1n });

it("a scalar is read as it was written", () => {
  fc.assert(
    fc.property(scalars, (value) => {
      expect(encodeScalar(value)).toEqual(raw(value));
      expect(decodeScalar(raw(value), "w")).toBe(value);
      expect(readLifted(raw(value), 0)).toBe(value + LIFT);
    }),
  );
});

it.each([
  ["n", raw(ORDER)],
  ["n + 1", raw(ORDER + 1n)],
  ["2^256 - 1", Buffer.alloc(32, 255)],
  ["31 bytes", Buffer.alloc(31)],
  ["33 bytes", Buffer.alloc(33)],
  ["nothing", Buffer.alloc(0)],
])("a received scalar of %s is a violation", (_name, bytes) => {
  expect(failureFrom(() => decodeScalar(bytes, "w"))).toEqual(violation);
  expect(failureFrom(() => decodeScalars(Buffer.concat([raw(1n), bytes]), 2, "w"))).toEqual(violation);
});

it("zero is a scalar", () => {
  expect(decodeScalar(Buffer.alloc(32), "w")).toBe(0n);
});

it("one illegal scalar among many is a violation wherever it is", () => {
  for (const place of [0, 1, 2]) {
    const bytes = Buffer.concat([0, 1, 2].map((at) => raw(at === place ? ORDER : 5n)));
    expect(failureFrom(() => decodeScalars(bytes, 3, "w"))).toEqual(violation);
  }
  expect(decodeScalars(Buffer.concat([raw(1n), raw(2n)]), 2, "w")).toEqual([1n, 2n]);
});

it("all 64 bytes of a wide scalar count, and none beside them", () => {
  expect(wideScalar(Buffer.alloc(64, 255))).toBe((2n ** 512n - 1n) % ORDER);
  for (const at of [0, 31, 32, 63]) {
    const bytes = Buffer.alloc(64);
    bytes[at] = 1;
    expect(wideScalar(bytes)).toBe(2n ** BigInt(8 * (63 - at)) % ORDER);
  }
  expect(() => wideScalar(Buffer.alloc(32))).toThrow("wide");
});

it("no number is read from or written behind the end of a buffer that lies in a larger one", () => {
  const part = Buffer.alloc(64).subarray(0, 40);
  expect(() => readScalar(part, 9)).toThrow("length");
  expect(() => writeScalar(1n, part, 9)).toThrow("length");
});

it("what is out of range is not written, and a digest has 32 bytes", () => {
  expect(() => writeScalar(ORDER, Buffer.alloc(32), 0)).toThrow("range");
  expect(() => writeScalar(-1n, Buffer.alloc(32), 0)).toThrow("range");
  expect(() => digestScalar(Buffer.alloc(31))).toThrow("digest");
  expect(() => digestScalar(Buffer.alloc(33))).toThrow("digest");
  expect(digestScalar(Buffer.alloc(32, 255))).toBe((2n ** 256n - 1n) % ORDER);
});

it("numbers are reduced to 0..n-1, and each but zero has an inverse", () => {
  fc.assert(
    fc.property(scalars, (value) => {
      expect(reduced(-value)).toBe(value === 0n ? 0n : ORDER - value);
      if (value !== 0n) expect(reduced(value * inversePublic(value))).toBe(1n);
    }),
  );
  expect(() => inversePublic(ORDER)).toThrow("zero");
});
