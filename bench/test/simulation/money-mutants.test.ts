/**
 * The judge of the money simulation on services with one fault each, planted into the modules as they are loaded: it finds
 * each by the right check. On the right service and the same scenes it has nothing to say. `PLANTS="part of a name"` plays
 * some of them and prints the findings.
 */
import { encodeFunctionData } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type * as ActSteps from "../../../engine/transfers/act-steps.js";
import type * as DepositSteps from "../../../engine/transfers/deposit-steps.js";
import type * as OpeningsFile from "../../../engine/transfers/openings.js";
import type * as RowDecoder from "../../../engine/transfers/row-decoder.js";
import type * as BookFile from "../../../engine/transfers/transfer-book.js";
import type { TransferRow } from "../../../engine/transfers/transfer-row.js";
import type * as WithdrawFile from "../../../feeds/venuetwo/money/withdraw.js";
import { CONTRACTS } from "../../sim/chain/contracts/artifacts.js";
import { FOREIGN } from "../support/money/money-asks.js";
import type { MoneyCheck } from "../support/money/money-judge.js";
import { type MoneyRunOptions, runMoney } from "../support/money/money-run.js";
import { type MoneyWorld, startMoneyWorld } from "../support/money/money-world.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_128);
const { PLANTS = "" } = process.env;
/** Seeds that a fault may take to show. */
const RUNS = 8;

type Scene = Omit<MoneyRunOptions, "seed">;

/** What a fault needs to show, and no more. */
const SCENES = {
  kills: { kinds: ["deposit"], transfers: 10, troubles: [] },
  deposits: { kinds: ["deposit"], transfers: 6, troubles: [], hasKills: false },
  toOne: { kinds: ["deposit"], venues: ["venueone"], transfers: 4, troubles: [], hasKills: false },
  behind: {
    kinds: ["deposit"],
    venues: ["venuetwo"],
    transfers: 14,
    troubles: ["behind"],
    hasKills: false,
    wallets: 1,
  },
  payouts: { kinds: ["withdrawal"], transfers: 8, troubles: [], hasKills: false },
  late: { kinds: ["withdrawal"], venues: ["venuetwo"], transfers: 8, troubles: ["late"], hasKills: false },
} as const satisfies Readonly<Record<string, Scene>>;
type SceneName = keyof typeof SCENES;

interface Mutant {
  readonly name: string;
  readonly scene: SceneName;
  readonly check: MoneyCheck;
  plant(): void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "signs again after a restart, with another nonce",
    scene: "kills",
    check: "signed",
    plant: () =>
      vi.doMock("../../../engine/transfers/row-decoder.js", async (original: () => Promise<typeof RowDecoder>) => {
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
    name: "pays a withdrawal to another receiver",
    scene: "payouts",
    check: "receiver",
    plant: () =>
      opening((right) => ({
        withdrawal: (ask) => right.withdrawal({ ...ask, receiver: ask.venue === "venueone" ? FOREIGN : ask.receiver }),
      })),
  },
  {
    name: "sends a deposit elsewhere",
    scene: "toOne",
    check: "receiver",
    plant: () =>
      opening((right) => ({
        deposit: async (ask) => {
          const { abi } = CONTRACTS.Token;
          const args = [FOREIGN, ask.amount];
          return { ...(await right.deposit(ask)), data: encodeFunctionData({ abi, functionName: "transfer", args }) };
        },
      })),
  },
  {
    name: "counts a confirmation twice",
    scene: "deposits",
    check: "final",
    plant: () =>
      looking((right) => (row, index, { standing, taken }, nowMs) => {
        const twice = standing.kind === "mined" ? { ...standing, isFinal: standing.confirmations * 2 >= 3 } : standing;
        return right.looked(row, index, { standing: twice, taken }, nowMs);
      }),
  },
  {
    name: "does not count gas",
    scene: "deposits",
    check: "gas",
    plant: () =>
      looking((right) => (row, index, { standing, taken }, nowMs) => {
        const free = standing.kind === "mined" ? { ...standing, gasCost: 0n } : standing;
        return right.looked(row, index, { standing: free, taken }, nowMs);
      }),
  },
  {
    name: "ignores the fee",
    scene: "payouts",
    check: "fee",
    plant: () => opening((right) => ({ withdrawal: async (ask) => ({ ...(await right.withdrawal(ask)), fee: "0" }) })),
  },
  {
    name: "sends a withdrawal again where the history does not show it yet",
    scene: "late",
    check: "twice",
    plant: () => {
      acting(() => ({ maySendAgain: (row, { standing }) => standing.kind === "absent" && row.state === "unknown" }));
      vi.doMock("../../../feeds/venuetwo/money/withdraw.js", async (original: () => Promise<typeof WithdrawFile>) => {
        const right = await original();
        class VenuetwoWithdrawals extends right.VenuetwoWithdrawals {
          override readonly actsOnce = true as false;
        }
        return { ...right, VenuetwoWithdrawals };
      });
    },
  },
  {
    name: "takes a lost reply for a refusal",
    scene: "late",
    check: "effect",
    plant: () =>
      acting((right) => ({
        withdrawalSent: (row, outcome, isFirst, nowMs) => {
          const heard = { kind: "refused", reason: "OTHER", venueText: "", retryAfterMs: null, isSpent: true } as const;
          return right.withdrawalSent(row, outcome.kind === "unknown" ? heard : outcome, isFirst, nowMs);
        },
      })),
  },
  {
    name: "does not record what was paid",
    scene: "payouts",
    check: "paid",
    plant: () =>
      acting((right) => ({
        withdrawalLooked: (row, look, nowMs) => {
          const next = right.withdrawalLooked(row, look, nowMs);
          return next === row ? row : { ...next, paid: next.paid === null ? null : "1" };
        },
      })),
  },
  {
    name: "forgets which nonces are used",
    scene: "behind",
    check: "signed",
    plant: () =>
      vi.doMock("../../../engine/transfers/transfer-book.js", async (original: () => Promise<typeof BookFile>) => {
        const right = await original();
        class TransferBook extends right.TransferBook {
          override update<Row extends TransferRow>(row: Row, change: (row: Row) => Row): Promise<Row> {
            return super.update(row, change, null);
          }
        }
        return { ...right, TransferBook };
      }),
  },
];

type Opened = Pick<OpeningsFile.Openings, "deposit" | "withdrawal">;

function opening(wrong: (right: Opened) => Partial<Opened>): void {
  vi.doMock("../../../engine/transfers/openings.js", async (original: () => Promise<typeof OpeningsFile>) => {
    const right = await original();
    class Openings extends right.Openings {
      readonly #wrong = wrong({ deposit: (ask) => super.deposit(ask), withdrawal: (ask) => super.withdrawal(ask) });

      override deposit(ask: OpeningsFile.DepositAsk) {
        return this.#wrong.deposit?.(ask) ?? super.deposit(ask);
      }

      override withdrawal(ask: OpeningsFile.WithdrawalAsk) {
        return this.#wrong.withdrawal?.(ask) ?? super.withdrawal(ask);
      }
    }
    return { ...right, Openings };
  });
}

function looking(wrong: (right: typeof DepositSteps) => typeof DepositSteps.looked): void {
  vi.doMock("../../../engine/transfers/deposit-steps.js", async (original: () => Promise<typeof DepositSteps>) => {
    const right = await original();
    return { ...right, looked: wrong(right) };
  });
}

function acting(wrong: (right: typeof ActSteps) => Partial<typeof ActSteps>): void {
  vi.doMock("../../../engine/transfers/act-steps.js", async (original: () => Promise<typeof ActSteps>) => {
    const right = await original();
    return { ...right, ...wrong(right) };
  });
}

const MOCKED = ["row-decoder", "openings", "deposit-steps", "act-steps", "transfer-book"];
/** What a wrong ledger leaves open is not waited for. */
const SETTLE_MS = 600_000;

let world: MoneyWorld;
beforeAll(async () => {
  world = await startMoneyWorld(SEED);
}, 240_000);
afterEach(() => {
  for (const file of MOCKED) vi.doUnmock(`../../../engine/transfers/${file}.js`);
  vi.doUnmock("../../../feeds/venuetwo/money/withdraw.js");
  vi.resetModules();
});
afterAll(() => world?.stop());

describe("the judge of money", () => {
  it.each(MUTANTS.filter(({ name }) => name.includes(PLANTS)))(
    "finds a ledger that $name",
    async ({ plant, scene, check }) => {
      vi.resetModules();
      plant();
      const found: string[] = [];
      for (let run = 0; run < RUNS && !found.some((text) => text.startsWith(check)); run++) {
        const options = { ...SCENES[scene], seed: SEED + run, settleMs: SETTLE_MS };
        const { findings } = await runMoney(world, options);
        found.push(...findings.map((one) => `${one.check}: ${one.text}`));
      }
      if (PLANTS !== "") process.stdout.write(`${found.join("\n")}\n`);
      expect(found.filter((text) => text.startsWith(check))).not.toEqual([]);
    },
    600_000,
  );

  it.each(Object.keys(SCENES) as SceneName[])(
    "has nothing to say of the right one (%s)",
    async (scene) => {
      const { findings } = await runMoney(world, { ...SCENES[scene], seed: SEED });
      expect(findings).toEqual([]);
    },
    600_000,
  );
});
