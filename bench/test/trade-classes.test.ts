/**
 * One planted fault for each class that the judge of trades has a check for: the check sees it, and with the check taken
 * out nothing does. All of them in one service, each for traders of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FourTrader, type FourVenues, startFourVenues } from "./support/four-venues.js";
import { type Baseline, baselineOf } from "./support/judge/evidence.js";
import type { CheckName } from "./support/judge/checks.js";
import { phaseOf, PLANTS, plantedScenes, tradersWith } from "./support/mutants/classes.js";
import { type Plant, Planting } from "./support/mutants/planting.js";
import { CALLER_DAILY_MAX } from "./support/scenes/accounts.js";
import { judgeTrades, type TradeJudgement } from "./support/trade-judge.js";
import { roomsOf } from "./support/trade-mutants.js";
import { type PlayedWorkload, runWorkload, startTradeSystem, type TradeSystem } from "./support/trade-run.js";
import { addTraders } from "./support/trade-workload.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
/** A switch of a scene is for five: of those that are planted none ends anything. */
const SWITCH_END_MS = 8_000;

let four: FourVenues;
let system: TradeSystem;
let traders: ReadonlyMap<string, FourTrader>;
let baseline: Baseline;
let played: PlayedWorkload;
const planted = plantedScenes(SEED);

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH"] });
  traders = addTraders(
    four,
    planted.map(({ trader }) => trader),
    String(SEED),
  );
  const planting = new Planting();
  for (const plant of PLANTS) for (const trader of tradersWith(plant, planted, traders)) planting.add(trader, plant);
  system = await startTradeSystem(four, { rooms: (config) => planting.rooms(roomsOf(config)) });
  baseline = baselineOf(four, traders.values());
  played = await runWorkload(
    four,
    system,
    traders,
    { phases: [phaseOf(planted.map(({ scene }) => scene))] },
    {
      firstAnswersOnly: true,
      clientOf: (trader, client) => planting.client(trader, client),
      switchEndMs: SWITCH_END_MS,
    },
  );
}, 300_000);

afterAll(async () => {
  await system?.stop();
  await four?.stop();
  system?.cleanUp();
});

/** Of the plant's traders alone. */
function judged(plant: Plant, without: readonly CheckName[]): TradeJudgement {
  const own = tradersWith(plant, planted, traders);
  return judgeTrades(
    four,
    played.trials.filter(({ trader }) => own.includes(trader)),
    baseline,
    {
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
    expect([...byCheck.keys()]).toContain(own);
    // Taken out, with those that see the same thing from another side, the fault goes unseen.
    expect(judged(plant, plant.checks).violations).toEqual([]);
  });
});
