/** Multiplication of one direction of one session, the multiplier's side (docs/mpc.md, section 7). */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";
import type { ExtensionMessage } from "./extension-chooser.js";
import type { MultiplierExtension } from "./extension-multiplier.js";
import type { MultiplyMessage } from "./multiply-chooser.js";

export interface MultiplyMultiplierInput {
  /** sid = xs of the direction. */
  readonly scope: HashScope;
  readonly direction: Direction;
  readonly gadget: readonly bigint[];
  readonly pads: MultiplierExtension;
  /** The message of the extension that passed check 3. */
  readonly extension: ExtensionMessage;
  /** a_0 and a_1: in signing k and x of this party. */
  readonly inputs: readonly [bigint, bigint];
  /** ah */
  readonly checkInput: bigint;
}

export interface MultiplierResult {
  /** tau is not in the arena: it is sent. */
  readonly message: MultiplyMessage;
  /** c_0 and c_1. */
  readonly shares: readonly [bigint, bigint];
}

export declare function multiplyAsMultiplier(input: MultiplyMultiplierInput, arena: Arena): MultiplierResult;
