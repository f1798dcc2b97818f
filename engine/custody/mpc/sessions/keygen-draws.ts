/** What a party draws for a key generation, commits to and reveals, and what it checks of the other's (docs/mpc.md, 5). */
import { Arena } from "../base/arena.js";
import { type HashScope, hash, withSid, ZERO_SID } from "../base/hash.js";
import { violation } from "../base/outcome.js";
import { HASH_BYTES, otherParty, type Party } from "../base/parameters.js";
import { baseTimes, encodePublic, isIdentity, type PublicPoint, samePoint, sum } from "../base/point.js";
import { drawScalar, type RandomSource } from "../base/random.js";
import type { BaseOtKey } from "../parts/base-ot-chooser.js";
import { commit, opens } from "../parts/commitment.js";
import { isProven, prove } from "../parts/proof.js";
import { decodeProof } from "../parts/proof.js";
import { type Reveal, revealFields } from "../wire/keygen-bodies.js";

export interface KeygenDraws {
  readonly share: bigint;
  readonly key: BaseOtKey;
  readonly reveal: Reveal;
  readonly commitment: Buffer;
}

export function keygenScope(walletId: Uint8Array, nonces: readonly [Uint8Array, Uint8Array]): HashScope {
  const root = { walletId, epoch: 1, sid: ZERO_SID };
  return withSid(root, hash(root, "kg/sid", {}, ...nonces));
}

export function drawnBytes(random: RandomSource, label: string): Buffer {
  const bytes = Buffer.alloc(HASH_BYTES);
  random.fill(label, bytes);
  return bytes;
}

export function drawKeygen(party: Party, scope: HashScope, random: RandomSource): KeygenDraws {
  const arena = new Arena();
  try {
    const share = drawScalar(random, "x", arena);
    const secret = drawScalar(random, "y", arena);
    const [point, key] = [encodePublic(baseTimes(share)), encodePublic(baseTimes(secret))];
    const shareProof = prove({ scope, purpose: "share", prover: party }, share, point, random, arena);
    const keyProof = prove({ scope, purpose: "ot", prover: party }, secret, key, random, arena);
    const reveal: Reveal = {
      salt: drawnBytes(random, "salt"),
      ...{ share: point, shareProof: decodeProof(shareProof, "own") },
      ...{ key, keyProof: decodeProof(keyProof, "own"), seed: drawnBytes(random, "gs") },
    };
    const commitment = commit(scope, "kg/com", party, revealFields(reveal));
    return { share, key: { secret, point: key }, reveal, commitment };
  } finally {
    arena.wipe();
  }
}

export interface JointKey {
  readonly publicShares: readonly [PublicPoint, PublicPoint];
  readonly key: PublicPoint;
  readonly gadgetSeeds: readonly [Buffer, Buffer];
}

/** The checks of a reveal, in order; any failure is a violation. */
export function checkReveal(
  party: Party,
  scope: HashScope,
  own: Reveal,
  commitment: Uint8Array,
  received: Reveal,
): JointKey {
  const prover = otherParty(party);
  if (!opens(commitment, scope, "kg/com", prover, revealFields(received))) throw violation("com");
  if (samePoint(received.share.point, own.share.point)) throw violation("P");
  if (samePoint(received.key.point, own.key.point)) throw violation("Y");
  if (!isProven({ scope, purpose: "share", prover }, received.share, received.shareProof)) throw violation("pok");
  if (!isProven({ scope, purpose: "ot", prover }, received.key, received.keyProof)) throw violation("pokY");
  const joint = sum(own.share.point, received.share.point);
  if (isIdentity(joint)) throw violation("P");
  const [first, second] = party === 0 ? [own, received] : [received, own];
  return {
    publicShares: [first.share, second.share],
    key: encodePublic(joint),
    // Copied: what was received lies in the buffer of a frame.
    gadgetSeeds: [Buffer.from(first.seed), Buffer.from(second.seed)],
  };
}
