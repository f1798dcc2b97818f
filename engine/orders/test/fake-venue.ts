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
import type {
  CancelOutcome,
  Direction,
  OrderCommand,
  PlaceOutcome,
  PositionSide,
  RejectReason,
  VenueOrder,
} from "../../domain/order.js";
import type { AccountSummary, FeeRates, VenuePosition } from "../../domain/position.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { JudgedOrder } from "./invariants.js";
import { LatencyWindow } from "../../market/latency-window.js";
import { createMarket, type Market } from "../../market/market.js";
import type {
  AccountNames,
  AccountSession,
  AccountSettings,
  CallOptions,
  OpenSession,
  OrderRef,
  Read,
  ReadFailure,
  RoomStatus,
  SettingOutcome,
  VenueRoom,
} from "../../ports.js";

/** What becomes of one order. */
export interface PlaceFate {
  /**
   * fill: executes and answers. reject: refused and answered. notSent: stopped before it left. loseRequest: never
   * arrives. loseReply: executes, the answer is lost. late: the answer is lost and it executes `executeAfterMs` later. drop: acknowledged, and
   * never executed. throw: a bug of the room.
   */
  readonly kind: "fill" | "reject" | "notSent" | "loseRequest" | "loseReply" | "late" | "drop" | "throw";
  /** Share of the quantity that finds liquidity, 0 to 1. */
  readonly liquidity?: number;
  readonly reason?: RejectReason;
  readonly venueText?: string;
  readonly latencyMs?: number;
  readonly executeAfterMs?: number;
  /** Acknowledged as OPEN; the fill shows up in reads this much later. */
  readonly ackOnlyMs?: number;
  /** Reads show it as OPEN with nothing filled for so long. */
  readonly workingMs?: number;
  readonly fee?: { readonly amount: string; readonly asset: string };
  /** What the venue shows of the order otherwise than it is: a word of its own, above all. */
  readonly shows?: Partial<VenueOrder>;
}

export interface LoggedOrder {
  readonly venue: RoutableVenue;
  readonly account: string;
  readonly command: OrderCommand;
  /** Of the account's signer; taken anew for each order, by whatever process. */
  readonly nonce: number;
  /** Times of an entry are the venue's. */
  readonly sentAtMs: number;
  /** Past it the venue takes the order no more. */
  readonly expiresAtMs: number;
  executedAtMs: number | null;
  filledLots: number;
  rejected: boolean;
  /** When the sender learned how it ended; null: it could not know. */
  disclosedAtMs: number | null;
  order: VenueOrder | null;
  visibleAtMs: number;
  /** Reads show it as still working before. */
  endShownAtMs: number;
  refusal: RejectReason | null;
}

export interface FakeVenueOptions {
  readonly venue: RoutableVenue;
  readonly clock: Clock;
  readonly instrument?: Partial<Instrument>;
  /** Best bid and ask in ticks, and lots per level (10 levels, one step apart). */
  readonly bidTicks?: number;
  readonly askTicks?: number;
  readonly levelLots?: number;
  readonly hedgeMode?: boolean;
  /** Do streams stand for a live read where so much is wanted (undefined: the exact size)? Absent: it has none. */
  readonly streamed?: (wantedLots: number | undefined) => boolean;
  /** See `askedMark`. */
  readonly askedMark?: () => string | null;
}

export const ORDER_VALIDITY_MS = 1_500;

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
  toldTimeMs: () => number = () => this.nowMs();
  /** What a look-up shows of an order. */
  shownOrder: (order: VenueOrder) => VenueOrder = (order) => order;
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
  /** Of every account's own budget. */
  orderWaitMs: (lane: string) => number = () => 0;

  constructor(options: FakeVenueOptions) {
    this.venue = options.venue;
    this.clock = options.clock;
    this.#epochMs = options.clock.wallMs() - options.clock.monoNs() / 1e6;
    this.hedgeMode = options.hedgeMode ?? false;
    this.streamed = options.streamed;
    this.askedMark = options.askedMark;
    this.instrument = { ...fakeInstrument(options.venue), ...options.instrument };
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
      nowAtLeastMs: () => this.toldTimeMs(),
    };
  }

  /** What the stream said of the mark, just now. */
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
    return {
      venue: this.venue,
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
        readOrder: (session, _instrument, ref, options) => read(() => this.#readOrder(session, ref, options)),
        readOpenOrders: async () => failure("VENUE_ERROR"),
        readBalances: async () => failure("VENUE_ERROR"),
        readAccount: (session) => read(() => this.#readAccount(session)),
        readFeeRates: (session) => read(() => this.#readFeeRates(session)),
      },
      orders: {
        place: async (session, command, options) => {
          await gate();
          const { outcome, logged } = await this.#place(session, command, options);
          await gate();
          // Only here has the process that sent it seen the answer.
          if (logged !== null && outcome.outcome !== "unknown") logged.disclosedAtMs ??= this.nowMs();
          return outcome;
        },
        cancel: (session, _instrument, ref) => read(() => this.#cancel(session, ref)),
        placeBoundMs: () => ORDER_VALIDITY_MS,
        venueClientOrderId: (hex) => `c-${hex}`,
      },
      streams: null,
      ...(this.settings === null ? {} : { settings: this.#settingsPort(read) }),
      start: async () => {},
      stop: async () => {},
      markets: new Map([[this.instrument.symbol, this.market]]),
      ackLatency: new LatencyWindow(100),
      openSession: (raw) => this.#openSession(raw),
      orderWaitMs: (_session, lane) => this.orderWaitMs(lane),
      ...(this.behind === null ? {} : { accountNames: this.#accountNames(this.behind) }),
      status: () => this.#status(),
      ...(this.askedMark === undefined ? {} : { refreshMark: (_, options) => read(() => this.#refreshMark(options)) }),
    };
  }

  /** Orders and fills of one account here. */
  ordersOf(account: string): LoggedOrder[] {
    return this.log.filter((entry) => entry.account === account);
  }

  #openSession(raw: unknown): OpenSession {
    if (typeof raw !== "object" || raw === null) return { ok: false, problem: "must be an object" };
    const { account, secret, scope } = raw as Record<string, unknown>;
    if (typeof account !== "string") return { ok: false, problem: "account is missing" };
    if (typeof secret !== "string") return { ok: false, problem: "secret is missing" };
    const session = new FakeSession(this.venue, account, typeof scope === "string" ? scope : "");
    this.sessions.push(session);
    return { ok: true, session };
  }

  #accountNames(behind: (account: string) => string | ReadFailure): AccountNames {
    return {
      known: ({ accountId }) => (this.#behindKnown.has(accountId) ? behind(accountId) : null),
      read: async ({ accountId }) => {
        await this.#wait(this.readLatencyMs());
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
    await this.#wait(this.readLatencyMs());
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

  async #readOrder(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>> {
    this.calls.orders += 1;
    this.lanes.push(options.lane);
    const beganMs = this.nowMs();
    await this.#wait(this.readLatencyMs());
    if (isClosed(session)) return failure("AUTH");
    const failed = this.orderReadFailure();
    if (failed !== null) return failure(failed);
    const wanted = "clientIdHex" in ref ? ref.clientIdHex : "";
    const nowMs = this.nowMs();
    const asOfMs = this.clock.wallMs();
    const entry = this.log.findLast(
      (candidate) => candidate.command.clientIdHex === wanted && candidate.account === session.accountId,
    );
    if (entry === undefined) return { ok: true, value: null, asOfMs, source: "venue" };
    if (entry.order === null || nowMs < entry.visibleAtMs) {
      // Absence tells something only once the order can neither be accepted nor be hidden by the index any more.
      if (entry.order === null && beganMs > entry.expiresAtMs + 2_000) entry.disclosedAtMs ??= nowMs;
      return { ok: true, value: null, asOfMs, source: "venue" };
    }
    if (nowMs < entry.endShownAtMs) {
      const working = { ...entry.order, status: "OPEN", filledLots: 0, averagePrice: null } as const;
      return { ok: true, value: working, asOfMs, source: "venue" };
    }
    const shown = this.shownOrder(entry.order);
    // Another order says nothing of this one.
    if (shown === entry.order) entry.disclosedAtMs ??= nowMs;
    return { ok: true, value: shown, asOfMs, source: "venue" };
  }

  async #readAccount(session: AccountSession): Promise<Read<AccountSummary>> {
    await this.#wait(this.readLatencyMs());
    if (isClosed(session)) return failure("AUTH");
    const { venue, free } = this;
    const nowMs = this.clock.wallMs();
    const summary = { venue, quoteAsset: this.instrument.quoteAsset, equity: free ?? "0", free, tsVenueMs: nowMs };
    const value: AccountSummary = { ...summary, marginUsed: null, maintenanceMargin: null };
    return { ok: true, value, asOfMs: nowMs, source: "venue" };
  }

  async #refreshMark(options: CallOptions): Promise<boolean> {
    this.lanes.push(options.lane);
    await this.#wait(this.readLatencyMs());
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
        await this.#wait(this.readLatencyMs());
        const fate = this.settingFate();
        if (fate === "lose") return { outcome: "unknown", cause: "TIMEOUT" };
        if (fate === "reject")
          return { outcome: "rejected", reason: "VENUE_STATE", venueCode: "-9", venueText: "not now", sent: true };
        if (this.settings !== null) this.settings = { ...this.settings, ...change };
        return { outcome: "accepted", settings: current() };
      });
    return {
      read: () =>
        read(async () => {
          await this.#wait(this.readLatencyMs());
          return { ok: true, value: current(), asOfMs: this.clock.wallMs(), source: "venue" };
        }),
      setLeverage: (_session, _instrument, leverage) => set({ leverage }),
      setMarginMode: (_session, _instrument, marginMode) => set({ marginMode }),
    };
  }

  async #cancel(session: AccountSession, ref: OrderRef): Promise<CancelOutcome> {
    this.calls.cancel += 1;
    await this.#wait(this.readLatencyMs());
    const wanted = "clientIdHex" in ref ? ref.clientIdHex : "";
    const entry = this.log.find(
      ({ command, account }) => command.clientIdHex === wanted && account === session.accountId,
    );
    if (entry?.order?.status !== "OPEN")
      return { outcome: "rejected", reason: "NOT_FOUND", venueCode: "-2", venueText: "unknown order", sent: true };
    entry.order = { ...entry.order, status: "CANCELED" };
    return { outcome: "accepted" };
  }

  async #readFeeRates(session: AccountSession): Promise<Read<FeeRates>> {
    this.calls.fees += 1;
    await this.#wait(this.feeLatencyMs);
    if (isClosed(session) || this.feeRates === null) return failure("VENUE_ERROR");
    return { ok: true, value: this.feeRates, asOfMs: this.clock.wallMs(), source: "venue" };
  }

  async #place(
    session: AccountSession,
    command: OrderCommand,
    options: CallOptions,
  ): Promise<{ outcome: PlaceOutcome; logged: LoggedOrder | null }> {
    this.calls.place += 1;
    this.lanes.push(options.lane);
    const fate = this.fate(command, session.accountId);
    if (fate.kind === "throw") throw new TypeError("a bug of the room");
    if (fate.kind === "notSent" || isClosed(session)) {
      return {
        outcome: {
          outcome: "rejected",
          reason: fate.reason ?? (isClosed(session) ? "AUTH" : "RATE_LIMITED"),
          venueCode: "",
          venueText: fate.venueText ?? "",
          sent: false,
          retryAfterMs: null,
        },
        logged: null,
      };
    }
    const sentAtMs = this.nowMs();
    const expiresAtMs = sentAtMs + ORDER_VALIDITY_MS;
    const notPlacedAfterMs = this.clock.wallMs() + ORDER_VALIDITY_MS;
    const isTaken = this.log.some(
      (other) =>
        other.account === session.accountId &&
        other.command.clientIdHex === command.clientIdHex &&
        other.order !== null,
    );
    const entry: LoggedOrder = {
      venue: this.venue,
      account: session.accountId,
      command,
      nonce: this.nextNonce(session.accountId),
      sentAtMs,
      expiresAtMs,
      executedAtMs: null,
      filledLots: 0,
      rejected: false,
      disclosedAtMs: null,
      order: null,
      visibleAtMs: Number.POSITIVE_INFINITY,
      endShownAtMs: 0,
      refusal: null,
    };
    this.log.push(entry);
    if (isTaken) {
      entry.rejected = true;
      entry.refusal = "DUPLICATE_CLIENT_ID";
    }
    const indexLagMs = this.indexLagMs();
    if (isTaken || fate.kind === "drop") {
      // Nothing of it is executed.
    } else if (fate.kind === "late")
      this.clock.setTimer(() => this.#execute(entry, fate, indexLagMs), fate.executeAfterMs ?? 0);
    else if (fate.kind !== "loseRequest") this.#execute(entry, fate, indexLagMs);
    const latencyMs = fate.latencyMs ?? 10;
    const timedOut = fate.kind === "loseRequest" || fate.kind === "loseReply" || fate.kind === "late";
    await this.#wait(timedOut ? Math.min(options.timeoutMs, 300) : latencyMs);
    if (timedOut) return { outcome: { outcome: "unknown", cause: "TIMEOUT", notPlacedAfterMs }, logged: entry };
    if (fate.kind === "drop" && !isTaken) {
      const order = { ...this.#venueOrder(entry, fate), status: "OPEN" } as const;
      return { outcome: { outcome: "accepted", order, ackMs: latencyMs, notPlacedAfterMs }, logged: null };
    }
    if (entry.order === null) {
      const reason = entry.refusal ?? fate.reason ?? "VENUE_STATE";
      return {
        outcome: {
          outcome: "rejected",
          reason,
          venueCode: "-1",
          venueText: fate.venueText ?? reason,
          sent: true,
          retryAfterMs: null,
        },
        logged: entry,
      };
    }
    if (fate.ackOnlyMs !== undefined) {
      // Only that it exists is known now.
      return {
        outcome: {
          outcome: "accepted",
          order: { ...entry.order, status: "OPEN", filledLots: 0, averagePrice: null, fee: null },
          ackMs: latencyMs,
        },
        logged: null,
      };
    }
    return { outcome: { outcome: "accepted", order: entry.order, ackMs: latencyMs }, logged: entry };
  }

  /** Matches the order, unless it came too late. */
  #execute(entry: LoggedOrder, fate: PlaceFate, indexLagMs: number): void {
    const nowMs = this.nowMs();
    if (nowMs > entry.expiresAtMs) return;
    const { command, account } = entry;
    if (!command.reduceOnly) {
      this.#executeEntry(entry, fate, indexLagMs);
      return;
    }
    const direction: Direction = command.side === "SELL" ? "LONG" : "SHORT";
    const held = this.heldLots(account, direction);
    if (command.trigger !== undefined && fate.kind !== "reject") {
      // Waits: the market of this fake never moves.
      entry.executedAtMs = nowMs;
      entry.visibleAtMs = nowMs + indexLagMs;
      entry.order = this.#venueOrder(entry, fate);
      return;
    }
    if (fate.kind === "reject" || (command.reduceOnly && held === 0)) {
      entry.rejected = true;
      if (fate.kind !== "reject") entry.refusal = "REDUCE_ONLY";
      return;
    }
    const liquid = Math.floor(command.qtyLots * (fate.liquidity ?? 1));
    const filledLots =
      command.timeInForce === "GTC" && fate.liquidity === undefined
        ? 0
        : Math.min(liquid, command.reduceOnly ? held : liquid);
    entry.executedAtMs = nowMs;
    entry.filledLots = filledLots;
    entry.visibleAtMs = nowMs + indexLagMs + (fate.ackOnlyMs ?? 0);
    entry.endShownAtMs = nowMs + (fate.workingMs ?? 0);
    this.setPosition(account, direction, Math.max(0, held - filledLots));
    entry.order = this.#venueOrder(entry, fate);
  }

  /** Without the reduce-only flag: adds to its side, on a one-way account after what it takes from the other. */
  #executeEntry(entry: LoggedOrder, fate: PlaceFate, indexLagMs: number): void {
    const { command, account } = entry;
    if (fate.kind === "reject") {
      entry.rejected = true;
      return;
    }
    const direction: Direction = command.side === "BUY" ? "LONG" : "SHORT";
    const opposite: Direction = direction === "LONG" ? "SHORT" : "LONG";
    const rests = command.timeInForce === "GTC" && fate.liquidity === undefined;
    const filledLots = rests ? 0 : Math.floor(command.qtyLots * (fate.liquidity ?? 1));
    const netted = this.hedgeMode ? 0 : Math.min(filledLots, this.heldLots(account, opposite));
    this.setPosition(account, opposite, this.heldLots(account, opposite) - netted);
    this.setPosition(account, direction, this.heldLots(account, direction) + filledLots - netted);
    entry.executedAtMs = this.nowMs();
    entry.filledLots = filledLots;
    entry.visibleAtMs = entry.executedAtMs + indexLagMs + (fate.ackOnlyMs ?? 0);
    entry.endShownAtMs = entry.executedAtMs + (fate.workingMs ?? 0);
    entry.order = this.#venueOrder(entry, fate);
  }

  #venueOrder(entry: LoggedOrder, fate: PlaceFate): VenueOrder {
    const { command, filledLots } = entry;
    const touch = command.side === "SELL" ? this.market.book.bidTicks(0) : this.market.book.askTicks(0);
    const open = (command.timeInForce === "GTC" || command.trigger !== undefined) && filledLots < command.qtyLots;
    return {
      venue: this.venue,
      nativeSymbol: this.instrument.nativeSymbol,
      venueOrderId: String(9_000_000 + this.log.indexOf(entry)),
      venueClientOrderId: `c-${command.clientIdHex}`,
      side: command.side,
      type: command.type,
      status:
        filledLots === command.qtyLots ? "FILLED" : open ? (filledLots > 0 ? "PARTIALLY_FILLED" : "OPEN") : "CANCELED",
      venueStatus: "native",
      priceTicks: command.priceTicks,
      qtyLots: command.qtyLots,
      filledLots,
      averagePrice: filledLots > 0 ? String(touch / 10 ** this.instrument.priceDecimals) : null,
      reduceOnly: command.reduceOnly,
      triggerPrice:
        command.trigger === undefined ? null : String(command.trigger.priceTicks / 10 ** this.instrument.priceDecimals),
      tsVenueMs: entry.executedAtMs ?? 0,
      fee: fate.fee ?? null,
      ...fate.shows,
    };
  }

  #position(direction: Direction, qtyLots: number): VenuePosition {
    const positionSide: PositionSide = this.hedgeMode ? direction : "BOTH";
    return {
      venue: this.venue,
      symbol: this.instrument.symbol,
      nativeSymbol: this.instrument.nativeSymbol,
      direction,
      positionSide,
      qtyLots,
      entryPrice: "95000",
      markPrice: null,
      liquidationPrice: null,
      unrealizedPnl: null,
      leverage: 5,
      marginMode: "cross",
      collateral: null,
      tsVenueMs: this.clock.wallMs(),
    };
  }

  #status(): RoomStatus {
    return {
      venue: this.venue,
      state: "LIVE",
      breaker: this.breaker,
      breakerOpenUntilMs: 0,
      clockOffsetMs: 0,
      socketCount: 1,
      reconnectCount: 0,
      resyncCount: 0,
      gapCount: 0,
      decodeErrorCount: 0,
      protocolDriftCount: 0,
      laneTokens: { exit: this.exitTokens, trade: this.tradeTokens, reconcile: 0, read: 0, background: 0 },
    };
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.setTimer(resolve, delayMs);
    });
  }
}

export class FakeSession implements AccountSession {
  readonly venue: RoutableVenue;
  readonly accountId: string;
  readonly accountScope: string;
  closed = false;

  constructor(venue: RoutableVenue, accountId: string, accountScope = "") {
    this.venue = venue;
    this.accountId = accountId;
    this.accountScope = accountScope;
  }

  close(): void {
    this.closed = true;
  }

  toJSON(): object {
    return {};
  }
}

function isClosed(session: AccountSession): boolean {
  return session instanceof FakeSession && session.closed;
}

/** Names of accounts are lower case here. */
function isReadFailure(name: string): name is ReadFailure {
  return name === name.toUpperCase();
}

function failure(code: ReadFailure): { ok: false; code: ReadFailure; message: string; retryAfterMs: number | null } {
  return { ok: false, code, message: code, retryAfterMs: code === "RATE_LIMITED" ? 700 : null };
}

/** Prices with one decimal, sizes with three: 1_000_000 ticks are 100000.0, 250 lots are 0.250. */
export function fakeInstrument(venue: RoutableVenue): Instrument {
  return {
    venue,
    symbol: "BTC",
    nativeSymbol: venue === "venueone" ? "BTC" : "BTCUSDT",
    nativeId: 0,
    multiplierExp10: 0,
    priceDecimals: 1,
    qtyDecimals: 3,
    priceRule: "step",
    priceStepTicks: 1,
    qtyStepLots: 1,
    minQtyLots: 1,
    maxQtyLots: 1_000_000,
    minNotional: "0",
    minNotionalOnReduceOnly: "no",
    bandUpPpm: 0,
    bandDownPpm: 0,
    quoteAsset: venue === "venueone" ? "USDC" : "USDT",
    takerFeeMilliBps: 4_500,
    makerFeeMilliBps: 1_500,
    maxLeverage: 50,
    status: "TRADING",
  };
}

/** The log of one account in the form that the judge reads. */
export function judgedOrders(venues: readonly FakeVenue[], account: string): JudgedOrder[] {
  return venues.flatMap((venue) =>
    venue.ordersOf(account).map(({ command, nonce, sentAtMs, filledLots, disclosedAtMs }) => ({
      venue: venue.venue,
      clientId: command.clientIdHex,
      nonce,
      side: command.side,
      reduceOnly: command.reduceOnly,
      positionSide: command.positionSide,
      qtyLots: command.qtyLots,
      waits: command.trigger !== undefined,
      sentAtMs,
      filledLots,
      disclosedAtMs,
    })),
  );
}
