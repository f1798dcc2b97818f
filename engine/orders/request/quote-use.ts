/**
 * The use of a quote by one request: bound before the decision, claimed before the first order, and released where none
 * was sent.
 */
import { tradeSide } from "../decide/plan.js";
import type { TradeRun } from "../run.js";
import type { TradeExecution } from "../send/execution.js";
import type { BoundQuote } from "../types.js";
import type { QuoteBook } from "./quote-book.js";
import { refused, type Refused } from "./refusals.js";

/** Returns null when the call is bound to its quote, or to none. A retry after a crash is the use that its record shows. */
export function bindQuote(quotes: QuoteBook, execution: TradeExecution, earlier: TradeRun | null): Refused | null {
  const { request, accounts, ownerId, ticket } = execution;
  if (request.quoteId === null) return null;
  if (earlier?.quote !== undefined) {
    bindTo(execution, earlier.quote);
    return null;
  }
  const user = ticket?.recordKey ?? null;
  const use = quotes.use(request.quoteId, request, tradeSide(request), { accounts: accounts.hashes(), ownerId }, user);
  switch (use.kind) {
    case "bound":
      bindTo(execution, use.quote);
      return null;
    case "unknown":
      return refused("QUOTE_UNKNOWN", {});
    case "over":
      return refused("QUOTE_EXPIRED", { reason: use.reason });
    case "mismatch":
      return refused("INVALID_PARAMETERS", { fields: [{ path: use.path, problem: use.problem }] });
  }
}

/** Called before the first order. Returns null when the quote is this run's, until none of its orders is sent. */
export function claimQuote(quotes: QuoteBook, execution: TradeExecution, run: TradeRun): Refused | null {
  const { quoteId } = execution.request;
  // A use that its record shows is claimed, or of a process before.
  if (quoteId === null || execution.quote === null || run.attempts.length > 0) return null;
  const reason = quotes.claim(quoteId, execution.ownerId, userOf(execution, run));
  return reason === null ? null : refused("QUOTE_EXPIRED", { reason });
}

/** A use that sent nothing consumes nothing. */
export function releaseQuote(quotes: QuoteBook, execution: TradeExecution, run: TradeRun): void {
  const { quoteId } = execution.request;
  if (quoteId === null || run.attempts.some(({ sentAtMs }) => sentAtMs !== null)) return;
  quotes.release(quoteId, execution.ownerId, userOf(execution, run));
}

/** A call that names no slippage takes the quote's: the default could be wider or narrower than what was quoted. */
function bindTo(execution: TradeExecution, quote: BoundQuote): void {
  execution.quote = quote;
  const { request } = execution;
  if (request.isSlippageDefault === true) execution.request = { ...request, maxSlippageBps: quote.maxSlippageBps };
}

/** Whose use it is: the key's, or this request's alone. */
function userOf({ ticket }: TradeExecution, run: TradeRun): string {
  return ticket?.recordKey ?? run.routeId;
}
