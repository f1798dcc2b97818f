/**
 * A venue as the trade path sees it, hand-written for tests: accounts with positions, margin and settings, IOC and GTC
 * orders against a fixed book, triggers that wait, a log of everything that reached it, and knobs for everything that can
 * go wrong. It
 * runs on a virtual clock and shares nothing with the code under test but the port's types and the book.
 *
 * The log is the judge: `test/invariants.ts` reads it, never what the service says of itself.
 */
import type { Clock } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Direction, OrderCommand, PositionSide, VenueOrder } from "../../domain/order.js";
import type { AccountSummary, FeeRates, VenuePosition } from "../../domain/position.js";
import type { RoutableVenue } from "../../domain/venue.js";
import {
  type CancelFate,
  cancelOrder,
  ORDER_VALIDITY_MS,
  placeOrder,
  readOrder,
  type LoggedOrder,
  type PlaceFate,
} from "./fake-matching.js";
import { failure, FakeSession, isClosed } from "./fake-session.js";
import { heldPosition, roomDouble } from "./room-double.js";
import { createMarket, type Market } from "../../market/market.js";
import type {
  AccountNames,
  AccountSession,
  AccountSettings,
  AccountStreams,
  CallOptions,
  OpenSession,
  Read,
  ReadFailure,
  SettingOutcome,
  VenueRoom,
} from "../../ports.js";
import { anInstrument } from "../../domain/test/instruments.js";

export interface FakeVenueOptions {
  readonly venue: RoutableVenue;
  readonly clock: Clock;
  readonly instrument?: Partial<Instrument>;
  /** Best bid and ask in ticks, and lots per level (10 levels, one step apart). */
  readonly bidTicks?: number;
  readonly askTicks?: number;
  readonly levelLots?: number;
  readonly hedgeMode?: boolean;
  /** Do streams replace a live read where so much is wanted (undefined: the exact size)? Absent: it has none. */
  readonly streamed?: (wantedLots: number | undefined) => boolean;
  /** See `askedMark`. */
  readonly askedMark?: () => string | null;
}

export class FakeVenue {
  readonly venue: RoutableVenue;
  readonly clock: Clock;
  readonly instrument: Instrument;
  readonly market: Market;
  readonly hedgeMode: boolean;
  readonly streamed: FakeVenueOptions["streamed"];
  readonly log: LoggedOrder[] = [];
  /** account → direction → lots. */
  readonly positions = new Map<string, Map<Direction, number>>();
  /** What its streams show of every account, after frames were lost; null: the truth. */
  shown: ReadonlyMap<Direction, number> | null = null;
  readonly sessions: FakeSession[] = [];
  readonly calls = { positions: 0, orders: 0, fees: 0, place: 0, settings: 0, cancel: 0 };
  readonly lanes: string[] = [];
  readonly #nonces = new Map<string, number>();
  /** The venue's time at the clock's origin: steps of our wall clock are none of its own. */
  readonly #epochMs: number;
  /** Knobs; replaced by tests. */
  fate: (command: OrderCommand, account: string) => PlaceFate = () => ({ kind: "fill" });
  nextNonce = (account: string): number => {
    const nonce = (this.#nonces.get(account) ?? 0) + 1;
    this.#nonces.set(account, nonce);
    return nonce;
  };
  readLatencyMs = () => 5;
  positionFailure: (account: string) => ReadFailure | "HANG" | null = () => null;
  orderReadFailure: () => ReadFailure | null = () => null;
  /** The venue's time as its room knows it. */
  knownTimeMs: () => number = () => this.nowMs();
  /** What a look-up shows of an order, on the scale of the contract that it asks with. */
  shownOrder: (order: VenueOrder, asked: Instrument) => VenueOrder = (order) => order;
  validityMs = ORDER_VALIDITY_MS;
  feeRates: FeeRates | null = null;
  /** Free margin of every account; null: the venue does not say. */
  free: string | null = null;
  /** As every account has them; null: the venue has no such settings. */
  settings: { leverage: number; marginMode: "cross" | "isolated" } | null = { leverage: 10, marginMode: "cross" };
  settingFate: () => "accept" | "reject" | "lose" = () => "accept";
  feeLatencyMs = 5;
  indexLagMs = () => 0;
  breaker: "closed" | "open" = "closed";
  exitTokens = 10;
  tradeTokens = 10;
  /** The mark as the venue has it when it is asked; null: it does not answer. Absent: the room cannot ask. */
  askedMark: (() => string | null) | undefined;
  /** The account that a key acts for: known, or (with `asks`) once it was asked; a failure: the venue does not say. */
  behind: ((account: string) => string | ReadFailure) | null = null;
  readonly behindAsked: string[] = [];
  readonly #behindKnown = new Set<string>();
  cancelFate: () => CancelFate = () => "accept";
  /** Null when it pushes nothing of its accounts. */
  streams: AccountStreams | null = null;
  /** Of every account's own budget. */
  orderWaitMs: (lane: string) => number = () => 0;
  /** The same of changes of settings alone. */
  settingWaitMs = 0;

  constructor(options: FakeVenueOptions) {
    this.venue = options.venue;
    this.clock = options.clock;
    this.#epochMs = options.clock.wallMs() - options.clock.monoNs() / 1e6;
    this.hedgeMode = options.hedgeMode ?? false;
    this.streamed = options.streamed;
    this.askedMark = options.askedMark;
    this.instrument = anInstrument({ venue: options.venue, maxQtyLots: 1_000_000, ...options.instrument });
    this.market = createMarket(this.instrument, { deepTier: false, maxBookAgeMs: 1e12, maxDeepAgeMs: 0 });
    this.setBook(options.bidTicks ?? 999_900, options.askTicks ?? 1_000_100, options.levelLots ?? 1_000);
  }

  setBook(bidTicks: number, askTicks: number, levelLots: number): void {
    const { book } = this.market;
    const step = this.instrument.priceStepTicks;
    book.beginSnapshot();
    for (let level = 0; level < 10; level++) {
      book.applyBid(bidTicks - level * step, levelLots);
      book.applyAsk(askTicks + level * step, levelLots);
    }
    book.commit(1, this.clock.wallMs(), this.clock.monoNs());
  }

  /** The venue's own time. */
  nowMs(): number {
    return Math.floor(this.#epochMs + this.clock.monoNs() / 1e6);
  }

  /** Measured without an error at any time. */
  #venueClock(): VenueRoom["venueClock"] {
    const { clock } = this;
    const nowMs = (): number => this.nowMs();
    return {
      get offsetMs() {
        return nowMs() - clock.wallMs();
      },
      nowAtLeastMs: () => this.knownTimeMs(),
    };
  }

  /** The mark as the stream has it, just now. */
  setMark(price: string): void {
    this.market.ticker.markPrice = price;
    this.market.ticker.stamp(this.clock.wallMs(), this.clock.monoNs());
  }

  setPosition(account: string, direction: Direction, qtyLots: number): void {
    const held = this.positions.get(account) ?? new Map<Direction, number>();
    held.set(direction, qtyLots);
    this.positions.set(account, held);
  }

  heldLots(account: string, direction: Direction): number {
    return this.positions.get(account)?.get(direction) ?? 0;
  }

  /** The room of one process. `gate` is awaited before and after each call, so a test can kill the process in it. */
  room(gate: () => Promise<void> = async () => {}): VenueRoom {
    const read = async <T>(work: () => Promise<T>): Promise<T> => {
      await gate();
      const value = await work();
      await gate();
      return value;
    };
    const { streamed } = this;
    return roomDouble(this.venue, {
      venueClock: this.#venueClock(),
      reader: {
        ...(streamed === undefined
          ? {}
          : {
              heldPositions: (session: AccountSession, _: Instrument, wantedLots?: number) =>
                streamed(wantedLots) ? this.#heldPositions(session, "stream") : null,
              verifyPositions: (session: AccountSession, _: Instrument | null, options: CallOptions) =>
                read(() => this.#readPositions(session, options)),
            }),
        readPositions: (session, _instrument, options) =>
          read(async () =>
            streamed?.(undefined) === true
              ? this.#heldPositions(session, "stream")
              : this.#readPositions(session, options),
          ),
        readOrder: (session, instrument, ref, options) =>
          read(() => readOrder(this, session, instrument, ref, options)),
        readAccount: (session) => read(() => this.#readAccount(session)),
        readFeeRates: (session) => read(() => this.#readFeeRates(session)),
      },
      orders: {
        place: async (session, command, options) => {
          await gate();
          const { outcome, logged } = await placeOrder(this, session, command, options);
          await gate();
          // Only here has the process that sent it seen the answer.
          if (logged !== null && outcome.outcome !== "unknown") logged.disclosedAtMs ??= this.nowMs();
          return outcome;
        },
        cancel: (session, _instrument, ref) => read(() => cancelOrder(this, session, ref)),
        placeBoundMs: () => this.validityMs,
        venueClientOrderId: (hex) => `c-${hex}`,
      },
      streams: this.streams,
      ...(this.settings === null ? {} : { settings: this.#settingsPort(read) }),
      markets: [this.market],
      openSession: (raw, payer) => this.#openSession(raw, payer),
      orderWaitMs: (_session, lane) => this.orderWaitMs(lane),
      ...(this.behind === null ? {} : { accountNames: this.#accountNames(this.behind) }),
      status: () => ({
        breaker: this.breaker,
        laneTokens: { exit: this.exitTokens, trade: this.tradeTokens, reconcile: 0, read: 0, background: 0 },
      }),
      ...(this.askedMark === undefined ? {} : { refreshMark: (_, options) => read(() => this.#refreshMark(options)) }),
    });
  }

  /** Orders and fills of one account here. */
  ordersOf(account: string): LoggedOrder[] {
    return this.log.filter((entry) => entry.account === account);
  }

  #openSession(raw: unknown, payer: string | null): OpenSession {
    if (typeof raw !== "object" || raw === null) return { ok: false, problem: "must be an object" };
    const { account, secret, scope } = raw as Record<string, unknown>;
    if (typeof account !== "string") return { ok: false, problem: "account is missing" };
    if (typeof secret !== "string") return { ok: false, problem: "secret is missing" };
    const session = new FakeSession(this.venue, account, typeof scope === "string" ? scope : "", payer);
    this.sessions.push(session);
    return { ok: true, session };
  }

  #accountNames(behind: (account: string) => string | ReadFailure): AccountNames {
    return {
      known: ({ accountId }) => (this.#behindKnown.has(accountId) ? behind(accountId) : null),
      read: async ({ accountId }) => {
        await this.wait(this.readLatencyMs());
        this.behindAsked.push(accountId);
        const name = behind(accountId);
        if (isReadFailure(name)) return failure(name);
        this.#behindKnown.add(accountId);
        return { ok: true, value: name, asOfMs: this.clock.wallMs(), source: "venue" };
      },
    };
  }

  async #readPositions(session: AccountSession, options: CallOptions): Promise<Read<readonly VenuePosition[]>> {
    this.calls.positions += 1;
    this.lanes.push(options.lane);
    const failed = this.positionFailure(session.accountId);
    if (failed === "HANG") return new Promise(() => {});
    await this.wait(this.readLatencyMs());
    if (isClosed(session)) return failure("AUTH");
    if (failed !== null) return failure(failed);
    return this.#heldPositions(session, "venue");
  }

  #heldPositions(session: AccountSession, source: "stream" | "venue"): Read<readonly VenuePosition[]> {
    const rows: VenuePosition[] = [];
    const held = source === "stream" ? (this.shown ?? this.positions.get(session.accountId)) : null;
    for (const [direction, qtyLots] of held ?? this.positions.get(session.accountId) ?? []) {
      if (qtyLots > 0) rows.push(this.#position(direction, qtyLots));
    }
    return { ok: true, value: rows, asOfMs: this.clock.wallMs(), source };
  }

  async #readAccount(session: AccountSession): Promise<Read<AccountSummary>> {
    await this.wait(this.readLatencyMs());
    if (isClosed(session)) return failure("AUTH");
    const { venue, free } = this;
    const nowMs = this.clock.wallMs();
    const summary = { venue, quoteAsset: this.instrument.quoteAsset, equity: free ?? "0", free, tsVenueMs: nowMs };
    const value: AccountSummary = { ...summary, marginUsed: null, maintenanceMargin: null };
    return { ok: true, value, asOfMs: nowMs, source: "venue" };
  }

  async #refreshMark(options: CallOptions): Promise<boolean> {
    this.lanes.push(options.lane);
    await this.wait(this.readLatencyMs());
    const mark = this.askedMark?.() ?? null;
    if (mark !== null) this.setMark(mark);
    return mark !== null;
  }

  #settingsPort(read: <T>(work: () => Promise<T>) => Promise<T>): AccountSettings {
    const current = () => ({
      leverage: this.settings?.leverage ?? null,
      marginMode: this.settings?.marginMode ?? null,
      maxNotionalValue: null,
      hedgeMode: this.hedgeMode,
    });
    const set = (change: Partial<NonNullable<FakeVenue["settings"]>>) =>
      read(async (): Promise<SettingOutcome> => {
        this.calls.settings += 1;
        await this.wait(this.readLatencyMs());
        const fate = this.settingFate();
        if (fate === "lose") return { outcome: "unknown", cause: "TIMEOUT" };
        if (fate === "reject")
          return { outcome: "rejected", reason: "VENUE_STATE", venueCode: "-9", venueText: "not now", sent: true };
        if (this.settingWaitMs > 0) {
          const why = {
            reason: "RATE_LIMITED",
            venueCode: "BUDGET",
            venueText: "too many changes",
            sent: false,
          } as const;
          return { outcome: "rejected", ...why, retryAfterMs: this.settingWaitMs };
        }
        if (this.settings !== null) this.settings = { ...this.settings, ...change };
        return { outcome: "accepted", settings: current() };
      });
    return {
      read: () =>
        read(async () => {
          await this.wait(this.readLatencyMs());
          return { ok: true, value: current(), asOfMs: this.clock.wallMs(), source: "venue" };
        }),
      setLeverage: (_session, _instrument, leverage) => set({ leverage }),
      setMarginMode: (_session, _instrument, marginMode) => set({ marginMode }),
      waitMs: (_session, lane) => (lane === "exit" ? 0 : this.settingWaitMs),
    };
  }

  async #readFeeRates(session: AccountSession): Promise<Read<FeeRates>> {
    this.calls.fees += 1;
    await this.wait(this.feeLatencyMs);
    if (isClosed(session) || this.feeRates === null) return failure("VENUE_ERROR");
    return { ok: true, value: this.feeRates, asOfMs: this.clock.wallMs(), source: "venue" };
  }

  #position(direction: Direction, qtyLots: number): VenuePosition {
    const positionSide: PositionSide = this.hedgeMode ? direction : "BOTH";
    const lots = direction === "LONG" ? qtyLots : -qtyLots;
    return heldPosition(this.instrument, lots, this.clock.wallMs(), { positionSide });
  }

  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.setTimer(resolve, delayMs);
    });
  }
}

/** Names of accounts are lower case here. */
function isReadFailure(name: string): name is ReadFailure {
  return name === name.toUpperCase();
}
