/**
 * Rate limits and timings of venuetwo, each with its source. "Sheet" is the venue's own API
 * documentation as read in June 2026; see README.md.
 */

/** Weight per minute and IP (exchangeInfo rateLimits, REQUEST_WEIGHT 2400 per 1 MINUTE), used to 80 %. */
export const IP_WEIGHT_PER_MINUTE = 1_920;
/** Orders per account: 1200 a minute and 300 per 10 s (exchangeInfo rateLimits), used to 80 %. */
const ORDERS_PER_MINUTE = 960;
const ORDERS_PER_10_SECONDS = 240;

/** Streams per connection (sheet, websocket section: 200). */
export const MAX_STREAMS_PER_SOCKET = 200;
/** Client messages per second and connection: 10 in the sheet, kept well below, as pings count too. */
export const MAX_MESSAGES_PER_SECOND = 5;
/** Streams named in one SUBSCRIBE: keeps a message far below any size limit. */
export const STREAMS_PER_SUBSCRIBE = 50;
/** Connection life is 24 h (sheet), of market and user streams alike; the replacement is opened half an hour before. */
export const ROTATE_AFTER_MS = 23.5 * 3_600_000;
/** The venue pings every 5 minutes and drops us after 15 without pong (the socket library answers). Market data flows faster: */
export const IDLE_SOCKET_MS = 30_000;
/** New connections per minute: not stated by the venue; the sister dialect states 300 per 5 minutes. */
export const CONNECTS_PER_MINUTE = 30;
export const MAX_CONNECTIONS = 64;

/** Levels asked for in a depth snapshot, and what that costs (sheet: 1000 levels weigh 20). */
export const SNAPSHOT_LEVELS = 1000;
export const SNAPSHOT_WEIGHT = 20;
/** Levels of the stream of the best levels, of REST where that stream is silent, and what the latter costs (sheet: 2). */
export const SHALLOW_LEVELS = 20;
export const SHALLOW_WEIGHT = 2;
/**
 * Weight that snapshots take a minute at most, and at once: the idle budget without exit's quarter (1440), less what
 * probes of quiet markets (about 140) and the first calls of a trade need. The burst is in reserve again after half a minute.
 */
export const SNAPSHOT_WEIGHT_PER_MINUTE = 1_200;
export const SNAPSHOT_WEIGHT_AT_ONCE = 600;
/** Of both, what is left to best levels: after a loss, markets that are quiet have nothing else. */
export const SHALLOW_WEIGHT_RESERVED = 200;
/** Snapshots on the network at once. */
export const MAX_SNAPSHOTS_IN_FLIGHT = 4;
/** From so many markets on their best levels are streamed first: fewer have their whole books at once. */
export const SHALLOW_FROM_MARKETS = 20;
export const EXCHANGE_INFO_WEIGHT = 1;
/** Status, grid, minimums, listing and delisting are known by then: four of weight a minute. */
export const LIST_EVERY_MS = 15_000;
export const FUNDING_INFO_WEIGHT = 1;
export const SERVER_TIME_WEIGHT = 1;
/** ticker/24hr and premiumIndex without a symbol; the latter weighs 1 by the sheet and 10 by observers: the larger is charged. */
export const ALL_TICKERS_WEIGHT = 40;
export const ALL_PREMIUM_WEIGHT = 10;
/** premiumIndex with a symbol. */
export const ONE_PREMIUM_WEIGHT = 1;

export const READ_TIMEOUT_MS = 5_000;
/** exchangeInfo is several hundred kB. */
export const LOAD_TIMEOUT_MS = 10_000;
/** Of one contract's fills of a gap, in a row: about two minutes by the pauses between loads. Once given up, one try a reading. */
export const MAX_FILL_TRIES = 20;

/** listenKey lives 60 minutes; refreshed every 25 (sheet: every 20 to 30). */
export const LISTEN_KEY_REFRESH_MS = 25 * 60_000;
/** Accounts streamed at once: one socket each, within MAX_CONNECTIONS. */
export const MAX_ACCOUNT_STREAMS = 32;

/** Frames and levels a book may buffer while it waits for its snapshot; overflow drops the oldest (market/sync.ts). */
export const MAX_BUFFERED_DIFFS = 2_048;
export const MAX_BUFFERED_LEVELS = 262_144;
/** The same while the turn of its snapshot has not come: some seconds of diffs. */
export const MAX_IDLE_DIFFS = 64;

/** Ignored diffs in a row, on the connection the book lives by, that prove the venue's ids to have begun again: half a second of them. */
export const MAX_LATE_DIFFS = 5;
/** The same over another connection, or before the first diff after a snapshot: either may be seconds behind. */
export const MAX_LATE_DIFFS_ELSEWHERE = 50;
/** Snapshots in a row older than the one that waits, after which the waiting one is given up. */
export const MAX_OLDER_SNAPSHOTS = 3;

/** Age limit of a book for routing (routing design, section 1.5). */
export const MAX_BOOK_AGE_MS = 2_000;

/** Of one account, by both of its windows. */
export function orderLimits(
  perMinute = ORDERS_PER_MINUTE,
  per10Seconds = ORDERS_PER_10_SECONDS,
): readonly { readonly limit: number; readonly windowMs: number }[] {
  return [
    { limit: perMinute, windowMs: 60_000 },
    { limit: per10Seconds, windowMs: 10_000 },
  ];
}
