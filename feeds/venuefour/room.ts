/**
 * The venuefour room: instruments, market data, account reads, account streams and orders over one HTTP pool, one set of
 * limits and one clock estimate. Wiring and life cycle only.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { FeeRates } from "../../engine/domain/position.js";
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
import { ClockCheck } from "../shared/book/clock-check.js";
import { ClockOffset } from "../shared/book/clock-offset.js";
import { withDatedAnswers } from "../shared/book/dated-http.js";
import { ConnectionBudget } from "../shared/net/connection-budget.js";
import { type Connector, connectWs } from "../shared/net/connector.js";
import { HttpPool, type HttpPoolOptions } from "../shared/net/http-pool.js";
import { countSockets } from "../shared/net/socket-counts.js";
import { RoomShell } from "../shared/room/room-shell.js";
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
import { createVenuefourTrading, type VenuefourTrading, type VenuefourTradingDeps } from "./trading.js";
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
const START_BACKOFF = { baseMs: 250, capMs: 5_000 };
/** Grids, limits, listings and delistings are known by then, for one credit. No stream reports them. */
const REFRESH_EVERY_MS = 60_000;
/** Prices rank contracts that are new in the list; their stream keeps them otherwise. */
const PRICES_EVERY_REFRESHES = 5;
/** Until orders have been sent; the venue's speed bump of 200 ms alone is most of it. */
const DEFAULT_ACK_MS = 500;
/** Own connection of the prices, and a replacement for each connection while it is rotated. */
const SPARE_CONNECTIONS = 2;

export function createVenuefourRoom(options: VenuefourRoomOptions): VenueRoom {
  return new VenuefourRoom(options);
}

class VenuefourRoom implements VenueRoom {
  readonly venue = "venuefour";
  readonly takerDelayMs = TAKER_DELAY_MS;
  readonly ackLatency = new LatencyWindow(DEFAULT_ACK_MS);
  readonly markets: ReadonlyMap<string, Market>;
  readonly routingHealth: RoutingHealth;
  readonly venueClock: VenueClock;
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly streams: VenuefourAccountStreams;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly accountNames: AccountNames;
  readonly #clock: Clock;
  readonly #shell: RoomShell;
  readonly #http: HttpPool;
  readonly #rest: VenuefourRest;
  readonly #clockOffset: ClockOffset;
  readonly #stream: MarketStream;
  readonly #markets: VenuefourMarkets;
  #refreshCount = 0;

  constructor(options: VenuefourRoomOptions) {
    const { clock, random, logger, wsUrl, connector = connectWs, startTimeoutMs } = options;
    const limits: VenuefourLimits = { ...DEFAULT_LIMITS, ...options.limits };
    const { origin, root } = splitRestUrl(options.restUrl);
    const clockOffset = new ClockOffset(clock);
    const standing = new CallerStanding(clock);
    this.#clock = clock;
    this.#clockOffset = clockOffset;
    this.#http = new HttpPool({ ...poolOptions(options, limits), baseUrl: origin, standing });
    const http = withDatedAnswers(this.#http, clockOffset);
    const budget = new ConnectionBudget(clock, limits);
    this.#rest = new VenuefourRest(http, root);
    // The venue has no switch of its own that would name a time.
    new ClockCheck({ clock, clockOffset, measure: () => this.#measureClock() });
    const shared = { wsUrl, clock, random, logger, connector, budget };
    this.#stream = new MarketStream({
      ...shared,
      clockOffset,
      messagesPerSecond: limits.messagesPerSecond,
      rest: this.#rest,
      listed: (nativeSymbol) => this.#markets.byNativeSymbol(nativeSymbol),
    });
    this.#markets = this.#listing(options, limits);
    this.markets = this.#markets.bySymbol;
    this.routingHealth = this.#http;
    this.venueClock = clockOffset;
    this.#shell = new RoomShell({
      venue: this.venue,
      clock,
      random,
      http: this.#http,
      clockOffset,
      markets: this.markets,
      currentShare: 0.5,
      retry: START_BACKOFF,
      startTimeoutMs,
    });
    const trading = this.#createTrading({ ...shared, standing, http, root });
    this.reader = trading.reader;
    this.orders = trading.orders;
    this.streams = trading.streams;
    this.history = trading.history;
    this.settings = trading.settings;
    this.accountNames = trading.accountNames;
  }

  openSession(rawCredentials: unknown, payer: string | null): OpenSession {
    return openVenuefourSession(rawCredentials, payer);
  }

  /** The credits of the caller's config key; without one an order spends those of our address, in their lanes. */
  orderWaitMs(session: AccountSession, lane: Lane): number {
    const budgetName = session instanceof VenuefourSession ? session.budgetName : null;
    return budgetName === null ? 0 : this.#http.accountWaitMs(budgetName, ORDER_CREDITS, lane);
  }

  /** Accounts of this venue are public by address. */
  openAddress(walletAddress: string, payer: string | null): OpenSession {
    return openVenuefourAddress(walletAddress, payer);
  }

  async start(): Promise<void> {
    if (!(await this.#shell.start(() => this.#refresh()))) return;
    this.#stream.start();
    this.#shell.every(REFRESH_EVERY_MS, () => this.#refresh());
  }

  stop(): Promise<void> {
    return this.#shell.stop([this.#stream, this.streams]);
  }

  status(): RoomStatus {
    const stream = this.#stream.stats();
    const accounts = this.streams.stats();
    const sockets = countSockets(stream.sockets);
    return this.#shell.status({
      isOpen: this.#stream.isOpen,
      socketCount: sockets.openCount + this.streams.openCount,
      reconnectCount: sockets.reconnectCount,
      resyncCount: sockets.silentCount,
      // No sequence of this venue is contiguous: what can be missed of a market is seen as silence.
      gapCount: accounts.unreadFillCount,
      decodeErrorCount:
        stream.decodeErrorCount + accounts.decodeErrorCount + this.#markets.badRowCount + sockets.handlerErrorCount,
      protocolDriftCount:
        stream.protocolDriftCount +
        stream.refusedCount +
        stream.silentRefusalCount +
        accounts.driftCount +
        this.#markets.driftCount,
    });
  }

  #listing({ logger, symbols, fees = DEFAULT_FEES }: VenuefourRoomOptions, limits: VenuefourLimits): VenuefourMarkets {
    return new VenuefourMarkets({
      logger,
      stream: this.#stream,
      symbols,
      fees,
      maxMarkets: Math.max(1, limits.maxConnections - SPARE_CONNECTIONS) * SUBSCRIPTIONS_PER_CHANNEL,
      onRescaled: () => this.streams.rescaled(),
    });
  }

  #createTrading(
    parts: Omit<VenuefourTradingDeps, "instruments" | "ackLatency" | "clockOffsetMs" | "onClockError">,
  ): VenuefourTrading {
    return createVenuefourTrading({
      ...parts,
      instruments: () => this.#markets.instruments,
      ackLatency: this.ackLatency,
      clockOffsetMs: () => this.#clockOffset.offsetMs,
      onClockError: () => this.#measureAgain(),
    });
  }

  /** Loads instruments and prices and adopts them; the problem if there are no instruments, and then nothing changed. */
  async #refresh(): Promise<string | null> {
    const withPrices = this.#refreshCount % PRICES_EVERY_REFRESHES === 0;
    const [list, prices] = await Promise.all([
      this.#rest.markets({ timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" }),
      withPrices ? this.#rest.prices({ timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" }) : null,
    ]);
    if (this.#shell.isStopped) return null;
    if (!list.ok) return list.message;
    this.#refreshCount++;
    const isFirst = this.markets.size === 0;
    // Without prices the order of streaming is the venue's, and tickers wait for their stream.
    const rows = prices?.ok === true ? prices.value : [];
    this.#markets.adopt(list.value, rows, this.#clock.monoNs());
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
      if (this.#shell.isStopped) return;
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
  async #measureAgain(): Promise<void> {
    this.#clockOffset.forget();
    await this.#measureClock();
  }

  async #measureClock(): Promise<void> {
    await this.#rest.prices({ timeoutMs: READ_TIMEOUT_MS, lane: "exit" });
  }
}

function poolOptions(
  { clock, random, logger }: VenuefourRoomOptions,
  { creditsPerMinute, httpConnections }: VenuefourLimits,
): Omit<HttpPoolOptions, "baseUrl"> {
  return {
    name: "venuefour",
    clock,
    random,
    logger,
    budget: creditsPerMinute,
    budgetWindowMs: CREDIT_WINDOW_MS,
    // Of callers with an API config key, whose main account has a budget of its own.
    accountLimits: [{ limit: KEY_CREDITS_PER_MINUTE, windowMs: CREDIT_WINDOW_MS }],
    connections: httpConnections,
    usedWeight: (headers, request) => usedCredits(headers, creditsPerMinute, request),
    usedOfAccount: (headers) => usedKeyCredits(headers, KEY_CREDITS_PER_MINUTE),
    judgeLimit,
  };
}

/** The pool takes a host only; the API's root goes before each path. */
function splitRestUrl(restUrl: string): { readonly origin: string; readonly root: string } {
  const { origin, pathname } = new URL(restUrl);
  const root = pathname.replace(/\/+$/, "");
  return { origin, root: root === "" ? DEFAULT_ROOT : root };
}
