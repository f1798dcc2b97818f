/**
 * Orders on one venue, as the shell asks for them: place, cancel, amend, close, status, leverage. The contract only;
 * single-order-service.ts keeps it, beside that of dead-man's switches (switch-desk.ts).
 *
 * Values are the public API's: canonical symbols, decimal texts in canonical quoting (a contract's multiplier
 * applied), times in ms. Nothing here rejects for what a caller, a venue or the store does: refusals are answers with
 * a code of the error table, and with such an answer nothing was executed for certain. An outcome that nobody knows is
 * an answer too, `outcome: "UNKNOWN"`, and never an error.
 */
import type { ErrorCode } from "../../domain/errors.js";
import type {
  OrderStatus,
  OrderTrigger,
  PositionSide,
  Side,
  TimeInForce,
  Direction,
  VenueOrder,
} from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { AccountSession, SymbolSettings } from "../../ports.js";
import type { Asker } from "../durable/execution-registry.js";
import type { ListedOrder } from "../listed-orders.js";
import type { ResolverCounts } from "../send/resolver.js";
import type { ExecutionState } from "../types.js";

/** Whose account at which venue. Credentials are opened for this call and wiped at its end; never stored. */
export interface OrderAccount {
  readonly venue: RoutableVenue;
  /** The venue's block of spec 2.3, raw; the desk opens the session. */
  readonly credentials: unknown;
}

/** Who asks. The same for every call. */
export interface OrderRequestContext {
  readonly requestId: string;
  /** Idempotency-Key header; null if none. Honoured by place, closePosition and closeAll; the other calls are idempotent by nature. */
  readonly idempotencyKey: string | null;
  /** Who owns what the call makes; null in public mode (then the account scopes the key and the guards). */
  readonly ownerId: string | null;
  /** The API key that asks: it pays out of its share of the venue's lanes. Null: the account itself does. */
  readonly payer: string | null;
  /** Exact bytes that an idempotency key is bound to: the body (and whatever of path and query says what is asked). */
  readonly rawBody: Uint8Array;
  readonly receivedAtMs: number;
}

/** STOP_LIMIT and TAKE_PROFIT_LIMIT become a limit order when they fire, the _MARKET forms a bounded IOC. */
export type SingleOrderType =
  | "MARKET"
  | "LIMIT"
  | "STOP_MARKET"
  | "STOP_LIMIT"
  | "TAKE_PROFIT_MARKET"
  | "TAKE_PROFIT_LIMIT";

export interface PlaceRequest extends OrderAccount {
  /** What the caller calls the account, by the fields that do: one that is known to be another's is refused. */
  readonly accountNames?: readonly { readonly path: string; readonly name: string }[];
  /** Canonical, e.g. `BTC`; a symbol that the venue does not list is UNKNOWN_SYMBOL. */
  readonly symbol: string;
  readonly side: Side;
  readonly type: SingleOrderType;
  /** Base units. Off the venue's grid it is refused, never rounded. */
  readonly quantity: string;
  /** LIMIT, STOP_LIMIT, TAKE_PROFIT_LIMIT: the limit, required. MARKET: worst acceptable price or null, capped by maxSlippageBps. */
  readonly price: string | null;
  /** The trigger of STOP_* and TAKE_PROFIT_*; on the _MARKET forms `price` is taken where it is null. */
  readonly stopPrice: string | null;
  /** Which price fires a trigger; null: MARK. */
  readonly triggerSource: OrderTrigger["source"] | null;
  /** Null means GTC for orders with a limit. Must be null or IOC on MARKET. */
  readonly timeInForce: TimeInForce | null;
  readonly reduceOnly: boolean;
  /** LONG or SHORT on hedge-mode accounts only. */
  readonly positionSide: PositionSide;
  /** The caller's own id: one order of the account for 24 h, else DUPLICATE_CLIENT_ORDER_ID. 1 to 64 printable characters. */
  readonly clientOrderId: string | null;
  /** 1 to 1000, whole or with three decimals. */
  readonly maxSlippageBps: number;
  /** The reply is given by then; what is not known by then is UNKNOWN. */
  readonly deadlineMs: number;
}

/** One order as it is now. All texts canonical; `native` gives what is needed to print the venue's own quoting. */
export interface OrderFacts {
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly nativeSymbol: string;
  /** CONFIRMED: the venue shows it. UNKNOWN: it may or may not exist; the resolver (or the next question) finds out. */
  readonly outcome: "CONFIRMED" | "UNKNOWN";
  /** Why it is UNKNOWN, a word; null otherwise. */
  readonly reason: string | null;
  /** The venue's id, exact digits; null while it has given none. */
  readonly orderId: string | null;
  /** What the caller sent; null if nothing, or not known of this order. */
  readonly clientOrderId: string | null;
  /** What the venue saw, in its own form; null if the order has none. */
  readonly venueClientOrderId: string | null;
  readonly side: Side;
  readonly type: SingleOrderType;
  readonly status: OrderStatus;
  /** The venue's own word; null while there is none. */
  readonly venueStatus: string | null;
  readonly timeInForce: TimeInForce | null;
  /** Also true on hedge-mode accounts, where the closed side takes the flag's place. */
  readonly reduceOnly: boolean;
  readonly positionSide: PositionSide;
  /** Limit price, or the worst price of a MARKET. */
  readonly price: string;
  readonly triggerPrice: string | null;
  readonly quantity: string;
  readonly filledQuantity: string;
  readonly averagePrice: string | null;
  /** filledQuantity × averagePrice, quote units; "0" with no fill. */
  readonly filledNotional: string;
  readonly fee: { readonly amount: string; readonly asset: string } | null;
  readonly tsVenueMs: number;
  readonly sentAtMs: number | null;
  readonly ackAtMs: number | null;
  /** What was changed to fit the venue: only ever the protective price of a MARKET, or the size of a close. */
  readonly adjustments: readonly OrderAdjustment[];
  /** The venue's own answer; null while there is none. */
  readonly venueOrder: VenueOrder | null;
  readonly native: {
    readonly priceDecimals: number;
    readonly qtyDecimals: number;
    readonly multiplierExp10: number;
  };
}

export interface OrderAdjustment {
  readonly field: "price" | "size";
  readonly from: string;
  readonly to: string;
  /** TICK_SIZE, MAX_SLIPPAGE, PRICE_BAND, POSITION_SIZE, MAX_SIZE, LOT_SIZE. */
  readonly rule: string;
}

/** Nothing was executed, for certain. `details` are fit for the reply: redacted, plain data. */
export interface OrderRefusal {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly replayed: boolean;
}

/**
 * Refusals worth a word of their own: VENUE_REJECTED with details {exchange, reason, venueCode, venueText, clientOrderId,
 * venueClientOrderId}; VENUE_UNAVAILABLE and VENUE_RATE_LIMITED (503, nothing left this machine); MISSING_CREDENTIALS
 * with {exchange, problem}.
 */
export type OrderAnswer = { readonly ok: true; readonly order: OrderFacts; readonly replayed: boolean } | OrderRefusal;

/** How an order is named: the venue's id, what the venue saw as client id, or the caller's own clientOrderId. */
export interface OrderName extends OrderAccount {
  readonly orderId: string;
  /** A hint; a wrong one costs time, nothing else. */
  readonly symbol: string | null;
  readonly deadlineMs: number;
}

export type CancelAnswer =
  | {
      readonly ok: true;
      /** ACCEPTED: the venue took the cancel. UNKNOWN: no answer; asking again is safe. */
      readonly outcome: "ACCEPTED" | "UNKNOWN";
      /** Taken; whether the order was open the venue decides later. */
      readonly isPending?: true;
      readonly orderId: string;
      readonly symbol: string;
      /** What the order had been when it was looked up; null where no look was needed. */
      readonly order: OrderFacts | null;
    }
  /** ORDER_NOT_FOUND, ORDER_NOT_OPEN {status}, CANCEL_REJECTED {reason, venueText}, … */
  | OrderRefusal;

export interface AmendRequest extends OrderName {
  /** Null means as it is. At least one of the two is given. */
  readonly price: string | null;
  /** The whole order, what has filled included. */
  readonly quantity: string | null;
}

export type AmendAnswer =
  | {
      readonly ok: true;
      readonly outcome: "ACCEPTED" | "UNKNOWN";
      /** After an accepted change as the venue shows it; the order before it where the venue only acknowledged, or did not answer. */
      readonly order: OrderFacts;
    }
  | OrderRefusal;

export interface CancelAllRequest extends OrderAccount {
  /** Null means of every symbol. */
  readonly symbol: string | null;
  readonly deadlineMs: number;
}

export type CancelAllAnswer =
  | {
      readonly ok: true;
      readonly outcome: "ACCEPTED" | "UNKNOWN";
      /** Null when the venue does not say how many. */
      readonly canceledCount: number | null;
      /** Orders that the venue refused to cancel. */
      readonly failed: readonly { readonly reason: string; readonly venueCode: string; readonly venueText: string }[];
    }
  | OrderRefusal;

export interface ClosePositionRequest extends OrderAccount {
  readonly symbol: string;
  /** The position that is closed; null: whichever there is, both hedge sides included. */
  readonly direction: Direction | null;
  /** Base units; null: all of it. More than the position is SIZE_EXCEEDS_POSITION; needs one position. */
  readonly quantity: string | null;
  /** MARKET: bounded by maxSlippageBps, and by `price` where given. LIMIT: reduce-only at `price`, GTC. */
  readonly type: "MARKET" | "LIMIT";
  readonly price: string | null;
  readonly clientOrderId: string | null;
  readonly maxSlippageBps: number;
  readonly deadlineMs: number;
}

/**
 * CLOSED: what was asked for is closed (or was flat when the order came: then `note` is ALREADY_FLAT). PARTIAL: some
 * of it. RESTING: a LIMIT that waits. FAILED: nothing, for certain. UNKNOWN: nobody knows yet. SIMULATED: a dry run
 * would have sent it.
 */
export type CloseLegStatus = "CLOSED" | "PARTIAL" | "RESTING" | "FAILED" | "UNKNOWN" | "SIMULATED";

export interface CloseLeg {
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly direction: Direction;
  readonly positionSide: PositionSide;
  /** The live position when it was read, base units. */
  readonly positionSize: string;
  readonly requestedSize: string;
  readonly filledSize: string;
  /** Of SIMULATED: the bound that the order would carry. */
  readonly worstPrice?: string;
  readonly status: CloseLegStatus;
  readonly note: string | null;
  /** The last order of the leg; null where none was sent. */
  readonly order: OrderFacts | null;
  /** Of FAILED, or of why the rest of a PARTIAL stayed. */
  readonly error: { readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> } | null;
}

export type ClosePositionAnswer =
  /** Larger position first; at least one leg. */
  { readonly ok: true; readonly legs: readonly CloseLeg[]; readonly replayed: boolean } | OrderRefusal;

export interface CloseAllRequest {
  /** One venue or several; each venue once. */
  readonly accounts: readonly OrderAccount[];
  /** Null means of every symbol. A venue that lists none of them answers UNKNOWN_SYMBOL. */
  readonly symbols: readonly string[] | null;
  /** Reads and decides as a close would, sends and cancels nothing, uses up no idempotency key. */
  readonly dryRun: boolean;
  /** Cancel all open orders (of these symbols) first: they could open what is being closed. */
  readonly cancelFirst: boolean;
  readonly maxSlippageBps: number;
  readonly deadlineMs: number;
}

/** One venue's part: its failure never hides another's. */
export interface CloseAllVenue {
  readonly venue: RoutableVenue;
  /** Of the positions read; null: they were read. With an error there are no legs. */
  readonly error: { readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> } | null;
  /** Null means not asked for. */
  readonly cancel: {
    readonly outcome: "ACCEPTED" | "FAILED" | "UNKNOWN";
    readonly canceledCount: number | null;
    readonly error: { readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> } | null;
  } | null;
  readonly legs: readonly CloseLeg[];
}

export type CloseAllAnswer =
  | { readonly ok: true; readonly venues: readonly CloseAllVenue[]; readonly replayed: boolean }
  /** Only for what concerns the request as a whole (idempotency, overload). */
  | OrderRefusal;

export interface SettingRequest extends OrderAccount {
  readonly symbol: string;
  readonly deadlineMs: number;
}

export type SettingAnswer =
  | {
      readonly ok: true;
      /** UNKNOWN: the venue gave no answer; setting it again is safe. */
      readonly outcome: "ACCEPTED" | "UNKNOWN";
      readonly symbol: string;
      readonly nativeSymbol: string;
      readonly settings: SymbolSettings;
    }
  /** LEVERAGE_OUT_OF_RANGE {max}, INVALID_TRADING_SYMBOL, SETTING_REJECTED {reason, venueText}, NOT_SUPPORTED {what}, … */
  | OrderRefusal;

export interface OpenOrdersRequest extends OrderAccount {
  readonly symbol: string | null;
  readonly deadlineMs: number;
}

export type OpenOrdersAnswer =
  | {
      readonly ok: true;
      readonly orders: readonly OrderFacts[];
      readonly asOfMs: number;
      readonly source: "stream" | "venue";
    }
  | OrderRefusal;

export interface OrderDeskStatus {
  readonly inFlight: number;
  readonly draining: boolean;
  readonly unknownCount: number;
  /** Oldest first; `routeId` is the order's own reference (`or_…`). */
  readonly unknown: readonly ListedOrder[];
  /** Acknowledged by their venue, and their end not seen. */
  readonly open: readonly ListedOrder[];
  readonly resolver: ResolverCounts;
  readonly armedSwitchCount: number;
  /** Orders that rest and are followed to their end; of them, those that wait for credentials of their account. */
  readonly followedCount: number;
  readonly unattendedCount: number;
}

/** An order whose outcome was unknown at its reply has found its end. Holds no credential. */
export interface ResolvedOrder {
  /** The order's own reference, `or_…`. */
  readonly orderRef: string;
  readonly venue: RoutableVenue;
  /** `accountHashOf` of its owner and the session that sent it; null: sent by a version that kept none. */
  readonly accountHash: string | null;
  /** What the caller sent; null if nothing. */
  readonly clientOrderId: string | null;
  /** What its reply called it. */
  readonly venueClientOrderId: string;
  /** Null when it was never placed, or the venue refused it. */
  readonly order: OrderFacts | null;
  /** The words of a trade's execution. */
  readonly state: ExecutionState;
}

/** Called in the turn in which the end is known; must not throw. */
export type OrderResolvedListener = (resolved: ResolvedOrder) => void;

export interface OrderDesk {
  place(request: PlaceRequest, context: OrderRequestContext): Promise<OrderAnswer>;
  cancel(request: OrderName, context: OrderRequestContext): Promise<CancelAnswer>;
  amend(request: AmendRequest, context: OrderRequestContext): Promise<AmendAnswer>;
  cancelAll(request: CancelAllRequest, context: OrderRequestContext): Promise<CancelAllAnswer>;
  /** Re-reads the live position, derives the side, always reduce-only. Flat: SIZE_EXCEEDS_POSITION with both maxima "0". */
  closePosition(request: ClosePositionRequest, context: OrderRequestContext): Promise<ClosePositionAnswer>;
  closeAll(request: CloseAllRequest, context: OrderRequestContext): Promise<CloseAllAnswer>;
  /** A whole number from 1 to 125 and to the contract's maximum. */
  setLeverage(
    request: SettingRequest & { readonly leverage: number },
    context: OrderRequestContext,
  ): Promise<SettingAnswer>;
  setMarginMode(
    request: SettingRequest & { readonly mode: "cross" | "isolated" },
    context: OrderRequestContext,
  ): Promise<SettingAnswer>;
  /** ORDER_NOT_FOUND only when every place that could hold it was read; else FAILED_TO_FETCH_ORDER_STATUS {reason}. */
  orderStatus(request: OrderName, context: OrderRequestContext): Promise<OrderAnswer>;
  openOrders(request: OpenOrdersRequest, context: OrderRequestContext): Promise<OpenOrdersAnswer>;
  /**
   * What is known of an order that its venue shows, for lists that cannot wait. `account`: whose it is, for those who may
   * know what its caller had called it; null for all others. `ownerId`: who asks; the order of another owner is as one
   * that was placed elsewhere.
   */
  termsOf(
    order: VenueOrder,
    account: Pick<AccountSession, "venue" | "accountId"> | null,
    ownerId: string | null,
  ): OwnTerms;
  /** Called with each order of unknown outcome that found its end after the reply. Returns the function that ends it. */
  onResolved(listener: OrderResolvedListener): () => void;
  /** Orders as the asker may see them, all of them where absent. */
  status(asker?: Asker): OrderDeskStatus;
}

/** What we know of an order that was read from its venue. */
export interface OwnTerms {
  /** Null when its caller called it nothing that is remembered, or it is not of this service. */
  readonly clientOrderId: string | null;
  /** Placed here as a market order, whatever its venue made of it. */
  readonly isMarket: boolean;
}
