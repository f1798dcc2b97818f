/**
 * Everything the core knows of one contract on one venue, owned and written by the venue's room,
 * read by router, gateway and recorder. No reader uses a book whose state is not LIVE.
 */
import type { Instrument } from "../domain/instrument.js";
import type { Book } from "./book.js";
import type { Ticker } from "./ticker.js";
import type { Touch } from "./touch.js";
import type { PriceStats } from "./price-stats.js";

export type FeedState = "LIVE" | "SYNCING" | "STALE" | "DOWN";

export interface Market {
  readonly instrument: Instrument;
  /** Main depth tier (venueone: the fast 5-level book; venuetwo: the full book). */
  readonly book: Book;
  /** Deeper, slower tier where the venue has one (venueone: the 20-level book), else null. A size that the main tier cannot fill continues here beyond the main tier's last price. */
  readonly deep: Book | null;
  /** Best bid and offer from a stream faster than the book; overrides book levels better than itself while newer. */
  readonly touch: Touch;
  readonly ticker: Ticker;
  /** Volatility of the mid, for the latency penalty. */
  readonly stats: PriceStats;
  /** Age limits per tier in ms (routing design 1.5), before the caller's maxQuoteAgeMs tightens them. */
  readonly maxBookAgeMs: number;
  readonly maxDeepAgeMs: number;
}
