/** Options of the local venue, with every limit, cadence and oddity it obeys. */
import type { StartingPosition } from "../../core/engine/starting-position.js";
import type { VenueOptions } from "../../core/server/venue-server.js";

/** Fact sheet sections 7 and 10. Credits count over a rolling minute. */
export interface VenuefourLimits {
  /** Per IP without a config key. */
  readonly creditsPerMinute: number;
  /** Per main account, with a config key. */
  readonly keyCreditsPerMinute: number;
  readonly connections: number;
  readonly subscriptionsPerChannel: number;
}

export const VENUE_LIMITS: VenuefourLimits = {
  creditsPerMinute: 100,
  keyCreditsPerMinute: 300,
  connections: 300,
  subscriptionsPerChannel: 20,
};

export interface VenuefourCadences {
  /** The venue's timer: all intervals are multiples of it, and bbo and trades have it as theirs. */
  readonly pulseMs: number;
  readonly bookMs: number;
  readonly pricesMs: number;
  readonly candleMs: number;
  /** Wait before market, GTC and IOC orders reach the book. */
  readonly speedBumpMs: number;
  /** A client that sends no message for this long is closed. */
  readonly clientSilenceMs: number;
  readonly socketLifeMs: number;
}

/** 250 ms, 200 ms, 60 s and 24 h are documented; the rates of prices and candles are not known and chosen. */
export const VENUE_CADENCES: VenuefourCadences = {
  pulseMs: 10,
  bookMs: 250,
  pricesMs: 500,
  candleMs: 500,
  speedBumpMs: 200,
  clientSilenceMs: 60_000,
  socketLifeMs: 24 * 3_600_000,
};

/** Oddities that can be switched while the venue runs (`POST /_sim/quirks`). */
export interface VenuefourQuirks {
  /** Share of new book states whose `li` is the id of an old order, so that it jumps back while `t` rises. */
  readonly oldBookIdShare: number;
  /** Share of book pushes that are followed by the snapshot before, with its older `t`. */
  readonly staleBookShare: number;
  /** Whether WebSocket pings count as a sign of life; the sources do not say. */
  readonly pingFramesCount: boolean;
  /** Which table the business codes are of. */
  readonly errorTable: "2025" | "2026";
  /** A wrong signature is answered in plain text. */
  readonly plainVerification: boolean;
  /** `old`: settings are a list; `new`: an object that holds it. */
  readonly settingsShape: "old" | "new";
  /** `array`: `/account` answers a list of one, as in the pages of 2025. */
  readonly accountShape: "array" | "object";
  /** Age from which on `orders/history_by_id` knows an event. */
  readonly historyLagMs: number;
  /** Share of fills whose `account_trades` frame goes before the order update. */
  readonly tradesFirstShare: number;
  /** How much later than the order update `account_trades` comes. */
  readonly lateTradesMs: number;
}

export const DEFAULT_QUIRKS: VenuefourQuirks = {
  oldBookIdShare: 0.4,
  staleBookShare: 0,
  pingFramesCount: false,
  errorTable: "2026",
  plainVerification: false,
  // The shape that the widespread client library reads.
  settingsShape: "old",
  accountShape: "object",
  historyLagMs: 0,
  tradesFirstShare: 0.5,
  lateTradesMs: 0,
};

const WORDS: Readonly<Record<string, readonly string[]>> = {
  errorTable: ["2025", "2026"],
  settingsShape: ["old", "new"],
  accountShape: ["array", "object"],
};
const DELAY_MAX_MS = 60_000;

export interface VenuefourAccount {
  /** Base58 of 32 bytes; with `accountId` the engine's name of it is another. */
  readonly walletAddress?: string;
  /** Default: the wallet address. */
  readonly accountId?: string;
  /** Public keys of agents; default: one made from the seed. */
  readonly agents?: readonly string[];
  /** Decimal text, quote units. */
  readonly deposit: string;
  readonly positions?: readonly StartingPosition[];
}

export interface VenuefourSimOptions extends VenueOptions<VenuefourAccount> {
  /** Of the captured listing, in its spelling; default three majors. Spot markets are always listed and never trade. */
  readonly symbols?: readonly string[];
  readonly limits?: Partial<VenuefourLimits>;
  readonly cadences?: Partial<VenuefourCadences>;
  readonly quirks?: Partial<VenuefourQuirks>;
}

/** Reads changes of quirks from outside. Throws RangeError on what is none. */
export function changeQuirks(quirks: VenuefourQuirks, changes: Readonly<Record<string, unknown>>): VenuefourQuirks {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(quirks, name)) throw new RangeError(`no quirk ${name}`);
    if (typeof value !== typeof quirks[name as keyof VenuefourQuirks]) throw new RangeError(`${name}: wrong type`);
    const max = name.endsWith("Ms") ? DELAY_MAX_MS : 1;
    if (typeof value === "number" && !(value >= 0 && value <= max))
      throw new RangeError(`${name} must be from 0 to ${max}`);
    const words = WORDS[name];
    if (words !== undefined && !words.includes(String(value))) throw new RangeError(`${name}: ${words.join(" or ")}`);
  }
  return { ...quirks, ...changes };
}
