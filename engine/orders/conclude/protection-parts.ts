/**
 * What of an entry is covered by its protection, what is to be, and what is to be closed instead. Pure, from the run's
 * record alone.
 *
 * Invariants: an order of unknown outcome counts as sent; a refused one that is not tried again counts as well, so that
 * nothing is sent twice for one part; of an abandoned entry all that no order guards is to be closed, once.
 *
 * Lots of one venue are counted together on the finest scale of the run there (`lotDecimals`): its contract may have been
 * listed on another one between two of its orders.
 */
import type { VenueOrder } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { filledLots, submittedLots } from "../attempt-figures.js";
import { lotDecimals, lotsOn } from "../order-scale.js";
import { protectionsOf } from "../decide/plan.js";
import {
  isGuard,
  isOfPosition,
  isOfUnknownOutcome,
  isUnshown,
  isWorking,
  positionAttempts,
  type OrderAttempt,
  type TradeRun,
} from "../run.js";

type GuardRole = "TAKE_PROFIT" | "STOP_LOSS";

export interface FilledPart {
  /** The first order that filled there: what venue, contract and side are taken from. */
  readonly attempt: OrderAttempt;
  /** Of `qtyDecimals` canonical decimals. */
  readonly lots: number;
  readonly qtyDecimals: number;
}

/**
 * Refusals that may pass by themselves: worth sending again. A trigger that is crossed, a position that is gone, a bad
 * size, a bad key are not, nor is whatever the venue says of the order itself (`isLasting`).
 */
const PASSING: ReadonlySet<string> = new Set([
  ...["RATE_LIMITED", "VENUE_STATE", "PRICE_BAND"],
  // Proven never to have arrived, and never sent for want of a durable intent.
  ...["NOT_PLACED", "STORE_UNAVAILABLE"],
]);

export function isRefused({ outcome }: OrderAttempt): boolean {
  return outcome === "REJECTED" || outcome === "NOT_SENT";
}

/** Its venue had taken it, and it ended with something unfilled. One that we took back, or that was sent again, is none. */
function isLost(attempt: OrderAttempt): boolean {
  const { order, outcome, replaced, takenBack } = attempt;
  const isEnded = order?.status === "CANCELED" || order?.status === "REJECTED";
  const isOurs = replaced === true || takenBack === true;
  return isGuard(attempt) && outcome === "CONFIRMED" && isEnded && !isOurs && filledLots(attempt) < guardLots(attempt);
}

/** One that its owner made larger guards more. A venue may show less of one that reduces, and it guards as much. */
function guardLots(guard: OrderAttempt): number {
  return Math.max(guard.qtyLots, submittedLots(guard));
}

/** Why it guards nothing; null: it does, or may. */
export function failureOf(attempt: OrderAttempt): string | null {
  if (isRefused(attempt)) return attempt.reason ?? "VENUE_STATE";
  return isLost(attempt) ? (attempt.order?.endReason ?? CANCELED) : null;
}

/** Without the venue's word: by its owner, as far as anybody knows. */
const CANCELED = "CANCELED";

/** What ended it was neither its owner nor the end of the position. */
function isFailedByVenue(attempt: OrderAttempt): boolean {
  if (isRefused(attempt)) return true;
  const { endReason } = attempt.order ?? {};
  return isLost(attempt) && endReason !== undefined && endReason !== "REDUCE_ONLY";
}

/** Is there protection that was refused and is to be sent again? */
export function mayTryAgain(run: TradeRun): boolean {
  return run.attempts.some((attempt) => isTriedAgain(run, attempt));
}

export function isTriedAgain(run: TradeRun, attempt: OrderAttempt): boolean {
  const { protection } = run;
  if (protection === undefined || protection.closeOnFailure || protection.isGivenUp === true) return false;
  if (!isGuard(attempt) || attempt.replaced === true || attempt.isLasting === true) return false;
  return PASSING.has(failureOf(attempt) ?? "") && !isAllClosed(run, attempt.venue);
}

/** What the entry opened there is closed again, by its own orders or its owner. */
export function isAllClosed(run: TradeRun, venue: RoutableVenue): boolean {
  return heldByEntry(run, venue) <= 0 && filledByVenue(run).some(({ attempt }) => attempt.venue === venue);
}

/** What the entry opened there and none of its own orders closed; nor its owner, as far as is known. */
export function heldByEntry(run: TradeRun, venue: RoutableVenue): number {
  return openedOn(run, venue) - closedLots(run, venue);
}

function closedLots(run: TradeRun, venue: RoutableVenue): number {
  return sumLots(run, venue, (attempt) => (isOfPosition(attempt) ? 0 : filledLots(attempt)));
}

/** Of the orders there, on the common scale. */
function sumLots(run: TradeRun, venue: RoutableVenue, lotsOf: (attempt: OrderAttempt) => number): number {
  const decimals = lotDecimals(run, venue);
  let sum = 0;
  for (const attempt of run.attempts)
    if (attempt.venue === venue) sum += lotsOn(lotsOf(attempt), attempt.qtyDecimals, decimals);
  return sum;
}

/** Protection, or an undo, whose outcome is not known yet: it may turn out to be refused. */
export function awaitsProtection(run: TradeRun): boolean {
  return run.attempts.some(
    (attempt) =>
      (isGuard(attempt) && (isOfUnknownOutcome(attempt) || isUnshown(attempt))) ||
      (attempt.role === "UNDO" && (isOfUnknownOutcome(attempt) || isWorking(attempt))),
  );
}

/** The caller wants no position without protection, and some of it was refused, or ended by its venue. */
export function isToBeAbandoned({ attempts, protection }: TradeRun): boolean {
  return protection?.closeOnFailure === true && attempts.some((one) => isGuard(one) && isFailedByVenue(one));
}

export function wantedRoles({ protection }: TradeRun): GuardRole[] {
  if (protection === undefined) return [];
  return protectionsOf(protection).map(([path]) => (path === "stopLoss" ? "STOP_LOSS" : "TAKE_PROFIT"));
}

/** What filled and nothing was sent for yet. */
export function unprotectedParts(run: TradeRun): FilledPart[] {
  return partsOf(run, (part) => openedLots(run, part) - mostSent(run, part, () => true));
}

/** What filled and no order of this role guards or is on its way to; one that is tried again is not. */
export function lotsToProtect(run: TradeRun, part: FilledPart, role: GuardRole): number {
  return openedLots(run, part) - sentLots(run, part, role, (attempt) => !isTriedAgain(run, attempt));
}

/** What is to be protected now, with what is tried again. */
export function partsToProtect(run: TradeRun): FilledPart[] {
  const roles = wantedRoles(run);
  return partsOf(run, (part) => Math.max(0, ...roles.map((role) => lotsToProtect(run, part, role))));
}

/** Of an abandoned entry: what is open still, no order guards, and no order closes. */
export function partsToClose(run: TradeRun): FilledPart[] {
  const roles = wantedRoles(run);
  return partsOf(run, (part) => {
    const guarded = roles.map((role) => standingLots(run, part, role));
    return heldByEntry(run, part.attempt.venue) - Math.min(...guarded) - closingLots(run, part);
  });
}

/** What its guards of this role will close yet. */
function standingLots(run: TradeRun, { attempt: { venue } }: FilledPart, role: GuardRole): number {
  return sumLots(run, venue, (guard) => {
    const counts = guard.role === role && guard.replaced !== true && failureOf(guard) === null;
    return counts ? guardLots(guard) - filledLots(guard) : 0;
  });
}

/**
 * Orders for more than is left of an entry that is abandoned, or of which a guard closed something: not all venues
 * cancel a reduce-only order with its position. One whose cancel is out goes first, as it may be gone by then; then one of
 * the size of a guard that closed its part; then the last one placed.
 */
export function guardsToTakeBack(run: TradeRun): OrderAttempt[] {
  const isAbandoned = isToBeAbandoned(run);
  return filledByVenue(run).flatMap((part) => {
    const closed = run.attempts.filter(
      ({ role, venue }) => role !== undefined && role !== "POSITION" && venue === part.attempt.venue,
    );
    if (!isAbandoned && !closed.some((attempt) => isGuard(attempt) && filledLots(attempt) > 0)) return [];
    const left = openedLots(run, part) - closedLots(run, part.attempt.venue);
    return wantedRoles(run).flatMap((role) => {
      const openGuards = closed.filter(
        ({ order, outcome, role: own }) => own === role && outcome === "CONFIRMED" && order !== null && isOpen(order),
      );
      // What it will close yet: what it closed is not left of the position.
      const sizeOf = (guard: OrderAttempt): number =>
        lotsOn(guardLots(guard) - filledLots(guard), guard.qtyDecimals, part.qtyDecimals);
      let beyond = openGuards.reduce((sum, guard) => sum + sizeOf(guard), 0) - Math.max(0, left);
      const ended = closed.filter(
        (guard) => isGuard(guard) && guard.role !== role && filledLots(guard) >= guardLots(guard),
      );
      const endedLots = ended.map((guard) => lotsOn(guardLots(guard), guard.qtyDecimals, part.qtyDecimals));
      const rank = (guard: OrderAttempt): number =>
        guard.takenBack === true ? 0 : endedLots.includes(sizeOf(guard)) ? 1 : 2;
      const inTurn = openGuards.reverse().sort((one, other) => rank(one) - rank(other));
      return inTurn.filter((guard) => {
        if (sizeOf(guard) > beyond) return false;
        beyond -= sizeOf(guard);
        return true;
      });
    });
  });
}

/** One that filled in part guards the rest. */
function isOpen({ status }: VenueOrder): boolean {
  return status === "OPEN" || status === "PARTIALLY_FILLED";
}

/** What the undo will close yet. */
function closingLots(run: TradeRun, part: FilledPart): number {
  return sumLots(run, part.attempt.venue, (attempt) => {
    if (attempt.role !== "UNDO") return 0;
    const isOpen = isOfUnknownOutcome(attempt) || isWorking(attempt);
    return isOpen ? attempt.qtyLots - filledLots(attempt) : 0;
  });
}

function mostSent(run: TradeRun, part: FilledPart, counts: (attempt: OrderAttempt) => boolean): number {
  return Math.max(sentLots(run, part, "STOP_LOSS", counts), sentLots(run, part, "TAKE_PROFIT", counts));
}

function sentLots(
  run: TradeRun,
  part: FilledPart,
  role: GuardRole,
  counts: (attempt: OrderAttempt) => boolean,
): number {
  return sumLots(run, part.attempt.venue, (guard) => {
    const isCounted = guard.role === role && guard.replaced !== true && counts(guard);
    return isCounted ? guardLots(guard) : 0;
  });
}

function partsOf(run: TradeRun, lotsOf: (part: FilledPart) => number): FilledPart[] {
  return filledByVenue(run).flatMap((part) => {
    const lots = lotsOf(part);
    return lots > 0 ? [{ ...part, lots }] : [];
  });
}

export function filledByVenue(run: TradeRun): FilledPart[] {
  const byVenue = new Map<string, FilledPart>();
  for (const attempt of positionAttempts(run)) {
    const { venue } = attempt;
    if (filledLots(attempt) === 0) continue;
    const before = byVenue.get(venue);
    const qtyDecimals = before?.qtyDecimals ?? lotDecimals(run, venue);
    const lots = lotsOn(filledLots(attempt), attempt.qtyDecimals, qtyDecimals) + (before?.lots ?? 0);
    byVenue.set(venue, { attempt: before?.attempt ?? attempt, lots, qtyDecimals });
  }
  return [...byVenue.values()];
}

function openedLots(run: TradeRun, { attempt }: FilledPart): number {
  return openedOn(run, attempt.venue);
}

/** What filled against a position in the other direction opened nothing, and needs no protection; nor what is gone. */
export function openedOn(run: TradeRun, venue: RoutableVenue): number {
  const filled = filledByVenue(run).find(({ attempt }) => attempt.venue === venue);
  const before = run.positionsBefore.find((position) => position.venue === venue);
  if (filled === undefined || before === undefined) return filled?.lots ?? 0;
  const less = (before.oppositeLots ?? 0) + (run.protection?.gone?.[venue] ?? 0);
  return Math.max(0, filled.lots - lotsOn(less, before.qtyDecimals, filled.qtyDecimals));
}
