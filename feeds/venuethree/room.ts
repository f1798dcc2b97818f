/**
 * The venuethree room, whole: instruments, market data, and the trading half (trading.ts) over one HTTP pool, one set of
 * limits and one clock estimate. Wiring and life cycle only.
 *
 * Invariant: one map of markets for the life of the room; a market's book is LIVE only while its stream is.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { FeeRates, VenuePosition } from "../../engine/domain/position.js";
import type { Random } from "../../engine/domain/random.js";
import { LatencyWindow } from "../../engine/market/latency-window.js";
import type { Market } from "../../engine/market/market.js";
import type {
  AccountHistory,
  AccountNames,
  AccountReader,
  AccountSession,
  AccountSettings,
  Lane,
  OpenSession,
  OrderSender,
  RoomStatus,
  RoutingHealth,
  VenueClock,
  VenueRoom,
} from "../../engine/ports.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import { ClockCheck, withProvenTimes } from "../shared/book/clock-check.js";
import { ClockOffset } from "../shared/book/clock-offset.js";
import { withDatedAnswers } from "../shared/book/dated-http.js";
import { ConnectionBudget, MessagePacer } from "../shared/net/connection-budget.js";
import { type Connector, connectWs } from "../shared/net/connector.js";
import { HttpPool, type HttpPoolOptions } from "../shared/net/http-pool.js";
import { countSockets } from "../shared/net/socket-counts.js";
import { RoomShell } from "../shared/room/room-shell.js";
import { VerifiedReads } from "../shared/account/verified-reads.js";
import { VenuethreeAccountStreams } from "./account/streams.js";
import { judgeLimit } from "./rules/errors.js";
import {
  CONNECTS_PER_MINUTE,
  MAX_CONNECTIONS,
  MESSAGES_PER_MINUTE,
  OTHER_SENDS_PER_MINUTE,
  readWeight,
  REST_WINDOW_MS,
  TIERS,
  type TierName,
  USED_SHARE,
} from "./rules/limits.js";
import { VenuethreeMarkets } from "./market/listing.js";
import { VenuethreeRest } from "./market/rest.js";
import { VenuethreeSession } from "./account/session.js";
import { MarketStream } from "./market/stream.js";
import { streamedReader } from "./account/streamed-reads.js";
import { watchedOrders } from "./orders/watched-orders.js";
import { createVenuethreeTrading, type VenuethreeTrading, type VenuethreeTradingDeps } from "./trading.js";
import { TxBudget } from "./orders/tx-budget.js";
import { TxSocket } from "./orders/tx-socket.js";

export interface VenuethreeRoomOptions {
  /** Base of `/api/v1/…`, no trailing slash. */
  readonly restUrl: string;
  /** The stream's whole address, path included. */
  readonly wsUrl: string;
  /** Canonical symbols, or all that are listed. */
  readonly symbols: "all" | readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Account tier: fees, taker delay, and how REST reads are counted. */
  readonly tier?: TierName;
  /** Default fee rates, where they are not the tier's. */
  readonly fees?: FeeRates;
  /** First hashed element of every transaction; by default what belongs to the host of `restUrl`. */
  readonly chainId?: number;
  readonly limits?: {
    /** In requests (standard tier) or weight; used as given. */
    readonly restPerMinute?: number;
    /** Transactions of one first-layer address; used as given. Default: the tier's, or `restPerMinute` where that is given. */
    readonly sendsPerMinute?: number;
    /** Those that set leverage or margin mode; used as given. */
    readonly otherSendsPerMinute?: number;
    readonly messagesPerMinute?: number;
    readonly connectsPerMinute?: number;
    readonly httpConnections?: number;
  };
  readonly connector?: Connector;
  /** How long `start` keeps trying to load the instruments. */
  readonly startTimeoutMs?: number;
}

/** A standard address has 60 reads a minute: tries are counted. */
const START_BACKOFF = { baseMs: 400, capMs: 5_000 } as const;
/** Listings, halts, grids, minimums, and the figures of the day: two reads a minute. No stream reports them. */
const REFRESH_EVERY_MS = 30_000;
/** Round trips of 285 to 480 ms were measured by others in 2026; the tier's delay comes on top. */
const DEFAULT_ACK_MS = 400;

/** Chain ids by host (sheet: hosts and chain ids); the first that matches. */
const CHAIN_IDS: readonly (readonly [RegExp, number])[] = [
  [/testnet/, 300],
  [/\bapi\.rh\./, 466_324],
];
const MAIN_CHAIN_ID = 304;

export function createVenuethreeRoom(options: VenuethreeRoomOptions): VenueRoom {
  return new VenuethreeRoom(options);
}

class VenuethreeRoom implements VenueRoom {
  readonly venue = "venuethree";
  readonly ackLatency = new LatencyWindow(DEFAULT_ACK_MS);
  readonly takerDelayMs: number;
  readonly markets: ReadonlyMap<string, Market>;
  /** Every contract known, also those that are not wanted. */
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly routingHealth: RoutingHealth;
  readonly venueClock: VenueClock;
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly streams: VenuethreeAccountStreams;
  readonly accountNames: AccountNames;
  readonly #logger: Logger;
  readonly #shell: RoomShell;
  readonly #trading: VenuethreeTrading;
  readonly #http: HttpPool;
  readonly #rest: VenuethreeRest;
  readonly #stream: MarketStream;
  readonly #txSocket: TxSocket;
  readonly #markets: VenuethreeMarkets;

  constructor(options: VenuethreeRoomOptions) {
    const { clock, random, logger, wsUrl, limits = {}, connector = connectWs, tier = "standard" } = options;
    const clockOffset = new ClockOffset(clock);
    const txBudget = txBudgetOf(options, tier);
    const standing = new CallerStanding(clock);
    this.#logger = logger;
    this.takerDelayMs = TIERS[tier].takerDelayMs;
    this.#http = new HttpPool({ ...poolOptions(options, tier), standing, accountLimits: txBudget.sends });
    const http = withDatedAnswers(this.#http, clockOffset);
    this.#rest = new VenuethreeRest(http, readWeight(tier));
    const budget = new ConnectionBudget(clock, {
      maxConnections: MAX_CONNECTIONS,
      connectsPerMinute: limits.connectsPerMinute ?? CONNECTS_PER_MINUTE,
    });
    const messages = new MessagePacer(clock, limits.messagesPerMinute ?? MESSAGES_PER_MINUTE, 60_000);
    const shared = { wsUrl, connector, clock, random, logger, budget, messages };
    this.#stream = new MarketStream({ ...shared, rest: this.#rest, clockOffset });
    this.#markets = this.#listing(options, tier, clockOffset);
    this.markets = this.#markets.bySymbol;
    this.instruments = this.#markets.instruments;
    this.routingHealth = this.#http;
    this.venueClock = clockOffset;
    this.#shell = this.#createShell(options, clockOffset);
    const isVenueUsable = (): boolean => this.#http.breaker !== "open";
    this.#txSocket = new TxSocket({ ...shared, accounts: txBudget.sends, isVenueUsable });
    const clockOffsetMs = (): number => Math.round(clockOffset.offsetMs);
    const trading = this.#createTrading(options, tier, { standing, http, txBudget, clockOffsetMs });
    this.#trading = trading;
    this.streams = new VenuethreeAccountStreams({
      ...shared,
      rest: trading.rest,
      tokens: trading.tokens,
      instrumentOf: (marketId) => trading.instruments.byNativeId(marketId),
      clockOffsetMs,
      resolveKey: (session, call) => trading.resolveKey(session, call),
    });
    const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
    this.reader = streamedReader(trading, this.streams, clock, this.takerDelayMs, verified);
    const check = new ClockCheck({ clock, clockOffset, measure: () => this.#measureClock() });
    this.orders = withProvenTimes(watchedOrders(trading, this.streams, trading.confirmation, verified), clock, check);
    this.history = trading.history;
    this.settings = trading.settings;
    this.accountNames = trading.accountNames;
  }

  openSession(rawCredentials: unknown, payer: string | null): OpenSession {
    return this.#trading.openSession(rawCredentials, payer);
  }

  orderWaitMs(session: AccountSession, lane: Lane): number {
    return session instanceof VenuethreeSession ? this.#http.accountWaitMs(String(session.accountIndex), 1, lane) : 0;
  }

  namesAnother(rawCredentials: unknown, name: string): boolean {
    return this.#trading.namesAnother(rawCredentials, name);
  }

  addressOf(session: AccountSession): string | null {
    return this.#trading.addressOf(session);
  }

  openAddress(walletAddress: string, payer: string | null): OpenSession {
    return this.#trading.openAddress(walletAddress, payer);
  }

  async start(): Promise<void> {
    if (!(await this.#shell.start(() => this.#refresh()))) return;
    this.#logger.info("venuethree.started", { marketCount: this.markets.size });
    this.#shell.every(REFRESH_EVERY_MS, () => this.#refresh());
  }

  stop(): Promise<void> {
    return this.#shell.stop([this.#stream, this.streams, this.#trading, this.#txSocket]);
  }

  status(): RoomStatus {
    const stream = this.#stream.status();
    const accounts = this.streams.stats();
    const others = countSockets([accounts.socket, this.#txSocket.stats()].filter((socket) => socket !== null));
    return this.#shell.status({
      isOpen: stream.openSocketCount > 0,
      socketCount: stream.socketCount + others.openCount,
      reconnectCount: stream.reconnectCount + others.reconnectCount,
      resyncCount: stream.resyncCount + accounts.resyncCount,
      gapCount: stream.gapCount + accounts.differenceCount,
      decodeErrorCount: stream.decodeErrorCount + accounts.decodeErrorCount,
      protocolDriftCount: stream.protocolDriftCount + accounts.driftCount + this.#markets.driftCount,
    });
  }

  #listing(options: VenuethreeRoomOptions, tier: TierName, clockOffset: ClockOffset): VenuethreeMarkets {
    const { clock, logger, symbols } = options;
    const { makerFeeMilliBps, takerFeeMilliBps } = TIERS[tier];
    return new VenuethreeMarkets({
      clock,
      logger,
      clockOffset,
      stream: this.#stream,
      symbols,
      fees: options.fees ?? { makerFeeMilliBps, takerFeeMilliBps },
      onRescaled: () => this.streams.rescaled(),
    });
  }

  #createShell({ clock, random, startTimeoutMs }: VenuethreeRoomOptions, clockOffset: ClockOffset): RoomShell {
    return new RoomShell({
      venue: this.venue,
      clock,
      random,
      http: this.#http,
      clockOffset,
      markets: this.markets,
      currentShare: 0,
      retry: START_BACKOFF,
      startTimeoutMs,
    });
  }

  #createTrading(
    { clock, logger, chainId, restUrl }: VenuethreeRoomOptions,
    tier: TierName,
    parts: Pick<VenuethreeTradingDeps, "standing" | "http" | "txBudget" | "clockOffsetMs">,
  ): VenuethreeTrading {
    return createVenuethreeTrading({
      ...parts,
      instruments: () => this.instruments,
      clock,
      logger,
      ackLatency: this.ackLatency,
      chainId: chainId ?? chainIdOf(restUrl),
      tier,
      txSocket: this.#txSocket,
    });
  }

  /** Loads the list and adopts it; the problem when the venue gave no usable answer, and then nothing changed. */
  async #refresh(): Promise<string | null> {
    const details = await this.#rest.orderBookDetails("read");
    if (details === null) return "no usable list of markets";
    if (!this.#shell.isStopped) this.#markets.adopt(details);
    return null;
  }

  /** Any answer has the venue's time; this one is small. */
  async #measureClock(): Promise<void> {
    for (const { instrument } of this.markets.values()) {
      await this.#rest.orderBookTop(instrument.nativeId, "exit");
      return;
    }
  }
}

function poolOptions(
  { restUrl, clock, random, logger, limits = {} }: VenuethreeRoomOptions,
  tier: TierName,
): Omit<HttpPoolOptions, "accountLimits"> {
  return {
    name: "venuethree",
    baseUrl: restUrl,
    clock,
    random,
    logger,
    budget: limits.restPerMinute ?? Math.floor(TIERS[tier].restPerMinute * USED_SHARE),
    budgetWindowMs: REST_WINDOW_MS,
    judgeLimit,
    ...(limits.httpConnections === undefined ? {} : { connections: limits.httpConnections }),
  };
}

function txBudgetOf({ clock, limits = {} }: VenuethreeRoomOptions, tier: TierName): TxBudget {
  const sendLimit = limits.sendsPerMinute ?? limits.restPerMinute;
  return new TxBudget({
    clock,
    sendsPerMinute: sendLimit ?? Math.floor(TIERS[tier].sendsPerMinute * USED_SHARE),
    otherSendsPerMinute: limits.otherSendsPerMinute ?? Math.floor(OTHER_SENDS_PER_MINUTE * USED_SHARE),
  });
}

function chainIdOf(restUrl: string): number {
  return CHAIN_IDS.find(([host]) => host.test(restUrl))?.[1] ?? MAIN_CHAIN_ID;
}
