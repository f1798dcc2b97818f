/** The local venues on one price model. On each the demo trader holds a long of BTC and a short of ETH. */
import { createSystemClock } from "../../engine/domain/clock.js";
import { createFactorModel } from "./core/market/factor-model.js";
import type { FlowOptions } from "./core/engine/flow.js";
import { DEMO_TRADER } from "./demo-accounts.js";
import { startVenuefourSim, type VenuefourSim } from "./venuefour/sim.js";
import { startVenueoneSim, type VenueoneSim } from "./venueone/sim.js";
import { startVenuethreeSim, type VenuethreeSim } from "./venuethree/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "./venuetwo/sim.js";

export const DEMO_SYMBOLS = ["BTC", "ETH", "SOL"];

export interface LocalVenues {
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  readonly venuethree: VenuethreeSim;
  readonly venuefour: VenuefourSim;
  stop(): Promise<void>;
}

export interface LocalVenuesOptions {
  readonly seed: number;
  readonly venueonePort?: number;
  readonly venuetwoPort?: number;
  readonly venuethreePort?: number;
  readonly venuefourPort?: number;
  /** Open size of the demo positions in BTC, decimal text. */
  readonly btcSize?: string;
  /** Also lists contracts that do not trade, as the venues do. Default true. */
  readonly listsOthers?: boolean;
  /** Lifts request budgets, for load. */
  readonly unlimited?: boolean;
  readonly flow?: Partial<FlowOptions>;
}

/** Settings of the demo's venues by environment, as venues.child.ts lists them. */
export function localVenuesOptions(environment: Readonly<Record<string, string | undefined>>): LocalVenuesOptions {
  return {
    seed: Number(environment["SIM_SEED"] ?? 1),
    venueonePort: Number(environment["SIM_VENUEONE_PORT"] ?? 0),
    venuetwoPort: Number(environment["SIM_VENUETWO_PORT"] ?? 0),
    venuethreePort: Number(environment["SIM_VENUETHREE_PORT"] ?? 0),
    venuefourPort: Number(environment["SIM_VENUEFOUR_PORT"] ?? 0),
    // A visitor who picks what does not trade would find an empty page.
    listsOthers: false,
    btcSize: environment["SIM_BTC_SIZE"] ?? "2",
    unlimited: environment["SIM_UNLIMITED"] === "1",
  };
}

const NO_LIMIT = 1_000_000_000;
const VENUETHREE_UNLIMITED = {
  readsPerMinute: NO_LIMIT,
  weightPerMinute: NO_LIMIT,
  connections: NO_LIMIT,
  newConnectionsPerMinute: NO_LIMIT,
  messagesPerMinute: NO_LIMIT,
  transactionsPerMinute: NO_LIMIT,
  otherTransactionsPerMinute: NO_LIMIT,
};

export async function startLocalVenues(options: LocalVenuesOptions): Promise<LocalVenues> {
  const clock = createSystemClock();
  const priceSource = createFactorModel({ seed: options.seed, startMs: clock.wallMs() });
  const size = options.btcSize ?? "2";
  const others = options.listsOthers === undefined ? {} : { listsOthers: options.listsOthers };
  const flow = options.flow === undefined ? {} : { flow: options.flow };
  const venueone = await startVenueoneSim({
    seed: options.seed,
    clock,
    priceSource,
    symbols: DEMO_SYMBOLS,
    port: options.venueonePort ?? 0,
    accounts: [
      {
        address: DEMO_TRADER.venueone.address,
        deposit: "100000000",
        volume: "50000000",
        agents: [{ address: DEMO_TRADER.venueone.agentAddress, name: "demo" }],
        positions: [
          { coin: "BTC", size, entryPx: "91000" },
          { coin: "ETH", size: "-20", entryPx: "3200" },
        ],
      },
    ],
    ...flow,
    ...(options.unlimited === true ? { limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: NO_LIMIT } } : {}),
  });
  const venuetwo = await startVenuetwoSim({
    seed: options.seed + 1,
    clock,
    priceSource,
    symbols: DEMO_SYMBOLS.map((symbol) => `${symbol}USDT`),
    ...others,
    port: options.venuetwoPort ?? 0,
    accounts: [
      {
        accountId: DEMO_TRADER.venuetwo.accountId,
        apiKey: DEMO_TRADER.venuetwo.apiKey,
        apiSecret: DEMO_TRADER.venuetwo.apiSecret,
        wallet: DEMO_TRADER.venuetwo.walletAddress,
        deposit: "100000000",
        positions: [
          { symbol: "BTCUSDT", qty: size },
          { symbol: "ETHUSDT", qty: "-20" },
        ],
      },
    ],
    ...flow,
    ...(options.unlimited === true
      ? { limits: { weightPerMinute: NO_LIMIT, ordersPerMinute: NO_LIMIT, ordersPer10s: NO_LIMIT } }
      : {}),
  });
  const venuethree = await startVenuethreeSim({
    seed: options.seed + 2,
    clock,
    priceSource,
    symbols: DEMO_SYMBOLS,
    ...others,
    port: options.venuethreePort ?? 0,
    accounts: [
      {
        accountIndex: DEMO_TRADER.venuethree.accountIndex,
        l1Address: DEMO_TRADER.venuethree.l1Address,
        deposit: "100000000",
        apiKeys: [{ apiKeyIndex: DEMO_TRADER.venuethree.apiKeyIndex, publicKey: DEMO_TRADER.venuethree.publicKey }],
        positions: [
          { symbol: "BTC", size },
          { symbol: "ETH", size: "-20" },
        ],
      },
    ],
    ...flow,
    ...(options.unlimited === true ? { limits: VENUETHREE_UNLIMITED } : {}),
  });
  const venuefour = await startVenuefourSim({
    seed: options.seed + 3,
    clock,
    priceSource,
    symbols: DEMO_SYMBOLS,
    port: options.venuefourPort ?? 0,
    accounts: [
      {
        walletAddress: DEMO_TRADER.venuefour.walletAddress,
        agents: [DEMO_TRADER.venuefour.apiKey],
        deposit: "100000000",
        positions: [
          { symbol: "BTC", qty: size },
          { symbol: "ETH", qty: "-20" },
        ],
      },
    ],
    ...flow,
    ...(options.unlimited === true
      ? { limits: { creditsPerMinute: NO_LIMIT, keyCreditsPerMinute: NO_LIMIT, connections: NO_LIMIT } }
      : {}),
  });
  return {
    venueone,
    venuetwo,
    venuethree,
    venuefour,
    async stop() {
      await Promise.all([venueone.stop(), venuetwo.stop(), venuethree.stop(), venuefour.stop()]);
    },
  };
}
