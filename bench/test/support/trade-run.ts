/**
 * The real service on four local venues, and workloads through its HTTP door. Jobs run side by side, each trade until
 * its end is known; the faults of a phase last while its first answers come.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { READ_GAP_MS } from "../../../engine/orders/follow/follow-reads.js";
import { type Config, readConfig } from "../../../gateway/app/config.js";
import { createLogger } from "../../../gateway/app/log.js";
import { ContractJudge, TestClient } from "../../../gateway/test/client.js";
import { createService, type Service, type ServiceOverrides } from "../../../gateway/app/wiring.js";
import { FOLLOWED, FOUR_VENUES, type FourTrader, type FourVenues } from "./four-venues.js";
import { RecordedOrders, type RecordedState } from "./recorded-orders.js";
import { unrecordedCount } from "./judge/later.js";
import { pause, waitUntil } from "./system.js";
import { SCENES } from "./scenes/scenes.js";
import { SceneOver, Stage } from "./scenes/stage.js";
import { SteppedClock } from "./stepped-clock.js";
import { CALLER_DAILY_MAX, SWITCH_MS } from "./scenes/accounts.js";
import type { Ask } from "./trade-ask.js";
import {
  askExecution,
  countsText,
  firstOutcomes,
  sendTrade,
  type TradeClient,
  type TradeSender,
  type TradeTrial,
  hasEnd,
  untilFinal,
} from "./trade-trial.js";
import { type PlannedPhase, type PlannedScene, trialOf, type Workload } from "./trade-workload.js";
import { NO_RATE_LIMITS } from "../../lib/no-rate-limits.js";

export interface TradeSystem {
  /** The service that runs now. */
  readonly service: Service;
  /**
   * Clients that share nothing but the judge of replies, so that simultaneous requests never wait for a connection.
   * Each goes to the running service; while none runs, it is refused like any caller.
   */
  readonly clients: readonly TradeClient[];
  /** Clock of the services, not of the venues. */
  readonly clock: SteppedClock;
  readonly dataDir: string;
  readonly logLines: readonly string[];
  /** Records of orders since the first start. */
  recorded(): Promise<readonly RecordedState[]>;
  /** Stops the service and starts another one on the same store. */
  restart(): Promise<void>;
  /** Stops the service; the store's folder stays. */
  stop(): Promise<void>;
  cleanUp(): void;
}

/** Environment of a service on the four venues. */
export function fourEnvironment(four: FourVenues, dataDir: string): Record<string, string> {
  const environment: Record<string, string> = {
    PORT: "0",
    DATA_DIR: dataDir,
    SYMBOLS: FOLLOWED.join(","),
    SHUTDOWN_GRACE_MS: "2000",
    ...NO_RATE_LIMITS,
  };
  for (const venue of FOUR_VENUES) {
    environment[`${venue.toUpperCase()}_REST_URL`] = four.venues[venue].restUrl;
    environment[`${venue.toUpperCase()}_WS_URL`] = four.venues[venue].wsUrl;
  }
  return environment;
}

const CLIENTS = 4;
const CONCURRENCY = 8;
/**
 * Scenes at once. Each has a request in flight nearly all the time; more of them would only test the capacity of the
 * lanes.
 */
const SCENES_AT_ONCE = 8;
/** Repeats a second, all trades together: repeating what is refused for load must not add to the load. */
const ASKING_AGAIN_MAX = 6;
const NO_LIMIT = "1000000000";
/** Judges replies, and compiles each schema once for all services of a file. */
const judge = new ContractJudge();

interface TradeSystemOptions {
  /** Rooms in place of those of the configuration. */
  readonly rooms?: (config: Config) => NonNullable<ServiceOverrides["rooms"]>;
}

export async function startTradeSystem(four: FourVenues, options: TradeSystemOptions = {}): Promise<TradeSystem> {
  const dataDir = mkdtempSync(join(tmpdir(), "unwind-trades-"));
  const environment: Record<string, string> = {
    ...fourEnvironment(four, dataDir),
    RECORDING: "false",
    CALLER_DAILY_NOTIONAL_MAX: String(CALLER_DAILY_MAX),
  };
  // With the budgets of the real venues this would be a test of waiting; other tests check the service against them.
  for (const name of ["VENUETWO_ORDERS_PER_MINUTE", "VENUETWO_ORDERS_PER_10_SECONDS"]) environment[name] = NO_LIMIT;
  for (const venue of FOUR_VENUES) environment[`${venue.toUpperCase()}_REST_WEIGHT_PER_MINUTE`] = NO_LIMIT;
  const read = readConfig(environment, () => null);
  if (!read.ok) throw new Error(read.problems.join("; "));
  const logLines: string[] = [];
  const { config } = read;
  const clock = new SteppedClock();
  const records = new RecordedOrders();
  const start = async (): Promise<RunningService> => {
    const service = await createService(config, {
      clock,
      records,
      logger: createLogger("info", { write: (line: string) => void logLines.push(line) }),
      ...(options.rooms === undefined ? {} : { rooms: options.rooms(config) }),
    });
    return { service, clients: Array.from({ length: CLIENTS }, () => new TestClient(service.url, judge)) };
  };
  let running = await start();
  const stop = async (): Promise<void> => {
    const { clients, service } = running;
    await Promise.all(clients.map((client) => client.stop()));
    await service.stop();
  };
  return {
    get service() {
      return running.service;
    },
    clients: Array.from({ length: CLIENTS }, (_, index) => ({
      send: (path, request) => (running.clients[index] as TestClient).send(path, request),
    })),
    clock,
    dataDir,
    logLines,
    recorded: () => records.read(running.service.store),
    async restart() {
      await stop();
      running = await start();
    },
    stop,
    cleanUp() {
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

interface RunningService {
  readonly service: Service;
  readonly clients: readonly TestClient[];
}

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
  /** Trades whose record does not come, by the fault that is planted in them: see UNRECORDED_MS. */
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
  await switchesEnd(four, asks, options.switchEndMs ?? SWITCH_END_MS);
  if (options.firstAnswersOnly !== true) {
    await lateEnds(four, system, trials, askAgain);
    await newestWord(four, system, trials);
    await askOnceMore(four, system, sentBefore);
    // Protection may have been on its way at the newest word.
    await lateEnds(four, system, trials, askAgain);
  }
  return { trials, asks, recorded: await recordEnds(four, system, trials, options.isUnrecorded) };
}

/** Longer than the time of a switch, its longest pause between two tries with a call, and the venue's own later firing. */
const SWITCH_END_MS = 75_000;

/**
 * Waits until armed switches have cancelled their orders, and notes those that remain. An order that came to the venue
 * after the switch's time does not count: on a slow machine the scene's second one may.
 */
async function switchesEnd(four: FourVenues, asks: readonly Ask[], withinMs: number): Promise<void> {
  const armed = asks.filter(({ kind, status }) => kind === "ARM" && status === 200);
  const working = ({ askedAtMs, terms, trader }: Ask): number =>
    terms.venues.reduce((sum, venue) => {
      const open = four.venues[venue].exchange.orders.open(trader.accountIds[venue]);
      return sum + open.filter(({ createdMs }) => createdMs <= askedAtMs + SWITCH_MS).length;
    }, 0);
  await waitUntil("switches to fire", withinMs, () => armed.every((ask) => working(ask) === 0)).catch(() => null);
  for (const ask of armed) ask.workingAtEnd = working(ask);
}

/** Each followed order gets a read within that time and its turn, where its stream reports nothing. */
const RECORD_END_MS = 60_000;

/**
 * For so long a record that should not come is waited for once all others are there. Without its fault it comes with the
 * account's stream, in a second; the long form waits as long as for any other.
 */
const UNRECORDED_MS = Number(process.env.UNRECORDED_SECONDS ?? 10) * 1_000;

/**
 * Waits until the record has the current state of the orders that the market reached, and reads it. The service reads a
 * venue's orders one after the other, each as slowly as the machine is: so long as ends come in, the others may be in line.
 */
async function recordEnds(
  four: FourVenues,
  system: TradeSystem,
  trials: readonly TradeTrial[],
  isUnrecorded: (trial: TradeTrial) => boolean = () => false,
): Promise<readonly RecordedState[]> {
  const restingCount = trials.filter(({ answers }) => answers.at(-1)?.data?.execution.state === "RESTING").length;
  const awaited = trials.filter((trial) => !isUnrecorded(trial));
  let endMs = 0;
  let left = Number.POSITIVE_INFINITY;
  for (;;) {
    const recorded = await system.recorded();
    if (unrecordedCount(four, trials, recorded) === 0) return recorded;
    const awaitedLeft = unrecordedCount(four, awaited, recorded);
    if (awaitedLeft < left) {
      left = awaitedLeft;
      endMs = four.nowMs() + (left > 0 ? RECORD_END_MS + restingCount * READ_GAP_MS : UNRECORDED_MS);
    }
    if (four.nowMs() > endMs) return recorded;
    await pause(RECORD_LOOK_MS);
  }
}

const RECORD_LOOK_MS = 250;

/** Longest time that an order is unknown: ten minutes (DESIGN.md, section 5), from its first answer on. */
const UNKNOWN_MAX_MS = 600_000;

/**
 * Of many at once on a slow machine some are given up before their turn. This repeats until they may be unknown no
 * longer.
 */
async function lateEnds(
  four: FourVenues,
  { clients }: TradeSystem,
  trials: readonly TradeTrial[],
  send: TradeSender,
): Promise<void> {
  const client = clients.at(-1);
  if (client === undefined) return;
  const late = trials.filter((trial) => !hasEnd(trial));
  await Promise.all(
    late.map((trial) => {
      const unknownMs = four.nowMs() - (trial.answers[0]?.answeredAtMs ?? four.nowMs());
      return untilFinal(four, client, trial, false, send, Math.max(LATE_END_MIN_MS, UNKNOWN_MAX_MS - unknownMs));
    }),
  );
}

/** Least time for one round of all repeated requests. */
const LATE_END_MIN_MS = 30_000;

/**
 * Adds the executions' final state as one more answer to each entry with protection. The service may place protection
 * after the answer that its caller took for the end, where an entry rested or had an unknown outcome.
 */
export async function newestWord(
  four: FourVenues,
  { clients: [client] }: TradeSystem,
  trials: readonly TradeTrial[],
): Promise<void> {
  if (client === undefined) return;
  for (const trial of trials) {
    const { stopLoss, takeProfit } = trial.terms;
    if (stopLoss !== null || takeProfit !== null) await askExecution(four, client, trial);
  }
}

/**
 * A new process resumes the orders of the one before with the next request of the account, so the caller asks again.
 * Nobody asks about an order that the current process has sent itself, so that a lost one stays lost. The request for
 * the execution follows too, as by any interested caller: the background's share of a venue's budget allows reads of a
 * few orders a minute, and a run leaves hundreds that rest.
 */
async function askOnceMore(
  four: FourVenues,
  { clients: [client] }: TradeSystem,
  trials: ReadonlySet<TradeTrial>,
): Promise<void> {
  if (client === undefined) return;
  for (const trial of trials) {
    if (trial.reached === undefined && hasEnd(trial)) continue;
    await sendTrade(four, client, trial);
    await askExecution(four, client, trial);
  }
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
 * venuethree takes 200 messages a minute of an address (fact sheet). Connections that are cut over and over spend them,
 * and the rooms ask for books again in the next minute.
 */
const RECOVERY_MAX_MS = 90_000;

/** Waits until every book is back and every venue usable: the phase before is over. */
export async function recovered({ rooms }: Service): Promise<void> {
  const missing = (): string[] =>
    rooms.flatMap((room) => [
      ...(room.status().breaker === "open" ? [`breaker of ${room.venue}`] : []),
      ...FOLLOWED.filter((symbol) => room.markets.get(symbol)?.book.state !== BOOK_LIVE).map(
        (symbol) => `${symbol} on ${room.venue}`,
      ),
    ]);
  try {
    await waitUntil("books and breakers as before the faults", RECOVERY_MAX_MS, () => missing().length === 0);
  } catch (error) {
    throw new Error(`${String(error)}: ${missing().join(", ")}`);
  }
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
