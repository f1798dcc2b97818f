/**
 * The plain record of one single order: what was asked, and its outcome. Everything an answer needs is in it, so
 * that an answer can be built at any time, also after a restart.
 *
 * Invariant: holds no credential and no account label (only its keyed hash); JSON in, JSON out, without loss.
 */
import type { Direction, OrderTrigger, OrderType, PositionSide, Side } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { isOfUnknownOutcome, isWorking, type OrderAttempt, type PositionBefore } from "../run.js";
import type { OrderAnswer, OrderAdjustment, SingleOrderType } from "./order-desk.js";

/** What an idempotency record keeps. */
export type StoredAnswer = OrderAnswer;

export interface SingleRun {
  /** The order's own reference, `or_…`. Named as on a trade: what rows and logs are joined by. */
  readonly routeId: string;
  readonly requestId: string;
  /** Whose order it is; null in public mode, absent in runs of versions before, which had no other. */
  readonly ownerId?: string | null;
  readonly venue: RoutableVenue;
  /** Keyed hash of owner and account: answers to others than its sender are refused by it. */
  readonly accountHash: string;
  readonly symbol: string;
  readonly side: Side;
  /** Of the position that it opens or closes. */
  readonly direction: Direction;
  readonly type: SingleOrderType;
  /** As the domain and the record call `type`. */
  readonly orderType: OrderType;
  readonly positionSide: PositionSide;
  readonly reduceOnly: boolean;
  readonly trigger: OrderTrigger | null;
  readonly clientOrderId: string | null;
  readonly adjustments: readonly OrderAdjustment[];
  readonly startedAtMs: number;
  /** For the profit in the record; of a close only. */
  readonly positionsBefore: readonly PositionBefore[];
  readonly routing: null;
  /** The last one counts; those before it were proven never to have been placed, or refused by the venue. */
  readonly attempts: readonly OrderAttempt[];
  /** The venue's own code of a reject; null otherwise. */
  readonly venueCode: string | null;
}

/** The order as it was last tried; null before the first. */
export function lastAttempt(run: SingleRun): OrderAttempt | null {
  return run.attempts.at(-1) ?? null;
}

/** The venue's own code of its refusal. */
export function recordVenueCode(run: SingleRun, venueCode: string | null): void {
  (run as { -readonly [Key in keyof SingleRun]: SingleRun[Key] }).venueCode = venueCode;
}

/** An order that reading the venue can still end. */
export function isUnsettled(run: SingleRun): boolean {
  const attempt = lastAttempt(run);
  if (attempt === null) return false;
  return isWorking(attempt) || isOfUnknownOutcome(attempt);
}

/** No order of the run is or was open at the venue: its name is free again. */
export function neverAtVenue(run: SingleRun): boolean {
  return run.attempts.every((attempt) => attempt.outcome === "NOT_SENT" || attempt.outcome === "REJECTED");
}
