/**
 * The venueone room, whole: instruments, market data, account streams, and the trading half
 * (trading.ts) over one HTTP pool, one set of limits and one clock estimate.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { FeeRates } from "../../engine/domain/position.js";
import type { Random } from "../../engine/domain/random.js";
import type { AgentRegistrar, KeyRoom } from "../../engine/key-registrar.js";
import type { MoneyRoom, VenueMoney } from "../../engine/venue-money.js";
import { LatencyWindow } from "../../engine/market/latency-window.js";
import type { Market } from "../../engine/market/market.js";
import type {
  AccountHistory,
  AccountNames,
  AccountReader,
  AccountSession,
  AccountSettings,
  Lane,
  NonceReservations,
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
import type { HttpRequest, HttpResult, VenueHttp } from "../shared/net/http.js";
import { type HttpPoolOptions, HttpPool, type HttpResponse } from "../shared/net/http-pool.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import { RoomShell } from "../shared/room/room-shell.js";
import { countSockets } from "../shared/net/socket-counts.js";
import { decodeJson } from "../shared/room/wire-fields.js";
import { VerifiedReads } from "../shared/account/verified-reads.js";
import { VenueoneAccountStreams } from "./account/streams.js";
import { AddressBudget } from "./orders/address-budget.js";
import { decodeUniverse } from "./market/decode.js";
import {
  CONNECTS_PER_MINUTE,
  infoWeight,
  MAX_CONNECTIONS,
  MAX_STREAMED_USERS,
  MAX_SUBSCRIPTIONS,
  MESSAGES_PER_MINUTE,
  REST_WEIGHT_PER_MINUTE,
  REST_WINDOW_MS,
  rowWeight,
} from "./rules/limits.js";
import { VenueoneMarkets } from "./market/listing.js";
import { VenueoneRest } from "./account/rest.js";
import { MarketStream, STREAMS_PER_COIN } from "./market/stream.js";
import { DEFAULT_FEES } from "./market/symbols.js";
import type { VenueoneRouteOptions } from "./money/routes.js";
import { createVenueoneTrading, type VenueoneTrading } from "./trading.js";
import { watchAccounts } from "./account/streamed-reads.js";
import { ACCOUNT_STREAMS } from "./account/source.js";

export interface VenueoneLimits {
  /** REST weight per minute of this egress IP. */
  readonly restWeightPerMinute: number;
  readonly maxConnections: number;
  readonly connectsPerMinute: number;
  readonly messagesPerMinute: number;
  readonly maxSubscriptions: number;
  readonly maxStreamedUsers: number;
  readonly httpConnections: number;
}

export const DEFAULT_LIMITS: VenueoneLimits = {
  restWeightPerMinute: REST_WEIGHT_PER_MINUTE,
  maxConnections: MAX_CONNECTIONS,
  connectsPerMinute: CONNECTS_PER_MINUTE,
  messagesPerMinute: MESSAGES_PER_MINUTE,
  maxSubscriptions: MAX_SUBSCRIPTIONS,
  maxStreamedUsers: MAX_STREAMED_USERS,
  httpConnections: 16,
};

export interface VenueoneRoomOptions {
  /** Base of `/info` and `/exchange`, no trailing slash. */
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly isMainnet: boolean;
  /** Canonical symbols to stream, or all: then by volume, as many as the subscription limit allows. */
  readonly symbols: "all" | readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nonces: NonceReservations;
  readonly fees?: FeeRates;
  /** Life of the agents that wallets approve here. */
  readonly agentDays?: number;
  /** How USDC gets here; absent: by the bridge, of the network's own. */
  readonly moneyRoute?: VenueoneRouteOptions;
  readonly limits?: Partial<VenueoneLimits>;
  readonly connector?: Connector;
  /** How long `start` tries to load the instruments. */
  readonly startTimeoutMs?: number;
}

const META_TIMEOUT_MS = 10_000;
const CLOCK_TIMEOUT_MS = 2_000;
const META_BACKOFF = { baseMs: 250, capMs: 5_000 };
/** Listings, delistings and leverages are known by then: 40 of 1,200 weight a minute. No stream reports them. */
const REFRESH_EVERY_MS = 30_000;
/** Acknowledgements from far away take 0.2–1.8 s; assumed until measured. */
const DEFAULT_ACK_MS = 600;
const JSON_HEADERS = { "content-type": "application/json" };

export function createVenueoneRoom(options: VenueoneRoomOptions): VenueRoom {
  return new VenueoneRoom(options);
}

class VenueoneRoom implements VenueRoom, KeyRoom, MoneyRoom {
  readonly venue = "venueone";
  readonly newIdPerChange = true;
  readonly ackLatency = new LatencyWindow(DEFAULT_ACK_MS);
  readonly markets: ReadonlyMap<string, Market>;
  readonly routingHealth: RoutingHealth;
  readonly venueClock: VenueClock;
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly streams: VenueoneAccountStreams;
  readonly accountNames: AccountNames;
  readonly keys: AgentRegistrar;
  readonly money: VenueMoney;
  /** Its answers feed the clock estimate. */
  readonly #http: VenueHttp;
  readonly #shell: RoomShell;
  readonly #market: MarketStream;
  readonly #trading: VenueoneTrading;
  readonly #markets: VenueoneMarkets;

  constructor(options: VenueoneRoomOptions) {
    const { clock, random, logger, wsUrl, connector = connectWs, startTimeoutMs } = options;
    const limits: VenueoneLimits = { ...DEFAULT_LIMITS, ...options.limits };
    const clockOffset = new ClockOffset(clock);
    const addressBudget = new AddressBudget(clock);
    const standing = new CallerStanding(clock);
    const pool = new HttpPool({ ...poolOptions(options, limits, addressBudget), standing });
    const http = withDatedAnswers(pool, clockOffset);
    const budget = new ConnectionBudget(clock, limits);
    const messages = new MessagePacer(clock, limits.messagesPerMinute, 60_000);
    const shared = { wsUrl, clock, random, logger, connector, budget, messages, clockOffset };
    this.#http = http;
    this.#market = new MarketStream(shared);
    this.#markets = this.#listing(options, limits, clockOffset);
    this.markets = this.#markets.bySymbol;
    this.#shell = new RoomShell({
      venue: this.venue,
      clock,
      random,
      http: pool,
      clockOffset,
      markets: this.markets,
      currentShare: 0.5,
      retry: META_BACKOFF,
      startTimeoutMs,
    });
    this.routingHealth = pool;
    this.venueClock = clockOffset;
    this.#trading = this.#createTrading(options, { http, clockOffset, addressBudget, standing });
    const index = new InstrumentIndex(() => this.#markets.instruments);
    this.streams = new VenueoneAccountStreams({
      ...shared,
      rest: new VenueoneRest(http),
      instrumentOf: (coin) => index.byNativeSymbol(coin),
      resolveAccount: (session, call) => this.#trading.resolveAccount(session, call),
      maxUsers: limits.maxStreamedUsers,
    });
    const watched = watchAccounts(this.#trading, this.streams, new VerifiedReads(clock));
    const check = new ClockCheck({ clock, clockOffset, measure: () => this.#measureClock() });
    this.reader = watched.reader;
    this.orders = withProvenTimes(watched.orders, clock, check);
    this.settings = watched.settings;
    this.history = this.#trading.history;
    this.accountNames = this.#trading.accountNames;
    this.keys = this.#trading.keys;
    this.money = this.#trading.money;
  }

  /** The wait for the address's cumulative budget; the weight of our own IP is in the lanes. */
  orderWaitMs(session: AccountSession, lane: Lane): number {
    return this.#trading.budgetWaitMs(session, lane);
  }

  openSession(rawCredentials: unknown, payer: string | null): OpenSession {
    return this.#trading.openSession(rawCredentials, payer);
  }

  addressOf(session: AccountSession): string | null {
    return this.#trading.addressOf(session);
  }

  openAddress(walletAddress: string, payer: string | null): OpenSession {
    return this.#trading.openAddress(walletAddress, payer);
  }

  async start(): Promise<void> {
    if (await this.#shell.start(() => this.#refresh())) this.#shell.every(REFRESH_EVERY_MS, () => this.#refresh());
  }

  stop(): Promise<void> {
    return this.#shell.stop([this.#market, this.streams]);
  }

  status(): RoomStatus {
    const market = this.#market.stats();
    const accounts = this.streams.stats();
    const sockets = countSockets(accounts.socket === null ? market.sockets : [...market.sockets, accounts.socket]);
    return this.#shell.status({
      isOpen: this.#market.isOpen,
      socketCount: sockets.openCount,
      reconnectCount: sockets.reconnectCount,
      resyncCount: accounts.resyncCount + sockets.silentCount,
      // No sequences on this venue: what can be missed is seen as silence or as a difference found by REST.
      gapCount: accounts.differenceCount,
      decodeErrorCount: market.decodeErrorCount + accounts.decodeErrorCount,
      protocolDriftCount: market.protocolDriftCount + accounts.driftCount + this.#markets.driftCount,
    });
  }

  #listing(options: VenueoneRoomOptions, limits: VenueoneLimits, clockOffset: ClockOffset): VenueoneMarkets {
    const { clock, logger, symbols, fees = DEFAULT_FEES } = options;
    const accountSubscriptions = limits.maxStreamedUsers * ACCOUNT_STREAMS.length;
    return new VenueoneMarkets({
      clock,
      logger,
      clockOffset,
      stream: this.#market,
      symbols,
      fees,
      maxCoins: Math.floor((limits.maxSubscriptions - accountSubscriptions) / STREAMS_PER_COIN),
      onRescaled: () => this.streams.rescaled(),
    });
  }

  #createTrading(
    { clock, random, logger, nonces, isMainnet, agentDays, moneyRoute }: VenueoneRoomOptions,
    { clockOffset, ...parts }: TradingParts,
  ): VenueoneTrading {
    return createVenueoneTrading({
      ...parts,
      instruments: () => this.#markets.instruments,
      numberOf: (coin) => this.#markets.numberOf(coin),
      clock,
      random,
      logger,
      nonces,
      clockOffsetMs: () => Math.round(clockOffset.offsetMs),
      leastOffsetMs: () => Math.round(clockOffset.leastOffsetMs),
      ackLatency: this.ackLatency,
      isMainnet,
      moneyRoute,
      ...(agentDays === undefined ? {} : { agentDays }),
      onClockError: () => void this.#refresh(),
    });
  }

  /** Loads instruments and contexts and adopts them; the problem if that failed, and then nothing changed. */
  async #refresh(): Promise<string | null> {
    const result = await this.#info("metaAndAssetCtxs", "read", META_TIMEOUT_MS);
    if (this.#shell.isStopped) return null;
    if (result.kind !== "response") return result.reason;
    if (result.status !== 200) return `HTTP ${result.status}`;
    const universe = decodeJson(result.body, decodeUniverse);
    if (!universe.ok) return universe.problem;
    this.#markets.adopt(universe.value);
    return null;
  }

  /** Any answer tells the venue's time; this one is cheap. */
  #measureClock(): Promise<unknown> {
    return this.#info("allMids", "exit", CLOCK_TIMEOUT_MS);
  }

  #info(type: string, lane: Lane, timeoutMs: number): Promise<HttpResult> {
    return this.#http.request({
      method: "POST",
      path: "/info",
      headers: JSON_HEADERS,
      body: JSON.stringify({ type }),
      lane,
      weight: infoWeight(type),
      timeoutMs,
      account: null,
      accountWeight: 0,
    });
  }
}

interface TradingParts {
  readonly http: VenueHttp;
  readonly clockOffset: ClockOffset;
  readonly addressBudget: AddressBudget;
  readonly standing: CallerStanding;
}

function poolOptions(
  options: VenueoneRoomOptions,
  limits: VenueoneLimits,
  accountLimits: AddressBudget,
): HttpPoolOptions {
  return {
    name: "venueone",
    baseUrl: options.restUrl,
    clock: options.clock,
    random: options.random,
    logger: options.logger,
    budget: limits.restWeightPerMinute,
    budgetWindowMs: REST_WINDOW_MS,
    accountLimits,
    connections: limits.httpConnections,
    extraWeight: answerWeight,
  };
}

/** Weight by rows, which only the answer reveals. Info answers with rows are arrays. */
function answerWeight(request: HttpRequest, response: HttpResponse): number {
  if (request.path !== "/info" || request.body === null || response.status !== 200 || !response.body.startsWith("["))
    return 0;
  const type = /"type":"(\w+)"/.exec(request.body)?.[1] ?? "";
  if (rowWeight(type, Number.MAX_SAFE_INTEGER) === 0) return 0;
  // Each row of these answers holds exactly one time stamp.
  const rowCount = (response.body.match(/"(?:time|t|statusTimestamp)":/g) ?? []).length;
  return rowWeight(type, rowCount);
}
