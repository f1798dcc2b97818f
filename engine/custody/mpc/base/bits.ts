/**
 * Bit vectors: bit `k` is `(byte[k >> 3] >> (k & 7)) & 1`. What depends on a secret bit is done under a mask: no branch
 * and no index depends on one.
 */
import { timingSafeEqual } from "node:crypto";
import { BASE_OTS, COLUMN_BYTES, COLUMNS_BYTES, EXTENDED_BYTES, GADGET_ELEMENTS } from "./parameters.js";

export function bitAt(vector: Uint8Array, index: number): number {
  return ((vector[index >> 3] ?? 0) >> (index & 7)) & 1;
}

/** All ones (-1) for bit 1, zero for bit 0. */
export function maskOf(bit: number): number {
  return 0 - bit;
}

/** target ^= source. */
export function xorInto(target: Uint8Array, source: Uint8Array): void {
  xorSelectedInto(target, source, -1);
}

/** target ^= selected(bit, source). */
export function xorSelectedInto(target: Uint8Array, source: Uint8Array, mask: number): void {
  if (target.length !== source.length) throw new Error("lengths of an exclusive or");
  for (let at = 0; at < target.length; at++) target[at] = (target[at] ?? 0) ^ ((source[at] ?? 0) & mask);
}

/** target = selected(bit, source). */
export function selectInto(target: Uint8Array, source: Uint8Array, mask: number): void {
  if (target.length !== source.length) throw new Error("lengths of a selection");
  for (let at = 0; at < target.length; at++) target[at] = (source[at] ?? 0) & mask;
}

/** target = bit 0: `zero`, bit 1: `one`. */
export function chooseInto(target: Uint8Array, zero: Uint8Array, one: Uint8Array, mask: number): void {
  if (target.length !== zero.length || target.length !== one.length) throw new Error("lengths of a choice");
  for (let at = 0; at < target.length; at++) {
    target[at] = ((zero[at] ?? 0) & ~mask) | ((one[at] ?? 0) & mask);
  }
}

/** The or of all differences, 0 where both are equal. Every byte is looked at. */
export function differences(left: Uint8Array, right: Uint8Array): number {
  if (left.length !== right.length) throw new Error("lengths of a comparison");
  let seen = 0;
  for (let at = 0; at < left.length; at++) seen |= (left[at] ?? 0) ^ (right[at] ?? 0);
  return seen;
}

/** Equality in constant time; other lengths are unequal. */
export function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

const BLOCK = 8;

/**
 * The first 416 columns of 256 rows of 78 bytes: bit i of column j is bit j of row i. By blocks of 8 × 8 bits, whose
 * steps depend on no bit.
 */
export function transposeInto(columns: Uint8Array, rows: Uint8Array): void {
  if (rows.length !== BASE_OTS * EXTENDED_BYTES || columns.length !== COLUMNS_BYTES) throw new Error("lengths of rows");
  for (let left = 0; left < GADGET_ELEMENTS; left += BLOCK) {
    for (let top = 0; top < BASE_OTS; top += BLOCK) transposeBlock(columns, rows, top, left);
  }
}

function transposeBlock(columns: Uint8Array, rows: Uint8Array, top: number, left: number): void {
  const rowAt = top * EXTENDED_BYTES + (left >> 3);
  const columnAt = left * COLUMN_BYTES + (top >> 3);
  for (let column = 0; column < BLOCK; column++) {
    let byte = 0;
    for (let row = 0; row < BLOCK; row++) byte |= (((rows[rowAt + row * EXTENDED_BYTES] ?? 0) >> column) & 1) << row;
    columns[columnAt + column * COLUMN_BYTES] = byte;
  }
}
