/** Bounds of time and count that the orders of trades and single orders share. */

/** Live positions are waited for no longer than this (routing design, 1.1). */
export const POSITIONS_DEADLINE_MS = 800;
/** A durable write that takes longer counts as failed: nothing is sent. */
export const STORE_TIMEOUT_MS = 2_000;
/** Position orders one trade may try, all venues and clamps together; each leg of a split beyond the first adds one. */
export const MAX_ATTEMPTS = 4;
/** Below this much time left no further order is started. */
export const MIN_RETRY_MS = 50;
/** A request that has little time left still gives its order this long to be answered: an unknown outcome is dearer. */
export const MIN_SEND_TIMEOUT_MS = 250;
/** However long the caller's deadline, one order is answered within this or its outcome is unknown. */
export const MAX_SEND_TIMEOUT_MS = 10_000;
/** Subscribers to the end of orders that were unknown at their reply. */
export const MAX_RESOLVED_LISTENERS = 16;
