/** venuethree for the trading suite, with or without the connection that carries transactions. */
import type { Instrument } from "../../../../engine/domain/instrument.js";
import { silentLogger } from "../../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../../engine/domain/random.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { AccountLimiter } from "../../../../feeds/shared/net/account-limiter.js";
import { ConnectionBudget } from "../../../../feeds/shared/net/connection-budget.js";
import { connectWs } from "../../../../feeds/shared/net/connector.js";
import { decodeDetails } from "../../../../feeds/venuethree/market/decode-slow.js";
import { buildInstruments } from "../../../../feeds/venuethree/market/symbols.js";
import { TxSocket } from "../../../../feeds/venuethree/orders/tx-socket.js";
import { publicKeyOf } from "../../../../feeds/venuethree/sign/schnorr.js";
import { createVenuethreeTrading, type VenuethreeTrading } from "../../../../feeds/venuethree/trading.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../../sim/venuethree/sim.js";
import { halfDeps, loggerInto, untilHolds } from "../trading-half.js";
import type { StartOptions, TradingParts, TradingVenue } from "./bench.js";

export const ALICE = 516;
export const BOB = 517;
/** An account whose index is beyond 32 bits. */
export const BIG_BOB = 281_474_976_710_600;
export const L1_ALICE = `0x${"a1".repeat(20)}`;
export const L1_BOB = `0x${"b0".repeat(20)}`;
/** Made for these tests, of no value. */
export const KEYS = { alice: "11".repeat(40), bob: "22".repeat(40), stranger: "33".repeat(40) };
/** Nonce of the first order of Alice's key. */
export const FIRST_NONCE = 42;

const BY_KEY = { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE };

interface VenuethreeParts extends TradingParts<VenuethreeSim, VenuethreeTrading> {
  /** The connection for transactions; null where every transaction is a request of its own. */
  readonly txSocket: TxSocket | null;
  /** Resolves once the connection for transactions is open (again). */
  connected(): Promise<void>;
}

export const VENUETHREE: TradingVenue<VenuethreeParts> = {
  venue: "venuethree",
  name: "venuethree",
  habits: {
    settleMs: 1_000,
    answersWithTheEnd: false,
    postOnlyThatTakes: "ended",
    reduceOnlyOfNothing: "ended",
    reduceOnlyOfTooMuch: "clamped",
    triggerThatHolds: "fires",
    duplicate: "ignored",
    saysTimeInForce: true,
    hasFillOrKill: false,
    amend: { keepsVenueOrderId: true, answersWithTheOrder: false },
    countsCancelled: false,
    cancelIsReceipt: true,
    countdownMs: 10 * 60_000,
    refusesKeysAtOrders: false,
    addressReads: "positions",
    readsArePublic: false,
    hasNonces: true,
    saysMaintenance: true,
    fundingHours: 3,
    saysFundingRate: true,
    routes: { place: "sendTx", cancelAll: "sendTx" },
  },
  credentials: BY_KEY,
  wrongCredentials: [
    ["a key of nobody", { ...BY_KEY, apiKeyPrivateKey: KEYS.stranger }],
    ["a key of another account", { ...BY_KEY, accountIndex: BOB }],
    ["an account that is not there", { ...BY_KEY, accountIndex: 999_999 }],
    ["another key's index", { ...BY_KEY, apiKeyIndex: 4 }],
    ["another wallet", { ...BY_KEY, walletAddress: L1_BOB }],
  ],
  address: L1_ALICE,
  secrets: [KEYS.alice],
  start: (options) => startVenuethree(options, false),
};

/** Its transactions go over one connection, several in flight. */
export const VENUETHREE_BY_SOCKET: TradingVenue<VenuethreeParts> = {
  ...VENUETHREE,
  name: "venuethree over its connection for transactions",
  start: (options) => startVenuethree(options, true),
};

async function startVenuethree(
  { stepMs, isEmpty = false }: StartOptions,
  hasSocket: boolean,
): Promise<VenuethreeParts> {
  const clock = new VirtualClock();
  const sim = await startVenuethreeSim({
    seed: 7,
    clock,
    symbols: ["BTC", "ETH"],
    ...(isEmpty ? { flow: null } : stepMs === undefined ? {} : { flow: { stepMs } }),
    accounts: [
      {
        accountIndex: ALICE,
        l1Address: L1_ALICE,
        deposit: "1000000",
        apiKeys: [
          { apiKeyIndex: 4, publicKey: publicKeyHex(KEYS.bob) },
          { apiKeyIndex: 5, publicKey: publicKeyHex(KEYS.alice), nonce: FIRST_NONCE },
        ],
      },
      {
        accountIndex: BOB,
        l1Address: L1_BOB,
        deposit: "100000",
        apiKeys: [{ apiKeyIndex: 4, publicKey: publicKeyHex(KEYS.bob) }],
      },
    ],
    limits: { readsPerMinute: 1_000_000, transactionsPerMinute: 1_000_000, otherTransactionsPerMinute: 1_000_000 },
  });
  const bySymbol = await readListing(sim.restUrl);
  const logLines: string[] = [];
  const txSocket = hasSocket ? createSocket(sim, clock) : null;
  const halfOf = (socket: TxSocket | null) => {
    const deps = halfDeps(sim.restUrl, clock, () => bySymbol, loggerInto(logLines));
    const half = createVenuethreeTrading({
      ...deps,
      chainId: 304,
      tier: "standard",
      ...(socket === null ? {} : { txSocket: socket }),
    });
    const stop = async (): Promise<void> => {
      half.stop();
      await deps.http.close(0);
    };
    return { half, stop };
  };
  const { half, stop } = halfOf(txSocket);
  return {
    sim,
    clock,
    half,
    instruments: bySymbol,
    accountId: String(ALICE),
    otherCredentials: { apiKeyPrivateKey: KEYS.bob, accountIndex: BOB },
    logLines,
    txSocket,
    connected: () => untilHolds("a connection for transactions", () => (txSocket?.way().id ?? 0) > 0),
    another: () => halfOf(null),
    async stop() {
      await Promise.all([txSocket?.stop(0), stop()]);
      await sim.stop();
    },
  };
}

function createSocket(sim: VenuethreeSim, clock: VirtualClock): TxSocket {
  return new TxSocket({
    wsUrl: sim.wsUrl,
    connector: connectWs,
    clock,
    random: createSeededRandom(5),
    logger: silentLogger,
    budget: new ConnectionBudget(clock, { maxConnections: 8, connectsPerMinute: 60 }),
    accounts: new AccountLimiter(clock, []),
    isVenueUsable: () => true,
  });
}

export async function readListing(restUrl: string): Promise<ReadonlyMap<string, Instrument>> {
  const answer = await fetch(`${restUrl}/api/v1/orderBookDetails?filter=perp`);
  const details = decodeDetails(await answer.text());
  if (details === null) throw new Error("no listing");
  return buildInstruments(details.markets, { makerFeeMilliBps: 0, takerFeeMilliBps: 0 }).bySymbol;
}

export function publicKeyHex(privateKey: string): string {
  return Buffer.from(publicKeyOf(Buffer.from(privateKey, "hex"))).toString("hex");
}
