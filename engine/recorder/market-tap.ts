// hot path
/**
 * Listens to one market and copies what changed into the rings: best bid and ask with mark and last, trades, a snapshot
 * of the book when it is LIVE again after a gap. One object per market, all of one shape, no allocation.
 *
 * Invariants: a tick row is written exactly when one of its six figures differs from the row before. Levels come only
 * from a LIVE book or from a touch newer than it. 0 is a side without a quote, or both sides unknown while the book is
 * down and only mark or last moved.
 */
import type { Side } from "../domain/order.js";
import { BOOK_LIVE } from "../market/book.js";
import type { Market, MarketListener } from "../market/market.js";
import { isTouchNewer } from "../market/touch.js";
import { REASON_GAP, REASON_PERIODIC, REASON_PRE_ROUTE, type SnapshotRing } from "./snapshot-ring.js";
import { SOURCE_BOOK, SOURCE_TICKER, SOURCE_TOUCH, type TickRing, type TickSource } from "./tick-ring.js";
import { SeenTrades, type TradeRing } from "./trade-ring.js";

/** The state that the taps of a recorder share. */
export interface TapRings {
  readonly ticks: TickRing;
  readonly trades: TradeRing;
  readonly snapshots: SnapshotRing;
  /** Number of rows in the tick ring at which the drain runs before its time. */
  readonly wakeRows: number;
  readonly seenTrades: number;
  /** Number of trades that were delivered again. */
  repeatedTrades: number;
  wake: () => void;
}

export class MarketTap implements MarketListener {
  readonly market: Market;
  readonly #index: number;
  readonly #rings: TapRings;
  #bidTicks = -1;
  #bidLots = -1;
  #askTicks = -1;
  #askLots = -1;
  #mark = "";
  #last = "";
  /** The book was LIVE and no longer is. */
  #gap = false;
  #wasLive = false;
  /** tsRecvNs of the book last copied, so that routing twice on one book copies it once. */
  #snapshotNs = -1;
  readonly #seen: SeenTrades;

  /** `seen`: known trade ids of the symbol, if it had a market before. */
  constructor(market: Market, index: number, rings: TapRings, seen = new SeenTrades(rings.seenTrades)) {
    this.market = market;
    this.#index = index;
    this.#rings = rings;
    this.#seen = seen;
  }

  bookChanged(market: Market): void {
    const book = market.book;
    if (book.state !== BOOK_LIVE) {
      this.#gap ||= this.#wasLive;
      this.#wasLive = false;
      return;
    }
    this.#wasLive = true;
    if (this.#gap) {
      this.#gap = false;
      this.#snapshotNs = book.tsRecvNs;
      this.#rings.snapshots.take(this.#index, market, REASON_GAP, book.tsRecvNs);
    }
    // A newer touch overrides the book, so the best has not changed with it.
    if (!isTouchNewer(market.touch, book)) this.#tickOfBook(market, SOURCE_BOOK, book.tsVenueMs, book.tsRecvNs);
  }

  deepChanged(): void {}

  touchChanged(market: Market): void {
    const touch = market.touch;
    if (isTouchNewer(touch, market.book)) this.#tickOfTouch(market, SOURCE_TOUCH, touch.tsVenueMs, touch.tsRecvNs);
  }

  tickerChanged(market: Market): void {
    const ticker = market.ticker;
    if (ticker.markPrice === this.#mark && ticker.lastPrice === this.#last) return;
    if (isTouchNewer(market.touch, market.book)) {
      this.#tickOfTouch(market, SOURCE_TICKER, ticker.tsVenueMs, ticker.tsRecvNs);
    } else this.#tickOfBook(market, SOURCE_TICKER, ticker.tsVenueMs, ticker.tsRecvNs);
  }

  traded(
    _market: Market,
    side: Side,
    priceTicks: number,
    qtyLots: number,
    tradeId: string | number,
    tsVenueMs: number,
    tsRecvNs: number,
  ): void {
    const rings = this.#rings;
    if (!this.#seen.add(tradeId)) {
      rings.repeatedTrades += 1;
      return;
    }
    const trades = rings.trades;
    const at = trades.push();
    trades.market[at] = this.#index;
    trades.rxNs[at] = tsRecvNs;
    trades.exMs[at] = tsVenueMs;
    trades.priceTicks[at] = priceTicks;
    trades.qtyLots[at] = qtyLots;
    trades.side[at] = side === "BUY" ? 1 : 2;
    trades.seq[at] = trades.head;
    if (typeof tradeId === "number") {
      trades.idNumber[at] = tradeId;
      trades.idText[at] = "";
    } else {
      trades.idNumber[at] = -1;
      trades.idText[at] = tradeId;
    }
    if (trades.size === rings.wakeRows) rings.wake();
  }

  /** Takes the periodic snapshot; does nothing while the book is not LIVE. `rxNs`: now. */
  takePeriodic(rxNs: number): void {
    if (this.market.book.state !== BOOK_LIVE) return;
    this.#snapshotNs = this.market.book.tsRecvNs;
    this.#rings.snapshots.take(this.#index, this.market, REASON_PERIODIC, rxNs);
  }

  /** Records what a decision saw, once for each state of the book. `rxNs`: now. */
  takePreRoute(rxNs: number): void {
    const book = this.market.book;
    if (book.state !== BOOK_LIVE || book.tsRecvNs === this.#snapshotNs) return;
    this.#snapshotNs = book.tsRecvNs;
    this.#rings.snapshots.take(this.#index, this.market, REASON_PRE_ROUTE, rxNs);
  }

  #tickOfTouch(market: Market, source: TickSource, exMs: number, rxNs: number): void {
    const touch = market.touch;
    this.#tick(market, touch.bidTicks, touch.bidLots, touch.askTicks, touch.askLots, touch.seq, source, exMs, rxNs);
  }

  #tickOfBook(market: Market, source: TickSource, exMs: number, rxNs: number): void {
    const book = market.book;
    const hasBid = book.bidCount > 0;
    const hasAsk = book.askCount > 0;
    this.#tick(
      market,
      hasBid ? book.bids.bestKey : 0,
      hasBid ? book.bids.lotsAt(0) : 0,
      hasAsk ? -book.asks.bestKey : 0,
      hasAsk ? book.asks.lotsAt(0) : 0,
      book.seq,
      source,
      exMs,
      rxNs,
    );
  }

  #tick(
    market: Market,
    bidTicks: number,
    bidLots: number,
    askTicks: number,
    askLots: number,
    seq: number,
    source: TickSource,
    exMs: number,
    rxNs: number,
  ): void {
    const { markPrice, lastPrice } = market.ticker;
    if (
      bidTicks === this.#bidTicks &&
      askTicks === this.#askTicks &&
      bidLots === this.#bidLots &&
      askLots === this.#askLots &&
      markPrice === this.#mark &&
      lastPrice === this.#last
    ) {
      return;
    }
    this.#bidTicks = bidTicks;
    this.#bidLots = bidLots;
    this.#askTicks = askTicks;
    this.#askLots = askLots;
    this.#mark = markPrice;
    this.#last = lastPrice;
    const ticks = this.#rings.ticks;
    const at = ticks.push();
    ticks.market[at] = this.#index;
    ticks.rxNs[at] = rxNs;
    ticks.exMs[at] = exMs;
    ticks.bidTicks[at] = bidTicks;
    ticks.bidLots[at] = bidLots;
    ticks.askTicks[at] = askTicks;
    ticks.askLots[at] = askLots;
    ticks.seq[at] = seq;
    ticks.source[at] = source;
    ticks.mark[at] = markPrice;
    ticks.last[at] = lastPrice;
    if (ticks.size === this.#rings.wakeRows) this.#rings.wake();
  }
}
