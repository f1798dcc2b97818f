/** The real service over all local venues, with server wallets, for the walk through the interface spec. */
import { createHash } from "node:crypto";
import { createSystemClock } from "../../../engine/domain/clock.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { Market } from "../../../engine/market/market.js";
import type { MarketRoom } from "../../../engine/ports.js";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { MemoryCredentials } from "../../../gateway/accounts/memory-credentials.js";
import type { TestClient } from "../../../gateway/test/client.js";
import { startVenuefourSim, type VenuefourSim } from "../../sim/venuefour/sim.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "./local-pair.js";
import { startSystem, waitUntil } from "./system.js";

export const WALLET_ID = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
export const BARE_WALLET_ID = "22222222-2222-4222-8222-222222222222";
export const HEDGE_WALLET_ID = "33333333-3333-4333-8333-333333333333";
export const BARE_ADDRESS = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/** The caller's own key on venuethree. */
export interface VenuethreeKey {
  readonly apiKeyPrivateKey: string;
  readonly apiKeyIndex: number;
  readonly accountIndex: number;
}

export interface SpecSystem {
  readonly client: TestClient;
  /** Rooms of the gateway. */
  readonly rooms: ReadonlyMap<RoutableVenue, MarketRoom>;
  /** Port of the gateway. */
  readonly port: number;
  readonly pair: LocalPair;
  readonly venuethree: VenuethreeSim;
  readonly venuefour: VenuefourSim;
  /** A trader who is long 0.5 BTC and short 5 ETH on venueone and venuetwo. */
  readonly alice: Trader;
  /** A trader in hedge mode on venuetwo: long BTC and short ETH. */
  readonly hedger: Trader;
  readonly key: VenuethreeKey;
  readonly venuefourBlock: Readonly<Record<string, string>>;
  readonly logLines: readonly string[];
  /** Resolves once no book is near its age limit, as all are after a pause of the machine. */
  freshBooks(): Promise<void>;
  /** Count of orders, cancels and changes that any venue has accepted. */
  sentCount(): number;
  stop(): Promise<void>;
}

const SYMBOLS = ["BTC", "ETH"];
const NO_LIMIT = 1_000_000_000;
const BOOKS_MS = 20_000;
/** A market order needs a book of at most 2 s. */
const FRESH_MS = 1_000;
const ACCOUNT_INDEX = 281_474;
const API_KEY_INDEX = 4;
/** The walk sends more in a minute than the venues grant one address. */
const UNLIMITED = {
  VENUEONE_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUETWO_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUETHREE_REST_WEIGHT_PER_MINUTE: "1000000",
  VENUEFOUR_REST_WEIGHT_PER_MINUTE: "1000000",
};

export async function startSpecSystem(seed: number): Promise<SpecSystem> {
  const clock = createSystemClock();
  const pair = await startLocalPair({ seed, clock, symbols: SYMBOLS });
  const positions = { BTC: "0.5", ETH: "-5" };
  const alice = pair.addTrader("alice", { positions });
  const hedger = pair.addTrader("hedger", { positions, hedgeMode: true });
  const venuethree = await startVenuethreeSim({ seed, clock, symbols: SYMBOLS, limits: { readsPerMinute: NO_LIMIT } });
  const key = registerKey(venuethree, alice);
  const venuefour = await startVenuefourSim({ seed, clock, symbols: SYMBOLS, limits: { creditsPerMinute: NO_LIMIT } });
  const keys = venuefour.addAccount({
    accountId: "alice",
    deposit: "1000000",
    positions: [{ symbol: "BTC", qty: "0.5" }],
  });
  const venuefourBlock = { apiKey: keys.apiKey, apiSecret: keys.apiSecret, walletAddress: keys.walletAddress };

  const wallet = (walletId: string, trader: Trader) => ({
    ownerId: null,
    walletId,
    userId: trader.label,
    address: trader.venueone.address,
    credentials: credentialsOf(trader),
  });
  const wallets = new MemoryCredentials([
    wallet(WALLET_ID, alice),
    wallet(HEDGE_WALLET_ID, hedger),
    { ownerId: null, walletId: BARE_WALLET_ID, userId: "bob", address: BARE_ADDRESS, credentials: {} },
  ]);
  const { service, client, logLines, stop, cleanUp } = await startSystem(pair, {
    wallets,
    environment: {
      VENUETHREE_ENABLED: "true",
      VENUETHREE_REST_URL: venuethree.restUrl,
      VENUETHREE_WS_URL: venuethree.wsUrl,
      VENUEFOUR_ENABLED: "true",
      VENUEFOUR_REST_URL: venuefour.restUrl,
      VENUEFOUR_WS_URL: venuefour.wsUrl,
      ...UNLIMITED,
    },
  });
  const isFresh = (market: Market | undefined): boolean =>
    market?.book.state === BOOK_LIVE && ageMs(market.book.tsProvenNs, clock.monoNs()) < FRESH_MS;
  const freshBooks = async (): Promise<void> => {
    await waitUntil("a fresh book of every market", BOOKS_MS, () =>
      service.rooms.every((room) => SYMBOLS.every((symbol) => isFresh(room.markets.get(symbol)))),
    );
  };
  await freshBooks();
  return {
    client,
    rooms: new Map(service.rooms.map((room) => [room.venue, room])),
    port: Number(new URL(service.url).port),
    pair,
    venuethree,
    venuefour,
    alice,
    hedger,
    key,
    venuefourBlock,
    logLines,
    freshBooks,
    sentCount: () =>
      [pair.venueone, pair.venuetwo, venuethree, venuefour].reduce(
        (total, venue) => total + venue.log.records().length,
        0,
      ),
    async stop() {
      await stop();
      await Promise.all([pair.stop(), venuethree.stop(), venuefour.stop()]);
      cleanUp();
    },
  };
}

/** Derives a key of the curve from the trader's label; it opens nothing but the local venue. */
function registerKey(venue: VenuethreeSim, trader: Trader): VenuethreeKey {
  const privateKey = createHash("sha512").update(`whole-path/venuethree/${trader.label}`).digest().subarray(0, 40);
  // The last byte is below the group order's, which makes it a scalar that the venue takes.
  privateKey[39] = 1;
  venue.addAccount({
    accountIndex: ACCOUNT_INDEX,
    l1Address: trader.venueone.address,
    tier: "premium",
    apiKeys: [{ apiKeyIndex: API_KEY_INDEX, publicKey: Buffer.from(publicKeyOf(privateKey)).toString("hex") }],
    deposit: "1000000",
    positions: SYMBOLS.map((symbol) => ({ symbol, size: symbol === "BTC" ? "0.5" : "-5" })),
  });
  return {
    apiKeyPrivateKey: `0x${Buffer.from(privateKey).toString("hex")}`,
    apiKeyIndex: API_KEY_INDEX,
    accountIndex: ACCOUNT_INDEX,
  };
}
