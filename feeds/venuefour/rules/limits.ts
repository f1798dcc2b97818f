/**
 * What the venue grants, and our own pace within it. Source: its rate-limit and WebSocket pages of 2026, and testnet
 * captures of June 2026; (design) marks our own choices.
 */

/** Request credits per rolling minute and IP without a key: 100 on the 2026 page, 125 on that of 2025. */
export const CREDITS_PER_MINUTE = 100;
export const CREDIT_WINDOW_MS = 60_000;
/** `r` and `q` of the `ratelimit` headers are ten times credits. */
export const HEADER_UNITS_PER_CREDIT = 10;
/** Which reads cost more is not published; market reads are taken as standard ones, and the header corrects us. */
export const READ_CREDITS = 1;
/** Orders and everything else that is signed; cancels cost half. */
export const ORDER_CREDITS = 1;
export const CANCEL_CREDITS = 0.5;
/** Histories of orders and fills, by the weights that one client library uses (3 to 12 on the page). */
export const HISTORY_CREDITS = 12;
/** Credits of the lowest tier of an API config key, used to 80 % (design). */
export const KEY_CREDITS_PER_MINUTE = 240;
/** The speed bump before market, GTC and IOC orders (its order-types page, since 2025-11-12). */
export const TAKER_DELAY_MS = 200;
/**
 * Expiry window of a signed request: the SDK's own 5 s at least, the server's default of 30 s at most (larger ones are
 * in use, but not documented).
 */
export const MIN_EXPIRY_MS = 5_000;
export const MAX_EXPIRY_MS = 30_000;
/**
 * After a window the venue takes the request no more, plus: the speed bump of 200 ms that orders wait after the check,
 * what our clock estimate may be off (whole-second stamps), and an engine that lags (design).
 */
export const EXPIRY_MARGIN_MS = 3_000;
/** Rows of one history page, the venue's default. */
export const HISTORY_PAGE_ROWS = 100;
/** Accounts streamed at once, a connection each (design). */
export const MAX_ACCOUNT_STREAMS = 32;

export const READ_TIMEOUT_MS = 5_000;
/** `/info` is some 30 kB. */
export const LOAD_TIMEOUT_MS = 10_000;
/** Of the fills of a gap, in a row: minutes, by the pauses between loads. Once given up, one try for each loss. */
export const MAX_FILL_TRIES = 20;

/** Connections per IP are 300; a fifth is left to others behind the same address (design). */
export const MAX_CONNECTIONS = 240;
/** Not stated by the venue (design). */
export const CONNECTS_PER_MINUTE = 30;
/** Subscriptions per channel and connection. */
export const SUBSCRIPTIONS_PER_CHANNEL = 20;
/** Not stated by the venue (design): the sixty subscriptions of a socket in two seconds. */
export const MESSAGES_PER_SECOND = 30;

/** The venue closes a connection after 60 s without a message of ours, and knows only this ping. */
export const PING_TEXT = '{"method":"ping"}';
export const PING_EVERY_MS = 20_000;
/** Two unanswered pings. Books that fall silent are noticed long before, one by one. */
export const SOCKET_IDLE_MS = 45_000;
/**
 * An account's connection is asked whether it lives: its positions count only while it does (streamed-reads.ts: 6 s).
 */
export const ACCOUNT_PING_EVERY_MS = 2_000;
export const ACCOUNT_IDLE_MS = 12_000;
/** A connection lives 24 h; its replacement is opened half an hour before. */
export const ROTATE_AFTER_MS = 23.5 * 3_600_000;

/**
 * Age limit of a book (design). Whole books come every 250 ms, repeated when nothing changed (500 ms until October
 * 2025): six frames in a row must be missing, or three at the older pace, before a book counts as stale. More would let
 * a lost stream pass for a quiet market, less would take one late frame of a busy server for a lost stream.
 */
export const MAX_BOOK_AGE_MS = 1_500;
/** Silence of one book after which the venue is asked (design): twenty frames. */
export const BOOK_LIVENESS_MS = 5_000;
/** A quiet touch is normal; after this it is compared with the book (design). */
export const TOUCH_LIVENESS_MS = 30_000;
/** Oracles move every 3 s, and any price that moves brings a frame (design). */
export const PRICES_LIVENESS_MS = 30_000;
/**
 * The echo of a subscription comes within a round trip; a name that the venue does not know gets no answer at all
 * (design). Shorter than BOOK_LIVENESS_MS, so that a refused book is known as refused before it looks dead.
 */
export const ECHO_TIMEOUT_MS = 3_000;
/** A refused subscription is tried again after this, doubling up to the cap (design). */
export const REFUSED_RETRY_MS = 60_000;
export const REFUSED_RETRY_CAP_MS = 15 * 60_000;
/** REST reads spent on books that fell silent, per minute of all (design): a tenth of the credits. */
export const PROBES_PER_MINUTE = 10;
/** Last prices read over REST at the start, most traded markets first (design): a tenth of the credits. */
export const SEEDED_LAST_PRICES = 10;
