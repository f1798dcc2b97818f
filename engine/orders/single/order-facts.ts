/**
 * An order as the public API tells it, from our own record of it or from what a venue shows. Pure.
 *
 * Invariant: exact decimals throughout; a figure that the venue printed badly is left out, never guessed.
 */
import { formatScaled, isPlainDecimal } from "../../domain/decimal.js";
import { formatRatio, multiplyRatio, ratioFromScaled, ratioFromText, type Ratio } from "../../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import type { OrderType, VenueOrder } from "../../domain/order.js";
import { orderPrice, submittedLots } from "../attempt-figures.js";
import { isOfUnknownOutcome, type OrderAttempt } from "../run.js";
import type { ExecutionState } from "../types.js";
import { refusal } from "./order-check.js";
import type { OrderAnswer, OrderFacts, OrderRefusal, OwnTerms, ResolvedOrder, SingleOrderType } from "./order-desk.js";
import { lastAttempt, type SingleRun } from "./single-run.js";

const NOTIONAL_PLACES = 8;
/** A weighted average is finer than the tick. */
const EXTRA_AVERAGE_PLACES = 4;

/** The answer to the run as it is; null before anything was tried, or when nothing left this machine. */
export function answerOf(run: SingleRun, nowMs: number): OrderAnswer | null {
  const attempt = lastAttempt(run);
  if (attempt === null || attempt.outcome === "NOT_SENT") return null;
  if (attempt.outcome !== "REJECTED") return { ok: true, order: factsOfRun(run, attempt, nowMs), replayed: false };
  const { reason, venueText, venueClientOrderId } = attempt;
  const { venue: exchange, venueCode, clientOrderId } = run;
  return {
    ok: false,
    // A key that the venue does not take is the caller's to mend; an order that got lost on the way was refused by nobody.
    code:
      reason === "AUTH" ? "MISSING_CREDENTIALS" : reason === "NOT_PLACED" ? "FAILED_TO_PLACE_ORDER" : "VENUE_REJECTED",
    details: { exchange, reason, venueCode, venueText, clientOrderId, venueClientOrderId, orderRef: run.routeId },
    replayed: false,
  };
}

/** How an order ended that was reported as of unknown outcome. */
export function resolvedOrder(run: SingleRun, attempt: OrderAttempt, nowMs: number): ResolvedOrder {
  const order = attempt.outcome === "CONFIRMED" ? factsOfRun(run, attempt, nowMs) : null;
  return {
    orderRef: run.routeId,
    venue: run.venue,
    accountHash: attempt.accountHash ?? null,
    clientOrderId: run.clientOrderId,
    venueClientOrderId: attempt.venueClientOrderId,
    order,
    state: endState(order, (attempt.order?.filledLots ?? 0) > 0),
  };
}

function endState(order: OrderFacts | null, isFilled: boolean): ExecutionState {
  switch (order?.status) {
    case "FILLED":
      return "COMPLETED";
    case "OPEN":
    case "PARTIALLY_FILLED":
      return "RESTING";
    default:
      return order !== null && isFilled ? "PARTIAL" : "REJECTED";
  }
}

/** Our own limiter, breaker or check stopped it: no venue has seen it. */
export function unsentAnswer(run: SingleRun, attempt: OrderAttempt): OrderRefusal {
  const { reason, venueText } = attempt;
  const { venue: exchange, venueCode } = run;
  const { retryAfterMs } = attempt;
  const details = { exchange, reason, venueCode, what: venueText, venueText };
  return refusal(unsentCode(reason, venueCode), retryAfterMs === undefined ? details : { ...details, retryAfterMs });
}

function unsentCode(reason: string | null, venueCode: string | null): OrderRefusal["code"] {
  switch (reason) {
    case "TRADING_HALTED":
    case "RESTORED_STORE":
      return reason;
    case "RATE_LIMITED":
      return "VENUE_RATE_LIMITED";
    case "AUTH":
      return "MISSING_CREDENTIALS";
    case "PRICE":
    case "SIZE":
      return "INVALID_PARAMETERS";
    default:
      return isUnsupported(venueCode ?? "") ? "NOT_SUPPORTED" : "VENUE_UNAVAILABLE";
  }
}

/** How rooms say, unsent, that their venue has no such thing. */
export function isUnsupported(venueCode: string): boolean {
  return venueCode === "NOT_SUPPORTED" || venueCode === "POSITION_SIDE" || venueCode.startsWith("NO_");
}

export function factsOfRun(run: SingleRun, attempt: OrderAttempt, nowMs: number): OrderFacts {
  const { order } = attempt;
  const isKnown = order !== null && !isOfUnknownOutcome(attempt);
  const { priceDecimals, qtyDecimals, multiplierExp10 } = attempt;
  const fills = fillsOf(order, priceDecimals, qtyDecimals, multiplierExp10);
  return {
    venue: run.venue,
    symbol: run.symbol,
    nativeSymbol: attempt.nativeSymbol,
    outcome: isKnown ? "CONFIRMED" : "UNKNOWN",
    reason: isKnown ? null : (attempt.reason ?? "NO_ANSWER"),
    orderId: order === null || order.venueOrderId === "" ? null : order.venueOrderId,
    clientOrderId: run.clientOrderId,
    venueClientOrderId: attempt.venueClientOrderId,
    side: run.side,
    type: run.type,
    status: isKnown ? order.status : "UNKNOWN",
    venueStatus: order?.venueStatus ?? null,
    timeInForce: attempt.timeInForce,
    reduceOnly: run.reduceOnly,
    positionSide: run.positionSide,
    price: orderPrice(attempt),
    triggerPrice: run.trigger === null ? null : formatScaled(run.trigger.priceTicks, priceDecimals),
    quantity: formatScaled(submittedLots(attempt), qtyDecimals),
    ...fills,
    fee: order?.fee ?? null,
    tsVenueMs: order?.tsVenueMs || attempt.ackAtMs || attempt.sentAtMs || nowMs,
    sentAtMs: attempt.sentAtMs,
    ackAtMs: attempt.ackAtMs,
    adjustments: run.adjustments,
    venueOrder: order,
    native: {
      priceDecimals: priceDecimals - multiplierExp10,
      qtyDecimals: qtyDecimals + multiplierExp10,
      multiplierExp10,
    },
  };
}

/** Of an order that nothing is known of. */
export const NO_TERMS: OwnTerms = { clientOrderId: null, isMarket: false };

/** An order that was read from the venue. */
export function factsOfVenueOrder(instrument: Instrument, order: VenueOrder, own: OwnTerms): OrderFacts {
  const priceDecimals = canonicalPriceDecimals(instrument);
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const { multiplierExp10 } = instrument;
  return {
    venue: order.venue,
    symbol: instrument.symbol,
    nativeSymbol: order.nativeSymbol,
    outcome: "CONFIRMED",
    reason: null,
    orderId: order.venueOrderId === "" ? null : order.venueOrderId,
    clientOrderId: own.clientOrderId,
    venueClientOrderId: order.venueClientOrderId,
    side: order.side,
    type: own.isMarket ? "MARKET" : singleTypeOf(order),
    status: order.status,
    venueStatus: order.venueStatus,
    timeInForce: order.timeInForce ?? null,
    reduceOnly: order.reduceOnly,
    positionSide: "BOTH",
    price: formatScaled(order.priceTicks, priceDecimals),
    triggerPrice:
      order.triggerPrice === null ? null : canonicalPrice(order.triggerPrice, priceDecimals, multiplierExp10),
    quantity: formatScaled(order.qtyLots, qtyDecimals),
    ...fillsOf(order, priceDecimals, qtyDecimals, multiplierExp10),
    fee: order.fee,
    tsVenueMs: order.tsVenueMs,
    sentAtMs: null,
    ackAtMs: null,
    adjustments: [],
    venueOrder: order,
    native: { priceDecimals: instrument.priceDecimals, qtyDecimals: instrument.qtyDecimals, multiplierExp10 },
  };
}

/** The contract a venue's order is of, by the venue's own name for it. */
export function instrumentOf(
  markets: ReadonlyMap<string, { readonly instrument: Instrument }>,
  nativeSymbol: string,
): Instrument | null {
  for (const { instrument } of markets.values()) if (instrument.nativeSymbol === nativeSymbol) return instrument;
  return null;
}

/** What the domain calls it: TAKE_PROFIT_* are STOP_* there; the trigger's kind is the difference. */
export function domainOrderType(type: SingleOrderType): OrderType {
  switch (type) {
    case "TAKE_PROFIT_MARKET":
      return "STOP_MARKET";
    case "TAKE_PROFIT_LIMIT":
      return "STOP_LIMIT";
    default:
      return type;
  }
}

function singleTypeOf({ type, triggerKind }: VenueOrder): SingleOrderType {
  if (triggerKind !== "TAKE_PROFIT") return type;
  return type === "STOP_LIMIT" ? "TAKE_PROFIT_LIMIT" : type === "STOP_MARKET" ? "TAKE_PROFIT_MARKET" : type;
}

function fillsOf(
  order: VenueOrder | null,
  priceDecimals: number,
  qtyDecimals: number,
  multiplierExp10: number,
): Pick<OrderFacts, "filledQuantity" | "averagePrice" | "filledNotional"> {
  const filledLots = order?.filledLots ?? 0;
  const native = order?.averagePrice ?? null;
  const filledQuantity = formatScaled(filledLots, qtyDecimals);
  if (filledLots === 0 || native === null || !isPlainDecimal(native)) {
    return { filledQuantity, averagePrice: null, filledNotional: "0" };
  }
  const average = canonical(native, multiplierExp10);
  const notional = multiplyRatio(average, ratioFromScaled(filledLots, qtyDecimals));
  return {
    filledQuantity,
    averagePrice: priceText(average, priceDecimals),
    filledNotional: formatRatio(notional, NOTIONAL_PLACES, "halfUp"),
  };
}

function canonicalPrice(native: string, priceDecimals: number, multiplierExp10: number): string | null {
  return isPlainDecimal(native) ? priceText(canonical(native, multiplierExp10), priceDecimals) : null;
}

/** One contract is 10^multiplierExp10 units. */
function canonical(native: string, multiplierExp10: number): Ratio {
  return multiplyRatio(ratioFromText(native), ratioFromScaled(1, multiplierExp10));
}

function priceText(value: Ratio, priceDecimals: number): string {
  return formatRatio(value, Math.max(0, priceDecimals) + EXTRA_AVERAGE_PLACES, "halfUp");
}
