/**
 * What follows an entry that filled: take-profit and stop-loss orders, reduce-only, for what filled on each venue
 * (routing design, section 6), and the undo (undo.ts) where a venue refused them and the caller wants that.
 *
 * Invariants: each is an order like others, with an intent and a client id of its own; what is unknown is unknown, never
 * failed, and closes nothing; whatever their outcome, the entry stays as it is.
 */
import type { LookupParts } from "../send/unknown-order.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../domain/instrument.js";
import { closingSide } from "../../domain/order.js";
import { parseScaledRounded } from "../../domain/decimal.js";
import { protectPrice } from "../../domain/price-grid.js";
import { problemOf } from "../background.js";
import type { TradeExecution } from "../send/execution.js";
import { cancelRest } from "./entry-cancel.js";
import { lotsOfContract } from "../order-scale.js";
import { noteClosedByOwner } from "./held.js";
import { takeBackGuards, undoEntry, type UndoParts } from "./undo.js";
import { OUTCOME_UNKNOWN, RESTING } from "../conclude/protection-report.js";
import { isOpen, mayYetFill } from "../attempt-figures.js";
import {
  filledByVenue,
  isRefused,
  isToBeAbandoned,
  isTriedAgain,
  lotsToProtect,
  partsToClose,
  partsToProtect,
  type FilledPart,
} from "../conclude/protection-parts.js";
import { waitForEnds, type LateOrder } from "../send/execute.js";
import { protectionsOf, slippedPrice, triggerTicks, type SendPlan } from "../decide/plan.js";
import { positionAttempts, type TradeRun } from "../run.js";
import {
  abandonProtection,
  markReplaced,
  recordAbandoned,
  recordNotSent,
  recordProtectionProblem,
} from "../run-writes.js";
import { sendOrders } from "../send/send-orders.js";

/** What protects an entry, or takes it back. */
export interface ProtectParts extends UndoParts, LookupParts {}

/** How far beyond its trigger a protection order may fill: the widest bound a caller may ask for anywhere. */
export const PROTECTION_SLIPPAGE_BPS = 1_000;

/** Sends what is wanted and not there yet. Returns what outlasts the request. Never rejects for what a venue does. */
export async function protectEntry(
  parts: ProtectParts,
  execution: TradeExecution,
  run: TradeRun,
): Promise<readonly LateOrder[]> {
  const { protection } = run;
  if (protection === undefined) return [];
  const idle = idleReason(run);
  // Of a split: a leg that may have filled is not protected by what the others get.
  if (filledByVenue(run).length === 0 || idle === OUTCOME_UNKNOWN) recordProtectionProblem(protection, idle);
  else if (protection.problem === RESTING || protection.problem === OUTCOME_UNKNOWN)
    recordProtectionProblem(protection, null);
  if (isToBeAbandoned(run)) return abandon(parts, execution, run);
  const retried = run.attempts.filter((attempt) => isTriedAgain(run, attempt));
  await noteClosedByOwner(parts, execution, run, partsToProtect(run), retried);
  const filled = partsToProtect(run);
  if (filled.length === 0) return [];
  const plans = filled.flatMap((one) => protectionPlans(parts, execution, run, one));
  if (plans.length === 0) {
    recordProtectionProblem(protection, "NO_SESSION");
    return [];
  }
  for (const attempt of run.attempts) if (isTriedAgain(run, attempt)) markReplaced(attempt);
  const end = await sendOrders(parts, execution, run, plans);
  if (end.kind !== "sent") {
    const reason = end.kind === "keyTaken" ? "IDEMPOTENCY_IN_PROGRESS" : end.error.code;
    recordProtectionProblem(protection, reason);
    parts.logger.warn("protection_refused", { routeId: run.routeId, reason });
    return [];
  }
  // What kept an earlier one back is over.
  if (protection.problem === "STORE_UNAVAILABLE") recordProtectionProblem(protection, null);
  const late = await waitForEnds(parts, execution, run, end.orders);
  const sent = end.orders.map(({ attempt }) => attempt);
  for (const { reason, role, venue } of sent.filter(isRefused))
    parts.logger.warn("protection_refused", { routeId: run.routeId, venue, kind: role ?? "", reason: reason ?? "" });
  if (!isToBeAbandoned(run)) return late;
  return [...late, ...(await abandon(parts, execution, run))];
}

/** The rest of the entry is taken back, and what no order guards is closed. */
async function abandon(parts: ProtectParts, execution: TradeExecution, run: TradeRun): Promise<readonly LateOrder[]> {
  const { protection } = run;
  if (protection !== undefined) abandonProtection(protection);
  await cancelRest(parts, execution, run);
  const refused = run.attempts.filter((attempt) => attempt.role === "UNDO" && isRefused(attempt));
  await noteClosedByOwner(parts, execution, run, partsToClose(run), refused);
  const parted = partsToClose(run);
  return parted.length === 0 ? [] : undo(parts, execution, run, parted);
}

/** The same. The entry is placed by now, so whatever goes wrong here is reported, not thrown. */
export async function protectSafely(
  parts: ProtectParts,
  execution: TradeExecution,
  run: TradeRun,
): Promise<readonly LateOrder[]> {
  if (run.protection === undefined) return [];
  try {
    const late = await protectEntry(parts, execution, run);
    await takeBackGuards(parts, execution, run);
    return late;
  } catch (error) {
    parts.logger.error("protection_failed", { routeId: run.routeId, problem: problemOf(error) });
    for (const attempt of run.attempts)
      if (attempt.outcome === "PENDING" && attempt.sentAtMs === null) recordNotSent(attempt, attempt.reason);
      else recordAbandoned(attempt);
    recordProtectionProblem(run.protection, run.protection.problem ?? "INTERNAL");
    return [];
  }
}

/** Why there is nothing to protect, as far as is known. */
function idleReason(run: TradeRun): string {
  const attempts = positionAttempts(run);
  if (attempts.some(mayYetFill)) return OUTCOME_UNKNOWN;
  return attempts.some(isOpen) ? RESTING : "NOTHING_FILLED";
}

function protectionPlans(
  parts: ProtectParts,
  execution: TradeExecution,
  run: TradeRun,
  filled: FilledPart,
): SendPlan[] {
  const { protection } = run;
  if (protection === undefined) return [];
  const side = closingSide(run.direction);
  const plans: SendPlan[] = [];
  for (const [, kind, text] of protectionsOf(protection)) {
    const role = kind === "STOP" ? "STOP_LOSS" : "TAKE_PROFIT";
    const lots = lotsToProtect(run, filled, role);
    if (lots <= 0) continue;
    const base = reducingPlan(parts, execution, run, { ...filled, lots }, role);
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
  parts: ProtectParts,
  execution: TradeExecution,
  run: TradeRun,
  filled: FilledPart,
  role: SendPlan["role"],
): SendPlan | null {
  const { attempt, lots } = filled;
  const account = execution.accounts.renew(attempt.venue);
  const instrument = parts.rooms.get(attempt.venue)?.markets.get(run.symbol)?.instrument;
  const before = run.positionsBefore.find(({ venue }) => venue === attempt.venue);
  if (account === null || instrument === undefined || before === undefined) return null;
  const qtyLots = lotsOfContract(lots, filled.qtyDecimals, instrument);
  if (qtyLots <= 0) return null;
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
    qtyLots,
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

async function undo(
  parts: ProtectParts,
  execution: TradeExecution,
  run: TradeRun,
  filled: readonly FilledPart[],
): Promise<readonly LateOrder[]> {
  const plans: SendPlan[] = [];
  for (const one of filled) {
    const plan = reducingPlan(parts, execution, run, one, "UNDO");
    if (plan !== null) plans.push(plan);
    else if (run.protection !== undefined) recordProtectionProblem(run.protection, "UNDO_NO_SESSION");
  }
  return undoEntry(parts, execution, run, plans);
}
