/**
 * The judge of the money simulation on services with one fault each, planted into the modules as they are loaded: it finds
 * each by the right check. On the right service and the same scenes it has nothing to say. `PLANTS="part of a name"` plays
 * some of them and prints the findings.
 */
import { encodeFunctionData } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  acting,
  booking,
  countsTwice,
  forgetsSteps,
  ignoresFee,
  opening,
  paysTo,
  sendsAgainAtOnce,
  stepping,
  takesLostForRefused,
  unplant,
} from "../../../engine/transfers/test/transfer-plants.js";
import type * as WithdrawFile from "../../../feeds/venuetwo/money/withdraw.js";
import { CONTRACTS } from "../../sim/chain/contracts/artifacts.js";
import { FOREIGN } from "../support/money/money-intents.js";
import type { MoneyCheck } from "../support/money/money-findings.js";
import { type MoneyRunOptions, runMoney } from "../support/money/money-run.js";
import { CONFIRMATIONS, type MoneyWorld, startMoneyWorld } from "../support/money/money-world.js";

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
    plant: forgetsSteps,
  },
  {
    name: "pays a withdrawal to another receiver",
    scene: "payouts",
    check: "receiver",
    plant: () => paysTo(FOREIGN),
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
    plant: () => countsTwice(CONFIRMATIONS),
  },
  {
    name: "does not count gas",
    scene: "deposits",
    check: "gas",
    plant: () =>
      stepping((right) => ({
        looked: (row, index, { standing, taken }, nowMs) => {
          const free = standing.kind === "mined" ? { ...standing, gasCost: 0n } : standing;
          return right.looked(row, index, { standing: free, taken }, nowMs);
        },
      })),
  },
  {
    name: "ignores the fee",
    scene: "payouts",
    check: "fee",
    plant: ignoresFee,
  },
  {
    name: "sends a withdrawal again where the history does not show it yet",
    scene: "late",
    check: "twice",
    plant: () => {
      sendsAgainAtOnce();
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
    plant: takesLostForRefused,
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
    plant: () => booking((right) => ({ update: (row, change) => right.update(row, change, null) })),
  },
];

/** What a wrong ledger leaves open is not waited for. */
const SETTLE_MS = 600_000;

let world: MoneyWorld;
beforeAll(async () => {
  world = await startMoneyWorld(SEED);
}, 240_000);
afterEach(() => {
  unplant();
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
