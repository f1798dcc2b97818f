/** venuefour for the trading suite: by the key of an agent. */
import type { Instrument } from "../../../../engine/domain/instrument.js";
import { createSeededRandom } from "../../../../engine/domain/random.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { ConnectionBudget } from "../../../../feeds/shared/net/connection-budget.js";
import { connectWs } from "../../../../feeds/shared/net/connector.js";
import { openVenuefourAddress, openVenuefourSession } from "../../../../feeds/venuefour/account/session.js";
import { VenuefourRest } from "../../../../feeds/venuefour/market/rest.js";
import { buildInstruments, DEFAULT_FEES } from "../../../../feeds/venuefour/market/symbols.js";
import { createVenuefourTrading } from "../../../../feeds/venuefour/trading.js";
import { keyPairOf } from "../../../sim/venuefour/records/keys.js";
import { startVenuefourSim, type VenuefourSim } from "../../../sim/venuefour/sim.js";
import { halfDeps, loggerInto, OPTIONS, unwrapRead } from "../trading-half.js";
import type { StartOptions, TradingHalf, TradingParts, TradingVenue } from "./bench.js";

export const WALLET = keyPairOf(Buffer.alloc(32, 1));
export const AGENT = keyPairOf(Buffer.alloc(32, 2));
const STRANGER = keyPairOf(Buffer.alloc(32, 3));
const ROOT = "/api/v1";
const BY_AGENT = { apiKey: AGENT.publicKey, apiSecret: AGENT.secret, walletAddress: WALLET.publicKey };

export const VENUEFOUR: TradingVenue<TradingParts<VenuefourSim>> = {
  venue: "venuefour",
  name: "venuefour",
  habits: {
    settleMs: 0,
    answersWithTheEnd: true,
    postOnlyThatTakes: "rejected",
    reduceOnlyOfNothing: "rejected",
    reduceOnlyOfTooMuch: "rejected",
    triggerThatHolds: "fires",
    duplicate: "rejected",
    saysTimeInForce: false,
    hasFillOrKill: false,
    amend: { keepsVenueOrderId: false, answersWithTheOrder: true },
    countsCancelled: true,
    cancelIsReceipt: false,
    countdownMs: null,
    refusesKeysAtOrders: true,
    addressReads: "all",
    readsArePublic: true,
    hasNonces: false,
    saysMaintenance: true,
    fundingHours: 5,
    saysFundingRate: true,
    routes: { place: "POST /api/v1/orders/create", cancelAll: "orders/cancel_all" },
  },
  credentials: BY_AGENT,
  wrongCredentials: [
    [
      "a key that the wallet did not bind",
      { apiKey: STRANGER.publicKey, apiSecret: STRANGER.secret, walletAddress: WALLET.publicKey },
    ],
  ],
  address: WALLET.publicKey,
  secrets: [AGENT.secret, AGENT.secret.slice(0, 20)],
  start,
};

async function start({ stepMs = 50, isEmpty = false }: StartOptions): Promise<TradingParts<VenuefourSim>> {
  const clock = new VirtualClock();
  const isSlow = stepMs > 1_000;
  const sim = await startVenuefourSim({
    seed: 9,
    clock,
    symbols: ["BTC", "ETH"],
    flow: isEmpty ? null : { levelCount: 60, stepMs },
    limits: { creditsPerMinute: 1_000_000 },
    // No speed bump; where hours pass, the pulse does not need to be 10 ms.
    cadences: { speedBumpMs: 0, ...(isSlow ? { pulseMs: 1_000 } : {}) },
    accounts: [{ walletAddress: WALLET.publicKey, agents: [AGENT.publicKey], deposit: "1000000" }],
  });
  const { apiKey, apiSecret, walletAddress } = sim.addAccount({ accountId: "other", deposit: "100000" });
  const logLines: string[] = [];
  const logger = loggerInto(logLines);
  let instruments: ReadonlyMap<string, Instrument> = new Map();
  const halfOf = () => {
    const deps = halfDeps(sim.restUrl, clock, () => instruments, logger);
    const trading = createVenuefourTrading({
      ...deps,
      root: ROOT,
      wsUrl: sim.wsUrl,
      connector: connectWs,
      random: createSeededRandom(5),
      budget: new ConnectionBudget(clock, { maxConnections: 8, connectsPerMinute: 60 }),
    });
    // All orders calls but a countdown.
    const orders = trading.orders as TradingHalf["orders"];
    const half = { ...trading, orders, openSession: openVenuefourSession, openAddress: openVenuefourAddress };
    return { half, http: deps.http, stop: () => deps.http.close(0) };
  };
  const { half, http, stop } = halfOf();
  const markets = unwrapRead(await new VenuefourRest(http, ROOT).markets(OPTIONS));
  instruments = buildInstruments(markets.markets, DEFAULT_FEES).bySymbol;
  return {
    sim,
    clock,
    half,
    instruments,
    accountId: WALLET.publicKey,
    otherCredentials: { apiKey, apiSecret, walletAddress },
    logLines,
    another: halfOf,
    async stop() {
      await stop();
      await sim.stop();
    },
  };
}
