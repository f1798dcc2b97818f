/** Key generation of docs/mpc.md, sections 5 to 5.2, both parties in one place, on plain BigInt. */
import { encoded, G, minus, modulo, plus, type SlowPoint, times } from "./slow-curve.js";
import { bit, drawn, drawnScalar, H, Hs, ifOne, scalarBytes, sha256, xor, ZEROS } from "./slow-hash.js";

export interface SlowBaseOt {
  readonly delta: Buffer;
  readonly A: Buffer;
  readonly X: Buffer;
  readonly resp: Buffer;
  readonly open: Buffer;
  readonly s: readonly Buffer[];
  readonly s0: readonly Buffer[];
  readonly s1: readonly Buffer[];
}

export type Pair<T> = readonly [T, T];
export const both = <T>(make: (index: 0 | 1) => T): Pair<T> => [make(0), make(1)];
export const other = (index: 0 | 1): 0 | 1 => (index === 0 ? 1 : 0);

export interface SlowKeys {
  readonly gsid: Buffer;
  readonly x: Pair<bigint>;
  readonly P: Pair<SlowPoint>;
  readonly joint: SlowPoint;
  readonly proofs: Pair<Buffer>;
  readonly commitments: Pair<Buffer>;
  readonly gadget: Pair<readonly bigint[]>;
  readonly baseOts: Pair<SlowBaseOt>;
  readonly transcript: readonly Buffer[];
  readonly tag: Buffer;
}

function proof(purpose: string, prover: 0 | 1, gsid: Buffer, secret: bigint): Buffer {
  const t = drawnScalar(`${prover}/kg/pok/${purpose}`);
  const T = encoded(times(G, t));
  const e = Hs(`pok/${purpose}`, gsid, { actor: prover }, encoded(times(G, secret)), T);
  return Buffer.concat([T, scalarBytes(modulo(t + e * secret))]);
}

/** Throws where the multiplier and the chooser do not agree. */
export function slowBaseOt(d: 0 | 1, gsid: Buffer, y: bigint, count = 256): SlowBaseOt {
  const Y = times(G, y);
  const yY = times(Y, y);
  const delta = drawn(`${d}/kg/delta`, 32);
  const rows = Array.from({ length: count }, (_, i) => {
    const a = drawnScalar(`${d}/kg/a/${i}`);
    const A = bit(delta, i) === 1 ? plus(times(G, a), Y) : times(G, a);
    const hashed = (step: string, last: Buffer) =>
      H(`bot/${step}`, gsid, { d, idx: [i] }, encoded(Y), encoded(A), last);
    const s = hashed("pad", encoded(times(Y, a)));
    const yA = times(A, y);
    const s0 = hashed("pad", encoded(yA));
    const s1 = hashed("pad", encoded(minus(yA, yY)));
    const [v0, v1] = [hashed("v1", s0), hashed("v1", s1)];
    const X = xor(hashed("v2", v0), hashed("v2", v1));
    const resp = xor(hashed("v2", hashed("v1", s)), ifOne(bit(delta, i), X));
    if (!resp.equals(hashed("v2", v0)) || !s.equals(bit(delta, i) === 1 ? s1 : s0)) throw new Error("base OT");
    return { A: encoded(A), s, s0, s1, X, resp, open: Buffer.concat([v0, v1]) };
  });
  const joined = (of: "A" | "X" | "resp" | "open") => Buffer.concat(rows.map((row) => row[of]));
  return {
    delta,
    A: joined("A"),
    X: joined("X"),
    resp: joined("resp"),
    open: joined("open"),
    s: rows.map((row) => row.s),
    s0: rows.map((row) => row.s0),
    s1: rows.map((row) => row.s1),
  };
}

export function slowKeygen(): SlowKeys {
  const nonce = both((i) => drawn(`${i}/kg/nonce`, 32));
  const gsid = H("kg/sid", ZEROS, {}, ...nonce);
  const x = both((i) => drawnScalar(`${i}/kg/x`));
  const y = both((i) => drawnScalar(`${i}/kg/y`));
  const P = both((i) => times(G, x[i]));
  const gs = both((i) => drawn(`${i}/kg/gs`, 32));
  const proofs = both((i) => proof("share", i, gsid, x[i]));
  const fields = both((i) => [
    drawn(`${i}/kg/salt`, 32),
    encoded(P[i]),
    proofs[i],
    encoded(times(G, y[i])),
    proof("ot", i, gsid, y[i]),
    gs[i],
  ]);
  const commitments = both((i) => H("kg/com", gsid, { actor: i }, ...fields[i]));
  const reveals = both((i) => Buffer.concat(fields[i]));
  const baseOts = both((d) => slowBaseOt(d, gsid, y[other(d)]));
  const [ot0, ot1] = baseOts;
  const bodies = [
    nonce[0],
    Buffer.concat([nonce[1], commitments[1]]),
    Buffer.concat([commitments[0], reveals[0]]),
    Buffer.concat([reveals[1], ot1.A]),
    Buffer.concat([ot0.A, ot1.X]),
    Buffer.concat([ot0.X, ot1.resp]),
    Buffer.concat([ot0.resp, ot1.open]),
    ot0.open,
  ];
  const transcript = bodies.map(sha256);
  return {
    gsid,
    x,
    P,
    joint: plus(...P),
    proofs,
    commitments,
    gadget: both((d) => Array.from({ length: 416 }, (_, j) => Hs("gad", gsid, { d, idx: [j] }, ...gs))),
    baseOts,
    transcript,
    tag: H("kg/fin", gsid, {}, ...transcript),
  };
}
