/** What a request asks of the router: the kind of its orders, its size and its price, written into the router's input. */
import { compareDecimals } from "../../domain/decimal.js";
import {
  setLimitText,
  setNotionalText,
  setSizeAll,
  setSizePercentText,
  setSizeText,
} from "../../routing/route-input.js";
import type { RouteInput, RouteKind } from "../../routing/route-types.js";
import type { BoundQuote, TradeRequest } from "../types.js";
import { slippedPrice, type PlanProblem } from "./plan.js";

/** What is to be done; `size`: in place of the request's own. Null: fine. */
export function setSize(input: RouteInput, request: TradeRequest, size: string | null): PlanProblem | null {
  if (size !== null)
    return setSizeText(input, size) ? null : { path: "size", problem: "is outside the range that can be held exactly" };
  if (request.open?.notionalUsd != null)
    return setNotionalText(input, request.open.notionalUsd)
      ? null
      : { path: "notionalUsd", problem: "must be a positive decimal text" };
  if (request.sizePercent !== null)
    return setSizePercentText(input, request.sizePercent)
      ? null
      : { path: "sizePercent", problem: "must be above 0 and at most 100, with at most 4 decimals" };
  if (request.size === "ALL" && request.open === null) {
    setSizeAll(input);
    return null;
  }
  if (request.size !== null && setSizeText(input, request.size)) return null;
  return { path: "size", problem: "must be a positive decimal text or ALL" };
}

export function routeKindOf(request: TradeRequest): RouteKind {
  const { orderType } = request;
  if (request.open !== null) return orderType === "LIMIT" ? "OPEN_LIMIT" : "OPEN_MARKET";
  return orderType === "MARKET" ? "CLOSE_MARKET" : orderType === "LIMIT" ? "CLOSE_LIMIT" : "CLOSE_STOP";
}

/** The price that a LIMIT or a stop brings, held to a quote's; null: fine. */
export function setPrice(input: RouteInput, request: TradeRequest, quote: BoundQuote | null): PlanProblem | null {
  const { orderType, limitPrice, triggerPrice } = request;
  if (orderType === "LIMIT" || orderType === "STOP_LIMIT") {
    if (limitPrice === null || !setLimitText(input, limitPrice))
      return { path: "limitPrice", problem: "must be a positive decimal text" };
    // A caller's own limit is never moved.
    return isBeyondQuoted(input, quote, limitPrice)
      ? { path: "limitPrice", problem: "is beyond the quote's worst price" }
      : null;
  }
  if (orderType !== "STOP_MARKET") return null;
  const bound = triggerPrice === null ? null : slippedPrice(triggerPrice, input.side, request.maxSlippageBps);
  const held = bound !== null && isBeyondQuoted(input, quote, bound) ? (quote?.ownPrice ?? bound) : bound;
  return held !== null && setLimitText(input, held)
    ? null
    : { path: "triggerPrice", problem: "must be a positive decimal text" };
}

/** Would it trade at worse prices than what was quoted? */
function isBeyondQuoted(input: RouteInput, quote: BoundQuote | null, price: string): boolean {
  const quoted = quote?.ownPrice ?? null;
  return quoted !== null && compareDecimals(price, quoted) === (input.side === "SELL" ? -1 : 1);
}
