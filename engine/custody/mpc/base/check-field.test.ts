import { expect, it } from "vitest";
import { seededBytes } from "../test/seeded-random.js";
import { fieldOf, fieldProduct, foldedRow } from "../test/slow-hash.js";
import { FoldTable } from "./check-field.js";

const DEGREE = 208n;
const F = (1n << DEGREE) | 0x20bn;

it("the fold of the table is the plain product and sum", () => {
  for (let run = 0; run < 40; run++) {
    const chi = [0, 1].map((k) => seededBytes(`fold/${run}`, `chi/${k}`, 26)) as [Buffer, Buffer];
    const row = seededBytes(`fold/${run}`, "row", 78);
    const target = Buffer.alloc(26);
    new FoldTable(...chi).fold(row, target);
    expect(target).toEqual(foldedRow(row, chi));
  }
});

it.each([
  ["zeros", 0],
  ["ones", 255],
])("the fold of rows and chi of %s is the plain one", (_name, byte) => {
  const chi = [Buffer.alloc(26, byte), Buffer.alloc(26, byte)] as [Buffer, Buffer];
  const target = Buffer.alloc(26);
  new FoldTable(...chi).fold(Buffer.alloc(78, byte), target);
  expect(target).toEqual(foldedRow(Buffer.alloc(78, byte), chi));
});

it("a bit of a row that is flipped changes the fold, whichever it is", () => {
  const table = new FoldTable(seededBytes("flip", "chi/0", 26), seededBytes("flip", "chi/1", 26));
  for (let bit = 0; bit < 624; bit++) {
    const row = Buffer.alloc(78);
    row[bit >> 3] = 1 << (bit & 7);
    const target = Buffer.alloc(26);
    table.fold(row, target);
    expect(fieldOf(target)).not.toBe(0n);
  }
});

/** Rabin: f of degree 208 = 2^4 · 13 is irreducible iff X^(2^208) = X and f has no factor with X^(2^104), X^(2^16) − X. */
it("f is irreducible", () => {
  const frobenius = (count: number) => {
    let power = 2n;
    for (let square = 0; square < count; square++) power = fieldProduct(power, power);
    return power;
  };
  expect(frobenius(208)).toBe(2n);
  expect(commonDivisor(F, frobenius(104) ^ 2n)).toBe(1n);
  expect(commonDivisor(F, frobenius(16) ^ 2n)).toBe(1n);
});

function commonDivisor(left: bigint, right: bigint): bigint {
  const degree = (value: bigint) => value.toString(2).length;
  let [a, b] = [left, right];
  while (b !== 0n) {
    while (a !== 0n && degree(a) >= degree(b)) a ^= b << BigInt(degree(a) - degree(b));
    [a, b] = [b, a];
  }
  return a;
}
