/**
 * All four local venues in this process on one price model, and traders with an account on each. What a test concludes
 * comes from these venues' own logs, orders and positions.
 */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { encodeBase58 } from "../../../feeds/venuefour/base58.js";
import { publicKeyOf } from "../../../feeds/venuethree/crypto/schnorr.js";
import { createFactorModel } from "../../sim/core/factor-model.js";
import type { FaultInjector, FaultSpec, FlowOptions, SimExchange, SimRequestLog } from "../../sim/core/types.js";
import { startVenuefourSim } from "../../sim/venuefour/sim.js";
import { startVenueoneSim } from "../../sim/venueone/sim.js";
import { startVenuethreeSim } from "../../sim/venuethree/sim.js";
import { startVenuetwoSim } from "../../sim/venuetwo/sim.js";

export const FOUR_VENUES = ["venueone", "venuetwo", "venuethree", "venuefour"] as const;
export type FourVenue = (typeof FOUR_VENUES)[number];

export interface JudgedVenue {
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly exchange: SimExchange;
  readonly log: SimRequestLog;
  readonly faults: FaultInjector;
  stop(): Promise<void>;
}

export interface FourTrader {
  readonly label: string;
  /** What each venue's core calls the account. */
  readonly accountIds: Readonly<Record<FourVenue, string>>;
  /** The `credentials` object of a request. */
  readonly credentials: Readonly<Record<FourVenue, Readonly<Record<string, unknown>>>>;
}

export interface FourVenues {
  readonly venues: Readonly<Record<FourVenue, JudgedVenue>>;
  /** `positions`: signed decimal text by canonical symbol, the same on every venue. */
  addTrader(label: string, positions: Readonly<Record<string, string>>): FourTrader;
  /** Signed lots of the venue. */
  positionLots(venue: FourVenue, trader: FourTrader, symbol: string): number;
  /** Adds the faults everywhere; the function returned ends them. */
  fault(...specs: readonly FaultSpec[]): () => void;
  stop(): Promise<void>;
}

export interface FourOptions {
  readonly seed: number;
  readonly symbols: readonly string[];
  readonly flow?: Partial<FlowOptions>;
}

const NO_LIMIT = 1_000_000_000;
const DEPOSIT = "100000000";
/** Near the model's prices, so that no account is born liquidated. */
const ENTRY_PRICE: Readonly<Record<string, string>> = { BTC: "91000", ETH: "3200" };
const API_KEY_INDEX = 4;
/** DER head of a bare Ed25519 key (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

export function nativeName(venue: FourVenue, symbol: string): string {
  return venue === "venuetwo" ? `${symbol}USDT` : symbol;
}

export async function startFourVenues(options: FourOptions): Promise<FourVenues> {
  const { seed, symbols } = options;
  const clock = createSystemClock();
  const priceSource = createFactorModel({ seed, startMs: clock.wallMs() });
  const common = { clock, priceSource, ...(options.flow === undefined ? {} : { flow: options.flow }) };
  const venueone = await startVenueoneSim({
    ...common,
    seed,
    symbols,
    cadenceScale: 0.1,
    limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: NO_LIMIT },
  });
  const venuetwo = await startVenuetwoSim({
    ...common,
    seed: seed + 1,
    symbols: symbols.map((symbol) => nativeName("venuetwo", symbol)),
    limits: { weightPerMinute: NO_LIMIT, ordersPerMinute: NO_LIMIT, ordersPer10s: NO_LIMIT },
  });
  const venuethree = await startVenuethreeSim({
    ...common,
    seed: seed + 2,
    symbols,
    limits: {
      readsPerMinute: NO_LIMIT,
      weightPerMinute: NO_LIMIT,
      connections: NO_LIMIT,
      newConnectionsPerMinute: NO_LIMIT,
      messagesPerMinute: NO_LIMIT,
      transactionsPerMinute: NO_LIMIT,
      otherTransactionsPerMinute: NO_LIMIT,
    },
  });
  const venuefour = await startVenuefourSim({
    ...common,
    seed: seed + 3,
    symbols,
    limits: { creditsPerMinute: NO_LIMIT },
  });
  const venues: Readonly<Record<FourVenue, JudgedVenue>> = { venueone, venuetwo, venuethree, venuefour };
  let traderCount = 0;
  return {
    venues,
    addTrader(label, positions) {
      const entries = Object.entries(positions);
      const keys = deriveKeys(label, ++traderCount);
      venueone.addAccount({
        address: keys.address,
        deposit: DEPOSIT,
        volume: "50000000",
        agents: [{ address: privateKeyToAccount(keys.agentKey).address.toLowerCase(), name: "test" }],
        positions: entries.map(([coin, size]) => ({ coin, size, entryPx: ENTRY_PRICE[coin] ?? "1" })),
      });
      venuetwo.addAccount({
        accountId: label,
        apiKey: keys.apiKey,
        apiSecret: keys.apiSecret,
        wallet: keys.address,
        deposit: DEPOSIT,
        positions: entries.map(([symbol, qty]) => ({ symbol: nativeName("venuetwo", symbol), qty })),
      });
      venuethree.addAccount({
        accountIndex: keys.accountIndex,
        l1Address: keys.address,
        deposit: DEPOSIT,
        apiKeys: [{ apiKeyIndex: API_KEY_INDEX, publicKey: hex(publicKeyOf(keys.quinticKey)) }],
        positions: entries.map(([symbol, size]) => ({ symbol, size })),
      });
      venuefour.addAccount({
        walletAddress: keys.solanaAddress,
        agents: [keys.solanaAgent],
        deposit: DEPOSIT,
        positions: entries.map(([symbol, qty]) => ({ symbol, qty })),
      });
      return traderOf(label, keys);
    },
    positionLots(venue, trader, symbol) {
      const account = trader.accountIds[venue];
      return venues[venue].exchange.position(account, nativeName(venue, symbol), "BOTH")?.qtyLots ?? 0;
    },
    fault(...specs) {
      const added = FOUR_VENUES.flatMap((venue) =>
        specs.map((spec) => ({ venue, id: venues[venue].faults.add(spec).id })),
      );
      return () => {
        for (const { venue, id } of added) venues[venue].faults.remove(id);
      };
    },
    async stop() {
      await Promise.all(FOUR_VENUES.map((venue) => venues[venue].stop()));
    },
  };
}

interface TraderKeys {
  readonly address: string;
  readonly agentKey: `0x${string}`;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly accountIndex: number;
  readonly quinticKey: Uint8Array;
  readonly solanaAddress: string;
  readonly solanaAgent: string;
  readonly solanaAgentSecret: string;
}

/** Derived from the label; they open nothing but local venues. */
function deriveKeys(label: string, number: number): TraderKeys {
  const bytes = (kind: string): Buffer => createHash("sha256").update(`four/${kind}/${label}`).digest();
  // The group's order is a little under 2^319: with the top byte empty every value is a scalar.
  const quinticKey = Buffer.concat([bytes("quintic"), Buffer.alloc(8)]);
  const agentSeed = bytes("solana-agent");
  return {
    address: privateKeyToAccount(`0x${hex(bytes("main"))}`).address.toLowerCase(),
    agentKey: `0x${hex(bytes("agent"))}`,
    apiKey: hex(bytes("api-key")),
    apiSecret: hex(bytes("api-secret")),
    accountIndex: 1_000 + number,
    quinticKey,
    solanaAddress: encodeBase58(publicHalf(bytes("solana"))),
    solanaAgent: encodeBase58(publicHalf(agentSeed)),
    solanaAgentSecret: encodeBase58(Buffer.concat([agentSeed, publicHalf(agentSeed)])),
  };
}

function traderOf(label: string, keys: TraderKeys): FourTrader {
  return {
    label,
    accountIds: {
      venueone: keys.address,
      venuetwo: label,
      venuethree: String(keys.accountIndex),
      venuefour: keys.solanaAddress,
    },
    credentials: {
      venueone: { privateKey: keys.agentKey },
      venuetwo: { apiKey: keys.apiKey, apiSecret: keys.apiSecret, walletAddress: keys.address },
      venuethree: { apiKeyPrivateKey: hex(keys.quinticKey), accountIndex: keys.accountIndex },
      venuefour: { apiKey: keys.solanaAgent, apiSecret: keys.solanaAgentSecret, walletAddress: keys.solanaAddress },
    },
  };
}

function publicHalf(seed: Buffer): Buffer {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: "der", type: "pkcs8" });
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-32);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
