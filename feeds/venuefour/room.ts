/**
 * The venuefour room: instruments, market data, account reads, account streams and orders over one HTTP pool, one set of
 * limits and one clock estimate. Wiring and life cycle only.
 */
import { type Clock, delay, type TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { FeeRates } from "../../engine/domain/position.js";
import type { Random } from "../../engine/domain/random.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import { LatencyWindow } from "../../engine/market/latency-window.js";
import type { FeedState, Market } from "../../engine/market/market.js";
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
import { fullJitterMs } from "../shared/net/backoff.js";
import { ClockCheck } from "../shared/book/clock-check.js";
import { ClockOffset } from "../shared/book/clock-offset.js";
import { ConnectionBudget } from "../shared/net/connection-budget.js";
import { type Connector, connectWs } from "../shared/net/connector.js";
import type { VenueHttp } from "../shared/net/http.js";
import { HttpPool } from "../shared/net/http-pool.js";
import {
  CONNECTS_PER_MINUTE,
  CREDITS_PER_MINUTE,
  CREDIT_WINDOW_MS,
  KEY_CREDITS_PER_MINUTE,
  LOAD_TIMEOUT_MS,
  MAX_CONNECTIONS,
  MESSAGES_PER_SECOND,
  ORDER_CREDITS,
  READ_TIMEOUT_MS,
  SEEDED_LAST_PRICES,
  SUBSCRIPTIONS_PER_CHANNEL,
  TAKER_DELAY_MS,
} from "./rules/limits.js";
import { byVolume, VenuefourMarkets } from "./market/listing.js";
import type { VenuefourAccountStreams } from "./account/streams.js";
import { judgeLimit, usedCredits, usedKeyCredits, VenuefourRest } from "./market/rest.js";
import { openVenuefourAddress, openVenuefourSession, VenuefourSession } from "./account/session.js";
import { MarketStream } from "./market/stream.js";
import { DEFAULT_FEES } from "./market/symbols.js";
import { createVenuefourTrading } from "./trading.js";
import type { VenuefourWirePrice } from "./market/wire.js";

export interface VenuefourLimits {
  /** Request credits per rolling minute of this egress IP. */
  readonly creditsPerMinute: number;
  readonly maxConnections: number;
  readonly connectsPerMinute: number;
  /** Client messages per second and connection. */
  readonly messagesPerSecond: number;
  readonly httpConnections: number;
}

export const DEFAULT_LIMITS: VenuefourLimits = {
  creditsPerMinute: CREDITS_PER_MINUTE,
  maxConnections: MAX_CONNECTIONS,
  connectsPerMinute: CONNECTS_PER_MINUTE,
  messagesPerSecond: MESSAGES_PER_SECOND,
  httpConnections: 16,
};

export interface VenuefourRoomOptions {
  /** Root of the REST API, `https://host/api/v1`; a bare host gets the venue's own `/api/v1`. */
  readonly restUrl: string;
  /** The one socket endpoint, `wss://host/ws`. */
  readonly wsUrl: string;
  /** Canonical symbols or venue names in any case to stream, or all, most traded first. */
  readonly symbols: "all" | readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly fees?: FeeRates;
  readonly limits?: Partial<VenuefourLimits>;
  readonly connector?: Connector;
  /** How long `start` tries to load the instruments. */
  readonly startTimeoutMs?: number;
}

const DEFAULT_ROOT = "/api/v1";
const DEFAULT_START_TIMEOUT_MS = 30_000;
const START_BACKOFF = { baseMs: 250, capMs: 5_000 };
/** Grids, limits, listings and delistings are known by then, for one credit. No stream reports them. */
const REFRESH_EVERY_MS = 60_000;
/** Prices rank contracts that are new in the list; their stream keeps them otherwise. */
const PRICES_EVERY_REFRESHES = 5;
/** Until orders have been sent; the venue's speed bump of 200 ms alone is most of it. */
const DEFAULT_ACK_MS = 500;
const STOP_GRACE_MS = 2_000;
/** `Date` headers are whole seconds. */
const DATE_RESOLUTION_MS = 1_000;
/** Own connection of the prices, and a replacement for each connection while it is rotated. */
const SPARE_CONNECTIONS = 2;

export function createVenuefourRoom(options: VenuefourRoomOptions): VenueRoom {
  return new VenuefourRoom(options);
}

class VenuefourRoom implements VenueRoom {
  readonly venue = "venuefour";
  readonly takerDelayMs = TAKER_DELAY_MS;
  readonly ackLatency = new LatencyWindow(DEFAULT_ACK_MS);
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly streams: VenuefourAccountStreams;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly accountNames: AccountNames;
  readonly #options: VenuefourRoomOptions;
  readonly #http: HttpPool;
  readonly #rest: VenuefourRest;
  readonly #clockOffset: ClockOffset;
  readonly #stream: MarketStream;
  readonly #markets: VenuefourMarkets;
  #isStopped = false;
  #refreshTimer: TimerHandle | null = null;
  #refreshCount = 0;

  constructor(options: VenuefourRoomOptions) {
    const { clock, random, logger, wsUrl, connector = connectWs } = options;
    const limits: VenuefourLimits = { ...DEFAULT_LIMITS, ...options.limits };
    const { origin, root } = splitRestUrl(options.restUrl);
    this.#options = options;
    this.#clockOffset = new ClockOffset(clock);
    const standing = new CallerStanding(clock);
    this.#http = new HttpPool({
      standing,
      name: "venuefour",
      baseUrl: origin,
      clock,
      random,
      logger,
      budget: limits.creditsPerMinute,
      budgetWindowMs: CREDIT_WINDOW_MS,
      // Of callers with an API config key, whose main account has a budget of its own.
      accountLimits: [{ limit: KEY_CREDITS_PER_MINUTE, windowMs: CREDIT_WINDOW_MS }],
      connections: limits.httpConnections,
      usedWeight: (headers, request) => usedCredits(headers, limits.creditsPerMinute, request),
      usedOfAccount: (headers) => usedKeyCredits(headers, KEY_CREDITS_PER_MINUTE),
      judgeLimit,
    });
    const http = this.#measured(this.#http);
    const budget = new ConnectionBudget(clock, limits);
    this.#rest = new VenuefourRest(http, root);
    // The venue has no switch of its own that would name a time.
    new ClockCheck({ clock, clockOffset: this.#clockOffset, measure: () => this.#measureClock() });
    this.#stream = new MarketStream({
      wsUrl,
      clock,
      random,
      logger,
      connector,
      clockOffset: this.#clockOffset,
      budget,
      messagesPerSecond: limits.messagesPerSecond,
      rest: this.#rest,
      listed: (nativeSymbol) => this.#markets.byNativeSymbol(nativeSymbol),
    });
    this.#markets = new VenuefourMarkets({
      logger,
      stream: this.#stream,
      symbols: options.symbols,
      fees: options.fees ?? DEFAULT_FEES,
      maxMarkets: Math.max(1, limits.maxConnections - SPARE_CONNECTIONS) * SUBSCRIPTIONS_PER_CHANNEL,
      onRescaled: () => this.streams.rescaled(),
    });
    const trading = createVenuefourTrading({
      standing,
      http,
      root,
      wsUrl,
      connector,
      budget,
      instruments: () => this.#markets.instruments,
      clock,
      random,
      logger,
      ackLatency: this.ackLatency,
      clockOffsetMs: () => this.#clockOffset.offsetMs,
      onClockError: () => this.#measureAnew(),
    });
    this.reader = trading.reader;
    this.orders = trading.orders;
    this.streams = trading.streams;
    this.history = trading.history;
    this.settings = trading.settings;
    this.accountNames = trading.accountNames;
  }

  get markets(): ReadonlyMap<string, Market> {
    return this.#markets.bySymbol;
  }

  get routingHealth(): RoutingHealth {
    return this.#http;
  }

  get venueClock(): VenueClock {
    return this.#clockOffset;
  }

  openSession(rawCredentials: unknown): OpenSession {
    return openVenuefourSession(rawCredentials);
  }

  /** The credits of the caller's config key; without one an order spends those of our address, in their lanes. */
  orderWaitMs(session: AccountSession, lane: Lane): number {
    const budgetName = session instanceof VenuefourSession ? session.budgetName : null;
    return budgetName === null ? 0 : this.#http.accountWaitMs(budgetName, ORDER_CREDITS, lane);
  }

  /** Accounts of this venue are public by address. */
  openAddress(walletAddress: string): OpenSession {
    return openVenuefourAddress(walletAddress);
  }

  async start(): Promise<void> {
    const { clock, random, startTimeoutMs = DEFAULT_START_TIMEOUT_MS } = this.#options;
    const untilMs = clock.monoNs() / 1e6 + startTimeoutMs;
    for (let attempt = 0; !this.#isStopped; attempt++) {
      const problem = await this.#refresh();
      if (problem === null) break;
      if (clock.monoNs() / 1e6 >= untilMs)
        throw new ServiceError("VENUE_UNAVAILABLE", { exchange: "venuefour", problem });
      await delay(clock, fullJitterMs(START_BACKOFF, attempt, random));
    }
    if (this.#isStopped) return;
    this.#stream.start();
    this.#scheduleRefresh();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#refreshTimer !== null) this.#options.clock.clearTimer(this.#refreshTimer);
    this.#stream.stop();
    this.streams.stop();
    await this.#http.close(STOP_GRACE_MS);
  }

  status(): RoomStatus {
    const http = this.#http.stats();
    const stream = this.#stream.stats();
    const accounts = this.streams.stats();
    const { sockets } = stream;
    return {
      venue: this.venue,
      state: this.#state(),
      breaker: http.breaker,
      breakerOpenUntilMs: http.breakerOpenUntilMs,
      clockOffsetMs: Math.round(this.#clockOffset.offsetMs),
      socketCount: sockets.filter((socket) => socket.state === "open").length + this.streams.openCount,
      reconnectCount: sum(sockets, (socket) => socket.reconnectCount),
      resyncCount: sum(sockets, (socket) => socket.silentCount),
      // No sequence of this venue is contiguous: what can be missed is seen as silence.
      gapCount: 0,
      decodeErrorCount:
        stream.decodeErrorCount +
        accounts.decodeErrorCount +
        this.#markets.badRowCount +
        sum(sockets, (socket) => socket.handlerErrorCount),
      protocolDriftCount:
        stream.protocolDriftCount +
        stream.refusedCount +
        stream.silentRefusalCount +
        accounts.driftCount +
        this.#markets.driftCount,
      laneTokens: http.laneTokens,
    };
  }

  /** DOWN: a market socket is not open. SYNCING: no book yet. STALE: most LIVE books are over age. */
  #state(): FeedState {
    if (this.#isStopped || !this.#stream.isOpen) return "DOWN";
    const nowNs = this.#options.clock.monoNs();
    let liveCount = 0;
    let freshCount = 0;
    for (const { book, maxBookAgeMs } of this.markets.values()) {
      if (book.state !== BOOK_LIVE) continue;
      liveCount++;
      if (ageMs(book.tsProvenNs, nowNs) <= maxBookAgeMs) freshCount++;
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

  /** Loads instruments and prices and adopts them; the problem if there are no instruments, and then nothing changed. */
  async #refresh(): Promise<string | null> {
    const withPrices = this.#refreshCount % PRICES_EVERY_REFRESHES === 0;
    const [list, prices] = await Promise.all([
      this.#rest.markets({ timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" }),
      withPrices ? this.#rest.prices({ timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" }) : null,
    ]);
    if (this.#isStopped) return null;
    if (!list.ok) return list.message;
    this.#refreshCount++;
    const isFirst = this.markets.size === 0;
    // Without prices the order of streaming is the venue's, and tickers wait for their stream.
    const rows = prices?.ok === true ? prices.value : [];
    this.#markets.adopt(list.value, rows, this.#options.clock.monoNs());
    // Not waited for: the room serves what it has.
    if (isFirst) void this.#seedLastPrices(rows);
    return null;
  }

  /** Trades are not replayed on subscribing: the most traded markets get their last price over REST, one by one. */
  async #seedLastPrices(prices: readonly VenuefourWirePrice[]): Promise<void> {
    const streamed = [...this.markets.values()].filter(({ instrument }) =>
      this.#stream.streams(instrument.nativeSymbol),
    );
    for (const { instrument } of byVolume(streamed, prices).slice(0, SEEDED_LAST_PRICES)) {
      if (this.#isStopped) return;
      const read = await this.#rest.trades(instrument.nativeSymbol, {
        timeoutMs: READ_TIMEOUT_MS,
        lane: "background",
      });
      // The first trade of the stream will do as well.
      if (!read.ok) return;
      let newest = read.value[0];
      for (const row of read.value) if (newest !== undefined && row.created_at > newest.created_at) newest = row;
      if (newest !== undefined) this.#stream.seedLastPrice(instrument.nativeSymbol, newest.price, newest.created_at);
    }
  }

  /** The venue refused a time stamp of ours: what was measured until now would hold the estimate where it is. */
  async #measureAnew(): Promise<void> {
    this.#clockOffset.forget();
    await this.#measureClock();
  }

  async #measureClock(): Promise<void> {
    await this.#rest.prices({ timeoutMs: READ_TIMEOUT_MS, lane: "exit" });
  }

  /** Every answer's `Date` feeds the clock estimate. */
  #measured(http: VenueHttp): VenueHttp {
    return {
      request: async (request) => {
        const begun = this.#clockOffset.beginRoundTrip();
        const result = await http.request(request);
        if (result.kind === "response") {
          const dateMs = Date.parse(result.headers["date"] ?? "");
          this.#clockOffset.addRoundTrip(result.sentAtMs, result.receivedAtMs, dateMs, DATE_RESOLUTION_MS, begun);
        }
        return result;
      },
    };
  }
}

/** The pool takes a host only; the API's root goes before each path. */
function splitRestUrl(restUrl: string): { readonly origin: string; readonly root: string } {
  const { origin, pathname } = new URL(restUrl);
  const root = pathname.replace(/\/+$/, "");
  return { origin, root: root === "" ? DEFAULT_ROOT : root };
}

function sum<T>(items: readonly T[], countOf: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += countOf(item);
  return total;
}
