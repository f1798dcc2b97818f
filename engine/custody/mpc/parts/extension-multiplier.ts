/**
 * OT extension of one direction of one session, the multiplier's side, with check 3 (docs/mpc.md, section 6).
 *
 * A failed check is a cheat: a chooser that flips a bit of row i passes exactly when bit i of Delta is 0.
 */
import type { Arena } from "../base/arena.js";
import { bitAt, differences, maskOf, transposeInto, xorInto, xorSelectedInto } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { cheat } from "../base/outcome.js";
import {
  BASE_OT_BYTES,
  BASE_OTS,
  CHECK_FIELD_BYTES,
  COLUMN_BYTES,
  COLUMNS_BYTES,
  CORRECTION_BYTES,
  type Direction,
  FOLDS_BYTES,
  GADGET_ELEMENTS,
  HASH_BYTES,
  PADS_BYTES,
} from "../base/parameters.js";
import type { ExtensionMessage } from "./extension-chooser.js";
import { foldTableOf, padsOfColumns, RowGenerator, rowOf } from "./extension-rows.js";

export interface ExtensionMultiplierInput {
  /** sid = xs of the direction. */
  readonly scope: HashScope;
  readonly direction: Direction;
  /** Delta, 32 bytes. */
  readonly delta: Uint8Array;
  /** s_0, s_1, …: 8,192 bytes. */
  readonly pads: Uint8Array;
  readonly message: ExtensionMessage;
}

export interface MultiplierExtension {
  /** p0[j][l] at 3 j + l, and p1 alike. */
  readonly pads0: readonly bigint[];
  readonly pads1: readonly bigint[];
}

/** Check 3, then the pads. Q, q and PRG output lie in `arena`, which may be wiped when this returns. */
export function extendAsMultiplier(input: ExtensionMultiplierInput, arena: Arena): MultiplierExtension {
  assertLengths(input);
  const { scope, direction, delta } = input;
  const rows = rowsOf(input, arena);
  assertConsistent(input, rows, arena);
  const columns = arena.take(COLUMNS_BYTES);
  transposeInto(columns, rows);
  const pads0 = padsOfColumns(arena, scope, direction, columns);
  for (let row = 0; row < GADGET_ELEMENTS; row++) {
    xorInto(columns.subarray(row * COLUMN_BYTES, (row + 1) * COLUMN_BYTES), delta);
  }
  return { pads0, pads1: padsOfColumns(arena, scope, direction, columns) };
}

/** Q_i = PRG(s_i) ⊕ selected(Delta_i, U_i). */
function rowsOf(input: ExtensionMultiplierInput, arena: Arena): Buffer {
  const { scope, direction, delta, pads, message } = input;
  const generator = new RowGenerator(arena, scope, direction);
  const rows = arena.take(CORRECTION_BYTES);
  for (let index = 0; index < BASE_OTS; index++) {
    const row = rowOf(rows, index);
    generator.generate(pads.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES), index, row);
    xorSelectedInto(row, rowOf(message.correction, index), maskOf(bitAt(delta, index)));
  }
  return rows;
}

/** Check 3: fold(Q_i) = th_i ⊕ selected(Delta_i, xh) in all rows, one decision. */
function assertConsistent(input: ExtensionMultiplierInput, rows: Buffer, arena: Arena): void {
  const { scope, direction, delta, message } = input;
  const table = foldTableOf(scope, direction, message.correction);
  const fold = arena.take(CHECK_FIELD_BYTES);
  let wrong = 0;
  for (let index = 0; index < BASE_OTS; index++) {
    table.fold(rowOf(rows, index), fold);
    xorSelectedInto(fold, message.choiceFold, maskOf(bitAt(delta, index)));
    wrong |= differences(fold, message.rowFolds.subarray(index * CHECK_FIELD_BYTES, (index + 1) * CHECK_FIELD_BYTES));
  }
  if (wrong !== 0) throw cheat("extension");
}

/** The link has refused other lengths long before: these are ours. */
function assertLengths({ delta, pads, message }: ExtensionMultiplierInput): void {
  const { correction, choiceFold, rowFolds } = message;
  const isRight =
    delta.length === BASE_OT_BYTES &&
    pads.length === PADS_BYTES &&
    correction.length === CORRECTION_BYTES &&
    choiceFold.length === CHECK_FIELD_BYTES &&
    rowFolds.length === FOLDS_BYTES;
  if (!isRight) throw new Error("input of an extension");
}
