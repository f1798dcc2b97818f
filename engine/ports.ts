/**
 * What a venue room offers the core, the same for all venues. A room implements these in
 * feeds/<venue>/room.ts and owns everything that knows the venue: encoding, signing, nonces, limits.
 *
 * No method throws for what a venue or a network does: outcomes are values. Throwing is a bug of ours.
 */
import type { Market, FeedState } from "./market/market.js";
import type { LatencyWindow } from "./market/latency-window.js";
import type { Instrument } from "./domain/instrument.js";
import type {
  AmendOutcome,
  CancelAllOutcome,
  CancelOutcome,
  OrderChange,
  OrderCommand,
  PlaceOutcome,
  ScheduleOutcome,
  Refused,
  Unclear,
  VenueFill,
  VenueOrder,
} from "./domain/order.js";
import type { AccountSummary, FeeRates, FundingPayment, VenueBalance, VenuePosition } from "./domain/position.js";
import type { RoutableVenue } from "./domain/venue.js";

/**
 * One caller's credentials for one venue, opened for one request (or one subscription, or the
 * resolution of one unknown order) and closed at its end. Holds key material in memory only;
 * nothing of it is ever serialised: `toJSON` of an implementation returns `{}`.
 */
export interface AccountSession {
  readonly venue: RoutableVenue;
  /** Public account label (address; for API keys a salted hash). Safe for logs and for keyed hashing. */
  readonly accountId: string;
  /**
   * What else in the credentials decides whose orders these are, where one `accountId` can act for several (a key
   * that names a vault). Public text, absent where there is nothing.
   */
  readonly accountScope?: string;
  /** Drops key material. Idempotent. Using the session afterwards gives an AUTH failure. */
  close(): void;
}

export type OpenSession =
  | { readonly ok: true; readonly session: AccountSession }
  /** `problem` names the field and what is wrong with it, never its value. */
  | { readonly ok: false; readonly problem: string };

export type ReadFailure =
  | "TIMEOUT"
  | "RATE_LIMITED"
  | "AUTH"
  | "BREAKER_OPEN"
  | "VENUE_ERROR"
  | "BAD_RESPONSE"
  /** A page was asked for with a cursor that no page gave. */
  | "BAD_CURSOR"
  /** Needs more than this session carries: a key, where only an address was given. */
  | "NEEDS_CREDENTIALS";

export type Read<T> =
  | { readonly ok: true; readonly value: T; readonly asOfMs: number; readonly source: "stream" | "venue" }
  | {
      readonly ok: false;
      readonly code: ReadFailure;
      readonly message: string;
      readonly retryAfterMs: number | null;
      /** RATE_LIMITED, and the limit is that of this account alone: others may go on. */
      readonly isAccountLimit?: true;
    };

/** Outbound budget lanes (auth-and-limits design): exit is reserved for closes, cancels and the status of own orders. */
export type Lane = "exit" | "trade" | "reconcile" | "read" | "background";

export interface CallOptions {
  readonly timeoutMs: number;
  readonly lane: Lane;
  /** A room's own: who shares the lane with others, where the account that is asked about does not say. */
  readonly caller?: string;
}

export interface AccountReader {
  /**
   * Zero-size rows filtered out. `instrument` null reads all, also holdings in contracts that have no market here, and
   * those that nobody can count (`uncounted`). Live: from the venue, or streamed where the stream is proven alive and
   * complete (`source` says which).
   */
  readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>>;
  /**
   * The same where it needs no wait: positions streamed and reconciled that may stand for a live read. Null means ask
   * `readPositions`. Absent on rooms that stream nothing. `wantedLots`: all that is wanted of the position; a room may
   * then answer although orders of ours that only reduce are not told of yet, if they leave as much whatever they did.
   * Without it the exact size counts.
   */
  heldPositions?(
    session: AccountSession,
    instrument: Instrument,
    wantedLots?: number,
  ): Read<readonly VenuePosition[]> | null;
  /**
   * The same from the venue itself, newer than every order of ours that it has answered: what a refusal for size, a
   * "flat" and "all of it" rest on. Callers who wait for one account share a read. Absent on rooms that stream nothing:
   * `readPositions` is the venue's own word there.
   */
  verifyPositions?(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>>;
  /** Value null: the venue says that it knows no such order (which soon after a send can be indexing lag). */
  readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>>;
  /**
   * Waits for an order's end: `onEnd` is called with it, at most once, when the account's stream tells it (in this turn
   * where it has). A stream may be lost, and tells nothing of an order that never came to be: `readOrder` is to be asked
   * all the same. Absent on rooms whose answer to an order is its end.
   */
  followOrder?(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    onEnd: (order: VenueOrder) => void,
  ): FollowedOrder;
  readOpenOrders(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenueOrder[]>>;
  readBalances(session: AccountSession, options: CallOptions): Promise<Read<readonly VenueBalance[]>>;
  readFeeRates(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<FeeRates>>;
  /** An order of unknown symbol, looked for wherever the venue lets one look. Null means in none of these places. */
  findOrder?(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>>;
  readAccount?(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>>;
}

export interface FollowedOrder {
  /** Of an order just acknowledged: before this many ms a look would hardly show its end, or the stream tells it first. */
  readonly lookAfterMs: number;
  /** `onEnd` is not called any more. */
  stop(): void;
}

export interface HistoryQuery {
  /** Null means all of them. */
  readonly instrument: Instrument | null;
  /** Inclusive bounds on the venue's own time. */
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
  /** 1 to 1 000 rows; a page may hold fewer than there are. */
  readonly limit: number;
  /** `nextCursor` of the page before, made by this room and opaque to everybody else; null for the first. */
  readonly cursor: string | null;
}

/** Newest first. */
export interface HistoryPage<T> {
  readonly rows: readonly T[];
  /** Null when there is nothing older. */
  readonly nextCursor: string | null;
  /** The venue's list ends here, and there may have been more that it no longer shows. */
  readonly isCut?: true;
}

/** What an account did. Pages neither repeat nor skip a row that existed when the first was read. */
export interface AccountHistory {
  /** Orders of any status, open ones included. */
  readOrders(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueOrder>>>;
  readFills(session: AccountSession, query: HistoryQuery, options: CallOptions): Promise<Read<HistoryPage<VenueFill>>>;
  readFunding(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<FundingPayment>>>;
}

/** Leverage and margin mode of one symbol; null where the venue does not say. */
export interface SymbolSettings {
  readonly leverage: number | null;
  readonly marginMode: "cross" | "isolated" | null;
  /** Largest notional at this leverage, quote units. */
  readonly maxNotionalValue: string | null;
  /** Does the account hold both directions apart? Absent: the venue has no such mode, or did not say. */
  readonly hedgeMode?: boolean;
}

export type SettingOutcome = { readonly outcome: "accepted"; readonly settings: SymbolSettings } | Refused | Unclear;

export interface AccountSettings {
  read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>>;
  /** A whole number from 1 to the instrument's maximum; else rejected, unsent. */
  setLeverage(
    session: AccountSession,
    instrument: Instrument,
    leverage: number,
    options: CallOptions,
  ): Promise<SettingOutcome>;
  setMarginMode(
    session: AccountSession,
    instrument: Instrument,
    mode: "cross" | "isolated",
    options: CallOptions,
  ): Promise<SettingOutcome>;
  /**
   * The most that the venue allows of this contract, where its listing does not say it; asked once in a while. Null: not
   * known. Absent: the instrument has it.
   */
  maxLeverage?(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<number | null>;
  /** How long a budget of changes alone would hold back one more; 0: not at all. Absent where the venue has none. */
  waitMs?(session: AccountSession, lane: Lane): number;
}

/**
 * `sentAfterVenueMs`: not there is to mean that no such order has come to be since that time of the venue; 0: the time is
 * not known. A room that cannot look back that far fails. Absent: nothing is concluded from it.
 */
export type OrderRef =
  | { readonly clientIdHex: string; readonly sentAfterVenueMs?: number }
  | { readonly venueOrderId: string };

export interface OrderSender {
  place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome>;
  cancel(session: AccountSession, instrument: Instrument, ref: OrderRef, options: CallOptions): Promise<CancelOutcome>;
  /**
   * Known before the send: this many ms after `place` is called with this timeout, the venue takes the order no more,
   * whatever becomes of this process. Grows no faster than the timeout.
   */
  placeBoundMs(session: AccountSession, timeoutMs: number): number;
  /** The client id as this venue will see it. */
  venueClientOrderId(clientIdHex: string): string;
  /** The inverse: 32 hex digits that the room writes as `text`; null if it could never have written it. */
  parseClientOrderId?(text: string): string | null;
  /** `current`: the order as it was just read; its type, side and flags stay. Rejected, unsent, where the venue cannot. */
  amend?(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
  ): Promise<AmendOutcome>;
  /** Null means of every symbol. */
  cancelAll?(session: AccountSession, instrument: Instrument | null, options: CallOptions): Promise<CancelAllOutcome>;
  /**
   * The venue's own dead-man's switch: all orders are cancelled at `atMs` (wall ms, ours) unless set anew; null ends it.
   * Where the venue has it by symbol, the room arms each symbol that the account newly deals in here, for as long as the
   * session is open. Absent where the venue has none.
   */
  scheduleCancel?(session: AccountSession, atMs: number | null, options: CallOptions): Promise<ScheduleOutcome>;
}

/** Pushed account state. `onEvent` is called after the state is applied; after each reconnect the room reconciles over REST first. */
export interface AccountStream {
  readonly state: FeedState;
  /** Positions as streamed and reconciled; `ok: false` while not LIVE. */
  positions(): Read<readonly VenuePosition[]>;
  /**
   * Monotonic ms since which its order events are known not to have told all, or may not have: a list of open orders that
   * was asked for surely later does. Null when they told of all that is known. Absent on streams that cannot say.
   */
  ordersDoubtMs?(): number | null;
  close(): void;
}

export type AccountEvent =
  | { readonly kind: "order"; readonly order: VenueOrder }
  | {
      readonly kind: "fill";
      readonly order: VenueOrder;
      readonly qtyLots: number;
      readonly price: string;
      readonly fee: { readonly amount: string; readonly asset: string } | null;
      readonly tradeId: string;
      /** The venue took the position over; absent where it does not say. */
      readonly isLiquidation?: boolean;
    }
  | { readonly kind: "positions" }
  | { readonly kind: "state"; readonly state: FeedState };

export interface AccountStreams {
  /** Shares one upstream stream per account; reference-counted. Bounded: `ok: false` when the venue's user limit is reached. */
  openAccountStream(
    session: AccountSession,
    onEvent: (event: AccountEvent) => void,
  ): { readonly ok: true; readonly stream: AccountStream } | { readonly ok: false; readonly problem: string };
}

export interface RoomStatus {
  readonly venue: RoutableVenue;
  readonly state: FeedState;
  readonly breaker: "closed" | "open" | "halfOpen";
  readonly breakerOpenUntilMs: number;
  readonly clockOffsetMs: number;
  readonly socketCount: number;
  readonly reconnectCount: number;
  readonly resyncCount: number;
  readonly gapCount: number;
  readonly decodeErrorCount: number;
  readonly protocolDriftCount: number;
  /** Tokens left per lane of the IP budget. */
  readonly laneTokens: Readonly<Record<Lane, number>>;
}

/** The two facts of `RoomStatus` that every decision asks for, without the walk over all markets. */
export interface RoutingHealth {
  readonly breaker: RoomStatus["breaker"];
  /** Tokens of the exit lane. */
  readonly exitTokens: number;
  /** How long the venue's own limit keeps the breaker open; 0 or absent: it is open for something else, or not at all. */
  readonly limitedForMs?: number;
}

/** The market side of a room: what every venue has. */
export interface MarketRoom {
  readonly venue: RoutableVenue;
  /** Loads instruments, connects, subscribes. Resolves when instruments are known; books become LIVE later. Rejects only if the first instrument load fails `startTimeoutMs` long. */
  start(): Promise<void>;
  /** Closes sockets and pools; bounded. */
  stop(): Promise<void>;
  /** All listed markets by canonical symbol; the map is stable after `start` and grows on instrument refresh. */
  readonly markets: ReadonlyMap<string, Market>;
  /** Send-to-acknowledgement times of orders, for the latency penalty and the tie rule. */
  readonly ackLatency: LatencyWindow;
  /** Ms for which the venue holds back orders that take liquidity, after it has taken them in. Absent: none. */
  readonly takerDelayMs?: number;
  status(): RoomStatus;
  /**
   * Asks the venue for the mark of one contract and writes it into the market's ticker. False: there was no answer, and
   * nothing changed. Absent where no rule of the venue turns on its mark.
   */
  refreshMark?(instrument: Instrument, options: CallOptions): Promise<boolean>;
  /** Read through, never a copy; where it is absent `status()` is asked. */
  readonly routingHealth?: RoutingHealth;
}

/** What a room knows of its venue's time. */
export interface VenueClock {
  /** Added to our wall clock for the time stamps of requests. */
  readonly offsetMs: number;
  /**
   * The venue's time now, at the least: by its own stamps and the monotonic time since, so that no step of our wall
   * clock moves it. Null when no answer of the venue has said it yet.
   */
  nowAtLeastMs(): number | null;
}

/** Whose orders a session's are, where several keys may act for one account: public text, equal for one account only. */
export interface AccountNames {
  /** Null when the venue has to be asked. */
  known(session: AccountSession): string | null;
  /** An AUTH failure: the key acts for nobody. */
  read(session: AccountSession, options: CallOptions): Promise<Read<string>>;
}

/** A room that also trades. */
export interface VenueRoom extends MarketRoom {
  readonly venueClock: VenueClock;
  /**
   * Every contract that the venue lists, by canonical symbol, also those that are not followed and have no market: what
   * an account holds in them is counted by these. Absent: `markets` has all.
   */
  readonly instruments?: ReadonlyMap<string, Instrument>;
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly streams: AccountStreams | null;
  readonly history?: AccountHistory;
  readonly settings?: AccountSettings;
  openSession(rawCredentials: unknown): OpenSession;
  /** Absent: the session's own labels name the account. */
  readonly accountNames?: AccountNames;
  /**
   * How long the account's own budget would keep one more order of this lane waiting; 0: not at all. Absent where the
   * venue counts nothing by account.
   */
  orderWaitMs?(session: AccountSession, lane: Lane): number;
  /**
   * Does `name`, an address or a venue's own number of an account, name another account than the credentials do, as far as
   * is known here? False where it is not known, and of names of other forms. Asks nobody. Absent: nothing is ever known.
   */
  namesAnother?(rawCredentials: unknown, name: string): boolean;
  /**
   * The address of the account that a session reads, as far as it is known without asking; after a read of it, it is.
   * Absent: the credentials say it, or nobody does.
   */
  addressOf?(session: AccountSession): string | null;
  /** A session that reads what is public of an address and can sign nothing. Absent where nothing of an account is public. */
  openAddress?(walletAddress: string): OpenSession;
}

export function isTradingRoom(room: MarketRoom): room is VenueRoom {
  return "orders" in room;
}

/**
 * Nonce high-water marks, durable in blocks so that no order waits for a write. Returns a half-open
 * range [from, until) that no earlier call for this signer overlapped, from ≥ floor, also across crashes.
 */
export interface NonceReservations {
  reserve(signer: string, floor: number, span: number): Promise<{ readonly from: number; readonly until: number }>;
}
