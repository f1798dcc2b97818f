import { expect, it } from "vitest";
import { constantRandom, seededRandom } from "../test/seeded-random.js";
import { Arena } from "./arena.js";
import {
  drawScalar,
  drawSessionSecrets,
  type HedgeInput,
  labelled,
  type RandomSource,
  systemRandom,
} from "./random.js";
import { ORDER } from "./scalar.js";

const input: HedgeInput = {
  scope: { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) },
  party: 0,
  share: 1234n,
  ctr: 1n,
  digest: Buffer.alloc(32, 3),
};

function secretsOf(given: HedgeInput, random: RandomSource = constantRandom) {
  return drawSessionSecrets(given, random, new Arena());
}

it("with a dead generator every value of two sessions, digests, wallets, parties or shares differs", () => {
  const { scope } = input;
  const all = [
    input,
    { ...input, scope: { ...scope, sid: Buffer.alloc(32, 9) } },
    { ...input, scope: { ...scope, walletId: Buffer.alloc(16, 9) } },
    { ...input, scope: { ...scope, epoch: 2 } },
    { ...input, party: 1 as const },
    { ...input, share: 1235n },
    { ...input, ctr: 2n },
    { ...input, digest: Buffer.alloc(32, 9) },
  ].map((given) => secretsOf(given));
  for (const name of ["k", "phi", "ah"] as const) expect(new Set(all.map((each) => each[name])).size).toBe(all.length);
  for (const name of ["salt", "choice"] as const) {
    expect(new Set(all.map((each) => each[name].toString("hex"))).size).toBe(all.length);
  }
  expect(new Set(all.flatMap(({ k, phi, ah }) => [k, phi, ah])).size).toBe(3 * all.length);
});

it("the generator counts too: one session with two outputs has two nonces", () => {
  expect(secretsOf(input, seededRandom("a")).k).not.toBe(secretsOf(input, seededRandom("b")).k);
  expect(secretsOf(input, seededRandom("a")).k).toBe(secretsOf(input, seededRandom("a")).k);
});

it("the generator is asked once a session, for 64 bytes", () => {
  const asked: [string, number][] = [];
  secretsOf(input, { fill: (label, target) => asked.push([label, target.length]) });
  expect(asked).toEqual([["rng", 64]]);
});

it("lengths are those of the page, and all buffers are the arena's", () => {
  const arena = new Arena();
  const { salt, choice } = drawSessionSecrets(input, constantRandom, arena);
  expect([salt.length, choice.length]).toEqual([32, 78]);
  expect(choice.every((byte) => byte === 0)).toBe(false);
  arena.wipe();
  expect(salt).toEqual(Buffer.alloc(32));
  expect(choice).toEqual(Buffer.alloc(78));
});

it("a scalar takes 64 bytes, is never zero, and a generator of zeros ends it", () => {
  const asked: string[] = [];
  const zeroFirst: RandomSource = {
    fill(label, target) {
      asked.push(`${label} ${target.length}`);
      target.fill(asked.length === 1 ? 0 : 255);
    },
  };
  expect(drawScalar(zeroFirst, "x", new Arena())).toBe((2n ** 512n - 1n) % ORDER);
  expect(asked).toEqual(["x 64", "x/1 64"]);
  expect(() => drawScalar({ fill: (_label, target) => target.fill(0) }, "x", new Arena())).toThrow("zeros");
});

it("a prefix is put before each label", () => {
  const [direct, prefixed] = [Buffer.alloc(8), Buffer.alloc(8)];
  seededRandom("a").fill("0/kg/x", direct);
  labelled(seededRandom("a"), "0/kg/").fill("x", prefixed);
  expect(prefixed).toEqual(direct);
});

it("the system's generator fills the whole buffer, each time with other bytes", () => {
  const [left, right] = [Buffer.alloc(64), Buffer.alloc(64)];
  systemRandom.fill("x", left);
  systemRandom.fill("x", right);
  expect(left.equals(right)).toBe(false);
  expect(left.subarray(32).equals(Buffer.alloc(32))).toBe(false);
});
