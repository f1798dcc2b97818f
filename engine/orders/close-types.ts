/**
 * Request and result of the close path, shapes of the routing design (sections 2, 3 and 5). Money, price and
 * size fields are decimal strings in canonical quoting; times are Unix ms.
 */
import type { ErrorCode } from "../domain/errors.js";
import type { Direction, OrderStatus, OrderType, Side } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { RoutingReport } from "../routing/report.js";

export interface CloseRequest {
  /** Canonical symbol. */
  readonly symbol: string;
  readonly direction: Direction;
  /** Exactly one of: base units as decimal text, "ALL", or `sizePercent` (0 < p ≤ 100, decimal text) of the open size. */
  readonly size: string | null;
  readonly sizePercent: string | null;
  readonly orderType: "MARKET" | "LIMIT";
  readonly limitPrice: string | null;
  readonly preferredExchange: RoutableVenue | null;
  /** Raw blocks of spec 2.3 by venue; only present venues. Never stored. */
  readonly credentials: Readonly<Partial<Record<RoutableVenue, unknown>>>;
  readonly clientOrderId: string | null;
  readonly dryRun: boolean;
  readonly maxSlippageBps: number;
  readonly maxQuoteAgeMs: number;
  readonly deadlineMs: number;
  readonly excludeExchanges: readonly RoutableVenue[];
  readonly waitFor: "ACK" | "FILL";
}

export interface CloseContext {
  readonly requestId: string;
  /** Idempotency-Key header; null if none. */
  readonly idempotencyKey: string | null;
  /** Id of the API key, or null in public mode (then the accounts of the credentials scope the key). */
  readonly apiKeyId: string | null;
  /** Exact bytes of the request body, for the fingerprint. */
  readonly rawBody: Uint8Array;
  /** Called once the reply is known to be undeliverable (client gone); the close goes on. */
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

export interface ExecutionReport {
  state: ExecutionState;
  final: boolean;
  mode: "LIVE" | "DRY_RUN";
  algo: "IOC" | "GTC" | null;
  /** Why a NOOP or a remainder: ALREADY_FLAT, DUST_REMAINDER, …; null otherwise. */
  note: string | null;
  requestedSize: string;
  submittedSize: string;
  filledSize: string;
  remainingSize: string;
  averagePrice: string | null;
  notional: string | null;
  fees: { amount: string; asset: string; source: "venue" | "computed" }[];
  realizedSlippageBps: string | null;
  vsQuoteBps: string | null;
  adjustments: { field: "price" | "size"; from: string; to: string; rule: string }[];
  legs: ExecutionLeg[];
  timingMs: { total: number; positions: number; routing: number; sign: number; venue: number };
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
   * the venue's stream shows cannot be had without a read that may become a venue call, and rooms distrust a stream for
   * a while after each send, as it may be older than the fill.
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

export interface CloseData {
  executedOn: RoutableVenue | null;
  order: NormalizedOrder | null;
  routing: RoutingReport;
  execution: ExecutionReport;
  position: PositionAfter | null;
  /** Dry run only. */
  quote?: Quote;
}

/** What became of a close, when asked for by its routeId. */
export type ExecutionAnswer =
  /** Null: not known (any more). */
  | { readonly ok: true; readonly data: CloseData | null }
  /** The credentials given for the order's venue are none. `problem` names the field, never its value. */
  | { readonly ok: false; readonly venue: RoutableVenue; readonly problem: string };

export type CloseResult =
  | { readonly ok: true; readonly success: boolean; readonly data: CloseData; readonly replayed: boolean }
  | {
      readonly ok: false;
      readonly code: ErrorCode;
      readonly details: Readonly<Record<string, unknown>>;
      readonly replayed: boolean;
    };
