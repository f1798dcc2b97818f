/** The challenge of a multiplication: it covers both messages, so it is known to nobody before tau is fixed. */
import { type HashScope, hash, hashToScalar } from "../base/hash.js";
import type { Direction } from "../base/parameters.js";
import type { ExtensionMessage } from "./extension-chooser.js";

/** theta_0 and theta_1. */
export function thetasOf(
  scope: HashScope,
  direction: Direction,
  extension: ExtensionMessage,
  tau: Uint8Array,
): readonly [bigint, bigint] {
  const { correction, choiceFold, rowFolds } = extension;
  const extensionHash = hash(scope, "mul/msga", { direction }, correction, choiceFold, rowFolds);
  const tauHash = hash(scope, "mul/tau", { direction }, tau);
  const theta = (slot: number) =>
    hashToScalar(scope, "mul/theta", { direction, indices: [slot] }, extensionHash, tauHash);
  return [theta(0), theta(1)];
}

/** hmu, over mu_0 ‖ … ‖ mu_415. */
export function muHashOf(scope: HashScope, direction: Direction, mu: Uint8Array): Buffer {
  return hash(scope, "mul/mu", { direction }, mu);
}
