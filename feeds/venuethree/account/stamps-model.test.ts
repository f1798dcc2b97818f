/**
 * What venuethree's account frames say of their own time, under the judge of stamped-account.ts: the room as it is, which
 * it must not blame, and one planted fault for each check. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  believeProofs,
  byTheWall,
  judgeStamps,
  type StampCheck,
  type StampedAccount,
} from "../../shared/test/stamped-account.js";
import { position } from "../test/account-rows.js";
import { live, type LiveOptions } from "../test/trust-scene.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];

afterEach(() => {
  vi.restoreAllMocks();
});

async function account(options: LiveOptions): Promise<StampedAccount> {
  let aheadMs = 0;
  const scene = await live({ clockOffsetMs: () => aheadMs, ...options });
  const { harness, stream, venue } = scene;
  const sizeOf = (lots: number): string => (lots / 100_000).toFixed(5);
  return {
    clock: harness.clock,
    isOrdered: false,
    comparedMs: 135_000,
    measure: (measuredMs) => {
      aheadMs = measuredMs;
    },
    tell: (lots, stampMs) => scene.receive("positions", { 1: position({ position: sizeOf(lots) }) }, "update", stampMs),
    hold: (lots) => {
      venue.size = sizeOf(lots);
    },
    alive: () => scene.pong(),
    shown: () => {
      const read = stream.state === "LIVE" ? stream.positions() : null;
      return read?.ok === true ? { lots: read.value[0]?.qtyLots ?? 0, asOfMs: read.asOfMs } : null;
    },
  };
}

interface Mutant {
  readonly name: string;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [StampCheck, ...StampCheck[]];
  readonly options?: LiveOptions;
  readonly plant?: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "the wall clock measures how long ago the venue was asked",
    checks: ["HELD", "AS_OF"],
    options: { streamsClock: byTheWall },
  },
  {
    name: "a proof counts by the time that it names",
    checks: ["AS_OF"],
    plant: believeProofs,
  },
];

describe("the judge of stamps, on venuethree,", () => {
  it.each(SEEDS)("has nothing to say of the room as it is, seed %i", async (seed) => {
    expect([...(await judgeStamps(await account({}), seed))]).toEqual([]);
  });

  it.each(MUTANTS)("sees by $checks alone that $name", async ({ checks, options = {}, plant }) => {
    plant?.();
    for (const seed of SEEDS) {
      const found = await judgeStamps(await account(options), seed);
      expect([...found.keys()].sort()).toEqual([...checks].sort());
      expect([...(await judgeStamps(await account(options), seed, checks))]).toEqual([]);
    }
  });
});
