/**
 * Everything the core knows of one contract on one venue, owned and written by the venue's room,
 * read by router, gateway and recorder. No reader uses a book whose state is not LIVE.
 */
import type { Instrument } from "../domain/instrument.js";
import { Book } from "./book.js";
import { PriceStats } from "./price-stats.js";
import { Ticker } from "./ticker.js";
import { Touch } from "./touch.js";

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

export interface MarketOptions {
  /** Has the venue a deeper, slower tier? */
  readonly deepTier: boolean;
  readonly maxBookAgeMs: number;
  /** Ignored without a deep tier. */
  readonly maxDeepAgeMs: number;
}

/** A market with everything empty, ready for its room to fill. */
export function createMarket(instrument: Instrument, options: MarketOptions): Market {
  return {
    instrument,
    book: new Book(instrument.priceStepTicks),
    deep: options.deepTier ? new Book(instrument.priceStepTicks) : null,
    touch: new Touch(),
    ticker: new Ticker(),
    stats: new PriceStats(),
    maxBookAgeMs: options.maxBookAgeMs,
    maxDeepAgeMs: options.maxDeepAgeMs,
  };
}
