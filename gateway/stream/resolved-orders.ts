/**
 * Resolved single orders of unknown outcome, in the form in which the stream reports executions: to the account that
 * sent them.
 */
import type { OrderDesk } from "../../engine/orders/single/order-desk.js";
import type { ResolvedExecutions } from "../../engine/portfolio/resolved-executions.js";
import { normalizedOrder } from "../accounts/order-views.js";

/** The resolved orders of the desk for single orders. */
export function resolvedOrders(desk: Pick<OrderDesk, "onResolved">): ResolvedExecutions {
  return {
    listen: (listener) =>
      desk.onResolved(({ orderRef, venue, accountHash, clientOrderId, venueClientOrderId, order, state }) => {
        // Without an account it belongs to no caller.
        if (accountHash === null) return;
        listener({
          routeId: orderRef,
          accounts: [{ venue, accountHash }],
          exchange: venue,
          order: order === null ? null : normalizedOrder(order),
          state,
          names: { clientOrderId, venueClientOrderId },
        });
      }),
  };
}

/** Combines several services. */
export function allResolved(sources: readonly ResolvedExecutions[]): ResolvedExecutions {
  return {
    listen(listener) {
      const ends = sources.map((source) => source.listen(listener));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
