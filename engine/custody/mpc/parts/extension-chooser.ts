/**
 * OT extension of one direction of one session, the chooser's side (docs/mpc.md, section 6). It masks its choice bits
 * in U and lets the multiplier check that they are the same in each row.
 */
import type { Arena } from "../base/arena.js";
import { transposeInto, xorInto } from "../base/bits.js";
import { type HashScope, hash, withSid } from "../base/hash.js";
import {
  BASE_OTS,
  CHECK_FIELD_BYTES,
  COLUMNS_BYTES,
  CORRECTION_BYTES,
  type Direction,
  EXTENDED_BYTES,
  FOLDS_BYTES,
  HASH_BYTES,
  PAD_PAIRS_BYTES,
} from "../base/parameters.js";
import { foldTableOf, padsOfColumns, RowGenerator, rowOf } from "./extension-rows.js";

/** What the chooser sends and both hash. */
export interface ExtensionMessage {
  /** U, 19,968 bytes. */
  readonly correction: Buffer;
  /** xh, 26 bytes. */
  readonly choiceFold: Buffer;
  /** th, 6,656 bytes. */
  readonly rowFolds: Buffer;
}

export interface ExtensionChooserInput {
  /** sid = xs of the direction. */
  readonly scope: HashScope;
  readonly direction: Direction;
  /** s0_0, s1_0, s0_1, …: 16,384 bytes. */
  readonly padPairs: Uint8Array;
  /** c, 78 bytes. */
  readonly choice: Uint8Array;
}

export interface ChooserExtension {
  readonly message: ExtensionMessage;
  /** pc[j][l] at 3 j + l. */
  readonly pads: readonly bigint[];
}

/** xs of a direction: `mul/sid` under ssid. The scope of everything in that direction. */
export function directionScope(signScope: HashScope, direction: Direction): HashScope {
  return withSid(signScope, hash(signScope, "mul/sid", { direction }));
}

/** T, t and PRG output lie in `arena`, which may be wiped when this returns. */
export function extendAsChooser(input: ExtensionChooserInput, arena: Arena): ChooserExtension {
  const { scope, direction, padPairs, choice } = input;
  if (padPairs.length !== PAD_PAIRS_BYTES || choice.length !== EXTENDED_BYTES) throw new Error("input of an extension");
  const rows = arena.take(CORRECTION_BYTES);
  const correction = correctionOf(input, rows, arena);
  const table = foldTableOf(scope, direction, correction);
  const choiceFold = Buffer.alloc(CHECK_FIELD_BYTES);
  table.fold(choice, choiceFold);
  const rowFolds = Buffer.alloc(FOLDS_BYTES);
  for (let row = 0; row < BASE_OTS; row++) {
    table.fold(rowOf(rows, row), rowFolds.subarray(row * CHECK_FIELD_BYTES, (row + 1) * CHECK_FIELD_BYTES));
  }
  const columns = arena.take(COLUMNS_BYTES);
  transposeInto(columns, rows);
  return {
    message: { correction, choiceFold, rowFolds },
    pads: padsOfColumns(arena, scope, direction, columns),
  };
}

/** Fills `rows` with T_i and returns U_i = T_i ⊕ PRG(s1_i) ⊕ c. */
function correctionOf(input: ExtensionChooserInput, rows: Buffer, arena: Arena): Buffer {
  const { scope, direction, padPairs, choice } = input;
  const generator = new RowGenerator(arena, scope, direction);
  // It holds PRG(s1_i) until the other two terms are on it.
  const correction = Buffer.alloc(CORRECTION_BYTES);
  for (let row = 0; row < BASE_OTS; row++) {
    const seedAt = 2 * row * HASH_BYTES;
    const kept = rowOf(rows, row);
    generator.generate(padPairs.subarray(seedAt, seedAt + HASH_BYTES), row, kept);
    const masked = rowOf(correction, row);
    generator.generate(padPairs.subarray(seedAt + HASH_BYTES, seedAt + 2 * HASH_BYTES), row, masked);
    xorInto(masked, kept);
    xorInto(masked, choice);
  }
  return correction;
}
