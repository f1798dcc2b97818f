/** The table of local venues, and all of them on one price model. On each the demo trader holds a long of BTC and a short of ETH. */
import { createSystemClock } from "../../engine/domain/clock.js";
import type { WorldUrls } from "./chain/faucet.js";
import { type ChainWorld, type ChainWorldOptions, startChainWorld } from "./chain/world.js";
import { createFactorModel } from "./core/market/factor-model.js";
import { DEMO_ADDRESS, type DemoOptions, type LocalVenue, type LocalVenueServer } from "./core/local-venue.js";
import { venuefour } from "./venuefour/demo.js";
import { type VenuefiveDemo, startVenuefiveDemo } from "./venuefive/demo.js";
import { venueone } from "./venueone/demo.js";
import { venuethree } from "./venuethree/demo.js";
import { venuetwo } from "./venuetwo/demo.js";

/** In the order of their seeds. */
export const LOCAL_VENUES = { venueone, venuetwo, venuethree, venuefour } satisfies Readonly<
  Record<string, LocalVenue>
>;
type Table = typeof LOCAL_VENUES;
export type LocalVenueName = keyof Table;
export const LOCAL_VENUE_NAMES = Object.keys(LOCAL_VENUES) as LocalVenueName[];

export const DEMO_SYMBOLS = ["BTC", "ETH", "SOL"];

type Servers = { readonly [Name in LocalVenueName]: Awaited<ReturnType<Table[Name]["start"]>> };
export type LocalVenues = Servers & {
  /** Of the local chains, by their ids; none where they were not asked for or do not run. */
  readonly chainUrls: WorldUrls;
  /** Why chains that were asked for do not run; the venues do without them. */
  readonly chainProblem: string | null;
  /** The venue on a chain of its own, with its keeper at work; null where it was not asked for or does not run. */
  readonly venuefive: VenuefiveDemo | null;
  readonly venuefiveProblem: string | null;
  stop(): Promise<void>;
};

export interface LocalVenuesOptions
  extends Partial<Omit<DemoOptions, "clock" | "priceSource" | "coins" | "port" | "chains">> {
  readonly seed: number;
  /** Runs the local chains too, for deposits and withdrawals. Default false. */
  readonly hasChains?: boolean;
  /** Their blocks come every so many seconds. Default 0: with each transaction. */
  readonly blockSeconds?: number;
  /** Runs the local venuefive too. Default false. */
  readonly hasVenuefive?: boolean;
  /** Default: free ones. */
  readonly ports?: Readonly<Partial<Record<LocalVenueName, number>>>;
}

/** Settings of the demo's venues by environment, as venues.child.ts lists them. */
export function localVenuesOptions(environment: Readonly<Record<string, string | undefined>>): LocalVenuesOptions {
  return {
    seed: Number(environment["SIM_SEED"] ?? 1),
    ports: Object.fromEntries(
      LOCAL_VENUE_NAMES.map((name) => [name, Number(environment[`SIM_${name.toUpperCase()}_PORT`] ?? 0)]),
    ),
    // A visitor who picks what does not trade would find an empty page.
    listsOthers: false,
    btcSize: environment["SIM_BTC_SIZE"] ?? "2",
    unlimited: environment["SIM_UNLIMITED"] === "1",
    hasChains: environment["SIM_CHAINS"] === "1",
    hasVenuefive: environment["SIM_VENUEFIVE"] === "1",
    blockSeconds: Number(environment["SIM_BLOCK_SECONDS"] ?? 0),
  };
}

export async function startLocalVenues(
  options: LocalVenuesOptions,
  startWorld: (world: ChainWorldOptions) => Promise<ChainWorld> = startChainWorld,
): Promise<LocalVenues> {
  const { seed, ports, btcSize = "2", listsOthers = true, unlimited = false, flow = {}, blockSeconds = 0 } = options;
  const clock = createSystemClock();
  const priceSource = createFactorModel({ seed, startMs: clock.wallMs() });
  let chainProblem: string | null = null;
  let venuefiveProblem: string | null = null;
  // Their program is an optional package, and not for every machine.
  const startingWorld =
    options.hasChains !== true
      ? null
      : startWorld(blockSeconds > 0 ? { mining: { kind: "interval", seconds: blockSeconds } } : {}).catch(
          (error: unknown) => {
            chainProblem = String(error);
            return null;
          },
        );
  const startingVenuefive =
    options.hasVenuefive !== true
      ? null
      : startVenuefiveDemo({ clock, priceSource, trader: DEMO_ADDRESS }).catch((error: unknown) => {
          venuefiveProblem = String(error);
          return null;
        });
  const [world, venuefive] = await Promise.all([startingWorld, startingVenuefive]);
  const chainUrls = world?.rpcUrls ?? {};
  const chains = world === null ? {} : { chains: { rpcUrls: chainUrls } };
  const common = { clock, priceSource, coins: DEMO_SYMBOLS, btcSize, listsOthers, unlimited, flow, ...chains };
  const servers: Record<string, LocalVenueServer> = {};
  const stop = async (): Promise<void> => {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
    await Promise.all([world?.stop(), venuefive?.stop()]);
  };
  try {
    for (const [index, name] of LOCAL_VENUE_NAMES.entries())
      servers[name] = await LOCAL_VENUES[name].start({ ...common, seed: seed + index, port: ports?.[name] ?? 0 });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...(servers as Servers), chainUrls, chainProblem, venuefive, venuefiveProblem, stop };
}
