/**
 * The judge of the trade simulation at work: the same workload through a service that is right, which it must not blame,
 * and through six that are wrong in one thing each, which it must.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FourVenues, startFourVenues } from "./support/four-venues.js";
import { baselineOf } from "./support/judge/evidence.js";
import { judgeTrades, type TradeJudgement } from "./support/trade-judge.js";
import { MUTANTS, roomsOf, type Mutant } from "./support/trade-mutants.js";
import { runWorkload, startTradeSystem, type TradeSystem } from "./support/trade-run.js";
import { endless, type TradeTrial, untilFinal } from "./support/trade-trial.js";
import { addTraders, onOrders, planWorkload } from "./support/trade-workload.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_121);
const TRADES = 60;
/** The weather in which a wrong retry shows, and none that takes long to be over. */
const REPLIES_LOST = { name: "replies lost", faults: onOrders({ kind: "replyLost", probability: 0.35 }) };

interface JudgedRun {
  readonly trials: readonly TradeTrial[];
  readonly system: TradeSystem;
  judge(): TradeJudgement;
}

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

/** Traders of their own, the service that `rooms` make, and the first answers; those that go on get no end here. */
async function run(
  name: string,
  { rooms, send, trades = TRADES }: Pick<Mutant, "rooms" | "send" | "trades">,
): Promise<JudgedRun> {
  const workload = planWorkload(SEED, trades, { weathers: [REPLIES_LOST] });
  const traders = addTraders(four, workload.traders, name);
  const started = await startTradeSystem(four, { rooms });
  system = started;
  const baseline = baselineOf(four, traders.values());
  const options = { firstAnswersOnly: true, ...(send === undefined ? {} : { send }) };
  const { trials } = await runWorkload(four, started, traders, workload, options);
  return { trials, system: started, judge: () => judgeTrades(four, trials, baseline) };
}

describe("the judge of trades", () => {
  it("has nothing to say of a service that is right", async () => {
    const { trials, judge, system: started } = await run("right", { rooms: roomsOf });
    // As far as the mutants are followed, and to the end.
    expect(judge().violations).toEqual([]);
    const [client] = started.clients;
    if (client === undefined) throw new RangeError("no client");
    await Promise.all(trials.map((trial) => untilFinal(four, client, trial, false)));
    const { orderCount, violations } = judge();
    expect([...endless(trials), ...violations]).toEqual([]);
    expect(orderCount).toBeGreaterThan(TRADES / 3);
  }, 300_000);

  it.each(MUTANTS)(
    "sees that $name",
    async ({ name, seen, on, ...mutant }) => {
      const { violations } = (await run(name, mutant)).judge();
      const fitting = violations.filter((violation) => seen.test(violation));
      expect(fitting.length).toBeGreaterThan(0);
      const shown = on === "any" ? [] : on;
      expect(shown.filter((venue) => !fitting.some((violation) => violation.startsWith(venue)))).toEqual([]);
    },
    300_000,
  );
});
