/**
 * The plain record of one close: what was decided and what became of each order. Everything a reply needs is
 * in it, so a reply can be built at any time, also after a restart from the copy in the idempotency record.
 *
 * Invariant: holds no credential and no account label; JSON in, JSON out, without loss.
 */
import type { Direction, OrderType, PositionSide, Side, TimeInForce, VenueOrder } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { RoutingReport } from "../routing/report.js";
import type { ExecutionReport, LegOutcome, PositionAfter } from "./close-types.js";

/** PENDING: intent durable, outcome not known to this record yet. */
export type AttemptOutcome = LegOutcome | "PENDING";

/** One order that was or may have been sent. Scales are copied so that no instrument is needed to print it. */
export interface Attempt {
  readonly leg: number;
  readonly attempt: number;
  readonly venue: RoutableVenue;
  readonly nativeSymbol: string;
  readonly clientIdHex: string;
  /** When its intent was written; with clientIdHex it names the intent. */
  readonly intentAtMs: number;
  readonly venueClientOrderId: string;
  readonly side: Side;
  readonly positionSide: PositionSide;
  readonly timeInForce: TimeInForce;
  readonly qtyLots: number;
  readonly priceTicks: number;
  /** Canonical decimals of ticks and lots, and how far native prices are from canonical ones. */
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly multiplierExp10: number;
  readonly quoteAsset: string;
  /** For the fee when the venue reports none. */
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
  /** Upper bound, tightened by the room's own answer. */
  notPlacedAfterMs: number;
  outcome: AttemptOutcome;
  /** Our reject reason and the venue's text, redacted and cut. */
  reason: string | null;
  venueText: string | null;
  order: VenueOrder | null;
  sentAtMs: number | null;
  ackAtMs: number | null;
  /** What the record was told of it; absent: nothing yet. */
  recorded?: AttemptRecord;
}

/** See order-events.ts. */
export interface AttemptRecord {
  readonly ver: number;
  readonly state: string;
  readonly filled: boolean;
}

/** The position that the close was sized by. */
export interface PositionBefore {
  readonly venue: RoutableVenue;
  qtyLots: number;
  readonly qtyDecimals: number;
  readonly entryPrice: string | null;
}

export interface CloseRun {
  readonly routeId: string;
  readonly requestId: string;
  readonly symbol: string;
  readonly direction: Direction;
  readonly side: Side;
  readonly orderType: OrderType;
  readonly waitFor: "ACK" | "FILL";
  readonly clientOrderId: string | null;
  /** Base units: what the caller asked for, ALL and percent resolved. */
  requestedSize: string;
  routing: RoutingReport;
  adjustments: ExecutionReport["adjustments"];
  readonly startedAtMs: number;
  readonly positionsBefore: PositionBefore[];
  readonly attempts: Attempt[];
  /** ALREADY_FLAT, DUST_REMAINDER, … */
  note: string | null;
  positionAfter: PositionAfter | null;
  readonly timingMs: ExecutionReport["timingMs"];
}

/** Is any order of the run without a known outcome? */
export function unknownAttempt(run: CloseRun): Attempt | null {
  return run.attempts.find((attempt) => attempt.outcome === "UNKNOWN" || attempt.outcome === "PENDING") ?? null;
}

/** Any order that reading the venue can still end: of unknown outcome, or accepted and working when it was last seen. */
export function unsettledAttempt(run: CloseRun): Attempt | null {
  return (
    unknownAttempt(run) ??
    run.attempts.find(
      (attempt) =>
        attempt.outcome === "CONFIRMED" &&
        attempt.order !== null &&
        !isSettled(attempt.order, attempt.timeInForce === "GTC"),
    ) ??
    null
  );
}

/** Will the venue's record of this order still change without our doing? A resting order is as settled as it gets. */
export function isSettled(order: VenueOrder, mayRest: boolean): boolean {
  if (order.status === "UNKNOWN") return false;
  return mayRest || (order.status !== "OPEN" && order.status !== "PARTIALLY_FILLED");
}

export function encodeRun(run: CloseRun): string {
  return JSON.stringify(run);
}

/** Reads what encodeRun wrote. */
export function decodeRun(text: string): CloseRun {
  return JSON.parse(text) as CloseRun;
}
