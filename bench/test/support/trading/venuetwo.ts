/** venuetwo for the trading suite: by an API key, and by the key of an agent, whose requests carry nonces. */
import { privateKeyToAccount } from "viem/accounts";
import type { Instrument } from "../../../../engine/domain/instrument.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { MarketRest } from "../../../../feeds/venuetwo/market/rest.js";
import { createVenuetwoTrading, type VenuetwoTrading } from "../../../../feeds/venuetwo/trading.js";
import type { VenuetwoSim } from "../../../sim/venuetwo/sim.js";
import {
  ACCOUNT,
  AGENT_KEY,
  agentWallet,
  API_KEY,
  API_SECRET,
  mainWallet,
  startTestVenue,
} from "../../../sim/venuetwo/test/support.js";
import { halfDeps, loggerInto } from "../trading-half.js";
import type { StartOptions, TradingParts, TradingVenue } from "./bench.js";

type Parts = TradingParts<VenuetwoSim, VenuetwoTrading>;

/** Made for these tests, of no value. */
const STRANGER_KEY = `0x${"33".repeat(32)}` as const;
const stranger = privateKeyToAccount(STRANGER_KEY);
const BY_API_KEY = { apiKey: API_KEY, apiSecret: API_SECRET, walletAddress: mainWallet.address };
const BY_AGENT = { apiKey: agentWallet.address, apiSecret: AGENT_KEY, walletAddress: mainWallet.address };

export const VENUETWO: TradingVenue<Parts> = {
  venue: "venuetwo",
  name: "venuetwo by an API key",
  habits: {
    settleMs: 0,
    answersWithTheEnd: true,
    postOnlyThatTakes: "ended",
    reduceOnlyOfNothing: "rejected",
    reduceOnlyOfTooMuch: "rejected",
    triggerThatHolds: "rejected",
    duplicate: "rejected",
    saysTimeInForce: true,
    hasFillOrKill: true,
    amend: null,
    countsCancelled: false,
    cancelIsReceipt: false,
    countdownMs: 5_000,
    refusesKeysAtOrders: true,
    addressReads: null,
    readsArePublic: false,
    hasNonces: false,
    saysMaintenance: true,
    fundingHours: 17,
    saysFundingRate: false,
    routes: { place: "POST /fapi", cancelAll: "DELETE /fapi" },
  },
  credentials: BY_API_KEY,
  wrongCredentials: [["a wrong secret", { ...BY_API_KEY, apiSecret: "wrong" }]],
  address: null,
  secrets: [API_SECRET],
  start,
};

export const VENUETWO_BY_AGENT: TradingVenue<Parts> = {
  ...VENUETWO,
  name: "venuetwo by an agent's key",
  habits: { ...VENUETWO.habits, amend: { keepsVenueOrderId: true, answersWithTheOrder: true }, hasNonces: true },
  credentials: BY_AGENT,
  wrongCredentials: [["a key that is no agent's", { ...BY_AGENT, apiKey: stranger.address, apiSecret: STRANGER_KEY }]],
  secrets: [AGENT_KEY, AGENT_KEY.slice(2)],
};

async function start({ stepMs = 50, isEmpty = false }: StartOptions): Promise<Parts> {
  const clock = new VirtualClock();
  const sim = await startTestVenue({
    clock,
    flow: isEmpty ? null : { levelCount: 60, stepMs },
    limits: { weightPerMinute: 10_000_000, ordersPerMinute: 100_000, ordersPer10s: 100_000 },
  });
  const { apiKey, apiSecret } = sim.addAccount({ accountId: "other", deposit: "100000", wallet: agentlessWallet });
  const instruments = new Map<string, Instrument>();
  const logLines: string[] = [];
  const halfOf = () => {
    const deps = halfDeps(sim.restUrl, clock, () => instruments, loggerInto(logLines));
    return { half: createVenuetwoTrading(deps), http: deps.http, stop: () => deps.http.close(0) };
  };
  const { half, http, stop } = halfOf();
  const load = await new MarketRest(http).loadInstruments({}, "read");
  if (load === null || load === "same") throw new Error("no list");
  for (const instrument of load.instruments.values()) instruments.set(instrument.symbol, instrument);
  return {
    sim,
    clock,
    half,
    instruments,
    accountId: ACCOUNT,
    otherCredentials: { apiKey, apiSecret, walletAddress: agentlessWallet },
    logLines,
    another: halfOf,
    async stop() {
      await stop();
      await sim.stop();
    },
  };
}

/** Wallet of the second account, which trades by its API key alone. */
const agentlessWallet = `0x${"0b".repeat(20)}`;
