/**
 * Two classes that the usual run of the simulation cannot meet: budgets of accounts (it lifts them) and switches of a
 * connection (it has no socket). Each runs on the real service and the local venues, right and with a planted fault:
 * the judge's check finds the fault, and without that check nothing does.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { VenueRoom } from "../../../engine/ports.js";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import { type FourTrader, type FourVenues, startFourVenues } from "../support/four-venues.js";
import { type Baseline, baselineOf } from "../support/judge/evidence.js";
import type { CheckName } from "../support/judge/checks.js";
import { placing, replaced } from "../support/mutants/planting.js";
import { ADDRESS_REQUESTS, budgetScene, standingSwitch, type Wire } from "../support/scenes/true-budgets.js";
import { Stage } from "../support/scenes/stage.js";
import { waitUntil } from "../support/system.js";
import type { Ask } from "../support/trade-ask.js";
import { judgeTrades, type TradeJudgement } from "../support/trade-judge.js";
import { roomsOf } from "../support/trade-mutants.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";
import type { TradeTrial } from "../support/trade-trial.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
/** Plays of each scene: one request passes over a budget each ten seconds, and a machine may pause that long. */
const TIMES = 3;
/** Longer than the grace of a lost connection, the tries of a cancel, and a pause of the machine. */
const SWITCH_END_MS = 60_000;
/** Wait for switches that ended before: they never fire. */
const ENDED_SWITCH_MS = 8_000;
const BOOKS_MAX_MS = 60_000;

/** Sends entries as if they were exits, to the router and to the venue. */
function asExits(room: VenueRoom): VenueRoom {
  const placed = placing(
    (place) => (session, command, options) => place(session, command, { ...options, lane: "exit" }),
  );
  return replaced(placed(room), {
    orderWaitMs: (waitMs) => (session, _lane) => waitMs?.call(room, session, "exit") ?? 0,
  });
}

const asSent: Wire = (client, frame) => client.ask(frame);

/** A request for more than one venue ends the existing switch before it is checked. */
const endingFirst: Wire = async (client, frame) => {
  if (Object.keys(frame["credentials"] as object).length > 1)
    await client.ask({ op: "cancelOnDisconnect", enabled: false });
  return client.ask(frame);
};

let four: FourVenues;
let system: TradeSystem;
let wrong: TradeSystem;

beforeAll(async () => {
  four = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH"], addressRequests: ADDRESS_REQUESTS });
  system = await startTradeSystem(four);
  wrong = await startTradeSystem(four, { rooms: (config) => roomsOf(config).map(asExits) });
  const rooms = [...system.service.rooms, ...wrong.service.rooms];
  await waitUntil("books", BOOKS_MAX_MS, () =>
    rooms.every(({ markets }) => [...markets.values()].every(({ book }) => book.state === BOOK_LIVE)),
  );
}, 120_000);

afterAll(async () => {
  for (const one of [system, wrong]) await one?.stop();
  await four?.stop();
  for (const one of [system, wrong]) one?.cleanUp();
});

interface Played {
  readonly traders: readonly FourTrader[];
  readonly trials: TradeTrial[];
  readonly asks: Ask[];
  readonly baseline: Baseline;
}

async function played(
  name: string,
  on: TradeSystem,
  volume: string,
  play: (stage: Stage) => Promise<Ask | null>,
  switchEndMs = SWITCH_END_MS,
): Promise<Played> {
  const { positions } = budgetScene;
  const traders = Array.from({ length: TIMES }, (_, time) =>
    four.addTrader(`${name}-${time}-${SEED}`, positions, { volume }),
  );
  const baseline = baselineOf(four, traders);
  const all: Played = { traders, trials: [], asks: [], baseline };
  await Promise.all(
    traders.map(async (trader, index) => {
      const client = on.clients[index % on.clients.length];
      if (client === undefined) throw new RangeError("no client");
      const random = createSeededRandom(SEED + index);
      const own: Ask[] = [];
      const parts = {
        ...{ four, client, trader, random, name: trader.label },
        ...{ down: null, isCalm: true, trials: all.trials, asks: own },
      };
      const ask = await play(new Stage(parts));
      all.asks.push(...own, ...(ask === null ? [] : [ask]));
    }),
  );
  const working = ({ terms, trader }: Ask): number =>
    terms.venues.reduce(
      (sum, venue) => sum + four.venues[venue].exchange.orders.open(trader.accountIds[venue]).length,
      0,
    );
  const armed = all.asks.filter(({ kind, status }) => kind === "ARM" && status === 200);
  await waitUntil("switches to fire", switchEndMs, () => armed.every((ask) => working(ask) === 0)).catch(() => null);
  for (const ask of armed) ask.workingAtEnd = working(ask);
  return all;
}

function judged({ asks, baseline, traders, trials }: Played, without: readonly CheckName[] = []): TradeJudgement {
  return judgeTrades(four, trials, baseline, { asks, traders, without, hasTrueBudgets: true });
}

describe("a small address budget", () => {
  const play = (name: string, on: TradeSystem): Promise<Played> =>
    played(name, on, "0", async (stage) => {
      await budgetScene.play(stage);
      return null;
    });

  it("is spent by entries but for the part of exits: every close is taken", async () => {
    const run = await play("budget", system);
    const entries = run.trials.filter(({ kind, answers }) => kind === "OPEN" && answers.at(-1)?.success === true);
    // The entries reached the budget.
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.length).toBeLessThan(TIMES * ADDRESS_REQUESTS);
    expect(judged(run).violations).toEqual([]);
  }, 120_000);

  it("that entries may spend to its end is seen by its check alone", async () => {
    const run = await play("spent", wrong);
    expect([...judged(run).byCheck.keys()]).toEqual(["exit budgets"]);
    expect(judged(run, ["exit budgets"]).violations).toEqual([]);
  }, 120_000);
});

describe("a switch that stays armed when a wider wish is refused", () => {
  const play = (name: string, wire: Wire, switchEndMs?: number): Promise<Played> =>
    played(
      name,
      system,
      "50000000",
      async (stage) => standingSwitch(stage, await StreamClient.open(system.service.port), wire),
      switchEndMs,
    );

  it("fires when its connection is lost", async () => {
    const run = await play("standing", asSent);
    expect(run.asks.map(({ status }) => status)).toEqual(run.asks.map(() => 200));
    expect(judged(run).violations).toEqual([]);
  }, 120_000);

  it("and was ended by that wish is seen by its check alone", async () => {
    const run = await play("ended", endingFirst, ENDED_SWITCH_MS);
    expect([...judged(run).byCheck.keys()]).toEqual(["switches"]);
    expect(judged(run, ["switches"]).violations).toEqual([]);
  }, 120_000);
});
