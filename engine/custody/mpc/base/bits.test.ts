import { expect, it } from "vitest";
import { seededBytes } from "../test/seeded-random.js";
import {
  bitAt,
  chooseInto,
  differences,
  isSame,
  maskOf,
  selectInto,
  transposeInto,
  xorInto,
  xorSelectedInto,
} from "./bits.js";

it("bit k is in byte k / 8, the lowest first", () => {
  const vector = Uint8Array.of(0b0000_0001, 0b1000_0000);
  expect(Array.from({ length: 16 }, (_, k) => bitAt(vector, k))).toEqual([1, ...Array(14).fill(0), 1]);
});

it("bit i of column j is bit j of row i, and bits behind the gadget are left out", () => {
  const rows = seededBytes("bits", "rows", 256 * 78);
  const columns = Buffer.alloc(416 * 32);
  transposeInto(columns, rows);
  let wrong = 0;
  for (let i = 0; i < 256; i++) {
    const row = rows.subarray(i * 78, (i + 1) * 78);
    for (let j = 0; j < 416; j++) wrong += bitAt(row, j) ^ bitAt(columns.subarray(j * 32, (j + 1) * 32), i);
  }
  expect(wrong).toBe(0);
  expect(() => transposeInto(columns, rows.subarray(1))).toThrow("lengths");
});

it("a mask selects all bytes or none", () => {
  const value = Uint8Array.of(1, 128, 255);
  const zero = Uint8Array.of(9, 9, 9);
  const target = new Uint8Array(3);
  for (const bit of [0, 1]) {
    selectInto(target, value, maskOf(bit));
    expect([...target]).toEqual(bit === 1 ? [...value] : [0, 0, 0]);
    chooseInto(target, zero, value, maskOf(bit));
    expect([...target]).toEqual(bit === 1 ? [...value] : [...zero]);
    target.fill(1);
    xorSelectedInto(target, value, maskOf(bit));
    expect([...target]).toEqual(bit === 1 ? [0, 129, 254] : [1, 1, 1]);
  }
  xorInto(target, target);
  expect([...target]).toEqual([0, 0, 0]);
});

it("a difference in any bit is seen", () => {
  const left = seededBytes("bits", "left", 32);
  expect(differences(left, Buffer.from(left))).toBe(0);
  for (let k = 0; k < 256; k++) {
    const right = Buffer.from(left);
    right[k >> 3] = (right[k >> 3] ?? 0) ^ (1 << (k & 7));
    expect(differences(left, right)).not.toBe(0);
    expect(isSame(left, right)).toBe(false);
  }
  expect(isSame(left, left.subarray(1))).toBe(false);
  expect(isSame(left, Buffer.from(left))).toBe(true);
});

it("vectors of two lengths are not put together", () => {
  const [short, long] = [new Uint8Array(2), new Uint8Array(3)];
  for (const act of [
    () => xorInto(short, long),
    () => xorSelectedInto(long, short, 0),
    () => selectInto(short, long, 0),
    () => chooseInto(short, short, long, 0),
    () => differences(short, long),
  ]) {
    expect(act).toThrow("lengths");
  }
});
