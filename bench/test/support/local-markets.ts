/**
 * The four local venues in this process on one price model, for tests of market data: their own books are the truth.
 * No accounts; local-pair.ts has those.
 */
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import { createFactorModel } from "../../sim/core/market/factor-model.js";
import type { ListingChange } from "../../sim/core/engine/listing-change.js";
import type { FaultInjector } from "../../sim/core/server/faults.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { FlowOptions } from "../../sim/core/engine/flow.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import type { SimShell } from "../../sim/core/server/shell.js";
import { startVenuefourSim, type VenuefourSim } from "../../sim/venuefour/sim.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "../../sim/venuetwo/sim.js";

/** What the four local venues have in common. */
export interface MarketSim {
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly exchange: SimExchange;
  readonly faults: FaultInjector;
  readonly shell: SimShell;
  changeListing(symbol: string, change: ListingChange): Promise<void>;
}

export interface LocalMarkets extends Readonly<Record<RoutableVenue, MarketSim>> {
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  readonly venuethree: VenuethreeSim;
  readonly venuefour: VenuefourSim;
  /** Adds the same fault to the venues named; the function returned ends it there. */
  fault(venues: readonly RoutableVenue[], ...specs: readonly FaultSpec[]): () => void;
  stop(): Promise<void>;
}

export interface LocalMarketsOptions {
  readonly seed: number;
  /** Canonical. */
  readonly symbols: readonly string[];
  readonly clock?: Clock;
  /** Of venueone's push intervals; default 0.1. */
  readonly cadenceScale?: number;
  readonly flow?: Partial<FlowOptions>;
}

const NO_LIMIT = 1_000_000_000;

/** The venue's own name of a canonical symbol; only venuetwo's differs. */
export function nativeSymbol(venue: RoutableVenue, symbol: string): string {
  return venue === "venuetwo" ? `${symbol}USDT` : symbol;
}

export async function startLocalMarkets(options: LocalMarketsOptions): Promise<LocalMarkets> {
  const { seed, symbols, clock = createSystemClock(), cadenceScale = 0.1 } = options;
  const priceSource = createFactorModel({ seed, startMs: clock.wallMs() });
  const common = (venue: RoutableVenue, index: number) => ({
    seed: seed + index,
    clock,
    priceSource,
    symbols: symbols.map((symbol) => nativeSymbol(venue, symbol)),
    ...(options.flow === undefined ? {} : { flow: options.flow }),
  });
  const [venueone, venuetwo, venuethree, venuefour] = await Promise.all([
    startVenueoneSim({
      ...common("venueone", 0),
      cadenceScale,
      limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: NO_LIMIT },
    }),
    startVenuetwoSim({
      ...common("venuetwo", 1),
      limits: { weightPerMinute: NO_LIMIT, ordersPerMinute: NO_LIMIT, ordersPer10s: NO_LIMIT },
    }),
    startVenuethreeSim({ ...common("venuethree", 2), limits: { readsPerMinute: NO_LIMIT } }),
    startVenuefourSim({ ...common("venuefour", 3), limits: { creditsPerMinute: NO_LIMIT } }),
  ]);
  const sims = { venueone, venuetwo, venuethree, venuefour };
  return {
    ...sims,
    fault(venues, ...specs) {
      const added = venues.flatMap((venue) => specs.map((spec) => ({ venue, id: sims[venue].faults.add(spec).id })));
      return () => {
        for (const { venue, id } of added) sims[venue].faults.remove(id);
      };
    },
    async stop() {
      await Promise.all(ROUTABLE_VENUES.map((venue) => sims[venue].stop()));
    },
  };
}
