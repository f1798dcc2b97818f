/**
 * Base OT of one direction, the multiplier's side (docs/mpc.md, section 5.2): it gets 256 random bits, Delta, and the
 * pad of each. Steps come once and in order.
 */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";
import type { PublicPoint } from "../base/point.js";
import type { RandomSource } from "../base/random.js";

export interface BaseOtMultiplierSetup {
  /** sid = gsid or rsid. */
  readonly scope: HashScope;
  readonly direction: Direction;
  /** Y */
  readonly chooserKey: PublicPoint;
  /** Asked for `delta` and `a/0` to `a/255`. */
  readonly random: RandomSource;
  /** Holds Delta, pads and m until the end of key generation; `delta` and `pads` lie in it too. */
  readonly arena: Arena;
}

export class BaseOtMultiplier {
  constructor(setup: BaseOtMultiplierSetup) {
    void setup;
  }

  /** → A, 8,448 bytes. */
  points(): Buffer {
    throw new Error("not yet");
  }

  /** X, 8,192 bytes → resp, 8,192 bytes. */
  respond(_challenge: Uint8Array): Buffer {
    throw new Error("not yet");
  }

  /** open, 16,384 bytes. One wrong row is a violation. */
  verify(_opening: Uint8Array): void {
    throw new Error("not yet");
  }

  /** 32 bytes of the arena, once `verify` has returned. */
  get delta(): Buffer {
    throw new Error("not yet");
  }

  /** s_0, s_1, …: 8,192 bytes of the arena, once `verify` has returned. */
  get pads(): Buffer {
    throw new Error("not yet");
  }
}
