/**
 * The first two local venues in this process on one price model, and traders made from a label: the judge's side of the
 * whole-path tests. A test concludes from these venues' own books, orders and positions.
 */
import { createHash } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import type { Clock } from "../../../engine/domain/clock.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { FlowOptions } from "../../sim/core/engine/flow.js";
import type { VenueoneSim } from "../../sim/venueone/sim.js";
import type { VenuetwoSim } from "../../sim/venuetwo/sim.js";
import {
  addFaults,
  entryPrice,
  type LocalVenuesOptions,
  nativeName,
  startLocalVenues,
  stopVenues,
} from "./local-venues.js";

export type PairVenue = "venueone" | "venuetwo";
export const PAIR_VENUES: readonly PairVenue[] = ["venueone", "venuetwo"];

/** One trader with accounts on both venues. Its keys derive from its label and open nothing but local venues. */
export interface Trader {
  readonly label: string;
  readonly venueone: { readonly address: string; readonly privateKey: `0x${string}`; readonly agentKey: `0x${string}` };
  readonly venuetwo: {
    readonly accountId: string;
    readonly apiKey: string;
    readonly apiSecret: string;
    readonly walletAddress: string;
    readonly agentAddress: string;
    readonly agentKey: `0x${string}`;
  };
}

export interface TraderOptions {
  /** Signed decimal text by canonical symbol, the same on both venues. */
  readonly positions: Readonly<Record<string, string>>;
  readonly hedgeMode?: boolean;
  /** A canary in place of the derived key. */
  readonly apiKey?: string;
  readonly apiSecret?: string;
}

export interface LocalPair {
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  addTrader(label: string, options: TraderOptions): Trader;
  /** Signed size of a position in lots of the venue; on a hedge-mode account that of the side named. */
  positionLots(venue: PairVenue, trader: Trader, symbol: string, side?: "BOTH" | "LONG" | "SHORT"): number;
  /** Adds the same fault to the venues named; the returned function ends it there. */
  fault(venues: readonly PairVenue[], ...specs: readonly FaultSpec[]): () => void;
  stop(): Promise<void>;
}

export interface PairOptions {
  readonly seed: number;
  /** Canonical; default BTC and ETH. */
  readonly symbols?: readonly string[];
  readonly clock?: Clock;
  /** Scale of venueone's push intervals; default 0.1. */
  readonly cadenceScale?: number;
  readonly flow?: Partial<FlowOptions>;
  readonly chains?: NonNullable<LocalVenuesOptions["chains"]>;
}

export async function startLocalPair(options: PairOptions): Promise<LocalPair> {
  const sims = await startLocalVenues(PAIR_VENUES, { symbols: ["BTC", "ETH"], ...options });
  return {
    ...sims,
    addTrader(label, traderOptions) {
      const trader = deriveTrader(label, traderOptions);
      openAccounts(sims, trader, traderOptions);
      return trader;
    },
    positionLots(venue, trader, symbol, side = "BOTH") {
      return (
        sims[venue].exchange.accounts.position(accountOf(venue, trader), nativeName(venue, symbol), side)?.qtyLots ?? 0
      );
    },
    fault: (venues, ...specs) => addFaults(sims, venues, specs),
    stop: () => stopVenues(sims),
  };
}

/** The venue's name of the trader's account. */
export function accountOf(venue: PairVenue, trader: Trader): string {
  return venue === "venueone" ? trader.venueone.address : trader.venuetwo.accountId;
}

/** The `credentials` object of a close: venueone through the agent, venuetwo by API key. */
export function credentialsOf(trader: Trader): Record<string, Record<string, string>> {
  const { apiKey, apiSecret, walletAddress } = trader.venuetwo;
  return { venueone: { privateKey: trader.venueone.agentKey }, venuetwo: { apiKey, apiSecret, walletAddress } };
}

/** venuetwo through its agent (v3) instead of the API key. */
export function agentCredentialsOf(trader: Trader): Record<string, Record<string, string>> {
  const { agentAddress, agentKey, walletAddress } = trader.venuetwo;
  return { venuetwo: { apiKey: agentAddress, apiSecret: agentKey, walletAddress } };
}

function deriveTrader(label: string, options: TraderOptions): Trader {
  const privateKey = deriveKey(label, "main");
  const agentKey = deriveKey(label, "agent");
  const agentTwoKey = deriveKey(label, "agent-two");
  const address = privateKeyToAccount(privateKey).address.toLowerCase();
  return {
    label,
    venueone: { address, privateKey, agentKey },
    venuetwo: {
      accountId: label,
      apiKey: options.apiKey ?? deriveKey(label, "api-key").slice(2),
      apiSecret: options.apiSecret ?? deriveKey(label, "api-secret").slice(2),
      walletAddress: address,
      agentAddress: privateKeyToAccount(agentTwoKey).address,
      agentKey: agentTwoKey,
    },
  };
}

function deriveKey(label: string, kind: string): `0x${string}` {
  return `0x${createHash("sha256").update(`whole-path/${kind}/${label}`).digest("hex")}`;
}

function openAccounts(sims: Pick<LocalPair, "venueone" | "venuetwo">, trader: Trader, options: TraderOptions): void {
  const entries = Object.entries(options.positions);
  sims.venueone.addAccount({
    address: trader.venueone.address,
    deposit: "100000000",
    volume: "50000000",
    agents: [{ address: privateKeyToAccount(trader.venueone.agentKey).address.toLowerCase(), name: "test" }],
    positions: entries.map(([symbol, size]) => ({
      coin: nativeName("venueone", symbol),
      size,
      entryPx: entryPrice(symbol),
    })),
  });
  const hedgeMode = options.hedgeMode ?? false;
  sims.venuetwo.addAccount({
    accountId: trader.venuetwo.accountId,
    apiKey: trader.venuetwo.apiKey,
    apiSecret: trader.venuetwo.apiSecret,
    wallet: trader.venuetwo.walletAddress,
    agents: [trader.venuetwo.agentAddress],
    deposit: "100000000",
    hedgeMode,
    positions: entries.map(([symbol, qty]) => ({
      symbol: nativeName("venuetwo", symbol),
      qty,
      ...(hedgeMode ? { positionSide: qty.startsWith("-") ? ("SHORT" as const) : ("LONG" as const) } : {}),
    })),
  });
}
