import { expect, it } from "vitest";
import { baseTimes, coordinates, decodePoint, encodePublic, type PublicPoint } from "../base/point.js";
import { HALF_ORDER, ORDER, readScalar, reduced } from "../base/scalar.js";
import { failureFrom, scalarOf } from "../test/ot-seeds.js";
import { seededBytes } from "../test/seeded-random.js";
import { finalSignature, jointNonce, portableVerifier, type SignatureShare, signatureHash } from "./final-signature.js";

const verifier = portableVerifier;
const key = scalarOf("final", "x");
const publicKey = encodePublic(baseTimes(key));
const digest = seededBytes("final", "digest", 32);
const cheat = { kind: "cheat", check: "final-signature" };
const m = reduced(readScalar(digest, 0));

/** Shares of both for the nonce k, as the protocol sums them: u = k phi, w = phi (m + r x). */
function sharesFor(k: bigint): { nonce: ReturnType<typeof jointNonce>; shares: [SignatureShare, SignatureShare] } {
  const nonce = jointNonce(encodePublic(baseTimes(k - 3n)), encodePublic(baseTimes(3n)));
  const [phi, u0, w0] = ["phi", "u0", "w0"].map((label) => scalarOf(`final/${k}`, label)) as [bigint, bigint, bigint];
  const [u, w] = [reduced(k * phi), reduced(phi * (m + nonce.r * key))];
  return {
    nonce,
    shares: [
      { u: u0, w: w0 },
      { u: reduced(u - u0), w: reduced(w - w0) },
    ],
  };
}

it("s is low, v follows y and the negation, and both verify, in each of four cases", () => {
  const seen = new Set<string>();
  for (let k = 10n; seen.size < 4; k++) {
    const { nonce, shares } = sharesFor(k);
    const signature = finalSignature({ shares, nonce, digest, publicKey, verifier });
    const raw = reduced((shares[0].w + shares[1].w) * modularInverse(shares[0].u + shares[1].u));
    const { isOdd } = coordinates(nonce.point);
    seen.add(`${isOdd} ${raw > HALF_ORDER}`);
    expect(signature.s <= HALF_ORDER).toBe(true);
    expect(signature.recoveryId).toBe((isOdd ? 1 : 0) ^ (raw > HALF_ORDER ? 1 : 0));
    expect(Buffer.from(verifier.recover(digest, signature.bytes, signature.recoveryId) ?? [])).toEqual(
      Buffer.from(publicKey.point.toRawBytes(false)),
    );
    expect(signatureHash(signature).length).toBe(32);
  }
});

function modularInverse(value: bigint): bigint {
  let [result, square] = [1n, reduced(value)];
  for (let rest = ORDER - 2n; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % ORDER;
    square = (square * square) % ORDER;
  }
  return result;
}

it("a false u or w of either party is a cheat, and so are shares for another digest or key", () => {
  const { nonce, shares } = sharesFor(20n);
  const given = { nonce, digest, publicKey, verifier };
  const [first, second] = shares;
  const wrong: [SignatureShare, SignatureShare][] = [
    [{ ...first, u: reduced(first.u + 1n) }, second],
    [{ ...first, w: reduced(first.w + 1n) }, second],
    [first, { ...second, u: reduced(second.u - 1n) }],
    [first, { ...second, w: reduced(second.w - 1n) }],
  ];
  for (const pair of wrong) expect(failureFrom(() => finalSignature({ ...given, shares: pair }))).toEqual(cheat);
  const otherDigest = seededBytes("final", "other", 32);
  expect(failureFrom(() => finalSignature({ ...given, shares, digest: otherDigest }))).toEqual(cheat);
  const otherKey = encodePublic(baseTimes(key + 1n));
  expect(failureFrom(() => finalSignature({ ...given, shares, publicKey: otherKey }))).toEqual(cheat);
});

it("a zero sum of u and a zero s are cheats", () => {
  const { nonce } = sharesFor(20n);
  const given = { nonce, digest, publicKey, verifier };
  const zeroU: [SignatureShare, SignatureShare] = [
    { u: 5n, w: 1n },
    { u: ORDER - 5n, w: 1n },
  ];
  const zeroS: [SignatureShare, SignatureShare] = [
    { u: 5n, w: 7n },
    { u: 6n, w: ORDER - 7n },
  ];
  for (const shares of [zeroU, zeroS]) expect(failureFrom(() => finalSignature({ ...given, shares }))).toEqual(cheat);
});

it("one of both verifications is not enough", () => {
  const { nonce, shares } = sharesFor(20n);
  const given = { nonce, digest, publicKey, shares };
  for (const half of [{ recover: () => null }, { verify: () => false }]) {
    expect(failureFrom(() => finalSignature({ ...given, verifier: { ...verifier, ...half } }))).toEqual(cheat);
  }
});

it("a sum of nonces that is the identity is a violation", () => {
  const point = encodePublic(baseTimes(9n));
  const negated = encodePublic(baseTimes(ORDER - 9n));
  expect(failureFrom(() => jointNonce(point, negated))).toEqual({ kind: "violation", field: "R" });
});

/** The first points whose x is n or more: 2^-128 of all, so they are looked for from n on. */
function pointsFromOrder(count: number): PublicPoint[] {
  const points: PublicPoint[] = [];
  for (let x = ORDER; points.length < count; x++) {
    const bytes = Buffer.from(`02${x.toString(16)}`, "hex");
    if (failureFrom(() => points.push(decodePoint(bytes, "R")))?.kind === "fault") throw new Error("decoder");
  }
  return points;
}

it("an R with x of n or more is transport, so a new session, and never a signature", () => {
  for (const target of pointsFromOrder(3)) {
    const { x } = coordinates(target.point);
    const other = encodePublic(target.point.subtract(baseTimes(1n)));
    if (x === ORDER) {
      expect(failureFrom(() => jointNonce(encodePublic(baseTimes(1n)), other))).toEqual({
        kind: "violation",
        field: "r",
      });
      continue;
    }
    const nonce = jointNonce(encodePublic(baseTimes(1n)), other);
    expect(nonce.r).toBe(x - ORDER);
    const { shares } = sharesFor(20n);
    const end = failureFrom(() => finalSignature({ shares, nonce, digest, publicKey, verifier }));
    expect(end).toEqual({ kind: "transport", cause: "recovery-id" });
  }
});

it("a digest of 31 or 33 bytes is signed by nobody", () => {
  const { nonce, shares } = sharesFor(20n);
  for (const length of [0, 31, 33]) {
    const given = { shares, nonce, digest: Buffer.alloc(length), publicKey, verifier };
    expect(failureFrom(() => finalSignature(given))?.kind).toBe("fault");
  }
});
