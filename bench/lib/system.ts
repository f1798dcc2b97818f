/** The whole system as processes for a measurement: local venues, the gateway, and the load beside them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { DESCRIPTORS, VENUES } from "../../feeds/registry.js";
import { urlSettings } from "../../feeds/shared/room/venue-descriptor.js";
import { type BenchChild, startChild } from "./child.js";
import { topOfFolder } from "./profile.js";
import { NO_RATE_LIMITS } from "./no-rate-limits.js";

/** Every budget that an operator configures for a venue. */
const NO_VENUE_LIMITS = Object.fromEntries(
  VENUES.flatMap(({ options }) => Object.keys(options))
    .filter((name) => /_PER_/.test(name))
    .map((name) => [name, "1000000000"]),
);

const FIRST_ROOMS = ROUTABLE_VENUES.slice(0, 2);

interface VenueUrls {
  readonly restUrl: string;
  readonly wsUrl: string;
}

export interface BenchSystem {
  readonly url: string;
  readonly gatewayPid: number;
  readonly venues: Readonly<Record<RoutableVenue, VenueUrls>>;
  stop(): Promise<void>;
}

export interface SystemOptions {
  /** Size that the demo trader holds on each venue. */
  readonly btcSize?: string;
  /** Rooms that the gateway runs; default: the first two. All local venues run in any case. */
  readonly rooms?: readonly RoutableVenue[];
  /** Records into the embedded store; default: nothing is recorded. */
  readonly isRecording?: boolean;
}

/** Environment of a measured gateway. */
export function systemEnvironment(
  venues: BenchSystem["venues"],
  dataDir: string,
  rooms: readonly RoutableVenue[] = FIRST_ROOMS,
  isRecording = false,
): Record<string, string> {
  const environment: Record<string, string> = {
    PORT: "0",
    DATA_DIR: dataDir,
    LOG_LEVEL: "error",
    // The local venues grant any rate: the measurement is of the path, not of a venue's budget.
    ...NO_VENUE_LIMITS,
    RECORDING: String(isRecording),
    ...NO_RATE_LIMITS,
  };
  for (const venue of ROUTABLE_VENUES) {
    const name = venue.toUpperCase();
    environment[`${name}_ENABLED`] = String(rooms.includes(venue));
    environment[`${name}_HTTP_CONNECTIONS`] = "512";
    Object.assign(environment, urlSettings(DESCRIPTORS[venue], venues[venue]));
  }
  return environment;
}

/** Starts the venues without request budgets and the gateway on a fresh store, each in its own process. */
export async function startSystem(
  { btcSize = "5000", rooms = FIRST_ROOMS, isRecording = false }: SystemOptions = {},
  profileFolder: string | null = null,
): Promise<BenchSystem> {
  const venuesChild = await startChild("sim/venues.child.js", {
    SIM_SEED: "11",
    SIM_UNLIMITED: "1",
    SIM_BTC_SIZE: btcSize,
  });
  const venues = JSON.parse(venuesChild.firstLine) as BenchSystem["venues"];
  const dataDir = join(mkdtempSync(join(tmpdir(), "unwind-bench-")), "data");
  const environment = systemEnvironment(venues, dataDir, rooms, isRecording);
  let gateway: BenchChild;
  try {
    const nodeOptions = profileFolder === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
    gateway = await startChild("../gateway/main.js", environment, [], 30_000, { nodeOptions });
  } catch (error) {
    await venuesChild.stop();
    throw error;
  }
  return {
    url: gateway.firstLine.replace(/^ready /, ""),
    gatewayPid: gateway.process.pid ?? 0,
    venues,
    async stop() {
      await gateway.stop();
      await venuesChild.stop();
      rmSync(dirname(dataDir), { recursive: true, force: true });
    },
  };
}

/**
 * Returns the top costs of the gateway under a load. This is a run of its own, because the profiler would distort the
 * figures.
 */
export async function profileGateway(
  options: SystemOptions,
  load: (system: BenchSystem) => Promise<void>,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "unwind-profile-"));
  const system = await startSystem(options, folder);
  try {
    await load(system);
  } finally {
    await system.stop();
  }
  const top = topOfFolder(folder);
  rmSync(folder, { recursive: true, force: true });
  return top;
}
