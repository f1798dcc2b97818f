// hot path (the signals)
/**
 * One listener per market for all keys that show it: a market has room for few listeners, and a ticker becomes its
 * payload once for all readers. A tap exists while it has a reader.
 */
import { BOOK_LIVE, type BookState } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { FeedState, Market, MarketListener } from "../../engine/market/market.js";
import { DESCRIPTORS } from "../../feeds/registry.js";
import type { TickerFields } from "../../feeds/shared/room/ticker-fields.js";
import { feedStateOf } from "../api/market-view.js";
import { TICKER_STALE_MS } from "../api/ticker-text.js";
import type { MarkDirty } from "./feed.js";

/** One venue's ticker at one moment; immutable. */
export interface VenueTicker {
  readonly state: FeedState;
  /** Those of REST, `ageMs` 0. Null before the venue's first ticker. */
  readonly fields: TickerFields | null;
  readonly tsRecvNs: number;
}

export class MarketTap implements MarketListener {
  readonly market: Market;
  /** Grows with every signal of book, deep tier or touch. */
  bookVersion = 0;
  readonly #tickerMarks: MarkDirty[] = [];
  readonly #bookMarks: MarkDirty[] = [];
  readonly #endListening: () => void;
  #bookState: BookState;
  #ticker: VenueTicker | null = null;
  #tickerMoved = true;

  constructor(market: Market) {
    this.market = market;
    this.#bookState = market.book.state;
    this.#endListening = market.signal.listen(this);
  }

  get isRead(): boolean {
    return this.#tickerMarks.length > 0 || this.#bookMarks.length > 0;
  }

  readTicker(mark: MarkDirty): void {
    this.#tickerMarks.push(mark);
  }

  readBook(mark: MarkDirty): void {
    this.#bookMarks.push(mark);
  }

  leave(mark: MarkDirty): void {
    for (const marks of [this.#tickerMarks, this.#bookMarks]) {
      const index = marks.indexOf(mark);
      if (index >= 0) marks.splice(index, 1);
    }
  }

  close(): void {
    this.#endListening();
  }

  tickerState(nowNs: number): FeedState {
    const { ticker } = this.market;
    // Without a first ticker it is not LIVE, even when its book is.
    if (!ticker.known) return feedStateOf(this.market, 0, 0) === "DOWN" ? "DOWN" : "SYNCING";
    return feedStateOf(this.market, ageMs(ticker.tsRecvNs, nowNs), TICKER_STALE_MS);
  }

  bookFeedState(nowNs: number): FeedState {
    const { book, maxBookAgeMs } = this.market;
    return feedStateOf(this.market, ageMs(book.tsProvenNs, nowNs), maxBookAgeMs);
  }

  /** Returns the same object until ticker or state change. */
  ticker(nowNs: number): VenueTicker {
    const state = this.tickerState(nowNs);
    if (this.#ticker !== null && !this.#tickerMoved && state === this.#ticker.state) return this.#ticker;
    const { ticker, instrument } = this.market;
    this.#tickerMoved = false;
    this.#ticker = {
      state,
      fields: ticker.known ? DESCRIPTORS[instrument.venue].ticker(this.market, state, 0) : null,
      tsRecvNs: ticker.tsRecvNs,
    };
    return this.#ticker;
  }

  bookChanged(market: Market): void {
    const state = market.book.state;
    const leftLive = state !== BOOK_LIVE && this.#bookState === BOOK_LIVE;
    if (state !== this.#bookState) {
      this.#bookState = state;
      markAll(this.#tickerMarks, leftLive);
    }
    this.bookVersion++;
    markAll(this.#bookMarks, leftLive);
  }

  deepChanged(): void {
    this.bookVersion++;
    markAll(this.#bookMarks, false);
  }

  touchChanged(): void {
    this.bookVersion++;
    markAll(this.#bookMarks, false);
  }

  tickerChanged(): void {
    this.#tickerMoved = true;
    markAll(this.#tickerMarks, false);
  }

  traded(): void {}
}

function markAll(marks: readonly MarkDirty[], urgent: boolean): void {
  for (let index = 0; index < marks.length; index++) marks[index]?.(urgent);
}

/** The taps of all markets that have a reader. */
export class MarketTaps {
  readonly #taps = new Map<Market, MarketTap>();

  get count(): number {
    return this.#taps.size;
  }

  /** Throws RangeError when the market has no room for a listener. */
  open(market: Market): MarketTap {
    const known = this.#taps.get(market);
    if (known !== undefined) return known;
    const tap = new MarketTap(market);
    this.#taps.set(market, tap);
    return tap;
  }

  leave(tap: MarketTap, mark: MarkDirty): void {
    tap.leave(mark);
    if (tap.isRead) return;
    tap.close();
    this.#taps.delete(tap.market);
  }
}
