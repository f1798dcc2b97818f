/**
 * Orders of the desk → the forms of interface spec 2.2 and 2.7. Pure.
 *
 * An order of unknown outcome has no venue id yet: the client id, by which it can be looked up, is shown instead.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { formatRatio, ratioFromText, subtractRatio } from "../../engine/domain/decimal-ratio.js";
import type { TimeInForce } from "../../engine/domain/order.js";
import type { NormalizedOrder } from "../../engine/orders/types.js";
import type { CloseLeg, OrderFacts, SingleOrderType } from "../../engine/orders/single/order-desk.js";
import { domainOrderType } from "../../engine/orders/single/order-facts.js";
import type { CloseItem, OrderRecord, NativeOrder } from "../../schemas/venue-orders.js";
import { scrub } from "../../engine/domain/scrub.js";
import { scaleText } from "../../engine/domain/decimal.js";

export function normalizedOrder(order: OrderFacts): NormalizedOrder {
  return {
    orderId: orderIdText(order),
    symbol: order.symbol,
    side: order.side,
    type: domainOrderType(order.type),
    status: order.status,
    price: order.price,
    quantity: order.quantity,
    filledQuantity: order.filledQuantity,
    averagePrice: order.averagePrice,
    timestamp: order.tsVenueMs,
    exchange: order.venue,
    clientOrderId: order.clientOrderId,
    venueClientOrderId: order.venueClientOrderId,
    reduceOnly: order.reduceOnly,
    triggerPrice: order.triggerPrice,
    ...(order.triggerPrice === null ? {} : { triggerKind: order.venueOrder?.triggerKind ?? kindOf(order.type) }),
  };
}

/** The venue's id, or the client id while that is not known. */
export function orderIdText(order: OrderFacts): string {
  return order.orderId ?? order.venueClientOrderId ?? order.clientOrderId ?? "";
}

export function orderRecord(order: OrderFacts): OrderRecord {
  return {
    ...normalizedOrder(order),
    nativeSymbol: order.nativeSymbol,
    venueStatus: scrub(order.venueStatus ?? order.status),
    venueTimestamp: order.tsVenueMs,
    remainingQuantity: remaining(order.quantity, order.filledQuantity),
    ...(order.timeInForce === null ? {} : { timeInForce: order.timeInForce }),
  };
}

/** Sizes have at most as many decimals as the venue's lots. */
const SIZE_PLACES = 24;

function remaining(quantity: string, filled: string): string {
  return formatRatio(subtractRatio(ratioFromText(quantity), ratioFromText(filled)), SIZE_PLACES, "floor");
}

function kindOf(type: SingleOrderType): "STOP" | "TAKE_PROFIT" {
  return type.startsWith("TAKE_PROFIT") ? "TAKE_PROFIT" : "STOP";
}

/** The words of the one venue whose own form of an order the interface shows (its API reference). */
const NATIVE_TYPE: Readonly<Record<SingleOrderType, string>> = {
  MARKET: "MARKET",
  LIMIT: "LIMIT",
  STOP_MARKET: "STOP_MARKET",
  STOP_LIMIT: "STOP",
  TAKE_PROFIT_MARKET: "TAKE_PROFIT_MARKET",
  TAKE_PROFIT_LIMIT: "TAKE_PROFIT",
};
const NATIVE_TIME_IN_FORCE: Readonly<Record<TimeInForce, string>> = {
  GTC: "GTC",
  IOC: "IOC",
  FOK: "FOK",
  POST_ONLY: "GTX",
};
const DIGITS = /^[0-9]{1,40}$/;

/** Spec 2.7, in the venue's own quoting. `workingType` is the requested one, which no reply of the venue repeats. */
export function nativeOrder(order: OrderFacts, workingType: string): NativeOrder {
  const { multiplierExp10 } = order.native;
  const price = (text: string | null): string => (text === null ? "0" : (scaleText(text, multiplierExp10) ?? "0"));
  const qty = (text: string): string => scaleText(text, -multiplierExp10) ?? "0";
  const orderId = order.orderId !== null && DIGITS.test(order.orderId) ? order.orderId : "0";
  const type = NATIVE_TYPE[order.type];
  return {
    orderId: BigInt(orderId),
    orderIdStr: orderId,
    symbol: order.nativeSymbol,
    status: order.outcome === "UNKNOWN" ? "UNKNOWN" : scrub(order.venueStatus ?? order.status),
    clientOrderId: order.clientOrderId ?? order.venueClientOrderId ?? "",
    venueClientOrderId: order.venueClientOrderId ?? "",
    price: price(order.price),
    avgPrice: price(order.averagePrice),
    origQty: qty(order.quantity),
    executedQty: qty(order.filledQuantity),
    cumQty: qty(order.filledQuantity),
    // Contracts and their price change by the same factor, so their product is unchanged.
    cumQuote: order.filledNotional,
    timeInForce: NATIVE_TIME_IN_FORCE[order.timeInForce ?? (order.type === "MARKET" ? "IOC" : "GTC")],
    type,
    reduceOnly: order.reduceOnly,
    closePosition: false,
    side: order.side,
    positionSide: order.positionSide,
    stopPrice: price(order.triggerPrice),
    workingType,
    priceProtect: false,
    origType: type,
    updateTime: order.tsVenueMs,
  };
}

function messageOf({ error, note }: CloseLeg, venueText: unknown): { readonly message?: string } {
  if (typeof venueText === "string") return { message: scrub(venueText) };
  if (error?.code === "POSITION_UNLISTED")
    return { message: scrub(new ServiceError(error.code, error.details).message) };
  return note === null ? {} : { message: note };
}

/** A leg of a close-all. A position that was flat when its order arrived counts as closed; a resting limit does not. */
export function closeItem(leg: CloseLeg): CloseItem {
  const { order, error } = leg;
  const text = error === null ? undefined : error.details["venueText"];
  return {
    symbol: leg.symbol,
    status: leg.status === "RESTING" ? "PARTIAL" : leg.status,
    orderId: order === null ? "" : orderIdText(order),
    exchange: leg.venue,
    direction: leg.direction,
    size: leg.requestedSize,
    filledSize: leg.filledSize,
    ...(leg.worstPrice === undefined ? {} : { worstPrice: leg.worstPrice }),
    ...(order?.averagePrice == null ? {} : { averagePrice: order.averagePrice }),
    ...(error === null ? {} : { code: error.code }),
    ...messageOf(leg, text),
  };
}
