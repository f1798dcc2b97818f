/**
 * The real service on four local venues, and workloads through its HTTP door: jobs side by side, each trade until its
 * end is known, the faults of a phase on while its first answers come.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { type Config, readConfig } from "../../../gateway/config.js";
import { createLogger } from "../../../gateway/log.js";
import { ContractJudge, TestClient } from "../../../gateway/test/client.js";
import { createService, type Service, type ServiceOverrides } from "../../../gateway/wiring.js";
import { FOUR_VENUES, type FourTrader, type FourVenues } from "./four-venues.js";
import { waitUntil } from "./system.js";
import { countsText, firstOutcomes, sendTrade, type TradeSender, type TradeTrial, untilFinal } from "./trade-trial.js";
import { type PlannedPhase, trialOf, type Workload } from "./trade-workload.js";

export interface TradeSystem {
  readonly service: Service;
  /** They share nothing but the judge of replies: what must be asked at once never waits for a connection. */
  readonly clients: readonly TestClient[];
  readonly dataDir: string;
  readonly logLines: readonly string[];
  /** Stops the service; the store's folder stays. */
  stop(): Promise<void>;
  cleanUp(): void;
}

const CLIENTS = 4;
const CONCURRENCY = 8;
/** Askings after the first, all trades together: what is refused for being too much must not become more by being asked. */
const ASKING_AGAIN_MAX = 6;
const NO_LIMIT = "1000000000";
/** Compiles each schema once, for all services of a file. */
const judge = new ContractJudge();

interface TradeSystemOptions {
  /** Rooms in place of those that the configuration asks for. */
  readonly rooms?: (config: Config) => NonNullable<ServiceOverrides["rooms"]>;
}

export async function startTradeSystem(four: FourVenues, options: TradeSystemOptions = {}): Promise<TradeSystem> {
  const dataDir = mkdtempSync(join(tmpdir(), "unwind-trades-"));
  const environment: Record<string, string> = {
    PORT: "0",
    DATA_DIR: dataDir,
    SYMBOLS: "BTC,ETH",
    RECORDING: "false",
    SHUTDOWN_GRACE_MS: "2000",
  };
  // The budgets of the real venues would make this a test of waiting; other tests hold the service to them.
  for (const name of ["VENUETWO_ORDERS_PER_MINUTE", "VENUETWO_ORDERS_PER_10_SECONDS"]) environment[name] = NO_LIMIT;
  for (const venue of FOUR_VENUES) {
    environment[`${venue.toUpperCase()}_REST_WEIGHT_PER_MINUTE`] = NO_LIMIT;
    environment[`${venue.toUpperCase()}_REST_URL`] = four.venues[venue].restUrl;
    environment[`${venue.toUpperCase()}_WS_URL`] = four.venues[venue].wsUrl;
  }
  const read = readConfig(environment, () => null);
  if (!read.ok) throw new Error(read.problems.join("; "));
  const logLines: string[] = [];
  const service = await createService(read.config, {
    logger: createLogger("info", { write: (line: string) => void logLines.push(line) }),
    ...(options.rooms === undefined ? {} : { rooms: options.rooms(read.config) }),
  });
  const clients = Array.from({ length: CLIENTS }, () => new TestClient(service.url, judge));
  return {
    service,
    clients,
    dataDir,
    logLines,
    async stop() {
      await Promise.all(clients.map((client) => client.stop()));
      await service.stop();
    },
    cleanUp() {
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

interface RunOptions {
  /** In place of the way that trades go to the service. */
  readonly send?: TradeSender;
  readonly onPhase?: (text: string) => void;
  /** Does without the ends: of a service that is wrong, some never come. */
  readonly firstAnswersOnly?: boolean;
}

/** Returns all trials, each asked for until it had an end or there was none to be had. */
export async function runWorkload(
  four: FourVenues,
  system: TradeSystem,
  traders: ReadonlyMap<string, FourTrader>,
  workload: Pick<Workload, "phases">,
  options: RunOptions = {},
): Promise<TradeTrial[]> {
  const trials: TradeTrial[] = [];
  const ends: Promise<unknown>[] = [];
  const askAgain = atMost(ASKING_AGAIN_MAX, options.send ?? sendTrade);
  for (const phase of workload.phases) {
    await recovered(system.service);
    const startedMs = performance.now();
    const batch = await runPhase(four, system, traders, phase, options, askAgain, ends);
    trials.push(...batch);
    const took = ((performance.now() - startedMs) / 1000).toFixed(1);
    options.onPhase?.(`${phase.name}, ${took} s: ${countsText(firstOutcomes(batch))}`);
  }
  const faults = (await Promise.all(ends)).filter((end) => end !== null);
  if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join("; "));
  return trials;
}

/** Lets so many through at a time; the others wait their turn. */
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

const RECOVERY_MAX_MS = 30_000;

/** Every book is there again and every venue is asked again: the phase before is over. */
async function recovered({ rooms }: Service): Promise<void> {
  await waitUntil("books and breakers as before the faults", RECOVERY_MAX_MS, () =>
    rooms.every(
      (room) =>
        room.status().breaker !== "open" && [...room.markets.values()].every(({ book }) => book.state === BOOK_LIVE),
    ),
  );
}

/** First answers under the phase's faults; the ends are gone for beside the phases that follow, and told in `ends`. */
async function runPhase(
  four: FourVenues,
  { clients }: TradeSystem,
  traders: ReadonlyMap<string, FourTrader>,
  { venues, faults, jobs }: PlannedPhase,
  { send = sendTrade, firstAnswersOnly = false }: RunOptions,
  askAgain: TradeSender,
  ends: Promise<unknown>[],
): Promise<TradeTrial[]> {
  const trials: TradeTrial[] = [];
  const client = (index: number): TestClient => clients[index % clients.length] as TestClient;
  const endFaults = four.fault(venues, faults);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
      const batch = job.trades.map((trade) => trialOf(four, traders, trade));
      trials.push(...batch);
      const sends = job.twice ? [...batch, ...batch] : batch;
      await Promise.all(sends.map((trial, index) => send(four, client(index), trial)));
      for (const trial of firstAnswersOnly ? [] : batch) {
        const end = untilFinal(four, client(-1 + clients.length), trial, trial.besides !== null, askAgain);
        ends.push(
          end.then(
            () => null,
            (error: unknown) => error,
          ),
        );
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  endFaults();
  return trials;
}
