/** One service for all planted faults, each with traders of its own that play its scene. */
import type { FourTrader } from "../four-venues.js";
import type { PlannedPhase, PlannedScene, PlannedTrader } from "../trade-workload.js";
import { FOUR_VENUES } from "../four-venues.js";
import { SCENES } from "../scenes/scenes.js";
import { ACCOUNT_PLANTS } from "./accounts.js";
import { END_PLANTS } from "./ends.js";
import { HOLDING_PLANTS } from "./holdings.js";
import type { Plant } from "./planting.js";
import { LATER_PLANTS } from "./later.js";
import { ORDER_PLANTS } from "./orders.js";
import { PRICE_PLANTS } from "./prices.js";
import { UNFOLLOWED_PLANTS } from "./unfollowed.js";

/** Part of the names of plants, to play only those; default: all. */
const ONLY = process.env.PLANTS ?? "";

export const PLANTS: readonly Plant[] = [
  ...PRICE_PLANTS,
  ...HOLDING_PLANTS,
  ...END_PLANTS,
  ...UNFOLLOWED_PLANTS,
  ...ORDER_PLANTS,
  ...ACCOUNT_PLANTS,
  ...LATER_PLANTS,
].filter(({ name }) => name.includes(ONLY));

/** Plays of each scene in a later round: the dice of a single play may hide the fault. */
const TIMES_LATER = 3;

interface PlantedScene {
  readonly plant: Plant;
  readonly scene: PlannedScene;
  readonly trader: PlannedTrader;
}

/** Each round has its own traders. */
export function plantedScenes(seed: number, round: number): readonly PlantedScene[] {
  return PLANTS.flatMap((plant, index) =>
    Array.from({ length: round === 0 ? 1 : TIMES_LATER }, (_, time): PlantedScene => {
      const label = `planted-${index}-${time}-${round}`;
      const own = seed + 100 * index + 10 * round + time;
      const scene = { name: `${label}-${seed}`, kind: plant.scene, trader: label, seed: own };
      const trader = { label, positions: SCENES[plant.scene].positions, viaAgent: false };
      return { plant, scene, trader };
    }),
  );
}

export function phaseOf(scenes: readonly PlannedScene[]): PlannedPhase {
  return {
    name: "planted",
    venues: FOUR_VENUES,
    faults: [],
    down: null,
    jobs: [],
    scenes,
    clockOffMs: 0,
    restarts: false,
  };
}

/** The traders that have this fault. */
export function tradersWith(
  plant: Plant,
  scenes: readonly PlantedScene[],
  traders: ReadonlyMap<string, FourTrader>,
): readonly FourTrader[] {
  return scenes.flatMap(({ plant: own, trader }) => (own === plant ? (traders.get(trader.label) ?? []) : []));
}
