/**
 * Fields of the interface spec that the order itself decides: optional, and refused when they contradict the order.
 * Pure.
 */
import type { OrderType } from "../../engine/domain/order.js";
import { invalidParameters } from "../http/query.js";

/** Throws INVALID_PARAMETERS for another time in force than the one that is sent. */
export function checkTimeInForce(orderType: OrderType, timeInForce: string | null | undefined): void {
  const sent = orderType === "MARKET" ? "IOC" : "GTC";
  if (timeInForce !== null && timeInForce !== undefined && timeInForce !== sent)
    throw invalidParameters({ path: "timeInForce", problem: `must be ${sent} for a ${orderType} order` });
}

/** Throws INVALID_PARAMETERS for a close that is not reduce-only. */
export function checkReduceOnly(reduceOnly: boolean | null | undefined): void {
  if (reduceOnly === false) throw invalidParameters({ path: "reduceOnly", problem: "must not be false: this closes" });
}
