/** Dry runs: what a close would do, as a quote and as a reply. Nothing is sent, written or reserved for them. */
import type { Side } from "../domain/order.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import { buildCloseData } from "./close-reply.js";
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

export function simulatedData(run: CloseRun, quote: Quote, nowMs: number): CloseData {
  const data = buildCloseData(run, nowMs);
  return {
    ...data,
    executedOn: null,
    order: null,
    execution: {
      ...data.execution,
      state: "SIMULATED",
      final: true,
      mode: "DRY_RUN",
      submittedSize: "0",
      remainingSize: run.requestedSize,
    },
    position: null,
    quote,
  };
}
