/**
 * The four local venues in this process on one price model, for tests of market data: their own books are the truth.
 * They have no accounts; local-pair.ts has some.
 */
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import { addFaults, type LocalVenues, type LocalVenuesOptions, startLocalVenues, stopVenues } from "./local-venues.js";

export interface LocalMarkets extends LocalVenues {
  /** Adds the same fault to the venues named; the returned function ends it there. */
  fault(venues: readonly RoutableVenue[], ...specs: readonly FaultSpec[]): () => void;
  stop(): Promise<void>;
}

export async function startLocalMarkets(options: LocalVenuesOptions): Promise<LocalMarkets> {
  const sims = await startLocalVenues(ROUTABLE_VENUES, options);
  return {
    ...sims,
    fault: (venues, ...specs) => addFaults(sims, venues, specs),
    stop: () => stopVenues(sims),
  };
}
