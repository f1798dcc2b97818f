/** The known answers as the slow implementation gives them, by the names of `known-answers.json`. */
import { encoded } from "./slow-curve.js";
import {
  drawn,
  fieldBytes,
  fieldOf,
  fieldProduct,
  foldedRow,
  framed,
  H,
  Hs,
  scalarBytes,
  sha256,
  u8,
  ZEROS,
} from "./slow-hash.js";
import { type SlowKeys, slowKeygen } from "./slow-keygen.js";
import { type SlowDirection, type SlowSignature, slowPrg, slowSignature } from "./slow-sign.js";

export type Answers = Record<string, string>;

const hex = (value: Buffer | bigint) => (typeof value === "bigint" ? scalarBytes(value) : value).toString("hex");
const last = <T>(values: readonly T[], from = 1) => values[values.length - from] as T;

/** What needs no curve. */
export function simpleAnswers(): Answers {
  const left = Buffer.from(Array.from({ length: 26 }, (_, at) => at + 1));
  const right = Buffer.from(Array.from({ length: 26 }, (_, at) => 255 - at));
  const row = drawn("fold/row", 78);
  const xs = drawn("prg/xs", 32);
  return {
    frame: hex(framed(Buffer.from("a"), Buffer.from("bc"))),
    suite: hex(sha256(Buffer.from("u2e/1/secp256k1-256-416-208-3/"))),
    "H of no place": hex(H("kg/sid", ZEROS, {}, ZEROS, ZEROS)),
    "H of every place": hex(H("ext/pad", xs, { d: 1, actor: 0, idx: [2, 3] }, row)),
    "Hs of every place": hex(Hs("ext/pad", xs, { d: 1, actor: 0, idx: [2, 3] }, row)),
    "field product": hex(fieldBytes(fieldProduct(fieldOf(left), fieldOf(right)))),
    fold: hex(foldedRow(row, [left, right])),
    "PRG row 255": hex(slowPrg(xs, 1, 255, ZEROS)),
    "rand(0/kg/nonce)": hex(drawn("0/kg/nonce", 32)),
  };
}

export function keygenAnswers(keys: SlowKeys): Answers {
  const answers: Answers = {
    gsid: hex(keys.gsid),
    P: hex(encoded(keys.joint)),
    tag: hex(keys.tag),
    "g[0][0]": hex(keys.gadget[0][0] ?? 0n),
    "g[1][415]": hex(keys.gadget[1][415] ?? 0n),
  };
  for (const i of [0, 1] as const) {
    const ot = keys.baseOts[i];
    answers[`P_${i}`] = hex(encoded(keys.P[i]));
    answers[`pok_${i}`] = hex(keys.proofs[i]);
    answers[`com_${i}`] = hex(keys.commitments[i]);
    for (const name of ["A", "X", "resp", "open"] as const) answers[`${name}, direction ${i}`] = hex(sha256(ot[name]));
    answers[`s_0, direction ${i}`] = hex(ot.s[0] ?? ZEROS);
    answers[`s_255, direction ${i}`] = hex(last(ot.s));
    answers[`s, direction ${i}`] = hex(sha256(Buffer.concat(ot.s)));
    const pairs = ot.s0.flatMap((pad, row) => [pad, ot.s1[row] ?? ZEROS]);
    answers[`s0 and s1, direction ${i}`] = hex(sha256(Buffer.concat(pairs)));
  }
  for (const [index, value] of keys.transcript.entries()) answers[`T_${index + 1}`] = hex(value);
  return answers;
}

function directionAnswers(name: string, direction: SlowDirection): Answers {
  const { U, xh, th, chi, p0, pc, tau, theta, eta, hmu, c, d, b } = direction;
  const values: Record<string, Buffer | bigint> = {
    chi_1: chi[0],
    U: sha256(U),
    xh,
    th: sha256(th),
    "p0[0][0]": p0[0] ?? 0n,
    "p0[415][2]": last(p0),
    "pc[0][0]": pc[0] ?? 0n,
    "pc[415][2]": last(pc),
    tau: sha256(tau),
    theta_0: theta[0],
    theta_1: theta[1],
    eta,
    hmu,
    c_0: c[0],
    c_1: c[1],
    d_0: d[0],
    d_1: d[1],
    b,
  };
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`${key}, direction ${name}`, hex(value)]));
}

export function signatureAnswers(signature: SlowSignature): Answers {
  const { ssid, xs, directions, bodies, r, s, v, finalHash } = signature;
  return {
    ssid: hex(ssid),
    xs_0: hex(xs[0]),
    xs_1: hex(xs[1]),
    ...directionAnswers("0", directions[0]),
    ...directionAnswers("1", directions[1]),
    ...Object.fromEntries(Object.entries(bodies).map(([name, body]) => [name, hex(sha256(body))])),
    F6: hex(finalHash),
    r: hex(r),
    s: hex(s),
    v: hex(u8(v)),
  };
}

export function slowAnswers(): Answers {
  const keys = slowKeygen();
  const digest = H("kg/test", keys.gsid, {}, encoded(keys.joint));
  const signature = slowSignature(keys, digest);
  return { ...simpleAnswers(), ...keygenAnswers(keys), "kg/test": hex(digest), ...signatureAnswers(signature) };
}
