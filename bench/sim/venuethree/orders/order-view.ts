/** Orders of an account as the venue prints them (fact sheet 3.2, 6.1). Key order as recorded. */
import { moneyText, priceText, qtyText } from "../../core/model/fixed.js";
import { heightAt, microseconds } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import { isPending, type VenueOrder } from "./orders.js";

const TYPES = [
  "limit",
  "market",
  "stop-loss",
  "stop-loss-limit",
  "take-profit",
  "take-profit-limit",
  "twap",
  "twap-sub",
  "liquidation",
] as const;
const TIMES_IN_FORCE = ["immediate-or-cancel", "good-till-time", "post-only"] as const;

/** Integrator fields are empty in snapshots and answers, and zero in updates of the same order (live). */
export function printOrder(order: VenueOrder, isUpdate: boolean): Row {
  const { fields, core, market, index } = order;
  const { instrument } = market;
  const filledLots = core?.filledLots ?? 0;
  const initialLots = core?.requestedLots ?? fields.baseAmount;
  const remainingLots = order.state === "ended" ? 0 : Math.max(0, (core?.qtyLots ?? fields.baseAmount) - filledLots);
  const integrator = isUpdate ? "0" : "";
  const seconds = (ms: number): number => Math.floor(ms / 1000);
  return {
    order_index: index,
    client_order_index: fields.clientOrderIndex,
    order_id: String(index),
    client_order_id: String(fields.clientOrderIndex),
    market_index: market.marketId,
    owner_account_index: order.account.index,
    initial_base_amount: qtyText(instrument, initialLots),
    price: priceText(instrument, fields.price),
    nonce: order.running,
    remaining_base_amount: qtyText(instrument, remainingLots),
    is_ask: fields.isAsk === 1,
    base_size: remainingLots,
    base_price: fields.price,
    filled_base_amount: qtyText(instrument, filledLots),
    filled_quote_amount: moneyText(core?.filledNotionalE12 ?? 0n, 6),
    side: "",
    type: TYPES[fields.type] ?? "limit",
    time_in_force: TIMES_IN_FORCE[fields.timeInForce] ?? "Unknown",
    reduce_only: fields.reduceOnly === 1,
    trigger_price: priceText(instrument, fields.triggerPrice),
    order_expiry: fields.orderExpiry,
    status: statusOf(order),
    trigger_status: triggerStatusOf(order),
    trigger_time: order.triggeredMs,
    parent_order_index: order.parent?.index ?? 0,
    parent_order_id: String(order.parent?.index ?? 0),
    to_trigger_order_id_0: String(order.children[0]?.index ?? 0),
    to_trigger_order_id_1: String(order.children[1]?.index ?? 0),
    to_cancel_order_id_0: String(order.sibling?.index ?? 0),
    integrator_fee_collector_index: integrator,
    integrator_taker_fee: integrator,
    integrator_maker_fee: integrator,
    order_flags: 0,
    block_height: heightAt(order.updatedMs),
    timestamp: seconds(order.createdMs),
    created_at: seconds(order.createdMs),
    updated_at: seconds(order.updatedMs),
    transaction_time: microseconds(order.updatedMs, order.changeCount),
  };
}

export function statusOf(order: VenueOrder): string {
  if (order.endStatus !== null) return order.endStatus;
  return isPending(order) ? "pending" : "open";
}

function triggerStatusOf(order: VenueOrder): string {
  if (order.fields.triggerPrice === 0) return "na";
  if (order.state === "waiting" && order.parent !== null) return "parent-order";
  return order.triggeredMs > 0 ? "ready" : "mark-price";
}

/** How the core's end of an order is called here. */
export function endStatusOf(order: VenueOrder): string {
  const { core, fields } = order;
  if (core === null) return "canceled";
  if (core.status === "FILLED") return "filled";
  switch (core.endReason) {
    case "POST_ONLY":
      return "canceled-post-only";
    case "REDUCE_ONLY":
      return "canceled-reduce-only";
    case "SELF_TRADE":
      return "canceled-self-trade";
    case "LIQUIDATION":
      return "canceled-liquidation";
    case "MARGIN":
      return "canceled-margin-not-allowed";
    case "EXPIRED":
      return "canceled-expired";
    case "OCO":
      return "canceled-oco";
    case "CHILD":
      return "canceled-child";
    case "BAND":
      return "canceled-too-much-slippage";
    case "NO_LIQUIDITY":
      return "canceled-not-enough-liquidity";
    case "IOC":
      return fields.type === 1 ? "canceled-not-enough-liquidity" : "canceled";
    default:
      return "canceled";
  }
}
