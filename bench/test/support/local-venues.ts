/**
 * Local venues in this process: one seed, one price model, one clock. local-pair.ts, local-markets.ts and
 * four-venues.ts add traders and markets.
 */
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { WorldUrls } from "../../sim/chain/faucet.js";
import { createFactorModel } from "../../sim/core/market/factor-model.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { FaultInjector } from "../../sim/core/server/faults.js";
import type { FlowOptions } from "../../sim/core/engine/flow.js";
import type { VenuefourLimits } from "../../sim/venuefour/wire/options.js";
import { startVenuefourSim, type VenuefourSim } from "../../sim/venuefour/sim.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import type { VenuethreeLimits } from "../../sim/venuethree/records/options.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "../../sim/venuetwo/sim.js";

export interface LocalVenues {
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  readonly venuethree: VenuethreeSim;
  readonly venuefour: VenuefourSim;
}

export interface LocalVenuesOptions {
  readonly seed: number;
  /** Canonical. */
  readonly symbols: readonly string[];
  readonly clock?: Clock;
  /** Scale of venueone's push intervals; default 0.1. */
  readonly cadenceScale?: number;
  readonly flow?: Partial<FlowOptions>;
  /** Of the local world, for deposits and withdrawals; default: the venues have no chains. */
  readonly chains?: { readonly rpcUrls: WorldUrls; readonly confirmations?: number };
  /** Requests that venueone grants an address before it has traded; default: no limit. */
  readonly addressRequests?: number;
  /** Limits of venuethree; its reads have none unless named. */
  readonly venuethreeLimits?: Partial<VenuethreeLimits>;
  /** Limits of venuefour; an address has none unless named. */
  readonly venuefourLimits?: Partial<VenuefourLimits>;
}

export const NO_LIMIT = 1_000_000_000;

const ENTRY_PRICE: Readonly<Record<string, string>> = { BTC: "91000", ETH: "3200", SOL: "135" };

/** Returns a price near the model's, so that no account starts liquidated. */
export function entryPrice(symbol: string): string {
  return ENTRY_PRICE[symbol] ?? "1";
}

/** The venue's own name of a canonical symbol; only venuetwo's differs. */
export function nativeName(venue: RoutableVenue, symbol: string): string {
  return venue === "venuetwo" ? `${symbol}USDT` : symbol;
}

/** Starts the venues named, without a limit on requests. Each venue's seed follows from its place among the four. */
export async function startLocalVenues<V extends RoutableVenue>(
  names: readonly V[],
  options: LocalVenuesOptions,
): Promise<Pick<LocalVenues, V>> {
  const { seed, symbols, clock = createSystemClock(), flow } = options;
  const priceSource = createFactorModel({ seed, startMs: clock.wallMs() });
  const common = (venue: RoutableVenue) => ({
    seed: seed + ROUTABLE_VENUES.indexOf(venue),
    clock,
    priceSource,
    symbols: symbols.map((symbol) => nativeName(venue, symbol)),
    ...(flow === undefined ? {} : { flow }),
    ...(options.chains === undefined ? {} : { chains: options.chains }),
  });
  const starts = {
    venueone: () =>
      startVenueoneSim({
        ...common("venueone"),
        cadenceScale: options.cadenceScale ?? 0.1,
        limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: options.addressRequests ?? NO_LIMIT },
      }),
    venuetwo: () =>
      startVenuetwoSim({
        ...common("venuetwo"),
        limits: { weightPerMinute: NO_LIMIT, ordersPerMinute: NO_LIMIT, ordersPer10s: NO_LIMIT },
      }),
    venuethree: () =>
      startVenuethreeSim({
        ...common("venuethree"),
        limits: { readsPerMinute: NO_LIMIT, ...options.venuethreeLimits },
      }),
    venuefour: () =>
      startVenuefourSim({
        ...common("venuefour"),
        limits: { creditsPerMinute: NO_LIMIT, ...options.venuefourLimits },
      }),
  };
  const started = await Promise.all(names.map(async (name) => [name, await starts[name]()] as const));
  return Object.fromEntries(started) as Pick<LocalVenues, V>;
}

/** Adds the faults to the venues named; the returned function ends them. */
export function addFaults<V extends string>(
  sims: Readonly<Record<V, { readonly faults: FaultInjector }>>,
  venues: readonly V[],
  specs: readonly FaultSpec[],
): () => void {
  const added = venues.flatMap((venue) => specs.map((spec) => ({ venue, id: sims[venue].faults.add(spec).id })));
  return () => {
    for (const { venue, id } of added) sims[venue].faults.remove(id);
  };
}

export async function stopVenues(sims: Partial<LocalVenues>): Promise<void> {
  await Promise.all(Object.values(sims).map((sim) => sim.stop()));
}
