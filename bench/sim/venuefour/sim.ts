/** The local venuefour: the engine of bench/sim/core behind the venue's wire protocol, on one loopback port. Market side. */
import { createSystemClock, type Clock, type TimerHandle } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createControl } from "../core/control.js";
import { createExchange } from "../core/exchange.js";
import { seedOf } from "../core/factor-model.js";
import { createFaultInjector } from "../core/faults.js";
import { createRequestLog } from "../core/request-log.js";
import { startShell } from "../core/shell.js";
import type {
  FaultInjector,
  RestVerdict,
  SimExchange,
  SimHttpReply,
  SimHttpRequest,
  SimProtocol,
  SimRequestLog,
  SimShell,
  SimSocket,
} from "../core/types.js";
import type { VenuefourContext } from "./context.js";
import { createListing, DEFAULT_SYMBOLS, VENUEFOUR_POLICIES } from "./listing.js";
import { MarketStreams } from "./market-streams.js";
import {
  changeQuirks,
  DEFAULT_QUIRKS,
  VENUE_CADENCES,
  VENUE_LIMITS,
  type VenuefourQuirks,
  type VenuefourSimOptions,
} from "./options.js";
import { Publisher } from "./publisher.js";
import { Router } from "./router.js";
import { Sessions } from "./socket-session.js";

export interface VenuefourSim {
  /** Host of `/api/v1/…`, no trailing slash. */
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly shell: SimShell;
  readonly quirks: VenuefourQuirks;
  setQuirks(changes: Partial<VenuefourQuirks>): void;
  stop(): Promise<void>;
}

/** Of the capture: one counter of events over all markets, which order ids come from too. */
const FIRST_EVENT_ID = 336_536_000;
const SWEEP_MS = 1_000;

export async function startVenuefourSim(options: VenuefourSimOptions): Promise<VenuefourSim> {
  const venue = new Venue(options);
  await venue.listen();
  return venue;
}

class Venue implements VenuefourSim, SimProtocol {
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly #options: VenuefourSimOptions;
  readonly #clock: Clock;
  readonly #context: VenuefourContext;
  readonly #streams: MarketStreams;
  readonly #router: Router;
  readonly #sessions: Sessions;
  #shell: SimShell | null = null;
  #pulseTimer: TimerHandle | null = null;
  #sweepTimer: TimerHandle | null = null;

  constructor(options: VenuefourSimOptions) {
    this.#options = options;
    const clock = options.clock ?? createSystemClock();
    this.#clock = clock;
    const listing = createListing(options.symbols ?? DEFAULT_SYMBOLS);
    const exchange = createExchange({
      venue: "venuefour",
      seed: options.seed,
      clock,
      instruments: listing.instruments,
      policies: VENUEFOUR_POLICIES,
      firstSeq: FIRST_EVENT_ID,
      firstOrderId: FIRST_EVENT_ID,
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
    const random = createSeededRandom(seedOf("venuefour/room", options.seed));
    const context: VenuefourContext = {
      exchange,
      listing,
      publisher: new Publisher(exchange, random, () => context.quirks.oldBookIdShare),
      cadences: { ...VENUE_CADENCES, ...options.cadences },
      random,
      limits: { ...VENUE_LIMITS, ...options.limits },
      quirks: { ...DEFAULT_QUIRKS, ...options.quirks },
    };
    this.#context = context;
    this.#streams = new MarketStreams(context);
    this.#router = new Router(context);
    this.#sessions = new Sessions({
      context,
      streams: this.#streams,
      faults: this.faults,
      nowMs: () => clock.wallMs(),
    });
    exchange.addListener({ onTrade: (trade) => this.#streams.onTrade(trade, exchange.engineSeq()) });
    for (const fault of options.faults ?? []) this.faults.add(fault);
  }

  async listen(): Promise<void> {
    const control = createControl({
      exchange: this.exchange,
      faults: this.faults,
      log: this.log,
      hooks: {
        registerKeys: () => ({}),
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
    const pulse = (): void => {
      this.#pulseTimer = this.#clock.setTimer(pulse, this.#context.cadences.pulseMs);
      this.#streams.onPulse();
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
    return `ws://127.0.0.1:${this.port}/ws`;
  }

  get quirks(): VenuefourQuirks {
    return this.#context.quirks;
  }

  setQuirks(changes: Partial<VenuefourQuirks>): void {
    this.#context.quirks = changeQuirks(this.#context.quirks, changes);
  }

  async stop(): Promise<void> {
    for (const timer of [this.#pulseTimer, this.#sweepTimer]) if (timer !== null) this.#clock.clearTimer(timer);
    this.exchange.stop();
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
    const envelope = (error: string): string => JSON.stringify({ success: false, data: null, error, code: status });
    if (kind !== "error") return { status, headers, body: envelope("Rate limit exceeded") };
    if (status === 500) return { status, headers, body: envelope("Internal server error") };
    if (status === 504) return { status, headers, body: envelope("Request timed out") };
    // The proxy in front of the venue answers in plain text.
    return { status, headers, contentType: "text/plain", body: "upstream connect error" };
  }

  acceptSocket(path: string): number | null {
    return path === "/ws" ? null : 404;
  }

  onSocketOpen(socket: SimSocket): void {
    this.#sessions.open(socket);
  }

  onSocketMessage(socket: SimSocket, text: string): void {
    this.#sessions.message(socket, text);
  }

  onSocketPing(socket: SimSocket): void {
    this.#sessions.onPing(socket);
  }

  onSocketClose(socket: SimSocket): void {
    this.#sessions.close(socket);
  }

  #command(name: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | null {
    if (name === "quirks") {
      this.#context.quirks = changeQuirks(this.#context.quirks, body);
      return { quirks: this.#context.quirks };
    }
    if (name === "limits") {
      const changes = Object.fromEntries(
        Object.entries(body).filter(([key, value]) => Object.hasOwn(VENUE_LIMITS, key) && typeof value === "number"),
      );
      this.#context.limits = { ...this.#context.limits, ...changes };
      return { limits: this.#context.limits };
    }
    return null;
  }
}
