/**
 * Cancelling and modifying. Invariant: a refused modification does not change the old order; one that succeeds gives
 * the order a new id.
 */
import type { SimOrder } from "../../core/model/types.js";
import type { L1Action } from "../wire/actions.js";
import type { ModifyRequest, OrderRef, OrderRequest } from "../wire/order-request.js";
import {
  coreRequest,
  findItemError,
  logged,
  type OrderContext,
  type OrderStatusItem,
  placeOne,
  refusalText,
  statusOf,
} from "./place.js";
import { ITEM, perItem } from "../wire/texts.js";
import type { Venue, VenueAccount } from "../records/venue.js";

export type CancelStatusItem = "success" | { readonly error: string };

type CancelAction = Extract<L1Action, { type: "cancel" | "cancelByCloid" }>;

/** A filled, a cancelled and an invented order share one text. */
export function executeCancels(context: OrderContext, action: CancelAction): CancelStatusItem[] {
  if (action.type === "cancel") {
    return action.cancels.map((cancel) =>
      cancelOne(context, cancel.asset, context.venue.exchange.orders.find(cancel.oid), null),
    );
  }
  return action.cancels.map((cancel) => {
    const order = context.venue.exchange.orders.findByClientId(context.account.address, cancel.cloid);
    return cancelOne(context, cancel.asset, order, cancel.cloid);
  });
}

function cancelOne(
  context: OrderContext,
  asset: number,
  order: SimOrder | null,
  cloid: string | null,
): CancelStatusItem {
  const { venue, account } = context;
  const symbol = venue.universe.perps[asset]?.name ?? null;
  const index = venue.log.received({
    action: "cancel",
    signer: context.signer,
    accountId: account.address,
    symbol,
    clientId: cloid ?? order?.clientId ?? null,
    nonce: String(context.nonce),
  });
  const isOwn = order !== null && order.accountId === account.address && order.symbol === symbol;
  if (isOwn && venue.exchange.orders.cancel(account.address, order.orderId).ok) {
    venue.log.executed(index, order.orderId);
    return "success";
  }
  const error = perItem(ITEM.notOpen, asset);
  venue.log.refused(index, "NOT_OPEN", error);
  return { error };
}

/**
 * Returns null when the order to modify is not open. A success carries the status of the new order, under its new id.
 */
export function executeModify(
  context: OrderContext,
  modify: ModifyRequest,
  alwaysPlace: boolean,
): OrderStatusItem | null {
  const { venue, account } = context;
  const old = findOpen(venue, account, modify.ref);
  if (old === null) return null;
  const { order } = modify;
  if (!alwaysPlace && (order.trigger !== null || (order.tif !== "Alo" && order.tif !== "Gtc"))) {
    // A trigger order may still be moved as a trigger order.
    if (order.trigger === null || old.trigger === null) return { error: perItem(ITEM.modifyType, order.asset) };
  }
  // By default a Gtc replacement is forced to post-only.
  const forced: OrderRequest = !alwaysPlace && order.tif === "Gtc" ? { ...order, tif: "Alo" } : order;
  // Checked first, so that a refused replacement does not change the old order.
  const text = findItemError(context, forced, null);
  if (text !== null) {
    const error = perItem(text, order.asset);
    logged(context, order).refused("ITEM", error);
    return { error };
  }
  const probe = venue.exchange.orders.check(account.address, {
    ...coreRequest(context, forced, "na", null),
    clientId: null,
  });
  if (!probe.ok && probe.reason !== "MARGIN") {
    const error = refusalText(venue, forced, coreRequest(context, forced, "na", null), probe.reason);
    logged(context, order).refused(probe.reason, error);
    return { error };
  }
  venue.exchange.orders.cancel(account.address, old.orderId, "USER");
  return statusOf(context, order, placeOne(context, forced, "na", null));
}

function findOpen(venue: Venue, account: VenueAccount, ref: OrderRef): SimOrder | null {
  const { exchange } = venue;
  const order =
    typeof ref === "number" ? exchange.orders.find(ref) : exchange.orders.findByClientId(account.address, ref);
  if (order === null || order.accountId !== account.address) return null;
  return order.status === "NEW" || order.status === "PARTIALLY_FILLED" ? order : null;
}
