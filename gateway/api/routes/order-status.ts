/** One order by the venue's id or a client id (interface spec 4.10), and the open orders of an account. */
import { ServiceError } from "../../../engine/domain/errors.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { openOrdersReplySchema, orderQuerySchema, orderStatusReplySchema } from "../../../schemas/account-reads.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { ACCOUNT_HEADERS, callerBlock, exchangeOf, tradingRoom } from "../../accounts/account-access.js";
import { orderRecord } from "../../accounts/order-views.js";
import { checkedQuery, jsonRoute } from "../../http/json-route.js";
import type { Route } from "../../http/route.js";
import { orderContext, symbolHint, type TradingContext } from "./order-desk-call.js";
import { refusalError } from "../../accounts/order-refusal.js";
import { checkOrderId } from "./order-id.js";

export function orderReadRoutes(context: TradingContext): Route[] {
  return [statusRoute(context), openRoute(context)];
}

function statusRoute(context: TradingContext): Route {
  const { clock, view, trading, closeDefaults } = context;
  const validate = compileValidator(orderQuerySchema);
  const serialise = compileSerialiser(orderStatusReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.orderStatus,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const venue = exchangeOf(ask.params["exchange"] ?? "", "read");
      const orderId = checkOrderId(ask.params["orderId"] ?? "");
      const query = checkedQuery(validate, ask.query);
      tradingRoom(view, venue);
      const credentials = await callerBlock(trading.wallets, ask, venue);
      const symbol = symbolHint(context, venue, query.symbol);
      const answer = await trading.orders.orderStatus(
        { venue, credentials, orderId, symbol, deadlineMs: closeDefaults.deadlineMs },
        orderContext(ask),
      );
      if (!answer.ok) throw statusError(refusalError(answer, venue), orderId);
      return { text: serialise({ success: true, data: orderRecord(answer.order), timestamp: clock.wallMs() }) };
    },
  });
}

/** Spec section 7: the text repeats the requested id, digit by digit. */
function statusError(error: ServiceError, orderId: string): ServiceError {
  return error.code === "ORDER_NOT_FOUND" ? new ServiceError("ORDER_NOT_FOUND", { ...error.context, orderId }) : error;
}

function openRoute(context: TradingContext): Route {
  const { clock, view, trading, closeDefaults } = context;
  const validate = compileValidator(orderQuerySchema);
  const serialise = compileSerialiser(openOrdersReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.openOrders,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const venue = exchangeOf(ask.params["exchange"] ?? "", "read");
      const query = checkedQuery(validate, ask.query);
      tradingRoom(view, venue);
      const credentials = await callerBlock(trading.wallets, ask, venue);
      const symbol = symbolHint(context, venue, query.symbol);
      const answer = await trading.orders.openOrders(
        { venue, credentials, symbol, deadlineMs: closeDefaults.deadlineMs },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, venue);
      const orders = answer.orders.map(orderRecord);
      const data = { orders, total: orders.length };
      return { text: serialise({ success: true, exchange: venue, data, timestamp: clock.wallMs() }) };
    },
  });
}
