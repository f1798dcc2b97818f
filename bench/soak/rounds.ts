/**
 * Traders of the soak. Each plays rounds of openings, closes and cancels on four venues and watches its positions on a
 * stream. The venues' own logs judge each round. The accounts stay the same, so that what the service keeps by account
 * is warm early; the judge forgets a round once it is judged.
 */
import type { Random } from "../../engine/domain/random.js";
import { StreamClient } from "../../gateway/stream/test/stream-client.js";
import type { TestClient } from "../../gateway/test/client.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues } from "../test/support/four-venues.js";
import { nativeName } from "../test/support/local-venues.js";
import { baselineOf } from "../test/support/judge/evidence.js";
import { closeAll, readPositions } from "../test/support/scenes/holdings.js";
import { SceneOver, Stage } from "../test/support/scenes/stage.js";
import { pause, waitUntil } from "../test/support/system.js";
import type { Ask } from "../test/support/trade-ask.js";
import { judgeTrades } from "../test/support/trade-judge.js";
import {
  countOf,
  countsText,
  endless,
  type TradeClient,
  tradeOutcome,
  type TradeTrial,
  untilFinal,
} from "../test/support/trade-trial.js";
import { PacedClient } from "./paced-client.js";

const ACTIONS = 20;
/**
 * Interval of each trader, from the beginning of a trade to the next: sixty a minute for four traders, on any machine.
 * Together they stay within what the venues grant an address, and what the service keeps by the trade grows evenly.
 */
const ACTION_EVERY_MS = { least: 3_000, spread: 2_000 };
const HELD = { BTC: "2", ETH: "-30" };
const STEP_MS = 100;
/** Distance from the mid; the order rests until its cancel. */
const RESTING_SHARE = 0.03;
const QUIET_MS = 60_000;
const STREAM_TRIES = 3;
const SUBSCRIBED_MS = 20_000;

export interface SoakParts {
  readonly four: FourVenues;
  readonly client: TestClient;
  readonly port: number;
  readonly seed: number;
  isRunning(): boolean;
  readonly violations: string[];
  readonly counts: SoakCounts;
}

/** Counts of the whole run. */
export class SoakCounts {
  trades = 0;
  orders = 0;
  rounds = 0;
  reads = 0;
  comparedBooks = 0;
  faults = 0;
  frames = 0;
  comparedStreams = 0;
  readonly #outcomes = new Map<string, number>();

  add(outcomes: ReadonlyMap<string, number>): void {
    for (const [name, count] of outcomes) this.#outcomes.set(name, (this.#outcomes.get(name) ?? 0) + count);
  }

  get outcomes(): string {
    return countsText(new Map([...this.#outcomes].sort(([, a], [, b]) => b - a)));
  }

  get text(): string {
    const { trades, orders, rounds, reads, comparedBooks, faults, frames, comparedStreams } = this;
    return `${rounds} rounds, ${trades} trades, ${orders} orders, ${reads} reads, ${comparedBooks} books compared, ${frames} frames, ${comparedStreams} streams compared, ${faults} faults`;
  }
}

/** Each trader has a paced client of its own. */
type TraderParts = Omit<SoakParts, "client"> & { readonly client: TradeClient };

export async function playRounds(parts: SoakParts, worker: number, random: Random): Promise<void> {
  const { four, seed } = parts;
  const trader = four.addTrader(`soak-${seed}-${worker}`, HELD);
  const own: TraderParts = { ...parts, client: new PacedClient(parts.client) };
  for (let round = 0; parts.isRunning(); round++) await playRound(own, trader, `${trader.label}-${round}`, random);
}

async function playRound(parts: TraderParts, trader: FourTrader, name: string, random: Random): Promise<void> {
  const { four, client, counts, violations } = parts;
  const baseline = baselineOf(four, [trader]);
  const trials: TradeTrial[] = [];
  const asks: Ask[] = [];
  const stage = new Stage({ ...{ four, client, trader, random, name, trials, asks }, down: null, isCalm: false });
  const stream = await watch(parts, trader);
  try {
    for (let action = 0; action < ACTIONS && parts.isRunning(); action++) {
      const nextMs = performance.now() + ACTION_EVERY_MS.least + random.next() * ACTION_EVERY_MS.spread;
      await act(stage, random).catch((error: unknown) => {
        if (!(error instanceof SceneOver)) throw error;
      });
      while (parts.isRunning() && performance.now() < nextMs) await pause(STEP_MS);
    }
    for (const venue of FOUR_VENUES) await cancelAll(stage, venue);
    for (const trial of trials) await untilFinal(four, client, trial, false);
    await noOrderLeft(parts, stage, name);
    if (stream !== null) await compareStream(parts, stage, stream, name);
  } finally {
    if (stream !== null) {
      counts.frames += stream.frames.length;
      await stream.stop();
    }
  }
  const { violations: found, orderCount } = judgeTrades(four, trials, baseline, { asks, traders: [trader] });
  violations.push(...endless(trials), ...found);
  counts.rounds++;
  counts.trades += trials.length;
  counts.orders += orderCount;
  counts.add(countOf(trials.flatMap(({ answers: [first] }) => (first === undefined ? [] : [tradeOutcome(first)]))));
}

async function act(stage: Stage, random: Random): Promise<void> {
  const dice = random.next();
  const market = stage.market();
  const size = market.symbol === "BTC" ? `0.0${digit(random)}` : `0.${digit(random)}`;
  const preferred = random.next() < 0.5 ? null : stage.venue();
  if (dice < 0.38) await stage.tradeToEnd({ kind: "CLOSE", ...market, size, preferred });
  else if (dice < 0.76) await stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred });
  else if (dice < 0.84)
    await stage.tradeToEnd({ kind: "CLOSE", ...market, size, routingOptions: { allowSplit: true, maxLegs: 3 } });
  else if (dice < 0.94) await restAndCancel(stage, random);
  else if (dice < 0.98) await readPositions(stage);
  else await closeAll(stage, ["ETH"]);
}

const digit = (random: Random): number => 1 + Math.floor(random.next() * 9);

async function restAndCancel(stage: Stage, random: Random): Promise<void> {
  const venue = stage.venue();
  const market = stage.market();
  const share = market.direction === "LONG" ? -RESTING_SHARE : RESTING_SHARE;
  const terms = { orderType: "LIMIT", limitPrice: stage.price(venue, market.symbol, share) } as const;
  const size = market.symbol === "BTC" ? "0.02" : "0.5";
  await stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred: venue, terms });
  // Some orders rest to the end of the round.
  if (random.next() < 0.7) await cancelAll(stage, venue);
}

async function cancelAll(stage: Stage, venue: FourVenue): Promise<void> {
  await stage.ask("CANCEL_ALL", `/api/trading/${venue}/orders`, { venues: [venue] }, { method: "DELETE" });
}

/** Faults continue, so a cancel may be lost. It is sent again, at growing intervals. */
async function noOrderLeft({ four, violations }: TraderParts, stage: Stage, name: string): Promise<void> {
  const open = (venue: FourVenue): number =>
    four.venues[venue].exchange.orders.open(stage.trader.accountIds[venue]).length;
  for (let waitMs = 500; ; waitMs *= 1.5) {
    const left = FOUR_VENUES.filter((venue) => open(venue) > 0);
    if (left.length === 0) return;
    if (waitMs > QUIET_MS / 2)
      return void violations.push(`${name}: orders that no cancel ended on ${left.join(", ")}`);
    await pause(waitMs);
    for (const venue of left) await cancelAll(stage, venue);
  }
}

/** Returns null when the service refuses it for now. */
async function watch(
  { port, violations }: TraderParts,
  { credentials, accountIds }: FourTrader,
): Promise<StreamClient | null> {
  for (let tried = 0; tried < STREAM_TRIES; tried++) {
    const stream = await StreamClient.open(port).catch(() => null);
    const wish = { topic: "positions", walletAddress: accountIds[FOUR_VENUES[0]], exchanges: FOUR_VENUES, credentials };
    const isUp = stream?.subscribe(wish).then(
      ({ type }) => type !== "error",
      () => false,
    );
    if (stream !== null && (await Promise.race([isUp, pause(SUBSCRIBED_MS).then(() => false)])) === true) return stream;
    if (stream?.fault != null) violations.push(`stream: ${stream.fault.message}`);
    await stream?.stop();
    await pause(500 * 2 ** tried);
  }
  return null;
}

/** Waits until the positions that the stream shows as LIVE are those that the venues hold. */
async function compareStream(parts: TraderParts, stage: Stage, stream: StreamClient, name: string): Promise<void> {
  if (stream.fault !== null) return void parts.violations.push(`${name}: ${stream.fault.message}`);
  const fold = [...stream.folds.values()].find(({ sub }) => sub.startsWith("positions:"));
  if (fold === undefined || stream.end !== null) return;
  const { four } = parts;
  const { trader } = stage;
  const wrong = (): string[] =>
    FOUR_VENUES.filter((venue) => fold.fields[venue]?.["state"] === "LIVE").flatMap((venue) =>
      ["BTC", "ETH"].flatMap((symbol) => {
        const row = [...fold.rows.values()].find((one) => one["exchange"] === venue && one["symbol"] === symbol);
        const told = Number(row?.["size"] ?? 0) * (row?.["direction"] === "SHORT" ? -1 : 1);
        const { qtyDecimals } = four.venues[venue].exchange.instruments.get(nativeName(venue, symbol)) ?? {
          qtyDecimals: 0,
        };
        const held = four.positionLots(venue, trader, symbol) / 10 ** qtyDecimals;
        return Math.abs(told - held) < 1e-9 ? [] : [`${venue} ${symbol} streamed as ${told}, held ${held}`];
      }),
    );
  await waitUntil("the stream to say what is held", QUIET_MS, () => stream.end !== null || wrong().length === 0).catch(
    () => parts.violations.push(`${name}: ${wrong().join("; ")}`),
  );
  parts.counts.comparedStreams++;
}
