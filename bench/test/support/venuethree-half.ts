/** venuethree's trading half against its local venue on one virtual clock, with or without the connection for transactions. */
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession } from "../../../engine/ports.js";
import { AccountLimiter } from "../../../feeds/shared/net/account-limiter.js";
import { ConnectionBudget } from "../../../feeds/shared/net/connection-budget.js";
import { connectWs } from "../../../feeds/shared/net/connector.js";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { decodeDetails } from "../../../feeds/venuethree/market/decode-slow.js";
import { buildInstruments } from "../../../feeds/venuethree/market/symbols.js";
import { createVenuethreeTrading, type VenuethreeTrading } from "../../../feeds/venuethree/trading.js";
import { TxSocket } from "../../../feeds/venuethree/orders/tx-socket.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { halfDeps, open, untilHolds } from "./trading-half.js";

export const ALICE = 516;
export const BOB = 517;
export const L1_ALICE = `0x${"a1".repeat(20)}`;
export const L1_BOB = `0x${"b0".repeat(20)}`;
/** Made for these tests, of no value. */
export const KEYS = { alice: "11".repeat(40), bob: "22".repeat(40), stranger: "33".repeat(40) };

function publicKey(privateKey: string): string {
  return Buffer.from(publicKeyOf(Buffer.from(privateKey, "hex"))).toString("hex");
}

export interface VenuethreeBench {
  readonly sim: VenuethreeSim;
  readonly clock: VirtualClock;
  readonly half: VenuethreeTrading;
  readonly btc: Instrument;
  readonly eth: Instrument;
  readonly alice: AccountSession;
  readonly mark: () => number;
  readonly txSocket: TxSocket | null;
  /** The connection for transactions is there (again). */
  readonly connected: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startVenuethreeBench(hasSocket = false): Promise<VenuethreeBench> {
  const clock = new VirtualClock();
  const sim = await startVenuethreeSim({
    seed: 7,
    clock,
    symbols: ["BTC", "ETH"],
    accounts: [
      {
        accountIndex: ALICE,
        l1Address: L1_ALICE,
        deposit: "1000000",
        apiKeys: [
          { apiKeyIndex: 4, publicKey: publicKey(KEYS.bob) },
          { apiKeyIndex: 5, publicKey: publicKey(KEYS.alice), nonce: 42 },
        ],
      },
      {
        accountIndex: BOB,
        l1Address: L1_BOB,
        deposit: "100000",
        apiKeys: [{ apiKeyIndex: 4, publicKey: publicKey(KEYS.bob) }],
      },
    ],
    limits: { readsPerMinute: 1_000_000, transactionsPerMinute: 1_000_000, otherTransactionsPerMinute: 1_000_000 },
  });
  const answer = await fetch(`${sim.restUrl}/api/v1/orderBookDetails?filter=perp`);
  const details = decodeDetails(await answer.text());
  if (details === null) throw new Error("no listing");
  const { bySymbol } = buildInstruments(details.markets, { makerFeeMilliBps: 0, takerFeeMilliBps: 0 });
  const deps = halfDeps(sim.restUrl, clock, () => bySymbol);
  const txSocket = hasSocket
    ? new TxSocket({
        wsUrl: sim.wsUrl,
        connector: connectWs,
        clock,
        random: createSeededRandom(5),
        logger: silentLogger,
        budget: new ConnectionBudget(clock, { maxConnections: 8, connectsPerMinute: 60 }),
        accounts: new AccountLimiter(clock, []),
        isVenueUsable: () => true,
      })
    : null;
  const half = createVenuethreeTrading({
    ...deps,
    chainId: 304,
    tier: "standard",
    ...(txSocket === null ? {} : { txSocket }),
  });
  const btc = bySymbol.get("BTC");
  const eth = bySymbol.get("ETH");
  if (btc === undefined || eth === undefined) throw new Error("the markets are not listed");
  const bench: VenuethreeBench = {
    sim,
    clock,
    half,
    btc,
    eth,
    alice: open(half, { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE }),
    mark: () => sim.exchange.mark("BTC").markE8 / 1e8,
    txSocket,
    connected: () => untilHolds("a connection for transactions", () => (txSocket?.way().id ?? 0) > 0),
    async stop() {
      half.stop();
      await Promise.all([txSocket?.stop(0), deps.http.close(0)]);
      await sim.stop();
    },
  };
  if (txSocket !== null) await bench.connected();
  return bench;
}
