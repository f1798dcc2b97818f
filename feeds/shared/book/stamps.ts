/**
 * What a venue's stamp is believed of, in every room alike:
 *
 * - More than a few seconds of future (clock-offset.ts, `latestMs`) are not believed. Such a book, touch or price
 *   changes nothing where frames are ordered by their stamps; where they are ordered by numbers it is taken, or the chain
 *   would break, and proves nothing of its age. Such a trade is not passed on: candles and the record are keyed by it.
 * - What was taken bars what is older, unless the venue's clock was found to be behind it.
 */
import type { ClockOffset } from "./clock-offset.js";

/**
 * Before any venue here opened, and before any recording that is replayed. A stamp below it is 0, or in seconds where
 * milliseconds are meant (21 January 1970).
 */
const EARLIEST_TRADE_MS = Date.UTC(2020, 0, 1);

/** Asked before a trade is remembered: with its true time it may come again. */
export function isTradeTime(tsVenueMs: number, clockOffset: ClockOffset, nowMs: number): boolean {
  return tsVenueMs >= EARLIEST_TRADE_MS && clockOffset.isPlausible(tsVenueMs, nowMs);
}

/** The time before which frames are old, where the newest that was taken is of `newestMs`. `latestMs`: clock-offset.ts. */
export function barredBeforeMs(newestMs: number, latestMs: number): number {
  return newestMs < latestMs ? newestMs : 0;
}
