/**
 * One planted fault for each class that the judge of trades has a check for: the check finds it, and without that check
 * nothing does. All faults share one service, each with traders of its own. `PLANTS="part of a name"` plays some of
 * them and prints the findings.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FOLLOWED, type FourTrader, type FourVenues, startFourVenues, UNFOLLOWED } from "../support/four-venues.js";
import { type Baseline, baselineOf } from "../support/judge/evidence.js";
import type { CheckName } from "../support/judge/checks.js";
import { phaseOf, PLANTS, plantedScenes, tradersWith } from "../support/mutants/classes.js";
import { type Plant, Planting } from "../support/mutants/planting.js";
import { CALLER_DAILY_MAX } from "../support/scenes/accounts.js";
import { judgeTrades, type TradeJudgement } from "../support/trade-judge.js";
import { roomsOf } from "../support/trade-mutants.js";
import type { RecordedState } from "../support/recorded-orders.js";
import type { Ask } from "../support/trade-ask.js";
import { runWorkload } from "../support/trade-run.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";
import type { TradeTrial } from "../support/trade-trial.js";
import { addTraders, type PlannedScene } from "../support/trade-workload.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
/** A scene's switch takes five seconds; none of the planted ones ends anything. */
const SWITCH_END_MS = 8_000;
/** A scene ends early where a venue refuses its first request, as on a paused machine: the test plays those again. */
const ROUNDS = 5;

let four: FourVenues;
let system: TradeSystem;
let traders: ReadonlyMap<string, FourTrader>;
let baseline: Baseline;
const played: { trials: TradeTrial[]; asks: Ask[]; recorded: readonly RecordedState[] } = {
  trials: [],
  asks: [],
  recorded: [],
};
let follow = (): void => {};
const planting = new Planting();
const planted = Array.from({ length: ROUNDS }, (_, round) => plantedScenes(SEED, round));

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: [...FOLLOWED, UNFOLLOWED] });
  traders = addTraders(
    four,
    planted.flat().map(({ trader }) => trader),
    String(SEED),
  );
  for (const plant of PLANTS)
    for (const trader of tradersWith(plant, planted.flat(), traders)) planting.add(trader, plant);
  follow = planting.unfollow();
  system = await startTradeSystem(four, { rooms: (config) => planting.rooms(roomsOf(config)) });
  baseline = baselineOf(four, traders.values());
  for (const scenes of planted) {
    const unseen = scenes.filter(({ plant }) => !isSeen(plant)).map(({ scene }) => scene);
    if (unseen.length > 0) await play(unseen);
  }
}, 900_000);

afterAll(async () => {
  follow();
  await system?.stop();
  await four?.stop();
  system?.cleanUp();
});

/** Traders whose orders come into no record. */
function unrecordedTraders(): readonly FourTrader[] {
  return PLANTS.filter(({ checks: [own] }) => own === "fills recorded").flatMap((plant) =>
    tradersWith(plant, planted.flat(), traders),
  );
}

async function play(scenes: readonly PlannedScene[]): Promise<void> {
  const unrecorded = unrecordedTraders();
  const { trials, asks, recorded } = await runWorkload(
    four,
    system,
    traders,
    { phases: [phaseOf(scenes)] },
    {
      firstAnswersOnly: true,
      clientOf: (trader, client) => planting.client(trader, client),
      switchEndMs: SWITCH_END_MS,
      isUnrecorded: ({ trader }) => unrecorded.includes(trader),
    },
  );
  played.trials.push(...trials);
  played.asks.push(...asks);
  // The record covers all rounds.
  played.recorded = recorded;
}

function isSeen(plant: Plant): boolean {
  const [own] = plant.checks;
  const found = judged(plant, []).byCheck.get(own) ?? [];
  return found.some((violation) => plant.seen?.test(violation) ?? true);
}

/** Judges the plant's traders alone. */
function judged(plant: Plant, without: readonly CheckName[]): TradeJudgement {
  const own = tradersWith(plant, planted.flat(), traders);
  return judgeTrades(
    four,
    played.trials.filter(({ trader }) => own.includes(trader)),
    baseline,
    {
      recorded: played.recorded,
      asks: played.asks.filter(({ trader }) => own.includes(trader)),
      callerDailyMax: CALLER_DAILY_MAX,
      traders: own,
      without,
    },
  );
}

describe("a fault of one class", () => {
  it.each(PLANTS)("is seen by its check alone: $name ($checks)", (plant) => {
    const [own] = plant.checks;
    const { byCheck } = judged(plant, []);
    if (process.env.PLANTS !== undefined)
      process.stdout.write(
        `${JSON.stringify(
          [...byCheck].map(([name, found]) => [name, found.slice(0, 4)]),
          null,
          1,
        )}\n`,
      );
    expect([...byCheck.keys()]).toContain(own);
    if (plant.seen !== undefined) expect(byCheck.get(own)).toContainEqual(expect.stringMatching(plant.seen));
    // Without the check and those that see the same from another side, the fault goes unseen.
    expect(judged(plant, plant.checks).violations).toEqual([]);
  });
});
