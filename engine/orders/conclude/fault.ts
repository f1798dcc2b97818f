/**
 * The reply of a trade whose record we fail to print: a fault of ours, met when orders may be at work. It says what
 * is certain without computing anything: an order was sent, its outcome is unknown, the venue is to be asked.
 *
 * Invariant: never throws on a run that this program made; never says final, failed or filled.
 */
import { formatScaled } from "../../domain/decimal.js";
import { orderPrice, submittedLots, worstPrice } from "../attempt-figures.js";
import { protectionReport } from "./protection-report.js";
import { remainderReport } from "./remainder-report.js";
import { algoOf } from "./reply.js";
import { NO_PROOF_OF_ABSENCE } from "../send/absence-proof.js";
import { isOpening, positionAttempts, type OrderAttempt, type TradeRun } from "../run.js";
import { recordBound, recordDoubt } from "../run-writes.js";
import type { TradeData, ExecutionLeg } from "../types.js";

/** Forgets the last sight of every order that the venue knows, so that whoever looks next reads it again. */
export function doubtOrders(run: TradeRun): void {
  for (const attempt of run.attempts) {
    if (attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT") continue;
    // The venue knew it: that it does not know it at some later time would prove nothing.
    if (attempt.order !== null) recordBound(attempt, NO_PROOF_OF_ABSENCE);
    recordDoubt(attempt);
  }
}

export function faultData(run: TradeRun, nowMs: number): TradeData {
  const attempts = positionAttempts(run);
  const lead = attempts.find((attempt) => attempt.outcome === "UNKNOWN") ?? attempts.at(-1) ?? null;
  const submitted = lead === null ? "0" : sizeOf(lead);
  return {
    executedOn: lead === null ? null : lead.venue,
    order: lead === null ? null : unknownOrderOf(run, lead, nowMs),
    routing: run.routing,
    execution: {
      state: "UNKNOWN",
      final: false,
      mode: "LIVE",
      algo: algoOf(run),
      note: null,
      requestedSize: run.requestedSize,
      submittedSize: submitted,
      filledSize: "0",
      ...remainderReport(run, run.requestedSize),
      averagePrice: null,
      notional: null,
      fees: [],
      realizedSlippageBps: null,
      vsQuoteBps: null,
      adjustments: [...run.adjustments],
      legs: attempts.map(legOf),
      ...(isOpening(run) ? protectionReport(run) : {}),
      timingMs: { ...run.timingMs },
      statusPath: null,
    },
    position: null,
  };
}

/** An order whose state only its venue can tell. */
function unknownOrderOf(run: TradeRun, attempt: OrderAttempt, nowMs: number): NonNullable<TradeData["order"]> {
  return {
    orderId: attempt.venueClientOrderId,
    symbol: run.symbol,
    side: run.side,
    type: run.orderType,
    status: "UNKNOWN",
    price: orderPrice(attempt),
    quantity: sizeOf(attempt),
    filledQuantity: "0",
    averagePrice: null,
    timestamp: attempt.sentAtMs ?? nowMs,
    exchange: attempt.venue,
    clientOrderId: run.clientOrderId,
    venueClientOrderId: attempt.venueClientOrderId,
    reduceOnly: attempt.reduceOnly ?? true,
    triggerPrice: null,
  };
}

function legOf(attempt: OrderAttempt): ExecutionLeg {
  const { outcome } = attempt;
  const rejected = outcome === "REJECTED" || outcome === "NOT_SENT";
  return {
    leg: attempt.leg,
    attempt: attempt.attempt,
    exchange: attempt.venue,
    venueClientOrderId: attempt.venueClientOrderId,
    orderId: null,
    size: sizeOf(attempt),
    worstPrice: worstPrice(attempt),
    filledSize: "0",
    averagePrice: null,
    status: rejected ? "REJECTED" : "UNKNOWN",
    outcome: rejected ? outcome : "UNKNOWN",
    reason: rejected ? attempt.reason : null,
    venueText: rejected ? attempt.venueText : null,
    sentAt: attempt.sentAtMs,
    ackAt: attempt.ackAtMs,
  };
}

function sizeOf(attempt: OrderAttempt): string {
  return formatScaled(submittedLots(attempt), attempt.qtyDecimals);
}
