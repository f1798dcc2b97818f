/** Multiplication of one direction of one session, the chooser's side, with check 4 (docs/mpc.md, section 7). */
import { type Arena, withArena } from "../base/arena.js";
import { bitAt, isSame, maskOf, selectInto } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { cheat, violation } from "../base/outcome.js";
import { CHOICE_BYTES, type Direction, GADGET_ELEMENTS, SCALAR_BYTES, SLOTS, TAU_BYTES } from "../base/parameters.js";
import { decodeScalars, LIFT, readLifted, reduced, writeScalar } from "../base/scalar.js";
import type { ExtensionMessage } from "./extension-chooser.js";
import { muHashOf, thetasOf } from "./multiply-hashes.js";

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
export function decodeTau(bytes: Uint8Array, field: string): Tau {
  if (bytes.length !== TAU_BYTES) throw violation(field);
  decodeScalars(bytes, GADGET_ELEMENTS * SLOTS, field);
  return { bytes: Buffer.from(bytes) };
}

/** b, the sum of the gadget's elements whose bit of `choice` is 1. */
export function chooserFactor(gadget: readonly bigint[], choice: Uint8Array): bigint {
  if (choice.length < CHOICE_BYTES) throw new Error("length of choice bits");
  return withArena((arena) => {
    const element = arena.take(SCALAR_BYTES);
    let total = 0n;
    for (const [row, value] of rowsOf(gadget)) {
      writeScalar(value, element, 0);
      selectInto(element, element, maskOf(bitAt(choice, row)));
      total += readLifted(element, 0);
    }
    return reduced(total - BigInt(GADGET_ELEMENTS) * LIFT);
  });
}

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
export function multiplyAsChooser(input: MultiplyChooserInput, arena: Arena): readonly [bigint, bigint] {
  if (input.choice.length < CHOICE_BYTES || input.pads.length !== GADGET_ELEMENTS * SLOTS) {
    throw new Error("input of a multiplication");
  }
  const shares = sharesOf(input, arena);
  assertOneInput(input, shares, arena);
  let [first, second] = [0n, 0n];
  for (const [row, element] of rowsOf(input.gadget)) {
    first += element * (shares[row * SLOTS] ?? 0n);
    second += element * (shares[row * SLOTS + 1] ?? 0n);
  }
  return [reduced(first), reduced(second)];
}

/** e[j][l] = selected(beta_j, tau[j][l]) − pc[j][l] at 3 j + l. */
function sharesOf({ choice, pads, message }: MultiplyChooserInput, arena: Arena): bigint[] {
  const rowBytes = SLOTS * SCALAR_BYTES;
  const selected = arena.take(rowBytes);
  const shares = new Array<bigint>(pads.length);
  for (let row = 0; row < GADGET_ELEMENTS; row++) {
    const sent = message.tau.bytes.subarray(row * rowBytes, (row + 1) * rowBytes);
    selectInto(selected, sent, maskOf(bitAt(choice, row)));
    for (let slot = 0; slot < SLOTS; slot++) {
      const pad = pads[row * SLOTS + slot] ?? 0n;
      shares[row * SLOTS + slot] = reduced(readLifted(selected, slot * SCALAR_BYTES) - (pad + LIFT));
    }
  }
  return shares;
}

/** Check 4: the multiplier used one a in every row. */
function assertOneInput(input: MultiplyChooserInput, shares: readonly bigint[], arena: Arena): void {
  const { scope, direction, choice, extension, message } = input;
  const [theta0, theta1] = thetasOf(scope, direction, extension, message.tau.bytes);
  const eta = arena.take(SCALAR_BYTES);
  writeScalar(message.eta, eta, 0);
  const selected = arena.take(SCALAR_BYTES);
  const mu = arena.take(GADGET_ELEMENTS * SCALAR_BYTES);
  for (let row = 0; row < GADGET_ELEMENTS; row++) {
    selectInto(selected, eta, maskOf(bitAt(choice, row)));
    const at = row * SLOTS;
    const combined = (shares[at + 2] ?? 0n) + theta0 * (shares[at] ?? 0n) + theta1 * (shares[at + 1] ?? 0n);
    writeScalar(reduced(readLifted(selected, 0) - (combined + LIFT)), mu, row * SCALAR_BYTES);
  }
  if (!isSame(muHashOf(scope, direction, mu), message.muHash)) throw cheat("multiplication");
}

function rowsOf(gadget: readonly bigint[]): IterableIterator<[number, bigint]> {
  if (gadget.length !== GADGET_ELEMENTS) throw new Error("length of a gadget");
  return gadget.entries();
}
