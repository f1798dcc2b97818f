/** Options of the local venue, with every limit, cadence and oddity it obeys. */
import type { VenueOptions } from "../../core/server/venue-server.js";
import type { AccountRegistration } from "./accounts.js";

/** Fact sheet section 10. Reads and connections count per IP over a rolling minute. */
export interface VenuethreeLimits {
  /** Standard accounts spend `readsPerMinute` unweighted, premium ones `weightPerMinute` by the weight of the call. */
  readonly tier: "standard" | "premium";
  readonly readsPerMinute: number;
  readonly weightPerMinute: number;
  readonly connections: number;
  readonly newConnectionsPerMinute: number;
  readonly subscriptionsPerConnection: number;
  readonly messagesPerMinute: number;
  /** Different accounts that one connection may follow. */
  readonly accountsPerConnection: number;
  /** Calls of sendTx and sendTxBatch, REST and socket together, per address of the first layer. */
  readonly transactionsPerMinute: number;
  readonly premiumTransactionsPerMinute: number;
  /** Leverage, margin and other transactions outside the volume quota. */
  readonly otherTransactionsPerMinute: number;
  /** Deliberate delays before matching (fact sheet 11): of makers and cancels, and of takers. */
  readonly makerDelayMs: number;
  readonly takerDelayMs: number;
  readonly premiumMakerDelayMs: number;
  readonly premiumTakerDelayMs: number;
}

export const VENUE_LIMITS: VenuethreeLimits = {
  tier: "standard",
  readsPerMinute: 60,
  weightPerMinute: 24_000,
  connections: 200,
  newConnectionsPerMinute: 80,
  subscriptionsPerConnection: 500,
  messagesPerMinute: 200,
  accountsPerConnection: 500,
  transactionsPerMinute: 60,
  premiumTransactionsPerMinute: 4_000,
  otherTransactionsPerMinute: 40,
  makerDelayMs: 200,
  takerDelayMs: 300,
  premiumMakerDelayMs: 0,
  premiumTakerDelayMs: 200,
};

export interface VenuethreeCadences {
  /** Pulse everything is counted in, and the interval of the tickers. */
  readonly pulseMs: number;
  /** Batches of book changes and trades. */
  readonly bookMs: number;
  readonly statsMs: number;
  readonly candleMs: number;
  readonly heightMs: number;
  /** A client that sends nothing for this long is closed. */
  readonly clientSilenceMs: number;
}

/** 50 ms is documented, 500 ms was seen for candles; the intervals of statistics and height are chosen. */
export const VENUE_CADENCES: VenuethreeCadences = {
  pulseMs: 10,
  bookMs: 50,
  statsMs: 500,
  candleMs: 500,
  heightMs: 150,
  clientSilenceMs: 120_000,
};

/** Oddities that can be switched while the venue runs (`POST /_sim/quirks`). */
export interface VenuethreeQuirks {
  /** False gives book frames as of 2025, without `begin_nonce`. */
  readonly beginNonce: boolean;
  /** Share of book updates whose `begin_nonce` is not the nonce before, although nothing is missing. */
  readonly brokenBeginNonceShare: number;
  /** Each new connection finds an engine that counts from a lower nonce than every one before. */
  readonly resetNonceOnConnect: boolean;
  /** Interval of `{"type":"ping"}` from the server, as older ones send; 0 for none. */
  readonly serverPingMs: number;
  /** Inactive and spot markets answer a book or ticker subscription with an empty snapshot instead of nothing. */
  readonly emptySnapshots: boolean;
  /** How `recentTrades` shows that there are none. */
  readonly noTrades: "null" | "missing" | "empty";
  /** A client order index stays taken after its order has ended; else it is free again then. */
  readonly clientIndexUsedOnce: boolean;
  /** Transactions written to one socket are taken in another order than they were written. */
  readonly unorderedTransactions: boolean;
}

export const DEFAULT_QUIRKS: VenuethreeQuirks = {
  beginNonce: true,
  brokenBeginNonceShare: 0,
  resetNonceOnConnect: false,
  serverPingMs: 0,
  emptySnapshots: false,
  noTrades: "null",
  clientIndexUsedOnce: false,
  unorderedTransactions: false,
};

export interface VenuethreeAccount extends AccountRegistration {
  /** Decimal text, USDC in the perps balance. */
  readonly deposit: string;
  readonly spotDeposit?: string;
  /** Starting positions: signed decimal text; entry at the mark when absent. */
  readonly positions?: readonly { readonly symbol: string; readonly size: string; readonly entryPrice?: string }[];
}

export interface VenuethreeSimOptions extends VenueOptions<VenuethreeAccount> {
  /** First hashed element of every transaction; 304 as the main net. */
  readonly chainId?: number;
  /** Markets that trade; the others of the listing are inactive. Default: three majors. */
  readonly symbols?: readonly string[];
  /** Also lists contracts that do not trade, as the venue does. Default true. */
  readonly listsOthers?: boolean;
  readonly limits?: Partial<VenuethreeLimits>;
  readonly cadences?: Partial<VenuethreeCadences>;
  readonly quirks?: Partial<VenuethreeQuirks>;
  /** API servers behind the one address; connections go round them. */
  readonly apiServerCount?: number;
}

/** Reads changes of quirks that came in from outside; throws RangeError on what is none. */
export function changeQuirks(quirks: VenuethreeQuirks, changes: Readonly<Record<string, unknown>>): VenuethreeQuirks {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(quirks, name)) throw new RangeError(`no quirk ${name}`);
    if (typeof value !== typeof quirks[name as keyof VenuethreeQuirks]) throw new RangeError(`${name}: wrong type`);
    if (typeof value === "number" && !(value >= 0)) throw new RangeError(`${name} must be at least 0`);
    if (name === "noTrades" && value !== "null" && value !== "missing" && value !== "empty")
      throw new RangeError("noTrades must be null, missing or empty");
  }
  return { ...quirks, ...changes };
}
