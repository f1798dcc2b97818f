/**
 * The venuethree room, whole: instruments, market data, and the trading half (trading.ts) over one HTTP pool, one set of
 * limits and one clock estimate. Wiring and life cycle only.
 *
 * Invariant: one map of markets for the life of the room; a market's book is LIVE only while its stream is.
 */
import { type Clock, delay, type TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { FeeRates, VenuePosition } from "../../engine/domain/position.js";
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
import { ClockCheck, withProvenTimes } from "../shared/book/clock-check.js";
import { ClockOffset } from "../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../shared/net/connection-budget.js";
import { type Connector, connectWs } from "../shared/net/connector.js";
import type { VenueHttp } from "../shared/net/http.js";
import { HttpPool } from "../shared/net/http-pool.js";
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
import { createVenuethreeTrading, type VenuethreeTrading } from "./trading.js";
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

const DEFAULT_START_TIMEOUT_MS = 30_000;
/** A standard address has 60 reads a minute: tries are counted. */
const START_BACKOFF = { baseMs: 400, capMs: 5_000 } as const;
/** Listings, halts, grids, minimums, and the figures of the day: two reads a minute. No stream reports them. */
const REFRESH_EVERY_MS = 30_000;
const STOP_GRACE_MS = 2_000;
/** Round trips of 285 to 480 ms were measured by others in 2026; the tier's delay comes on top. */
const DEFAULT_ACK_MS = 400;
/** `Date` headers are whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

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
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly streams: VenuethreeAccountStreams;
  readonly #options: VenuethreeRoomOptions;
  readonly #trading: VenuethreeTrading;
  readonly #http: HttpPool;
  readonly #rest: VenuethreeRest;
  readonly #clockOffset: ClockOffset;
  readonly #stream: MarketStream;
  readonly #txSocket: TxSocket;
  readonly #markets: VenuethreeMarkets;
  #refreshTimer: TimerHandle | null = null;
  #isStopped = false;

  constructor(options: VenuethreeRoomOptions) {
    const { clock, random, logger, wsUrl, symbols, limits = {}, connector = connectWs, tier = "standard" } = options;
    const { cancelDelayMs, takerDelayMs, restPerMinute, sendsPerMinute, makerFeeMilliBps, takerFeeMilliBps } =
      TIERS[tier];
    const sendLimit = limits.sendsPerMinute ?? limits.restPerMinute ?? Math.floor(sendsPerMinute * USED_SHARE);
    this.#options = options;
    this.takerDelayMs = takerDelayMs;
    this.#clockOffset = new ClockOffset(clock);
    const otherSendsPerMinute = limits.otherSendsPerMinute ?? Math.floor(OTHER_SENDS_PER_MINUTE * USED_SHARE);
    const txBudget = new TxBudget({ clock, sendsPerMinute: sendLimit, otherSendsPerMinute });
    const accounts = txBudget.sends;
    const standing = new CallerStanding(clock);
    this.#http = new HttpPool({
      standing,
      name: "venuethree",
      baseUrl: options.restUrl,
      clock,
      random,
      logger,
      budget: limits.restPerMinute ?? Math.floor(restPerMinute * USED_SHARE),
      budgetWindowMs: REST_WINDOW_MS,
      accountLimits: accounts,
      judgeLimit,
      ...(limits.httpConnections === undefined ? {} : { connections: limits.httpConnections }),
    });
    const http = this.#measured(this.#http);
    this.#rest = new VenuethreeRest(http, readWeight(tier));
    const budget = new ConnectionBudget(clock, {
      maxConnections: MAX_CONNECTIONS,
      connectsPerMinute: limits.connectsPerMinute ?? CONNECTS_PER_MINUTE,
    });
    const messages = new MessagePacer(clock, limits.messagesPerMinute ?? MESSAGES_PER_MINUTE, 60_000);
    const shared = { wsUrl, connector, clock, random, logger, budget, messages };
    this.#stream = new MarketStream({ ...shared, rest: this.#rest, clockOffset: this.#clockOffset });
    this.#markets = new VenuethreeMarkets({
      clock,
      logger,
      clockOffset: this.#clockOffset,
      stream: this.#stream,
      symbols,
      fees: options.fees ?? { makerFeeMilliBps, takerFeeMilliBps },
      onRescaled: () => this.streams.rescaled(),
    });
    this.#txSocket = new TxSocket({ ...shared, accounts, isVenueUsable: () => this.#http.breaker !== "open" });
    const clockOffsetMs = (): number => Math.round(this.#clockOffset.offsetMs);
    this.#trading = createVenuethreeTrading({
      standing,
      http,
      instruments: () => this.#markets.instruments,
      clock,
      logger,
      clockOffsetMs,
      ackLatency: this.ackLatency,
      chainId: options.chainId ?? chainIdOf(options.restUrl),
      tier,
      txSocket: this.#txSocket,
      txBudget,
    });
    const trading = this.#trading;
    this.streams = new VenuethreeAccountStreams({
      ...shared,
      rest: trading.rest,
      tokens: trading.tokens,
      instrumentOf: (marketId) => trading.markets.byMarketId(marketId),
      clockOffsetMs,
      resolveKey: (session, call) => trading.resolveKey(session, call),
    });
    const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
    this.reader = streamedReader(trading, this.streams, clock, takerDelayMs, verified);
    const orders = watchedOrders(
      trading,
      this.streams,
      { clock, cancelDelayMs, readTx: (hash, call) => trading.rest.tx(hash, call) },
      verified,
    );
    const check = new ClockCheck({ clock, clockOffset: this.#clockOffset, measure: () => this.#measureClock() });
    this.orders = withProvenTimes(orders, clock, check);
    this.history = this.#trading.history;
    this.settings = this.#trading.settings;
  }

  get accountNames(): AccountNames {
    return this.#trading.accountNames;
  }

  openSession(rawCredentials: unknown): OpenSession {
    return this.#trading.openSession(rawCredentials);
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

  openAddress(walletAddress: string): OpenSession {
    return this.#trading.openAddress(walletAddress);
  }

  get markets(): ReadonlyMap<string, Market> {
    return this.#markets.bySymbol;
  }

  get instruments(): ReadonlyMap<string, Instrument> {
    return this.#markets.instruments;
  }

  async start(): Promise<void> {
    const { clock, random, logger, startTimeoutMs = DEFAULT_START_TIMEOUT_MS } = this.#options;
    const startNs = clock.monoNs();
    for (let attempt = 0; !(await this.#refresh()); attempt++) {
      const waitMs = fullJitterMs(START_BACKOFF, attempt, random);
      const spentMs = (clock.monoNs() - startNs) / 1e6;
      if (this.#isStopped || spentMs + waitMs > startTimeoutMs) {
        throw new ServiceError("VENUE_UNAVAILABLE", { exchange: "venuethree" });
      }
      await delay(clock, waitMs);
    }
    if (this.#isStopped) return;
    logger.info("venuethree.started", { marketCount: this.markets.size });
    this.#scheduleRefresh();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#refreshTimer !== null) this.#options.clock.clearTimer(this.#refreshTimer);
    this.#stream.stop();
    this.streams.stop();
    this.#trading.stop();
    await Promise.all([this.#http.close(STOP_GRACE_MS), this.#txSocket.stop(STOP_GRACE_MS)]);
  }

  get routingHealth(): RoutingHealth {
    return this.#http;
  }

  get venueClock(): VenueClock {
    return this.#clockOffset;
  }

  status(): RoomStatus {
    const http = this.#http.stats();
    const stream = this.#stream.status();
    const accounts = this.streams.stats();
    const transactions = this.#txSocket.stats();
    const otherSocketCount = [accounts.socket, transactions].filter((socket) => socket?.state === "open").length;
    return {
      venue: "venuethree",
      state: this.#state(stream.openSocketCount),
      breaker: http.breaker,
      breakerOpenUntilMs: http.breakerOpenUntilMs,
      clockOffsetMs: Math.round(this.#clockOffset.offsetMs),
      socketCount: stream.socketCount + otherSocketCount,
      reconnectCount:
        stream.reconnectCount + (accounts.socket?.reconnectCount ?? 0) + (transactions?.reconnectCount ?? 0),
      resyncCount: stream.resyncCount + accounts.resyncCount,
      gapCount: stream.gapCount + accounts.differenceCount,
      decodeErrorCount: stream.decodeErrorCount + accounts.decodeErrorCount,
      protocolDriftCount: stream.protocolDriftCount + accounts.driftCount + this.#markets.driftCount,
      laneTokens: http.laneTokens,
    };
  }

  /** DOWN without a connection; SYNCING while no book is LIVE; STALE when none of the LIVE ones is proven current. */
  #state(openSocketCount: number): FeedState {
    if (this.#isStopped || openSocketCount === 0) return "DOWN";
    const nowNs = this.#options.clock.monoNs();
    let liveCount = 0;
    for (const { book, maxBookAgeMs } of this.markets.values()) {
      if (book.state !== BOOK_LIVE) continue;
      liveCount++;
      if (ageMs(book.tsProvenNs, nowNs) <= maxBookAgeMs) return "LIVE";
    }
    return liveCount === 0 ? "SYNCING" : "STALE";
  }

  #scheduleRefresh(): void {
    if (this.#isStopped) return;
    this.#refreshTimer = this.#options.clock.setTimer(() => {
      void this.#refresh().then(() => this.#scheduleRefresh());
    }, REFRESH_EVERY_MS);
  }

  /** Loads the list and adopts it; false when the venue gave no usable answer, and then nothing changed. */
  async #refresh(): Promise<boolean> {
    const details = await this.#rest.orderBookDetails("read");
    if (details === null) return false;
    if (!this.#isStopped) this.#markets.adopt(details);
    return true;
  }

  /** Any answer tells the venue's time; this one is small. */
  async #measureClock(): Promise<void> {
    for (const { instrument } of this.markets.values()) {
      await this.#rest.orderBookTop(instrument.nativeId, "exit");
      return;
    }
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

function chainIdOf(restUrl: string): number {
  return CHAIN_IDS.find(([host]) => host.test(restUrl))?.[1] ?? MAIN_CHAIN_ID;
}
