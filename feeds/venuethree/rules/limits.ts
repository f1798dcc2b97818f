/**
 * Rate limits, fees and timings of venuethree, each with its source. "Sheet" is the venue's own documentation as
 * stored in April to September 2026; see README.md. Where two copies of a page differ the smaller number is here.
 */

/** Account tiers of the fee page; stake steps of premium by staked tokens. */
export type TierName =
  | "standard"
  | "plus"
  | "premium"
  | "premium1k"
  | "premium3k"
  | "premium10k"
  | "premium30k"
  | "premium100k"
  | "premium300k"
  | "premium500k";

export interface Tier {
  readonly makerFeeMilliBps: number;
  readonly takerFeeMilliBps: number;
  /** Added by the venue before it executes a cancel or a resting order. */
  readonly cancelDelayMs: number;
  /** Added by the venue before it matches a taker order. */
  readonly takerDelayMs: number;
  /** Of a rolling minute and IP, in requests (standard) or in weight. */
  readonly restPerMinute: number;
  /** Standard counts requests, the others weight. */
  readonly isWeighted: boolean;
  /** Transactions of a rolling minute and first-layer address, REST and stream together. */
  readonly sendsPerMinute: number;
}

/** Premium has none. */
const SLOW_CANCEL_MS = 200;

/** Fees and delays of the account-types page, limits of the rate-limits page. */
export const TIERS: Readonly<Record<TierName, Tier>> = {
  standard: tier(0, 0, 300, 60, false, 60, SLOW_CANCEL_MS),
  plus: tier(500, 500, 300, 120_000, true, 8_000, SLOW_CANCEL_MS),
  premium: tier(400, 2_800, 200, 24_000, true, 4_000),
  premium1k: tier(390, 2_730, 195, 24_000, true, 5_000),
  premium3k: tier(380, 2_660, 190, 24_000, true, 6_000),
  premium10k: tier(360, 2_520, 180, 24_000, true, 7_000),
  premium30k: tier(340, 2_380, 170, 24_000, true, 8_000),
  premium100k: tier(320, 2_240, 160, 24_000, true, 12_000),
  premium300k: tier(300, 2_100, 150, 24_000, true, 24_000),
  premium500k: tier(280, 1_960, 140, 24_000, true, 40_000),
};

function tier(
  makerFeeMilliBps: number,
  takerFeeMilliBps: number,
  takerDelayMs: number,
  restPerMinute: number,
  isWeighted: boolean,
  sendsPerMinute: number,
  cancelDelayMs = 0,
): Tier {
  return { makerFeeMilliBps, takerFeeMilliBps, cancelDelayMs, takerDelayMs, restPerMinute, isWeighted, sendsPerMinute };
}

/** Of a rolling minute and first-layer address, in every tier: transactions other than orders, cancels and changes (sheet). */
export const OTHER_SENDS_PER_MINUTE = 40;

/** Share of a limit that we use ourselves: the venue counts on its own clock, and other programs share the address. */
export const USED_SHARE = 0.8;
/** Weight of every public read this room makes, where reads have weight (sheet: "everything else"). */
const READ_WEIGHT = 300;

export function readWeight(name: TierName): number {
  return TIERS[name].isWeighted ? READ_WEIGHT : 1;
}

/** Weights of calls that differ from READ_WEIGHT (sheet: rate limits). */
const CALL_WEIGHTS: Readonly<Record<string, number>> = {
  sendTx: 6,
  nextNonce: 6,
  accountInactiveOrders: 100,
  apikeys: 150,
  trades: 600,
};

/** Weight of an account call in the account's tier; standard counts calls. */
export function callWeight(name: TierName, call: string): number {
  return TIERS[name].isWeighted ? (CALL_WEIGHTS[call] ?? READ_WEIGHT) : 1;
}

/** Indexes (sheet: numbers and ranges). 255 means "all" where a key is asked for. */
export const MAX_ACCOUNT_INDEX = 2 ** 48 - 2;
export const MAX_API_KEY_INDEX = 254;
export const ALL_API_KEYS = 255;
export const ALL_MARKETS = 255;
export const MAX_PERP_MARKET_ID = 254;
/** Client order indexes and sizes in lots; from 2^48 up a number names the venue's own order. */
export const MAX_CLIENT_ORDER_INDEX = 2 ** 48 - 1;
export const MAX_BASE_AMOUNT = 2 ** 48 - 1;
export const MAX_PRICE_TICKS = 2 ** 32 - 1;
/** Rows of one page of orders, trades or funding. */
export const MAX_PAGE_ROWS = 100;

export const REST_WINDOW_MS = 60_000;
export const READ_TIMEOUT_MS = 5_000;
/** orderBookDetails of all markets is some 300 kB. */
export const LOAD_TIMEOUT_MS = 10_000;

/** Subscriptions per connection (sheet: 500), a few left for what comes later. */
export const MAX_SUBSCRIPTIONS_PER_SOCKET = 480;
/** Connections of one address (sheet: 200, elsewhere 255), and new ones a minute (80, elsewhere 255). */
export const MAX_CONNECTIONS = 32;
export const CONNECTS_PER_MINUTE = 60;
/** Client messages per minute and address (sheet: 200); keepalives go outside this pace. */
export const MESSAGES_PER_MINUTE = 170;
/**
 * Of them, those of account streams: 60 are left to the height and to books. Enough for all hot
 * accounts at once; positions that are not streamed are read.
 */
export const ACCOUNT_MESSAGES_PER_MINUTE = 110;
/** Unanswered client messages (sheet: 50): at this pace only a venue that needs two seconds to answer meets them. */
export const MESSAGES_PER_SECOND = 20;

/** The client must send something at least every 2 minutes; a WebSocket ping counts. */
export const KEEPALIVE_EVERY_MS = 25_000;
/** Pings of ours are answered, so this long without anything is a dead connection. */
export const IDLE_SOCKET_MS = 30_000;

/**
 * A subscription that was written and brought no snapshot by then was refused without an answer, or lost. Each further
 * attempt waits half as long again, up to the maximum: a venue that is merely slow must not be asked in circles.
 */
export const SUBSCRIBE_DEADLINE_MS = 2_000;
export const SUBSCRIBE_DEADLINE_MAX_MS = 6_000;
/** Frames come in order, so an update before the snapshot says that the snapshot is lost; this long it is given yet. */
export const EARLY_GRACE_MS = 300;
/** Waited for the acknowledgement of an unsubscribe. */
export const UNSUBSCRIBE_DEADLINE_MS = 1_000;
/** Failed attempts in a row after which a market is given up for a while. */
export const ATTEMPTS_BEFORE_REFUSED = 4;
export const REFUSED_RETRY_MS = 5 * 60_000;

/** Book updates are sent in batches of this (sheet): what happened after may still be in the next one. */
export const BATCH_MS = 50;
/** Without a proof from the data for this long the connection is asked with a ping. */
export const PROOF_EVERY_MS = 700;
/** The venue's height comes several times a second (sheet): a connection without it for so long proves no book … */
export const HEIGHT_LATE_MS = 2_000;
/** … and without it for so long it is replaced. */
export const HEIGHT_DEAD_MS = 5_000;
/** A book that contradicts a newer ticker for this long has lost an update: far more than two batches. */
export const OVERDUE_MS = 1_000;
/** REST audits of quiet books a minute, of 60 reads that a standard address has for everything. */
export const AUDITS_PER_MINUTE = 6;
/** A book silent for this long is audited when its turn comes. */
export const AUDIT_AFTER_MS = 60_000;
/** Orders a side asked for in an audit: one row per order (sheet: 1 to 250). */
export const AUDIT_ORDERS = 50;

/** Age limit of a book for routing (routing design, section 1.5). */
export const MAX_BOOK_AGE_MS = 2_000;
/** Trade ids remembered per market; a subscription repeats the last 50. */
export const MAX_REMEMBERED_TRADES = 256;

/** Accounts on one connection (sheet: 500 accounts, 500 subscriptions; three channels each). */
export const MAX_STREAMED_ACCOUNTS = 160;
/** A second use within this makes an account hot: it gets a stream of its own, without being asked for one. */
export const HOT_WINDOW_MS = 60_000;
/** A hot account that was not used for this long releases its stream: its read token outlives no request for longer. */
export const HOT_IDLE_MS = 60_000;
/**
 * Hot accounts at once. Each costs four reads when it begins and one in two minutes then: together at most 12 of the 60 a
 * minute that a standard address has.
 */
export const MAX_HOT_ACCOUNTS = 24;
/** The read token of a hot account is signed again by a use this long after the last. */
export const KEPT_TOKEN_RENEW_MS = 3_600_000;
/** The answer proves the connection alive (streamed-reads.ts: 6 s of silence); outside the pace of messages, thirty a minute. */
export const ACCOUNT_PING_EVERY_MS = 2_000;
/** Tokens of subscriptions; the venue takes deadlines up to 8 h ahead. Renewed well before. */
export const STREAM_TOKEN_LIFE_S = 7 * 3_600;
export const TOKEN_RENEW_MS = 6 * 3_600_000;

/** Transactions written to the connection and not answered, over all keys; more go as single requests. */
export const MAX_UNANSWERED_TXS = 2_048;
/** The connection that carries transactions is asked so often whether it lives, and given up after this silence. */
export const TX_PING_EVERY_MS = 5_000;
export const TX_IDLE_SOCKET_MS = 12_000;
/** A connection that lives but answers no transaction is left alone for so long. */
export const TX_DISTRUST_MS = 10_000;
/** The venue says "too many" and no time: as for single requests. */
export const TX_LIMITED_PAUSE_MS = 1_500;
