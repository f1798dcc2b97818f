/** Whole signatures by the arithmetic alone, over wallets whose base OT is taken as done. */
import { createRequire } from "node:module";
import { expect, it } from "vitest";
import { ORDER, readScalar, reduced } from "../base/scalar.js";
import { portableVerifier } from "../parts/final-signature.js";
import { walletOf } from "./ot-seeds.js";
import { constantRandom, seededBytes, seededRandom } from "./seeded-random.js";
import { runSignature } from "./two-parties.js";

type NativeBinding = typeof import("secp256k1");
const native = createRequire(import.meta.url)("secp256k1/bindings") as NativeBinding;

const keys = walletOf("signature");
const digests = [
  Buffer.alloc(32),
  Buffer.alloc(32, 255),
  Buffer.from(ORDER.toString(16), "hex"),
  Buffer.from((ORDER - 1n).toString(16), "hex"),
  Buffer.from("1".padStart(64, "0"), "hex"),
  ...Array.from({ length: 11 }, (_, at) => seededBytes("signature", `digest/${at}`, 32)),
];

it("signatures of edge and other digests verify and recover, by two implementations, and no r comes twice", () => {
  const seen = new Set<bigint>();
  for (const [at, digest] of digests.entries()) {
    const random = seededRandom(`run/${at}`);
    const { signature } = runSignature(keys, digest, BigInt(at + 1), random, portableVerifier);
    expect(native.ecdsaVerify(signature.bytes, digest, keys.joint.bytes)).toBe(true);
    const recovered = native.ecdsaRecover(signature.bytes, signature.recoveryId, digest, true);
    expect(Buffer.from(recovered)).toEqual(keys.joint.bytes);
    seen.add(signature.r);
  }
  expect(seen.size).toBe(digests.length);
});

it("with a dead generator one digest twice has two nonces at both parties, by the counter alone", () => {
  const [first, second] = [1n, 2n].map((ctr) =>
    runSignature(keys, digests[6] ?? Buffer.alloc(32), ctr, constantRandom, portableVerifier),
  );
  expect(first?.secrets[0].k).not.toBe(second?.secrets[0].k);
  expect(first?.secrets[1].k).not.toBe(second?.secrets[1].k);
  expect(first?.secrets[0].k).not.toBe(first?.secrets[1].k);
  expect(first?.signature.r).not.toBe(second?.signature.r);
});

it("the sums of a session are k phi and x phi", () => {
  const run = runSignature(keys, digests[7] ?? Buffer.alloc(32), 1n, seededRandom("sums"), portableVerifier);
  const [one, two] = run.secrets;
  const [k, phi, x] = [one.k + two.k, one.phi + two.phi, keys.shares[0] + keys.shares[1]];
  const [u, w] = [0, 32].map((at) => readScalar(run.bodies.F5, at) + readScalar(run.bodies.F4.subarray(-64), at));
  expect(reduced(u ?? 0n)).toBe(reduced(k * phi));
  const m = readScalar(digests[7] ?? Buffer.alloc(32), 0);
  expect(reduced(w ?? 0n)).toBe(reduced(phi * (m + run.signature.r * x)));
});
