/**
 * Base OT of one direction, the chooser's side (docs/mpc.md, section 5.2): it has the key y, Y and gets both pads of
 * each OT. It opens only after the check of resp. Steps come once and in order.
 */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";
import type { PublicPoint } from "../base/point.js";

export interface BaseOtKey {
  /** y */
  readonly secret: bigint;
  /** Y */
  readonly point: PublicPoint;
}

export interface BaseOtChooserSetup {
  /** sid = gsid or rsid. */
  readonly scope: HashScope;
  readonly direction: Direction;
  readonly key: BaseOtKey;
  /** Holds pads and v until the end of key generation; `pads` lies in it too. */
  readonly arena: Arena;
}

export class BaseOtChooser {
  constructor(setup: BaseOtChooserSetup) {
    void setup;
  }

  /** A (decoded, 256) → X, 8,192 bytes. An A_i = Y is a violation. */
  challenge(_points: readonly PublicPoint[]): Buffer {
    throw new Error("not yet");
  }

  /** resp, 8,192 bytes → open, 16,384 bytes. One wrong row is a violation. */
  open(_response: Uint8Array): Buffer {
    throw new Error("not yet");
  }

  /** s0_0, s1_0, s0_1, …: 16,384 bytes of the arena, once `open` has returned. */
  get padPairs(): Buffer {
    throw new Error("not yet");
  }
}
