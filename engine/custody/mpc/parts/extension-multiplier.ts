/**
 * OT extension of one direction of one session, the multiplier's side, with check 3 (docs/mpc.md, section 6).
 *
 * A failed check is a cheat: a chooser that flips a bit of row i passes exactly when bit i of Delta is 0.
 */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";
import type { ExtensionMessage } from "./extension-chooser.js";

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
export declare function extendAsMultiplier(input: ExtensionMultiplierInput, arena: Arena): MultiplierExtension;
