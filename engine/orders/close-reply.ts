/**
 * A close's record → its reply. Pure: no clock, no store, no venue; the same run gives the same reply,
 * also after a restart.
 *
 * Invariants: filled ≤ submitted ≤ requested; an order of unknown outcome makes the whole state UNKNOWN, and
 * `success: false` is said only when nothing was executed for certain.
 */
import { formatScaled } from "../domain/decimal.js";
import {
  addRatio,
  compareRatio,
  divideRatio,
  formatRatio,
  multiplyRatio,
  ratio,
  ratioFromScaled,
  ratioFromText,
  subtractRatio,
  type Ratio,
} from "../domain/decimal-ratio.js";
import type { OrderStatus } from "../domain/order.js";
import { unknownAttempt, type Attempt, type CloseRun } from "./close-run.js";
import type {
  CloseData,
  CloseResult,
  ExecutionLeg,
  ExecutionReport,
  ExecutionState,
  NormalizedOrder,
  PositionAfter,
} from "./close-types.js";

const ZERO = ratio(0n);
const BPS = ratio(10_000n);
/** Fee rates are thousandths of a basis point: 10^-7. */
const MILLI_BPS = ratio(1n, 10_000_000n);
const SIZE_PLACES = 24;
const NOTIONAL_PLACES = 8;
const FEE_PLACES = 6;
const BPS_PLACES = 2;
/** A weighted average is finer than the tick. */
const EXTRA_AVERAGE_PLACES = 4;

export function buildCloseData(run: CloseRun, nowMs: number): CloseData {
  const totals = sumUp(run);
  const state = stateOf(run, totals);
  const lead = leadAttempt(run, state);
  const order = lead === null ? null : normalizedOrder(run, lead, totals, nowMs);
  return {
    executedOn: lead === null || state === "REJECTED" ? null : lead.venue,
    order,
    routing: run.routing,
    execution: executionReport(run, totals, state, lead, order),
    // With an order of unknown outcome any figure would be a guess.
    position: run.positionAfter ?? (lead === null || state === "UNKNOWN" ? null : computedPosition(run, lead, nowMs)),
  };
}

export function toCloseResult(data: CloseData, replayed: boolean): CloseResult {
  return { ok: true, success: data.execution.state !== "REJECTED", data, replayed };
}

/** Base units still to be closed, as text; "0" when done. */
export function remainingSize(run: CloseRun): string {
  return formatRatio(sumUp(run).remaining, SIZE_PLACES, "floor");
}

export function filledAnything(run: CloseRun): boolean {
  return run.attempts.some((attempt) => filledLots(attempt) > 0);
}

interface Totals {
  readonly requested: Ratio;
  readonly submitted: Ratio;
  readonly filled: Ratio;
  readonly remaining: Ratio;
  /** Quote units over all fills with a price. */
  readonly notional: Ratio;
  readonly average: Ratio | null;
}

function sumUp(run: CloseRun): Totals {
  const requested = ratioFromText(run.requestedSize);
  let filled = ZERO;
  let priced = ZERO;
  let notional = ZERO;
  let submitted = ZERO;
  for (const attempt of run.attempts) {
    if (isSent(attempt)) submitted = addRatio(filled, lots(attempt, attempt.qtyLots));
    const filledHere = lots(attempt, filledLots(attempt));
    filled = addRatio(filled, filledHere);
    const price = averagePrice(attempt);
    if (price === null) continue;
    priced = addRatio(priced, filledHere);
    notional = addRatio(notional, multiplyRatio(price, filledHere));
  }
  // An order that was refused later does not shrink what was submitted before it.
  if (compareRatio(submitted, filled) < 0) submitted = filled;
  return {
    requested,
    submitted,
    filled,
    remaining: subtractRatio(requested, filled),
    notional,
    average: priced.num === 0n ? null : divideRatio(notional, priced),
  };
}

function stateOf(run: CloseRun, totals: Totals): ExecutionState {
  if (unknownAttempt(run) !== null) return "UNKNOWN";
  const last = run.attempts.at(-1);
  const status = last?.outcome === "CONFIRMED" ? last.order?.status : undefined;
  if (status === "OPEN" || status === "PARTIALLY_FILLED") return run.orderType === "LIMIT" ? "RESTING" : "SUBMITTED";
  if (totals.filled.num > 0n) return isDust(run, totals.remaining) ? "COMPLETED" : "PARTIAL";
  return run.note === "ALREADY_FLAT" ? "NOOP" : "REJECTED";
}

/** Less than a lot on every venue that was tried. */
function isDust(run: CloseRun, remaining: Ratio): boolean {
  return run.attempts.every((attempt) => compareRatio(remaining, lots(attempt, 1)) < 0);
}

/** The order that stands for the close: of unknown outcome, else the largest fill, else the last one. */
function leadAttempt(run: CloseRun, state: ExecutionState): Attempt | null {
  if (state === "NOOP") return null;
  let lead = unknownAttempt(run);
  if (lead !== null) return lead;
  for (const attempt of run.attempts) {
    if (
      filledLots(attempt) > 0 &&
      (lead === null || compareRatio(lots(attempt, filledLots(attempt)), lots(lead, filledLots(lead))) > 0)
    )
      lead = attempt;
  }
  return lead ?? run.attempts.at(-1) ?? null;
}

function normalizedOrder(run: CloseRun, lead: Attempt, totals: Totals, nowMs: number): NormalizedOrder {
  const aggregate = run.attempts.filter((attempt) => filledLots(attempt) > 0).length > 1;
  return {
    orderId: aggregate ? run.routeId : (orderId(lead) ?? lead.venueClientOrderId),
    symbol: run.symbol,
    side: run.side,
    type: run.orderType,
    status: statusOf(lead),
    price: formatScaled(lead.priceTicks, lead.priceDecimals),
    quantity: aggregate ? sizeText(totals.submitted) : formatScaled(lead.qtyLots, lead.qtyDecimals),
    filledQuantity: aggregate ? sizeText(totals.filled) : formatScaled(filledLots(lead), lead.qtyDecimals),
    averagePrice: aggregate ? priceText(totals.average, lead) : priceText(averagePrice(lead), lead),
    timestamp: lead.order?.tsVenueMs || lead.ackAtMs || lead.sentAtMs || nowMs,
    exchange: lead.venue,
    clientOrderId: run.clientOrderId,
    venueClientOrderId: lead.venueClientOrderId,
    // Also on hedge-mode accounts, where the closed side takes the flag's place.
    reduceOnly: true,
    triggerPrice: null,
  };
}

function executionReport(
  run: CloseRun,
  totals: Totals,
  state: ExecutionState,
  lead: Attempt | null,
  order: NormalizedOrder | null,
): ExecutionReport {
  const leadOrderId = lead === null ? null : orderId(lead);
  return {
    state,
    final: state !== "UNKNOWN" && state !== "SUBMITTED" && state !== "RESTING",
    mode: "LIVE",
    algo: algoOf(run),
    note: run.note ?? (state === "COMPLETED" && totals.remaining.num > 0n ? "DUST_REMAINDER" : null),
    requestedSize: run.requestedSize,
    submittedSize: sizeText(totals.submitted),
    filledSize: sizeText(totals.filled),
    remainingSize: sizeText(totals.remaining),
    averagePrice: lead === null ? null : priceText(totals.average, lead),
    notional: totals.average === null ? null : formatRatio(totals.notional, NOTIONAL_PLACES, "halfUp"),
    fees: run.attempts.flatMap(feeOf),
    realizedSlippageBps: costBps(run, run.routing.reference?.mid ?? null, totals.average),
    vsQuoteBps: costBps(run, run.routing.price, totals.average),
    adjustments: run.adjustments.map((adjustment) => ({ ...adjustment })),
    legs: run.attempts.map((attempt) => executionLeg(attempt)),
    timingMs: { ...run.timingMs },
    statusPath:
      lead === null || order === null || leadOrderId === null
        ? null
        : `/api/trading/${lead.venue}/orders/${encodeURIComponent(leadOrderId)}/status?symbol=${encodeURIComponent(run.symbol)}`,
  };
}

export function algoOf(run: CloseRun): "GTC" | "IOC" {
  return run.orderType === "LIMIT" ? "GTC" : "IOC";
}

function executionLeg(attempt: Attempt): ExecutionLeg {
  const rejected = attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT";
  return {
    leg: attempt.leg,
    attempt: attempt.attempt,
    exchange: attempt.venue,
    venueClientOrderId: attempt.venueClientOrderId,
    orderId: orderId(attempt),
    size: formatScaled(attempt.qtyLots, attempt.qtyDecimals),
    filledSize: formatScaled(filledLots(attempt), attempt.qtyDecimals),
    averagePrice: priceText(averagePrice(attempt), attempt),
    status: statusOf(attempt),
    // An intent whose send this record has not seen the end of may have been placed.
    outcome: attempt.outcome === "PENDING" ? "UNKNOWN" : attempt.outcome,
    reason: rejected ? attempt.reason : null,
    venueText: rejected ? attempt.venueText : null,
    sentAt: attempt.sentAtMs,
    ackAt: attempt.ackAtMs,
  };
}

function statusOf(attempt: Attempt): OrderStatus {
  if (attempt.outcome === "CONFIRMED") return attempt.order?.status ?? "UNKNOWN";
  return attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT" ? "REJECTED" : "UNKNOWN";
}

/** Positive: worse than the benchmark, whichever the side. */
function costBps(run: CloseRun, benchmark: string | null, average: Ratio | null): string | null {
  if (benchmark === null || average === null) return null;
  const mark = ratioFromText(benchmark);
  if (mark.num <= 0n) return null;
  const difference = run.side === "SELL" ? subtractRatio(mark, average) : subtractRatio(average, mark);
  return formatRatio(multiplyRatio(divideRatio(difference, mark), BPS), BPS_PLACES, "halfUp");
}

/** None, or one. */
export function feeOf(attempt: Attempt): ExecutionReport["fees"] {
  if (filledLots(attempt) === 0) return [];
  const reported = attempt.order?.fee ?? null;
  if (reported !== null) return [{ amount: reported.amount, asset: reported.asset, source: "venue" }];
  const price = averagePrice(attempt);
  if (price === null) return [];
  // What filled by the time of the reply took liquidity.
  const rate = multiplyRatio(ratio(BigInt(attempt.takerFeeMilliBps)), MILLI_BPS);
  const amount = multiplyRatio(multiplyRatio(price, lots(attempt, filledLots(attempt))), rate);
  return [{ amount: formatRatio(amount, FEE_PLACES, "halfUp"), asset: attempt.quoteAsset, source: "computed" }];
}

function computedPosition(run: CloseRun, lead: Attempt, nowMs: number): PositionAfter | null {
  const before = run.positionsBefore.find((position) => position.venue === lead.venue);
  if (before === undefined) return null;
  let left = ratioFromScaled(before.qtyLots, before.qtyDecimals);
  for (const attempt of run.attempts)
    if (attempt.venue === lead.venue) left = subtractRatio(left, lots(attempt, filledLots(attempt)));
  // Somebody else closed a part meanwhile: the venue would have clamped the order, so below zero is flat.
  if (left.num < 0n) left = ZERO;
  return {
    exchange: lead.venue,
    symbol: run.symbol,
    direction: run.direction,
    size: sizeText(left),
    entryPrice: left.num === 0n ? null : before.entryPrice,
    asOf: nowMs,
    source: "computed",
  };
}

function isSent(attempt: Attempt): boolean {
  return attempt.outcome !== "NOT_SENT";
}

function filledLots(attempt: Attempt): number {
  return attempt.order?.filledLots ?? 0;
}

function orderId(attempt: Attempt): string | null {
  const id = attempt.order?.venueOrderId ?? "";
  return id === "" ? null : id;
}

/** Canonical quoting; null while nothing filled. */
export function averagePrice(attempt: Attempt): Ratio | null {
  const native = attempt.order?.averagePrice ?? null;
  if (native === null || filledLots(attempt) === 0) return null;
  return multiplyRatio(ratioFromText(native), ratioFromScaled(1, attempt.multiplierExp10));
}

function lots(attempt: Attempt, count: number): Ratio {
  return ratioFromScaled(count, attempt.qtyDecimals);
}

function sizeText(value: Ratio): string {
  return formatRatio(value, SIZE_PLACES, "floor");
}

function priceText(value: Ratio | null, attempt: Attempt): string | null {
  return value === null
    ? null
    : formatRatio(value, Math.max(0, attempt.priceDecimals) + EXTRA_AVERAGE_PLACES, "halfUp");
}
