/**
 * What the venue grants one egress IP. Source: its rate-limit page and public probes of September and
 * October 2026; where documents and measurement disagree the smaller number is used.
 */

/** REST weight per minute. */
export const REST_WEIGHT_PER_MINUTE = 1_200;
export const REST_WINDOW_MS = 60_000;

/** Info weight: `LIGHT_INFO` for these types, `ROLE_INFO_WEIGHT` for userRole, else `HEAVY_INFO_WEIGHT`. */
export const LIGHT_INFO_WEIGHT = 2;
export const HEAVY_INFO_WEIGHT = 20;
export const ROLE_INFO_WEIGHT = 60;
const LIGHT_INFO: ReadonlySet<string> = new Set([
  "l2Book",
  "allMids",
  "clearinghouseState",
  "orderStatus",
  "spotClearinghouseState",
  "exchangeStatus",
]);
/** One more weight per so many rows of the answer. */
const ROW_INFO: ReadonlySet<string> = new Set([
  "recentTrades",
  "historicalOrders",
  "userFills",
  "userFillsByTime",
  "fundingHistory",
  "userFunding",
  "nonUserFundingUpdates",
  // The page names the type above, which no request has; taken for this one.
  "userNonFundingLedgerUpdates",
  "twapHistory",
  "userTwapSliceFills",
  "userTwapSliceFillsByTime",
  "delegatorHistory",
  "delegatorRewards",
  "validatorStats",
]);
const ROWS_PER_WEIGHT = 20;
const CANDLE_ROWS_PER_WEIGHT = 60;
const ITEMS_PER_EXCHANGE_WEIGHT = 40;

export function infoWeight(type: string): number {
  if (LIGHT_INFO.has(type)) return LIGHT_INFO_WEIGHT;
  return type === "userRole" ? ROLE_INFO_WEIGHT : HEAVY_INFO_WEIGHT;
}

/** Weight an answer of `rowCount` rows adds to its request. */
export function rowWeight(type: string, rowCount: number): number {
  if (type === "candleSnapshot") return Math.floor(rowCount / CANDLE_ROWS_PER_WEIGHT);
  return ROW_INFO.has(type) ? Math.floor(rowCount / ROWS_PER_WEIGHT) : 0;
}

export function exchangeWeight(batchLength: number): number {
  return 1 + Math.floor(batchLength / ITEMS_PER_EXCHANGE_WEIGHT);
}

/** Sockets. */
export const MAX_CONNECTIONS = 10;
export const CONNECTS_PER_MINUTE = 30;
export const MAX_SUBSCRIPTIONS = 1_000;
export const MESSAGES_PER_MINUTE = 2_000;
/** Our own pace within that, so that a resubscription leaves room for pings and posts: a quarter minute for 1000. */
export const MESSAGES_PER_SECOND = 60;
/** Distinct users over all user streams. 14 were measured to pass, 10 are promised. */
export const MAX_STREAMED_USERS = 10;

/** The venue closes a socket to which it has sent nothing for 60 s. */
export const PING_EVERY_MS = 30_000;
export const PING_TEXT = '{"method":"ping"}';

/** Depth frames are resent unchanged every 0.54 s (fast) and 5.4 s (default); these ages are stale. */
export const FAST_BOOK_MAX_AGE_MS = 2_000;
export const DEEP_BOOK_MAX_AGE_MS = 7_000;
/** Silence after which one stream is taken for dead: several missed pushes. */
export const FAST_BOOK_LIVENESS_MS = 5_000;
export const DEEP_BOOK_LIVENESS_MS = 16_000;
export const CONTEXT_LIVENESS_MS = 15_000;
/** With fast books subscribed a socket is never quiet this long. */
export const SOCKET_IDLE_MS = 10_000;
/** On a socket without them (deep books every 5.4 s, account streams): two unanswered pings. */
export const QUIET_SOCKET_IDLE_MS = 65_000;
