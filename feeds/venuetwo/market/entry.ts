// hot path
/**
 * One market as the streams write it: applies decoded frames to its book, touch, ticker and statistics,
 * and keeps the times that make late frames harmless.
 */
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { doubleMidTicks } from "../../../engine/market/depth-walk.js";
import type { Market } from "../../../engine/market/market.js";
import { isTouchNewer } from "../../../engine/market/touch.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import type { Subscription } from "../../shared/net/subscriptions.js";
import { type BookSync, DIFF_APPLIED, DIFF_RESTARTED, type DiffResult } from "./sync.js";
import type { VenuetwoFrame } from "./frame.js";
import { applyMarkPrice, applyTicker } from "./normalize.js";
import type { VenuetwoWireMarkPrice, VenuetwoWireTicker } from "./wire.js";

export class MarketSlot {
  readonly market: Market;
  readonly sync: BookSync;
  /** Set when subscribed; null before. */
  depth: Subscription | null = null;
  touch: Subscription | null = null;
  trade: Subscription | null = null;
  mark: Subscription | null = null;
  ticker: Subscription | null = null;
  #markVenueMs = 0;
  #tickerVenueMs = 0;
  lateCount = 0;
  brokenTouchCount = 0;

  constructor(market: Market, sync: BookSync) {
    this.market = market;
    this.sync = sync;
  }

  /** `lateNs`: how much older than its receipt the frame counts (0 unless it was held up on its way). */
  onDiff(frame: VenuetwoFrame, tsRecvNs: number, linkId: number, isStandby: boolean, lateNs: number): DiffResult {
    this.depth?.alive(tsRecvNs, linkId);
    const result = this.sync.onDiff(frame, tsRecvNs - lateNs, linkId, isStandby);
    if (result === DIFF_APPLIED) this.market.stats.update(doubleMidTicks(this.market) / 2, tsRecvNs);
    // The touch shares the ids: one of before would stay newer than every book to come.
    else if (result === DIFF_RESTARTED) this.market.touch.clear();
    return result;
  }

  /** Returns false for an impossible touch. */
  onTouch(frame: VenuetwoFrame, tsRecvNs: number, linkId: number, lateNs: number): boolean {
    this.touch?.alive(tsRecvNs, linkId);
    const { touch } = this.market;
    const asOfNs = tsRecvNs - lateNs;
    if (frame.lastId < touch.seq) {
      this.lateCount++;
      return true;
    }
    const { touchBidTicks, touchBidLots, touchAskTicks, touchAskLots } = frame;
    if (!touch.set(touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, frame.lastId, frame.tsEventMs, asOfNs)) {
      this.brokenTouchCount++;
      return false;
    }
    this.market.stats.update(doubleMidTicks(this.market) / 2, tsRecvNs);
    return true;
  }

  onMarkPrice(wire: VenuetwoWireMarkPrice, tsRecvNs: number, linkId: number, latestMs: number): void {
    this.mark?.alive(tsRecvNs, linkId);
    if (wire.E >= latestMs || wire.E < barredBeforeMs(this.#markVenueMs, latestMs)) {
      this.lateCount++;
      return;
    }
    this.#markVenueMs = wire.E;
    applyMarkPrice(this.market.ticker, wire, tsRecvNs);
  }

  onTicker(wire: VenuetwoWireTicker, tsRecvNs: number, linkId: number, latestMs: number): void {
    this.ticker?.alive(tsRecvNs, linkId);
    if (wire.E >= latestMs || wire.E < barredBeforeMs(this.#tickerVenueMs, latestMs)) {
      this.lateCount++;
      return;
    }
    this.#tickerVenueMs = wire.E;
    applyTicker(this.market.ticker, wire, tsRecvNs);
  }

  /** Returns true once the stream has sent one: an answer over REST is then the older one. */
  get hasMarkPrice(): boolean {
    return this.#markVenueMs > 0;
  }

  get hasTicker(): boolean {
    return this.#tickerVenueMs > 0;
  }

  /** A silent touch does no harm while a newer book shows the same. */
  isTouchConsistent(): boolean {
    const { touch, book } = this.market;
    if (book.state !== BOOK_LIVE || !touch.present) return true;
    if (isTouchNewer(touch, book)) return true;
    const bidAgrees =
      book.bidCount === 0
        ? touch.bidLots === 0
        : book.bidTicks(0) === touch.bidTicks && book.bidLots(0) === touch.bidLots;
    const askAgrees =
      book.askCount === 0
        ? touch.askLots === 0
        : book.askTicks(0) === touch.askTicks && book.askLots(0) === touch.askLots;
    return bidAgrees && askAgrees;
  }

  /** The connection is gone: nothing that came over it is current any more. */
  onDown(reason: string): void {
    this.sync.lose(reason);
    this.market.touch.clear();
    this.market.stats.breakSampling();
    // A new connection may be served by a host whose clock differs: its first frames are taken as they come.
    this.#markVenueMs = 0;
    this.#tickerVenueMs = 0;
  }
}
