/**
 * Recordings of venueone: whole books of up to 20 levels a side, best bid and offer, trades, played
 * through this room's decoder. Its books carry no sequence; their `time` orders them.
 */
import { parseScaled } from "../../engine/domain/decimal.js";
import { Book, INVALID_CROSSED } from "../../engine/market/book.js";
import { Touch } from "../../engine/market/touch.js";
import { decodeFrame } from "./market/decode.js";
import type { VenueoneWireBbo, VenueoneWireBook } from "./market/wire.js";
import { type CsvRows, csvFormat, figure, sideOf } from "../shared/replay/csv-player.js";
import {
  DecimalScan,
  NO_TIME,
  type PlayOutcome,
  type Player,
  type RecordingFormat,
  reportBook,
} from "../shared/replay/player.js";
import { frameStart } from "../shared/replay/raw-player.js";
import { emptyCounts, type SymbolReport } from "../shared/replay/report.js";

export const recordings: readonly RecordingFormat[] = [
  csvFormat("csv-book20", "timestamp,sequence,exchange_timestamp,bid_price_0,", (coin) =>
    rowsOf(coin, () => book20ToL2Book),
  ),
  csvFormat("csv-bbo-sided", "timestamp,price,size,side,exchange_timestamp", (coin) => rowsOf(coin, sidesToBbo)),
  csvFormat("csv-trades-venueone", "timestamp,price,size,side,trade_id,exchange_timestamp", (coin) =>
    rowsOf(coin, () => tradeToTrades),
  ),
  {
    isFrame: ({ channel }, isTimed) => isTimed && typeof channel === "string",
    open: () => new VenueoneRawPlayer(),
  },
];

interface PlayedMarket {
  readonly book: Book;
  readonly touch: Touch;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
}

class VenueonePlayer {
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
class VenueoneRawPlayer implements Player {
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

// ---------------------------------------------------------------- rows

type RowToFrame = (cells: readonly string[], coin: string) => string | null;

/** `createRows`: for each of the two passes, as rows may build on each other. */
function rowsOf(coin: string, createRows: () => RowToFrame): CsvRows {
  const player = new VenueonePlayer();
  let toFrame = createRows();
  return {
    counts: player.counts,
    frame: (cells) => toFrame(cells, coin),
    timeMs: (cells) => Number(cells[0]) * 1000,
    scan: (frame) => player.scan(frame),
    prepare() {
      toFrame = createRows();
      player.prepare();
    },
    play: (frame, tsRecvNs) => player.play(frame, tsRecvNs),
    outcome: () => player.outcome(),
  };
}

/** csv-book20 row → l2Book with an invented order count. */
function book20ToL2Book(row: readonly string[], coin: string): string | null {
  const time = Number(row[2]);
  const bids = sideOf(row, 3, 4, 20);
  const asks = sideOf(row, 5, 4, 20);
  if (!Number.isSafeInteger(time) || bids === null || asks === null) return null;
  const side = (levels: readonly [string, string][]) => levels.map(([px, sz]) => ({ px, sz, n: 1 }));
  return JSON.stringify({ channel: "l2Book", data: { coin, time, levels: [side(bids), side(asks)] } });
}

/**
 * csv-bbo-sided row → bbo. Both sides come in rows of their own; a pair of one exchange time is one update, here sent after
 * each row: a frame is the latest of both.
 */
function sidesToBbo(): RowToFrame {
  let bid: { px: string; sz: string; n: number } | null = null;
  let ask: { px: string; sz: string; n: number } | null = null;
  return (cells, coin) => {
    const px = figure(cells[1]);
    const sz = figure(cells[2]);
    const time = Number(cells[4]);
    if (px === null || sz === null || !Number.isSafeInteger(time)) return null;
    if (cells[3] === "bid") bid = { px, sz, n: 1 };
    else if (cells[3] === "ask") ask = { px, sz, n: 1 };
    else return null;
    return JSON.stringify({ channel: "bbo", data: { coin, time, bbo: [bid, ask] } });
  };
}

/** csv-trades-venueone row → trades of one. */
function tradeToTrades(row: readonly string[], coin: string): string | null {
  const px = figure(row[1]);
  const sz = figure(row[2]);
  const tid = Number(row[4]);
  const time = Number(row[5]);
  if (px === null || sz === null || !Number.isSafeInteger(tid) || !Number.isSafeInteger(time)) return null;
  if (row[3] !== "buy" && row[3] !== "sell") return null;
  return JSON.stringify({
    channel: "trades",
    data: [{ coin, side: row[3] === "buy" ? "B" : "A", px, sz, time, hash: "0x", tid }],
  });
}
