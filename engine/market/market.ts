// hot path (the signal)
/**
 * Everything the core knows of one contract on one venue. The venue's room owns and writes it; router, gateway and
 * recorder read it. No reader uses a book whose state is not LIVE.
 */
import type { Instrument } from "../domain/instrument.js";
import type { Side } from "../domain/order.js";
import { Book } from "./book.js";
import { PriceStats } from "./price-stats.js";
import { Ticker } from "./ticker.js";
import { Touch } from "./touch.js";

export type FeedState = "LIVE" | "SYNCING" | "STALE" | "DOWN";

export interface Market {
  readonly instrument: Instrument;
  /** Main depth tier: the full book, or a fast one of few levels. */
  readonly book: Book;
  /** Deeper, slower tier where the venue has one, else null. A size that the main tier cannot fill continues here beyond the main tier's last price. */
  readonly deep: Book | null;
  /**
   * Best bid and offer from a stream faster than the book. While newer, it overrides book levels better than itself.
   */
  readonly touch: Touch;
  readonly ticker: Ticker;
  /** Volatility of the mid, for the latency penalty. */
  readonly stats: PriceStats;
  /** Age limits per tier in ms (routing design 1.5), before the caller's maxQuoteAgeMs tightens them. */
  readonly maxBookAgeMs: number;
  readonly maxDeepAgeMs: number;
  /** Where readers subscribe to changes; books, touch and ticker signal by themselves. */
  readonly signal: MarketSignal;
}

export interface MarketOptions {
  /** Whether the venue has a deeper, slower tier. */
  readonly deepTier: boolean;
  readonly maxBookAgeMs: number;
  /** Ignored without a deep tier. */
  readonly maxDeepAgeMs: number;
}

export const MAX_MARKET_LISTENERS = 8;

/**
 * Called in the same turn in which a market changed: the stream marks keys dirty, the recorder copies a row. A listener
 * copies or marks and returns; it neither throws nor changes the market.
 */
export interface MarketListener {
  /** The main book after a commit, or after it left LIVE (SYNCING, INVALID, EMPTY). */
  bookChanged(market: Market): void;
  /** Like bookChanged, for the deeper tier. */
  deepChanged(market: Market): void;
  /** The touch was set or cleared. */
  touchChanged(market: Market): void;
  /** The ticker was stamped. */
  tickerChanged(market: Market): void;
  /**
   * A public trade, once per trade id; `side` is the aggressor's side. An id that JSON cannot hold exactly is a string.
   */
  traded(
    market: Market,
    side: Side,
    priceTicks: number,
    qtyLots: number,
    tradeId: string | number,
    tsVenueMs: number,
    tsRecvNs: number,
  ): void;
}

/** Ignores every signal; a listener that needs some of them overrides those. */
export const NO_MARKET_LISTENER: MarketListener = {
  bookChanged() {},
  deepChanged() {},
  touchChanged() {},
  tickerChanged() {},
  traded() {},
};

/**
 * A room signals by applying changes. Only trades, which no state holds, need a call of their own. With no listener a
 * signal costs one loop over an empty array. At most MAX_MARKET_LISTENERS a market.
 */
export class MarketSignal {
  readonly #listeners: MarketListener[] = [];

  /** Number of listeners: readers of the market, and the recorder. */
  get listenerCount(): number {
    return this.#listeners.length;
  }

  /** Returns the function that ends the subscription. */
  listen(listener: MarketListener): () => void {
    if (this.#listeners.length >= MAX_MARKET_LISTENERS) throw new RangeError("too many listeners of one market");
    this.#listeners.push(listener);
    return () => {
      const index = this.#listeners.indexOf(listener);
      if (index >= 0) this.#listeners.splice(index, 1);
    };
  }

  bookChanged(market: Market): void {
    const listeners = this.#listeners;
    for (let index = 0; index < listeners.length; index++) listeners[index]?.bookChanged(market);
  }

  deepChanged(market: Market): void {
    const listeners = this.#listeners;
    for (let index = 0; index < listeners.length; index++) listeners[index]?.deepChanged(market);
  }

  touchChanged(market: Market): void {
    const listeners = this.#listeners;
    for (let index = 0; index < listeners.length; index++) listeners[index]?.touchChanged(market);
  }

  tickerChanged(market: Market): void {
    const listeners = this.#listeners;
    for (let index = 0; index < listeners.length; index++) listeners[index]?.tickerChanged(market);
  }

  /** The room calls this for each new public trade. */
  traded(
    market: Market,
    side: Side,
    priceTicks: number,
    qtyLots: number,
    tradeId: string | number,
    tsVenueMs: number,
    tsRecvNs: number,
  ): void {
    const listeners = this.#listeners;
    for (let index = 0; index < listeners.length; index++) {
      listeners[index]?.traded(market, side, priceTicks, qtyLots, tradeId, tsVenueMs, tsRecvNs);
    }
  }
}

/** Creates an empty market for its room to fill. */
export function createMarket(instrument: Instrument, options: MarketOptions): Market {
  const signal = new MarketSignal();
  const market: Market = {
    instrument,
    book: new Book(instrument.priceStepTicks),
    deep: options.deepTier ? new Book(instrument.priceStepTicks) : null,
    touch: new Touch(),
    ticker: new Ticker(),
    stats: new PriceStats(),
    maxBookAgeMs: options.maxBookAgeMs,
    maxDeepAgeMs: options.maxDeepAgeMs,
    signal,
  };
  market.book.onChange = { changed: () => signal.bookChanged(market) };
  if (market.deep !== null) market.deep.onChange = { changed: () => signal.deepChanged(market) };
  market.touch.onChange = { changed: () => signal.touchChanged(market) };
  market.ticker.onChange = { changed: () => signal.tickerChanged(market) };
  return market;
}
