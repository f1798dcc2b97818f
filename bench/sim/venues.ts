/** Both local venues on one price model, with the demo trader holding a long of BTC and a short of ETH on each. */
import { createSystemClock } from "../../engine/domain/clock.js";
import { createFactorModel } from "./core/factor-model.js";
import type { FlowOptions } from "./core/types.js";
import { DEMO_TRADER } from "./demo-accounts.js";
import { startVenueoneSim, type VenueoneSim } from "./venueone/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "./venuetwo/sim.js";

export const DEMO_SYMBOLS = ["BTC", "ETH", "SOL"];

export interface LocalVenues {
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  stop(): Promise<void>;
}

export interface LocalVenuesOptions {
  readonly seed: number;
  readonly venueonePort?: number;
  readonly venuetwoPort?: number;
  /** Open size of the demo positions in BTC, decimal text. */
  readonly btcSize?: string;
  /** Lifts request budgets, for load. */
  readonly unlimited?: boolean;
  readonly flow?: Partial<FlowOptions>;
}

const NO_LIMIT = 1_000_000_000;

export async function startLocalVenues(options: LocalVenuesOptions): Promise<LocalVenues> {
  const clock = createSystemClock();
  const priceSource = createFactorModel({ seed: options.seed, startMs: clock.wallMs() });
  const size = options.btcSize ?? "2";
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
  return {
    venueone,
    venuetwo,
    async stop() {
      await Promise.all([venueone.stop(), venuetwo.stop()]);
    },
  };
}
