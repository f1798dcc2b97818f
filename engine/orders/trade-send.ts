/**
 * Orders, one or several at once: minted, let through by the guards, durable, sent, and each brought to one of three
 * outcomes. The only place of the trade path that places orders.
 *
 * Invariants: the intents of all (with the RUNNING record of an idempotent request, in one batch) are durable before any
 * request leaves, and are the only durable wait; an order names its side, and is reduce-only unless it is an entry's
 * own; nothing is ever sent twice under one client id; whatever goes wrong after the send is UNKNOWN.
 */
import { isPlainDecimal } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../domain/order.js";
import { problemOf } from "./background.js";
import type { TradeFlight, TradeParts } from "./trade-context.js";
import { guardedOrder, makeDurable, mintAttempt, sendTimeoutMs, type Durable, type Outgoing } from "./trade-intent.js";
import type { SendPlan } from "./trade-plan.js";
import { isOpening, isSettled, mayRest, type Attempt, type TradeRun } from "./trade-run.js";
import type { IntentOutcome } from "./intent-log.js";
import { redactVenueText } from "./redact.js";
import type { Resolution } from "./resolver.js";

/** One order of a batch, durable and sent. */
export interface SentOrder {
  readonly attempt: Attempt;
  /** Outcome UNKNOWN, or accepted and still working: the resolver has it. Null: the attempt's outcome is final. */
  readonly resolution: Promise<Resolution> | null;
}

export type SendEnd =
  | { readonly kind: "sent"; readonly orders: readonly SentOrder[] }
  | Exclude<Durable, { kind: "durable" }>
  /** A limit of this service does not let it go. Nothing was sent. */
  | { readonly kind: "guarded"; readonly error: ServiceError };

/**
 * Sends all plans at once, each to a venue of its own or beside others there. Adds the attempts to the run, first of
 * all; where nothing was sent they say so.
 */
export async function sendOrders(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
  plans: readonly SendPlan[],
): Promise<SendEnd> {
  const { observer, clock } = parts;
  const before = run.attempts.length;
  const outgoing: Outgoing[] = [];
  for (const plan of plans) {
    const account = flight.accounts.get(plan.venue);
    if (account === null || flight.accounts.isTaken(plan.venue))
      throw new ServiceError("INTERNAL", { problem: "a plan without a session" });
    // The invariant of this path: whatever is not an entry's own order reduces.
    if (!plan.reduceOnly && !(isOpening(run) && plan.role === "POSITION"))
      throw new ServiceError("INTERNAL", { problem: "an order that does not reduce" });
    const attempt = mintAttempt(parts, flight, run, plan, account);
    const verdict = parts.guards.check(guardedOrder(flight, run, plan, attempt, account));
    run.attempts.push(attempt);
    if (!verdict.ok) {
      keepBack(run, before, verdict.code);
      for (const { reservation } of outgoing) reservation.release();
      return { kind: "guarded", error: new ServiceError(verdict.code, verdict.details) };
    }
    outgoing.push({ plan, account, attempt, reservation: verdict.reservation });
    if (!run.positionsBefore.some(({ venue }) => venue === plan.venue)) run.positionsBefore.push({ ...plan.before });
  }

  const startNs = clock.monoNs();
  const durable = await makeDurable(parts, flight, run, outgoing);
  if (durable.kind !== "durable") {
    keepBack(run, before, "STORE_UNAVAILABLE");
    for (const { reservation } of outgoing) reservation.release();
    return durable;
  }
  observer.latency("intent", "", (clock.monoNs() - startNs) / 1e3);
  const timings = { venue: 0, sign: 0 };
  const orders =
    outgoing.length === 1
      ? [await sendOne(parts, flight, run, outgoing[0] as Outgoing, timings)]
      : await Promise.all(outgoing.map((one) => sendOne(parts, flight, run, one, timings)));
  run.timingMs.venue += timings.venue;
  run.timingMs.sign += timings.sign;
  return { kind: "sent", orders };
}

/** Nothing of the batch left this machine, and no intent of it stands. */
function keepBack(run: TradeRun, before: number, reason: string): void {
  for (const attempt of run.attempts.slice(before)) {
    attempt.outcome = "NOT_SENT";
    attempt.reason = reason;
  }
}

/** Concurrent legs count once: the slowest of them. */
interface BatchTimings {
  venue: number;
  sign: number;
}

async function sendOne(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
  outgoing: Outgoing,
  timings: BatchTimings,
): Promise<SentOrder> {
  const { plan, account, attempt, reservation } = outgoing;
  const { clock, observer } = parts;
  if (!plan.reduceOnly) parts.reservations.set(attempt, reservation);
  if (!reservation.mayStillSend()) {
    attempt.outcome = "NOT_SENT";
    attempt.reason = "TRADING_HALTED";
    return { attempt, resolution: null };
  }
  const command: OrderCommand = {
    instrument: plan.instrument,
    side: plan.side,
    type: plan.type === "LIMIT" || plan.type === "STOP_LIMIT" ? "LIMIT" : "MARKET",
    ...(plan.trigger === null ? {} : { trigger: plan.trigger }),
    timeInForce: attempt.timeInForce,
    priceTicks: plan.priceTicks,
    qtyLots: plan.qtyLots,
    reduceOnly: plan.reduceOnly,
    positionSide: plan.positionSide,
    clientIdHex: attempt.clientIdHex,
  };
  const sentNs = clock.monoNs();
  attempt.sentAtMs = clock.wallMs();
  let outcome: PlaceOutcome;
  try {
    outcome = await account.room.orders.place(account.session, command, {
      timeoutMs: sendTimeoutMs(flight),
      // What reduces goes on the lane that is kept for ways out.
      lane: plan.reduceOnly ? "exit" : "trade",
    });
  } catch (error) {
    // A room that throws is a bug of ours, and by now the order may be out.
    parts.logger.error("place_threw", {
      venue: plan.venue,
      routeId: run.routeId,
      problem: problemOf(error),
    });
    outcome = { outcome: "unknown", cause: "INTERNAL", notPlacedAfterMs: attempt.notPlacedAfterMs };
  }
  const tookMs = (clock.monoNs() - sentNs) / 1e6;
  const ackMs = outcome.outcome === "accepted" ? Math.min(outcome.ackMs, tookMs) : tookMs;
  timings.venue = Math.max(timings.venue, roundMs(ackMs));
  timings.sign = Math.max(timings.sign, roundMs(tookMs - ackMs));
  observer.latency("venue", plan.venue, ackMs * 1e3);
  observer.latency("sign", plan.venue, (tookMs - ackMs) * 1e3);
  try {
    return { attempt, resolution: applyOutcome(parts, flight, run, plan, attempt, outcome) };
  } catch (error) {
    // An answer that we stumble over is an answer all the same: the order is read from the venue instead.
    parts.logger.error("outcome_not_applied", { venue: plan.venue, routeId: run.routeId, problem: problemOf(error) });
    attempt.outcome = "UNKNOWN";
    attempt.order = null;
    return { attempt, resolution: startResolving(parts, flight, run, plan, attempt, Number.MAX_SAFE_INTEGER) };
  }
}

/** How the intent log remembers the attempt's end; null: it has none yet. */
export function intentOutcome(attempt: Attempt): IntentOutcome | null {
  switch (attempt.outcome) {
    case "CONFIRMED":
      return attempt.order !== null && isSettled(attempt.order, mayRest(attempt)) ? "CONFIRMED" : null;
    case "NOT_SENT":
      return "NOT_SENT";
    case "REJECTED":
      return attempt.reason === "NOT_PLACED" ? "NOT_PLACED" : "REJECTED";
    default:
      return null;
  }
}

/** Writes what the resolver found into the attempt; false: still unknown. */
export function applyResolution(
  parts: Pick<TradeParts, "clock" | "logger">,
  attempt: Attempt,
  resolution: Resolution,
): boolean {
  if (resolution.kind === "found") {
    confirm(parts, attempt, resolution.order);
    attempt.ackAtMs ??= parts.clock.wallMs();
  } else if (resolution.kind === "notPlaced") {
    attempt.outcome = "REJECTED";
    attempt.reason = "NOT_PLACED";
    attempt.venueText = null;
  } else {
    // Known to exist, still working: the latest sight of it is worth keeping.
    if (attempt.outcome === "CONFIRMED" && resolution.order !== null) attempt.order = resolution.order;
    return false;
  }
  return true;
}

/** Null: the outcome is final. */
function applyOutcome(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
  plan: SendPlan,
  attempt: Attempt,
  outcome: PlaceOutcome,
): Promise<Resolution> | null {
  switch (outcome.outcome) {
    case "accepted":
      confirm(parts, attempt, outcome.order);
      attempt.ackAtMs = parts.clock.wallMs();
      if (isSettled(outcome.order, mayRest(attempt))) return null;
      // Acknowledged, so it exists: no proof of absence applies to it.
      return startResolving(parts, flight, run, plan, attempt, Number.MAX_SAFE_INTEGER);
    case "rejected":
      if (outcome.reason === "DUPLICATE_CLIENT_ID") {
        // The venue has an order under this id: it is looked up, not failed.
        attempt.outcome = "UNKNOWN";
        return startResolving(parts, flight, run, plan, attempt, Number.MAX_SAFE_INTEGER);
      }
      attempt.outcome = outcome.sent ? "REJECTED" : "NOT_SENT";
      attempt.reason = outcome.reason;
      attempt.venueText = redactVenueText(outcome.venueText, flight.secrets);
      if (outcome.sent) attempt.ackAtMs = parts.clock.wallMs();
      else attempt.sentAtMs = null;
      return null;
    case "unknown":
      attempt.outcome = "UNKNOWN";
      // A room's bound may be wrong only in our favour if it lies before the send; then our own holds.
      if (outcome.notPlacedAfterMs >= (attempt.sentAtMs ?? 0)) attempt.notPlacedAfterMs = outcome.notPlacedAfterMs;
      parts.logger.warn("order_unknown", {
        venue: plan.venue,
        routeId: run.routeId,
        cause: outcome.cause.slice(0, 100),
      });
      return startResolving(parts, flight, run, plan, attempt, attempt.notPlacedAfterMs);
  }
}

function startResolving(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
  plan: SendPlan,
  attempt: Attempt,
  notPlacedAfterMs: number,
): Promise<Resolution> {
  const room = parts.rooms.get(plan.venue);
  // What follows an entry shares its venue with others of its kind: their session must outlive this order's resolution.
  const session = plan.role === "POSITION" ? flight.accounts.take(plan.venue) : flight.accounts.another(plan.venue);
  if (room === undefined || session === null)
    throw new ServiceError("INTERNAL", { problem: "no session for the resolver" });
  attempt.notPlacedAfterMs = notPlacedAfterMs;
  const order = {
    routeId: run.routeId,
    room,
    instrument: plan.instrument,
    clientIdHex: attempt.clientIdHex,
    notPlacedAfterMs,
    mayRest: mayRest(attempt),
  };
  return parts.resolver.resolve(order, session);
}

/** Of a venue's own word. */
const MAX_STATUS_CHARS = 100;

/** What a reply computes with is checked here, once: a venue's odd figure must not fail a close that happened. */
function confirm(parts: Pick<TradeParts, "logger">, attempt: Attempt, order: VenueOrder): void {
  const filledLots = Number.isSafeInteger(order.filledLots)
    ? Math.min(Math.max(0, order.filledLots), attempt.qtyLots)
    : 0;
  const averagePrice = order.averagePrice !== null && isPlainDecimal(order.averagePrice) ? order.averagePrice : null;
  if (filledLots !== order.filledLots || averagePrice !== order.averagePrice)
    parts.logger.error("venue_order_implausible", { venue: attempt.venue, clientId: attempt.clientIdHex });
  // First the copy, which reads every field: should one fail, the attempt is as it was.
  attempt.order = { ...order, filledLots, averagePrice };
  // A venue that takes orders before it judges them refuses some of these later: a refusal like any other.
  const isRefused = order.status === "REJECTED" && filledLots === 0;
  attempt.outcome = isRefused ? "REJECTED" : "CONFIRMED";
  attempt.reason = isRefused ? "VENUE_STATE" : null;
  attempt.venueText = isRefused ? order.venueStatus.slice(0, MAX_STATUS_CHARS) : null;
}

/** Whole tenths: finer is noise. */
export function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
