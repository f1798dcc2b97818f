/** The real service on four local venues, as its callers reach it: started, restarted on the same store, stopped. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { DESCRIPTORS } from "../../../feeds/registry.js";
import { urlSettings } from "../../../feeds/shared/room/venue-descriptor.js";
import { type Config, readConfig } from "../../../gateway/app/config.js";
import { createLogger } from "../../../gateway/app/log.js";
import { createService, type Service, type ServiceOverrides } from "../../../gateway/app/wiring.js";
import { ContractJudge, TestClient } from "../../../gateway/test/client.js";
import { NO_RATE_LIMITS } from "../../lib/no-rate-limits.js";
import { FOLLOWED, FOUR_VENUES, type FourVenues } from "./four-venues.js";
import { RecordedOrders, type RecordedState } from "./recorded-orders.js";
import { CALLER_DAILY_MAX } from "./scenes/accounts.js";
import { SteppedClock } from "./stepped-clock.js";
import { waitUntil } from "./system.js";
import type { TradeClient } from "./trade-trial.js";

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
    Object.assign(environment, urlSettings(DESCRIPTORS[venue], four.venues[venue]));
  }
  return environment;
}

const CLIENTS = 4;
const NO_LIMIT = "1000000000";
/** Judges replies, and compiles each schema once for all services of a file. */
const judge = new ContractJudge();

interface TradeSystemOptions {
  /** Rooms in place of those of the configuration. */
  readonly rooms?: (config: Config) => NonNullable<ServiceOverrides["rooms"]>;
}

export async function startTradeSystem(four: FourVenues, options: TradeSystemOptions = {}): Promise<TradeSystem> {
  const dataDir = join(mkdtempSync(join(tmpdir(), "unwind-trades-")), "data");
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
      rmSync(dirname(dataDir), { recursive: true, force: true });
    },
  };
}

interface RunningService {
  readonly service: Service;
  readonly clients: readonly TestClient[];
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
