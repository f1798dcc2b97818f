/**
 * From the first plans to the end of a trade: sends, and after a definitive refusal or a definitive partial fill
 * sends what remains to the next-best venue while time is left.
 *
 * Invariants: no second order while one is of unknown outcome; each order is at most what remains; at most
 * MAX_ATTEMPTS orders; a venue is tried once, save one clamp to a position that shrank and one price by a fresh mark;
 * the first decision's bound holds for every later order.
 */
import { logNotRerouted, logRerouted, logRetried } from "./debug-lines.js";
import type { LookupParts } from "./unknown-order.js";
import type { GuardReservation } from "../../guards/guards.js";
import type { TradeRouting } from "../decide/routing.js";
import type { ServiceError } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { formatScaled } from "../../domain/decimal.js";
import { MAX_ATTEMPTS, MIN_RETRY_MS, POSITIONS_DEADLINE_MS } from "../limits.js";
import type { TradeExecution } from "./execution.js";
import { readVerified, openLots, heldPosition, type AccountReading } from "../decide/readings.js";
import { filledAnything, remainingSize } from "../run-totals.js";
import { bandRetries, type BandRetryParts } from "./band-retry.js";
import type { SendPlan } from "../decide/plan.js";
import { isOpening, isWorking, unknownAttempt, type OrderAttempt, type TradeRun } from "../run.js";
import { addAdjustment, dropAttempts, recordNote, recordPositionAfter, shrinkPosition } from "../run-writes.js";
import { applyResolution } from "./outcome.js";
import { filledLots, isUnfilled } from "../attempt-figures.js";
import { lookAtMarketable } from "./marketable-lookup.js";
import { sendOrders, type SentOrder, type SendParts } from "./send-orders.js";
import { applySettings } from "./settings.js";
import { within } from "../../domain/deadline.js";
import type { Resolution } from "./resolver.js";

/** What sends a trade to its end. */
export interface ExecuteParts extends SendParts, LookupParts, BandRetryParts {
  readonly routing: TradeRouting;
  readonly reservations: WeakMap<OrderAttempt, GuardReservation>;
}

/** An order that is with the resolver still: its end comes after the reply. */
export interface LateOrder {
  readonly attempt: OrderAttempt;
  readonly resolution: Promise<Resolution>;
}

export type ExecuteEnd =
  | { readonly kind: "done"; readonly late: readonly LateOrder[] }
  /** Nothing was sent and nothing ever filled. Without an error: another service took the key. */
  | { readonly kind: "notSent"; readonly error: ServiceError | null };

/** An order that ended definitively, and what it was sent for. */
interface Ended {
  readonly attempt: OrderAttempt;
  readonly plan: SendPlan;
}

const NONE_LATE: ExecuteEnd = { kind: "done", late: [] };

export async function executeTrade(
  parts: ExecuteParts,
  execution: TradeExecution,
  run: TradeRun,
  firstPlans: readonly SendPlan[],
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
): Promise<ExecuteEnd> {
  const earlierAttempts = run.attempts.length;
  const attemptsMax = MAX_ATTEMPTS + firstPlans.length - 1;
  const tried = new Set<RoutableVenue>();
  const clamped = new Set<RoutableVenue>();
  const repriced = new Set<RoutableVenue>();
  /** Beside those that are priced again: their outcome counts once all of the decision have ended. */
  let beside: readonly Ended[] = [];
  for (let plans = firstPlans; plans.length > 0; ) {
    const before = run.attempts.length;
    const problem = isOpening(run) ? await applySettings(parts, execution, run, plans, readings) : null;
    const end =
      problem === null
        ? await sendOrders(parts, execution, run, plans)
        : ({ kind: "notSent", error: problem } as const);
    if (end.kind !== "sent") {
      // What this request or one before it did counts; with nothing done the request fails as a whole.
      if (before > earlierAttempts || filledAnything(run)) return NONE_LATE;
      dropAttempts(run, before);
      return { kind: "notSent", error: end.kind === "keyTaken" ? null : end.error };
    }
    const late: LateOrder[] = await waitForEnds(parts, execution, run, end.orders);
    const sent = end.orders.map(({ attempt }) => attempt);
    late.push(...(await lookAtMarketable(parts, execution, run, sent)));
    releaseUnfilled(parts, end.orders);
    // One leg is of unknown outcome: the others count, and nothing more is sent beside it.
    if (late.length > 0 || unknownAttempt(run) !== null) return { kind: "done", late };
    // Its resolver gave up.
    if (end.orders.some(({ attempt }) => isWorking(attempt))) return NONE_LATE;
    for (const { venue } of plans) tried.add(venue);
    const attemptsLeft = attemptsMax - run.attempts.length;
    const again = await bandRetries(parts, execution, run, end.orders, plans, repriced, attemptsLeft);
    const ended = [...beside, ...endedOf(end.orders, plans)];
    if (again.length > 0) {
      beside = ended.filter(({ plan }) => !again.some(({ venue }) => venue === plan.venue));
      plans = again;
      continue;
    }
    beside = [];
    const next = await nextPlan(parts, execution, run, ended, readings, tried, clamped, attemptsMax);
    plans = next === null ? [] : [next];
  }
  return NONE_LATE;
}

function endedOf(orders: readonly SentOrder[], plans: readonly SendPlan[]): Ended[] {
  return orders.flatMap(({ attempt }, index) => {
    const plan = plans[index];
    return plan === undefined ? [] : [{ attempt, plan }];
  });
}

/** Waits for those that are with the resolver, all at once, as long as the caller does. Returns the ones that outlast it. */
export async function waitForEnds(
  parts: Pick<ExecuteParts, "clock" | "logger">,
  execution: TradeExecution,
  run: TradeRun,
  orders: readonly SentOrder[],
): Promise<LateOrder[]> {
  const late: LateOrder[] = [];
  const waits = orders.map(async ({ attempt, resolution }) => {
    if (resolution === null) return;
    // Accepted and working: an ACK is all the caller waits for.
    const waitMs = attempt.outcome === "CONFIRMED" && run.waitFor === "ACK" ? 0 : execution.deadline.leftMs();
    const resolved = await within(parts.clock, resolution, waitMs);
    if (resolved.done) applyResolution(parts, attempt, resolved.value);
    else late.push({ attempt, resolution });
  });
  if (waits.length > 0) await Promise.all(waits);
  return late;
}

/** Releases the daily-limit reservation of every order that filled nothing. Their rows go with the conclusion. */
function releaseUnfilled(parts: Pick<ExecuteParts, "reservations">, orders: readonly SentOrder[]): void {
  for (const { attempt } of orders) if (isUnfilled(attempt)) parts.reservations.get(attempt)?.release();
}

/** What to send after all orders ended definitively; null: nothing more. */
async function nextPlan(
  parts: ExecuteParts,
  execution: TradeExecution,
  run: TradeRun,
  ended: readonly Ended[],
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
  tried: ReadonlySet<RoutableVenue>,
  clamped: Set<RoutableVenue>,
  attemptsMax: number,
): Promise<SendPlan | null> {
  const rests = run.orderType !== "MARKET";
  const isServed = ({ attempt }: Ended): boolean =>
    attempt.outcome === "CONFIRMED" && (rests || (attempt.order?.filledLots ?? 0) >= attempt.qtyLots);
  if (ended.every(isServed)) return null;
  const bar = barOf(execution, run, attemptsMax);
  if (bar !== null) return goNowhere(parts, run, bar);
  // What is gone from one venue's position is not taken from another's.
  let isGone = clamped.size > 0;
  for (const { attempt, plan } of ended) {
    if (!mayLackPosition(attempt, plan)) continue;
    const shrunk = await rereadPosition(parts, execution, run, plan, filledLots(attempt));
    if (shrunk === "FLAT") {
      if (ended.length === 1) return goNowhere(parts, run, "ALREADY_FLAT");
      // Flat on one venue of several: the others tell how the trade went.
      recordNote(run, null);
      recordPositionAfter(run, null);
      isGone = true;
      continue;
    }
    if (shrunk !== null && !clamped.has(plan.venue)) {
      clamped.add(plan.venue);
      logRetried(parts, run, attempt, "POSITION_SIZE");
      return shrunk;
    }
    // The venue answered so itself: a read that fails, or shows what was before, does not outweigh it.
    if (shrunk !== null || saysReduceOnly(attempt)) isGone = true;
  }
  if (isGone) return goNowhere(parts, run, "POSITION_GONE");
  const remaining = remainingSize(run);
  if (remaining === "0" || remaining.startsWith("-")) return goNowhere(parts, run, "NOTHING_REMAINS");
  return nextVenue(parts, execution, run, readings, tried, remaining);
}

/** Null where more may be sent. A stop is for the one venue it was named for. */
function barOf(execution: TradeExecution, run: TradeRun, attemptsMax: number): string | null {
  if (run.orderType === "STOP_MARKET" || run.orderType === "STOP_LIMIT") return "STOP_OF_ONE_VENUE";
  if (run.attempts.length >= attemptsMax) return "ATTEMPTS";
  return execution.deadline.leftMs() < MIN_RETRY_MS ? "DEADLINE" : null;
}

function goNowhere(parts: Pick<ExecuteParts, "logger">, run: TradeRun, reason: string): null {
  logNotRerouted(parts, run, reason);
  return null;
}

/** The next-best venue for what remains; null: there is none. */
function nextVenue(
  parts: Pick<ExecuteParts, "logger" | "routing">,
  execution: TradeExecution,
  run: TradeRun,
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
  tried: ReadonlySet<RoutableVenue>,
  remaining: string,
): SendPlan | null {
  const answer = parts.routing.routeTrade(
    execution.request,
    readings,
    run.routeId,
    remaining,
    tried,
    execution.quote,
    run.heldPrice ?? null,
  );
  const next = answer.ok ? answer.routed.plans[0] : undefined;
  // The session of a venue whose order went to the resolver is not ours any more.
  if (next === undefined || execution.accounts.isTaken(next.venue)) {
    const reason = answer.ok ? "SESSION_TAKEN" : answer.code;
    logNotRerouted(parts, run, reason, answer.ok ? answer.routed.report : answer.report);
    return null;
  }
  if (answer.ok) logRerouted(parts, run, next.venue, answer.routed.report);
  return next;
}

function saysReduceOnly({ order, reason }: OrderAttempt): boolean {
  return reason === "REDUCE_ONLY" || order?.endReason === "REDUCE_ONLY";
}

/**
 * May it have ended because there is less to reduce? Also where no word says so: a venue with one word for every end, or
 * one that fills what is there and drops the rest, ends such an order as it ends one in a thin book.
 */
function mayLackPosition(attempt: OrderAttempt, plan: SendPlan): boolean {
  if (!plan.reduceOnly) return false;
  if (attempt.outcome === "CONFIRMED") return filledLots(attempt) < attempt.qtyLots;
  return attempt.outcome === "REJECTED" && (saysReduceOnly(attempt) || attempt.reason === "VENUE_STATE");
}

/**
 * The position may not be what was read. FLAT, a smaller plan, or null: there is as much as the order left, or it
 * cannot be read. `takenLots`: what the order filled before it ended.
 */
async function rereadPosition(
  parts: ExecuteParts,
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  takenLots: number,
): Promise<SendPlan | "FLAT" | null> {
  // The session of an order that was only acknowledged at first went with it to the resolver.
  const account = execution.accounts.renew(plan.venue);
  if (account === null) return null;
  const reading = await readVerified(
    parts.clock,
    account,
    plan.instrument,
    Math.min(POSITIONS_DEADLINE_MS, execution.deadline.leftMs()),
  );
  if (reading.positions === null) return null;
  const heldLots = openLots(reading.positions, run.direction);
  // A read may lag behind our own fill: it never makes more of what was there.
  shrinkPosition(run, plan.venue, heldLots + takenLots);
  if (heldLots === 0) {
    recordFlat(run, plan.venue, parts.clock.wallMs(), reading.source);
    return "FLAT";
  }
  if (heldLots >= plan.qtyLots - takenLots) return null;
  return clampedPlan(run, plan, heldLots, heldPosition(reading.positions, run.direction)?.entryPrice ?? null);
}

function recordFlat(run: TradeRun, exchange: RoutableVenue, asOf: number, source: AccountReading["source"]): void {
  const { direction, symbol } = run;
  recordNote(run, "ALREADY_FLAT");
  recordPositionAfter(run, { exchange, symbol, direction, size: "0", entryPrice: null, asOf, source });
}

/** The same order for what is held now, noted as an adjustment; null where that is less than the venue takes. */
function clampedPlan(run: TradeRun, plan: SendPlan, heldLots: number, entryPrice: string | null): SendPlan | null {
  const step = plan.instrument.qtyStepLots;
  const qtyLots = heldLots - (heldLots % step);
  if (qtyLots < Math.max(1, plan.instrument.minQtyLots)) return null;
  addAdjustment(run, {
    field: "size",
    from: formatScaled(plan.qtyLots, plan.qtyDecimals),
    to: formatScaled(qtyLots, plan.qtyDecimals),
    rule: "POSITION_SIZE",
  });
  return { ...plan, qtyLots, before: { ...plan.before, qtyLots: heldLots, entryPrice } };
}
