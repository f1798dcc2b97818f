/**
 * What happened, written into runs and their orders: here alone, to everybody else they are read-only (run.ts).
 */
import { isPlainDecimal } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { VenueOrder } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import { MAX_OTHER_IDS, wholeOrder } from "./order-parts.js";
import {
  hasOwnPrice,
  mayRest,
  type AttemptRecord,
  type OrderAttempt,
  type PositionBefore,
  type ProtectionWish,
  type TradeRun,
} from "./run.js";
import type { ExecutionAdjustment, ExecutionReport, PositionAfter } from "./types.js";

/** Anything with orders: a trade, or a single order. */
type WithAttempts = Pick<TradeRun, "attempts">;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

function writable<T extends object>(record: T): Writable<T> {
  return record;
}

function listOf<T>(items: readonly T[]): T[] {
  return items as T[];
}

export function addAttempt({ attempts }: WithAttempts, attempt: OrderAttempt): void {
  listOf(attempts).push(attempt);
}

/** Takes back all attempts after the first `keptCount`. Throws where one of them was put to its venue. */
export function dropAttempts({ attempts }: WithAttempts, keptCount: number): void {
  if (attempts.slice(keptCount).some(({ sentAtMs }) => sentAtMs !== null))
    throw new ServiceError("INTERNAL", { problem: "an order that was sent cannot be dropped" });
  listOf(attempts).length = keptCount;
}

/** Right before the order is put to its venue. */
export function recordSend(attempt: OrderAttempt, atMs: number): void {
  writable(attempt).sentAtMs = atMs;
}

/** The order never left this machine. */
export function recordNotSent(attempt: OrderAttempt, reason: string | null): void {
  const written = writable(attempt);
  written.outcome = "NOT_SENT";
  written.reason = reason;
  written.sentAtMs = null;
}

/** The venue, or the room before it (`isSent` false), refused the order. */
export function recordRefusal(
  attempt: OrderAttempt,
  refusal: Pick<OrderAttempt, "venueText" | "retryAfterMs" | "isLasting"> & {
    readonly reason: string;
    readonly isSent: boolean;
    readonly atMs: number;
  },
): void {
  const { atMs, isLasting, isSent, reason, retryAfterMs, venueText } = refusal;
  if (!isSent) recordNotSent(attempt, reason);
  const written = writable(attempt);
  if (isSent) {
    written.outcome = "REJECTED";
    written.reason = reason;
    written.ackAtMs = atMs;
  }
  written.venueText = venueText;
  if (isLasting === true) written.isLasting = true;
  if (retryAfterMs !== undefined) written.retryAfterMs = retryAfterMs;
}

/** Nobody knows how the order ended. What its venue last showed of it is kept. */
export function recordUnknown(attempt: OrderAttempt, reason: string | null): void {
  const written = writable(attempt);
  written.outcome = "UNKNOWN";
  written.reason = reason;
}

/** Whoever was at work on the order is gone: what was PENDING is of unknown outcome from here on. */
export function recordAbandoned(attempt: OrderAttempt): void {
  if (attempt.outcome === "PENDING") writable(attempt).outcome = "UNKNOWN";
}

/** Forgets the last sight of the order, so that it is read again. */
export function recordDoubt(attempt: OrderAttempt, reason: string | null = attempt.reason): void {
  recordUnknown(attempt, reason);
  writable(attempt).order = null;
}

/**
 * What the venue shows of the order. Holds 0 ≤ filled ≤ the largest size that it has had, whatever the venue says, and
 * keeps no price that is no decimal. Returns the order as it was written. `isReplaced`: another is in its place.
 */
export function recordOrder(attempt: OrderAttempt, shown: VenueOrder, isReplaced = false): VenueOrder {
  const { order, parts } = wholeOrder(attempt, shown, isReplaced);
  const changedLots = changedSize(attempt, order);
  const changedTicks = changedPrice(attempt, order);
  const mostLots = Math.max(attempt.qtyLots, attempt.changedLots ?? 0, changedLots ?? 0);
  const filledLots = Number.isSafeInteger(order.filledLots) ? Math.min(Math.max(0, order.filledLots), mostLots) : 0;
  const averagePrice = order.averagePrice !== null && isPlainDecimal(order.averagePrice) ? order.averagePrice : null;
  // First the copy, which reads every field: should one fail, the attempt is as it was.
  const written = { ...order, filledLots, averagePrice };
  writable(attempt).order = written;
  if (parts !== undefined) writable(attempt).parts = parts;
  if (changedLots !== undefined) writable(attempt).changedLots = changedLots;
  if (changedTicks !== undefined) writable(attempt).changedTicks = changedTicks;
  return written;
}

/** It was named under this id, which has not been read. */
export function noteOtherId(attempt: OrderAttempt, venueOrderId: string): void {
  const { otherIds = [] } = attempt;
  if (!otherIds.includes(venueOrderId)) writable(attempt).otherIds = [...otherIds, venueOrderId].slice(-MAX_OTHER_IDS);
}

/** It has been read by this id. */
export function dropOtherId(attempt: OrderAttempt, venueOrderId: string): void {
  const left = (attempt.otherIds ?? []).filter((id) => id !== venueOrderId);
  const written = writable(attempt);
  if (left.length > 0) written.otherIds = left;
  else delete written.otherIds;
}

/**
 * The size of an order that was sent in another; undefined: it has the size in which it was sent. Only one that rests, and
 * that its venue has shown before, can have been changed; a venue may leave the size out.
 */
function changedSize(attempt: OrderAttempt, { qtyLots }: VenueOrder): number | undefined {
  const isShown = attempt.order !== null && mayRest(attempt) && Number.isSafeInteger(qtyLots) && qtyLots > 0;
  if (!isShown || (attempt.changedLots === undefined && qtyLots === attempt.qtyLots)) return attempt.changedLots;
  return qtyLots;
}

/** Its price, likewise. */
function changedPrice(attempt: OrderAttempt, { priceTicks }: VenueOrder): number | undefined {
  const isShown = attempt.order !== null && hasOwnPrice(attempt) && Number.isSafeInteger(priceTicks) && priceTicks > 0;
  if (!isShown || (attempt.changedTicks === undefined && priceTicks === attempt.priceTicks))
    return attempt.changedTicks;
  return priceTicks;
}

/** What the order shown means: CONFIRMED, or REJECTED with a reason and the venue's word. */
export function recordVerdict(
  attempt: OrderAttempt,
  verdict: { readonly outcome: "CONFIRMED" } | { readonly outcome: "REJECTED"; reason: string; venueText: string },
): void {
  const written = writable(attempt);
  written.outcome = verdict.outcome;
  written.reason = verdict.outcome === "REJECTED" ? verdict.reason : null;
  written.venueText = verdict.outcome === "REJECTED" ? verdict.venueText : null;
}

/** Its venue shows the order in a state that is not known here. */
export function recordUnknownStatus(attempt: OrderAttempt): void {
  recordUnknown(attempt, "VENUE_STATUS");
  writable(attempt).venueText = null;
}

/** Proven: the venue never had the order. */
export function recordNotPlaced(attempt: OrderAttempt): void {
  const written = writable(attempt);
  written.outcome = "REJECTED";
  written.reason = "NOT_PLACED";
  written.venueText = null;
}

/** When the venue answered, in our wall time. */
export function recordAck(attempt: OrderAttempt, atMs: number): void {
  writable(attempt).ackAtMs = atMs;
}

/** From when on the venue can no longer accept the order, see absence-proof.ts. `venueMs` absent: as it was. */
export function recordBound(attempt: OrderAttempt, wallMs: number, venueMs?: number): void {
  const written = writable(attempt);
  written.notPlacedAfterMs = wallMs;
  if (venueMs !== undefined) written.notPlacedAfterVenueMs = venueMs;
}

/** What the record has of the order by now. */
export function markRecorded(attempt: OrderAttempt, recorded: AttemptRecord): void {
  writable(attempt).recorded = recorded;
}

export function markReplaced(attempt: OrderAttempt): void {
  writable(attempt).replaced = true;
}

export function markTakenBack(attempt: OrderAttempt, isTakenBack: boolean): void {
  const written = writable(attempt);
  if (isTakenBack) written.takenBack = true;
  else delete written.takenBack;
}

export function markUnfollowed(attempt: OrderAttempt): void {
  writable(attempt).unfollowed = true;
}

/** What the trade found at a venue before its first order there. */
export function addPosition(run: TradeRun, before: PositionBefore): void {
  if (!run.positionsBefore.some(({ venue }) => venue === before.venue)) listOf(run.positionsBefore).push({ ...before });
}

/** The position turned out to be smaller than it was read: it never grows here. */
export function shrinkPosition(run: TradeRun, venue: RoutableVenue, qtyLots: number): void {
  const before = run.positionsBefore.find((position) => position.venue === venue);
  if (before !== undefined) writable(before).qtyLots = Math.min(before.qtyLots, qtyLots);
}

export function addAdjustment(run: TradeRun, adjustment: ExecutionAdjustment): void {
  listOf(run.adjustments).push(adjustment);
}

export function recordNote(run: TradeRun, note: string | null): void {
  writable(run).note = note;
}

/** What is left of the position, where it was read; null: as far as the trade can tell. */
export function recordPositionAfter(run: TradeRun, positionAfter: PositionAfter | null): void {
  writable(run).positionAfter = positionAfter;
}

/** A new decision for a run none of whose orders did anything. */
export function recordDecision(
  run: TradeRun,
  decision: Pick<TradeRun, "requestedSize" | "routing" | "adjustments"> & { readonly unread: readonly RoutableVenue[] },
): void {
  const written = writable(run);
  written.requestedSize = decision.requestedSize;
  written.unread = decision.unread;
  written.routing = decision.routing;
  written.adjustments = decision.adjustments;
}

/** The state in which its end was reported after the reply; undefined: it was not. */
export function recordReportedEnd(run: Pick<TradeRun, "toldEnd">, state: ExecutionReport["state"] | undefined): void {
  const written = writable(run);
  if (state === undefined) delete written.toldEnd;
  else written.toldEnd = state;
}

/** Sets what a decision took, adds what its orders took. Whole tenths of a ms. */
export function recordTimings(
  { timingMs }: TradeRun,
  took: { readonly positions?: number; readonly routing?: number; readonly venue?: number; readonly sign?: number },
): void {
  const written = writable(timingMs);
  written.positions = took.positions ?? written.positions;
  written.routing = took.routing ?? written.routing;
  written.venue += took.venue ?? 0;
  written.sign += took.sign ?? 0;
}

/** Writes the total and what no part of it has; parts that round to more than it make it up. */
export function endTimings({ timingMs }: TradeRun, elapsedMs: number): void {
  const written = writable(timingMs);
  const parts = written.positions + written.routing + written.sign + written.venue;
  written.other = Math.max(0, roundMs(roundMs(elapsedMs) - parts));
  written.total = roundMs(parts + written.other);
}

/** Whole tenths: finer is noise. */
export function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Why no order was sent for the protection; null: there is no reason (any more). */
export function recordProtectionProblem(protection: ProtectionWish, problem: string | null): void {
  writable(protection).problem = problem;
}

export function recordWatch(protection: ProtectionWish, watch: NonNullable<ProtectionWish["watch"]> | null): void {
  writable(protection).watch = watch;
}

export function abandonProtection(protection: ProtectionWish): void {
  writable(protection).isAbandoned = true;
}

export function giveUpProtection(protection: ProtectionWish): void {
  writable(protection).isGivenUp = true;
}

/** Lots that the owner closed at the venue, on the scale of what the trade found there. */
export function addGone(protection: ProtectionWish, venue: RoutableVenue, lots: number): void {
  writable(protection).gone = { ...protection.gone, [venue]: (protection.gone?.[venue] ?? 0) + lots };
}
