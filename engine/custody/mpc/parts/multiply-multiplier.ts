/** Multiplication of one direction of one session, the multiplier's side (docs/mpc.md, section 7). */
import type { Arena } from "../base/arena.js";
import type { HashScope } from "../base/hash.js";
import { type Direction, GADGET_ELEMENTS, SCALAR_BYTES, SLOTS, TAU_BYTES } from "../base/parameters.js";
import { reduced, writeScalar } from "../base/scalar.js";
import type { ExtensionMessage } from "./extension-chooser.js";
import type { MultiplierExtension } from "./extension-multiplier.js";
import type { MultiplyMessage } from "./multiply-chooser.js";
import { muHashOf, thetasOf } from "./multiply-hashes.js";

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
  /** tau lies in the arena: it is copied into what is sent before the arena is wiped. */
  readonly message: MultiplyMessage;
  /** c_0 and c_1. */
  readonly shares: readonly [bigint, bigint];
}

/** theta follows tau: a theta that is known before would let a wrong tau pass the other's check. */
export function multiplyAsMultiplier(input: MultiplyMultiplierInput, arena: Arena): MultiplierResult {
  const { scope, direction, gadget, pads, extension, inputs, checkInput } = input;
  const count = GADGET_ELEMENTS * SLOTS;
  if (gadget.length !== GADGET_ELEMENTS || pads.pads0.length !== count || pads.pads1.length !== count) {
    throw new Error("input of a multiplication");
  }
  const tau = tauOf(input, arena);
  const [theta0, theta1] = thetasOf(scope, direction, extension, tau);
  const mu = arena.take(GADGET_ELEMENTS * SCALAR_BYTES);
  let [first, second] = [0n, 0n];
  for (const [row, element] of gadget.entries()) {
    const [pad0 = 0n, pad1 = 0n, pad2 = 0n] = pads.pads0.slice(row * SLOTS, (row + 1) * SLOTS);
    writeScalar(reduced(pad2 + theta0 * pad0 + theta1 * pad1), mu, row * SCALAR_BYTES);
    first += element * pad0;
    second += element * pad1;
  }
  return {
    message: {
      tau: { bytes: tau },
      eta: reduced(checkInput + theta0 * inputs[0] + theta1 * inputs[1]),
      muHash: muHashOf(scope, direction, mu),
    },
    shares: [reduced(first), reduced(second)],
  };
}

/** tau[j][l] = p1[j][l] − p0[j][l] + a_l, row by row. */
function tauOf({ pads, inputs, checkInput }: MultiplyMultiplierInput, arena: Arena): Buffer {
  const slots = [...inputs, checkInput];
  const tau = arena.take(TAU_BYTES);
  for (let row = 0; row < GADGET_ELEMENTS; row++) {
    for (const [slot, value] of slots.entries()) {
      const at = row * SLOTS + slot;
      writeScalar(reduced((pads.pads1[at] ?? 0n) - (pads.pads0[at] ?? 0n) + value), tau, at * SCALAR_BYTES);
    }
  }
  return tau;
}
