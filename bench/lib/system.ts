/** The whole system as processes for a measurement: local venues, the gateway, and what stands beside them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchChild, startChild } from "./child.js";
import { topOfFolder } from "./profile.js";

interface VenueUrls {
  readonly restUrl: string;
  readonly wsUrl: string;
}

export interface BenchSystem {
  readonly url: string;
  readonly venues: { readonly venueone: VenueUrls; readonly venuetwo: VenueUrls };
  stop(): Promise<void>;
}

/** Venues without request budgets and the gateway on a fresh store, each in its own process. */
export async function startSystem(btcSize = "5000", profileFolder: string | null = null): Promise<BenchSystem> {
  const venuesChild = await startChild("sim/venues.child.js", {
    SIM_SEED: "11",
    SIM_UNLIMITED: "1",
    SIM_BTC_SIZE: btcSize,
  });
  const venues = JSON.parse(venuesChild.firstLine) as BenchSystem["venues"];
  const dataDir = mkdtempSync(join(tmpdir(), "unwind-bench-"));
  let gateway: BenchChild;
  try {
    const environment = {
      PORT: "0",
      DATA_DIR: dataDir,
      LOG_LEVEL: "error",
      // The local venues grant any rate: what is measured is the path, not a venue's budget.
      VENUEONE_REST_WEIGHT_PER_MINUTE: "1000000000",
      VENUEONE_HTTP_CONNECTIONS: "512",
      VENUETWO_REST_WEIGHT_PER_MINUTE: "1000000000",
      VENUETWO_ORDERS_PER_MINUTE: "1000000000",
      VENUETWO_ORDERS_PER_10_SECONDS: "1000000000",
      VENUEONE_REST_URL: venues.venueone.restUrl,
      VENUEONE_WS_URL: venues.venueone.wsUrl,
      VENUETWO_REST_URL: venues.venuetwo.restUrl,
      VENUETWO_WS_URL: venues.venuetwo.wsUrl,
      VENUETHREE_ENABLED: "false",
      VENUEFOUR_ENABLED: "false",
      RECORDING: "false",
    };
    const profiling = profileFolder === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
    gateway = await startChild("../gateway/main.js", environment, [], 30_000, profiling);
  } catch (error) {
    await venuesChild.stop();
    throw error;
  }
  return {
    url: gateway.firstLine.replace(/^ready /, ""),
    venues,
    async stop() {
      await gateway.stop();
      await venuesChild.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Top costs of the gateway under a load, in a run of its own: the profiler would spoil the figures. */
export async function profileGateway(btcSize: string, load: (system: BenchSystem) => Promise<void>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "unwind-profile-"));
  const system = await startSystem(btcSize, folder);
  try {
    await load(system);
  } finally {
    await system.stop();
  }
  const top = topOfFolder(folder);
  rmSync(folder, { recursive: true, force: true });
  return top;
}
