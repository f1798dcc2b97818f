/** What a party refuses of the other's reveal, each check alone: everything else about the reveal is in order. */
import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { ZERO_SID } from "../base/hash.js";
import { baseTimes, encodePublic } from "../base/point.js";
import { ORDER } from "../base/scalar.js";
import { commit } from "../parts/commitment.js";
import { decodeProof, type ProofContext, prove } from "../parts/proof.js";
import { failureFrom, scalarOf } from "../test/ot-seeds.js";
import { seededRandom } from "../test/seeded-random.js";
import type { Reveal } from "../wire/keygen-bodies.js";
import { revealFields } from "../wire/keygen-bodies.js";
import { checkReveal, drawKeygen, keygenScope } from "./keygen-draws.js";

const WALLET = Buffer.alloc(16, 7);
const scope = keygenScope(WALLET, [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
const own = drawKeygen(0, scope, seededRandom("own"));
const others = drawKeygen(1, scope, seededRandom("others"));

function proven(secret: bigint, purpose: ProofContext["purpose"], prover: 0 | 1 = 1, of = scope) {
  const point = encodePublic(baseTimes(secret));
  const bytes = prove({ scope: of, purpose, prover }, secret, point, seededRandom("proof"), new Arena());
  return { point, proof: decodeProof(bytes, "pok") };
}

/** With a share of this secret, and a proof of it. */
function withShare(secret: bigint): Reveal {
  const { point, proof } = proven(secret, "share");
  return { ...others.reveal, share: point, shareProof: proof };
}

function withKey(secret: bigint): Reveal {
  const { point, proof } = proven(secret, "ot");
  return { ...others.reveal, key: point, keyProof: proof };
}

const committed = (reveal: Reveal) => commit(scope, "kg/com", 1, revealFields(reveal));
const judged = (reveal: Reveal, commitment = committed(reveal)) =>
  failureFrom(() => checkReveal(0, scope, own.reveal, commitment, reveal));

it("an honest reveal is taken, and so is another one that was committed to", () => {
  expect(judged(others.reveal, others.commitment)).toBeNull();
  expect(judged(withShare(scalarOf("late", "x")))).toBeNull();
  expect(judged(withKey(scalarOf("late", "y")))).toBeNull();
});

it("a share, a base-OT key or a seed that was chosen after the other's is refused by the commitment", () => {
  const late = [
    withShare(scalarOf("late", "x")),
    withKey(scalarOf("late", "y")),
    { ...others.reveal, seed: Buffer.alloc(32, 9) },
    { ...others.reveal, salt: Buffer.alloc(32, 9) },
  ];
  for (const reveal of late) expect(judged(reveal, others.commitment)).toEqual({ kind: "violation", field: "com" });
});

it("a commitment under the other index, wallet or session is none", () => {
  const fields = revealFields(others.reveal);
  const elsewhere = [
    commit(scope, "kg/com", 0, fields),
    commit({ ...scope, walletId: Buffer.alloc(16, 8) }, "kg/com", 1, fields),
    commit({ ...scope, epoch: 2 }, "kg/com", 1, fields),
    commit({ ...scope, sid: ZERO_SID }, "kg/com", 1, fields),
    commit(scope, "ref/com", 1, fields),
  ];
  for (const commitment of elsewhere)
    expect(judged(others.reveal, commitment)).toEqual({ kind: "violation", field: "com" });
});

it("the own share and the own base-OT key sent back are refused, with proofs of them too", () => {
  expect(judged(withShare(own.share))).toEqual({ kind: "violation", field: "P" });
  expect(judged(withKey(own.key.secret))).toEqual({ kind: "violation", field: "Y" });
});

it("a share that makes the joint key the identity is refused, though its secret is known", () => {
  expect(judged(withShare(ORDER - own.share))).toEqual({ kind: "violation", field: "P" });
});

it("a proof for another prover, purpose or session is refused", () => {
  const secret = scalarOf("late", "x");
  const elsewhere = [
    proven(secret, "share", 0),
    proven(secret, "ot"),
    proven(secret, "share", 1, keygenScope(WALLET, [Buffer.alloc(32, 1), Buffer.alloc(32, 3)])),
    proven(secret, "share", 1, keygenScope(Buffer.alloc(16, 8), [Buffer.alloc(32, 1), Buffer.alloc(32, 2)])),
  ];
  for (const { point, proof } of elsewhere)
    expect(judged({ ...others.reveal, share: point, shareProof: proof })).toEqual({ kind: "violation", field: "pok" });
  const swapped = proven(secret, "share");
  expect(judged({ ...others.reveal, key: swapped.point, keyProof: swapped.proof })).toEqual({
    kind: "violation",
    field: "pokY",
  });
});
