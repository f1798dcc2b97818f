/**
 * From a first plan to the end of a close: sends, and after a definitive refusal or a definitive partial fill
 * sends what remains to the next-best venue while time is left.
 *
 * Invariants: no second order while one is of unknown outcome; each order is at most what remains; at most
 * MAX_ATTEMPTS orders; a venue is tried once, save one clamp to a position that shrank.
 */
import type { ServiceError } from "../domain/errors.js";
import type { RoutableVenue } from "../domain/venue.js";
import { formatScaled } from "../domain/decimal.js";
import {
  MAX_ATTEMPTS,
  MIN_RETRY_MS,
  POSITIONS_DEADLINE_MS,
  type CloseFlight,
  type CloseParts,
} from "./close-context.js";
import { readPositions, openLots, heldPosition, type AccountReading } from "./close-positions.js";
import { filledAnything, remainingSize } from "./close-reply.js";
import type { SendPlan } from "./close-routing.js";
import type { Attempt, CloseRun } from "./close-run.js";
import { applyResolution, sendAttempt } from "./close-send.js";
import { within } from "./deadline.js";
import type { Resolution } from "./resolver.js";

/** An order that is with the resolver still: its end comes after the reply. */
export interface LateOrder {
  readonly attempt: Attempt;
  readonly resolution: Promise<Resolution>;
}

export type ExecuteEnd =
  | { readonly kind: "done"; readonly late: LateOrder | null }
  /** Nothing was sent and nothing ever filled. Without an error: another service took the key. */
  | { readonly kind: "notSent"; readonly error: ServiceError | null };

export async function executeClose(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  firstPlan: SendPlan,
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
): Promise<ExecuteEnd> {
  const earlierAttempts = run.attempts.length;
  const tried = new Set<RoutableVenue>();
  const clamped = new Set<RoutableVenue>();
  for (let plan: SendPlan | null = firstPlan; plan !== null; ) {
    const end = await sendAttempt(parts, flight, run, plan);
    const attempt = run.attempts.at(-1);
    if (attempt === undefined) break;
    if (end.kind === "notDurable" || end.kind === "keyTaken") {
      // What this request or one before it did stands; with nothing done the request fails as a whole.
      if (run.attempts.length > earlierAttempts + 1 || filledAnything(run)) return { kind: "done", late: null };
      run.attempts.pop();
      return { kind: "notSent", error: end.kind === "notDurable" ? end.error : null };
    }
    if (end.kind === "resolving") {
      // Accepted and working: an ACK is all the caller waits for.
      const waitMs = attempt.outcome === "CONFIRMED" && run.waitFor === "ACK" ? 0 : flight.deadline.leftMs();
      const resolved = await within(parts.clock, end.resolution, waitMs);
      if (!resolved.done) return { kind: "done", late: { attempt, resolution: end.resolution } };
      if (!applyResolution(parts, attempt, resolved.value)) return { kind: "done", late: null };
    }
    tried.add(plan.venue);
    plan = await nextPlan(parts, flight, run, attempt, plan, readings, tried, clamped);
  }
  return { kind: "done", late: null };
}

/** What to send after `attempt` ended definitively; null: nothing more. */
async function nextPlan(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  attempt: Attempt,
  plan: SendPlan,
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
  tried: ReadonlySet<RoutableVenue>,
  clamped: Set<RoutableVenue>,
): Promise<SendPlan | null> {
  if (
    attempt.outcome === "CONFIRMED" &&
    (run.orderType === "LIMIT" || (attempt.order?.filledLots ?? 0) >= attempt.qtyLots)
  )
    return null;
  if (run.attempts.length >= MAX_ATTEMPTS || flight.deadline.leftMs() < MIN_RETRY_MS) return null;
  if (attempt.outcome === "REJECTED" && attempt.reason === "REDUCE_ONLY") {
    const shrunk = await rereadPosition(parts, flight, run, plan);
    if (shrunk === "FLAT") return null;
    if (shrunk !== null && !clamped.has(plan.venue)) {
      clamped.add(plan.venue);
      return shrunk;
    }
  }
  const remaining = remainingSize(run);
  if (remaining === "0" || remaining.startsWith("-")) return null;
  const answer = parts.routing.routeClose(flight.request, readings, run.routeId, remaining, tried);
  if (!answer.ok || answer.routed.plan === null) return null;
  // The session of a venue whose order went to the resolver is not ours any more.
  return flight.accounts.isTaken(answer.routed.plan.venue) ? null : answer.routed.plan;
}

/** "Reduce only would increase": the position is not what was read. FLAT, a smaller plan, or null (it is as large as before, or unreadable). */
async function rereadPosition(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  plan: SendPlan,
): Promise<SendPlan | "FLAT" | null> {
  const account = flight.accounts.get(plan.venue);
  if (account === null || flight.accounts.isTaken(plan.venue)) return null;
  const reading = await readPositions(
    parts.clock,
    account,
    plan.instrument,
    Math.min(POSITIONS_DEADLINE_MS, flight.deadline.leftMs()),
  );
  if (reading.positions === null) return null;
  const heldLots = openLots(reading.positions, run.direction);
  const before = run.positionsBefore.find((position) => position.venue === plan.venue);
  if (before !== undefined) before.qtyLots = heldLots;
  if (heldLots === 0) {
    run.note = "ALREADY_FLAT";
    run.positionAfter = {
      exchange: plan.venue,
      symbol: run.symbol,
      direction: run.direction,
      size: "0",
      entryPrice: null,
      asOf: parts.clock.wallMs(),
      source: reading.source,
    };
    return "FLAT";
  }
  if (heldLots >= plan.qtyLots) return null;
  const step = plan.instrument.qtyStepLots;
  const qtyLots = heldLots - (heldLots % step);
  if (qtyLots < Math.max(1, plan.instrument.minQtyLots)) return null;
  run.adjustments.push({
    field: "size",
    from: formatScaled(plan.qtyLots, plan.qtyDecimals),
    to: formatScaled(qtyLots, plan.qtyDecimals),
    rule: "POSITION_SIZE",
  });
  return {
    ...plan,
    qtyLots,
    before: {
      ...plan.before,
      qtyLots: heldLots,
      entryPrice: heldPosition(reading.positions, run.direction)?.entryPrice ?? null,
    },
  };
}
