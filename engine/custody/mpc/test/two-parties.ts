/** Both parties in one place, on the code: what sessions do with `parts`, without messages. For tests and measurement. */
import { Arena } from "../base/arena.js";
import { type HashScope, hash, sha256, u64, withSid, ZERO_SID } from "../base/hash.js";
import { BASE_OTS, type Direction, otherParty, type Party } from "../base/parameters.js";
import { baseTimes, decodePoints, encodePublic, type PublicPoint, samePoint, secretTimes, sum } from "../base/point.js";
import { drawScalar, drawSessionSecrets, labelled, type RandomSource, type SessionSecrets } from "../base/random.js";
import { encodeScalar, reduced } from "../base/scalar.js";
import { BaseOtChooser } from "../parts/base-ot-chooser.js";
import { BaseOtMultiplier } from "../parts/base-ot-multiplier.js";
import { commit } from "../parts/commitment.js";
import { type ChooserExtension, directionScope, extendAsChooser } from "../parts/extension-chooser.js";
import { extendAsMultiplier, type MultiplierExtension } from "../parts/extension-multiplier.js";
import {
  type FinalSignature,
  finalSignature,
  jointNonce,
  type SignatureShare,
  type SignatureVerifier,
  signatureShare,
} from "../parts/final-signature.js";
import { gadgetOf } from "../parts/gadget.js";
import { chooserFactor, decodeTau, multiplyAsChooser } from "../parts/multiply-chooser.js";
import { type MultiplierResult, multiplyAsMultiplier } from "../parts/multiply-multiplier.js";
import { prove } from "../parts/proof.js";
import { inOneGo } from "./in-one-go.js";

export type Pair<T> = readonly [T, T];
export const both = <T>(make: (index: 0 | 1) => T): Pair<T> => [make(0), make(1)];

export const WALLET_ID = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
export const ROOT_SCOPE: HashScope = { walletId: WALLET_ID, epoch: 1, sid: ZERO_SID };

/** What a direction's two sides keep of base OT. */
export interface DirectionSeeds {
  readonly delta: Buffer;
  readonly pads: Buffer;
  readonly padPairs: Buffer;
}

export interface BaseOtRun extends DirectionSeeds {
  readonly A: Buffer;
  readonly X: Buffer;
  readonly resp: Buffer;
  readonly open: Buffer;
}

export function runBaseOt(
  scope: HashScope,
  direction: Direction,
  key: { secret: bigint; point: PublicPoint },
  random: RandomSource,
  arena: Arena,
): BaseOtRun {
  const multiplier = new BaseOtMultiplier({ scope, direction, chooserKey: key.point, random, arena });
  const chooser = new BaseOtChooser({ scope, direction, key, arena });
  const A = inOneGo(multiplier.points());
  const X = inOneGo(chooser.challenge(decodePoints(A, BASE_OTS, "A")));
  const resp = multiplier.respond(X);
  const open = chooser.open(resp);
  multiplier.verify(open);
  return { A, X, resp, open, delta: multiplier.delta, pads: multiplier.pads, padPairs: chooser.padPairs };
}

export interface WalletKeys {
  readonly scope: HashScope;
  readonly shares: Pair<bigint>;
  readonly points: Pair<PublicPoint>;
  readonly joint: PublicPoint;
  readonly gadgets: Pair<readonly bigint[]>;
  readonly seeds: Pair<DirectionSeeds>;
  readonly tag: Buffer;
}

export interface KeygenRun extends WalletKeys {
  readonly proofs: Pair<Buffer>;
  readonly commitments: Pair<Buffer>;
  readonly baseOts: Pair<BaseOtRun>;
  readonly transcript: readonly Buffer[];
}

function drawnBytes(random: RandomSource, label: string, byteLength: number): Buffer {
  const bytes = Buffer.alloc(byteLength);
  random.fill(label, bytes);
  return bytes;
}

export function runKeygen(random: RandomSource, arena: Arena): KeygenRun {
  const draws = both((i) => labelled(random, `${i}/kg/`));
  const nonces = both((i) => drawnBytes(draws[i], "nonce", 32));
  const scope = withSid(ROOT_SCOPE, hash(ROOT_SCOPE, "kg/sid", {}, ...nonces));
  const shares = both((i) => drawScalar(draws[i], "x", arena));
  const keys = both((i) => {
    const secret = drawScalar(draws[i], "y", arena);
    return { secret, point: encodePublic(baseTimes(secret)) };
  });
  const points = both((i) => encodePublic(baseTimes(shares[i])));
  const gs = both((i) => drawnBytes(draws[i], "gs", 32));
  const proofs = both((i) => prove({ scope, purpose: "share", prover: i }, shares[i], points[i], draws[i], arena));
  const fields = both((i) => [
    drawnBytes(draws[i], "salt", 32),
    points[i].bytes,
    proofs[i],
    keys[i].point.bytes,
    prove({ scope, purpose: "ot", prover: i }, keys[i].secret, keys[i].point, draws[i], arena),
    gs[i],
  ]);
  const commitments = both((i) => commit(scope, "kg/com", i, fields[i]));
  const baseOts = both((d) => runBaseOt(scope, d, keys[otherParty(d)], labelled(random, `${d}/kg/`), arena));
  const transcript = transcriptOf(
    nonces,
    commitments,
    both((i) => Buffer.concat(fields[i])),
    baseOts,
  );
  return {
    scope,
    shares,
    points,
    joint: encodePublic(sum(points[0].point, points[1].point)),
    gadgets: both((d) => gadgetOf(scope, d, ...gs)),
    seeds: baseOts,
    tag: hash(scope, "kg/fin", {}, ...transcript),
    proofs,
    commitments,
    baseOts,
    transcript,
  };
}

function transcriptOf(nonces: Pair<Buffer>, coms: Pair<Buffer>, reveals: Pair<Buffer>, ots: Pair<BaseOtRun>): Buffer[] {
  const [ot0, ot1] = ots;
  const bodies = [
    [nonces[0]],
    [nonces[1], coms[1]],
    [coms[0], reveals[0]],
    [reveals[1], ot1.A],
    [ot0.A, ot1.X],
    [ot0.X, ot1.resp],
    [ot0.resp, ot1.open],
    [ot0.open],
  ];
  return bodies.map((parts) => sha256(Buffer.concat(parts)));
}

export interface DirectionRun {
  readonly chooser: ChooserExtension;
  readonly factor: bigint;
  readonly multiplierPads: MultiplierExtension;
  readonly multiplier: MultiplierResult;
  readonly chosen: readonly [bigint, bigint];
}

/** Extension and multiplication of one direction. */
export function runDirection(
  scope: HashScope,
  direction: Direction,
  seeds: DirectionSeeds,
  gadget: readonly bigint[],
  secrets: { readonly choice: Buffer; readonly inputs: readonly [bigint, bigint]; readonly checkInput: bigint },
  arena: Arena,
): DirectionRun {
  const { choice, inputs, checkInput } = secrets;
  const chooser = extendAsChooser({ scope, direction, padPairs: seeds.padPairs, choice }, arena);
  const extension = chooser.message;
  const { delta } = seeds;
  const pads = extendAsMultiplier({ scope, direction, delta, pads: seeds.pads, message: extension }, arena);
  const multiplier = multiplyAsMultiplier({ scope, direction, gadget, pads, extension, inputs, checkInput }, arena);
  const message = { ...multiplier.message, tau: decodeTau(multiplier.message.tau.bytes, "tau") };
  const forChooser = { scope, direction, gadget, choice, pads: chooser.pads, extension, message };
  const chosen = multiplyAsChooser(forChooser, arena);
  return { chooser, factor: chooserFactor(gadget, choice), multiplierPads: pads, multiplier, chosen };
}

export interface SignatureRun {
  readonly ssid: Buffer;
  readonly directions: Pair<DirectionRun>;
  readonly directionScopes: Pair<HashScope>;
  readonly secrets: Pair<SessionSecrets>;
  readonly bodies: { readonly F2: Buffer; readonly F3: Buffer; readonly F4: Buffer; readonly F5: Buffer };
  readonly signature: FinalSignature;
}

/** All arithmetic of one signature of both parties, final verification at both included. */
export function runSignature(
  keys: WalletKeys,
  digest: Buffer,
  ctr: bigint,
  random: RandomSource,
  verifier: SignatureVerifier,
): SignatureRun {
  const arena = new Arena();
  try {
    const draws = both((i) => labelled(random, `${i}/t${ctr}/`));
    const nonces = both((i) => drawnBytes(draws[i], "nonce", 32));
    const root = withSid(keys.scope, ZERO_SID);
    const ssid = hash(root, "sign/sid", {}, u64(ctr), keys.joint.bytes, digest, ...nonces, keys.tag);
    const scope = withSid(keys.scope, ssid);
    const secrets = both((i) =>
      drawSessionSecrets({ scope, party: i, share: keys.shares[i], ctr, digest }, draws[i], arena),
    );
    const R = both((i) => encodePublic(baseTimes(secrets[i].k)));
    const commitments = both((i) => commit(scope, "sign/com", i, [secrets[i].salt, R[i].bytes]));
    const directionScopes = both((d) => directionScope(scope, d));
    const directions = both((d) => {
      const choice = secrets[otherParty(d)].choice;
      const inputs = [secrets[d].k, keys.shares[d]] as const;
      const given = { choice, inputs, checkInput: secrets[d].ah };
      return runDirection(directionScopes[d], d, keys.seeds[d], keys.gadgets[d], given, arena);
    });
    const gammas = both((i) => both((l) => encodePublic(baseTimes(directions[i].multiplier.shares[l]))));
    for (const d of [0, 1] as const) assertGammas(directions[d], gammas[d], [R[d], keys.points[d]]);
    const psi = both((i) => reduced(secrets[i].phi - directions[otherParty(i)].factor));
    const nonce = jointNonce(R[0], R[1]);
    const shares = both((i) =>
      signatureShare({
        k: secrets[i].k,
        share: keys.shares[i],
        phi: secrets[i].phi,
        otherPsi: psi[otherParty(i)],
        multiplied: directions[i].multiplier.shares,
        chosen: directions[otherParty(i)].chosen,
        digest,
        r: nonce.r,
      }),
    );
    const finals = both(() => finalSignature({ shares, nonce, digest, publicKey: keys.joint, verifier }));
    const messageA = (i: Party) => [commitments[i], ...Object.values(directions[otherParty(i)].chooser.message)];
    const messageB = (i: Party) => {
      const { tau, eta, muHash } = directions[i].multiplier.message;
      const points = gammas[i].map((point) => point.bytes);
      return [R[i].bytes, secrets[i].salt, tau.bytes, encodeScalar(eta), muHash, ...points, encodeScalar(psi[i])];
    };
    const bodies = {
      F2: Buffer.concat([nonces[1], keys.tag, u64(0n), ...messageA(1)]),
      F3: Buffer.concat([...messageA(0), ...messageB(0)]),
      F4: Buffer.concat([...messageB(1), ...messageE(shares[1])]),
      F5: Buffer.concat(messageE(shares[0])),
    };
    return { ssid, directions, directionScopes, secrets, bodies, signature: finals[0] };
  } finally {
    arena.wipe();
  }
}

function messageE(share: SignatureShare): Buffer[] {
  return [encodeScalar(share.u), encodeScalar(share.w)];
}

/** b R = du G + Gu and b P = dv G + Gv. */
function assertGammas(direction: DirectionRun, gamma: Pair<PublicPoint>, inputs: Pair<PublicPoint>): void {
  for (const l of [0, 1] as const) {
    const product = secretTimes(inputs[l].point, direction.factor);
    if (!samePoint(product, sum(baseTimes(direction.chosen[l]), gamma[l].point))) throw new Error("gamma");
  }
}
