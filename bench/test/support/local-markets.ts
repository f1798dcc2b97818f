/**
 * The four local venues in this process on one price model, for tests of market data: their own books are the truth.
 * No accounts; local-pair.ts has those.
 */
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import { createFactorModel } from "../../sim/core/factor-model.js";
import type { ListingChange } from "../../sim/core/listing-change.js";
import type { FaultInjector } from "../../sim/core/faults.js";
import type { FaultSpec } from "../../sim/core/fault-types.js";
import type { FlowOptions } from "../../sim/core/flow.js";
import type { SimExchange } from "../../sim/core/exchange.js";
import type { SimShell } from "../../sim/core/shell.js";
import { startVenuefourSim, type VenuefourSim } from "../../sim/venuefour/sim.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "../../sim/venuetwo/sim.js";

export interface LocalMarkets extends LocalVenues {
  /** Adds the same fault to the venues named; the function returned ends it there. */
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
