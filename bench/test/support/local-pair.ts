/**
 * Both local venues in this process, one price model, and traders made from a label: the judge's side of the
 * whole-path tests. What a test concludes comes from these venues' own books, orders and positions.
 */
import { createHash } from "node:crypto";
import { privateKeyToAccount } from "viem/accounts";
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import { createFactorModel } from "../../sim/core/market/factor-model.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { FlowOptions } from "../../sim/core/engine/flow.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import { startVenuetwoSim, type VenuetwoSim } from "../../sim/venuetwo/sim.js";

export type PairVenue = "venueone" | "venuetwo";
export const PAIR_VENUES: readonly PairVenue[] = ["venueone", "venuetwo"];

/** Canonical symbol → the venue's own name. */
export const NATIVE: Readonly<Record<PairVenue, Readonly<Record<string, string>>>> = {
  venueone: { BTC: "BTC", ETH: "ETH", DOGE: "DOGE" },
  venuetwo: { BTC: "BTCUSDT", ETH: "ETHUSDT", DOGE: "DOGEUSDT" },
};

/** One trader with accounts on both venues. The keys are derived from its label and open nothing but local venues. */
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
  /** Instead of the derived one: a canary. */
  readonly apiKey?: string;
  readonly apiSecret?: string;
}

export interface LocalPair {
  readonly venueone: VenueoneSim;
  readonly venuetwo: VenuetwoSim;
  addTrader(label: string, options: TraderOptions): Trader;
  /** Signed size of a position in lots of the venue; on a hedge-mode account of the side named. */
  positionLots(venue: PairVenue, trader: Trader, symbol: string, side?: "BOTH" | "LONG" | "SHORT"): number;
  /** Adds the same fault to the venues named; the function returned ends it there. */
  fault(venues: readonly PairVenue[], ...specs: readonly FaultSpec[]): () => void;
  stop(): Promise<void>;
}

export interface PairOptions {
  readonly seed: number;
  /** Canonical; default BTC and ETH. */
  readonly symbols?: readonly string[];
  readonly clock?: Clock;
  /** Of venueone's push intervals; default 0.1. */
  readonly cadenceScale?: number;
  readonly flow?: Partial<FlowOptions>;
}

const NO_LIMIT = 1_000_000_000;
/** Near the model's prices, so that no account is born liquidated. */
const ENTRY_PRICE: Readonly<Record<string, string>> = { BTC: "91000", ETH: "3200" };

export async function startLocalPair(options: PairOptions): Promise<LocalPair> {
  const { seed, symbols = ["BTC", "ETH"], clock = createSystemClock(), cadenceScale = 0.1 } = options;
  const priceSource = createFactorModel({ seed, startMs: clock.wallMs() });
  const flow = options.flow === undefined ? {} : { flow: options.flow };
  const native = (venue: PairVenue): string[] => symbols.map((symbol) => nativeOf(venue, symbol));
  const venueone = await startVenueoneSim({
    seed,
    clock,
    priceSource,
    symbols: native("venueone"),
    cadenceScale,
    limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: NO_LIMIT },
    ...flow,
  });
  const venuetwo = await startVenuetwoSim({
    seed: seed + 1,
    clock,
    priceSource,
    symbols: native("venuetwo"),
    limits: { weightPerMinute: NO_LIMIT, ordersPerMinute: NO_LIMIT, ordersPer10s: NO_LIMIT },
    ...flow,
  });
  const sims = { venueone, venuetwo };
  return {
    venueone,
    venuetwo,
    addTrader(label, traderOptions) {
      const trader = deriveTrader(label, traderOptions);
      openAccounts(sims, trader, traderOptions);
      return trader;
    },
    positionLots(venue, trader, symbol, side = "BOTH") {
      return sims[venue].exchange.position(accountOf(venue, trader), nativeOf(venue, symbol), side)?.qtyLots ?? 0;
    },
    fault(venues, ...specs) {
      const added = venues.flatMap((venue) => specs.map((spec) => ({ venue, id: sims[venue].faults.add(spec).id })));
      return () => {
        for (const { venue, id } of added) sims[venue].faults.remove(id);
      };
    },
    async stop() {
      await Promise.all([venueone.stop(), venuetwo.stop()]);
    },
  };
}

export function nativeOf(venue: PairVenue, symbol: string): string {
  const name = NATIVE[venue][symbol];
  if (name === undefined) throw new RangeError(`no ${symbol} on ${venue}`);
  return name;
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
      coin: nativeOf("venueone", symbol),
      size,
      entryPx: ENTRY_PRICE[symbol] ?? "1",
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
      symbol: nativeOf("venuetwo", symbol),
      qty,
      ...(hedgeMode ? { positionSide: qty.startsWith("-") ? ("SHORT" as const) : ("LONG" as const) } : {}),
    })),
  });
}
