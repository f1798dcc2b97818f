/** Multiplication of one direction of one session, the chooser's side, with check 4 (docs/mpc.md, section 7). */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";
import type { ExtensionMessage } from "./extension-chooser.js";

/** What the multiplier sends, decoded. */
export interface MultiplyMessage {
  readonly tau: Tau;
  readonly eta: bigint;
  /** hmu, 32 bytes. */
  readonly muHash: Buffer;
}

/** 1,248 scalars, each below n: tau[j][l] is the one at 3 j + l. */
export interface Tau {
  readonly bytes: Buffer;
}

/** 39,936 bytes; a scalar that is not below n is a violation. */
export declare function decodeTau(bytes: Uint8Array, field: string): Tau;

/** b, the sum of the gadget's elements whose bit of `choice` is 1. */
export declare function chooserFactor(gadget: readonly bigint[], choice: Uint8Array): bigint;

export interface MultiplyChooserInput {
  /** sid = xs of the direction. */
  readonly scope: HashScope;
  readonly direction: Direction;
  readonly gadget: readonly bigint[];
  /** c or its first 52 bytes, beta. */
  readonly choice: Uint8Array;
  /** pc */
  readonly pads: readonly bigint[];
  /** The own message of the extension. */
  readonly extension: ExtensionMessage;
  readonly message: MultiplyMessage;
}

/** Check 4 (cheat), then d_0 and d_1: c_l + d_l = a_l b. */
export declare function multiplyAsChooser(input: MultiplyChooserInput, arena: Arena): readonly [bigint, bigint];
