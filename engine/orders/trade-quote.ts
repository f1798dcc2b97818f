/** Dry runs: what a trade would do, as a quote and as a reply. Nothing is sent, written or reserved for them. */
import type { Side } from "../domain/order.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import { isOpening, type TradeRun } from "./trade-run.js";
import { protectionReport } from "./protection-report.js";
import { QUOTE_TTL_MS } from "./quote-book.js";
import { algoOf } from "./trade-reply.js";
import type { Routed } from "./trade-routing.js";
import type { TradeData, Quote } from "./trade-types.js";
import { mintRouteId } from "./route-ids.js";

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

/** As buildTradeData says it of a run without an order, which needs no arithmetic. */
export function simulatedData(run: TradeRun, quote: Quote): TradeData {
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
      ...(isOpening(run) ? protectionReport(run) : {}),
      timingMs: run.timingMs,
      statusPath: null,
    },
    position: null,
    quote,
  };
}
