/**
 * Where the portfolio hears that an order of unknown outcome found its end after the reply. Whoever sends orders tells it;
 * the portfolio hands each one to the accounts it belongs to and to nobody else.
 */
import type { RoutableVenue } from "../domain/venue.js";
import type { ResolvedTrade } from "../orders/conclude/trade-conclusion.js";
import type { NormalizedOrder } from "../orders/types.js";

export interface ResolvedExecution {
  readonly routeId: string;
  /** Whose orders these are. */
  readonly accounts: ResolvedTrade["accounts"];
  readonly exchange: RoutableVenue;
  /** As the interface shows orders; null: it was never placed. */
  readonly order: NormalizedOrder | null;
  /** The outcome of the whole execution (`COMPLETED`, `PARTIAL`, `REJECTED`, …). */
  readonly state: string;
  /** Of a single order: what its reply called it, also where it was never placed. */
  readonly names?: { readonly clientOrderId: string | null; readonly venueClientOrderId: string };
}

export interface ResolvedExecutions {
  /** Returns the function that ends it. */
  listen(listener: (execution: ResolvedExecution) => void): () => void;
}

/** For a service that sends no orders. */
export const NO_RESOLVED_EXECUTIONS: ResolvedExecutions = { listen: () => () => {} };

/** Those of the trade service. */
export function resolvedTrades(service: {
  onResolved(listener: (resolved: ResolvedTrade) => void): () => void;
}): ResolvedExecutions {
  return {
    listen: (listener) =>
      service.onResolved(({ routeId, data, accounts }) => {
        const exchange = data.order?.exchange ?? accounts[0]?.venue;
        // Without an account it is nobody's.
        if (exchange === undefined) return;
        const { order, execution } = data;
        listener({ routeId, accounts, exchange, order, state: execution.state });
      }),
  };
}
