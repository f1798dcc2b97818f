/**
 * New shares of the same key, and what both parties draw, reveal and check for them (docs/mpc.md, section 9). The shares
 * are never joined: S adds delta, C takes it away.
 */
import { Arena } from "../base/arena.js";
import { type HashScope, hash, hashToScalar, withSid, ZERO_SID } from "../base/hash.js";
import { violation } from "../base/outcome.js";
import { otherParty, type Party } from "../base/parameters.js";
import {
  baseTimes,
  difference,
  encodePublic,
  isIdentity,
  type PublicPoint,
  publicTimes,
  samePoint,
  sum,
} from "../base/point.js";
import { drawScalar, type RandomSource } from "../base/random.js";
import { encodeScalar, reduced } from "../base/scalar.js";
import type { BaseOtKey } from "../parts/base-ot-chooser.js";
import { commit, opens } from "../parts/commitment.js";
import { decodeProof, isProven, type Proof, prove } from "../parts/proof.js";
import type { OpenShare } from "../state/share-record.js";
import { type RefreshReveal, refreshFields } from "../wire/refresh-bodies.js";
import { drawnBytes } from "./keygen-draws.js";

export interface RefreshDraws {
  readonly key: BaseOtKey;
  readonly reveal: RefreshReveal;
  readonly commitment: Buffer;
}

/** rsid: the nonces of both, and the tag of the epoch that is refreshed. `epoch` is the new one. */
export function refreshScope(
  walletId: Uint8Array,
  epoch: number,
  nonces: readonly [Uint8Array, Uint8Array],
  tag: Uint8Array,
): HashScope {
  const root = { walletId, epoch, sid: ZERO_SID };
  return withSid(root, hash(root, "ref/sid", {}, ...nonces, tag));
}

export function drawRefresh(party: Party, scope: HashScope, random: RandomSource): RefreshDraws {
  const arena = new Arena();
  try {
    const delta = drawScalar(random, "delta-share", arena);
    const secret = drawScalar(random, "y", arena);
    const key = encodePublic(baseTimes(secret));
    const proof = prove({ scope, purpose: "ot", prover: party }, secret, key, random, arena);
    const reveal: RefreshReveal = {
      ...{ salt: drawnBytes(random, "salt"), delta, key },
      ...{ keyProof: decodeProof(proof, "own"), seed: drawnBytes(random, "gs") },
    };
    return { key: { secret, point: key }, reveal, commitment: commit(scope, "ref/com", party, refreshFields(reveal)) };
  } finally {
    arena.wipe();
  }
}

export interface NewShares {
  readonly share: bigint;
  readonly publicShares: readonly [PublicPoint, PublicPoint];
  readonly key: PublicPoint;
  readonly gadgetSeeds: readonly [Buffer, Buffer];
}

/** The checks of a reveal in order, then the shares of the new epoch; any failure is a violation. */
export function sharesAfter(
  old: OpenShare,
  scope: HashScope,
  own: RefreshReveal,
  commitment: Uint8Array,
  received: RefreshReveal,
): NewShares {
  const prover = otherParty(old.party);
  if (!opens(commitment, scope, "ref/com", prover, refreshFields(received))) throw violation("com");
  if (!isProven({ scope, purpose: "ot", prover }, received.key, received.keyProof)) throw violation("pokY");
  if (samePoint(received.key.point, own.key.point)) throw violation("Y");
  const [first, second] = old.party === 0 ? [own, received] : [received, own];
  const delta = hashToScalar(scope, "ref/delta", {}, encodeScalar(first.delta), encodeScalar(second.delta));
  return { ...shifted(old, delta), gadgetSeeds: [Buffer.from(first.seed), Buffer.from(second.seed)] };
}

/** Both know delta. Zero shares and identities are refused; the key stays what it was. */
export function shifted(old: OpenShare, delta: bigint): Omit<NewShares, "gadgetSeeds"> {
  if (delta === 0n) throw violation("delta");
  const share = reduced(old.share + (old.party === 0 ? delta : -delta));
  if (share === 0n) throw violation("share");
  const step = publicTimes(baseTimes(1n), delta);
  const first = sum(old.publicShares[0].point, step);
  const second = difference(old.publicShares[1].point, step);
  if (isIdentity(first) || isIdentity(second) || samePoint(first, second)) throw violation("P");
  if (!samePoint(sum(first, second), old.key.point)) throw new Error("the key has changed");
  return { share, publicShares: [encodePublic(first), encodePublic(second)], key: old.key };
}

/** Proof of knowledge of the own new share. */
export function proveShare(party: Party, scope: HashScope, made: NewShares, random: RandomSource): Buffer {
  const arena = new Arena();
  try {
    const context = { scope, purpose: "share" as const, prover: party };
    return prove(context, made.share, made.publicShares[party], random, arena);
  } finally {
    arena.wipe();
  }
}

export function checkShareProof(
  party: Party,
  scope: HashScope,
  made: Pick<NewShares, "publicShares">,
  proof: Proof,
): void {
  const prover = otherParty(party);
  const statement = made.publicShares[prover];
  if (!isProven({ scope, purpose: "share", prover }, statement, proof)) throw violation("pokP");
}
