/**
 * A venue that consists of accounts only: positions and orders that a test writes, streams with a stated number of
 * places, reads that are counted by lane and answered as the test sets. On virtual time: a stream is LIVE
 * `STREAM_LIVE_MS` after it was opened.
 */
import type { Clock } from "../../domain/clock.js";
import type { VenueOrder } from "../../domain/order.js";
import type { VenuePosition } from "../../domain/position.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { createMarket, type FeedState, type Market } from "../../market/market.js";
import type {
  AccountEvent,
  AccountSession,
  AccountStream,
  CallOptions,
  Lane,
  OpenSession,
  Read,
  ReadFailure,
  VenueRoom,
} from "../../ports.js";
import { heldPosition, roomDouble } from "../../orders/test/room-double.js";
import { anInstrument } from "../../domain/test/instruments.js";

export const STREAM_LIVE_MS = 20;

interface Failure {
  readonly code: ReadFailure;
  readonly retryAfterMs: number | null;
  readonly isAccountLimit?: true;
}

interface Stream {
  state: FeedState;
  readonly isGenuine: boolean;
  readonly onEvent: (event: AccountEvent) => void;
}

/** One account: the true state that tests write and that reads and streams show. */
export class FakeAccount {
  readonly id: string;
  readonly secret: string;
  readonly #venue: AccountVenue;
  readonly positions = new Map<string, VenuePosition>();
  readonly open = new Map<string, VenueOrder>();
  readonly ended = new Map<string, VenueOrder>();
  readonly streams = new Set<Stream>();
  /** Secrets that the venue takes; a test adds and revokes them. */
  readonly secrets: Set<string>;
  /** Its stream frames are lost without notice. */
  isLossy = false;
  /** Since when the room doubts its order events. */
  ordersDoubtMs: number | null = null;
  #orderCount = 0;

  constructor(venue: AccountVenue, id: string, secret: string) {
    this.#venue = venue;
    this.id = id;
    this.secret = secret;
    this.secrets = new Set([secret]);
  }

  /** Sets the position in signed lots; 0 closes it. `changes`: other fields. */
  hold(symbol: string, lots: number, changes: Partial<VenuePosition> = {}): void {
    for (const direction of ["LONG", "SHORT"] as const) this.positions.delete(`${symbol}|${direction}`);
    if (lots !== 0) {
      const position = this.#venue.position(symbol, lots, changes);
      this.positions.set(`${symbol}|${position.direction}`, position);
    }
    this.#venue.ringPositions(this);
  }

  /** Sets a holding of this size in a contract that is not listed; null removes it. */
  holdUncounted(nativeSymbol: string, size: string | null): void {
    if (size === null) this.positions.delete(nativeSymbol);
    else {
      const sample = this.#venue.position("BTC", 1, {});
      this.positions.set(nativeSymbol, { ...sample, symbol: nativeSymbol, nativeSymbol, qtyLots: 0, uncounted: size });
    }
    this.#venue.ringPositions(this);
  }

  /** Adds a resting order and sends it on the streams. */
  rest(symbol: string, qtyLots: number, changes: Partial<VenueOrder> = {}): VenueOrder {
    const order: VenueOrder = {
      venue: this.#venue.venue,
      nativeSymbol: this.#venue.nativeOf(symbol),
      venueOrderId: `${this.id}-${++this.#orderCount}`,
      venueClientOrderId: null,
      side: "BUY",
      type: "LIMIT",
      status: "OPEN",
      venueStatus: "NEW",
      priceTicks: 9_000,
      qtyLots,
      filledLots: 0,
      averagePrice: null,
      reduceOnly: false,
      triggerPrice: null,
      tsVenueMs: this.#venue.clock.wallMs(),
      fee: null,
      ...changes,
    };
    this.#set(order);
    this.tell({ kind: "order", order });
    return order;
  }

  /** Fills part of it; a complete fill ends it. */
  fill(orderId: string, lots: number, isLiquidation = false): void {
    const before = this.open.get(orderId);
    if (before === undefined) return;
    const filledLots = Math.min(before.qtyLots, before.filledLots + lots);
    const isWhole = filledLots === before.qtyLots;
    const order: VenueOrder = {
      ...before,
      filledLots,
      status: isWhole ? "FILLED" : "PARTIALLY_FILLED",
      venueStatus: isWhole ? "FILLED" : "PARTIALLY_FILLED",
      averagePrice: "900",
      tsVenueMs: this.#venue.clock.wallMs(),
    };
    this.#set(order);
    this.tell({
      kind: "fill",
      order,
      qtyLots: filledLots - before.filledLots,
      price: "900",
      fee: { amount: "0.01", asset: "USDT" },
      tradeId: `${orderId}-${filledLots}`,
      ...(isLiquidation ? { isLiquidation } : {}),
    });
    this.tell({ kind: "order", order });
  }

  cancel(orderId: string): void {
    const before = this.open.get(orderId);
    if (before === undefined) return;
    const order: VenueOrder = { ...before, status: "CANCELED", venueStatus: "CANCELED" };
    this.#set(order);
    this.tell({ kind: "order", order });
  }

  /** Sends on LIVE streams only: a stream that is away misses it. */
  tell(event: AccountEvent): void {
    if (this.isLossy) return;
    for (const stream of [...this.streams]) if (stream.state === "LIVE" && stream.isGenuine) stream.onEvent(event);
  }

  /** Disconnects the streams. */
  drop(): void {
    for (const stream of [...this.streams]) this.#state(stream, "STALE");
  }

  /** Reconnects the streams, reconciled by the room: orders that are open now are reported again. */
  restore(): void {
    for (const stream of [...this.streams]) {
      if (!stream.isGenuine) continue;
      this.#state(stream, "LIVE");
      stream.onEvent({ kind: "positions" });
      for (const order of [...this.open.values()]) stream.onEvent({ kind: "order", order });
    }
  }

  end(): void {
    for (const stream of [...this.streams]) {
      this.streams.delete(stream);
      this.#state(stream, "DOWN");
    }
  }

  #state(stream: Stream, state: FeedState): void {
    stream.state = state;
    stream.onEvent({ kind: "state", state });
  }

  #set(order: VenueOrder): void {
    const isOpen = order.status === "OPEN" || order.status === "PARTIALLY_FILLED";
    this.open.delete(order.venueOrderId);
    (isOpen ? this.open : this.ended).set(order.venueOrderId, order);
  }
}

class FakeSession implements AccountSession {
  readonly venue: RoutableVenue;
  readonly accountId: string;
  readonly secret: string;
  readonly payer: string | null;
  readonly #onClose: () => void;
  isOpen = true;

  constructor(venue: RoutableVenue, accountId: string, secret: string, payer: string | null, onClose: () => void) {
    this.venue = venue;
    this.accountId = accountId;
    this.secret = secret;
    this.payer = payer;
    this.#onClose = onClose;
  }

  close(): void {
    if (this.isOpen) this.#onClose();
    this.isOpen = false;
  }
}

const BY_ADDRESS = "(public)";

export class AccountVenue {
  readonly venue: RoutableVenue;
  readonly clock: Clock;
  readonly room: VenueRoom;
  readonly markets: ReadonlyMap<string, Market>;
  readonly accounts = new Map<string, FakeAccount>();
  /** Number of accounts that may stream at once; null: the venue streams nothing. */
  readonly streamPlaces: number | null;
  /** If set, reads fail with this. */
  failure: Failure | null = null;
  /** Like `failure`, for one account. */
  failureOf: (account: FakeAccount) => Failure | null = () => null;
  /** The reply to a list of open orders; a test may make it lag. */
  openOrdersOf: (account: FakeAccount) => readonly VenueOrder[] = (account) => [...account.open.values()];
  /** A bug of the room: opening a stream throws. */
  openingThrows = false;
  /** Runs before each read is answered: budgets, delays. Lists of orders weigh 20. */
  admit: (lane: Lane, weight: number) => Promise<boolean> = async () => true;
  readonly reads: {
    readonly lane: Lane;
    readonly atMs: number;
    readonly what: "positions" | "orders" | "order";
    readonly account: string;
  }[] = [];
  sessionsOpen = 0;
  sessionsOpened = 0;

  constructor(
    venue: RoutableVenue,
    clock: Clock,
    options: {
      readonly streamPlaces?: number | null;
      readonly isPublic?: boolean;
      readonly markets?: readonly Market[];
    } = {},
  ) {
    this.venue = venue;
    this.clock = clock;
    this.streamPlaces = options.streamPlaces === undefined ? 100 : options.streamPlaces;
    const markets =
      options.markets ??
      ["BTC", "ETH", "SOL"].map((symbol) =>
        createMarket(anInstrument({ venue, symbol }), { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 }),
      );
    this.markets = new Map(markets.map((market) => [market.instrument.symbol, market]));
    this.room = this.#createRoom(options.isPublic ?? false);
  }

  addAccount(id: string, secret = `secret-of-${id}`): FakeAccount {
    const account = new FakeAccount(this, id, secret);
    this.accounts.set(id, account);
    return account;
  }

  credentials(account: FakeAccount): { readonly apiKey: string; readonly apiSecret: string } {
    return { apiKey: account.id, apiSecret: account.secret };
  }

  nativeOf(symbol: string): string {
    return this.markets.get(symbol)?.instrument.nativeSymbol ?? symbol;
  }

  position(symbol: string, lots: number, changes: Partial<VenuePosition>): VenuePosition {
    const { instrument } = this.markets.get(symbol) ?? { instrument: anInstrument({ venue: this.venue, symbol }) };
    return heldPosition(instrument, lots, this.clock.wallMs(), { entryPrice: "900", ...changes });
  }

  ringPositions(account: FakeAccount): void {
    account.tell({ kind: "positions" });
  }

  streamedCount(): number {
    return [...this.accounts.values()].filter((account) => account.streams.size > 0).length;
  }

  #open(accountId: string, secret: string, payer: string | null): OpenSession {
    this.sessionsOpen++;
    this.sessionsOpened++;
    return { ok: true, session: new FakeSession(this.venue, accountId, secret, payer, () => this.sessionsOpen--) };
  }

  #isGenuine(session: FakeSession): boolean {
    const account = this.accounts.get(session.accountId);
    return session.isOpen && (session.secret === BY_ADDRESS || account?.secrets.has(session.secret) === true);
  }

  async #read<T>(
    session: AccountSession,
    { lane }: CallOptions,
    what: "positions" | "orders" | "order",
    weight: number,
    value: (account: FakeAccount) => T,
  ): Promise<Read<T>> {
    const own = session as FakeSession;
    if (!own.isOpen) throw new Error("a closed session was used");
    this.reads.push({ lane, atMs: this.clock.wallMs(), what, account: own.accountId });
    if (!(await this.admit(lane, weight)))
      return { ok: false, code: "RATE_LIMITED", message: "no budget", retryAfterMs: 1_000 };
    if (this.failure !== null) return { ok: false, message: "as told", ...this.failure };
    const account = this.accounts.get(own.accountId);
    const failure = account === undefined ? null : this.failureOf(account);
    if (failure !== null) return { ok: false, message: "as told", ...failure };
    if (account === undefined || !this.#isGenuine(own))
      return { ok: false, code: "AUTH", message: "unknown key or wrong signature", retryAfterMs: null };
    return { ok: true, value: value(account), asOfMs: this.clock.wallMs(), source: "venue" };
  }

  #openStream(session: AccountSession, onEvent: (event: AccountEvent) => void): ReturnType<Opener> {
    if (this.openingThrows) throw new Error("cannot be opened");
    const own = session as FakeSession;
    const account = this.accounts.get(own.accountId) ?? new FakeAccount(this, own.accountId, "");
    if (account.streams.size === 0 && this.streamedCount() >= (this.streamPlaces ?? 0))
      return { ok: false, problem: "no place" };
    const entry: Stream = { state: "SYNCING", isGenuine: this.#isGenuine(own), onEvent };
    account.streams.add(entry);
    this.clock.setTimer(() => {
      if (!account.streams.has(entry) || entry.state !== "SYNCING") return;
      entry.state = entry.isGenuine ? "LIVE" : "DOWN";
      entry.onEvent({ kind: "state", state: entry.state });
    }, STREAM_LIVE_MS);
    const stream: AccountStream = {
      get state() {
        return entry.state;
      },
      positions: () =>
        entry.state === "LIVE"
          ? { ok: true, value: [...account.positions.values()], asOfMs: this.clock.wallMs(), source: "stream" }
          : { ok: false, code: entry.isGenuine ? "VENUE_ERROR" : "AUTH", message: "not live", retryAfterMs: null },
      ordersDoubtMs: () => account.ordersDoubtMs,
      close: () => void account.streams.delete(entry),
    };
    return { ok: true, stream };
  }

  #createRoom(isPublic: boolean): VenueRoom {
    const { venue } = this;
    return roomDouble(venue, {
      markets: this.markets.values(),
      streams:
        this.streamPlaces === null
          ? null
          : { openAccountStream: (session, onEvent) => this.#openStream(session, onEvent) },
      reader: {
        readPositions: (session, _, options) =>
          this.#read(session, options, "positions", 2, (account) => [...account.positions.values()]),
        readOpenOrders: (session, _, options) =>
          this.#read(session, options, "orders", 20, (account) => this.openOrdersOf(account)),
        readOrder: (session, _, ref, options) =>
          this.#read(session, options, "order", 2, (account) => {
            const id = "venueOrderId" in ref ? ref.venueOrderId : "";
            return account.open.get(id) ?? account.ended.get(id) ?? null;
          }),
      },
      openSession: (raw, payer) => {
        const { apiKey, apiSecret } = raw as { apiKey: string; apiSecret: string };
        if (apiKey === "malformed") return { ok: false, problem: `${venue}.apiKey must be a key` };
        return this.#open(apiKey, apiSecret, payer);
      },
      ...(isPublic
        ? { openAddress: (address: string, payer: string | null) => this.#open(address, BY_ADDRESS, payer) }
        : {}),
    });
  }
}

type Opener = NonNullable<VenueRoom["streams"]>["openAccountStream"];
