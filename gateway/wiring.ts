/**
 * Puts the service together: store, secret, rooms, close service, HTTP server, and takes it apart in the order
 * that loses nothing. Everything that touches the outside can be replaced through `overrides`.
 *
 * Invariant: after `stop` resolves no socket, timer or file of the service is open.
 */
import { type Clock, createSystemClock, delay, type TimerHandle } from "../engine/domain/clock.js";
import { type Random, systemRandom } from "../engine/domain/random.js";
import { BOOK_LIVE } from "../engine/market/book.js";
import { CloseService } from "../engine/orders/close-service.js";
import { createNonceReservations } from "../engine/orders/nonce-reservations.js";
import { isTradingRoom, type MarketRoom, type NonceReservations } from "../engine/ports.js";
import { openLmdbStore } from "../engine/storage/lmdb-store.js";
import { createKeyedHash, cryptoRandomIds, loadServerSecret } from "../engine/storage/server-secret.js";
import type { StateStore } from "../engine/storage/state-store.js";
import { createVenuefourRoom } from "../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../feeds/venueone/room.js";
import { TIERS } from "../feeds/venuethree/limits.js";
import { createVenuethreeRoom } from "../feeds/venuethree/room.js";
import { createVenuetwoRoom } from "../feeds/venuetwo/room.js";
import { createCloseDesk } from "./close-desk.js";
import type { Config, VenueConfig } from "./config.js";
import { createLogger, type ServiceLogger } from "./log.js";
import { MarketView } from "./market-view.js";
import { Metrics } from "./metrics.js";
import { createRecording, type Recording } from "./recording.js";
import { startServer } from "./server.js";
import { StartError } from "./start-error.js";

/** The speed bump that venuefour puts before market, GTC and IOC orders (its order-types page, since 2025-11-12). */
const VENUEFOUR_TAKER_DELAY_MS = 200;
/** How long `createService` waits for a first live book of every venue before it listens anyway. */
export const FIRST_BOOK_WAIT_MS = 5_000;
const FIRST_BOOK_POLL_MS = 20;
/** A venue that could not be reached at the start is tried again this often. */
const START_RETRY_MS = 30_000;
/** What the close service may still need after the last HTTP reply: a last look at unknown orders, and writes. */
const DRAIN_EXTRA_MS = 5_000;

export interface ServiceOverrides {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: ServiceLogger;
  /** Instead of the configured venues. */
  readonly rooms?: readonly MarketRoom[];
  readonly version?: string;
  /** The built client; default: where the build puts it. */
  readonly dashboardFolder?: string;
  /** A commit failed: the process is to be restarted. */
  readonly onStoreFailure?: () => void;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly rooms: readonly MarketRoom[];
  readonly closeService: CloseService;
  readonly store: StateStore;
  readonly recording: Recording;
  readonly logger: ServiceLogger;
  /** Graceful and idempotent: listening, closes under way, rooms, store. */
  stop(): Promise<void>;
}

/** Rejects with StartError, or STORE_UNAVAILABLE; what had been opened is closed again. */
export async function createService(config: Config, overrides: ServiceOverrides = {}): Promise<Service> {
  const clock = overrides.clock ?? createSystemClock();
  const logger = overrides.logger ?? createLogger(config.logLevel);
  const version = overrides.version ?? "0.1.0";
  const store = openLmdbStore({
    directory: config.dataDir,
    clock,
    onFailure: () => {
      logger.error("store.commit_failed");
      overrides.onStoreFailure?.();
    },
  });
  const undo: (() => Promise<void>)[] = [() => store.close()];
  try {
    const hash = createKeyedHash(await loadServerSecret(store, config.serverSecret));
    const random = overrides.random ?? systemRandom;
    const recording = createRecording({
      config: config.recording,
      dataDir: config.dataDir,
      stateStore: store,
      hash,
      randomIds: cryptoRandomIds,
      clock,
      random,
      logger,
    });
    undo.push(() => recording.stop());
    await recording.start();
    const rooms = overrides.rooms ?? createRooms(config, clock, random, logger, createNonceReservations(store));
    const starter = new RoomStarter(rooms, clock, logger);
    undo.push(async () => {
      starter.stop();
      await Promise.allSettled(rooms.map((room) => room.stop()));
    });
    await starter.start();
    recording.watch(rooms);
    const closeService = new CloseService({
      rooms: new Map(rooms.filter(isTradingRoom).map((room) => [room.venue, room])),
      marketRooms: new Map(rooms.map((room) => [room.venue, room])),
      store,
      clock,
      logger,
      hash,
      randomIds: cryptoRandomIds,
      maxInFlight: config.closesInFlightMax,
      records: recording.closes,
      routing: {
        latencyFactor: config.latencyFactor,
        quoteRatePpm: config.quoteRatePpm,
        takerDelayMs: {
          venuethree: TIERS[config.venuethreeTier].takerDelayMs,
          venuefour: VENUEFOUR_TAKER_DELAY_MS,
        },
      },
    });
    undo.push(() => closeService.drain(DRAIN_EXTRA_MS));
    await closeService.start();
    await waitForBooks(rooms, clock);
    const server = await startServer(
      {
        ...config,
        version,
        ...(overrides.dashboardFolder === undefined ? {} : { dashboardFolder: overrides.dashboardFolder }),
      },
      {
        clock,
        logger,
        view: new MarketView(rooms),
        desk: createCloseDesk(closeService, store),
        metrics: new Metrics(),
        records: recording.store,
        recorder: recording.recorder,
        hash,
      },
    );
    undo.push(() => server.stop(config.shutdownGraceMs));
    logger.info("service.listening", { host: config.host, port: server.port, version, profile: config.profile });
    const { url, port } = server;
    const stop = once(() => unwind(undo, logger));
    return { url, port, rooms, closeService, store, recording, logger, stop };
  } catch (error) {
    await unwind(undo, logger);
    throw error;
  }
}

function createRooms(
  config: Config,
  clock: Clock,
  random: Random,
  logger: ServiceLogger,
  nonces: NonceReservations,
): MarketRoom[] {
  const common = {
    clock,
    random,
    logger,
    nonces,
    symbols: config.symbols.length === 0 ? ("all" as const) : config.symbols,
  };
  const connection = ({ restUrl, wsUrl, fees }: Omit<VenueConfig, "isMainnet">) => ({
    restUrl,
    wsUrl,
    ...(fees === null ? {} : { fees }),
  });
  const rooms: MarketRoom[] = [];
  if (config.venueone.enabled) {
    const { restWeightPerMinute, httpConnections } = config.venueone;
    rooms.push(
      createVenueoneRoom({
        ...common,
        ...connection(config.venueone),
        isMainnet: config.venueone.isMainnet,
        limits: { restWeightPerMinute, httpConnections },
      }),
    );
  }
  if (config.venuetwo.enabled) {
    const { restWeightPerMinute: weightPerMinute, httpConnections } = config.venuetwo;
    const { perMinute: ordersPerMinute, per10Seconds: ordersPer10Seconds } = config.venuetwoOrderLimits;
    rooms.push(
      createVenuetwoRoom({
        ...common,
        ...connection(config.venuetwo),
        isMainnet: config.venuetwo.isMainnet,
        streamHostLayout: config.venuetwoStreamLayout,
        limits: { weightPerMinute, ordersPerMinute, ordersPer10Seconds, httpConnections },
      }),
    );
  }
  if (config.venuethree.enabled) {
    const { restWeightPerMinute: restPerMinute, httpConnections } = config.venuethree;
    rooms.push(
      createVenuethreeRoom({
        ...common,
        ...connection(config.venuethree),
        tier: config.venuethreeTier,
        limits: { httpConnections, ...(restPerMinute === 0 ? {} : { restPerMinute }) },
      }),
    );
  }
  if (config.venuefour.enabled) {
    const { restWeightPerMinute: creditsPerMinute, httpConnections } = config.venuefour;
    rooms.push(
      createVenuefourRoom({
        ...common,
        ...connection(config.venuefour),
        limits: { creditsPerMinute, httpConnections },
      }),
    );
  }
  return rooms;
}

/** Starts rooms side by side. One venue out of reach does not stop the others; it is tried again until it answers. */
class RoomStarter {
  readonly #rooms: readonly MarketRoom[];
  readonly #clock: Clock;
  readonly #logger: ServiceLogger;
  readonly #timers = new Set<TimerHandle>();
  #stopped = false;

  constructor(rooms: readonly MarketRoom[], clock: Clock, logger: ServiceLogger) {
    this.#rooms = rooms;
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    const started = await Promise.all(this.#rooms.map((room) => this.#startRoom(room)));
    if (!started.includes(true)) {
      throw new StartError([`no venue could be reached: ${this.#rooms.map((room) => room.venue).join(", ")}`]);
    }
    for (const [index, room] of this.#rooms.entries()) if (started[index] === false) this.#retryLater(room);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) this.#clock.clearTimer(timer);
    this.#timers.clear();
  }

  async #startRoom(room: MarketRoom): Promise<boolean> {
    try {
      await room.start();
      return true;
    } catch (error) {
      this.#logger.error("room.start_failed", {
        venue: room.venue,
        errorName: error instanceof Error ? error.name : "unknown",
      });
      return false;
    }
  }

  #retryLater(room: MarketRoom): void {
    if (this.#stopped) return;
    const timer = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      void this.#startRoom(room).then((started) => {
        if (!started) this.#retryLater(room);
      });
    }, START_RETRY_MS);
    this.#timers.add(timer);
  }
}

async function waitForBooks(rooms: readonly MarketRoom[], clock: Clock): Promise<void> {
  const untilNs = clock.monoNs() + FIRST_BOOK_WAIT_MS * 1e6;
  while (!rooms.every(hasLiveBook) && clock.monoNs() < untilNs) await delay(clock, FIRST_BOOK_POLL_MS);
}

/** A room without markets has nothing to wait for. */
function hasLiveBook(room: MarketRoom): boolean {
  if (room.markets.size === 0) return true;
  for (const market of room.markets.values()) if (market.book.state === BOOK_LIVE) return true;
  return false;
}

/** Last opened, first closed; a part that fails to close does not keep the others open. */
async function unwind(undo: (() => Promise<void>)[], logger: ServiceLogger): Promise<void> {
  for (const close of undo.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      logger.error("service.stop_failed", { errorName: error instanceof Error ? error.name : "unknown" });
    }
  }
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= run();
    return running;
  };
}
