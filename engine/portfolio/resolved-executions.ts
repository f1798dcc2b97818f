/**
 * The portfolio's source for the end of an order of unknown outcome that was found after the reply. The sender of the
 * order reports it; the portfolio passes each one only to the accounts it belongs to.
 */
import type { RoutableVenue } from "../domain/venue.js";
import type { ResolvedTrade } from "../orders/conclude/trade-conclusion.js";
import type { NormalizedOrder } from "../orders/types.js";

export interface ResolvedExecution {
  readonly routeId: string;
  /** The accounts of these orders. */
  readonly accounts: ResolvedTrade["accounts"];
  readonly exchange: RoutableVenue;
  /** In the interface's form; null if it was never placed. */
  readonly order: NormalizedOrder | null;
  /** The outcome of the whole execution (`COMPLETED`, `PARTIAL`, `REJECTED`, …). */
  readonly state: string;
  /** For a single order: the names in its reply, also where it was never placed. */
  readonly names?: { readonly clientOrderId: string | null; readonly venueClientOrderId: string };
}

export interface ResolvedExecutions {
  /** Returns the function that ends the subscription. */
  listen(listener: (execution: ResolvedExecution) => void): () => void;
}

/** For a service that sends no orders. */
export const NO_RESOLVED_EXECUTIONS: ResolvedExecutions = { listen: () => () => {} };

/** The resolved executions of the trade service. */
export function resolvedTrades(service: {
  onResolved(listener: (resolved: ResolvedTrade) => void): () => void;
}): ResolvedExecutions {
  return {
    listen: (listener) =>
      service.onResolved(({ routeId, data, accounts }) => {
        const exchange = data.order?.exchange ?? accounts[0]?.venue;
        // Without a venue it belongs to no account.
        if (exchange === undefined) return;
        const { order, execution } = data;
        listener({ routeId, accounts, exchange, order, state: execution.state });
      }),
  };
}
