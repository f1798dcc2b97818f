/**
 * What follows an entry that filled: take-profit and stop-loss orders, reduce-only, for what filled on each venue
 * (routing design, section 6), and the way back (protection-undo.ts) where a venue refused them and the caller wants that.
 *
 * Invariants: each is an order like others, with an intent and a client id of its own; what is unknown is unknown, never
 * failed, and closes nothing; whatever becomes of them, the entry stands as it is.
 */
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../domain/instrument.js";
import { closingSide } from "../domain/order.js";
import { parseScaledRounded } from "../domain/decimal.js";
import { protectPrice } from "../domain/price-grid.js";
import { problemOf } from "./background.js";
import type { TradeFlight, TradeParts } from "./trade-context.js";
import { undoEntry } from "./protection-undo.js";
import { isOpen, mayYetFill, OUTCOME_UNKNOWN, RESTING } from "./protection-report.js";
import { waitForEnds, type LateOrder } from "./trade-execute.js";
import { protectionsOf, slippedPrice, triggerTicks, type SendPlan } from "./trade-plan.js";
import { positionAttempts, type Attempt, type AttemptRole, type TradeRun } from "./trade-run.js";
import { sendOrders, type SentOrder } from "./trade-send.js";

/** How far beyond its trigger a protection order may fill: the widest bound a caller may ask for anywhere. */
export const PROTECTION_SLIPPAGE_BPS = 1_000;

/** Sends what is wanted and not there yet. Returns what outlasts the request. Never rejects for what a venue does. */
export async function protectEntry(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
): Promise<readonly LateOrder[]> {
  const { protection } = run;
  if (protection === undefined) return [];
  const idle = idleReason(run);
  // Of a split: a leg that may have filled is not protected by what the others get.
  if (filledByVenue(run).length === 0 || idle === OUTCOME_UNKNOWN) protection.problem = idle;
  else if (protection.problem === RESTING || protection.problem === OUTCOME_UNKNOWN) protection.problem = null;
  const filled = unprotectedParts(run);
  if (filled.length === 0) return [];
  const plans = filled.flatMap((one) => protectionPlans(parts, flight, run, one));
  if (plans.length === 0) {
    protection.problem = "NO_SESSION";
    return [];
  }
  const end = await sendOrders(parts, flight, run, plans);
  if (end.kind !== "sent") {
    protection.problem = end.kind === "keyTaken" ? "IDEMPOTENCY_IN_PROGRESS" : end.error.code;
    return [];
  }
  const late = await waitForEnds(parts, flight, run, end.orders);
  if (!protection.closeOnFailure || !end.orders.some(isRefused)) return late;
  return [...late, ...(await undo(parts, flight, run, filled, end.orders))];
}

/** The same. The entry stands by now, so whatever goes wrong here is reported, not thrown. */
export async function protectSafely(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
): Promise<readonly LateOrder[]> {
  if (run.protection === undefined) return [];
  try {
    return await protectEntry(parts, flight, run);
  } catch (error) {
    parts.logger.error("protection_failed", { routeId: run.routeId, problem: problemOf(error) });
    for (const attempt of run.attempts)
      if (attempt.outcome === "PENDING") attempt.outcome = attempt.sentAtMs === null ? "NOT_SENT" : "UNKNOWN";
    run.protection.problem ??= "INTERNAL";
    return [];
  }
}

/** Why there is nothing to protect, as far as is known. */
function idleReason(run: TradeRun): string {
  const attempts = positionAttempts(run);
  if (attempts.some(mayYetFill)) return OUTCOME_UNKNOWN;
  return attempts.some(isOpen) ? RESTING : "NOTHING_FILLED";
}

interface FilledPart {
  /** The first order that filled there: what venue, contract and side are taken from. */
  readonly attempt: Attempt;
  readonly lots: number;
}

/** What filled and no protection was sent for yet; one that was refused is not sent again. */
export function unprotectedParts(run: TradeRun): FilledPart[] {
  return filledByVenue(run).flatMap((part) => {
    const { venue } = part.attempt;
    const sentLots = (role: AttemptRole): number =>
      run.attempts.reduce((sum, guard) => sum + (guard.role === role && guard.venue === venue ? guard.qtyLots : 0), 0);
    const lots = openedLots(run, part) - Math.max(sentLots("STOP_LOSS"), sentLots("TAKE_PROFIT"));
    return lots > 0 ? [{ ...part, lots }] : [];
  });
}

function filledByVenue(run: TradeRun): FilledPart[] {
  const byVenue = new Map<string, FilledPart>();
  for (const attempt of positionAttempts(run)) {
    const lots = attempt.order?.filledLots ?? 0;
    if (lots === 0) continue;
    const before = byVenue.get(attempt.venue);
    byVenue.set(attempt.venue, { attempt: before?.attempt ?? attempt, lots: lots + (before?.lots ?? 0) });
  }
  return [...byVenue.values()];
}

/** What filled against a position in the other direction opened nothing, and needs no protection. */
function openedLots(run: TradeRun, { attempt, lots }: FilledPart): number {
  const before = run.positionsBefore.find(({ venue }) => venue === attempt.venue);
  return Math.max(0, lots - (before?.oppositeLots ?? 0));
}

function protectionPlans(parts: TradeParts, flight: TradeFlight, run: TradeRun, filled: FilledPart): SendPlan[] {
  const { protection } = run;
  if (protection === undefined) return [];
  const side = closingSide(run.direction);
  const plans: SendPlan[] = [];
  for (const [, kind, text] of protectionsOf(protection)) {
    const base = reducingPlan(parts, flight, run, filled, kind === "STOP" ? "STOP_LOSS" : "TAKE_PROFIT");
    const bound = slippedPrice(text, side, PROTECTION_SLIPPAGE_BPS);
    if (base === null || bound === null) continue;
    const rounding = side === "SELL" ? "ceil" : "floor";
    const ticks = parseScaledRounded(bound, canonicalPriceDecimals(base.instrument), rounding);
    plans.push({
      ...base,
      type: "STOP_MARKET",
      trigger: { kind, priceTicks: triggerTicks(base.instrument, side, kind, text), source: "MARK" },
      priceTicks: protectPrice(base.instrument, side, ticks),
    });
  }
  return plans;
}

/** A reduce-only order for what filled there; null where it cannot be sent. */
function reducingPlan(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
  filled: FilledPart,
  role: SendPlan["role"],
): SendPlan | null {
  const { attempt, lots } = filled;
  const account = flight.accounts.renew(attempt.venue);
  const instrument = parts.rooms.get(attempt.venue)?.markets.get(run.symbol)?.instrument;
  const before = run.positionsBefore.find(({ venue }) => venue === attempt.venue);
  if (account === null || instrument === undefined || before === undefined) return null;
  return {
    role,
    leg: attempt.leg,
    venue: attempt.venue,
    instrument,
    side: closingSide(run.direction),
    type: "MARKET",
    timeInForce: "IOC",
    trigger: null,
    reduceOnly: true,
    qtyLots: lots,
    priceTicks: 0,
    positionSide: attempt.positionSide,
    doubleMidTicks: 0,
    priceDecimals: canonicalPriceDecimals(instrument),
    qtyDecimals: canonicalQtyDecimals(instrument),
    takerFeeMilliBps: attempt.takerFeeMilliBps,
    makerFeeMilliBps: attempt.makerFeeMilliBps,
    before,
  };
}

function isRefused({ attempt }: SentOrder): boolean {
  return attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT";
}

async function undo(
  parts: TradeParts,
  flight: TradeFlight,
  run: TradeRun,
  filled: readonly FilledPart[],
  guards: readonly SentOrder[],
): Promise<readonly LateOrder[]> {
  const plans: SendPlan[] = [];
  for (const one of filled) {
    const plan = reducingPlan(parts, flight, run, one, "UNDO");
    if (plan !== null) plans.push(plan);
    else if (run.protection !== undefined) run.protection.problem = "UNDO_NO_SESSION";
  }
  const placed = guards.map(({ attempt }) => attempt);
  return undoEntry(parts, flight, run, plans, placed);
}
