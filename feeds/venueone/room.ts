/**
 * The venueone room, whole: instruments, market data, account streams, and the trading half
 * (trading.ts) over one HTTP pool, one set of limits and one clock estimate.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { FeeRates } from "../../engine/domain/position.js";
import type { Random } from "../../engine/domain/random.js";
import { ageMs } from "../../engine/market/freshness.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import { LatencyWindow } from "../../engine/market/latency-window.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import type {
  AccountHistory,
  AccountNames,
  AccountReader,
  AccountSession,
  AccountSettings,
  Lane,
  NonceReservations,
  OrderSender,
  RoomStatus,
  RoutingHealth,
  VenueClock,
  VenueRoom,
} from "../../engine/ports.js";
import { fullJitterMs } from "../shared/net/backoff.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import { ClockCheck, withProvenTimes } from "../shared/book/clock-check.js";
import { ClockOffset } from "../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../shared/net/connection-budget.js";
import { type Connector, connectWs } from "../shared/net/connector.js";
import type { HttpRequest, VenueHttp } from "../shared/net/http.js";
import { type HttpPoolOptions, HttpPool, type HttpResponse } from "../shared/net/http-pool.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import type { SocketStats } from "../shared/net/socket-options.js";
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
  readonly limits?: Partial<VenueoneLimits>;
  readonly connector?: Connector;
  /** How long `start` tries to load the instruments. */
  readonly startTimeoutMs?: number;
}

const DEFAULT_START_TIMEOUT_MS = 30_000;
const META_TIMEOUT_MS = 10_000;
const CLOCK_TIMEOUT_MS = 2_000;
const META_BACKOFF = { baseMs: 250, capMs: 5_000 };
/** Listings, delistings and leverages are known by then: 40 of 1,200 weight a minute. No stream reports them. */
const REFRESH_EVERY_MS = 30_000;
/** Acknowledgements from far away take 0.2–1.8 s; assumed until measured. */
const DEFAULT_ACK_MS = 600;
const STOP_GRACE_MS = 2_000;
const JSON_HEADERS = { "content-type": "application/json" };
/** `Date` headers are whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

export function createVenueoneRoom(options: VenueoneRoomOptions): VenueRoom {
  return new VenueoneRoom(options);
}

class VenueoneRoom implements VenueRoom {
  readonly venue = "venueone";
  readonly ackLatency = new LatencyWindow(DEFAULT_ACK_MS);
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly streams: VenueoneAccountStreams;
  readonly #options: VenueoneRoomOptions;
  readonly #limits: VenueoneLimits;
  readonly #http: HttpPool;
  readonly #clockOffset: ClockOffset;
  readonly #market: MarketStream;
  readonly #trading: VenueoneTrading;
  readonly #markets: VenueoneMarkets;
  #isStopped = false;
  #refreshTimer: TimerHandle | null = null;

  constructor(options: VenueoneRoomOptions) {
    const { clock, random, logger, wsUrl } = options;
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#clockOffset = new ClockOffset(clock);
    const addressBudget = new AddressBudget(clock);
    const standing = new CallerStanding(clock);
    this.#http = new HttpPool({ ...poolOptions(options, this.#limits, addressBudget), standing });
    const http = this.#measured(this.#http);
    const connector = options.connector ?? connectWs;
    const budget = new ConnectionBudget(clock, this.#limits);
    const messages = new MessagePacer(clock, this.#limits.messagesPerMinute, 60_000);
    const shared = { wsUrl, clock, random, logger, connector, budget, messages, clockOffset: this.#clockOffset };
    this.#market = new MarketStream(shared);
    const maxCoins = Math.floor(
      (this.#limits.maxSubscriptions - this.#limits.maxStreamedUsers * ACCOUNT_STREAMS.length) / STREAMS_PER_COIN,
    );
    this.#markets = new VenueoneMarkets({
      clock,
      logger,
      clockOffset: this.#clockOffset,
      stream: this.#market,
      symbols: options.symbols,
      fees: options.fees ?? DEFAULT_FEES,
      maxCoins,
      onRescaled: () => this.streams.rescaled(),
    });
    this.#trading = createVenueoneTrading({
      http,
      instruments: () => this.#markets.instruments,
      clock,
      random,
      logger,
      nonces: options.nonces,
      clockOffsetMs: () => Math.round(this.#clockOffset.offsetMs),
      leastOffsetMs: () => Math.round(this.#clockOffset.leastOffsetMs),
      ackLatency: this.ackLatency,
      isMainnet: options.isMainnet,
      addressBudget,
      standing,
      onClockError: () => void this.#refresh(),
    });
    const index = new InstrumentIndex(() => this.#markets.instruments);
    this.streams = new VenueoneAccountStreams({
      ...shared,
      rest: new VenueoneRest(http),
      instrumentOf: (coin) => index.byNativeSymbol(coin),
      resolveAccount: (session, call) => this.#trading.resolveAccount(session, call),
      maxUsers: this.#limits.maxStreamedUsers,
    });
    const watched = watchAccounts(this.#trading, this.streams, new VerifiedReads(clock));
    this.reader = watched.reader;
    const check = new ClockCheck({ clock, clockOffset: this.#clockOffset, measure: () => this.#measureClock(http) });
    this.orders = withProvenTimes(watched.orders, clock, check);
    this.settings = watched.settings;
    this.history = this.#trading.history;
  }

  get markets(): ReadonlyMap<string, Market> {
    return this.#markets.bySymbol;
  }

  /** What the address's cumulative budget leaves; the weight of our own IP is in the lanes. */
  orderWaitMs(session: AccountSession, lane: Lane): number {
    return this.#trading.budgetWaitMs(session, lane);
  }

  get accountNames(): AccountNames {
    return this.#trading.accountNames;
  }

  openSession(rawCredentials: unknown): ReturnType<VenueRoom["openSession"]> {
    return this.#trading.openSession(rawCredentials);
  }

  addressOf(session: AccountSession): string | null {
    return this.#trading.addressOf(session);
  }

  openAddress(walletAddress: string): ReturnType<VenueRoom["openSession"]> {
    return this.#trading.openAddress(walletAddress);
  }

  async start(): Promise<void> {
    const { clock, random, startTimeoutMs = DEFAULT_START_TIMEOUT_MS } = this.#options;
    const untilMs = clock.monoNs() / 1e6 + startTimeoutMs;
    for (let attempt = 0; !this.#isStopped; attempt++) {
      const problem = await this.#refresh();
      if (problem === null) break;
      if (clock.monoNs() / 1e6 >= untilMs)
        throw new ServiceError("VENUE_UNAVAILABLE", { exchange: "venueone", problem });
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, fullJitterMs(META_BACKOFF, attempt, random));
      });
    }
    this.#scheduleRefresh();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#refreshTimer !== null) this.#options.clock.clearTimer(this.#refreshTimer);
    this.#market.stop();
    this.streams.stop();
    await this.#http.close(STOP_GRACE_MS);
  }

  get routingHealth(): RoutingHealth {
    return this.#http;
  }

  get venueClock(): VenueClock {
    return this.#clockOffset;
  }

  status(): RoomStatus {
    const http = this.#http.stats();
    const market = this.#market.stats();
    const accounts = this.streams.stats();
    const sockets: SocketStats[] = [...market.sockets];
    if (accounts.socket !== null) sockets.push(accounts.socket);
    return {
      venue: this.venue,
      state: this.#state(),
      breaker: http.breaker,
      breakerOpenUntilMs: http.breakerOpenUntilMs,
      clockOffsetMs: Math.round(this.#clockOffset.offsetMs),
      socketCount: sockets.filter((socket) => socket.state === "open").length,
      reconnectCount: sum(sockets, (socket) => socket.reconnectCount),
      resyncCount: accounts.resyncCount + sum(sockets, (socket) => socket.silentCount),
      // No sequences on this venue: what can be missed is seen as silence or as a difference found by REST.
      gapCount: accounts.differenceCount,
      decodeErrorCount: market.decodeErrorCount + accounts.decodeErrorCount,
      protocolDriftCount: market.protocolDriftCount + accounts.driftCount + this.#markets.driftCount,
      laneTokens: http.laneTokens,
    };
  }

  /** DOWN: a market socket is not open. SYNCING: no book yet. STALE: most LIVE books are over age. */
  #state(): FeedState {
    if (!this.#market.isOpen) return "DOWN";
    const nowNs = this.#options.clock.monoNs();
    let liveCount = 0;
    let freshCount = 0;
    for (const market of this.markets.values()) {
      if (market.book.state !== BOOK_LIVE) continue;
      liveCount++;
      if (ageMs(market.book.tsProvenNs, nowNs) <= market.maxBookAgeMs) freshCount++;
    }
    if (liveCount === 0) return "SYNCING";
    return freshCount * 2 >= liveCount ? "LIVE" : "STALE";
  }

  #scheduleRefresh(): void {
    if (this.#isStopped) return;
    this.#refreshTimer = this.#options.clock.setTimer(() => {
      void this.#refresh().then(() => this.#scheduleRefresh());
    }, REFRESH_EVERY_MS);
  }

  /** Loads instruments and contexts and adopts them; the problem if that failed, and then nothing changed. */
  async #refresh(): Promise<string | null> {
    const type = "metaAndAssetCtxs";
    const result = await this.#measured(this.#http).request({
      method: "POST",
      path: "/info",
      headers: JSON_HEADERS,
      body: JSON.stringify({ type }),
      lane: "read",
      weight: infoWeight(type),
      timeoutMs: META_TIMEOUT_MS,
      account: null,
      accountWeight: 0,
    });
    if (this.#isStopped) return null;
    if (result.kind !== "response") return result.reason;
    if (result.status !== 200) return `HTTP ${result.status}`;
    const universe = decodeJson(result.body, decodeUniverse);
    if (!universe.ok) return universe.problem;
    this.#markets.adopt(universe.value);
    return null;
  }

  /** Any answer tells the venue's time; this one is cheap. */
  #measureClock(http: VenueHttp): Promise<unknown> {
    const type = "allMids";
    return http.request({
      method: "POST",
      path: "/info",
      headers: JSON_HEADERS,
      body: JSON.stringify({ type }),
      lane: "exit",
      weight: infoWeight(type),
      timeoutMs: CLOCK_TIMEOUT_MS,
      account: null,
      accountWeight: 0,
    });
  }

  /** Every answer's `Date` feeds the clock estimate. */
  #measured(http: VenueHttp): VenueHttp {
    return {
      request: async (request) => {
        const begun = this.#clockOffset.beginRoundTrip();
        const result = await http.request(request);
        if (result.kind === "response") {
          const dateMs = Date.parse(result.headers.date ?? "");
          this.#clockOffset.addRoundTrip(result.sentAtMs, result.receivedAtMs, dateMs, DATE_RESOLUTION_MS, begun);
        }
        return result;
      },
    };
  }
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

function sum<T>(items: readonly T[], countOf: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += countOf(item);
  return total;
}
