/**
 * The judge of the model on ledgers with one fault each, which it must find by the right check. Of the right ledger, on the
 * same seed, it has nothing to say.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  acting,
  booking,
  countsTwice,
  forgetsSteps,
  ignoresFee,
  paysTo,
  sendsAgainAtOnce,
  stepping,
  takesLostForRefused,
  unplant,
} from "./transfer-plants.js";
import { PAGE_ROWS } from "./transfer-world.js";

const RUNS = 100;
const OTHER = `0x${"99".repeat(20)}`;
/** Two of one amount are done, and one was carried out. */
const MOVED_TOO_OFTEN = /internal of .* is (\w+ and )*confirmed( and \w+)* and took effect/;

interface Mutant {
  readonly name: string;
  /** What the judge must say. */
  readonly wrong: RegExp;
  /** Where the search for a seed that shows it begins: by default with the first. */
  readonly from?: number;
  plant(): void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "signs again after a restart",
    wrong: /two things were signed for one intent|took effect 2 times/,
    plant: forgetsSteps,
  },
  { name: "pays another receiver", wrong: /another receiver/, plant: () => paysTo(OTHER) },
  { name: "counts a confirmation twice", wrong: /confirmed before it was final/, plant: () => countsTwice(4) },
  { name: "ignores the fee", wrong: /sum of withdrawals is another/, plant: ignoresFee },
  {
    name: "sends again as soon as the history shows nothing",
    wrong: /withdrawal of .* took effect 2 times/,
    from: 31,
    plant: sendsAgainAtOnce,
  },
  {
    name: "takes a lost reply for a refusal",
    wrong: /was refused, and took effect/,
    plant: takesLostForRefused,
  },
  {
    name: "gives a nonce up at the first look that shows it as lost",
    wrong: /deposit of .* is failed and took effect/,
    plant: () => stepping(() => ({ isLost: () => true })),
  },
  {
    name: "takes a withdrawal that is like it for its own",
    wrong: /withdrawal of .* is failed and took effect/,
    from: 68,
    plant: () =>
      acting((right) => ({
        withdrawalLooked: (row, look, nowMs) => right.withdrawalLooked(row, { ...look, isByNumber: true }, nowMs),
      })),
  },
  {
    name: "takes what the venue lists as another transfer like it for its own",
    wrong: MOVED_TOO_OFTEN,
    from: 9,
    plant: () => booking(() => ({ unclaimed: async (_row, venueIds) => venueIds })),
  },
  {
    name: "takes a transfer like it for its own where the list has other ids than the replies",
    wrong: MOVED_TOO_OFTEN,
    from: 38,
    plant: () =>
      booking((right) => ({
        page: async (walletId, after, limit) =>
          limit === PAGE_ROWS ? right.page(walletId, after, limit) : { rows: [], next: null },
      })),
  },
  {
    name: "records another payment than the chain has",
    wrong: /sum of payments is another/,
    plant: () =>
      acting((right) => ({
        payoutFound: (row, found, nowMs) => right.payoutFound(row, { ...found, paid: found.paid + 1n }, nowMs),
      })),
  },
  {
    name: "takes what left the account for what was paid",
    wrong: /confirmed before its payment was final/,
    plant: () =>
      acting((right) => ({
        withdrawalLooked: (row, look, nowMs) => {
          const { standing } = look;
          const done = standing.kind === "pending" ? { ...standing, kind: "completed" as const } : standing;
          return right.withdrawalLooked(row, { ...look, standing: done }, nowMs);
        },
      })),
  },
  {
    name: "looks for a withdrawal by what was asked for alone, where the list has the fee in it",
    wrong: /withdrawal of .* is failed and took effect/,
    from: 24,
    plant: () => acting((right) => ({ searchedFor: (row) => ({ ...right.searchedFor(row), fee: 0n }) })),
  },
  {
    name: "gives up a credit that it could not ask for",
    wrong: /deposit of .* was not followed to its credit/,
    from: 20,
    plant: () => stepping((right) => ({ isGivenUp: (row, _unreadMs, nowMs) => right.isGivenUp(row, null, nowMs) })),
  },
  {
    name: "does not hand out again what a reorg took away",
    wrong: /deposit of .* is (broadcast|unknown)/,
    from: 12,
    plant: () =>
      stepping((right) => ({
        looked: (row, index, seen, nowMs) => {
          const isGone = seen.standing.kind === "open" && row.steps[index]?.mined !== null;
          return isGone ? row : right.looked(row, index, seen, nowMs);
        },
      })),
  },
];

afterEach(() => {
  unplant();
  vi.resetModules();
});

describe("the judge of transfers", () => {
  it.each(MUTANTS)(
    "finds a ledger that $name",
    async ({ plant, wrong, from = 1 }) => {
      vi.resetModules();
      plant();
      const { runModel } = await import("./transfer-model.js");
      let found: number | null = null;
      for (let seed = from; seed < from + RUNS && found === null; seed++)
        if ((await runModel(seed)).wrongs.some((text) => wrong.test(text))) found = seed;
      expect(found, "no seed shows it").not.toBeNull();
      unplant();
      vi.resetModules();
      const right = await import("./transfer-model.js");
      expect((await right.runModel(found ?? from)).wrongs).toEqual([]);
    },
    300_000,
  );
});
