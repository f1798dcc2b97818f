/**
 * Plays frames of venueone: whole books of up to 20 levels a side, best bid and offer, trades, through
 * that room's decoder. Its books carry no sequence; their `time` orders them.
 */
import { parseScaled } from "../../engine/domain/decimal.js";
import { Book, INVALID_CROSSED } from "../../engine/market/book.js";
import { Touch } from "../../engine/market/touch.js";
import { decodeFrame } from "../venueone/market/decode.js";
import type { VenueoneWireBbo, VenueoneWireBook } from "../venueone/market/wire.js";
import { DecimalScan, NO_TIME, type PlayOutcome, type Player, reportBook } from "./player.js";
import { frameStart } from "./raw-player.js";
import { emptyCounts, type SymbolReport } from "./report.js";

interface PlayedMarket {
  readonly book: Book;
  readonly touch: Touch;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
}

export class VenueonePlayer {
  readonly counts = emptyCounts();
  readonly #scan = new DecimalScan();
  readonly #markets = new Map<string, PlayedMarket>();
  #frameCount = 0;
  #levelUpdates = 0;
  #crossings = 0;

  scan(frameBytes: Buffer): void {
    const frame = decodeFrame(frameBytes);
    if (frame.kind === "book") {
      for (const side of frame.book.levels)
        for (const level of side) this.#scan.note(frame.book.coin, level.px, level.sz);
    } else if (frame.kind === "bbo") {
      for (const level of frame.bbo.bbo) if (level !== null) this.#scan.note(frame.bbo.coin, level.px, level.sz);
    } else if (frame.kind === "trades") {
      for (const trade of frame.trades) this.#scan.note(trade.coin, trade.px, trade.sz);
    }
  }

  prepare(): void {
    for (const symbol of this.#scan.symbols()) {
      this.#markets.set(symbol, {
        book: new Book(),
        touch: new Touch(),
        priceDecimals: this.#scan.price(symbol),
        qtyDecimals: this.#scan.qty(symbol),
      });
    }
  }

  play(frameBytes: Buffer, tsRecvNs: number): void {
    const frame = decodeFrame(frameBytes);
    const { counts } = this;
    if (frame.kind === "malformed" || frame.kind === "text") {
      counts.malformed++;
      return;
    }
    this.#frameCount++;
    if (frame.kind === "book") this.#playBook(frame.book, tsRecvNs);
    else if (frame.kind === "bbo") this.#playTouch(frame.bbo, tsRecvNs);
    else if (frame.kind === "trades") counts.trades += frame.trades.length;
    else counts.others++;
  }

  outcome(): PlayOutcome {
    const symbols: Record<string, SymbolReport> = {};
    for (const [symbol, market] of this.#markets) {
      symbols[symbol] = reportBook(market.book, market.priceDecimals, market.qtyDecimals);
    }
    return { frames: this.#frameCount, levelUpdates: this.#levelUpdates, gaps: 0, crossings: this.#crossings, symbols };
  }

  #playBook(wire: VenueoneWireBook, tsRecvNs: number): void {
    const market = this.#markets.get(wire.coin);
    if (market === undefined) return;
    this.counts.books++;
    // The subscription's first frame comes twice; an older one is never taken.
    if (wire.time < market.book.tsVenueMs) {
      this.counts.ignored++;
      return;
    }
    const { book, priceDecimals, qtyDecimals } = market;
    const [bids, asks] = wire.levels;
    this.#levelUpdates += bids.length + asks.length;
    book.beginSnapshot();
    for (const level of bids) book.applyBid(parseScaled(level.px, priceDecimals), parseScaled(level.sz, qtyDecimals));
    for (const level of asks) book.applyAsk(parseScaled(level.px, priceDecimals), parseScaled(level.sz, qtyDecimals));
    if (!book.commit(0, wire.time, tsRecvNs) && book.invalidReason === INVALID_CROSSED) this.#crossings++;
  }

  #playTouch(wire: VenueoneWireBbo, tsRecvNs: number): void {
    const market = this.#markets.get(wire.coin);
    if (market === undefined) return;
    this.counts.touches++;
    const { touch, priceDecimals, qtyDecimals } = market;
    if (wire.time < touch.tsVenueMs) {
      this.counts.ignored++;
      return;
    }
    const [bid, ask] = wire.bbo;
    touch.set(
      bid === null ? 0 : parseScaled(bid.px, priceDecimals),
      bid === null ? 0 : parseScaled(bid.sz, qtyDecimals),
      ask === null ? 0 : parseScaled(ask.px, priceDecimals),
      ask === null ? 0 : parseScaled(ask.sz, qtyDecimals),
      0,
      wire.time,
      tsRecvNs,
    );
  }
}

/** Format `raw-ws-lines` with frames of venueone. */
export class VenueoneRawPlayer implements Player {
  readonly format = "raw-ws-lines (venueone)";
  readonly venue = new VenueonePlayer();

  get counts() {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const at = frameStart(bytes, start, end);
    if (at >= 0) this.venue.scan(bytes.subarray(at, end));
  }

  prepare(): void {
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const at = frameStart(bytes, start, end);
    return at < 0 ? NO_TIME : Number(bytes.toString("latin1", start, at - 1)) / 1e6;
  }

  play(bytes: Buffer, start: number, end: number): void {
    const at = frameStart(bytes, start, end);
    if (at < 0) this.counts.malformed++;
    else this.venue.play(bytes.subarray(at, end), this.timeMs(bytes, start, end) * 1e6);
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }
}
