/**
 * All four local venues in this process on one price model, and traders with an account on each. A test concludes from
 * these venues' own logs, orders and positions.
 */
import { createHash, createPrivateKey, createPublicKey } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { encodeBase58 } from "../../../feeds/venuefour/sign/base58.js";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { parseScaled } from "../../sim/core/model/fixed.js";
import type {} from "../../sim/core/server/fault-types.js";
import type { FaultInjector } from "../../sim/core/server/faults.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { FlowOptions } from "../../sim/core/engine/flow.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import type { SimInstrument, SimOrderRequest, SimRefusal, SimSide } from "../../sim/core/model/types.js";
import type { SimRequestLog } from "../../sim/core/server/request-log.js";
import { addFaults, entryPrice, nativeName, NO_LIMIT, startLocalVenues, stopVenues } from "./local-venues.js";

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
  /** Every text of the credentials that must appear nowhere. */
  readonly secrets: readonly string[];
  /** The account's name in each venue's core. */
  readonly accountIds: Readonly<Record<FourVenue, string>>;
  /** The `credentials` object of a request. */
  readonly credentials: Readonly<Record<FourVenue, Readonly<Record<string, unknown>>>>;
  /** Credentials of further agents of the same account on venueone. */
  readonly moreAgents: readonly Readonly<Record<string, unknown>>[];
}

interface TraderOptions {
  /** Deposit in quote units on each venue; by default more than any test spends. */
  readonly deposit?: string;
  /** Signs on venuetwo as an agent, whose requests carry nonces, instead of with an API key. */
  readonly viaAgent?: boolean;
  /** Volume traded at venueone before, USDC. */
  readonly volume?: string;
}

export interface FourVenues {
  readonly venues: Readonly<Record<FourVenue, JudgedVenue>>;
  /** Clock of all venues, which stamps their logs. */
  nowMs(): number;
  /** `positions`: signed decimal text by canonical symbol, the same on every venue. */
  addTrader(label: string, positions: Readonly<Record<string, string>>, options?: TraderOptions): FourTrader;
  /** Signed position in lots of the venue. */
  positionLots(venue: FourVenue, trader: FourTrader, symbol: string): number;
  /** Notional in quote units that the free margin carries at the current leverage. */
  buyingPower(venue: FourVenue, trader: FourTrader, symbol: string): number;
  /** Mid of the venue's own book, quote units. */
  mid(venue: FourVenue, symbol: string): number;
  /**
   * Makes the venue call `veto` before it takes an order of the trader, until the returned function is called. A
   * returned reason refuses the order. One at a time for each trader and venue.
   */
  veto(venue: FourVenue, trader: FourTrader, veto: (request: SimOrderRequest) => SimRefusal | null): () => void;
  /** Sends a market order of the trader past our service. Returns the filled lots. */
  outside(venue: FourVenue, trader: FourTrader, symbol: string, side: SimSide, size: string): number;
  /** Adds the faults to the venues; the returned function ends them. */
  fault(venues: readonly FourVenue[], specs: readonly FaultSpec[]): () => void;
  stop(): Promise<void>;
}

export interface FourOptions {
  readonly seed: number;
  readonly symbols: readonly string[];
  readonly flow?: Partial<FlowOptions>;
  /** Requests that venueone grants an address before it has traded; default: no limit. */
  readonly addressRequests?: number;
}

/** Symbols that the service of the simulation follows, and one more contract that every venue lists. */
export const FOLLOWED: readonly string[] = ["BTC", "ETH"];
export const UNFOLLOWED = "SOL";

const DEPOSIT = "100000000";
const API_KEY_INDEX = 4;
/** DER head of a bare Ed25519 key (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

/** The venue has no limit that a test reaches. */
const VENUETHREE_LIMITS = {
  weightPerMinute: NO_LIMIT,
  connections: NO_LIMIT,
  newConnectionsPerMinute: NO_LIMIT,
  messagesPerMinute: NO_LIMIT,
  transactionsPerMinute: NO_LIMIT,
  otherTransactionsPerMinute: NO_LIMIT,
};

export async function startFourVenues(options: FourOptions): Promise<FourVenues> {
  const clock = createSystemClock();
  const sims = await startLocalVenues(FOUR_VENUES, { ...options, clock, venuethreeLimits: VENUETHREE_LIMITS });
  const { venueone, venuetwo, venuethree, venuefour } = sims;
  const venues: Readonly<Record<FourVenue, JudgedVenue>> = sims;
  const vetoes = new Map<string, (request: SimOrderRequest) => SimRefusal | null>();
  for (const venue of FOUR_VENUES)
    venues[venue].exchange.orders.setVeto((account, request) => vetoes.get(`${venue} ${account}`)?.(request) ?? null);
  let traderCount = 0;
  return {
    venues,
    nowMs: () => clock.wallMs(),
    addTrader(label, positions, { deposit = DEPOSIT, viaAgent = false, volume = "50000000" } = {}) {
      const entries = Object.entries(positions);
      const keys = deriveKeys(label, ++traderCount);
      venueone.addAccount({
        address: keys.address,
        deposit,
        volume,
        agents: [keys.agentKey, ...keys.moreAgentKeys].map((key, index) => ({
          address: privateKeyToAccount(key).address.toLowerCase(),
          name: `test${index}`,
        })),
        positions: entries.map(([coin, size]) => ({ coin, size, entryPx: entryPrice(coin) })),
      });
      venuetwo.addAccount({
        accountId: label,
        apiKey: keys.apiKey,
        apiSecret: keys.apiSecret,
        wallet: keys.address,
        agents: [keys.venuetwoAgent],
        deposit,
        positions: entries.map(([symbol, qty]) => ({ symbol: nativeName("venuetwo", symbol), qty })),
      });
      venuethree.addAccount({
        accountIndex: keys.accountIndex,
        l1Address: keys.address,
        deposit,
        apiKeys: [{ apiKeyIndex: API_KEY_INDEX, publicKey: hex(publicKeyOf(keys.quinticKey)) }],
        positions: entries.map(([symbol, size]) => ({ symbol, size })),
      });
      venuefour.addAccount({
        walletAddress: keys.solanaAddress,
        agents: [keys.solanaAgent],
        deposit,
        positions: entries.map(([symbol, qty]) => ({ symbol, qty })),
      });
      return traderOf(label, keys, viaAgent);
    },
    positionLots(venue, trader, symbol) {
      const account = trader.accountIds[venue];
      return venues[venue].exchange.accounts.position(account, nativeName(venue, symbol), "BOTH")?.qtyLots ?? 0;
    },
    buyingPower(venue, trader, symbol) {
      const { exchange } = venues[venue];
      const account = trader.accountIds[venue];
      const freeE12 = exchange.accounts.margin(account).availableE12;
      return (Number(freeE12) / 1e12) * exchange.accounts.leverage(account, nativeName(venue, symbol));
    },
    mid(venue, symbol) {
      const { exchange } = venues[venue];
      const native = nativeName(venue, symbol);
      const [bid, ask] = [exchange.market.bestBid(native), exchange.market.bestAsk(native)];
      if (bid === null || ask === null) throw new RangeError(`${venue} has no ${symbol} book`);
      const { priceDecimals } = instrumentOf(exchange, native);
      return (bid.priceTicks + ask.priceTicks) / 2 / 10 ** priceDecimals;
    },
    veto(venue, trader, veto) {
      const name = `${venue} ${trader.accountIds[venue]}`;
      vetoes.set(name, veto);
      return () => void vetoes.delete(name);
    },
    outside(venue, trader, symbol, side, size) {
      const { exchange } = venues[venue];
      const native = nativeName(venue, symbol);
      const lots = Number(parseScaled(size, instrumentOf(exchange, native).qtyDecimals) ?? 0n);
      const placed = exchange.orders.place(trader.accountIds[venue], {
        symbol: native,
        side,
        type: "MARKET",
        timeInForce: "IOC",
        priceTicks: null,
        qtyLots: lots,
        reduceOnly: false,
        positionSide: "BOTH",
        clientId: null,
        trigger: null,
        closePosition: false,
      });
      return placed.ok ? placed.value.filledLots : 0;
    },
    fault: (where, specs) => addFaults(venues, where, specs),
    stop: () => stopVenues(sims),
  };
}

function instrumentOf(exchange: SimExchange, native: string): SimInstrument {
  const instrument = exchange.instruments.get(native);
  if (instrument === undefined) throw new RangeError(`no instrument ${native}`);
  return instrument;
}

interface TraderKeys {
  readonly address: string;
  readonly agentKey: `0x${string}`;
  readonly moreAgentKeys: readonly `0x${string}`[];
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly venuetwoAgent: string;
  readonly venuetwoAgentKey: `0x${string}`;
  readonly accountIndex: number;
  readonly quinticKey: Uint8Array;
  readonly solanaAddress: string;
  readonly solanaAgent: string;
  readonly solanaAgentSecret: string;
}

/** Derives the keys from the label; they open nothing but local venues. */
function deriveKeys(label: string, number: number): TraderKeys {
  const bytes = (kind: string): Buffer => createHash("sha256").update(`four/${kind}/${label}`).digest();
  // The group's order is a little under 2^319: with the top byte empty every value is a scalar.
  const quinticKey = Buffer.concat([bytes("quintic"), Buffer.alloc(8)]);
  const agentSeed = bytes("solana-agent");
  const venuetwoAgentKey = `0x${hex(bytes("agent-two"))}` as const;
  return {
    address: privateKeyToAccount(`0x${hex(bytes("main"))}`).address.toLowerCase(),
    agentKey: `0x${hex(bytes("agent"))}`,
    moreAgentKeys: [`0x${hex(bytes("agent-b"))}`, `0x${hex(bytes("agent-c"))}`],
    apiKey: hex(bytes("api-key")),
    apiSecret: hex(bytes("api-secret")),
    venuetwoAgent: privateKeyToAccount(venuetwoAgentKey).address,
    venuetwoAgentKey,
    accountIndex: 1_000 + number,
    quinticKey,
    solanaAddress: encodeBase58(publicHalf(bytes("solana"))),
    solanaAgent: encodeBase58(publicHalf(agentSeed)),
    solanaAgentSecret: encodeBase58(Buffer.concat([agentSeed, publicHalf(agentSeed)])),
  };
}

function traderOf(label: string, keys: TraderKeys, viaAgent: boolean): FourTrader {
  const { apiKey, apiSecret, venuetwoAgent, venuetwoAgentKey } = keys;
  const ofVenuetwo = viaAgent ? { apiKey: venuetwoAgent, apiSecret: venuetwoAgentKey } : { apiKey, apiSecret };
  return {
    label,
    moreAgents: keys.moreAgentKeys.map((privateKey) => ({ privateKey })),
    secrets: [keys.agentKey, ofVenuetwo.apiSecret, hex(keys.quinticKey), keys.solanaAgentSecret].map((secret) =>
      secret.replace(/^0x/, ""),
    ),
    accountIds: {
      venueone: keys.address,
      venuetwo: label,
      venuethree: String(keys.accountIndex),
      venuefour: keys.solanaAddress,
    },
    credentials: {
      venueone: { privateKey: keys.agentKey },
      venuetwo: { ...ofVenuetwo, walletAddress: keys.address },
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
