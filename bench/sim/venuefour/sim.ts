/** The local venuefour: the engine of bench/sim/core behind the venue's wire protocol, on one loopback port. */
import { createSystemClock, type Clock, type TimerHandle } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createControl } from "../core/control.js";
import { createExchange } from "../core/exchange.js";
import { seedOf } from "../core/factor-model.js";
import { changeListing, type ListingChange } from "../core/listing-change.js";
import { createFaultInjector } from "../core/faults.js";
import { parseSafe } from "../core/fixed.js";
import { createRequestLog, type SimRequestLog } from "../core/request-log.js";
import { startShell } from "../core/shell.js";
import type { FaultInjector, RestVerdict } from "../core/fault-types.js";
import type { SimExchange } from "../core/types.js";
import type { SimHttpReply, SimHttpRequest, SimProtocol, SimShell, SimSocket } from "../core/server-types.js";
import { AccountJournal } from "./account-journal.js";
import { AccountStreams } from "./account-streams.js";
import { Actions } from "./actions.js";
import type { VenuefourContext } from "./context.js";
import { Credits } from "./credits.js";
import { KeyRing, type KeyRequest, type RegisteredKeys } from "./keys.js";
import { createListing, DEFAULT_SYMBOLS, VENUEFOUR_POLICIES } from "./listing.js";
import { MarketStreams } from "./market-streams.js";
import {
  changeQuirks,
  DEFAULT_QUIRKS,
  VENUE_CADENCES,
  VENUE_LIMITS,
  type VenuefourAccount,
  type VenuefourQuirks,
  type VenuefourSimOptions,
} from "./options.js";
import { Publisher } from "./publisher.js";
import { Router } from "./router.js";
import { Sessions } from "./socket-session.js";
import { SocketTrading } from "./socket-trading.js";

export interface VenuefourSim {
  /** Host of `/api/v1/…`, no trailing slash. */
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly log: SimRequestLog;
  readonly shell: SimShell;
  readonly keys: KeyRing;
  readonly quirks: VenuefourQuirks;
  addAccount(account: VenuefourAccount): RegisteredKeys;
  setQuirks(changes: Partial<VenuefourQuirks>): void;
  /** Changes what the venue lists, while it runs. */
  changeListing(symbol: string, change: ListingChange): Promise<void>;
  stop(): Promise<void>;
}

/** Of the capture: one counter of events over all markets; order ids are taken from it. */
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
  readonly keys: KeyRing;
  readonly #options: VenuefourSimOptions;
  readonly #clock: Clock;
  readonly #context: VenuefourContext;
  readonly #streams: MarketStreams;
  readonly #accounts: AccountStreams;
  readonly #actions: Actions;
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
      orderIdsFromSeq: true,
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
    this.keys = new KeyRing(options.seed);
    const random = createSeededRandom(seedOf("venuefour/room", options.seed));
    const context: VenuefourContext = {
      exchange,
      listing,
      publisher: new Publisher(exchange, random, () => context.quirks.oldBookIdShare),
      cadences: { ...VENUE_CADENCES, ...options.cadences },
      random,
      keys: this.keys,
      log: this.log,
      journal: new AccountJournal(exchange, (accountId) => this.keys.walletOf(accountId) ?? accountId),
      limits: { ...VENUE_LIMITS, ...options.limits },
      quirks: { ...DEFAULT_QUIRKS, ...options.quirks },
    };
    this.#context = context;
    this.#streams = new MarketStreams(context);
    this.#accounts = new AccountStreams(context, clock);
    // The engine tells within its calls; the streams are told when a call is through.
    this.#actions = new Actions({ context, clock, onDone: () => this.#settle() });
    const credits = new Credits((configKey) => this.keys.walletOfConfigKey(configKey));
    this.#router = new Router({ context, actions: this.#actions, credits });
    this.#sessions = new Sessions({
      context,
      streams: this.#streams,
      accounts: this.#accounts,
      trading: new SocketTrading({
        context,
        actions: this.#actions,
        credits,
        flush: () => this.#accounts.flush(),
        nowMs: () => clock.wallMs(),
      }),
      faults: this.faults,
      nowMs: () => clock.wallMs(),
    });
    exchange.addListener({ onTrade: (trade) => this.#streams.onTrade(trade, exchange.engineSeq()) });
    for (const account of options.accounts ?? []) this.addAccount(account);
    for (const fault of options.faults ?? []) this.faults.add(fault);
  }

  changeListing(symbol: string, change: ListingChange): Promise<void> {
    return changeListing(this.exchange, symbol, change, () => this.#context.listing.change(symbol, change));
  }

  addAccount(account: VenuefourAccount): RegisteredKeys {
    const { walletAddress, agents, deposit } = account;
    const accountId = account.accountId ?? walletAddress;
    if (accountId === undefined) throw new RangeError("an account needs a wallet address or an id");
    this.exchange.createAccount({ accountId, deposit });
    const keys = this.keys.register(accountId, {
      ...(walletAddress === undefined ? {} : { walletAddress }),
      ...(agents === undefined ? {} : { agents }),
    });
    for (const { symbol, qty, entryPrice } of account.positions ?? []) {
      const instrument = this.exchange.instruments.get(symbol);
      if (instrument === undefined) throw new RangeError(`${symbol} has no market here`);
      const { priceDecimals, qtyDecimals } = instrument;
      const qtyLots = parseSafe(qty, qtyDecimals);
      const markTicks = Math.round(this.exchange.mark(symbol).markE8 / 10 ** (8 - priceDecimals));
      const entryTicks = entryPrice === undefined ? markTicks : parseSafe(entryPrice, priceDecimals);
      if (qtyLots === null || entryTicks === null) throw new RangeError(`${symbol}: position is off the venue's grid`);
      this.exchange.setPosition(accountId, symbol, "BOTH", qtyLots, entryTicks);
    }
    return keys;
  }

  async listen(): Promise<void> {
    const control = createControl({
      exchange: this.exchange,
      faults: this.faults,
      log: this.log,
      hooks: {
        registerKeys: (accountId, body) => ({ ...this.keys.register(accountId, keyRequest(body)) }),
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
      this.#settle();
      this.#accounts.flush();
      this.#accounts.onPulse();
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

  async handleHttp(request: SimHttpRequest): Promise<SimHttpReply> {
    const reply = await this.#router.handle(request);
    this.#accounts.flush();
    return reply;
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

  /** What the engine leaves to the venue: children of filled orders, protection of closed positions. */
  #settle(): void {
    this.#context.journal.settled();
    this.#actions.desk.settle();
    for (const { accountId } of this.exchange.accounts()) this.#actions.desk.dropProtection(accountId);
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

/** Keys of POST /_sim/accounts: an address and a list of agents; everything else is ignored. */
function keyRequest(body: Readonly<Record<string, unknown>>): KeyRequest {
  const { walletAddress, agents } = body;
  return {
    ...(typeof walletAddress === "string" ? { walletAddress } : {}),
    ...(Array.isArray(agents) ? { agents: agents.map(String) } : {}),
  };
}
