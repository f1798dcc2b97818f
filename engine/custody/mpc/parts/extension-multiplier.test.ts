import { expect, it } from "vitest";
import { Arena } from "../base/arena.js";
import { bitAt } from "../base/bits.js";
import { PreparedHash } from "../base/hash.js";
import { failureFrom, flipped, seedsOf } from "../test/ot-seeds.js";
import { seededBytes } from "../test/seeded-random.js";
import { type ExtensionMessage, extendAsChooser } from "./extension-chooser.js";
import { extendAsMultiplier } from "./extension-multiplier.js";
import { foldTableOf, RowGenerator, rowOf } from "./extension-rows.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: seededBytes("ext", "xs", 32) };
const direction = 0;
const seeds = seedsOf("ext");
const choice = seededBytes("ext", "c", 78);
const cheat = { kind: "cheat", check: "extension" };
const chooser = extendAsChooser({ scope, direction, padPairs: seeds.padPairs, choice }, new Arena());
const { message } = chooser;

function extended(given: ExtensionMessage) {
  const { delta, pads } = seeds;
  return extendAsMultiplier({ scope, direction, delta, pads, message: given }, new Arena());
}

it("the chooser's pad of each row and slot is the multiplier's pad of its bit, and not the other", () => {
  const { pads0, pads1 } = extended(message);
  const wrong = chooser.pads.filter((pad, at) => {
    const bit = bitAt(choice, Math.floor(at / 3));
    return pad !== (bit === 1 ? pads1 : pads0)[at] || pad === (bit === 1 ? pads0 : pads1)[at];
  });
  expect(wrong).toEqual([]);
  expect(new Set([...pads0, ...pads1]).size).toBe(2 * 416 * 3);
});

it("each row of the multiplier is the chooser's row, with c on it where Delta is 1", () => {
  const generator = new RowGenerator(new Arena(), scope, direction);
  const [kept, drawn] = [Buffer.alloc(78), Buffer.alloc(78)];
  for (let row = 0; row < 256; row++) {
    const bit = bitAt(seeds.delta, row);
    generator.generate(seeds.padPairs.subarray(64 * row, 64 * row + 32), row, kept);
    generator.generate(seeds.pads.subarray(32 * row, 32 * row + 32), row, drawn);
    const correction = rowOf(message.correction, row);
    const multiplierRow = drawn.map((byte, at) => byte ^ (bit === 1 ? (correction[at] ?? 0) : 0));
    expect(Buffer.from(multiplierRow)).toEqual(Buffer.from(kept.map((byte, at) => byte ^ (bit * (choice[at] ?? 0)))));
  }
});

const chooserRows = Array.from({ length: 256 }, (_, row) => {
  const generator = new RowGenerator(new Arena(), scope, direction);
  const kept = Buffer.alloc(78);
  generator.generate(seeds.padPairs.subarray(64 * row, 64 * row + 32), row, kept);
  return kept;
});

/** A chooser that flips one bit of row `row` and then answers as if it were honest. */
function messageFlippedIn(row: number): ExtensionMessage {
  const correction = flipped(message.correction, row * 624 + (row % 624));
  const table = foldTableOf(scope, direction, correction);
  const choiceFold = Buffer.alloc(26);
  table.fold(choice, choiceFold);
  const rowFolds = Buffer.alloc(256 * 26);
  for (const [index, kept] of chooserRows.entries()) table.fold(kept, rowFolds.subarray(26 * index, 26 * (index + 1)));
  return { correction, choiceFold, rowFolds };
}

/** The short form takes one row of eight; `MPC_RUNS=1000` takes all. */
const ROWS = Array.from({ length: 256 }, (_, row) => row).filter(
  (row) => process.env["MPC_RUNS"] !== undefined || row % 8 === (row >> 3) % 8,
);

it(`a flipped bit in a row passes where Delta is 0 and is a cheat where it is 1, in each of ${ROWS.length} rows`, () => {
  const results = ROWS.map((row) => failureFrom(() => extended(messageFlippedIn(row))));
  const expected = ROWS.map((row) => (bitAt(seeds.delta, row) === 1 ? cheat : null));
  expect(results).toEqual(expected);
  expect(new Set(expected)).toEqual(new Set([null, cheat]));
});

it("a bit that is flipped on the way is a cheat in every row, since chi follows U", () => {
  for (const row of [0, 1, 2, 3, 4, 5, 254, 255]) {
    const correction = flipped(message.correction, row * 624 + 623);
    expect(failureFrom(() => extended({ ...message, correction }))).toEqual(cheat);
  }
  for (const bit of [0, 207]) {
    expect(failureFrom(() => extended({ ...message, choiceFold: flipped(message.choiceFold, bit) }))).toEqual(cheat);
  }
  for (const bit of [0, 256 * 208 - 1]) {
    expect(failureFrom(() => extended({ ...message, rowFolds: flipped(message.rowFolds, bit) }))).toEqual(cheat);
  }
});

it("a message of another session, direction, wallet or epoch is a cheat", () => {
  const others = [
    { scope: { ...scope, sid: Buffer.alloc(32) }, direction },
    { scope: { ...scope, epoch: 2 }, direction },
    { scope: { ...scope, walletId: Buffer.alloc(16) }, direction },
    { scope, direction: 1 },
  ] as const;
  for (const other of others) {
    const { delta, pads } = seeds;
    expect(failureFrom(() => extendAsMultiplier({ ...other, delta, pads, message }, new Arena()))).toEqual(cheat);
  }
});

it("equal columns of two rows and slots have different pads", () => {
  const layout = { step: "ext/pad", place: { direction }, indexCount: 2, dataLengths: [32] };
  const pad = new PreparedHash(new Arena(), scope, layout);
  const pads = [0, 1, 2].flatMap((slot) =>
    [0, 1].map((row) => {
      pad.setIndex(0, row);
      pad.setIndex(1, slot);
      return pad.scalar();
    }),
  );
  expect(new Set(pads).size).toBe(6);
});

it("the arenas of both sides hold all rows and may be wiped at once", () => {
  const arena = new Arena();
  const { message: again, pads } = extendAsChooser({ scope, direction, padPairs: seeds.padPairs, choice }, arena);
  arena.wipe();
  expect(again).toEqual(message);
  expect(pads).toEqual(chooser.pads);
});

it("seeds or messages of another length are a fault of ours, never a cheat", () => {
  const short = { ...message, rowFolds: message.rowFolds.subarray(1) };
  expect(failureFrom(() => extended(short))?.kind).toBe("fault");
  const padPairs = seeds.padPairs.subarray(1);
  expect(failureFrom(() => extendAsChooser({ scope, direction, padPairs, choice }, new Arena()))?.kind).toBe("fault");
});
