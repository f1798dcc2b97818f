/** The close service in the form the routes need. */
import type { CloseService } from "../engine/orders/close-service.js";
import type { StateStore } from "../engine/storage/state-store.js";
import type { CloseDesk } from "./ports.js";

export function createCloseDesk(service: CloseService, store: StateStore): CloseDesk {
  return {
    close: (request, context) => service.close(request, context),
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
