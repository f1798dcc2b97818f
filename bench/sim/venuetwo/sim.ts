/** The local venuetwo: the engine of bench/sim/core behind the venue's wire protocol, on one loopback port. */
import { createSystemClock, type Clock } from "../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { createControl } from "../core/control.js";
import { createExchange } from "../core/exchange.js";
import { createFaultInjector } from "../core/faults.js";
import { changeListing, type ListingChange } from "../core/listing-change.js";
import { loadRecordedMarket, type RecordedMarket } from "../core/recorded.js";
import { createRequestLog, type SimRequestLog } from "../core/request-log.js";
import { startShell } from "../core/shell.js";
import { seedOf } from "../core/factor-model.js";
import type { FaultInjector, FaultSpec, RestVerdict } from "../core/fault-types.js";
import type { FlowOptions, PriceSource, SimExchange, SimPositionSide } from "../core/types.js";
import type { SimHttpReply, SimProtocol, SimShell, SimSocket } from "../core/server-types.js";
import { AggregateTape } from "./aggregate-tape.js";
import { Authenticator } from "./auth.js";
import type { VenuetwoContext } from "./context.js";
import { parseSafe } from "../core/fixed.js";
import { KeyRing, type KeyRequest } from "./keys.js";
import { type LimitOptions, RateLimits, VENUE_LIMITS } from "./limits.js";
import { createListing, DEFAULT_SYMBOLS, type Listing, VENUETWO_POLICIES } from "./listing.js";
import { ListenKeys } from "./listen-keys.js";
import { MarketStreams } from "./market-streams.js";
import { Router } from "./router.js";
import { acceptSocket, onMessage, openSession, type SessionDeps } from "./socket-session.js";
import { stateOf, Topics } from "./topics.js";
import { UserStreams } from "./user-streams.js";

export interface VenuetwoAccount extends KeyRequest {
  readonly accountId: string;
  /** Decimal text, quote units. */
  readonly deposit: string;
  readonly spotDeposit?: string;
  readonly hedgeMode?: boolean;
  /** Starting positions: signed decimal text; entry at the mark when absent. */
  readonly positions?: readonly {
    readonly symbol: string;
    readonly qty: string;
    readonly entryPrice?: string;
    readonly positionSide?: SimPositionSide;
  }[];
}

export interface VenuetwoSimOptions {
  readonly seed: number;
  readonly clock?: Clock;
  /** Of the captured listing; default three majors. */
  readonly symbols?: readonly string[];
  /** Also lists the captured contracts that do not trade. Default true. */
  readonly listsOthers?: boolean;
  /** Contracts listed besides, copies of a captured one; a price source of one's own must know their bases (listing.ts). */
  readonly copyCount?: number;
  readonly port?: number;
  readonly accounts?: readonly VenuetwoAccount[];
  readonly faults?: readonly FaultSpec[];
  /** Share one over several venues to correlate them. */
  readonly priceSource?: PriceSource;
  readonly flow?: Partial<FlowOptions> | null;
  /** A collector file as the market instead of the synthetic crowd (see core/recorded.ts). */
  readonly recording?: { readonly path: string; readonly speed?: number };
  readonly limits?: Partial<LimitOptions>;
  readonly nonceWindowMs?: number;
  readonly chainId?: number;
  /** Answer HMAC on /fapi/v3 as the parent dialect does. */
  readonly hmacOnV3?: boolean;
  /** Life of a stream connection, default 24 h. */
  readonly socketLifeMs?: number;
}

export interface VenuetwoSim {
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly keys: KeyRing;
  readonly shell: SimShell;
  addAccount(account: VenuetwoAccount): { readonly apiKey: string; readonly apiSecret: string };
  /** Changes what the venue lists, while it runs. */
  changeListing(symbol: string, change: ListingChange): Promise<void>;
  /** Ends every listen key now, as an hour without PUT would. */
  expireListenKeys(): void;
  stop(): Promise<void>;
}

/** Windows of the venue: fact sheet 4.2 and 6.1. */
const NONCE_WINDOW_MS = 10_000;
const MAIN_CHAIN_ID = 1666;
const SWEEP_MS = 10_000;
const PING_EVERY_MS = 5 * 60_000;
const PONG_WITHIN_MS = 15 * 60_000;
const SOCKET_LIFE_MS = 24 * 3600 * 1000;
const GOING_AWAY = 1001;
/** Ids that look like the venue's: 11 digits for orders, 12 for updates. */
const FIRST_ORDER_ID = 17_338_000_000;
const FIRST_UPDATE_ID = 156_391_000_000;
const UPDATE_JUMP_MAX = 900;

export async function startVenuetwoSim(options: VenuetwoSimOptions): Promise<VenuetwoSim> {
  if (options.recording === undefined) return new Venue(options).listen(null);
  const { instruments } = createListing(options.symbols ?? DEFAULT_SYMBOLS);
  const recording = await loadRecordedMarket({ instruments, ...options.recording });
  return new Venue({ ...options, flow: null, priceSource: recording.priceSource }).listen(recording);
}

class Venue implements VenuetwoSim, SimProtocol {
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly keys = new KeyRing();
  readonly #options: VenuetwoSimOptions;
  readonly #clock: Clock;
  readonly #listing: Listing;
  readonly #limits: RateLimits;
  readonly #listenKeys: ListenKeys;
  readonly #aggregates: ReadonlyMap<string, AggregateTape>;
  readonly #topics = new Topics();
  readonly #market: MarketStreams;
  readonly #user: UserStreams;
  readonly #router: Router;
  readonly #session: SessionDeps;
  #shell: SimShell | null = null;
  #recording: RecordedMarket | null = null;
  #stopped = false;

  constructor(options: VenuetwoSimOptions) {
    this.#options = options;
    const clock = options.clock ?? createSystemClock();
    this.#clock = clock;
    const listing = createListing(options.symbols ?? DEFAULT_SYMBOLS, options.copyCount ?? 0, options.listsOthers);
    this.#listing = listing;
    const exchange = createExchange({
      venue: "venuetwo",
      seed: options.seed,
      clock,
      instruments: listing.instruments,
      policies: VENUETWO_POLICIES,
      seqJumpMax: UPDATE_JUMP_MAX,
      firstSeq: FIRST_UPDATE_ID,
      firstOrderId: FIRST_ORDER_ID,
      ...(options.priceSource === undefined ? {} : { priceSource: options.priceSource }),
      ...(options.flow === undefined ? {} : { flow: options.flow }),
    });
    this.exchange = exchange;
    const nowMs = (): number => exchange.nowMs();
    this.faults = createFaultInjector({
      seed: options.seed,
      clock,
      onChange: () => exchange.setClockSkewMs(this.faults.clockSkewMs()),
    });
    this.log = createRequestLog(exchange);
    this.#limits = new RateLimits({ ...VENUE_LIMITS, ...options.limits }, nowMs);
    const random = createSeededRandom(seedOf("venuetwo/ids", options.seed));
    this.#listenKeys = new ListenKeys(random, nowMs);
    this.#aggregates = new Map(listing.instruments.map((instrument) => [instrument.symbol, new AggregateTape()]));
    this.#market = new MarketStreams(exchange, this.#topics, this.#aggregates);
    this.#user = new UserStreams(exchange, this.#topics, this.#listenKeys);
    // Connections live by the machine's clock: a skewed venue clock must not end them.
    this.#session = {
      topics: this.#topics,
      nowMs: () => clock.wallMs(),
      onWanted: (name) => this.#market.onWanted(name),
    };
    const auth = new Authenticator({
      keys: this.keys,
      nowMs,
      nonceWindowMs: options.nonceWindowMs ?? NONCE_WINDOW_MS,
      chainId: options.chainId ?? MAIN_CHAIN_ID,
      hmacOnV3: options.hmacOnV3 ?? false,
    });
    const context: VenuetwoContext = {
      exchange,
      listing,
      log: this.log,
      faults: this.faults,
      keys: this.keys,
      auth,
      limits: this.#limits,
      listenKeys: this.#listenKeys,
      aggregates: this.#aggregates,
      newClientId: () => `${letters(random)}${letters(random)}${letters(random)}`,
    };
    this.#router = new Router(context);
    this.#listen(exchange);
    for (const account of options.accounts ?? []) this.addAccount(account);
    for (const fault of options.faults ?? []) this.faults.add(fault);
  }

  #listen(exchange: SimExchange): void {
    exchange.addListener({
      onLevel: (symbol, side, priceTicks, qtyLots, seq, tsMs) =>
        this.#market.onLevel(symbol, side, priceTicks, qtyLots, seq, tsMs),
      onTrade: (trade) => this.#aggregates.get(trade.symbol)?.add(trade),
      onOrder: (order, event, fill) => {
        this.#user.onOrder(order, event, fill);
        if (fill?.liquidation === true) this.#market.onLiquidation(order, fill);
      },
      onAccount: (account, cause, positions) => this.#user.onAccount(account, cause, positions),
      onConfig: (account, change) => this.#user.onConfig(account, change),
    });
  }

  async listen(recording: RecordedMarket | null): Promise<this> {
    const control = createControl({
      exchange: this.exchange,
      faults: this.faults,
      log: this.log,
      hooks: {
        registerKeys: (accountId, body) => this.keys.register(accountId, keyRequest(body)),
        describe: () => ({ limits: this.#limits.options }),
        command: (name, body) => this.#command(name, body),
      },
    });
    this.#shell = await startShell({
      clock: this.#clock,
      faults: this.faults,
      protocol: this,
      control,
      ...(this.#options.port === undefined ? {} : { port: this.#options.port }),
    });
    this.exchange.start();
    this.#recording = recording;
    recording?.play(this.exchange);
    this.#market.start();
    this.#clock.setTimer(() => this.#sweep(), SWEEP_MS);
    return this;
  }

  get shell(): SimShell {
    if (this.#shell === null) throw new RangeError("the venue is not listening");
    return this.#shell;
  }

  get port(): number {
    return this.shell.port;
  }

  get restUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  changeListing(symbol: string, change: ListingChange): Promise<void> {
    return changeListing(this.exchange, symbol, change, () => this.#listing.change(symbol, change));
  }

  addAccount(account: VenuetwoAccount): { readonly apiKey: string; readonly apiSecret: string } {
    const { accountId, deposit } = account;
    this.exchange.createAccount({
      accountId,
      deposit,
      ...(account.spotDeposit === undefined ? {} : { spotDeposit: account.spotDeposit }),
      ...(account.hedgeMode === undefined ? {} : { hedgeMode: account.hedgeMode }),
    });
    for (const position of account.positions ?? []) this.#setPosition(accountId, position);
    return this.keys.register(accountId, account);
  }

  #setPosition(accountId: string, position: NonNullable<VenuetwoAccount["positions"]>[number]): void {
    const instrument = this.exchange.instruments.get(position.symbol);
    if (instrument === undefined) throw new RangeError(`${position.symbol} has no market here`);
    const qtyLots = parseSafe(position.qty, instrument.qtyDecimals);
    const markTicks = Math.round(this.exchange.mark(position.symbol).markE8 / 10 ** (8 - instrument.priceDecimals));
    const entryTicks =
      position.entryPrice === undefined ? markTicks : parseSafe(position.entryPrice, instrument.priceDecimals);
    if (qtyLots === null || entryTicks === null)
      throw new RangeError(`${position.symbol}: position is off the venue's grid`);
    this.exchange.setPosition(accountId, position.symbol, position.positionSide ?? "BOTH", qtyLots, entryTicks);
  }

  expireListenKeys(): void {
    this.#user.expireKeys(true);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.exchange.stop();
    this.#recording?.stop();
    this.#market.stop();
    this.faults.clear();
    await this.#shell?.stop();
  }

  /* ---------------------------------------------------------------- protocol */

  handleHttp(request: Parameters<SimProtocol["handleHttp"]>[0]): Promise<SimHttpReply> {
    return this.#router.handle(request);
  }

  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict): SimHttpReply {
    const headers: Record<string, string> =
      verdict.retryAfterS >= 0 ? { "retry-after": String(verdict.retryAfterS) } : {};
    const { status } = verdict;
    if (kind === "rate429")
      return {
        status,
        headers,
        body: JSON.stringify({ code: -1003, msg: "Too many requests; current limit is 2400 requests per minute." }),
      };
    if (kind === "ban418") {
      const untilMs = this.exchange.nowMs() + Math.max(verdict.retryAfterS, 120) * 1000;
      return {
        status,
        headers,
        body: JSON.stringify({ code: -1003, msg: `Way too many requests; IP banned until ${untilMs}.` }),
      };
    }
    // 500 comes as an HTML page of the front end, 503 as JSON of the backend (fact sheet 5.0).
    if (status === 500)
      return {
        status,
        body: "<html><head><title>500 Internal Server Error</title></head></html>",
        contentType: "text/html",
      };
    const code = status === 503 || status === 504 ? -1007 : -1000;
    return {
      status,
      body: JSON.stringify({
        code,
        msg: "Timeout waiting for response from backend server. Send status unknown; execution status unknown.",
      }),
    };
  }

  acceptSocket(path: string): number | null {
    return acceptSocket(path);
  }

  onSocketOpen(socket: SimSocket): void {
    openSession(socket, this.#session);
  }

  onSocketMessage(socket: SimSocket, text: string): void {
    onMessage(socket, text, this.#session);
  }

  onSocketPong(socket: SimSocket): void {
    stateOf(socket).lastPongMs = this.#clock.wallMs();
  }

  onSocketClose(socket: SimSocket): void {
    this.#topics.drop(socket);
  }

  /** Pings, lives of connections and listen keys. */
  #sweep(): void {
    if (this.#stopped) return;
    const nowMs = this.#clock.wallMs();
    this.#user.expireKeys();
    for (const socket of this.shell.sockets) {
      const state = stateOf(socket);
      if (nowMs - socket.openedMs >= (this.#options.socketLifeMs ?? SOCKET_LIFE_MS)) socket.close(GOING_AWAY, "");
      else if (nowMs - state.lastPongMs > PONG_WITHIN_MS) socket.terminate();
      else if (nowMs - state.lastPingMs >= PING_EVERY_MS) {
        state.lastPingMs = nowMs;
        socket.ping();
      }
    }
    this.#clock.setTimer(() => this.#sweep(), SWEEP_MS);
  }

  #command(name: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | null {
    if (name === "expireListenKeys") {
      this.expireListenKeys();
      return { ok: true };
    }
    if (name === "limits") {
      const changes = Object.fromEntries(
        Object.entries(body).filter(([key, value]) => key in VENUE_LIMITS && typeof value === "number"),
      );
      this.#limits.options = { ...this.#limits.options, ...changes };
      return { limits: this.#limits.options };
    }
    return null;
  }
}

/** Seven base-36 characters; three of them make an id like the venue's own. */
function letters(random: Random): string {
  return Math.floor(random.next() * 36 ** 7)
    .toString(36)
    .padStart(7, "0");
}

/** Keys of POST /_sim/accounts: texts and a list of addresses; everything else is ignored. */
function keyRequest(body: Readonly<Record<string, unknown>>): KeyRequest {
  const text = (name: string): string | undefined =>
    typeof body[name] === "string" ? (body[name] as string) : undefined;
  const apiKey = text("apiKey");
  const apiSecret = text("apiSecret");
  const wallet = text("wallet");
  const agents = Array.isArray(body.agents) ? body.agents.map(String) : undefined;
  return {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(apiSecret === undefined ? {} : { apiSecret }),
    ...(wallet === undefined ? {} : { wallet }),
    ...(agents === undefined ? {} : { agents }),
  };
}
