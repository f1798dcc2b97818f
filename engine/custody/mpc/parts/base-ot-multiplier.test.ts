import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { bitAt } from "../base/bits.js";
import { baseTimes, decodePoints, encodePublic } from "../base/point.js";
import type { RandomSource } from "../base/random.js";
import { inOneGo } from "../test/in-one-go.js";
import { failureFrom, flipped, scalarOf } from "../test/ot-seeds.js";
import { seededRandom } from "../test/seeded-random.js";
import { runBaseOt } from "../test/two-parties.js";
import { BaseOtMultiplier } from "./base-ot-multiplier.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) };
const secret = scalarOf("base-ot", "y");
const key = { secret, point: encodePublic(baseTimes(secret)) };
const random = seededRandom("base-ot");
/** With one seed a second multiplier makes the same A, so one chooser's answers serve them all. */
const honest = runBaseOt(scope, 0, key, random, new Arena());
const row = (bytes: Buffer, index: number, width = 32) => bytes.subarray(index * width, (index + 1) * width);
const rows = Array.from({ length: 256 }, (_, index) => index);

function multiplierAt(step: "X" | "open", drawn = random): BaseOtMultiplier {
  const given = { scope, direction: 0 as const, chooserKey: key.point, random: drawn, arena: new Arena() };
  const multiplier = new BaseOtMultiplier(given);
  expect(inOneGo(multiplier.points())).toEqual(honest.A);
  if (step === "open") expect(multiplier.respond(honest.X)).toEqual(honest.resp);
  return multiplier;
}

const lastBit = (wanted: number) => rows.filter((index) => bitAt(honest.delta, index) === wanted).at(-1) ?? 0;

it("the multiplier holds of each pair the pad of its bit and not the other", () => {
  for (const index of rows) {
    const bit = bitAt(honest.delta, index);
    expect(row(honest.pads, index)).toEqual(row(honest.padPairs, 2 * index + bit));
    expect(row(honest.pads, index)).not.toEqual(row(honest.padPairs, 2 * index + 1 - bit));
  }
});

it("what is kept is not given out before the opening is verified", () => {
  const multiplier = multiplierAt("open");
  expect(() => multiplier.pads).toThrow("not verified");
  expect(() => multiplier.delta).toThrow("not verified");
  multiplier.verify(honest.open);
  expect(multiplier.pads).toEqual(honest.pads);
});

it.each([0, 511])("a wrong opening of value %i of 512 ends the run and keeps nothing", (place) => {
  const multiplier = multiplierAt("open");
  const wrong = flipped(honest.open, place * 256 + 255);
  expect(failureFrom(() => multiplier.verify(wrong))).toEqual({ kind: "violation", field: "open" });
  expect(() => multiplier.pads).toThrow("not verified");
  expect(() => multiplier.verify(honest.open)).toThrow("order");
});

it("a wrong X in a row of bit 0 shows in nothing that is sent, and ends the run at the opening", () => {
  const multiplier = multiplierAt("X");
  expect(multiplier.respond(flipped(honest.X, lastBit(0) * 256))).toEqual(honest.resp);
  expect(failureFrom(() => multiplier.verify(honest.open))).toEqual({ kind: "violation", field: "open" });
});

it("a wrong X in a row of bit 1 gives a response that the chooser refuses", () => {
  const index = lastBit(1);
  const wrong = multiplierAt("X").respond(flipped(honest.X, index * 256));
  expect(wrong).toEqual(flipped(honest.resp, index * 256));
});

it("messages of another length are violations and steps come once and in order", () => {
  expect(failureFrom(() => multiplierAt("X").respond(honest.X.subarray(1)))?.kind).toBe("violation");
  expect(failureFrom(() => multiplierAt("open").verify(honest.open.subarray(1)))?.kind).toBe("violation");
  const multiplier = multiplierAt("X");
  expect(() => inOneGo(multiplier.points())).toThrow("order");
  expect(() => multiplierAt("X").verify(honest.open)).toThrow("order");
});

it("no output of the generator is drawn twice", () => {
  const asked: string[] = [];
  const counted: RandomSource = {
    fill(label, target) {
      asked.push(label);
      random.fill(label, target);
    },
  };
  multiplierAt("X", counted);
  expect(asked.length).toBe(257);
  expect(new Set(asked).size).toBe(257);
});

it("a scalar that would make A the key of the chooser or nothing is drawn again", () => {
  const near = encodePublic(baseTimes(5n));
  const drawn: RandomSource = {
    fill(label, target) {
      random.fill(label, target);
      if (label !== "a/3" && label !== "a/4") return;
      target.fill(0);
      // a = y, and a = −y mod n as 64 bytes.
      if (label === "a/3") target[63] = 5;
      else target.set(Buffer.from("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd036413c", "hex"), 32);
    },
  };
  const given = { scope, direction: 0 as const, chooserKey: near, random: drawn, arena: new Arena() };
  const points = decodePoints(inOneGo(new BaseOtMultiplier(given).points()), 256, "A");
  expect(points.filter(({ bytes }) => bytes.equals(near.bytes))).toEqual([]);
});
