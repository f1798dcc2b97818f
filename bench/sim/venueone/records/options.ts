/** Options of the local venue, with every limit and cadence it obeys. */
import type { VenueChains } from "../../chain/treasury.js";
import type { VenueOptions } from "../../core/server/venue-server.js";

/** Bounds per IP and per account, from the venue's rate-limit page; measured where noted. */
export interface VenueoneLimits {
  readonly ipWeightPerMinute: number;
  /** From older documentation; the newer says 10, and probing reached neither. */
  readonly connections: number;
  readonly subscriptions: number;
  /** Distinct users over user streams; one more is refused. Measured as 14, documented as 10. */
  readonly users: number;
  readonly messagesPerMinute: number;
  readonly pendingPosts: number;
  /** Requests an account may send before it has traded. */
  readonly addressRequests: number;
  readonly openOrders: number;
}

export const VENUE_LIMITS: VenueoneLimits = {
  ipWeightPerMinute: 1200,
  connections: 100,
  subscriptions: 1000,
  users: 14,
  messagesPerMinute: 2000,
  pendingPosts: 100,
  addressRequests: 10_000,
  openOrders: 1000,
};

/** Measured intervals of the pushes, ms. */
export interface VenueoneCadences {
  readonly blockMs: number;
  readonly bookMs: number;
  readonly fastBookMs: number;
  readonly assetCtxMs: number;
  readonly allMidsMs: number;
  readonly candleMs: number;
  readonly allDexsCtxMs: number;
  /** Full-state user streams (clearinghouseState, openOrders, …); the venue's own interval is not known. */
  readonly userStateMs: number;
  readonly idleCloseMs: number;
  /** How long a cloid lookup may lag behind the acknowledgement. */
  readonly indexLagMs: readonly [min: number, max: number];
}

export const VENUE_CADENCES: VenueoneCadences = {
  blockMs: 70,
  bookMs: 5_360,
  fastBookMs: 538,
  assetCtxMs: 1_000,
  allMidsMs: 5_000,
  candleMs: 1_000,
  allDexsCtxMs: 13_600,
  userStateMs: 5_000,
  idleCloseMs: 60_000,
  indexLagMs: [400, 1_100],
};

export interface VenueoneAgentOptions {
  readonly address: string;
  /** Empty or absent: the unnamed agent. */
  readonly name?: string;
  readonly validUntilMs?: number;
}

export interface VenueoneAccountOptions {
  /** Account address, any case. */
  readonly address: string;
  /** Perp collateral, decimal text in USDC. */
  readonly deposit: string;
  readonly spotDeposit?: string;
  readonly agents?: readonly VenueoneAgentOptions[];
  /** Traded volume before the start, decimal text in USD: opens volume-gated actions. */
  readonly volume?: string;
  /** Starting positions: signed size and entry price as decimal text. */
  readonly positions?: readonly { readonly coin: string; readonly size: string; readonly entryPx: string }[];
}

export interface VenueoneSimOptions extends VenueOptions<VenueoneAccountOptions> {
  /** Coins to trade; the others stay listed as delisted. Default: all. */
  readonly symbols?: readonly string[];
  /** Default true. */
  readonly isMainnet?: boolean;
  readonly limits?: Partial<VenueoneLimits>;
  readonly cadences?: Partial<VenueoneCadences>;
  /** Where deposits come from and withdrawals go to: its bridge is on 42161. Without them a withdrawal goes to no chain. */
  readonly chains?: VenueChains;
  /** Multiplies every push interval (not the idle close): 0.1 is ten times faster. Default 1. */
  readonly cadenceScale?: number;
}

/** Cadences with the scale applied. */
export function resolveCadences(options: VenueoneSimOptions): VenueoneCadences {
  const scale = options.cadenceScale ?? 1;
  const base = { ...VENUE_CADENCES, ...options.cadences };
  const scaled = (ms: number): number => Math.max(1, Math.round(ms * scale));
  return {
    blockMs: scaled(base.blockMs),
    bookMs: scaled(base.bookMs),
    fastBookMs: scaled(base.fastBookMs),
    assetCtxMs: scaled(base.assetCtxMs),
    allMidsMs: scaled(base.allMidsMs),
    candleMs: scaled(base.candleMs),
    allDexsCtxMs: scaled(base.allDexsCtxMs),
    userStateMs: scaled(base.userStateMs),
    idleCloseMs: base.idleCloseMs,
    indexLagMs: base.indexLagMs,
  };
}
