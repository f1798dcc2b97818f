/** The code against the stored answers, which the slow implementation made. */
import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { FoldTable } from "../base/check-field.js";
import { frame, hash, hashToScalar, sha256, withSid, ZERO_SID } from "../base/hash.js";
import { SUITE } from "../base/parameters.js";
import { addressOf } from "../base/point.js";
import { encodeScalar } from "../base/scalar.js";
import { RowGenerator } from "../parts/extension-rows.js";
import { portableVerifier, signatureHash } from "../parts/final-signature.js";
import { thetasOf } from "../parts/multiply-hashes.js";
import known from "./known-answers.json" with { type: "json" };
import { seededBytes, seededRandom } from "./seeded-random.js";
import { type DirectionRun, ROOT_SCOPE, runKeygen, runSignature } from "./two-parties.js";

const SEED = "kat-1";
const answers: Record<string, string> = known;
const checked = new Set<string>();
const arena = new Arena();
const keys = runKeygen(seededRandom(SEED), arena);
const digest = hash(keys.scope, "kg/test", {}, keys.joint.bytes);
const run = runSignature(keys, digest, 1n, seededRandom(SEED), portableVerifier);

function expectAnswers(given: Record<string, Uint8Array | bigint | undefined>): void {
  const hex = (value: Uint8Array | bigint | undefined) => {
    if (value === undefined) return "none";
    return Buffer.from(typeof value === "bigint" ? encodeScalar(value) : value).toString("hex");
  };
  const names = Object.keys(given);
  for (const name of names) checked.add(name);
  const wanted = Object.fromEntries(names.map((name) => [name, answers[name]]));
  expect(Object.fromEntries(names.map((name) => [name, hex(given[name])]))).toEqual(wanted);
}

it("frames, hashes, field and generator give the known answers", () => {
  const left = Uint8Array.from({ length: 26 }, (_, at) => at + 1);
  const right = Uint8Array.from({ length: 26 }, (_, at) => 255 - at);
  const fold = Buffer.alloc(26);
  const row = seededBytes(SEED, "fold/row", 78);
  const scope = withSid(ROOT_SCOPE, seededBytes(SEED, "prg/xs", 32));
  const place = { direction: 1, actor: 0, indices: [2, 3] };
  new FoldTable(left, right).fold(row, fold);
  const product = Buffer.alloc(26);
  // A row whose first part is one element folds to its product with chi_1.
  new FoldTable(right, left).fold(Buffer.concat([left, Buffer.alloc(52)]), product);
  const stream = Buffer.alloc(78);
  new RowGenerator(arena, scope, 1).generate(ZERO_SID, 255, stream);
  expectAnswers({
    frame: frame(Buffer.from("a"), Buffer.from("bc")),
    suite: SUITE,
    "H of no place": hash(ROOT_SCOPE, "kg/sid", {}, ZERO_SID, ZERO_SID),
    "H of every place": hash(scope, "ext/pad", place, row),
    "Hs of every place": hashToScalar(scope, "ext/pad", place, row),
    "field product": product,
    fold,
    "PRG row 255": stream,
    "rand(0/kg/nonce)": seededBytes(SEED, "0/kg/nonce", 32),
  });
});

it("key generation gives the known answers", () => {
  expectAnswers({
    gsid: Buffer.from(keys.scope.sid),
    P: keys.joint.bytes,
    tag: keys.tag,
    "g[0][0]": keys.gadgets[0][0],
    "g[1][415]": keys.gadgets[1][415],
    "kg/test": digest,
  });
  for (const i of [0, 1] as const) {
    const ot = keys.baseOts[i];
    expectAnswers({
      [`P_${i}`]: keys.points[i].bytes,
      [`pok_${i}`]: keys.proofs[i],
      [`com_${i}`]: keys.commitments[i],
      [`A, direction ${i}`]: sha256(ot.A),
      [`X, direction ${i}`]: sha256(ot.X),
      [`resp, direction ${i}`]: sha256(ot.resp),
      [`open, direction ${i}`]: sha256(ot.open),
      [`s_0, direction ${i}`]: ot.pads.subarray(0, 32),
      [`s_255, direction ${i}`]: ot.pads.subarray(-32),
      [`s, direction ${i}`]: sha256(ot.pads),
      [`s0 and s1, direction ${i}`]: sha256(ot.padPairs),
    });
  }
  for (const [index, value] of keys.transcript.entries()) expectAnswers({ [`T_${index + 1}`]: value });
  expect(addressOf(keys.joint).toString("hex")).toBe("c0349f9cf7d5730c4f8a525d49ff560d80be8d96");
});

it.each([0, 1] as const)("extension and multiplication of direction %i give the known answers", (d) => {
  const direction: DirectionRun = run.directions[d];
  const { message, pads } = direction.chooser;
  const sent = run.bodies[d === 0 ? "F3" : "F4"];
  const tau = sent.subarray(d === 0 ? 26_682 + 65 : 65).subarray(0, 39_936);
  const [theta0, theta1] = thetasOf(run.directionScopes[d], d, message, tau);
  const given = {
    chi_1: hash(run.directionScopes[d], "ext/chi", { direction: d, indices: [1] }, message.correction).subarray(0, 26),
    U: sha256(message.correction),
    xh: message.choiceFold,
    th: sha256(message.rowFolds),
    "pc[0][0]": pads[0],
    "pc[415][2]": pads.at(-1),
    tau: sha256(tau),
    theta_0: theta0,
    theta_1: theta1,
    eta: direction.multiplier.message.eta,
    hmu: direction.multiplier.message.muHash,
    c_0: direction.multiplier.shares[0],
    c_1: direction.multiplier.shares[1],
    d_0: direction.chosen[0],
    d_1: direction.chosen[1],
    b: direction.factor,
    "p0[0][0]": direction.multiplierPads.pads0[0],
    "p0[415][2]": direction.multiplierPads.pads0.at(-1),
  };
  expectAnswers(Object.fromEntries(Object.entries(given).map(([name, value]) => [`${name}, direction ${d}`, value])));
});

it("a signature and its messages give the known answers, and no answer is left out", () => {
  expectAnswers({
    ssid: run.ssid,
    xs_0: Buffer.from(run.directionScopes[0].sid),
    xs_1: Buffer.from(run.directionScopes[1].sid),
    F2: sha256(run.bodies.F2),
    F3: sha256(run.bodies.F3),
    F4: sha256(run.bodies.F4),
    F5: sha256(run.bodies.F5),
    F6: signatureHash(run.signature),
    r: run.signature.r,
    s: run.signature.s,
    v: Uint8Array.of(run.signature.recoveryId),
  });
  expect([...checked].sort()).toEqual(Object.keys(answers).sort());
});
