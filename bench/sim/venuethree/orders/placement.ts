/** An order of this venue as the core takes it. Types: market, limit and both kinds of triggers at market or limit. */
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimOrder, SimOrderRequest, SimRefusal, SimResult } from "../../core/model/types.js";
import type { TransactionCode } from "../wire/errors.js";
import { isPositionTied, type TradingMarket, type VenueOrder } from "./orders.js";
import type { OrderFields } from "../wire/transaction.js";
import { ORDER_TYPE, TIME_IN_FORCE } from "../wire/transaction-rules.js";

const CORE_TIME_IN_FORCE = ["IOC", "GTC", "POST_ONLY"] as const;

export function isConditional({ type }: Pick<OrderFields, "type">): boolean {
  return type >= ORDER_TYPE.stopLoss && type <= ORDER_TYPE.takeProfitLimit;
}

/** Rests when it does not trade at once. */
export function mayRest(fields: OrderFields): boolean {
  return isConditional(fields) || fields.timeInForce !== TIME_IN_FORCE.immediateOrCancel;
}

function isAtMarket({ type }: OrderFields): boolean {
  return type === ORDER_TYPE.market || type === ORDER_TYPE.stopLoss || type === ORDER_TYPE.takeProfit;
}

/** Signed lots that an account holds. */
export function positionLots(exchange: SimExchange, accountId: string, symbol: string): number {
  return exchange.accounts.position(accountId, symbol, "BOTH")?.qtyLots ?? 0;
}

/** A base amount of zero closes the whole position: now, or when the trigger fires. */
export function requestOf(
  exchange: SimExchange,
  accountId: string,
  market: TradingMarket,
  fields: OrderFields,
  tag: VenueOrder | null,
): SimOrderRequest {
  const conditional = isConditional(fields);
  const closesAll = fields.baseAmount === 0;
  const held = Math.abs(positionLots(exchange, accountId, market.symbol));
  const isStop = fields.type === ORDER_TYPE.stopLoss || fields.type === ORDER_TYPE.stopLossLimit;
  return {
    symbol: market.symbol,
    side: fields.isAsk === 1 ? "SELL" : "BUY",
    type: isAtMarket(fields) ? "MARKET" : "LIMIT",
    timeInForce: CORE_TIME_IN_FORCE[fields.timeInForce] ?? "IOC",
    priceTicks: fields.price,
    qtyLots: !closesAll ? fields.baseAmount : conditional ? 0 : held,
    reduceOnly: fields.reduceOnly === 1,
    positionSide: "BOTH",
    clientId: fields.clientOrderIndex === 0 ? null : String(fields.clientOrderIndex),
    trigger: conditional
      ? {
          kind: isStop ? "STOP" : "TAKE_PROFIT",
          triggerTicks: fields.triggerPrice,
          source: "MARK",
          activationTicks: null,
          callbackPpm: 0,
        }
      : null,
    closePosition: conditional && closesAll,
    ...(tag === null ? {} : { tag }),
  };
}

export function launch(exchange: SimExchange, order: VenueOrder): SimResult<SimOrder> {
  const { account, market, fields } = order;
  return exchange.orders.place(account.id, requestOf(exchange, account.id, market, fields, order));
}

/** The core's reason in the sequencer's words; margin is reported by the order's status instead. */
export function codeOf(reason: SimRefusal): TransactionCode {
  switch (reason) {
    case "HALTED":
    case "UNKNOWN_SYMBOL":
      return 21605;
    case "BAD_QTY":
      return 21701;
    case "BAD_PRICE":
      return 21702;
    case "DUPLICATE_CLIENT_ID":
      return 21728;
    case "TOO_MANY_ORDERS":
      return 21717;
    case "REDUCE_ONLY":
      return 21740;
    case "MARGIN":
      return 21739;
    default:
      return 21743;
  }
}

/** Open conditional orders without a purpose once the position is closed. */
export function tiedOrders(open: readonly VenueOrder[], symbol: string): readonly VenueOrder[] {
  return open.filter(
    (order) => order.state === "live" && order.market.symbol === symbol && isPositionTied(order) && order.core !== null,
  );
}
