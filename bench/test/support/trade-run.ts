/**
 * Workloads through the HTTP door of a service on four local venues. Jobs run side by side, each trade until its end is
 * known; the faults of a phase last while its first answers come.
 */
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { FourTrader, FourVenues } from "./four-venues.js";
import type { RecordedState } from "./recorded-orders.js";
import { SCENES } from "./scenes/scenes.js";
import { SceneOver, Stage } from "./scenes/stage.js";
import type { Ask } from "./trade-ask.js";
import { askOnceMore, lateEnds, newestWord, recordEnds, switchesEnd } from "./trade-ends.js";
import { recovered, type TradeSystem } from "./trade-system.js";
import {
  countsText,
  firstOutcomes,
  sendTrade,
  type TradeClient,
  type TradeSender,
  type TradeTrial,
  untilFinal,
} from "./trade-trial.js";
import { type PlannedPhase, type PlannedScene, trialOf, type Workload } from "./trade-workload.js";

const CONCURRENCY = 8;
/**
 * Scenes at once. Each has a request in flight nearly all the time; more of them would only test the capacity of the
 * lanes.
 */
const SCENES_AT_ONCE = 8;
/** Repeats at once, all trades together: repeating what is refused for load must not add to the load. */
const ASKING_AGAIN_MAX = 6;

interface RunOptions {
  /** Sender in place of the usual path to the service. */
  readonly send?: TradeSender;
  readonly onPhase?: (text: string) => void;
  /** Skips the wait for ends: with a wrong service some never come. */
  readonly firstAnswersOnly?: boolean;
  /** Client for a trader's scene, in place of the usual one. */
  readonly clientOf?: (trader: FourTrader, client: TradeClient) => TradeClient;
  /** How long to wait for switches; default: beyond all that may delay them. */
  readonly switchEndMs?: number;
  /** Trades whose record does not come, by the fault that is planted in them: see UNRECORDED_MS in trade-ends.ts. */
  readonly isUnrecorded?: (trial: TradeTrial) => boolean;
}

interface PlayedWorkload {
  readonly trials: readonly TradeTrial[];
  readonly recorded: readonly RecordedState[];
  readonly asks: readonly Ask[];
}

/** The trials, each repeated until its end was known or could not be known, and the scenes' other requests. */
export async function runWorkload(
  four: FourVenues,
  system: TradeSystem,
  traders: ReadonlyMap<string, FourTrader>,
  workload: Pick<Workload, "phases">,
  options: RunOptions = {},
): Promise<PlayedWorkload> {
  const trials: TradeTrial[] = [];
  const asks: Ask[] = [];
  const ends: Promise<unknown>[] = [];
  /** Sent by a process that has ended since. */
  const sentBefore = new Set<TradeTrial>();
  const askAgain = atMost(ASKING_AGAIN_MAX, options.send ?? sendTrade);
  for (const phase of workload.phases) {
    if (phase.restarts) {
      await system.restart();
      for (const trial of trials) sentBefore.add(trial);
    }
    await recovered(system.service);
    const startedMs = performance.now();
    const batch = await runPhase(four, system, traders, phase, options, askAgain, ends, asks);
    trials.push(...batch);
    const took = ((performance.now() - startedMs) / 1000).toFixed(1);
    options.onPhase?.(`${phase.name}, ${took} s: ${countsText(firstOutcomes(batch))}`);
  }
  const faults = (await Promise.all(ends)).filter((end) => end !== null);
  if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join("; "));
  await switchesEnd(four, asks, options.switchEndMs);
  if (options.firstAnswersOnly !== true) {
    await lateEnds(four, system, trials, askAgain);
    await newestWord(four, system, trials);
    await askOnceMore(four, system, sentBefore);
    // Protection may have been on its way at the newest word.
    await lateEnds(four, system, trials, askAgain);
  }
  return { trials, asks, recorded: await recordEnds(four, system, trials, options.isUnrecorded) };
}

/** Lets so many through at a time; the others wait for their turn. */
function atMost(max: number, send: TradeSender): TradeSender {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (...request) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await send(...request);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

/**
 * Sends the first requests under the phase's faults. The search for the ends runs beside the phases that follow, and
 * goes into `ends`.
 */
async function runPhase(
  four: FourVenues,
  { clients, clock }: TradeSystem,
  traders: ReadonlyMap<string, FourTrader>,
  { venues, faults, jobs, scenes, down, clockOffMs }: PlannedPhase,
  { send = sendTrade, firstAnswersOnly = false, clientOf = (_, usual) => usual }: RunOptions,
  askAgain: TradeSender,
  ends: Promise<unknown>[],
  asks: Ask[],
): Promise<TradeTrial[]> {
  const trials: TradeTrial[] = [];
  const client = (index: number): TradeClient => clients[index % clients.length] as TradeClient;
  const endFaults = four.fault(venues, faults);
  const isCalm = faults.length === 0 && clockOffMs === 0;
  const isReadable = clockOffMs === 0 && faults.every(({ scope }) => scope?.every((one) => one === "user") === true);
  const goForEnds = (batch: readonly TradeTrial[]): void => {
    for (const trial of firstAnswersOnly ? [] : batch) {
      const end = untilFinal(four, client(-1 + clients.length), trial, trial.besides !== null, askAgain);
      ends.push(
        end.then(
          () => null,
          (error: unknown) => error,
        ),
      );
    }
  };
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
      if (next > jobs.length / 2) clock.set(clockOffMs);
      const batch = job.trades.map((trade) => trialOf(four, traders, trade));
      trials.push(...batch);
      const sends = job.twice ? [...batch, ...batch] : batch;
      await Promise.all(sends.map((trial, index) => send(four, client(index), trial)));
      goForEnds(batch);
    }
  };
  const play = async ({ name, kind, trader: label, seed }: PlannedScene): Promise<void> => {
    const trader = traders.get(label);
    if (trader === undefined) throw new RangeError(`no trader ${label}`);
    const random = createSeededRandom(seed);
    const own: TradeTrial[] = [];
    try {
      const way = clientOf(trader, client(seed));
      const parts = { four, client: way, trader, random, name, down, isCalm, isReadable, trials: own, asks };
      await SCENES[kind].play(new Stage(parts));
    } catch (error) {
      if (!(error instanceof SceneOver)) throw error;
    }
    trials.push(...own);
    goForEnds(own);
  };
  let nextScene = 0;
  const player = async (): Promise<void> => {
    for (let scene = scenes[nextScene++]; scene !== undefined; scene = scenes[nextScene++]) await play(scene);
  };
  const ended = await Promise.allSettled([
    ...Array.from({ length: CONCURRENCY }, worker),
    ...Array.from({ length: SCENES_AT_ONCE }, player),
  ]);
  endFaults();
  clock.set(0);
  for (const end of ended) if (end.status === "rejected") throw end.reason;
  return trials;
}
