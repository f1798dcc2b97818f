/** The local venuethree: the engine of bench/sim/core behind the venue's wire protocol, on one loopback port. */
import { createSystemClock, type Clock, type TimerHandle } from "../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { createControl } from "../core/control.js";
import { createExchange } from "../core/exchange.js";
import { seedOf } from "../core/factor-model.js";
import { changeListing, type ListingChange } from "../core/listing-change.js";
import { createFaultInjector } from "../core/faults.js";
import { createRequestLog, type SimRequestLog } from "../core/request-log.js";
import { startShell } from "../core/shell.js";
import type { FaultInjector, RestVerdict } from "../core/fault-types.js";
import type { SimExchange } from "../core/types.js";
import type { SimHttpReply, SimHttpRequest, SimProtocol, SimShell, SimSocket } from "../core/server-types.js";
import { AccountSide } from "./account-side.js";
import { ApiServer } from "./api-server.js";
import type { VenuethreeContext } from "./context.js";
import { CODE } from "./errors.js";
import { RestingIdentities, tradeKey } from "./ids.js";
import { createListing, DEFAULT_SYMBOLS, VENUETHREE_POLICIES } from "./listing.js";
import {
  changeQuirks,
  DEFAULT_QUIRKS,
  VENUE_CADENCES,
  VENUE_LIMITS,
  type VenuethreeAccount,
  type VenuethreeQuirks,
  type VenuethreeSimOptions,
} from "./options.js";
import { Router } from "./router.js";
import { Sessions } from "./socket-session.js";

export interface VenuethreeSim {
  /** Base of `/`, `/info` and `/api/v1/…`, no trailing slash. */
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly shell: SimShell;
  readonly quirks: VenuethreeQuirks;
  setQuirks(changes: Partial<VenuethreeQuirks>): void;
  addAccount(account: VenuethreeAccount): void;
  /** Changes what the venue lists, while it runs. */
  changeListing(symbol: string, change: ListingChange): Promise<void>;
  /**
   * Change id of the engine behind a nonce on the wire: `exchange.trueBook(symbol, seqOfNonce(nonce))` is the true book.
   * The same number, unless `resetNonceOnConnect` has been on.
   */
  seqOfNonce(nonce: number): number;
  stop(): Promise<void>;
}

/** Ids that look like the venue's. The nonce counts over all markets and jumps between the changes of one. */
const FIRST_NONCE = 18_032_000_000;
const NONCE_JUMP_MAX = 12;
const FIRST_ORDER_ID = 1_000_000;
/** Each reset goes back by this much: no two generations of nonces meet, and the last one stays above zero. */
const GENERATION_SPAN = 1_000_000_000;
const GENERATIONS_MAX = 17;
const API_SERVERS = 3;
const SWEEP_MS = 1_000;
/** The main net. */
const CHAIN_ID = 304;
const LIQUIDATIONS_MAX = 10_000;

export async function startVenuethreeSim(options: VenuethreeSimOptions): Promise<VenuethreeSim> {
  const venue = new Venue(options);
  await venue.listen();
  return venue;
}

class Venue implements VenuethreeSim, SimProtocol {
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly #options: VenuethreeSimOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #context: VenuethreeContext;
  readonly #router: Router;
  readonly #sessions: Sessions;
  readonly #accountSide: AccountSide;
  readonly #servers: ApiServer[];
  readonly #liquidations = new Set<string>();
  /** Servers that count from a lower nonce; each belongs to one connection. */
  readonly #resetServers = new Set<ApiServer>();
  #shell: SimShell | null = null;
  #nextServer = 0;
  #generation = 0;
  #pulses = 0;
  #pulseTimer: TimerHandle | null = null;
  #sweepTimer: TimerHandle | null = null;

  constructor(options: VenuethreeSimOptions) {
    this.#options = options;
    const clock = options.clock ?? createSystemClock();
    this.#clock = clock;
    this.#random = createSeededRandom(seedOf("venuethree/room", options.seed));
    const listing = createListing(options.symbols ?? DEFAULT_SYMBOLS, options.listsOthers);
    const exchange = createExchange({
      venue: "venuethree",
      seed: options.seed,
      clock,
      instruments: listing.instruments,
      policies: VENUETHREE_POLICIES,
      seqJumpMax: NONCE_JUMP_MAX,
      firstSeq: FIRST_NONCE,
      firstOrderId: FIRST_ORDER_ID,
      ...(options.priceSource === undefined ? {} : { priceSource: options.priceSource }),
      ...(options.flow === undefined ? {} : { flow: options.flow }),
    });
    this.exchange = exchange;
    this.faults = createFaultInjector({
      seed: options.seed,
      clock,
      onChange: () => exchange.setClockSkewMs(this.faults.clockSkewMs()),
    });
    this.log = createRequestLog(exchange);
    this.#accountSide = new AccountSide({
      exchange,
      listing,
      log: this.log,
      chainId: options.chainId ?? CHAIN_ID,
      context: () => this.#context,
    });
    this.#context = {
      ...this.#accountSide.shared,
      exchange,
      listing,
      cadences: { ...VENUE_CADENCES, ...options.cadences },
      resting: new RestingIdentities(),
      liquidations: this.#liquidations,
      limits: { ...VENUE_LIMITS, ...options.limits },
      quirks: { ...DEFAULT_QUIRKS, ...options.quirks },
    };
    this.#router = new Router(this.#context);
    this.#servers = Array.from({ length: Math.max(1, options.apiServerCount ?? API_SERVERS) }, (_, index) =>
      this.#createServer(0, index * 2),
    );
    this.#sessions = new Sessions({
      context: this.#context,
      faults: this.faults,
      random: this.#random,
      accountStreams: this.#accountSide.streams,
      nowMs: () => clock.wallMs(),
      nextServer: () => this.#serverForConnection(),
    });
    exchange.addListener({
      onLevel: (...change) => {
        for (const server of this.#allServers()) server.onLevel(...change);
      },
      onTrade: (trade) => {
        this.#accountSide.events.onTrade(trade);
        for (const server of this.#allServers()) server.onTrade(trade);
      },
      onOrder: (order, event, fill) => {
        if (fill?.liquidation === true) this.#rememberLiquidation(tradeKey(fill.symbol, fill.tradeId));
        this.#accountSide.events.onOrder(order, event, fill);
      },
      onAccount: (account, cause, positions) => this.#accountSide.events.onAccount(account, cause, positions),
      onFunding: (income) => this.#accountSide.events.onFunding(income),
      onStep: (tsMs) => this.#accountSide.events.onStep(tsMs),
    });
    for (const account of options.accounts ?? []) this.addAccount(account);
    for (const fault of options.faults ?? []) this.faults.add(fault);
  }

  async listen(): Promise<void> {
    const control = createControl({
      exchange: this.exchange,
      faults: this.faults,
      log: this.log,
      hooks: {
        registerKeys: (accountId, body) => this.#accountSide.register(accountId, body),
        describe: () => ({ limits: this.#context.limits, quirks: this.#context.quirks }),
        command: (name, body) => this.#command(name, body),
      },
    });
    this.#shell = await startShell({
      clock: this.#clock,
      port: this.#options.port ?? 0,
      faults: this.faults,
      protocol: this,
      control,
      ...(this.#options.backlogBytesMax === undefined ? {} : { backlogBytesMax: this.#options.backlogBytesMax }),
    });
    this.exchange.start();
    const { cadences } = this.#context;
    const statsPulses = Math.max(1, Math.round(cadences.statsMs / cadences.pulseMs));
    const pulse = (): void => {
      this.#pulseTimer = this.#clock.setTimer(pulse, this.#context.cadences.pulseMs);
      for (const server of this.#allServers()) server.onPulse();
      this.#pulses++;
      if (this.#pulses % statsPulses === 0) this.#accountSide.streams.pushStats();
    };
    this.#pulseTimer = this.#clock.setTimer(pulse, this.#context.cadences.pulseMs);
    const sweep = (): void => {
      this.#sweepTimer = this.#clock.setTimer(sweep, SWEEP_MS);
      this.#sessions.sweep();
    };
    this.#sweepTimer = this.#clock.setTimer(sweep, SWEEP_MS);
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
    return `ws://127.0.0.1:${this.port}/stream`;
  }

  get quirks(): VenuethreeQuirks {
    return this.#context.quirks;
  }

  setQuirks(changes: Partial<VenuethreeQuirks>): void {
    this.#context.quirks = changeQuirks(this.#context.quirks, changes);
  }

  changeListing(symbol: string, change: ListingChange): Promise<void> {
    return changeListing(this.exchange, symbol, change, () => this.#context.listing.change(symbol, change));
  }

  addAccount(account: VenuethreeAccount): void {
    this.#accountSide.add(account);
  }

  seqOfNonce(nonce: number): number {
    const generation = Math.max(0, Math.ceil((FIRST_NONCE - nonce) / GENERATION_SPAN));
    return nonce + generation * GENERATION_SPAN;
  }

  async stop(): Promise<void> {
    for (const timer of [this.#pulseTimer, this.#sweepTimer]) if (timer !== null) this.#clock.clearTimer(timer);
    this.exchange.stop();
    this.#accountSide.stop();
    this.faults.clear();
    await this.#shell?.stop();
  }

  /* ---------------------------------------------------------------- protocol */

  handleHttp(request: SimHttpRequest): SimHttpReply {
    return this.#router.handle(request);
  }

  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict): SimHttpReply {
    const headers: Record<string, string> =
      verdict.retryAfterS >= 0 ? { "retry-after": String(verdict.retryAfterS) } : {};
    const { status } = verdict;
    if (kind !== "error")
      return { status, headers, body: JSON.stringify({ code: CODE.tooManyRequests, message: "Too Many Requests!" }) };
    // 502 and the like come from the proxy in front of the venue.
    if (status !== 500)
      return { status, headers, contentType: "text/html", body: `<html><body><h1>${status}</h1></body></html>` };
    return { status, headers, body: JSON.stringify({ code: CODE.serverError, message: "internal server error" }) };
  }

  acceptSocket(path: string): number | null {
    return path === "/stream" ? null : 404;
  }

  onSocketOpen(socket: SimSocket): void {
    this.#sessions.open(socket);
  }

  onSocketMessage(socket: SimSocket, text: string): void {
    this.#sessions.message(socket, text);
  }

  onSocketPing(socket: SimSocket): void {
    this.#sessions.onClientFrame(socket);
  }

  onSocketPong(socket: SimSocket): void {
    this.#sessions.onClientFrame(socket);
  }

  onSocketClose(socket: SimSocket): void {
    this.#sessions.close(socket);
    for (const server of this.#resetServers) if (!this.#sessions.isHeld(server)) this.#resetServers.delete(server);
  }

  /* ---------------------------------------------------------------- servers */

  *#allServers(): Iterable<ApiServer> {
    yield* this.#servers;
    yield* this.#resetServers;
  }

  #createServer(nonceShift: number, phase: number): ApiServer {
    return new ApiServer({ context: this.#context, random: this.#random, nonceShift, phase });
  }

  /** Connections go round the servers: offsets change wholly after a reconnect. */
  #serverForConnection(): ApiServer {
    if (this.#context.quirks.resetNonceOnConnect) this.#generation = Math.min(GENERATIONS_MAX, this.#generation + 1);
    if (this.#generation > 0) {
      const server = this.#createServer(this.#generation * GENERATION_SPAN, 0);
      this.#resetServers.add(server);
      return server;
    }
    const server = this.#servers[this.#nextServer++ % this.#servers.length];
    if (server === undefined) throw new RangeError("the venue has no API server");
    return server;
  }

  #rememberLiquidation(key: string): void {
    this.#liquidations.add(key);
    if (this.#liquidations.size <= LIQUIDATIONS_MAX) return;
    const oldest = this.#liquidations.values().next();
    if (oldest.done === false) this.#liquidations.delete(oldest.value);
  }

  #command(name: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | null {
    if (name === "quirks") {
      this.#context.quirks = changeQuirks(this.#context.quirks, body);
      return { quirks: this.#context.quirks };
    }
    if (name === "limits") {
      const changes = Object.fromEntries(
        Object.entries(body).filter(
          ([key, value]) =>
            Object.hasOwn(VENUE_LIMITS, key) && typeof value === typeof VENUE_LIMITS[key as keyof typeof VENUE_LIMITS],
        ),
      );
      this.#context.limits = { ...this.#context.limits, ...changes };
      return { limits: this.#context.limits };
    }
    return null;
  }
}
