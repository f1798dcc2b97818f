/**
 * Recordings of venuetwo and of the dialect it descends from: decoder → book sync → book, exactly
 * the code the live room runs. One book per symbol; a gap leaves the book INVALID until a snapshot in
 * the recording bridges again, as there is nobody to ask for one.
 */
import { Book, INVALID_CROSSED, INVALID_DECODE } from "../../engine/market/book.js";
import { Touch } from "../../engine/market/touch.js";
import { BookSync, DIFF_BROKEN } from "./market/sync.js";
import { VenuetwoDecoder } from "./market/decode.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH, FRAME_DRIFT, FRAME_MALFORMED, FRAME_TRADE } from "./market/frame.js";
import { cryptofeedFormats } from "../shared/replay/cryptofeed-player.js";
import { type CsvRows, csvFormat, figure, sideOf } from "../shared/replay/csv-player.js";
import {
  DecimalScan,
  type DiffPlayer,
  isFields,
  parseJson,
  type PlayOutcome,
  type RecordingFormat,
  reportBook,
} from "../shared/replay/player.js";
import { RawPlayer } from "../shared/replay/raw-player.js";
import { emptyCounts, type SymbolReport } from "../shared/replay/report.js";

export const recordings: readonly RecordingFormat[] = [
  csvFormat("csv-book10", "unix_timestamp,lastUpdateId,bid_price_0,", (symbol) => bookRows(symbol)),
  csvFormat("csv-bbo", "unix_timestamp,bid,ask,mid", (symbol) => frameRows(symbol, 0, 1_000, bboToBookTicker)),
  csvFormat("csv-trades", "id,unix_timestamp_ms,side,price,quantity", (symbol) =>
    frameRows(symbol, 1, 1, tradeToAggTrade),
  ),
  ...cryptofeedFormats(() => new VenuetwoPlayer()),
  {
    isFrame: ({ channel }, isTimed) => isTimed && typeof channel !== "string",
    open: () => new RawPlayer(new VenuetwoPlayer()),
  },
];

interface PlayedMarket {
  readonly symbol: string;
  readonly book: Book;
  readonly sync: BookSync;
  readonly touch: Touch;
}

export class VenuetwoPlayer implements DiffPlayer {
  readonly counts = emptyCounts();
  readonly decoder = new VenuetwoDecoder();
  readonly #scan = new DecimalScan();
  readonly #markets: PlayedMarket[] = [];
  #frameCount = 0;
  #levelUpdates = 0;
  #crossings = 0;

  /** First pass over one frame. A snapshot without a symbol belongs to the symbol of the recording. */
  scan(bytes: Buffer, start: number, end: number, snapshotSymbol: string | null): void {
    const parsed = parseJson(bytes, start, end);
    if (!isFields(parsed)) return;
    const data = isFields(parsed["data"]) ? parsed["data"] : parsed;
    const symbol = typeof data["s"] === "string" ? data["s"] : snapshotSymbol;
    if (symbol === null) return;
    for (const side of ["b", "a", "bids", "asks"] as const) {
      const levels = data[side];
      if (!Array.isArray(levels)) continue;
      for (const level of levels as unknown[]) if (Array.isArray(level)) this.#note(symbol, level[0], level[1]);
    }
    if (data["e"] === "bookTicker") {
      this.#note(symbol, data["b"], data["B"]);
      this.#note(symbol, data["a"], data["A"]);
    } else if (data["e"] === "trade" || data["e"] === "aggTrade") {
      this.#note(symbol, data["p"], data["q"]);
    }
  }

  /** Registers what the first pass saw, or one symbol with known decimals. */
  prepare(): void {
    for (const symbol of this.#scan.symbols()) this.add(symbol, this.#scan.price(symbol), this.#scan.qty(symbol));
  }

  add(symbol: string, priceDecimals: number, qtyDecimals: number): void {
    const slot = this.decoder.register(symbol, priceDecimals, qtyDecimals);
    const book = new Book();
    // Nobody to ask for a snapshot: the next one in the recording is taken.
    const sync = new BookSync(book, () => {});
    sync.begin();
    this.#markets[slot] = { symbol, book, sync, touch: new Touch() };
  }

  get symbols(): readonly string[] {
    return this.decoder.symbols.names;
  }

  book(symbol: string): Book | null {
    return this.#markets[this.decoder.symbols.slotOf(symbol)]?.book ?? null;
  }

  playFrame(bytes: Buffer, start: number, end: number, tsRecvNs: number): void {
    const { decoder, counts } = this;
    const kind = decoder.decodeFrame(bytes, start, end);
    if (kind === FRAME_MALFORMED) {
      counts.malformed++;
      return;
    }
    this.#frameCount++;
    const frame = decoder.frame;
    const market = this.#markets[frame.slot];
    if (market === undefined) {
      counts.others++;
      return;
    }
    if (kind === FRAME_DEPTH) {
      counts.books++;
      this.#levelUpdates += frame.bidCount + frame.askCount;
      if (market.sync.onDiff(frame, tsRecvNs) === DIFF_BROKEN) this.#noteBroken(market);
    } else if (kind === FRAME_BOOK_TICKER) {
      counts.touches++;
      const { touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, lastId, tsEventMs } = frame;
      if (lastId < market.touch.seq) counts.ignored++;
      else market.touch.set(touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, lastId, tsEventMs, tsRecvNs);
    } else if (kind === FRAME_TRADE) {
      counts.trades++;
    } else if (kind === FRAME_DRIFT) {
      counts.drifts++;
      market.sync.invalidate(INVALID_DECODE);
    } else {
      counts.others++;
    }
  }

  /** A REST snapshot of `symbol`. */
  playSnapshot(bytes: Buffer, start: number, end: number, symbol: string, tsRecvNs: number): void {
    const slot = this.decoder.symbols.slotOf(symbol);
    const market = this.#markets[slot];
    if (market === undefined || this.decoder.decodeSnapshot(bytes, start, end, slot) !== FRAME_DEPTH) {
      this.counts.malformed++;
      return;
    }
    this.#frameCount++;
    this.counts.books++;
    if (market.sync.isLive) return;
    if (market.sync.onSnapshot(this.decoder.frame, tsRecvNs) === "broken") this.#noteBroken(market);
  }

  /** A whole book of `symbol` that replaces what was there (partial depth streams): no chain to keep. */
  playWhole(bytes: Buffer, start: number, end: number, symbol: string, tsRecvNs: number): void {
    if (!this.playAnswer(bytes, start, end, symbol, tsRecvNs)) return;
    this.#levelUpdates += this.decoder.frame.bidCount + this.decoder.frame.askCount;
  }

  /** A REST snapshot that no diff follows: it is the book. False: it is none, or its market is unknown. */
  playAnswer(bytes: Buffer, start: number, end: number, symbol: string, tsRecvNs: number): boolean {
    const slot = this.decoder.symbols.slotOf(symbol);
    const market = this.#markets[slot];
    if (market === undefined || this.decoder.decodeSnapshot(bytes, start, end, slot) !== FRAME_DEPTH) {
      this.counts.malformed++;
      return false;
    }
    this.#frameCount++;
    this.counts.books++;
    if (!market.sync.replace(this.decoder.frame, tsRecvNs)) this.#noteBroken(market);
    return true;
  }

  outcome(): PlayOutcome {
    const symbols: Record<string, SymbolReport> = {};
    let gaps = 0;
    for (const { symbol, book, sync } of this.#markets) {
      const slot = this.decoder.symbols.slotOf(symbol);
      const { priceDecimals, qtyDecimals } = this.decoder.symbols;
      symbols[symbol] = reportBook(book, priceDecimals[slot] ?? 0, qtyDecimals[slot] ?? 0);
      gaps += sync.gapCount;
      this.counts.ignored += sync.ignoredCount;
    }
    return { frames: this.#frameCount, levelUpdates: this.#levelUpdates, gaps, crossings: this.#crossings, symbols };
  }

  #noteBroken(market: PlayedMarket): void {
    if (market.book.invalidReason === INVALID_CROSSED) this.#crossings++;
  }

  #note(symbol: string, price: unknown, qty: unknown): void {
    if (typeof price === "string" && typeof qty === "string") this.#scan.note(symbol, price, qty);
  }
}

// ---------------------------------------------------------------- rows

function rowsOf(symbol: string, player: VenuetwoPlayer, rest: Pick<CsvRows, "frame" | "timeMs" | "play">): CsvRows {
  return {
    ...rest,
    counts: player.counts,
    scan: (frame) => player.scan(frame, 0, frame.length, symbol),
    prepare: () => player.prepare(),
    outcome: () => player.outcome(),
  };
}

/** Partial depth: whole levels. */
function bookRows(symbol: string): CsvRows {
  const player = new VenuetwoPlayer();
  return rowsOf(symbol, player, {
    frame: book10ToSnapshot,
    timeMs: (cells) => Number(cells[0]) * 1000,
    play: (frame, tsRecvNs) => player.playWhole(frame, 0, frame.length, symbol, tsRecvNs),
  });
}

/** `timeColumn` counts units of `timeUnitMs`. */
function frameRows(
  symbol: string,
  timeColumn: number,
  timeUnitMs: number,
  toFrame: (cells: readonly string[], symbol: string, rowId: number) => string | null,
): CsvRows {
  const player = new VenuetwoPlayer();
  return rowsOf(symbol, player, {
    frame: (cells, rowId) => toFrame(cells, symbol, rowId),
    timeMs: (cells) => Number(cells[timeColumn]) * timeUnitMs,
    play: (frame, tsRecvNs) => player.playFrame(frame, 0, frame.length, tsRecvNs),
  });
}

/** csv-book10 row → REST-shaped whole book (the partial-depth stream carries whole levels). */
function book10ToSnapshot(row: readonly string[]): string | null {
  const timeMs = Number(row[0]) * 1000;
  const id = Number(row[1]);
  const bids = sideOf(row, 2, 2, 10);
  const asks = sideOf(row, 22, 2, 10);
  if (!Number.isFinite(timeMs) || !Number.isSafeInteger(id) || bids === null || asks === null) return null;
  const stampMs = Math.floor(timeMs);
  return JSON.stringify({ lastUpdateId: id, E: stampMs, T: stampMs, bids, asks });
}

/** csv-bbo row → bookTicker; the file has no sizes, one is invented. */
function bboToBookTicker(row: readonly string[], symbol: string, id: number): string | null {
  const timeMs = Math.floor(Number(row[0]) * 1000);
  const bid = figure(row[1]);
  const ask = figure(row[2]);
  if (!Number.isFinite(timeMs) || bid === null || ask === null) return null;
  return JSON.stringify({ e: "bookTicker", u: id, s: symbol, b: bid, B: "1", a: ask, A: "1", T: timeMs, E: timeMs });
}

/** csv-trades row → aggTrade of one trade. */
function tradeToAggTrade(row: readonly string[], symbol: string): string | null {
  const id = Number(row[0]);
  const timeMs = Number(row[1]);
  const price = figure(row[3]);
  const qty = figure(row[4]);
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(timeMs) || price === null || qty === null) return null;
  if (row[2] !== "buy" && row[2] !== "sell") return null;
  const m = row[2] === "sell";
  return JSON.stringify({ e: "aggTrade", E: timeMs, s: symbol, a: id, p: price, q: qty, f: id, l: id, T: timeMs, m });
}
