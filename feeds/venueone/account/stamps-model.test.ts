/**
 * What venueone's account frames say of their own time, under the judge of stamped-account.ts: the room as it is, which
 * it must not blame, and one planted fault for each check. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import {
  believeProofs,
  byTheWall,
  judgeStamps,
  type StampCheck,
  type StampedAccount,
} from "../../shared/test/stamped-account.js";
import { ALICE, setup } from "../test/account-harness.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];

const planted = vi.hoisted((): { bars: "for ever" | "never" | null } => ({ bars: null }));

vi.mock(import("../../shared/book/stamps.js"), async (load) => {
  const stamps = await load();
  return {
    ...stamps,
    barredBeforeMs: (newestMs, latestMs) => {
      if (planted.bars === null) return stamps.barredBeforeMs(newestMs, latestMs);
      return planted.bars === "never" ? 0 : newestMs;
    },
  };
});

afterEach(() => {
  vi.restoreAllMocks();
  planted.bars = null;
});

async function account(options: Parameters<typeof setup>[0]): Promise<StampedAccount> {
  const { acknowledge, clock, measure, network, venue, push, live } = setup(options);
  const state = (lots: number, stampMs: number): unknown => {
    const held = venue.positions.get(ALICE) ?? {};
    venue.positions.set(ALICE, { BTC: { szi: String(lots / 10_000), entryPx: "50000.0" } });
    const told = venue.state(ALICE, stampMs);
    venue.positions.set(ALICE, held);
    return told;
  };
  const tell = (lots: number, stampMs: number): void =>
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: state(lots, stampMs) });
  measure(0);
  const stream = await live(ALICE);
  let heardCount = network.last.sent.length;
  return {
    clock,
    isOrdered: true,
    comparedMs: 75_000,
    measure,
    tell,
    hold: (lots) => void venue.positions.set(ALICE, { BTC: { szi: String(lots / 10_000), entryPx: "50000.0" } }),
    alive: () => {
      network.last.receive('{"channel":"pong"}');
      // What is asked for again is acknowledged.
      if (network.last.sent.slice(heardCount).some((text) => text.includes('"subscribe"'))) acknowledge(ALICE);
      heardCount = network.last.sent.length;
    },
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
  readonly options?: Parameters<typeof setup>[0];
  readonly plant?: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "a frame's own stamp is believed whatever it says",
    checks: ["HELD"],
    plant: () => void vi.spyOn(ClockOffset.prototype, "isPlausible").mockReturnValue(true),
  },
  {
    name: "what was taken bars what is older for ever",
    checks: ["HELD", "BACK"],
    plant: () => {
      planted.bars = "for ever";
    },
  },
  {
    name: "an older frame undoes a newer one",
    checks: ["HELD"],
    plant: () => {
      planted.bars = "never";
    },
  },
  {
    name: "the wall clock tells how long ago the venue was asked",
    checks: ["HELD", "AS_OF"],
    options: { streamsClock: byTheWall },
  },
  {
    name: "a proof counts by the time that it names",
    checks: ["AS_OF"],
    plant: believeProofs,
  },
];

describe("the judge of stamps, on venueone,", () => {
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
