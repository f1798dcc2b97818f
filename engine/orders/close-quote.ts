/** Dry runs: what a close would do, as a quote and as a reply. Nothing is sent, written or reserved for them. */
import type { Side } from "../domain/order.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import { algoOf } from "./close-reply.js";
import type { Routed } from "./close-routing.js";
import type { CloseRun } from "./close-run.js";
import type { CloseData, Quote } from "./close-types.js";
import { mintRouteId } from "./route-ids.js";

export const QUOTE_TTL_MS = 2_000;

export function quoteOf(routed: Routed, side: Side, nowMs: number, randomIds: RandomIds): Quote {
  return {
    quoteId: mintRouteId("qt", nowMs, randomIds),
    expiresAt: nowMs + QUOTE_TTL_MS,
    side,
    size: routed.requestedSize,
    // A LIMIT with no marketable part has no expected fill: its own price stands in.
    expectedPrice: routed.report.price ?? routed.worstPrice,
    worstPrice: routed.worstPrice,
    expectedCostBps: routed.expectedCostBps,
    binding: "WORST_PRICE",
  };
}

/** As buildCloseData says it of a run without an order, which needs no arithmetic. */
export function simulatedData(run: CloseRun, quote: Quote): CloseData {
  return {
    executedOn: null,
    order: null,
    routing: run.routing,
    execution: {
      state: "SIMULATED",
      final: true,
      mode: "DRY_RUN",
      algo: algoOf(run),
      note: run.note,
      requestedSize: run.requestedSize,
      submittedSize: "0",
      filledSize: "0",
      remainingSize: run.requestedSize,
      averagePrice: null,
      notional: null,
      fees: [],
      realizedSlippageBps: null,
      vsQuoteBps: null,
      adjustments: run.adjustments,
      legs: [],
      timingMs: run.timingMs,
      statusPath: null,
    },
    position: null,
    quote,
  };
}
