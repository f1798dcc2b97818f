/** Dry runs: what a trade would do, as a quote and as a reply. Nothing is sent, written or reserved for them. */
import { isOpening, type TradeRun } from "../run.js";
import { protectionReport } from "../conclude/protection-report.js";
import { QUOTE_TTL_MS, type QuoteBook } from "./quote-book.js";
import type { BoundQuote, TradeData, Quote } from "../types.js";
import { noteOf, remainderReport } from "../conclude/remainder-report.js";
import { algoOf } from "../conclude/reply.js";
import type { Routed } from "../decide/routing.js";

/** What a dry run asks for of its own. */
type QuoteTerms = Pick<
  BoundQuote,
  "symbol" | "side" | "intent" | "orderType" | "maxSlippageBps" | "accounts" | "ownerId"
>;

/** Gives a quote of the decision, which lives for `ttlMs`. */
export function giveQuote(quotes: QuoteBook, routed: Routed, terms: QuoteTerms, ttlMs: number | undefined): Quote {
  const { bound, requestedSize } = routed;
  const { quoteId, expiresAt } = quotes.give(
    {
      symbol: terms.symbol,
      side: terms.side,
      size: requestedSize,
      intent: terms.intent,
      orderType: terms.orderType,
      worstPrice: bound?.worstPrice ?? routed.worstPrice,
      ownPrice: bound?.ownPrice ?? null,
      maxSlippageBps: terms.maxSlippageBps,
      venues: bound?.venues ?? [],
      accounts: terms.accounts,
      ownerId: terms.ownerId ?? null,
    },
    ttlMs ?? QUOTE_TTL_MS,
  );
  return {
    quoteId,
    expiresAt,
    side: terms.side,
    size: requestedSize,
    // A LIMIT with no marketable part has no expected fill: its own price takes that place.
    expectedPrice: routed.report.price ?? routed.worstPrice,
    worstPrice: routed.worstPrice,
    expectedCostBps: routed.expectedCostBps,
    binding: "WORST_PRICE",
  };
}

/** As buildTradeData has it for a run without an order, which needs no arithmetic. */
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
      note: noteOf(run, "SIMULATED", false),
      requestedSize: run.requestedSize,
      submittedSize: "0",
      filledSize: "0",
      ...remainderReport(run, run.requestedSize),
      averagePrice: null,
      notional: null,
      fees: [],
      realizedSlippageBps: null,
      vsQuoteBps: null,
      adjustments: [...run.adjustments],
      legs: [],
      ...(isOpening(run) ? protectionReport(run) : {}),
      timingMs: run.timingMs,
      statusPath: null,
    },
    position: null,
    quote,
  };
}
