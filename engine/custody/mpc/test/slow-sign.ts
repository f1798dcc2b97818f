/** One signature of docs/mpc.md, sections 6 to 8, both parties in one place, on plain BigInt and loops over bits. */
import { createHmac } from "node:crypto";
import { encoded, G, modulo, N, plus, type SlowPoint, slowInverse, times } from "./slow-curve.js";
import {
  bit,
  columnOf,
  drawn,
  foldedRow,
  H,
  H512,
  Hs,
  ifOne,
  numberOf,
  scalarBytes,
  sha256,
  u8,
  u64,
  xor,
  ZEROS,
} from "./slow-hash.js";
import { both, other, type Pair, type SlowBaseOt, type SlowKeys } from "./slow-keygen.js";

const ROWS = 416;
const range = (length: number) => Array.from({ length }, (_, index) => index);
const SLOTS = range(3);

export interface SlowSecrets {
  readonly k: bigint;
  readonly phi: bigint;
  readonly ah: bigint;
  readonly salt: Buffer;
  readonly c: Buffer;
}

export interface SlowDirection {
  readonly U: Buffer;
  readonly xh: Buffer;
  readonly th: Buffer;
  readonly chi: Pair<Buffer>;
  readonly p0: readonly bigint[];
  readonly pc: readonly bigint[];
  readonly tau: Buffer;
  readonly theta: Pair<bigint>;
  readonly eta: bigint;
  readonly hmu: Buffer;
  readonly c: Pair<bigint>;
  readonly d: Pair<bigint>;
  readonly b: bigint;
}

export function slowPrg(xs: Buffer, d: number, i: number, seed: Buffer): Buffer {
  const block = (index: number) => H512("ext/prg", xs, { d, idx: [i, index] }, seed);
  return Buffer.concat([block(0), block(1)]).subarray(0, 78);
}

/** Throws where check 3, check 4 or c + d = a b does not hold. */
export function slowDirection(
  d: 0 | 1,
  xs: Buffer,
  ot: SlowBaseOt,
  gadget: readonly bigint[],
  choice: Buffer,
  inputs: readonly [bigint, bigint, bigint],
): SlowDirection {
  const T = ot.s0.map((seed, i) => slowPrg(xs, d, i, seed));
  const rowsU = T.map((row, i) => xor(xor(row, slowPrg(xs, d, i, ot.s1[i] ?? ZEROS)), choice));
  const U = Buffer.concat(rowsU);
  const chi = both((k) => H("ext/chi", xs, { d, idx: [k + 1] }, U).subarray(0, 26));
  const xh = foldedRow(choice, chi);
  const folds = T.map((row) => foldedRow(row, chi));
  const Q = ot.s.map((seed, i) => xor(slowPrg(xs, d, i, seed), ifOne(bit(ot.delta, i), rowsU[i] ?? ZEROS)));
  for (const [i, row] of Q.entries()) {
    if (!foldedRow(row, chi).equals(xor(folds[i] ?? ZEROS, ifOne(bit(ot.delta, i), xh)))) throw new Error("check 3");
  }
  const pad = (j: number, l: number, column: Buffer) => Hs("ext/pad", xs, { d, idx: [j, l] }, column);
  const padsOf = (rows: readonly Buffer[], shift: Buffer) =>
    range(ROWS).flatMap((j) => {
      const column = xor(columnOf(rows, j), shift);
      return SLOTS.map((l) => pad(j, l, column));
    });
  const [p0, p1, pc] = [padsOf(Q, ZEROS), padsOf(Q, ot.delta), padsOf(T, ZEROS)];
  const at = (values: readonly bigint[], j: number, l = 0) => values[3 * j + l] ?? 0n;
  const tauValues = range(3 * ROWS).map((m) => modulo(at(p1, 0, m) - at(p0, 0, m) + (inputs[m % 3] ?? 0n)));
  const th = Buffer.concat(folds);
  const tau = Buffer.concat(tauValues.map(scalarBytes));
  const messageHash = H("mul/msga", xs, { d }, U, xh, th);
  const tauHash = H("mul/tau", xs, { d }, tau);
  const theta = both((l) => Hs("mul/theta", xs, { d, idx: [l] }, messageHash, tauHash));
  const eta = modulo(inputs[2] + theta[0] * inputs[0] + theta[1] * inputs[1]);
  const weighted = (values: readonly bigint[], j: number) =>
    at(values, j, 2) + theta[0] * at(values, j, 0) + theta[1] * at(values, j, 1);
  const muHash = (mu: readonly bigint[]) =>
    H("mul/mu", xs, { d }, Buffer.concat(mu.map((value) => scalarBytes(modulo(value)))));
  const hmu = muHash(range(ROWS).map((j) => weighted(p0, j)));
  const beta = range(ROWS).map((j) => BigInt(bit(choice, j)));
  const e = range(3 * ROWS).map((m) => modulo((beta[Math.floor(m / 3)] ?? 0n) * at(tauValues, 0, m) - at(pc, 0, m)));
  if (!hmu.equals(muHash(range(ROWS).map((j) => (beta[j] ?? 0n) * eta - weighted(e, j))))) throw new Error("check 4");
  const dot = (value: (j: number) => bigint) => modulo(gadget.reduce((sum, g, j) => sum + g * value(j), 0n));
  const b = dot((j) => beta[j] ?? 0n);
  const c = both((l) => dot((j) => at(p0, j, l)));
  const dd = both((l) => dot((j) => at(e, j, l)));
  for (const l of [0, 1] as const) if (modulo(c[l] + dd[l] - inputs[l] * b) !== 0n) throw new Error("c + d = a b");
  return { U, xh, th, chi, p0, pc, tau, theta, eta, hmu, c, d: dd, b };
}

export function slowSecrets(ssid: Buffer, party: 0 | 1, share: bigint, ctr: bigint, digest: Buffer): SlowSecrets {
  const drawnBytes = drawn(`${party}/t${ctr}/rng`, 64);
  const root = H512("hedge", ssid, { actor: party }, drawnBytes, scalarBytes(share), u64(ctr), digest);
  const stream = (name: string, block: number) =>
    createHmac("sha512", root)
      .update(Buffer.concat([Buffer.from(name), u8(block)]))
      .digest();
  const scalar = (name: string) => modulo(numberOf(stream(name, 0)));
  return {
    k: scalar("k"),
    phi: scalar("phi"),
    ah: scalar("ah"),
    salt: stream("salt", 0).subarray(0, 32),
    c: Buffer.concat([stream("c", 0), stream("c", 1)]).subarray(0, 78),
  };
}

export interface SlowSignature {
  readonly ssid: Buffer;
  readonly xs: Pair<Buffer>;
  readonly secrets: Pair<SlowSecrets>;
  readonly directions: Pair<SlowDirection>;
  readonly bodies: { readonly F2: Buffer; readonly F3: Buffer; readonly F4: Buffer; readonly F5: Buffer };
  readonly r: bigint;
  readonly s: bigint;
  readonly v: number;
  readonly finalHash: Buffer;
}

export function slowSignature(keys: SlowKeys, digest: Buffer): SlowSignature {
  const ctr = 1n;
  const nonce = both((i) => drawn(`${i}/t${ctr}/nonce`, 32));
  const joint = encoded(keys.joint);
  const ssid = H("sign/sid", ZEROS, {}, u64(ctr), joint, digest, ...nonce, keys.tag);
  const secrets = both((i) => slowSecrets(ssid, i, keys.x[i], ctr, digest));
  const R = both((i) => times(G, secrets[i].k));
  const commitments = both((i) => H("sign/com", ssid, { actor: i }, secrets[i].salt, encoded(R[i])));
  const xs = both((d) => H("mul/sid", ssid, { d }));
  const directions = both((d) =>
    slowDirection(d, xs[d], keys.baseOts[d], keys.gadget[d], secrets[other(d)].c, [
      secrets[d].k,
      keys.x[d],
      secrets[d].ah,
    ]),
  );
  const psi = both((i) => modulo(secrets[i].phi - directions[other(i)].b));
  const gammas = both((i) => both((l) => times(G, directions[i].c[l])));
  for (const i of [0, 1] as const) assertGammas(directions[i], gammas[i], [R[i], keys.P[i]]);
  const nonceSum = plus(...R);
  const r = modulo(nonceSum?.x ?? 0n);
  const shares = both((i) => {
    const factor = modulo(secrets[i].phi + psi[other(i)]);
    const u = modulo(secrets[i].k * factor + directions[i].c[0] + directions[other(i)].d[0]);
    const v = modulo(keys.x[i] * factor + directions[i].c[1] + directions[other(i)].d[1]);
    return { u, w: modulo(numberOf(digest) * secrets[i].phi + r * v) };
  });
  const { s, v } = joined(shares, nonceSum, r);
  assertVerifies(keys.joint, digest, r, s);
  const messageA = (i: 0 | 1) =>
    Buffer.concat([commitments[i], directions[other(i)].U, directions[other(i)].xh, directions[other(i)].th]);
  const messageB = (i: 0 | 1) => {
    const { tau, eta, hmu } = directions[i];
    const points = gammas[i].map(encoded);
    return Buffer.concat([encoded(R[i]), secrets[i].salt, tau, scalarBytes(eta), hmu, ...points, scalarBytes(psi[i])]);
  };
  const messageE = (i: 0 | 1) => Buffer.concat([scalarBytes(shares[i].u), scalarBytes(shares[i].w)]);
  return {
    ssid,
    xs,
    secrets,
    directions,
    bodies: {
      F2: Buffer.concat([nonce[1], keys.tag, u64(0n), messageA(1)]),
      F3: Buffer.concat([messageA(0), messageB(0)]),
      F4: Buffer.concat([messageB(1), messageE(1)]),
      F5: messageE(0),
    },
    r,
    s,
    v,
    finalHash: sha256(Buffer.concat([scalarBytes(r), scalarBytes(s), u8(v)])),
  };
}

function joined(shares: Pair<{ u: bigint; w: bigint }>, nonceSum: SlowPoint, r: bigint): { s: bigint; v: number } {
  const s = modulo((shares[0].w + shares[1].w) * slowInverse(modulo(shares[0].u + shares[1].u)));
  const v = Number((nonceSum?.y ?? 0n) & 1n) | (r === nonceSum?.x ? 0 : 2);
  return s > N / 2n ? { s: N - s, v: v ^ 1 } : { s, v };
}

function assertGammas(direction: SlowDirection, gamma: Pair<SlowPoint>, inputs: Pair<SlowPoint>): void {
  for (const l of [0, 1] as const) {
    const expected = encoded(plus(times(G, direction.d[l]), gamma[l]));
    if (!encoded(times(inputs[l], direction.b)).equals(expected)) throw new Error("gamma");
  }
}

function assertVerifies(key: SlowPoint, digest: Buffer, r: bigint, s: bigint): void {
  const inverse = slowInverse(s);
  const point = plus(times(G, modulo(numberOf(digest) * inverse)), times(key, modulo(r * inverse)));
  if (point === null || modulo(point.x) !== r) throw new Error("signature");
}
