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
 * resolution of one unknown order) and closed at its end. Holds key material in memory only. It is
 * never serialised: `toJSON` of an implementation returns `{}`.
 */
export interface AccountSession {
  readonly venue: RoutableVenue;
  /** Public account label (address; for API keys a salted hash). Safe for logs and for keyed hashing. */
  readonly accountId: string;
  /**
   * Distinguishes the owners of orders where one `accountId` can act for several (a key that names a vault). Public
   * text; absent where `accountId` suffices.
   */
  readonly accountScope?: string;
  /**
   * Who pays for its calls out of its share of the venue's lanes: the id of the API key that asks, never a secret. Null:
   * without a key the account's own credentials pay. It says nothing of whether the credentials are good.
   */
  readonly payer: string | null;
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
  /** The cursor of the request is not one that a page returned. */
  | "BAD_CURSOR"
  /** The read needs more than this session has: a key, where it has only an address. */
  | "NEEDS_CREDENTIALS";

export type Read<T> =
  | { readonly ok: true; readonly value: T; readonly asOfMs: number; readonly source: "stream" | "venue" }
  | {
      readonly ok: false;
      readonly code: ReadFailure;
      readonly message: string;
      readonly retryAfterMs: number | null;
      /** RATE_LIMITED by a limit of this account alone: other accounts may still be read. */
      readonly isAccountLimit?: true;
    };

/** Outbound budget lanes (auth-and-limits design): exit is reserved for closes, cancels and the status of own orders. */
export type Lane = "exit" | "trade" | "reconcile" | "read" | "background";

export interface CallOptions {
  readonly timeoutMs: number;
  readonly lane: Lane;
  /** Used within a room: the user of a shared lane, where the account does not identify it. */
  readonly caller?: string;
  /** Used within a room: the session's payer; of a read without a session, who asks. */
  readonly payer?: string | null;
}

export interface AccountReader {
  /**
   * Reads live positions, without rows of zero size. `instrument` null reads all, including holdings in contracts that
   * have no market here and those that cannot be counted (`uncounted`). `source` is the venue, or the stream where that
   * is proven alive and complete.
   */
  readPositions(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>>;
  /**
   * Returns the same without a wait: streamed, reconciled positions that may replace a live read. Returns null when only
   * `readPositions` can answer. Absent on rooms that stream nothing. `wantedLots`: the caller needs no more of the position
   * than this. A room may then answer while the outcome of our reduce-only orders is not streamed yet, if this much
   * remains in every case. Without it the exact size counts.
   */
  heldPositions?(
    session: AccountSession,
    instrument: Instrument,
    wantedLots?: number,
  ): Read<readonly VenuePosition[]> | null;
  /**
   * Reads the same from the venue itself, after every order of ours that it has answered. A refusal for size, a "flat"
   * and a size of "all of it" need this read. Callers who wait for one account share it. Absent on rooms that stream
   * nothing: `readPositions` always reads from the venue there.
   */
  verifyPositions?(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Read<readonly VenuePosition[]>>;
  /** Value null: the venue knows no such order. Soon after a send that can be indexing lag. */
  readOrder(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>>;
  /**
   * Waits for an order's end: `onEnd` is called with it, at most once, when the account's stream reports it (in this turn
   * where it has already). A stream may be lost, and reports nothing of an order that was never placed, so the caller
   * uses `readOrder` as well. Absent on rooms where the reply to an order is its end.
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
  /** Searches an order of unknown symbol in every list of the venue. Null means that none has it. */
  findOrder?(session: AccountSession, ref: OrderRef, options: CallOptions): Promise<Read<VenueOrder | null>>;
  readAccount?(session: AccountSession, options: CallOptions): Promise<Read<AccountSummary>>;
}

export interface FollowedOrder {
  /** After an acknowledgement: a read before this many ms would hardly show the end, or the stream reports it first. */
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
  /** The venue's list ends here; it may have had older rows that it no longer shows. */
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

/** Leverage and margin mode of one symbol; null where the venue does not report it. */
export interface SymbolSettings {
  readonly leverage: number | null;
  readonly marginMode: "cross" | "isolated" | null;
  /** Largest notional at this leverage, quote units. */
  readonly maxNotionalValue: string | null;
  /** Whether the account holds both directions apart. Absent: the venue has no such mode, or did not report it. */
  readonly hedgeMode?: boolean;
}

export type SettingOutcome = { readonly outcome: "accepted"; readonly settings: SymbolSettings } | Refused | Unclear;

export interface AccountSettings {
  read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>>;
  /** `leverage`: a whole number from 1 to the instrument's maximum; others are rejected, unsent. */
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
   * Returns the maximum leverage of this contract, where its listing does not contain it; read from the venue now and
   * then. Returns null when it is not known. Absent: the instrument has it.
   */
  maxLeverage?(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<number | null>;
  /** Time that the budget of settings changes would delay one more; 0: none. Absent where the venue has no such budget. */
  waitMs?(session: AccountSession, lane: Lane): number;
}

/**
 * `sentAfterVenueMs`: "no such order" must then prove that none was placed since that venue time; 0: the time is not
 * known. A room that cannot look back that far fails the read. Absent: nothing is concluded from "no such order".
 */
export type OrderRef =
  | { readonly clientIdHex: string; readonly sentAfterVenueMs?: number }
  | { readonly venueOrderId: string };

export interface OrderSender {
  place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome>;
  cancel(session: AccountSession, instrument: Instrument, ref: OrderRef, options: CallOptions): Promise<CancelOutcome>;
  /**
   * Upper bound in ms, known before sending: this long after `place` is called with this timeout, the venue can no longer
   * accept the order, even if this process dies. Grows no faster than the timeout.
   */
  placeBoundMs(session: AccountSession, timeoutMs: number): number;
  /** Returns the client id in the form that this venue receives. */
  venueClientOrderId(clientIdHex: string): string;
  /** Returns the 32 hex digits that the room writes as `text`; null if it could never have written it. */
  parseClientOrderId?(text: string): string | null;
  /** `current`: the order as just read; its type, side and flags are kept. Rejected, unsent, where the venue cannot. */
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
   * Sets the venue's own dead-man's switch: it cancels all orders at `atMs` (our wall ms) unless it is set again; null
   * ends it. Where the venue has one per symbol, the room arms each symbol that the account begins to trade here, for as
   * long as the session is open. Absent where the venue has none.
   */
  scheduleCancel?(session: AccountSession, atMs: number | null, options: CallOptions): Promise<ScheduleOutcome>;
}

/**
 * Pushed account state. `onEvent` is called after the state is applied; after each reconnect the room first reconciles
 * over REST.
 */
export interface AccountStream {
  readonly state: FeedState;
  /** Positions as streamed and reconciled; `ok: false` while not LIVE. */
  positions(): Read<readonly VenuePosition[]>;
  /**
   * Monotonic ms since which its order events are, or may be, incomplete: a list of open orders requested surely later
   * is complete. Null when the events include everything that is known. Absent on streams that cannot decide it.
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
      /** The venue took the position over; absent where it does not report that. */
      readonly isLiquidation?: boolean;
    }
  | { readonly kind: "positions" }
  | { readonly kind: "state"; readonly state: FeedState };

export interface AccountStreams {
  /**
   * Shares one upstream stream per account, reference-counted. Bounded: `ok: false` when the venue's limit of users is
   * reached.
   */
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

/** The two facts of `RoomStatus` that every decision reads, without the walk over all markets. */
export interface RoutingHealth {
  readonly breaker: RoomStatus["breaker"];
  /** Tokens of the exit lane. */
  readonly exitTokens: number;
  /** Time for which the venue's own limit keeps the breaker open; 0 or absent: another cause, or the breaker is closed. */
  readonly limitedForMs?: number;
}

/** The market side of a room: what every venue has. */
export interface MarketRoom {
  readonly venue: RoutableVenue;
  /**
   * Loads instruments, connects, subscribes. Resolves when instruments are known; books become LIVE later. Rejects only
   * if the first load of instruments fails for `startTimeoutMs`.
   */
  start(): Promise<void>;
  /** Closes sockets and pools; bounded. */
  stop(): Promise<void>;
  /** All listed markets by canonical symbol; the map is stable after `start` and grows on instrument refresh. */
  readonly markets: ReadonlyMap<string, Market>;
  /** Send-to-acknowledgement times of orders, for the latency penalty and the tie rule. */
  readonly ackLatency: LatencyWindow;
  /** Ms for which the venue delays orders that take liquidity, after it has accepted them. Absent: none. */
  readonly takerDelayMs?: number;
  status(): RoomStatus;
  /**
   * Reads the mark of one contract from the venue and writes it into the market's ticker. Returns false when there was
   * no answer, and nothing changed. Absent where no rule of the venue depends on its mark.
   */
  refreshMark?(instrument: Instrument, options: CallOptions): Promise<boolean>;
  /** A live view, never a copy; where it is absent `status()` is used. */
  readonly routingHealth?: RoutingHealth;
}

/** What a room knows of its venue's time. */
export interface VenueClock {
  /** Added to our wall clock for the time stamps of requests. */
  readonly offsetMs: number;
  /**
   * Returns a lower bound of the venue's time now, from its own stamps and the monotonic time since, so that no step of
   * our wall clock moves it. Returns null before the first reply of the venue with a stamp.
   */
  nowAtLeastMs(): number | null;
}

/** The account that owns a session's orders, where several keys may act for one: public text, unique per account. */
export interface AccountNames {
  /** Returns null when only the venue knows. */
  known(session: AccountSession): string | null;
  /** An AUTH failure means that the key acts for no account. */
  read(session: AccountSession, options: CallOptions): Promise<Read<string>>;
}

/** A room that also trades. */
export interface VenueRoom extends MarketRoom {
  readonly venueClock: VenueClock;
  /**
   * Every contract that the venue lists, by canonical symbol, including those that are not followed and have no market:
   * an account's holdings in them are counted with these. Absent: `markets` has all.
   */
  readonly instruments?: ReadonlyMap<string, Instrument>;
  /** The venue puts another order, of a new id and what is left, in the place of one that is changed. Absent: ids stay. */
  readonly newIdPerChange?: true;
  readonly reader: AccountReader;
  readonly orders: OrderSender;
  readonly streams: AccountStreams | null;
  readonly history?: AccountHistory;
  readonly settings?: AccountSettings;
  /** `payer`: as the session has it. */
  openSession(rawCredentials: unknown, payer: string | null): OpenSession;
  /** Absent: the session's own labels name the account. */
  readonly accountNames?: AccountNames;
  /**
   * Time that the account's own budget would delay one more order of this lane; 0: none. Absent where the venue has no
   * limit per account.
   */
  orderWaitMs?(session: AccountSession, lane: Lane): number;
  /**
   * Returns true if `name` (an address, or the venue's number of an account) is known here to be another account than that
   * of the credentials; false where that is not known, and for names of other forms. Sends no request. Absent: never known.
   */
  namesAnother?(rawCredentials: unknown, name: string): boolean;
  /**
   * Returns the address of the account that a session reads, as far as it is known without a request; it is after a read
   * of the account. Absent: the credentials contain it, or it is never known.
   */
  addressOf?(session: AccountSession): string | null;
  /** Opens a session that reads the public data of an address and cannot sign. Absent where no account data is public. */
  openAddress?(walletAddress: string, payer: string | null): OpenSession;
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
