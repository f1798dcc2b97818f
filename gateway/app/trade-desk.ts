/** Adapts the close service to the form that the routes need. */
import type { ListedOrder } from "../../engine/orders/listed-orders.js";
import type { SingleOrderService } from "../../engine/orders/single/single-order-service.js";
import type { TradeService } from "../../engine/orders/request/service.js";
import type { Instance } from "../../engine/storage/instance/instance.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import type { UnknownOrderRow } from "../../schemas/service.js";
import type { OrderRows, TradeDesk } from "../api/ports.js";

/** `singleOrders`: lists its orders in the status beside those of the trades. */
export function createTradeDesk(
  service: TradeService,
  store: StateStore,
  singleOrders?: Pick<SingleOrderService, "status">,
  instance?: Pick<Instance, "restored">,
): TradeDesk {
  return {
    trade: (request, context) => service.tradeAtOnce(request, context) ?? service.trade(request, context),
    quote: (request, ownerId) => service.quote(request, ownerId),
    execution: (routeId, asker) => service.execution(routeId, asker),
    askExecution: (routeId, credentials, asker) => service.askExecution(routeId, credentials, asker),
    unknownOrders(limit, asker): OrderRows {
      const trades = service.status(asker);
      const single = singleOrders?.status(asker);
      const count = trades.unknownCount + (single?.unknownCount ?? 0);
      return { count, orders: oldest(trades.unknown, single?.unknown ?? [], limit) };
    },
    openOrders(limit, asker): OrderRows {
      const trades = service.status(asker);
      const open = singleOrders?.status(asker).open ?? [];
      return { count: trades.openCount + open.length, orders: oldest(trades.open, open, limit) };
    },
    followed(asker) {
      const trades = service.status(asker);
      const single = singleOrders?.status(asker);
      return {
        count: trades.followedCount + (single?.followedCount ?? 0),
        unattendedCount: trades.unattendedCount + (single?.unattendedCount ?? 0),
      };
    },
    storeStatus: () => ({ ...store.status(), restored: instance?.restored ?? null }),
  };
}

function oldest(trades: readonly ListedOrder[], single: readonly ListedOrder[], limit: number): UnknownOrderRow[] {
  return [...trades, ...single]
    .sort((left, right) => left.sinceMs - right.sinceMs)
    .slice(0, limit)
    .map((one) => ({
      routeId: one.routeId,
      exchange: one.venue,
      symbol: one.symbol,
      venueClientOrderId: one.venueClientOrderId,
      sentAt: one.sinceMs,
      fromEarlierStart: one.fromEarlierStart,
    }));
}
