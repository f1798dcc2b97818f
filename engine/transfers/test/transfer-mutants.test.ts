/**
 * The judge of the model on ledgers with one fault each, which it must find by the right check. The same seeds of the
 * right ledger are in transfer-model.test.ts, and it has nothing to say of them.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import type * as ActSteps from "../act-steps.js";
import type * as DepositSteps from "../deposit-steps.js";
import type * as OpeningsFile from "../openings.js";
import type * as RowDecoder from "../row-decoder.js";

const RUNS = 60;
const OTHER = `0x${"99".repeat(20)}`;

interface Mutant {
  readonly name: string;
  /** What the judge must say. */
  readonly wrong: RegExp;
  plant(): void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "signs again after a restart",
    wrong: /two things were signed for one intent|took effect 2 times/,
    plant: () =>
      vi.doMock("../row-decoder.js", async (original: () => Promise<typeof RowDecoder>) => {
        const right = await original();
        const decodeTransfer: typeof right.decodeTransfer = (key, value) => {
          const row = right.decodeTransfer(key, value);
          const isUnderWay = row.kind === "deposit" && row.state !== "confirmed" && row.state !== "failed";
          return isUnderWay ? { ...row, state: "created", plan: [], steps: [] } : row;
        };
        return { ...right, decodeTransfer };
      }),
  },
  {
    name: "pays another receiver",
    wrong: /another receiver/,
    plant: () =>
      vi.doMock("../openings.js", async (original: () => Promise<typeof OpeningsFile>) => {
        const right = await original();
        class Openings extends right.Openings {
          override withdrawal(ask: OpeningsFile.WithdrawalAsk) {
            return super.withdrawal({ ...ask, receiver: ask.venue === "venueone" ? OTHER : ask.receiver });
          }
        }
        return { ...right, Openings };
      }),
  },
  {
    name: "counts a confirmation twice",
    wrong: /confirmed before it was final/,
    plant: () =>
      vi.doMock("../deposit-steps.js", async (original: () => Promise<typeof DepositSteps>) => {
        const right = await original();
        const looked: typeof right.looked = (row, index, { standing, taken }, nowMs) => {
          const twice =
            standing.kind === "mined" ? { ...standing, isFinal: standing.confirmations * 2 >= 4 } : standing;
          return right.looked(row, index, { standing: twice, taken }, nowMs);
        };
        return { ...right, looked };
      }),
  },
  {
    name: "ignores the fee",
    wrong: /sum of withdrawals is another/,
    plant: () =>
      vi.doMock("../openings.js", async (original: () => Promise<typeof OpeningsFile>) => {
        const right = await original();
        class Openings extends right.Openings {
          override async withdrawal(ask: OpeningsFile.WithdrawalAsk) {
            return { ...(await super.withdrawal(ask)), fee: "0" };
          }
        }
        return { ...right, Openings };
      }),
  },
  {
    name: "sends again as soon as the history shows nothing",
    wrong: /withdrawal of .* took effect 2 times/,
    plant: () =>
      vi.doMock("../act-steps.js", async (original: () => Promise<typeof ActSteps>) => {
        const right = await original();
        const maySendAgain: typeof right.maySendAgain = (row, { standing }) =>
          standing.kind === "absent" && row.state === "unknown";
        return { ...right, maySendAgain };
      }),
  },
  {
    name: "takes a lost reply for a refusal",
    wrong: /was refused, and took effect/,
    plant: () =>
      vi.doMock("../act-steps.js", async (original: () => Promise<typeof ActSteps>) => {
        const right = await original();
        const withdrawalSent: typeof right.withdrawalSent = (row, outcome, isFirst, nowMs) => {
          const heard = { kind: "refused", reason: "OTHER", venueText: "", retryAfterMs: null, isSpent: true } as const;
          return right.withdrawalSent(row, outcome.kind === "unknown" ? heard : outcome, isFirst, nowMs);
        };
        return { ...right, withdrawalSent };
      }),
  },
  {
    name: "gives a nonce up at the first look that shows it as lost",
    wrong: /deposit of .* is failed and took effect/,
    plant: () =>
      vi.doMock("../deposit-steps.js", async (original: () => Promise<typeof DepositSteps>) => ({
        ...(await original()),
        isLost: () => true,
      })),
  },
  {
    name: "takes a withdrawal that is like it for its own",
    wrong: /withdrawal of .* is failed and took effect/,
    plant: () =>
      vi.doMock("../act-steps.js", async (original: () => Promise<typeof ActSteps>) => {
        const right = await original();
        const withdrawalLooked: typeof right.withdrawalLooked = (row, look, nowMs) =>
          right.withdrawalLooked(row, { ...look, isByNumber: true }, nowMs);
        return { ...right, withdrawalLooked };
      }),
  },
  {
    name: "does not hand out again what a reorg took away",
    wrong: /deposit of .* is (broadcast|unknown)/,
    plant: () =>
      vi.doMock("../deposit-steps.js", async (original: () => Promise<typeof DepositSteps>) => {
        const right = await original();
        const looked: typeof right.looked = (row, index, seen, nowMs) => {
          const isGone = seen.standing.kind === "open" && row.steps[index]?.mined !== null;
          return isGone ? row : right.looked(row, index, seen, nowMs);
        };
        return { ...right, looked };
      }),
  },
];

afterEach(() => {
  for (const file of ["row-decoder", "openings", "deposit-steps", "act-steps"]) vi.doUnmock(`../${file}.js`);
  vi.resetModules();
});

describe("the judge of transfers", () => {
  it.each(MUTANTS)(
    "finds a ledger that $name",
    async ({ plant, wrong }) => {
      vi.resetModules();
      plant();
      const { runModel } = await import("./transfer-model.js");
      const said: string[] = [];
      for (let seed = 1; seed <= RUNS && !said.some((text) => wrong.test(text)); seed++)
        said.push(...(await runModel(seed)).wrongs);
      expect(said.filter((text) => wrong.test(text))).not.toEqual([]);
    },
    120_000,
  );
});
