/** What both sides of the extension compute alike: stretched seeds, the fold of a session, pads of columns. */
import type { Arena } from "../base/arena.js";
import { FoldTable } from "../base/check-field.js";
import { type HashScope, hash, PreparedHash } from "../base/hash.js";
import {
  CHECK_FIELD_BYTES,
  COLUMN_BYTES,
  type Direction,
  EXTENDED_BYTES,
  GADGET_ELEMENTS,
  HASH_BYTES,
  SLOTS,
} from "../base/parameters.js";

const STREAM_BLOCK_BYTES = 64;

/** PRG(seed, i). A seed lives for an epoch: xs in each input keeps two sessions apart. */
export class RowGenerator {
  readonly #hash: PreparedHash;

  constructor(arena: Arena, scope: HashScope, direction: Direction) {
    const layout = { step: "ext/prg", place: { direction }, indexCount: 2, dataLengths: [HASH_BYTES] };
    this.#hash = new PreparedHash(arena, scope, layout);
  }

  /** 78 bytes to `target`. */
  generate(seed: Uint8Array, row: number, target: Uint8Array): void {
    this.#hash.setIndex(0, row);
    this.#hash.setData(0, seed);
    for (let block = 0; block * STREAM_BLOCK_BYTES < EXTENDED_BYTES; block++) {
      this.#hash.setIndex(1, block);
      const digest = this.#hash.sha512();
      const at = block * STREAM_BLOCK_BYTES;
      target.set(digest.subarray(0, Math.min(STREAM_BLOCK_BYTES, EXTENDED_BYTES - at)), at);
      digest.fill(0);
    }
  }
}

/** Row `index` of a matrix of extended rows. */
export function rowOf(matrix: Uint8Array, index: number): Uint8Array {
  return matrix.subarray(index * EXTENDED_BYTES, (index + 1) * EXTENDED_BYTES);
}

/** chi_1 and chi_2 follow U, so who chose U could not know them. */
export function foldTableOf(scope: HashScope, direction: Direction, correction: Uint8Array): FoldTable {
  const [chi1, chi2] = [1, 2].map((index) =>
    hash(scope, "ext/chi", { direction, indices: [index] }, correction).subarray(0, CHECK_FIELD_BYTES),
  );
  if (chi1 === undefined || chi2 === undefined) throw new Error("chi");
  return new FoldTable(chi1, chi2);
}

/** Hs("ext/pad"; j, l; column j) at 3 j + l. */
export function padsOfColumns(arena: Arena, scope: HashScope, direction: Direction, columns: Uint8Array): bigint[] {
  const layout = { step: "ext/pad", place: { direction }, indexCount: 2, dataLengths: [COLUMN_BYTES] };
  const pad = new PreparedHash(arena, scope, layout);
  const pads = new Array<bigint>(GADGET_ELEMENTS * SLOTS);
  for (let row = 0; row < GADGET_ELEMENTS; row++) {
    pad.setIndex(0, row);
    pad.setData(0, columns.subarray(row * COLUMN_BYTES, (row + 1) * COLUMN_BYTES));
    for (let slot = 0; slot < SLOTS; slot++) {
      pad.setIndex(1, slot);
      pads[row * SLOTS + slot] = pad.scalar();
    }
  }
  return pads;
}
