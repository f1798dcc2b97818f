/** What an entry's reply says of its take-profit and stop-loss. Pure, from the run's record alone. */
import { formatScaled } from "../../domain/decimal.js";
import {
  filledLots,
  mayFillMore,
  mayYetFill,
  orderId,
  orderPrice,
  statusOf,
  submittedLots,
} from "../attempt-figures.js";
import { failureOf, isAllClosed } from "./protection-parts.js";
import {
  isOfPosition,
  isOfUnknownOutcome,
  isUnshown,
  positionAttempts,
  type OrderAttempt,
  type ProtectionWish,
  type TradeRun,
} from "../run.js";
import type { ExecutionReport, ProtectionOrder, ProtectionState } from "../types.js";

/** A problem of its own: it is over when the outcome is known, and nothing filled that is not protected. */
export const OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";

/** More may fill. A watch in this process protects it; or there is none, for want of room, its time being up, a crash. */
export const WATCHED = "WATCHED";
export const NOT_WATCHED = "NOT_WATCHED";
export const WATCH_ENDED = "WATCH_ENDED";
export const WATCH_LOST = "WATCH_LOST";
/** Nothing filled yet of what may. */
export const RESTING = "RESTING";

type ProtectionPart = Required<Pick<ExecutionReport, "protection" | "protectionReason" | "protectionOrders">>;

export function protectionReport(run: TradeRun): ProtectionPart {
  const { protection } = run;
  if (protection === undefined) return { protection: null, protectionReason: null, protectionOrders: [] };
  const followers = run.attempts.filter((attempt) => !isOfPosition(attempt));
  // One that was tried again is in the list and does not count for the state.
  const guards = followers.filter((attempt) => attempt.role !== "UNDO" && !isSuperseded(attempt));
  const problem = problemOf(run, protection.problem, guards);
  if (isAwaited(run, protection, problem, guards))
    return { protection: "NOT_PLACED", protectionReason: WATCHED, protectionOrders: [] };
  const state = stateOf(run, problem, guards);
  const failed = guards.find((attempt) => isFailed(run, attempt));
  const rest = failed === undefined && (problem === null || problem === RESTING) ? restWatch(run, protection) : null;
  return {
    // What is placed guards what has filled; of what may fill still, nothing will be.
    protection: state === "PLACED" && rest !== null && rest !== WATCHED ? "PARTIAL" : state,
    protectionReason: rest ?? problem ?? (state === "PLACED" || failed === undefined ? null : failureOf(failed)),
    protectionOrders: followers.map((attempt) => orderReport(attempt)),
  };
}

function isSuperseded({ order, outcome, replaced }: OrderAttempt): boolean {
  const isEnded = order?.status === "CANCELED" && order.endReason !== undefined;
  return replaced === true && (outcome === "REJECTED" || outcome === "NOT_SENT" || isEnded);
}

/** It guards nothing, and there is something to guard. */
function isFailed(run: TradeRun, attempt: OrderAttempt): boolean {
  const isRefused = attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT";
  return isRefused || (failureOf(attempt) !== null && !isAllClosed(run, attempt.venue));
}

/** Null when no more may fill, or nobody was to watch it. */
function restWatch(run: TradeRun, { watch = null }: ProtectionWish): ProtectionWish["watch"] | null {
  return mayFillMore(run) ? watch : null;
}

/** The outcome became known after the reply, and the watch has not had its round yet. */
function isAwaited(
  run: TradeRun,
  { watch }: ProtectionWish,
  problem: string | null,
  guards: readonly OrderAttempt[],
): boolean {
  return watch === WATCHED && problem === OUTCOME_UNKNOWN && guards.length === 0 && !mayFillMore(run) && !isIdle(run);
}

function problemOf(run: TradeRun, problem: string | null, guards: readonly OrderAttempt[]): string | null {
  if (problem !== OUTCOME_UNKNOWN || guards.length === 0) return problem;
  const isProtected = (attempt: OrderAttempt): boolean => {
    if (mayYetFill(attempt)) return false;
    return filledLots(attempt) === 0 || guards.some(({ venue }) => venue === attempt.venue);
  };
  return positionAttempts(run).every(isProtected) ? null : problem;
}

function stateOf(run: TradeRun, problem: string | null, guards: readonly OrderAttempt[]): ProtectionState {
  if (guards.some((attempt) => isOfUnknownOutcome(attempt) || isUnshown(attempt))) return "UNKNOWN";
  if (guards.length === 0) return problem === null || isIdle(run) ? "NOT_PLACED" : "FAILED";
  const placed = guards.filter((attempt) => attempt.outcome === "CONFIRMED" && !isFailed(run, attempt)).length;
  if (placed === 0) return "FAILED";
  return placed === guards.length && problem === null ? "PLACED" : "PARTIAL";
}

/** Nothing filled that is known of: nothing to protect. */
function isIdle(run: TradeRun): boolean {
  return positionAttempts(run).every((attempt) => filledLots(attempt) === 0);
}

function orderReport(attempt: OrderAttempt): ProtectionOrder {
  const refused = attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT";
  const kind = attempt.role === "TAKE_PROFIT" ? "TAKE_PROFIT" : attempt.role === "STOP_LOSS" ? "STOP_LOSS" : "CLOSE";
  return {
    kind,
    exchange: attempt.venue,
    venueClientOrderId: attempt.venueClientOrderId,
    orderId: orderId(attempt),
    triggerPrice: attempt.triggerTicks === undefined ? null : formatScaled(attempt.triggerTicks, attempt.priceDecimals),
    price: orderPrice(attempt),
    size: formatScaled(submittedLots(attempt), attempt.qtyDecimals),
    filledSize: formatScaled(filledLots(attempt), attempt.qtyDecimals),
    status: statusOf(attempt),
    outcome: attempt.outcome === "PENDING" ? "UNKNOWN" : attempt.outcome,
    reason: failureOf(attempt) ?? (attempt.order?.status === "CANCELED" ? (attempt.order.endReason ?? null) : null),
    venueText: refused ? attempt.venueText : null,
  };
}
