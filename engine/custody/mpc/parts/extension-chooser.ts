/**
 * OT extension of one direction of one session, the chooser's side (docs/mpc.md, section 6). It masks its choice bits
 * in U and lets the multiplier check that they are the same in each row.
 */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";

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
export declare function directionScope(signScope: HashScope, direction: Direction): HashScope;

/** T, t and PRG output lie in `arena`, which may be wiped when this returns. */
export declare function extendAsChooser(input: ExtensionChooserInput, arena: Arena): ChooserExtension;
