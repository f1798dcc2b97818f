/**
 * A trade's record → its reply. Pure: no clock, no store, no venue; the same run gives the same reply,
 * also after a restart.
 *
 * Invariants: filled ≤ submitted ≤ requested; an order of unknown outcome makes the whole state UNKNOWN, and
 * `success: false` is reported only when nothing was executed for certain.
 */
import { formatScaled } from "../../domain/decimal.js";
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
} from "../../domain/decimal-ratio.js";
import type { OrderStatus } from "../../domain/order.js";
import { filledLots, orderId, orderPrice, statusOf, submittedLots, worstPrice } from "../attempt-figures.js";
import { averagePrice, isSplit, quoteRate, lots, sizeText, sumUp, type Totals } from "../run-totals.js";
import { protectionReport } from "./protection-report.js";
import { isRemainderKnown, noteOf, remainderReport, stateOfPart } from "./remainder-report.js";
import {
  isOfPosition,
  isOfUnknownOutcome,
  isOpening,
  mayRest,
  positionAttempts,
  unknownAttempt,
  type OrderAttempt,
  type TradeRun,
} from "../run.js";
import type {
  TradeData,
  TradeResult,
  ExecutionLeg,
  ExecutionReport,
  ExecutionState,
  NormalizedOrder,
  PositionAfter,
} from "../types.js";

const ZERO = ratio(0n);
const ONE = ratio(1n);
const BPS = ratio(10_000n);
/** Fee rates are thousandths of a basis point: 10^-7. */
const MILLI_BPS = ratio(1n, 10_000_000n);
const NOTIONAL_PLACES = 8;
const FEE_PLACES = 6;
const BPS_PLACES = 2;
/** A weighted average is finer than the tick. */
const EXTRA_AVERAGE_PLACES = 4;

export function buildTradeData(run: TradeRun, nowMs: number): TradeData {
  const totals = sumUp(run);
  const ended = stateOf(run, totals);
  const lead = leadAttempt(run, ended);
  const state = isRemainderKnown(run) ? ended : stateOfPart(ended);
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

export function toTradeResult(data: TradeData, replayed: boolean): TradeResult {
  return { ok: true, success: data.execution.state !== "REJECTED", data, replayed };
}

function stateOf(run: TradeRun, totals: Totals): ExecutionState {
  const attempts = positionAttempts(run);
  if (attempts.some(isOfUnknownOutcome)) return "UNKNOWN";
  const open = attempts.findLast(
    ({ outcome, order }) =>
      outcome === "CONFIRMED" && (order?.status === "OPEN" || order?.status === "PARTIALLY_FILLED"),
  );
  if (open !== undefined) return mayRest(open) ? "RESTING" : "SUBMITTED";
  if (totals.filled.num > 0n) return isDust(run, totals.remaining) ? "COMPLETED" : "PARTIAL";
  return run.note === "ALREADY_FLAT" ? "NOOP" : "REJECTED";
}

/** Less than a lot on every venue that was tried. */
function isDust(run: TradeRun, remaining: Ratio): boolean {
  return positionAttempts(run).every((attempt) => compareRatio(remaining, lots(attempt, 1)) < 0);
}

/** The order that represents the close: one of unknown outcome, else the largest fill, else the last one. */
function leadAttempt(run: TradeRun, state: ExecutionState): OrderAttempt | null {
  if (state === "NOOP") return null;
  const attempts = positionAttempts(run);
  const unknown = attempts.find(isOfUnknownOutcome) ?? null;
  let lead: OrderAttempt | null = null;
  for (const attempt of attempts) {
    if (
      filledLots(attempt) > 0 &&
      (lead === null || compareRatio(lots(attempt, filledLots(attempt)), lots(lead, filledLots(lead))) > 0)
    )
      lead = attempt;
  }
  // The largest fill represents a split, also while another leg is of unknown outcome.
  if (unknown !== null && (lead === null || !isSplit(attempts))) return unknown;
  return lead ?? attempts.at(-1) ?? null;
}

function normalizedOrder(run: TradeRun, lead: OrderAttempt, totals: Totals, nowMs: number): NormalizedOrder {
  const attempts = positionAttempts(run);
  const aggregate = isSplit(attempts) || attempts.filter((attempt) => filledLots(attempt) > 0).length > 1;
  return {
    orderId: aggregate ? run.routeId : (orderId(lead) ?? lead.venueClientOrderId),
    symbol: run.symbol,
    side: run.side,
    type: run.orderType,
    status: isSplit(attempts) ? splitStatus(attempts) : statusOf(lead),
    price: orderPrice(lead),
    quantity: aggregate ? sizeText(totals.submitted) : formatScaled(submittedLots(lead), lead.qtyDecimals),
    filledQuantity: aggregate ? sizeText(totals.filled) : formatScaled(filledLots(lead), lead.qtyDecimals),
    averagePrice: aggregate ? priceText(totals.average, lead) : priceText(averagePrice(lead), lead),
    timestamp: lead.order?.tsVenueMs || lead.ackAtMs || lead.sentAtMs || nowMs,
    exchange: lead.venue,
    clientOrderId: run.clientOrderId,
    venueClientOrderId: lead.venueClientOrderId,
    // Also on hedge-mode accounts, where the closed side takes the flag's place.
    reduceOnly: lead.reduceOnly ?? true,
    // A trade of the router has stops alone; what protects an entry is reported apart from its orders.
    ...(lead.triggerTicks === undefined
      ? { triggerPrice: null }
      : { triggerPrice: formatScaled(lead.triggerTicks, lead.priceDecimals), triggerKind: "STOP" }),
  };
}

/** The aggregate's: unknown or open while any leg is, filled when all are. */
function splitStatus(attempts: readonly OrderAttempt[]): OrderStatus {
  const statuses = attempts.map(statusOf);
  for (const status of ["UNKNOWN", "OPEN", "PARTIALLY_FILLED"] as const) if (statuses.includes(status)) return status;
  if (statuses.every((status) => status === "REJECTED")) return "REJECTED";
  return statuses.every((status) => status === "FILLED") ? "FILLED" : "CANCELED";
}

function executionReport(
  run: TradeRun,
  totals: Totals,
  state: ExecutionState,
  lead: OrderAttempt | null,
  order: NormalizedOrder | null,
): ExecutionReport {
  const leadOrderId = lead === null ? null : orderId(lead);
  return {
    state,
    final: state !== "UNKNOWN" && state !== "SUBMITTED" && state !== "RESTING" && unknownAttempt(run) === null,
    mode: "LIVE",
    algo: algoOf(run),
    note: noteOf(run, state, totals.remaining.num > 0n),
    requestedSize: run.requestedSize,
    submittedSize: sizeText(totals.submitted),
    filledSize: sizeText(totals.filled),
    ...remainderReport(run, sizeText(totals.remaining)),
    averagePrice: lead === null ? null : priceText(totals.average, lead),
    notional: totals.average === null ? null : formatRatio(totals.notional, NOTIONAL_PLACES, "halfUp"),
    fees: positionAttempts(run).flatMap(feeOf),
    realizedSlippageBps: costBps(run, run.routing.reference?.mid ?? null, ONE, totals.commonAverage),
    // A split's price is in the common quote already.
    vsQuoteBps: costBps(
      run,
      run.routing.price,
      run.routing.split ? ONE : quoteRate(run, run.routing.recommended),
      totals.commonAverage,
    ),
    adjustments: run.adjustments.map((adjustment) => ({ ...adjustment })),
    legs: positionAttempts(run).map((attempt) => executionLeg(attempt)),
    ...(isOpening(run) ? protectionReport(run) : {}),
    timingMs: { ...run.timingMs },
    statusPath:
      lead === null || order === null || leadOrderId === null
        ? null
        : `/api/trading/${lead.venue}/orders/${encodeURIComponent(leadOrderId)}/status?symbol=${encodeURIComponent(run.symbol)}`,
  };
}

export function algoOf(run: Pick<TradeRun, "orderType">): "GTC" | "IOC" | "STOP" {
  if (run.orderType === "MARKET") return "IOC";
  return run.orderType === "LIMIT" ? "GTC" : "STOP";
}

function executionLeg(attempt: OrderAttempt): ExecutionLeg {
  const rejected = attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT";
  return {
    leg: attempt.leg,
    attempt: attempt.attempt,
    exchange: attempt.venue,
    venueClientOrderId: attempt.venueClientOrderId,
    orderId: orderId(attempt),
    size: formatScaled(submittedLots(attempt), attempt.qtyDecimals),
    worstPrice: worstPrice(attempt),
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

/** Positive: worse than the benchmark, whichever the side. */
function costBps(run: TradeRun, benchmark: string | null, rate: Ratio, average: Ratio | null): string | null {
  if (benchmark === null || average === null) return null;
  const mark = multiplyRatio(ratioFromText(benchmark), rate);
  if (mark.num <= 0n) return null;
  const difference = run.side === "SELL" ? subtractRatio(mark, average) : subtractRatio(average, mark);
  return formatRatio(multiplyRatio(divideRatio(difference, mark), BPS), BPS_PLACES, "halfUp");
}

/** None, or one. */
export function feeOf(attempt: OrderAttempt): ExecutionReport["fees"] {
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

function computedPosition(run: TradeRun, lead: OrderAttempt, nowMs: number): PositionAfter | null {
  const before = run.positionsBefore.find((position) => position.venue === lead.venue);
  if (before === undefined) return null;
  const held = ratioFromScaled(before.qtyLots, before.qtyDecimals);
  let filled = ZERO;
  let undone = ZERO;
  for (const attempt of run.attempts) {
    if (attempt.venue !== lead.venue) continue;
    const here = lots(attempt, filledLots(attempt));
    if (isOfPosition(attempt)) filled = addRatio(filled, here);
    else undone = addRatio(undone, here);
  }
  if (isOpening(run)) return openedPosition(run, lead, before, subtractRatio(filled, undone), nowMs);
  let left = subtractRatio(held, filled);
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

/** After an entry: what was held and what came to it; of a position that it netted, what is left of that. */
function openedPosition(
  run: TradeRun,
  lead: OrderAttempt,
  before: TradeRun["positionsBefore"][number],
  added: Ratio,
  nowMs: number,
): PositionAfter {
  const opposite = ratioFromScaled(before.oppositeLots ?? 0, before.qtyDecimals);
  const held = ratioFromScaled(before.qtyLots, before.qtyDecimals);
  const net = subtractRatio(addRatio(held, added), opposite);
  const turned = net.num < 0n;
  const size = turned ? subtractRatio(ZERO, net) : net;
  const average = opposite.num > 0n ? null : entryAverage(before.entryPrice, held, added, averagePrice(lead));
  return {
    exchange: lead.venue,
    symbol: run.symbol,
    direction: turned ? (run.direction === "LONG" ? "SHORT" : "LONG") : run.direction,
    size: sizeText(size),
    entryPrice: size.num === 0n ? null : priceText(average, lead),
    asOf: nowMs,
    source: "computed",
  };
}

/** By size, as venues reckon it; null where a part of it is not known. */
function entryAverage(entry: string | null, held: Ratio, added: Ratio, price: Ratio | null): Ratio | null {
  if (added.num <= 0n) return entry === null ? null : ratioFromText(entry);
  if (price === null) return null;
  if (held.num === 0n) return price;
  if (entry === null) return null;
  const value = addRatio(multiplyRatio(ratioFromText(entry), held), multiplyRatio(price, added));
  return divideRatio(value, addRatio(held, added));
}

function priceText(value: Ratio | null, attempt: OrderAttempt): string | null {
  return value === null
    ? null
    : formatRatio(value, Math.max(0, attempt.priceDecimals) + EXTRA_AVERAGE_PLACES, "halfUp");
}
