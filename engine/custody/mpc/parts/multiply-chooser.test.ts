import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { bitAt } from "../base/bits.js";
import { encodeScalar, ORDER, readScalar, reduced } from "../base/scalar.js";
import { failureFrom, flipped, scalarOf, seedsOf } from "../test/ot-seeds.js";
import { seededBytes } from "../test/seeded-random.js";
import { runDirection } from "../test/two-parties.js";
import { gadgetOf } from "./gadget.js";
import { chooserFactor, decodeTau, type MultiplyMessage, multiplyAsChooser } from "./multiply-chooser.js";
import { muHashOf, thetasOf } from "./multiply-hashes.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: seededBytes("mul", "xs", 32) };
const direction = 1;
const gadget = gadgetOf(scope, direction, seededBytes("mul", "gs/0", 32), seededBytes("mul", "gs/1", 32));
const choice = seededBytes("mul", "c", 78);
const inputs = [scalarOf("mul", "a/0"), scalarOf("mul", "a/1")] as const;
const checkInput = scalarOf("mul", "ah");
const secrets = { choice, inputs, checkInput };
const run = runDirection(scope, direction, seedsOf("mul"), gadget, secrets, new Arena());
const extension = run.chooser.message;
const honest = run.multiplier.message;
const cheat = { kind: "cheat", check: "multiplication" };

function chosenFrom(message: MultiplyMessage) {
  const given = { scope, direction, gadget, choice, pads: run.chooser.pads, extension, message } as const;
  return multiplyAsChooser(given, new Arena());
}

const tauAt = (bytes: Buffer, row: number, slot: number) => readScalar(bytes, (3 * row + slot) * 32);

function tauWith(change: (row: number, slot: number) => bigint): Buffer {
  return Buffer.concat(
    Array.from({ length: 416 * 3 }, (_, at) => {
      const [row, slot] = [Math.floor(at / 3), at % 3];
      return encodeScalar(reduced(tauAt(honest.tau.bytes, row, slot) + change(row, slot)));
    }),
  );
}

/** What a multiplier says to a tau that it changed: mu and eta of its real inputs, theta as the page has it. */
function answerTo(bytes: Buffer, thetas = thetasOf(scope, direction, extension, bytes)): MultiplyMessage {
  const [theta0, theta1] = thetas;
  const { pads0 } = run.multiplierPads;
  const mu = Array.from({ length: 416 }, (_, row) => {
    const [pad0 = 0n, pad1 = 0n, pad2 = 0n] = pads0.slice(3 * row, 3 * row + 3);
    return encodeScalar(reduced(pad2 + theta0 * pad0 + theta1 * pad1));
  });
  const eta = reduced(checkInput + theta0 * inputs[0] + theta1 * inputs[1]);
  return { tau: decodeTau(bytes, "tau"), eta, muHash: muHashOf(scope, direction, Buffer.concat(mu)) };
}

it("the shares of both parties sum to the product, for both inputs", () => {
  const { factor, multiplier, chosen } = run;
  for (const l of [0, 1] as const) {
    expect(reduced(multiplier.shares[l] + chosen[l])).toBe(reduced(inputs[l] * factor));
  }
});

it("the chooser's factor is the sum of the elements of its bits", () => {
  const plain = gadget.reduce((sum, element, row) => sum + BigInt(bitAt(choice, row)) * element, 0n);
  expect(chooserFactor(gadget, choice)).toBe(reduced(plain));
  expect(chooserFactor(gadget, Buffer.alloc(52))).toBe(0n);
  expect(chooserFactor(gadget, Buffer.alloc(52, 255))).toBe(
    reduced(gadget.reduce((sum, element) => sum + element, 0n)),
  );
});

it("the multiplier of these tests is taken where it changes nothing", () => {
  expect(chosenFrom(answerTo(honest.tau.bytes))).toEqual(run.chosen);
});

it.each([0, 1, 2])("another input of slot %i in the even rows is a cheat", (changed) => {
  const bytes = tauWith((row, slot) => (slot === changed && row % 2 === 0 ? 1n : 0n));
  expect(failureFrom(() => chosenFrom(answerTo(bytes)))).toEqual(cheat);
});

it("another input in one row is a cheat where the bit is 1 and shows in nothing where it is 0", () => {
  for (const row of [0, 1, 2, 3, 4, 5, 6, 7, 414, 415]) {
    const bytes = tauWith((at, slot) => (at === row && slot === 0 ? 5n : 0n));
    expect(failureFrom(() => chosenFrom(answerTo(bytes)))).toEqual(bitAt(choice, row) === 1 ? cheat : null);
  }
});

it("a tau that was made to fit a theta known before is a cheat, since theta follows tau", () => {
  const known = thetasOf(scope, direction, extension, honest.tau.bytes);
  const bytes = tauWith((row, slot) => (row % 2 === 1 ? 0n : ([7n, 0n, -7n * known[0]][slot] ?? 0n)));
  // For the known theta the changed rows say what the honest ones say: the check would not see them.
  const combined = (from: Buffer, row: number) =>
    reduced(tauAt(from, row, 2) + known[0] * tauAt(from, row, 0) + known[1] * tauAt(from, row, 1));
  for (let row = 0; row < 416; row++) expect(combined(bytes, row)).toBe(combined(honest.tau.bytes, row));
  expect(bytes.equals(honest.tau.bytes)).toBe(false);
  expect(failureFrom(() => chosenFrom(answerTo(bytes, known)))).toEqual(cheat);
  expect(failureFrom(() => chosenFrom(answerTo(bytes)))).toEqual(cheat);
});

it("a changed tau, eta or hash is a cheat in the first row and in the last", () => {
  for (const bit of [255, 8 * 39_936 - 1]) {
    const tau = decodeTau(flipped(honest.tau.bytes, bit), "tau");
    expect(failureFrom(() => chosenFrom({ ...honest, tau }))).toEqual(cheat);
  }
  expect(failureFrom(() => chosenFrom({ ...honest, eta: reduced(honest.eta + 1n) }))).toEqual(cheat);
  expect(failureFrom(() => chosenFrom({ ...honest, muHash: flipped(honest.muHash, 0) }))).toEqual(cheat);
});

it("a tau of another length or with a scalar of n is a violation, in any place", () => {
  const violation = { kind: "violation", field: "tau" };
  for (const at of [0, 700, 1_247]) {
    const bytes = Buffer.from(honest.tau.bytes);
    bytes.set(Buffer.from(ORDER.toString(16), "hex"), at * 32);
    expect(failureFrom(() => decodeTau(bytes, "tau"))).toEqual(violation);
  }
  expect(failureFrom(() => decodeTau(honest.tau.bytes.subarray(32), "tau"))).toEqual(violation);
  expect(failureFrom(() => decodeTau(Buffer.concat([honest.tau.bytes, Buffer.alloc(32)]), "tau"))).toEqual(violation);
});
