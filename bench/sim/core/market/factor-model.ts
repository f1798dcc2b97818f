/**
 * One seeded factor model drives the fair prices of all bases on all venues: a market factor with stochastic
 * volatility, plus one own factor per base. It moves on a fixed time grid, so the path depends on the seed and
 * the start only, never on how often or by whom it is read. Fair prices are floats, as statistics are; they
 * become integer ticks where the house quotes.
 */
import { createSeededRandom, type Random } from "../../../../engine/domain/random.js";

/** Where fair prices come from: the shared factor model, or a recording. */
export interface PriceSource {
  /** Fair price of a base asset in quote units at venue time; called with non-decreasing times. */
  fairPrice(base: string, tsMs: number): number;
}

export interface FactorBase {
  readonly base: string;
  readonly startPrice: number;
  /** Annual volatility of the base's own part, 0.5 = 50 %. */
  readonly ownVolatility: number;
  /** Exposure to the market factor. */
  readonly beta: number;
}

export interface FactorModelOptions {
  readonly seed: number;
  /** Time of the start prices, which also hold before it. */
  readonly startMs: number;
  readonly bases?: readonly FactorBase[];
  /** Annual volatility of the market factor. */
  readonly marketVolatility?: number;
}

export const DEFAULT_BASES: readonly FactorBase[] = [
  { base: "BTC", startPrice: 92_400, ownVolatility: 0.18, beta: 1 },
  { base: "ETH", startPrice: 3_180, ownVolatility: 0.32, beta: 1.2 },
  { base: "SOL", startPrice: 141.5, ownVolatility: 0.45, beta: 1.35 },
  { base: "BNB", startPrice: 905, ownVolatility: 0.3, beta: 0.9 },
  { base: "XRP", startPrice: 2.15, ownVolatility: 0.45, beta: 1.1 },
  { base: "DOGE", startPrice: 0.162, ownVolatility: 0.55, beta: 1.4 },
  { base: "ASTER", startPrice: 1.18, ownVolatility: 0.9, beta: 1.2 },
  { base: "HYPE", startPrice: 38.4, ownVolatility: 0.8, beta: 1.2 },
  { base: "LINK", startPrice: 13.9, ownVolatility: 0.5, beta: 1.2 },
  { base: "PEPE", startPrice: 0.0000062, ownVolatility: 0.9, beta: 1.6 },
];

const GRID_MS = 100;
const GRID_STEPS_PER_YEAR = (365 * 24 * 3600 * 1000) / GRID_MS;
/** A jump of the clock by more than this many steps is made in one larger step. */
const CATCH_UP_STEPS_MAX = 20_000;
/** Fair prices stay within this factor of the start: every symbol stays in the range of its filters. */
const DRIFT_LIMIT = Math.log(4);

export function createFactorModel(options: FactorModelOptions): PriceSource {
  const random = createSeededRandom(options.seed ^ 0x5f3759df);
  const bases = options.bases ?? DEFAULT_BASES;
  const marketVolatility = options.marketVolatility ?? 0.45;
  const paths = new Map(bases.map((base) => [base.base, { base, logReturn: 0 }]));
  let stepIndex = 0;
  let volatilityLog = 0;

  const advance = (stepCount: number): void => {
    // Volatility clusters: a slow mean-reverting factor between about 0.5 and 2.
    volatilityLog =
      volatilityLog * Math.exp(-0.001 * stepCount) + 0.02 * Math.sqrt(Math.min(stepCount, 1000)) * gaussian(random);
    volatilityLog = Math.max(-0.7, Math.min(0.7, volatilityLog));
    const scale = Math.exp(volatilityLog) * Math.sqrt(stepCount / GRID_STEPS_PER_YEAR);
    const market = marketVolatility * scale * gaussian(random);
    for (const path of paths.values()) {
      const own = path.base.ownVolatility * scale * gaussian(random);
      path.logReturn = Math.max(-DRIFT_LIMIT, Math.min(DRIFT_LIMIT, path.logReturn + path.base.beta * market + own));
    }
  };

  return {
    fairPrice(base, tsMs) {
      const target = Math.max(0, Math.floor((tsMs - options.startMs) / GRID_MS));
      const behind = target - stepIndex;
      if (behind > CATCH_UP_STEPS_MAX) advance(behind);
      else for (let step = 0; step < behind; step++) advance(1);
      if (behind > 0) stepIndex = target;
      const path = paths.get(base);
      if (path === undefined) throw new RangeError(`factor model has no base ${base}`);
      return path.base.startPrice * Math.exp(path.logReturn);
    },
  };
}

/** Standard normal by Box–Muller; one of the pair is enough here. */
export function gaussian(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
  return radius * Math.cos(2 * Math.PI * random.next());
}

/** Poisson count for small means. */
export function poisson(random: Random, mean: number): number {
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random.next(); product > limit && count < 1000; product *= random.next()) count++;
  return count;
}

/** FNV-1a of a text, to give each venue and symbol a seed of its own. */
export function seedOf(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let index = 0; index < text.length; index++) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}
