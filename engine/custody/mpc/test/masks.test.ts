/** What is hashed, how often and over how many bytes depends on no secret bit. */
import type * as Crypto from "node:crypto";
import { expect, it, vi } from "vitest";
import { Arena } from "../base/arena.js";
import { seedsOf } from "./ot-seeds.js";
import { seededBytes } from "./seeded-random.js";
import { runDirection } from "./two-parties.js";
import { gadgetOf } from "../parts/gadget.js";

const calls = vi.hoisted(() => ({ seen: [] as string[] }));

vi.mock("node:crypto", async (importOriginal) => {
  const crypto = await importOriginal<typeof Crypto>();
  return {
    ...crypto,
    hash: (algorithm: string, data: Uint8Array, encoding: "buffer") => {
      calls.seen.push(`${algorithm} ${data.length}`);
      return crypto.hash(algorithm, data, encoding);
    },
  };
});

function callsOf(choiceByte: number, deltaByte: number): string[] {
  const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: seededBytes("masks", "xs", 32) };
  const gadget = gadgetOf(scope, 0, seededBytes("masks", "0", 32), seededBytes("masks", "1", 32));
  const { padPairs } = seedsOf("masks");
  const delta = Buffer.alloc(32, deltaByte);
  const column = deltaByte & 1;
  const rows = Array.from({ length: 256 }, (_, row) =>
    padPairs.subarray(64 * row + 32 * column, 64 * row + 32 * column + 32),
  );
  const secrets = { choice: Buffer.alloc(78, choiceByte), inputs: [3n, 4n] as const, checkInput: 5n };
  calls.seen = [];
  runDirection(scope, 0, { delta, padPairs, pads: Buffer.concat(rows) }, gadget, secrets, new Arena());
  return calls.seen;
}

it("all-zero and all-one bits of beta and Delta give one sequence of hashes", () => {
  const sequences = [
    [0, 0],
    [255, 0],
    [0, 255],
    [255, 255],
  ].map(([choice = 0, delta = 0]) => callsOf(choice, delta).join(","));
  expect(sequences[0]?.length).toBeGreaterThan(1_000);
  expect(new Set(sequences).size).toBe(1);
});
