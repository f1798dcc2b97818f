/** The checks on the other's msgB, in the order of docs/mpc.md, 8.3: rows 2 to 6. All but the last are cheats. */
import { withArena } from "../base/arena.js";
import { cheat } from "../base/outcome.js";
import { otherParty } from "../base/parameters.js";
import { baseTimes, type PublicPoint, samePoint, secretTimes, sum } from "../base/point.js";
import { opens } from "../parts/commitment.js";
import type { ExtensionMessage } from "../parts/extension-chooser.js";
import { type JointNonce, jointNonce } from "../parts/final-signature.js";
import { multiplyAsChooser } from "../parts/multiply-chooser.js";
import type { MessageB } from "../wire/sign-bodies.js";
import type { SignMaterial } from "./sign-material.js";

export interface CheckedMessageB {
  /** du and dv */
  readonly chosen: readonly [bigint, bigint];
  readonly nonce: JointNonce;
}

/** `publicShare`: P of the other party as it is stored, never as it was sent. */
export function checkMessageB(
  material: SignMaterial,
  commitment: Uint8Array,
  message: MessageB,
  publicShare: PublicPoint,
): CheckedMessageB {
  const other = otherParty(material.party);
  const { nonce, salt, gammaU, gammaV } = message;
  if (!opens(commitment, material.scope, "sign/com", other, [salt, nonce.bytes])) throw cheat("opening");
  const extension: ExtensionMessage = material.drawn.messageA.extension;
  const { choice, pads, factor } = material.drawn;
  const scope = material.directionScope(other);
  const gadget = material.gadget(other);
  const given = { scope, direction: other, gadget, choice, pads, extension, message: message.multiply };
  const chosen = withArena((arena) => multiplyAsChooser(given, arena));
  // Both products and both sums are made before either decision.
  const isSameU = isGamma(factor, nonce, chosen[0], gammaU);
  const isSameV = isGamma(factor, publicShare, chosen[1], gammaV);
  if (!isSameU) throw cheat("gamma-u");
  if (!isSameV) throw cheat("gamma-v");
  return { chosen, nonce: jointNonce(material.drawn.nonce, nonce) };
}

/** b X = d G + Gamma. Either side may be the identity, which is unequal to anything. */
function isGamma(factor: bigint, input: PublicPoint, chosen: bigint, gamma: PublicPoint): boolean {
  return samePoint(secretTimes(input.point, factor), sum(baseTimes(chosen), gamma.point));
}
