/**
 * Order commands → signed operations of venuefour, and what must hold before anything is signed: a wrong number here is
 * a fault of ours, and must not leave. Pure.
 */
import { formatScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderChange, OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import type { OrderRef } from "../../../engine/ports.js";
import { localReject, type RejectedOrder } from "../../shared/net/call-results.js";
import { commandProblem, type CommandRules, isPositive, POSITIVE } from "../../shared/orders/check-command.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import { uuidOf } from "../account/client-id.js";
import type { OperationType, SignedFields } from "../sign/sign.js";

export interface OrderOperation {
  readonly type: OperationType;
  readonly payload: SignedFields;
}

/** A market order goes out as an IOC limit: its worst price is exact, where the venue's own takes a percentage. */
export function orderOperation(command: OrderCommand): OrderOperation {
  const { instrument, trigger } = command;
  const symbol = instrument.nativeSymbol;
  const side = sideWord(command.side);
  const amount = formatScaled(command.qtyLots, instrument.qtyDecimals);
  const price = formatScaled(command.priceTicks, instrument.priceDecimals);
  const clientId = uuidOf(command.clientIdHex);
  if (trigger === undefined) {
    const tif = command.timeInForce === "POST_ONLY" ? "ALO" : command.timeInForce;
    return {
      type: "create_order",
      payload: {
        symbol,
        price,
        amount,
        side,
        tif: command.type === "MARKET" ? "IOC" : tif,
        reduce_only: command.reduceOnly,
        client_order_id: clientId,
      },
    };
  }
  const stop = {
    stop_price: formatScaled(trigger.priceTicks, instrument.priceDecimals),
    amount,
    client_order_id: clientId,
    ...(command.type === "LIMIT" ? { limit_price: price } : {}),
  };
  // The position's own protection is the one place where the venue has a take-profit.
  if (trigger.kind === "TAKE_PROFIT")
    return { type: "set_position_tpsl", payload: { symbol, side, take_profit: stop } };
  return {
    type: "create_stop_order",
    payload: {
      symbol,
      side,
      reduce_only: command.reduceOnly,
      stop_order: { ...stop, trigger_price_type: trigger.source === "MARK" ? "mark_price" : "last_trade_price" },
    },
  };
}

const RULES: CommandRules = {
  isOurs: ({ venue }) => venue === "venuefour",
  isPrice: (ticks, instrument) => isOnGrid(instrument, ticks),
  isSize: (lots, { qtyStepLots }) => isPositive(lots) && lots % qtyStepLots === 0,
  priceText: POSITIVE.priceText,
  sizeText: POSITIVE.sizeText,
  // A stop that fires at market has no price of its own.
  hasPrice: ({ trigger, type }) => trigger === undefined || type === "LIMIT",
  isOneWay: true,
};

export function orderProblem(command: OrderCommand): RejectedOrder | null {
  const { trigger } = command;
  const problem = commandProblem(command, RULES);
  if (problem !== null) return problem;
  if (trigger === undefined) {
    if (command.timeInForce === "FOK" && command.type === "LIMIT")
      return refuse("VENUE_STATE", "TIME_IN_FORCE", "this venue has no fill-or-kill orders");
    return null;
  }
  if (command.type === "LIMIT" && command.timeInForce !== "GTC")
    return refuse("VENUE_STATE", "TIME_IN_FORCE", "a stop with a limit rests until it is filled");
  if (trigger.kind === "TAKE_PROFIT" && !command.reduceOnly)
    return refuse("VENUE_STATE", "TAKE_PROFIT", "this venue takes profit of positions only: reduceOnly is needed");
  return null;
}

/** How this venue names an order; null for what cannot be one. */
export function orderKey(ref: OrderRef): SignedFields | null {
  if ("clientIdHex" in ref) return isClientIdHex(ref.clientIdHex) ? { client_order_id: uuidOf(ref.clientIdHex) } : null;
  // Signed as a number: an id beyond 2^53 would be another one.
  const id = Number(ref.venueOrderId);
  return /^\d{1,16}$/.test(ref.venueOrderId) && Number.isSafeInteger(id) ? { order_id: id } : null;
}

/**
 * An edit replaces the order by a new, post-only one of the amount named, so what has filled is taken off first. What
 * fills between that reading and the edit adds to it: the venue gives no way to say "in total".
 */
export function editOperation(
  instrument: Instrument,
  current: VenueOrder,
  change: OrderChange,
): OrderOperation | RejectedOrder {
  const key = orderKey({ venueOrderId: current.venueOrderId });
  if (key === null || current.nativeSymbol !== instrument.nativeSymbol)
    return refuse("NOT_FOUND", "BAD_REF", "not an order of this venue and instrument");
  if (current.type !== "LIMIT" || current.triggerPrice !== null)
    return refuse("VENUE_STATE", "NOT_AMENDABLE", "only limit orders can be changed at this venue");
  if (!isOnGrid(instrument, change.priceTicks))
    return refuse("PRICE", "PRICE", "price is not a positive number of ticks");
  const restLots = change.qtyLots - current.filledLots;
  if (!isPositive(restLots) || restLots % instrument.qtyStepLots !== 0)
    return refuse("SIZE", "SIZE", "size is not above what has filled, in lots");
  return {
    type: "edit_order",
    payload: {
      symbol: instrument.nativeSymbol,
      price: formatScaled(change.priceTicks, instrument.priceDecimals),
      amount: formatScaled(restLots, instrument.qtyDecimals),
      ...key,
    },
  };
}

function sideWord(side: "BUY" | "SELL"): "bid" | "ask" {
  return side === "BUY" ? "bid" : "ask";
}

function isOnGrid(instrument: Instrument, ticks: number): boolean {
  return isPositive(ticks) && ticks % instrument.priceStepTicks === 0;
}

function refuse(reason: RejectedOrder["reason"], venueCode: string, text: string): RejectedOrder {
  return localReject(reason, venueCode, text);
}
