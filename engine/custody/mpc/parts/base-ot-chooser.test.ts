import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { baseTimes, decodePoints, encodePublic } from "../base/point.js";
import { inOneGo } from "../test/in-one-go.js";
import { failureFrom, flipped, scalarOf } from "../test/ot-seeds.js";
import { seededRandom } from "../test/seeded-random.js";
import { both, runBaseOt } from "../test/two-parties.js";
import { BaseOtChooser } from "./base-ot-chooser.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) };
const secret = scalarOf("base-ot", "y");
const key = { secret, point: encodePublic(baseTimes(secret)) };
const chooser = (direction: 0 | 1 = 0, given = scope) =>
  new BaseOtChooser({ scope: given, direction, key, arena: new Arena() });
const same = Array.from({ length: 256 }, () => encodePublic(baseTimes(77n)));
const random = seededRandom("base-ot");
const runs = both((direction) => runBaseOt(scope, direction, key, random, new Arena()));
const refused = { kind: "violation", field: "resp" };
const padsOf = (bytes: Buffer) => Array.from({ length: 512 }, (_, at) => bytes.toString("hex", 32 * at, 32 * (at + 1)));

it.each([0, 255])(
  "an A that is the chooser's own key is refused in row %i, before anything is made of the others",
  (at) => {
    const points = same.map((point, index) => (index === at ? key.point : point));
    expect(failureFrom(() => inOneGo(chooser().challenge(points)))).toEqual({ kind: "violation", field: "A" });
    expect(failureFrom(() => inOneGo(chooser().challenge(points.slice(1))))?.kind).toBe("violation");
  },
);

it("equal A give 512 different pads, and the response for them is refused if its last bit is wrong", () => {
  const one = chooser();
  const challenge = inOneGo(one.challenge(same));
  expect(new Set(padsOf(Buffer.concat([challenge, challenge]))).size).toBe(256);
  expect(() => one.padPairs).toThrow("not verified");
  expect(failureFrom(() => one.open(Buffer.alloc(8_192)))).toEqual(refused);
  expect(() => one.padPairs).toThrow("not verified");
  expect(() => one.open(Buffer.alloc(8_192))).toThrow("order");
  expect(() => inOneGo(one.challenge(same))).toThrow("order");
});

it("the pads of a run are 512 different ones, and none of the other direction", () => {
  expect(new Set(runs.flatMap(({ padPairs }) => padsOf(padPairs))).size).toBe(1_024);
  // With one generator for both A and Delta are equal, X is not.
  expect(runs[0].A).toEqual(runs[1].A);
  expect(runs[0].X).not.toEqual(runs[1].X);
});

it.each([0, 255])("a wrong response in row %i ends the run: nothing is opened, and the honest one is late", (row) => {
  const honest = runs[0];
  const one = chooser();
  inOneGo(one.challenge(decodePoints(honest.A, 256, "A")));
  expect(failureFrom(() => one.open(flipped(honest.resp, row * 256 + 255)))).toEqual(refused);
  expect(() => one.open(honest.resp)).toThrow("order");
  expect(() => one.padPairs).toThrow("not verified");
});
