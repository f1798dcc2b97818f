/**
 * One seed, twice: fresh venues, a fresh service, the same trades one after the other on each venue while replies are
 * lost or answered with 5xx. The venues' order logs are the same, line by line, and so is the end of each trade.
 * Prices, times and ids depend on the clock.
 */
import { afterEach, describe, expect, it } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import {
  FOUR_VENUES,
  type FourTrader,
  type FourVenue,
  type FourVenues,
  startFourVenues,
} from "../support/four-venues.js";
import { baselineOf } from "../support/judge/evidence.js";
import { judgeTrades } from "../support/trade-judge.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";
import { endless, tradeOutcome, type TradeTrial, untilFinal } from "../support/trade-trial.js";
import { addTraders, onOrders, type PlannedTrade, type PlannedTrader, trialOf } from "../support/trade-workload.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const TRADES_PER_VENUE = Math.ceil(Number(process.env.TRADES ?? 32) / FOUR_VENUES.length);
const FAULTS = [
  ...onOrders({ kind: "replyLost", probability: 0.2 }),
  ...onOrders({ kind: "errorAfter", probability: 0.2 }),
];
/** Far above the delay of a busy machine: the compared logs must not depend on it. */
const PATIENT = { deadlineMs: 20_000, maxQuoteAgeMs: 60_000 };

let four: FourVenues | null = null;
let system: TradeSystem | null = null;

async function takeApart(): Promise<void> {
  await system?.stop();
  await four?.stop();
  system?.cleanUp();
  system = null;
  four = null;
}

afterEach(takeApart);

/** A trader of its own for each venue; closes of more than is left, of nothing and of everything among the others. */
function planLane(random: Random, venue: FourVenue): readonly PlannedTrade[] {
  return Array.from({ length: TRADES_PER_VENUE }, (_, index): PlannedTrade => {
    const isLong = random.next() < 0.5;
    const dice = random.next();
    const digit = 1 + Math.floor(random.next() * 9);
    const market = isLong
      ? ({ symbol: "BTC", direction: "LONG" } as const)
      : ({ symbol: "ETH", direction: "SHORT" } as const);
    const size = isLong ? `0.0${digit}` : `0.${digit}`;
    return {
      key: `replay-${SEED}-${venue}-${index}`,
      trader: `lane-${venue}`,
      kind: dice < 0.5 ? "OPEN" : "CLOSE",
      ...market,
      size: dice < 0.75 ? size : dice < 0.9 ? "ALL" : "100",
      preferred: venue,
      besides: null,
      routingOptions: PATIENT,
    };
  });
}

interface Run {
  readonly ends: readonly string[];
  readonly logs: Readonly<Record<string, readonly string[]>>;
  readonly faultHits: Readonly<Record<string, unknown>>;
}

async function run(): Promise<Run> {
  const venues = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH"] });
  four = venues;
  system = await startTradeSystem(venues);
  const [client] = system.clients;
  if (client === undefined) throw new RangeError("no client");
  const random = createSeededRandom(SEED);
  const lanes = FOUR_VENUES.map((venue) => planLane(random, venue));
  const planned = FOUR_VENUES.map(
    (venue): PlannedTrader => ({ label: `lane-${venue}`, positions: { BTC: "0.3", ETH: "-4" }, viaAgent: true }),
  );
  const traders = addTraders(venues, planned, String(SEED));
  const baseline = baselineOf(venues, traders.values());
  const endFaults = venues.fault(FOUR_VENUES, FAULTS);
  const trials = await Promise.all(
    lanes.map(async (lane) => {
      const done: TradeTrial[] = [];
      for (const trade of lane) {
        const trial = trialOf(venues, traders, trade);
        await untilFinal(venues, client, trial, true);
        done.push(trial);
      }
      return done;
    }),
  );
  endFaults();
  expect([...endless(trials.flat()), ...judgeTrades(venues, trials.flat(), baseline).violations]).toEqual([]);
  const result = {
    ends: trials.flat().map(endOf),
    logs: Object.fromEntries(FOUR_VENUES.map((venue) => [venue, logOf(venues, venue, [...traders.values()])])),
    faultHits: Object.fromEntries(FOUR_VENUES.map((venue) => [venue, { ...venues.venues[venue].faults.hits() }])),
  };
  await takeApart();
  return result;
}

function endOf({ key, answers }: TradeTrial): string {
  const last = answers.at(-1);
  const { filledSize = "-", legs = [] } = last?.data?.execution ?? {};
  const sent = legs.map(({ exchange, outcome, size }) => `${exchange} ${size} ${outcome}`).join(" + ");
  return `${key}: ${last === undefined ? "no answer" : tradeOutcome(last)} ${filledSize} ${sent}`;
}

function logOf(venues: FourVenues, venue: FourVenue, traders: readonly FourTrader[]): string[] {
  const labels = new Map(traders.map((trader) => [trader.accountIds[venue], trader.label]));
  return venues.venues[venue].log
    .records({ action: "place" })
    .map(({ accountId, symbol, side, reduceOnly, qty, filledQty, status, refusal }) =>
      [labels.get(accountId), symbol, side, reduceOnly, qty, filledQty, status, refusal?.code].join(" "),
    );
}

describe("a seed", () => {
  it(`gives the same order logs and the same ends of ${FOUR_VENUES.length * TRADES_PER_VENUE} trades again`, async () => {
    const first = await run();
    const second = await run();
    expect(second).toEqual(first);
    expect(first.ends.length).toBe(FOUR_VENUES.length * TRADES_PER_VENUE);
    for (const venue of FOUR_VENUES) expect(first.logs[venue]?.length).toBeGreaterThan(TRADES_PER_VENUE / 3);
    expect(JSON.stringify(first.faultHits)).toMatch(/"errorAfter":[1-9]/);
  }, 240_000);
});
