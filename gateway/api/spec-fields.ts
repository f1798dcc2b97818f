/** Fields that the interface spec names and the order itself decides: they may be said, and must then say the same. Pure. */
import type { OrderType } from "../../engine/domain/order.js";
import { invalidParameters } from "../http/query.js";

/** Throws INVALID_PARAMETERS for another time in force than the one that is sent. */
export function checkTimeInForce(orderType: OrderType, timeInForce: string | null | undefined): void {
  const sent = orderType === "MARKET" ? "IOC" : "GTC";
  if (timeInForce !== null && timeInForce !== undefined && timeInForce !== sent)
    throw invalidParameters({ path: "timeInForce", problem: `must be ${sent} for a ${orderType} order` });
}

/** Throws INVALID_PARAMETERS where a close is asked for that may open. */
export function checkReduceOnly(reduceOnly: boolean | null | undefined): void {
  if (reduceOnly === false) throw invalidParameters({ path: "reduceOnly", problem: "must not be false: this closes" });
}
