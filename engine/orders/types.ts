/**
 * Request and result of the trade path, shapes of the routing design (sections 2 to 6). Money, price and
 * size fields are decimal strings in canonical quoting; times are Unix ms.
 */
import type { ErrorCode } from "../domain/errors.js";
import type { Direction, OrderStatus, OrderTrigger, OrderType, Side } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { RoutingReport } from "../routing/report.js";

export interface TradeRequest {
  /** Canonical symbol. */
  readonly symbol: string;
  /** Of the position that is closed or opened. */
  readonly direction: Direction;
  /**
   * A close: exactly one of base units as decimal text, "ALL", or `sizePercent` (0 < p ≤ 100, decimal text) of the open
   * size. An open: exactly one of base units and `open.notionalUsd`.
   */
  readonly size: string | null;
  readonly sizePercent: string | null;
  /** STOP_*: closes only, with a triggerPrice and a preferred venue. */
  readonly orderType: OrderType;
  readonly limitPrice: string | null;
  readonly triggerPrice: string | null;
  readonly preferredExchange: RoutableVenue | null;
  /** Raw blocks of spec 2.3 by venue; only present venues. Never stored. */
  readonly credentials: Readonly<Partial<Record<RoutableVenue, unknown>>>;
  readonly clientOrderId: string | null;
  readonly dryRun: boolean;
  /** Binds worst price and venues to those of an earlier dry run. */
  readonly quoteId: string | null;
  /** Dry runs: how long the quote lives; absent: the default. */
  readonly quoteTtlMs?: number;
  readonly maxSlippageBps: number;
  /** The caller named no maxSlippageBps: with a quoteId the quote's own takes its place. Absent: false. */
  readonly isSlippageDefault?: boolean;
  readonly maxQuoteAgeMs: number;
  readonly deadlineMs: number;
  readonly excludeExchanges: readonly RoutableVenue[];
  readonly allowSplit: boolean;
  /** 1 to 3. */
  readonly maxLegs: number;
  readonly waitFor: "ACK" | "FILL";
  /** What an entry asks for beside; null: a close. */
  readonly open: OpenTerms | null;
}

export interface OpenTerms {
  readonly notionalUsd: string | null;
  /** Set at the venue first; null: as it is there. */
  readonly leverage: number | null;
  readonly marginMode: "cross" | "isolated" | null;
  /** Trigger prices of reduce-only orders for what fills. */
  readonly takeProfit: string | null;
  readonly stopLoss: string | null;
  /** Closes again at once where a protection order was refused. */
  readonly closeOnProtectionFailure: boolean;
  /** Null when funding does not count. */
  readonly expectedHoldHours: number | null;
  /** May the order take from a position in the other direction? */
  readonly allowNetting: boolean;
}

export type TradeIntent = "CLOSE" | "OPEN";

export interface TradeContext {
  readonly requestId: string;
  /** Idempotency-Key header; null if none. */
  readonly idempotencyKey: string | null;
  /** Who owns what the trade makes; null in public mode (then the accounts of the credentials scope the key). */
  readonly ownerId: string | null;
  /** The API key that asks: it pays out of its share of the venues' lanes. Null: the accounts themselves do. */
  readonly payer: string | null;
  /** Exact bytes of the request body, for the fingerprint; not looked at without an idempotency key. */
  readonly rawBody: Uint8Array;
  readonly receivedAtMs: number;
}

export interface NormalizedOrder {
  orderId: string;
  symbol: string;
  side: Side;
  type: OrderType;
  status: OrderStatus;
  price: string;
  quantity: string;
  filledQuantity: string;
  averagePrice: string | null;
  timestamp: number;
  exchange: RoutableVenue;
  clientOrderId: string | null;
  venueClientOrderId: string | null;
  reduceOnly: boolean;
  triggerPrice: string | null;
  /** Present where there is a trigger price. */
  triggerKind?: OrderTrigger["kind"];
}

export type ExecutionState =
  | "COMPLETED"
  | "PARTIAL"
  | "RESTING"
  | "SUBMITTED"
  | "UNKNOWN"
  | "REJECTED"
  | "NOOP"
  | "SIMULATED";
export type LegOutcome = "CONFIRMED" | "REJECTED" | "UNKNOWN" | "NOT_SENT";

export interface ExecutionLeg {
  leg: number;
  attempt: number;
  exchange: RoutableVenue;
  venueClientOrderId: string;
  orderId: string | null;
  size: string;
  /** The bound that this order carried; null for a stop whose venue takes no price with it. */
  worstPrice: string | null;
  filledSize: string;
  averagePrice: string | null;
  status: OrderStatus;
  outcome: LegOutcome;
  /** Our reject reason and the venue's own text; null unless REJECTED. */
  reason: string | null;
  venueText: string | null;
  sentAt: number | null;
  ackAt: number | null;
}

export interface ExecutionAdjustment {
  field: "price" | "size" | "leverage" | "marginMode";
  from: string;
  to: string;
  rule: string;
}

/**
 * PLACED: every order asked for is in force. PARTIAL: some are. FAILED: the venue refused them. UNKNOWN: one of them may or
 * may not be. NOT_PLACED: none was sent, protectionReason says why.
 */
export type ProtectionState = "PLACED" | "PARTIAL" | "FAILED" | "UNKNOWN" | "NOT_PLACED";

/** CLOSE: the undo where protection failed (closeOnProtectionFailure). */
export interface ProtectionOrder {
  kind: "TAKE_PROFIT" | "STOP_LOSS" | "CLOSE";
  exchange: RoutableVenue;
  venueClientOrderId: string;
  orderId: string | null;
  /** Null for CLOSE. */
  triggerPrice: string | null;
  price: string;
  size: string;
  filledSize: string;
  status: OrderStatus;
  outcome: LegOutcome;
  reason: string | null;
  venueText: string | null;
}

export interface ExecutionReport {
  state: ExecutionState;
  final: boolean;
  mode: "LIVE" | "DRY_RUN";
  algo: "IOC" | "GTC" | "STOP" | null;
  /** Why a NOOP or a remainder: ALREADY_FLAT, DUST_REMAINDER, POSITION_UNKNOWN, …; null otherwise. */
  note: string | null;
  requestedSize: string;
  submittedSize: string;
  filledSize: string;
  /** Null means not known, see unreadExchanges. */
  remainingSize: string | null;
  /** ALL and percent: venues with credentials whose position could not be read; absent: all were. */
  unreadExchanges?: RoutableVenue[];
  averagePrice: string | null;
  notional: string | null;
  fees: { amount: string; asset: string; source: "venue" | "computed" }[];
  realizedSlippageBps: string | null;
  vsQuoteBps: string | null;
  adjustments: ExecutionAdjustment[];
  legs: ExecutionLeg[];
  /** Opens only; null where none was asked for. */
  protection?: ProtectionState | null;
  protectionReason?: string | null;
  protectionOrders?: ProtectionOrder[];
  /** The parts add up to the total. `other`: keys, the durable write, waits; absent in reports of versions before. */
  timingMs: { total: number; positions: number; routing: number; sign: number; venue: number; other?: number };
  statusPath: string | null;
}

export interface PositionAfter {
  exchange: RoutableVenue;
  symbol: string;
  direction: Direction;
  size: string;
  entryPrice: string | null;
  asOf: number;
  /**
   * `computed`: the position read for this close minus what it filled. After an accepted order it is always that: what
   * the venue's stream shows cannot be had without a read that may become a venue call, and rooms distrust a stream
   * after each send until it has shown the fill.
   */
  source: "stream" | "venue" | "computed";
}

export interface Quote {
  quoteId: string;
  expiresAt: number;
  side: Side;
  size: string;
  expectedPrice: string;
  worstPrice: string;
  expectedCostBps: string;
  binding: "WORST_PRICE";
}

export interface TradeData {
  executedOn: RoutableVenue | null;
  order: NormalizedOrder | null;
  routing: RoutingReport;
  execution: ExecutionReport;
  position: PositionAfter | null;
  /** Dry run only. */
  quote?: Quote;
}

/** The outcome of a trade, when asked for by its routeId. */
export type ExecutionAnswer =
  /** Null means not known (any more). */
  | { readonly ok: true; readonly data: TradeData | null }
  /** The credentials given for the order's venue are none. `problem` names the field, never its value. */
  | { readonly ok: false; readonly venue: RoutableVenue; readonly problem: string };

export type TradeResult =
  | { readonly ok: true; readonly success: boolean; readonly data: TradeData; readonly replayed: boolean }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly details: Readonly<Record<string, unknown>>;
      readonly replayed: boolean;
    };

/** What a quote binds its call to. Plain data: the record of a trade that used it holds it, for a retry after a crash. */
export interface BoundQuote {
  readonly symbol: string;
  readonly side: Side;
  /** Base units, ALL and percent resolved: the most that a call with it may ask for. */
  readonly size: string;
  /** Null means a public quote is for both, and for MARKET orders. */
  readonly intent: TradeIntent | null;
  readonly orderType: OrderType;
  /** In the common quote; binds MARKET orders. */
  readonly worstPrice: string;
  /** Of an order that brings its price, or a stop's bound: what a call's may not be worse than. Null means MARKET. */
  readonly ownPrice: string | null;
  /** For a call that names none. */
  readonly maxSlippageBps: number;
  /** Those that were eligible. */
  readonly venues: readonly RoutableVenue[];
  /** Keyed hashes of the accounts it was made with; null: made without credentials. */
  readonly accounts: readonly string[] | null;
  /** Whose quote it is; null: made without a key. Absent in runs of versions before. */
  readonly ownerId?: string | null;
}
