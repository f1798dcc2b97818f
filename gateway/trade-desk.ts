/** The close service in the form the routes need. */
import type { TradeService } from "../engine/orders/trade-service.js";
import type { StateStore } from "../engine/storage/state-store.js";
import type { TradeDesk } from "./ports.js";

export function createTradeDesk(service: TradeService, store: StateStore): TradeDesk {
  return {
    trade: (request, context) => service.tradeAtOnce(request, context) ?? service.trade(request, context),
    quote: (request) => service.quote(request),
    execution: (routeId) => service.execution(routeId),
    askExecution: (routeId, credentials) => service.askExecution(routeId, credentials),
    unknownOrders(limit) {
      const { unknownCount, unknown } = service.status();
      const orders = unknown.slice(0, limit).map((one) => ({
        routeId: one.routeId,
        exchange: one.venue,
        symbol: one.symbol,
        venueClientOrderId: one.venueClientOrderId,
        sentAt: one.sinceMs,
        fromEarlierStart: one.fromEarlierStart,
      }));
      return { count: unknownCount, orders };
    },
    storeReady() {
      const { writable, problem, pendingBatchCount } = store.status();
      return {
        ready: writable,
        detail: writable ? `${pendingBatchCount} batches pending` : `not writable: ${problem ?? "unknown"}`,
      };
    },
  };
}
