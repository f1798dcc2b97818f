import fc from "fast-check";
import { expect, it } from "vitest";
import { Arena } from "./arena.js";
import { frame, type HashPlace, type HashScope, hash, hash512, hashToScalar, PreparedHash, u32, u64 } from "./hash.js";
import { ORDER, readScalar } from "./scalar.js";

const scope: HashScope = { walletId: Buffer.alloc(16, 1), epoch: 3, sid: Buffer.alloc(32, 2) };
const place: HashPlace = { direction: 1, actor: 0, indices: [4, 5] };
const data = [Buffer.from("first"), Buffer.from("second")];

it("each field of a hash changes it", () => {
  const others = [
    hash(scope, "mul/tau", place, ...data),
    hash(scope, "mul/ta", place, ...data),
    hash({ ...scope, walletId: Buffer.alloc(16, 9) }, "mul/tau", place, ...data),
    hash({ ...scope, epoch: 4 }, "mul/tau", place, ...data),
    hash({ ...scope, sid: Buffer.alloc(32, 9) }, "mul/tau", place, ...data),
    hash(scope, "mul/tau", { ...place, direction: 0 }, ...data),
    hash(scope, "mul/tau", { actor: 0, indices: [4, 5] }, ...data),
    hash(scope, "mul/tau", { ...place, actor: 1 }, ...data),
    hash(scope, "mul/tau", { direction: 1, indices: [4, 5] }, ...data),
    hash(scope, "mul/tau", { ...place, indices: [4] }, ...data),
    hash(scope, "mul/tau", { ...place, indices: [5, 4] }, ...data),
    hash(scope, "mul/tau", place, Buffer.from("firstsecond")),
    hash(scope, "mul/tau", place, Buffer.from("second"), Buffer.from("first")),
    hash(scope, "mul/tau", place, ...data, Buffer.alloc(0)),
  ].map((digest) => digest.toString("hex"));
  expect(new Set(others).size).toBe(others.length);
});

it("two lists of fields never have one frame", () => {
  const fields = fc.array(fc.uint8Array({ maxLength: 6 }), { maxLength: 5 });
  fc.assert(
    fc.property(fields, fields, (left, right) => {
      const isOne = frame(...left).equals(frame(...right));
      expect(isOne).toBe(
        left.length === right.length && left.every((field, at) => Buffer.from(field).equals(right[at] ?? field)),
      );
    }),
  );
});

it("a prepared hash gives the digest of its fields", () => {
  const layout = { step: "ext/pad", place: { direction: 1, actor: 0 }, indexCount: 2, dataLengths: [5, 6] };
  const prepared = new PreparedHash(new Arena(), scope, layout);
  for (const indices of [
    [4, 5],
    [0, 2 ** 32 - 1],
  ]) {
    for (const [which, value] of indices.entries()) prepared.setIndex(which, value);
    for (const [which, field] of data.entries()) prepared.setData(which, field);
    const at = { direction: 1, actor: 0, indices };
    expect(prepared.sha256()).toEqual(hash(scope, "ext/pad", at, ...data));
    expect(prepared.sha512()).toEqual(hash512(scope, "ext/pad", at, ...data));
    expect(prepared.scalar()).toBe(hashToScalar(scope, "ext/pad", at, ...data));
  }
});

it("a prepared hash refuses data of another length and fields that it has not", () => {
  const prepared = new PreparedHash(new Arena(), scope, { step: "x", indexCount: 1, dataLengths: [5] });
  expect(() => prepared.setData(0, Buffer.alloc(4))).toThrow("data");
  expect(() => prepared.setData(1, Buffer.alloc(5))).toThrow("data");
  expect(() => prepared.setIndex(1, 0)).toThrow("index");
});

it("a wallet id or session id of another length is not hashed", () => {
  expect(() => hash({ ...scope, walletId: Buffer.alloc(15) }, "x", {})).toThrow("scope");
  expect(() => hash({ ...scope, sid: Buffer.alloc(0) }, "x", {})).toThrow("scope");
});

it("integers are big-endian and bounded, and a hash as a number is below n", () => {
  expect(u32(258).toString("hex")).toBe("00000102");
  expect(u64(2n ** 64n - 1n).toString("hex")).toBe("ffffffffffffffff");
  expect(() => u32(2 ** 32)).toThrow();
  expect(() => u64(-1n)).toThrow();
  expect(hashToScalar(scope, "x", {})).toBe(readScalar(hash(scope, "x", {}), 0) % ORDER);
});
