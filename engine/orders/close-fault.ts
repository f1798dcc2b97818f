/**
 * The reply of a close whose record we fail to print: a fault of ours, met when orders may be at work. It says what
 * is certain without computing anything: an order was sent, its outcome is unknown, the venue is to be asked.
 *
 * Invariant: never throws on a run that this program made; never says final, failed or filled.
 */
import { formatScaled } from "../domain/decimal.js";
import type { Attempt, CloseRun } from "./close-run.js";
import type { CloseData, ExecutionLeg } from "./close-types.js";

/** Forgets what the venue said of the orders that it knows, so that they are read again by whoever looks next. */
export function doubtOrders(run: CloseRun): void {
  for (const attempt of run.attempts) {
    if (attempt.outcome !== "CONFIRMED" && attempt.outcome !== "PENDING") continue;
    // The venue knew it: that it does not know it at some later time would prove nothing.
    if (attempt.outcome === "CONFIRMED") attempt.notPlacedAfterMs = Number.MAX_SAFE_INTEGER;
    attempt.outcome = "UNKNOWN";
    attempt.order = null;
  }
}

export function faultData(run: CloseRun, nowMs: number): CloseData {
  const lead = run.attempts.find((attempt) => attempt.outcome === "UNKNOWN") ?? run.attempts.at(-1) ?? null;
  const submitted = lead === null ? "0" : sizeOf(lead);
  return {
    executedOn: lead === null ? null : lead.venue,
    order:
      lead === null
        ? null
        : {
            orderId: lead.venueClientOrderId,
            symbol: run.symbol,
            side: run.side,
            type: run.orderType,
            status: "UNKNOWN",
            price: formatScaled(lead.priceTicks, lead.priceDecimals),
            quantity: submitted,
            filledQuantity: "0",
            averagePrice: null,
            timestamp: lead.sentAtMs ?? nowMs,
            exchange: lead.venue,
            clientOrderId: run.clientOrderId,
            venueClientOrderId: lead.venueClientOrderId,
            reduceOnly: true,
            triggerPrice: null,
          },
    routing: run.routing,
    execution: {
      state: "UNKNOWN",
      final: false,
      mode: "LIVE",
      algo: run.orderType === "LIMIT" ? "GTC" : "IOC",
      note: null,
      requestedSize: run.requestedSize,
      submittedSize: submitted,
      filledSize: "0",
      remainingSize: run.requestedSize,
      averagePrice: null,
      notional: null,
      fees: [],
      realizedSlippageBps: null,
      vsQuoteBps: null,
      adjustments: [...run.adjustments],
      legs: run.attempts.map(legOf),
      timingMs: { ...run.timingMs },
      statusPath: null,
    },
    position: null,
  };
}

function legOf(attempt: Attempt): ExecutionLeg {
  const { outcome } = attempt;
  const rejected = outcome === "REJECTED" || outcome === "NOT_SENT";
  return {
    leg: attempt.leg,
    attempt: attempt.attempt,
    exchange: attempt.venue,
    venueClientOrderId: attempt.venueClientOrderId,
    orderId: null,
    size: sizeOf(attempt),
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

function sizeOf(attempt: Attempt): string {
  return formatScaled(attempt.qtyLots, attempt.qtyDecimals);
}
