import { secp256k1 } from "@noble/curves/secp256k1";
import { expect, it } from "vitest";
import { failureFrom } from "../test/ot-seeds.js";
import { Arena } from "./arena.js";
import {
  addressOf,
  baseTimes,
  decodePoint,
  decodePoints,
  difference,
  encodePublic,
  encodeSecretPoints,
  isIdentity,
  publicTimes,
  samePoint,
  secretTimes,
  sum,
  withTable,
} from "./point.js";
import { ORDER } from "./scalar.js";

const P = secp256k1.CURVE.Fp.ORDER;
const violation = { kind: "violation", field: "Gu" };
const withX = (x: bigint, first = "02") => Buffer.from(first + x.toString(16).padStart(64, "0"), "hex");
const G = encodePublic(baseTimes(1n));
const identity = baseTimes(0n);

it.each([
  ["65 bytes of a point", Buffer.from(G.point.toRawBytes(false))],
  ["no byte", Buffer.alloc(0)],
  ["one zero byte, the identity elsewhere", Buffer.alloc(1)],
  ["33 zero bytes", Buffer.alloc(33)],
  ["32 bytes", G.bytes.subarray(1)],
  ["34 bytes", Buffer.concat([G.bytes, Buffer.alloc(1)])],
  ["first byte 04", withX(1n, "04")],
  ["first byte 00", withX(1n, "00")],
  ["x = p", withX(P)],
  ["x = p + 1, whose rest is on the curve", withX(P + 1n)],
  ["x = 2^256 - 1", withX(2n ** 256n - 1n)],
  ["x = 5, which belongs to no point", withX(5n)],
  ["x = 0, which belongs to no point", withX(0n)],
])("a received point of %s is a violation", (_name, bytes) => {
  expect(failureFrom(() => decodePoint(bytes, "Gu"))).toEqual(violation);
  expect(failureFrom(() => decodePoints(Buffer.concat([G.bytes, bytes]), 2, "Gu"))).toEqual(violation);
});

it("a point is decoded as it was encoded, odd and even", () => {
  for (const scalar of [1n, 2n, 3n, 6n, ORDER - 1n]) {
    const point = encodePublic(baseTimes(scalar));
    expect(decodePoint(point.bytes, "R").point.equals(point.point)).toBe(true);
  }
});

it("the decoded point keeps its own copy of the bytes", () => {
  const bytes = Buffer.from(G.bytes);
  const point = decodePoint(bytes, "R");
  bytes.fill(0);
  expect(point.bytes).toEqual(G.bytes);
});

it("secret points have the encoding of public ones, in a buffer of the arena", () => {
  const points = [1n, 2n, 77n, ORDER - 1n].map((scalar) => sum(baseTimes(scalar), baseTimes(3n)));
  const arena = new Arena();
  const encoded = encodeSecretPoints(points, arena);
  expect(encoded).toEqual(Buffer.concat(points.map((point) => encodePublic(point).bytes)));
  arena.wipe();
  expect(encoded).toEqual(Buffer.alloc(4 * 33));
});

it("the identity has no encoding and equals nothing", () => {
  expect(() => encodePublic(identity)).toThrow("identity");
  expect(() => encodeSecretPoints([G.point, identity], new Arena())).toThrow("identity");
  expect(samePoint(identity, identity)).toBe(false);
  expect(samePoint(G.point, identity)).toBe(false);
  expect(samePoint(G.point, difference(baseTimes(3n), baseTimes(2n)))).toBe(true);
});

it("products of zero and of the identity are the identity, in each function", () => {
  for (const product of [
    baseTimes(0n),
    secretTimes(G.point, 0n),
    secretTimes(identity, 5n),
    publicTimes(G.point, 0n),
    publicTimes(G.point, ORDER),
    publicTimes(identity, 5n),
    difference(G.point, G.point),
  ]) {
    expect(isIdentity(product)).toBe(true);
  }
});

it("all ways to a product give one point", () => {
  const scalar = 0x1234567890abcdef1234567890abcdef1234567890abcdefn;
  const point = baseTimes(99n);
  const expected = baseTimes((99n * scalar) % ORDER);
  for (const product of [
    secretTimes(point, scalar),
    publicTimes(point, scalar),
    secretTimes(withTable(point), scalar),
  ]) {
    expect(samePoint(product, expected)).toBe(true);
  }
});

it("the address of the generator is the one of private key 1", () => {
  expect(addressOf(G).toString("hex")).toBe("7e5f4552091a69125d5dfcb7b8c2659029395bdf");
});
