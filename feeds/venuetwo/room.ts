/**
 * The venuetwo room: instruments, market streams, account streams, reads and orders behind the ports of
 * the core. Wiring and life cycle only.
 *
 * Invariant: one map of markets for the life of the room; a market's book is LIVE only while its stream is.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { KeyRegistrar, KeyRoom } from "../../engine/key-registrar.js";
import type { MoneyRoom, VenueMoney } from "../../engine/venue-money.js";
import { LatencyWindow } from "../../engine/market/latency-window.js";
import type { Market } from "../../engine/market/market.js";
import type {
  AccountHistory,
  AccountNames,
  AccountSession,
  AccountSettings,
  CallOptions,
  Lane,
  NonceReservations,
  OpenSession,
  RoomStatus,
  RoutingHealth,
  VenueClock,
  VenueRoom,
} from "../../engine/ports.js";
import { CallerStanding } from "../shared/net/caller-standing.js";
import { ClockCheck } from "../shared/book/clock-check.js";
import { ClockOffset } from "../shared/book/clock-offset.js";
import { ConnectionBudget } from "../shared/net/connection-budget.js";
import { type Connector, connectWs } from "../shared/net/connector.js";
import {
  defaultLimitVerdict,
  HttpPool,
  type HttpPoolOptions,
  type HttpResponse,
  type LimitVerdict,
} from "../shared/net/http-pool.js";
import { RoomShell } from "../shared/room/room-shell.js";
import { InstrumentIndex } from "../shared/room/instrument-index.js";
import { type VenuetwoAccountStreams, venuetwoAccountStreams } from "./account/streams.js";
import { readError } from "./account/wire.js";
import { bannedUntilMs } from "./rules/errors.js";
import { HeldSymbols } from "./account/held-symbols.js";
import {
  CONNECTS_PER_MINUTE,
  IP_WEIGHT_PER_MINUTE,
  LIST_EVERY_MS,
  MAX_CONNECTIONS,
  orderLimits,
} from "./rules/limits.js";
import { MarketRest } from "./market/rest.js";
import { VenuetwoMarkets } from "./market/listing.js";
import { applyPremiumIndex, applyTicker24h } from "./market/normalize.js";
import { streamedSessions } from "../shared/orders/streamed-sessions.js";
import { VerifiedReads } from "../shared/account/verified-reads.js";
import { type HostOptions, oneHost, type OtherHosts, otherHosts } from "./money/hosts.js";
import type { VenuetwoRouteOptions } from "./money/routes.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import { MarketStream, type MarketStreamOptions } from "./market/stream.js";
import type { StreamHostLayout } from "./market/stream-plan.js";
import type { SymbolOptions } from "./market/symbols.js";
import { createVenuetwoTrading, type VenuetwoTrading } from "./trading.js";

export interface VenuetwoRoomOptions {
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly isMainnet: boolean;
  /** Canonical symbols, or all that are listed. */
  readonly symbols: "all" | readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nonces: NonceReservations;
  /** Default fee rates where the account's own are not known. */
  readonly fees?: SymbolOptions;
  readonly limits?: {
    readonly weightPerMinute?: number;
    readonly ordersPerMinute?: number;
    readonly ordersPer10Seconds?: number;
    readonly httpConnections?: number;
  };
  /** Of the keys of server wallets. */
  readonly keys?: {
    readonly agentDays: number;
    readonly ipWhitelist: readonly string[];
    /** Keys with secrets, which the venue makes at its web gateway; else agents are approved. */
    readonly areIssued: boolean;
  };
  /** Bases of the venue's other hosts; absent: `restUrl`, as at a local venue. */
  readonly hosts?: HostOptions;
  /** Absent: the pair of interface spec section 8. */
  readonly moneyRoutes?: readonly VenuetwoRouteOptions[];
  readonly streamHostLayout?: StreamHostLayout;
  readonly connector?: Connector;
  /** How long `start` keeps trying to load the instruments. */
  readonly startTimeoutMs?: number;
  /** From so many markets on their best levels are streamed before their whole books (default in limits.ts). */
  readonly shallowFromMarkets?: number;
}

const SOCKETS = { maxConnections: MAX_CONNECTIONS, connectsPerMinute: CONNECTS_PER_MINUTE } as const;
const START_BACKOFF = { baseMs: 200, capMs: 3_000 } as const;
const CLOCK_EVERY_MS = 60_000;
/** The first measurements come quickly: one slow round trip must not count for a minute. */
const CLOCK_FIRST_MS = 2_000;
const CLOCK_FIRST_COUNT = 3;
/** Funding intervals, and tickers of markets whose streams have sent nothing. */
const TICKERS_EVERY_MS = 10 * 60_000;
/** The list is read early where prices do not fit it, but no sooner after the last time. */
const LIST_AGAIN_AFTER_MS = 2_000;
/** Send-to-acknowledgement time taken as given until orders have been sent; region-to-venue figures of third parties, 2026. */
const DEFAULT_ACK_MS = 300;
/** RATE_LIMIT codes (sheet section 8): by weight (IP), by orders (account). */
const CODE_TOO_MANY_ORDERS = -1015;

export function createVenuetwoRoom(options: VenuetwoRoomOptions): VenueRoom {
  return new VenuetwoRoom(options);
}

class VenuetwoRoom implements VenueRoom, KeyRoom, MoneyRoom {
  readonly venue = "venuetwo";
  readonly ackLatency = new LatencyWindow(DEFAULT_ACK_MS);
  readonly markets: ReadonlyMap<string, Market>;
  /** Every contract known, also those that are not wanted. */
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly routingHealth: RoutingHealth;
  readonly venueClock: VenueClock;
  readonly reader: VenueRoom["reader"];
  readonly orders: VenueRoom["orders"];
  readonly history: AccountHistory;
  readonly settings: AccountSettings;
  readonly streams: VenuetwoAccountStreams;
  readonly openSession: (rawCredentials: unknown, payer: string | null) => OpenSession;
  readonly accountNames: AccountNames;
  readonly keys: KeyRegistrar;
  readonly money: VenueMoney;
  readonly #options: VenuetwoRoomOptions;
  readonly #shell: RoomShell;
  readonly #http: HttpPool;
  readonly #hosts: OtherHosts;
  readonly #rest: MarketRest;
  readonly #clockOffset: ClockOffset;
  readonly #market: MarketStream;
  readonly #held: HeldSymbols;
  readonly #markets: VenuetwoMarkets;
  #listedNs = 0;
  #isListing = false;

  constructor(options: VenuetwoRoomOptions) {
    const { clock, random, logger, wsUrl, connector = connectWs, streamHostLayout: layout = "single" } = options;
    const clockOffset = new ClockOffset(clock);
    const standing = new CallerStanding(clock);
    this.#options = options;
    this.#clockOffset = clockOffset;
    this.#held = new HeldSymbols(clock);
    this.#http = new HttpPool({ ...poolOptions(options), standing });
    this.#hosts = otherHosts(options.hosts ?? oneHost(options.restUrl), options);
    this.#rest = new MarketRest(this.#http);
    // The venue counts its countdowns itself: a switch names no time here.
    const measure = (): Promise<void> => this.#rest.measureClock(clockOffset, "exit");
    new ClockCheck({ clock, clockOffset, measure });
    const budget = new ConnectionBudget(clock, SOCKETS);
    const shared = { wsUrl, layout, connector, clock, random, logger, budget };
    this.#market = this.#marketStream({ ...shared, http: this.#http, clockOffset });
    this.#markets = new VenuetwoMarkets({
      logger,
      stream: this.#market,
      symbols: options.symbols,
      onRescaled: () => this.streams.rescaled(),
    });
    this.markets = this.#markets.bySymbol;
    this.instruments = this.#markets.instruments;
    this.routingHealth = this.#http;
    this.venueClock = clockOffset;
    this.#shell = this.#createShell();
    const trading = this.#createTrading(standing);
    const index = new InstrumentIndex(() => this.instruments);
    this.streams = venuetwoAccountStreams({
      ...shared,
      reader: trading.reader,
      history: trading.history,
      listenKeys: trading.listenKey,
      instrumentOf: (nativeSymbol) => index.byNativeSymbol(nativeSymbol),
      clockOffsetMs: () => clockOffset.offsetMs,
      latestVenueMs: () => clockOffset.latestMs(clock.wallMs()),
    });
    const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
    const { orders, reader: rest } = trading;
    const streamed = streamedSessions({ rest, orders, streams: this.streams, verified });
    this.orders = streamed.orders;
    this.reader = this.#held.noteReadsOf(streamed.reader);
    this.history = trading.history;
    this.settings = trading.settings;
    this.openSession = trading.openSession;
    this.accountNames = trading.accountNames;
    this.keys = trading.keys;
    this.money = trading.money;
  }

  orderWaitMs(session: AccountSession, lane: Lane): number {
    return this.#http.accountWaitMs(session.accountId, 1, lane);
  }

  async start(): Promise<void> {
    if (!(await this.#shell.start(() => this.#loadInstruments()))) return;
    this.#market.start();
    this.#options.logger.info("venuetwo.started", { marketCount: this.markets.size });
    // Nothing below is waited for: the room serves what it has.
    void this.#fillTickers();
    void this.#measureClock(0);
    this.#shell.every(TICKERS_EVERY_MS, () => this.#fillTickers());
    this.#shell.every(LIST_EVERY_MS, () => this.#refresh());
  }

  stop(): Promise<void> {
    return this.#shell.stop([this.#market, this.streams, this.#hosts]);
  }

  status(): RoomStatus {
    const stream = this.#market.status();
    const accounts = this.streams.stats();
    return this.#shell.status({
      isOpen: stream.openSocketCount > 0,
      socketCount: stream.socketCount + this.streams.openCount,
      reconnectCount: stream.reconnectCount,
      resyncCount: stream.resyncCount,
      gapCount: stream.gapCount + accounts.unreadFillCount,
      decodeErrorCount: stream.decodeErrorCount + accounts.decodeErrorCount,
      protocolDriftCount: stream.protocolDriftCount + accounts.driftCount,
    });
  }

  async refreshMark({ symbol, nativeSymbol }: Instrument, options: CallOptions): Promise<boolean> {
    const premium = await this.#rest.loadPremium(nativeSymbol, options);
    const market = this.markets.get(symbol);
    if (premium === null || market === undefined) return false;
    applyPremiumIndex(market.ticker, premium, this.#options.clock.monoNs());
    return true;
  }

  #marketStream(parts: Omit<MarketStreamOptions, "positionsOf" | "shallowFromMarkets" | "onDrift">): MarketStream {
    const { shallowFromMarkets } = this.#options;
    const options: MarketStreamOptions = {
      ...parts,
      positionsOf: ({ instrument }) => this.#held.countOf(instrument.symbol),
      ...(shallowFromMarkets === undefined ? {} : { shallowFromMarkets }),
      onDrift: () => void this.#listAgain(),
    };
    return new MarketStream(options, []);
  }

  #createShell(): RoomShell {
    const { clock, random, startTimeoutMs } = this.#options;
    return new RoomShell({
      venue: this.venue,
      clock,
      random,
      http: this.#http,
      clockOffset: this.#clockOffset,
      markets: this.markets,
      currentShare: 0,
      retry: START_BACKOFF,
      startTimeoutMs,
    });
  }

  #createTrading(standing: CallerStanding): VenuetwoTrading {
    const { clock, random, logger, nonces, isMainnet, keys, moneyRoutes: routes } = this.#options;
    const { spotHttp, webHttp } = this.#hosts;
    return createVenuetwoTrading({
      standing,
      ...(keys === undefined ? {} : { keys: { ...keys, webHttp: keys.areIssued ? webHttp : null } }),
      money: { spotHttp, webHttp, routes },
      http: this.#http,
      instruments: () => this.instruments,
      clock,
      random,
      logger,
      nonces,
      clockOffsetMs: () => this.#clockOffset.offsetMs,
      leastOffsetMs: () => this.#clockOffset.leastOffsetMs,
      ackLatency: this.ackLatency,
      isMainnet,
      onClockError: () => this.#measureAgain(),
    });
  }

  /** Loads the list and adopts it; the problem when the venue gave no usable answer, and then nothing changed. */
  async #loadInstruments(): Promise<string | null> {
    const { clock, fees = {} } = this.#options;
    if (this.#isListing) return "the list is being read";
    this.#isListing = true;
    const symbolOptions = { ...fees, known: this.instruments };
    const load = await this.#rest.loadInstruments(symbolOptions, "reconcile").finally(() => {
      this.#isListing = false;
      this.#listedNs = clock.monoNs();
    });
    if (load === null) return "no usable list of contracts";
    // Meanwhile its streams were closed, and nobody would close what new markets open.
    if (load !== "same" && !this.#shell.isStopped) this.#markets.adopt(load);
    return null;
  }

  async #refresh(): Promise<void> {
    const count = this.markets.size;
    if ((await this.#loadInstruments()) === null && this.markets.size > count) await this.#fillTickers();
  }

  async #listAgain(): Promise<void> {
    const sinceMs = (this.#options.clock.monoNs() - this.#listedNs) / 1e6;
    if (sinceMs >= LIST_AGAIN_AFTER_MS) await this.#refresh();
  }

  /** Funding intervals, and first values for tickers whose streams have sent nothing yet. */
  async #fillTickers(): Promise<void> {
    const [hours, tickers, premiums] = await Promise.all([
      this.#rest.loadFundingHours(),
      this.#rest.loadTickers(),
      this.#rest.loadPremiums(),
    ]);
    const tickerBySymbol = new Map(tickers.map((row) => [row.symbol, row]));
    const premiumBySymbol = new Map(premiums.map((row) => [row.symbol, row]));
    const slotByMarket = new Map(this.#market.slots.map((slot) => [slot.market, slot]));
    const nowNs = this.#options.clock.monoNs();
    for (const market of this.markets.values()) {
      const { nativeSymbol } = market.instrument;
      const slot = slotByMarket.get(market);
      market.ticker.fundingIntervalHours = hours.get(nativeSymbol) ?? market.ticker.fundingIntervalHours;
      const ticker = tickerBySymbol.get(nativeSymbol);
      if (ticker !== undefined && slot?.hasTicker !== true) applyTicker24h(market.ticker, ticker, nowNs);
      const premium = premiumBySymbol.get(nativeSymbol);
      if (premium !== undefined && slot?.hasMarkPrice !== true) applyPremiumIndex(market.ticker, premium, nowNs);
    }
  }

  /** The venue refused a time stamp of ours: what was measured until now would hold the estimate where it is. */
  #measureAgain(): Promise<void> {
    this.#clockOffset.forget();
    return this.#rest.measureClock(this.#clockOffset, "exit");
  }

  async #measureClock(count: number): Promise<void> {
    await this.#rest.measureClock(this.#clockOffset, "background");
    this.#shell.after(count < CLOCK_FIRST_COUNT ? CLOCK_FIRST_MS : CLOCK_EVERY_MS, () => this.#measureClock(count + 1));
  }
}

function poolOptions({ restUrl, clock, random, logger, limits = {} }: VenuetwoRoomOptions): HttpPoolOptions {
  return {
    name: "venuetwo",
    baseUrl: restUrl,
    clock,
    random,
    logger,
    budget: limits.weightPerMinute ?? IP_WEIGHT_PER_MINUTE,
    budgetWindowMs: 60_000,
    accountLimits: orderLimits(limits.ordersPerMinute, limits.ordersPer10Seconds),
    usedWeight,
    judgeLimit,
    ...(limits.httpConnections === undefined ? {} : { connections: limits.httpConnections }),
  };
}

/** The venue's own count, on each answer. */
function usedWeight(headers: Readonly<Record<string, string>>): number | null {
  const text = headers["x-mbx-used-weight-1m"];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** Which scope a limit reply is about, and until when: the header, else the time named in the ban text. */
function judgeLimit(response: HttpResponse, nowWallMs: number): LimitVerdict | null {
  const verdict = defaultLimitVerdict(response, nowWallMs);
  if (verdict === null) return null;
  const error = readError(response.body);
  const scope = error?.code === CODE_TOO_MANY_ORDERS && response.status === 429 ? "account" : "ip";
  const untilMs = verdict.retryAfterMs === null && error !== null ? bannedUntilMs(error.msg) : null;
  const retryAfterMs = untilMs === null ? verdict.retryAfterMs : Math.max(0, untilMs - nowWallMs);
  return { scope, retryAfterMs, isBan: verdict.isBan };
}
