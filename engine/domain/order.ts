/**
 * Order types of the core. An order request has three outcomes: accepted, rejected (the venue refused it), unknown
 * (timeout, 5xx, lost socket after the send). Unknown is never reported as rejected and never sent again;
 * `notPlacedAfterMs` is what lets a resolver end it with proof.
 */
import type { Instrument } from "./instrument.js";
import type { RoutableVenue } from "./venue.js";

export type Side = "BUY" | "SELL";
export type Direction = "LONG" | "SHORT";
export type OrderType = "LIMIT" | "MARKET" | "STOP_MARKET" | "STOP_LIMIT";
/** Interface spec 2.2. PARTIALLY_FILLED means still open; an order that ended partly filled is CANCELED (api: orders). */
export type OrderStatus = "OPEN" | "FILLED" | "PARTIALLY_FILLED" | "CANCELED" | "REJECTED" | "UNKNOWN";
export type TimeInForce = "IOC" | "GTC" | "POST_ONLY" | "FOK";
/** BOTH on one-way accounts; the closed side on hedge-mode accounts, where the venue forbids reduceOnly. */
export type PositionSide = "BOTH" | "LONG" | "SHORT";

/** What makes an order wait at the venue until a price is reached. */
export interface OrderTrigger {
  readonly kind: "STOP" | "TAKE_PROFIT";
  /** On the venue's grid. */
  readonly priceTicks: number;
  /** Which price fires it; a venue that offers only one uses that one. */
  readonly source: "MARK" | "LAST";
}

export function closingSide(direction: Direction): Side {
  return direction === "LONG" ? "SELL" : "BUY";
}

export interface OrderCommand {
  readonly instrument: Instrument;
  readonly side: Side;
  /**
   * `MARKET` is sent as an IOC limit at `priceTicks` (routing design, price protection). With a trigger, this is the
   * type the order has once it fires.
   */
  readonly type: "LIMIT" | "MARKET";
  /**
   * Absent: the order is live at once. A room whose venue has no trigger orders rejects the order without sending it.
   */
  readonly trigger?: OrderTrigger;
  readonly timeInForce: TimeInForce;
  /** Limit price, or the worst acceptable price of a MARKET. Already on the venue's grid. */
  readonly priceTicks: number;
  readonly qtyLots: number;
  /** Always true on the close path and on protection orders; the room drops the flag only where a hedge-mode venue forbids it, and then sends positionSide. */
  readonly reduceOnly: boolean;
  readonly positionSide: PositionSide;
  /**
   * 128 bits as 32 lower-case hex digits, created and persisted before the send. Each room writes it in its venue's
   * form.
   */
  readonly clientIdHex: string;
}

export interface VenueOrder {
  readonly venue: RoutableVenue;
  readonly nativeSymbol: string;
  /** Exact digits; "" while the venue has not given one. */
  readonly venueOrderId: string;
  /** The client id as the venue received it, in its own form; null if it had none. */
  readonly venueClientOrderId: string | null;
  readonly side: Side;
  readonly type: OrderType;
  readonly status: OrderStatus;
  /** Status in the venue's own word. */
  readonly venueStatus: string;
  /** Why it ended without filling completely; present where the venue's word or code gives the reason. */
  readonly endReason?: RejectReason;
  readonly priceTicks: number;
  readonly qtyLots: number;
  readonly filledLots: number;
  /** Average fill price as the venue printed it, native quoting, decimal string; null if nothing filled. */
  readonly averagePrice: string | null;
  readonly reduceOnly: boolean;
  readonly triggerPrice: string | null;
  /** Present where the venue reports it with the order. */
  readonly timeInForce?: TimeInForce;
  /** For orders with a triggerPrice; absent reads as STOP. */
  readonly triggerKind?: OrderTrigger["kind"];
  readonly tsVenueMs: number;
  /** Fee of the fills as the venue reported it; null if not reported with this answer. */
  readonly fee: { readonly amount: string; readonly asset: string } | null;
}

/** Identifies an order within its account: some venues count their ids by contract. */
export function orderKey({ nativeSymbol, venueOrderId }: Pick<VenueOrder, "nativeSymbol" | "venueOrderId">): string {
  return `${nativeSymbol}|${venueOrderId}`;
}

export type RejectReason =
  | "REDUCE_ONLY" // nothing to reduce, or would increase: re-read, maybe already flat
  | "INSUFFICIENT_MARGIN"
  | "PRICE" // tick, trigger
  | "PRICE_BAND" // outside the venue's band around its mark: another mark may hold it
  | "SIZE" // step, minimum, maximum
  | "NO_LIQUIDITY" // IOC matched nothing
  | "AUTH" // key, signature, agent not approved
  | "RATE_LIMITED" // refused before execution
  | "DUPLICATE_CLIENT_ID" // look it up, it is not a failure
  | "NOT_FOUND"
  | "VENUE_STATE"; // halted, liquidation, anything else definitive

export type PlaceOutcome =
  | {
      readonly outcome: "accepted";
      readonly order: VenueOrder;
      readonly ackMs: number;
      /**
       * As on `unknown`, where the acceptance is only a receipt and the venue may still drop the order. Absent: the
       * venue has the order.
       */
      readonly notPlacedAfterMs?: number;
    }
  | {
      readonly outcome: "rejected";
      readonly reason: RejectReason;
      readonly venueCode: string;
      readonly venueText: string;
      /** Whether a request left this machine. false: our own limiter, breaker or check refused it. */
      readonly sent: boolean;
      readonly retryAfterMs: number | null;
      /** The venue reported something wrong in the order itself: the same order would be refused again. */
      readonly isLasting?: true;
    }
  | {
      readonly outcome: "unknown";
      readonly cause: string;
      /** Wall ms (ours) after which the venue can no longer accept this request (expiresAfter, recvWindow, nonce window), clock offset included. */
      readonly notPlacedAfterMs: number;
    };

export type CancelOutcome =
  /** `isPending`: the venue accepted the request; whether there is an order to cancel is decided later. */
  | { readonly outcome: "accepted"; readonly isPending?: true }
  | {
      readonly outcome: "rejected";
      readonly reason: RejectReason;
      readonly venueCode: string;
      readonly venueText: string;
      readonly sent: boolean;
      /** Present on a refusal by a limit whose end is known. */
      readonly retryAfterMs?: number;
    }
  | { readonly outcome: "unknown"; readonly cause: string };

/** One trade of an order. */
export interface VenueFill {
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly nativeSymbol: string;
  /** Unique within a venue and account. */
  readonly tradeId: string;
  /** Exact digits. */
  readonly venueOrderId: string;
  readonly venueClientOrderId: string | null;
  readonly side: Side;
  readonly qtyLots: number;
  /** Decimal string in canonical quoting. */
  readonly price: string;
  readonly fee: { readonly amount: string; readonly asset: string } | null;
  readonly isMaker: boolean | null;
  /** Realized profit of this fill before fees, in quote units; null where the venue does not report it. */
  readonly realizedPnl: string | null;
  readonly tsVenueMs: number;
}

/** The new price and size of an order, both in full and not as differences. */
export interface OrderChange {
  readonly priceTicks: number;
  /** Size of the whole order, including what has filled. */
  readonly qtyLots: number;
}

export type Refused = Extract<CancelOutcome, { readonly outcome: "rejected" }>;
export type Unclear = Extract<CancelOutcome, { readonly outcome: "unknown" }>;

export type ScheduleOutcome =
  /**
   * `symbols`: the native symbols whose orders it covers, where the venue does it by symbol. Absent: it covers every
   * order of the account.
   */
  { readonly outcome: "accepted"; readonly symbols?: readonly string[] } | Refused | Unclear;

export type AmendOutcome =
  /**
   * `order`: its current state at the venue; null where the venue only confirmed. Some venues assign a new order id.
   */
  { readonly outcome: "accepted"; readonly order: VenueOrder | null } | Refused | Unclear;

export type CancelAllOutcome =
  /** `canceledCount` is null when the venue does not report it. `failed`: each order it refused to cancel. */
  | { readonly outcome: "accepted"; readonly canceledCount: number | null; readonly failed: readonly Refused[] }
  | Refused
  | Unclear;
