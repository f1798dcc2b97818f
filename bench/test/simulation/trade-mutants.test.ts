/**
 * The judge of the trade simulation on six services with one fault each, which it must find by the right check, and on
 * the right service with the same trades, which it must not blame.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { addDrilled, runDrill } from "../support/drill.js";
import { type FourVenues, startFourVenues } from "../support/four-venues.js";
import { baselineOf } from "../support/judge/evidence.js";
import { judgeTrades } from "../support/trade-judge.js";
import { MUTANTS, roomsOf } from "../support/trade-mutants.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";
import { endless, untilFinal } from "../support/trade-trial.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
/** Trades of the right service, for each fault and venue: as many as the slowest fault needs to show. */
const ASKS = 3;

let four: FourVenues;
let system: TradeSystem | null = null;

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH"] });
});

afterEach(async () => {
  await system?.stop();
  system?.cleanUp();
  system = null;
});

afterAll(() => four?.stop());

describe("the judge of trades", () => {
  it("has nothing to say of a service that is right", async () => {
    const started = await startTradeSystem(four, { rooms: roomsOf });
    system = started;
    for (const { name, drill } of MUTANTS) {
      const traders = addDrilled(four, `right ${name}`);
      const baseline = baselineOf(four, traders.values());
      const trials = await runDrill(four, started, traders, drill, { asks: ASKS });
      const extras = { traders: [...traders.values()] };
      // As long as the test follows the mutants, and to the end.
      expect([name, judgeTrades(four, trials, baseline, extras).violations]).toEqual([name, []]);
      const [client] = started.clients;
      if (client === undefined) throw new RangeError("no client");
      await Promise.all(trials.map((trial) => untilFinal(four, client, trial, false)));
      const { orderCount, violations } = judgeTrades(four, trials, baseline, extras);
      expect([name, ...endless(trials), ...violations]).toEqual([name]);
      expect(orderCount).toBeGreaterThan(0);
    }
  }, 300_000);

  it.each(MUTANTS)(
    "sees that $name",
    async ({ name, checks, drill, on, rooms, seen, send }) => {
      const started = await startTradeSystem(four, { rooms });
      system = started;
      const drilled = addDrilled(four, name);
      const traders = new Map([...drilled].filter(([venue]) => on.includes(venue)));
      const baseline = baselineOf(four, traders.values());
      const trials = await runDrill(four, started, traders, drill, { send });
      const judged = (without: Parameters<typeof judgeTrades>[3] = {}): readonly string[] =>
        judgeTrades(four, trials, baseline, { traders: [...traders.values()], ...without }).violations;
      const fitting = judged().filter((violation) => seen.test(violation));
      expect(on.filter((venue) => !fitting.some((violation) => violation.startsWith(venue)))).toEqual([]);
      // Without the check and those that see the same from another side, the fault goes unseen.
      expect(judged({ without: checks })).toEqual([]);
    },
    300_000,
  );
});
