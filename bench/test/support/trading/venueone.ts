/** venueone for the trading suite: by the account's own key, and by the key of an agent. */
import type { Instrument } from "../../../../engine/domain/instrument.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { decodeUniverse } from "../../../../feeds/venueone/market/decode.js";
import { buildInstruments, DEFAULT_FEES } from "../../../../feeds/venueone/market/symbols.js";
import { createVenueoneTrading, type VenueoneTrading } from "../../../../feeds/venueone/trading.js";
import { startVenueoneSim, type VenueoneSim } from "../../../sim/venueone/sim.js";
import { AGENT, ALICE, BOB, KEYS } from "../../../sim/venueone/test/kit.js";
import { halfDeps, loggerInto } from "../trading-half.js";
import type { StartOptions, TradingParts, TradingVenue } from "./bench.js";

type Parts = TradingParts<VenueoneSim, VenueoneTrading>;

export const VENUEONE: TradingVenue<Parts> = {
  venue: "venueone",
  name: "venueone",
  habits: {
    settleMs: 2_000,
    answersWithTheEnd: true,
    postOnlyThatTakes: "rejected",
    reduceOnlyOfNothing: "rejected",
    reduceOnlyOfTooMuch: "clamped",
    triggerThatHolds: "rejected",
    duplicate: "rejected",
    saysTimeInForce: true,
    hasFillOrKill: false,
    amend: { keepsVenueOrderId: false, answersWithTheOrder: true },
    countsCancelled: true,
    cancelIsReceipt: false,
    countdownMs: 10_000,
    refusesKeysAtOrders: true,
    addressReads: "all",
    readsArePublic: false,
    hasNonces: true,
    saysMaintenance: true,
    fundingHours: 5,
    saysFundingRate: true,
    routes: { place: "/exchange", cancelAll: "/exchange" },
  },
  credentials: { privateKey: KEYS.alice },
  wrongCredentials: [["a key that no account approved", { privateKey: KEYS.stranger }]],
  address: ALICE,
  secrets: [KEYS.alice, KEYS.alice.slice(2)],
  start,
};

export const VENUEONE_BY_AGENT: TradingVenue<Parts> = {
  ...VENUEONE,
  name: "venueone by an agent's key",
  credentials: { privateKey: KEYS.agent },
  secrets: [KEYS.agent, KEYS.agent.slice(2)],
};

async function start({ stepMs = 50, isEmpty = false }: StartOptions): Promise<Parts> {
  const clock = new VirtualClock();
  const sim = await startVenueoneSim({
    seed: 7,
    clock,
    symbols: ["BTC", "ETH"],
    flow: isEmpty ? null : { stepMs },
    accounts: [
      { address: ALICE, deposit: "1000000", volume: "2000000", agents: [{ address: AGENT, name: "bot" }] },
      { address: BOB, deposit: "100000" },
    ],
    limits: { ipWeightPerMinute: 10_000_000, openOrders: 10_000 },
  });
  const instruments = await readListing(sim.restUrl);
  const logLines: string[] = [];
  const halfOf = () => {
    const deps = halfDeps(sim.restUrl, clock, () => instruments, loggerInto(logLines));
    return { half: createVenueoneTrading({ ...deps, numberOf: () => null }), stop: () => deps.http.close(0) };
  };
  const { half, stop } = halfOf();
  return {
    sim,
    clock,
    half,
    instruments,
    accountId: ALICE,
    otherCredentials: { privateKey: KEYS.bob },
    logLines,
    another: halfOf,
    async stop() {
      await stop();
      await sim.stop();
    },
  };
}

export async function readListing(restUrl: string): Promise<ReadonlyMap<string, Instrument>> {
  const answer = await fetch(`${restUrl}/info`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"type":"metaAndAssetCtxs"}',
  });
  return buildInstruments(decodeUniverse(await answer.json()).meta, DEFAULT_FEES).bySymbol;
}
