import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { baseTimes, encodePublic } from "../base/point.js";
import { ORDER } from "../base/scalar.js";
import { failureFrom, flipped, scalarOf } from "../test/ot-seeds.js";
import { seededRandom } from "../test/seeded-random.js";
import { decodeProof, isProven, type ProofContext, prove } from "./proof.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) };
const context: ProofContext = { scope, purpose: "share", prover: 0 };
const secret = scalarOf("proof", "x");
const statement = encodePublic(baseTimes(secret));
const bytes = prove(context, secret, statement, seededRandom("proof"), new Arena());
const isTaken = (given: ProofContext, of = statement, proof = bytes) => isProven(given, of, decodeProof(proof, "pok"));

it("a proof holds under its own context alone", () => {
  expect(isTaken(context)).toBe(true);
  const others: ProofContext[] = [
    { ...context, prover: 1 },
    { ...context, purpose: "ot" },
    { ...context, scope: { ...scope, sid: Buffer.alloc(32, 3) } },
    { ...context, scope: { ...scope, walletId: Buffer.alloc(16, 3) } },
    { ...context, scope: { ...scope, epoch: 2 } },
  ];
  for (const other of others) expect(isTaken(other)).toBe(false);
});

it("a proof of one point proves no other", () => {
  expect(isTaken(context, encodePublic(baseTimes(secret + 1n)))).toBe(false);
  expect(isTaken(context, encodePublic(baseTimes(ORDER - secret)))).toBe(false);
});

it("no flipped bit of a proof is taken", () => {
  for (let bit = 0; bit < 65 * 8; bit += 7) {
    const changed = flipped(bytes, bit);
    const failure = failureFrom(() => expect(isTaken(context, statement, changed)).toBe(false));
    expect(failure === null || failure.kind === "violation").toBe(true);
  }
});

it("a response of zero is read and refused without an exception", () => {
  expect(isTaken(context, statement, Buffer.concat([bytes.subarray(0, 33), Buffer.alloc(32)]))).toBe(false);
});

it.each([
  ["64 bytes", bytes.subarray(1)],
  ["66 bytes", Buffer.concat([bytes, Buffer.alloc(1)])],
  ["a commitment that is no point", Buffer.concat([Buffer.alloc(33), bytes.subarray(33)])],
  ["a response of n", Buffer.concat([bytes.subarray(0, 33), Buffer.from(ORDER.toString(16), "hex")])],
])("a proof of %s is a violation", (_name, malformed) => {
  expect(failureFrom(() => decodeProof(malformed, "pok"))).toEqual({ kind: "violation", field: "pok" });
});
