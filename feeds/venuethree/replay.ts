/**
 * Recordings of venuethree, played through this room's decoders and its chain of books: `jsonl-frames`, one received frame per
 * line without a receive time, for which the frame's own `timestamp` counts.
 *
 * Frames name a market by number; only tickers say its name too. Where one market has a book and no ticker names it,
 * it is the one the recording is named after.
 */
import { Book, INVALID_CROSSED, INVALID_DECODE } from "../../engine/market/book.js";
import { Touch } from "../../engine/market/touch.js";
import { BookChain, CHAIN_BROKEN } from "./market/sync.js";
import { readChannel } from "./market/channel.js";
import { VenuethreeDecoder } from "./market/decode.js";
import { decodeSlowFrame } from "./market/decode-slow.js";
import {
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_SNAPSHOT,
  FRAME_TICKER,
} from "./market/frame.js";
import { MAX_MARKET_ID } from "./market/market-table.js";
import { type CsvRows, csvFormat, figure, isoMs } from "../shared/replay/csv-player.js";
import {
  DecimalScan,
  isFields,
  NO_TIME,
  parseJson,
  type PlayOutcome,
  type Player,
  type RecordingFormat,
  reportBook,
} from "../shared/replay/player.js";
import { emptyCounts, type SymbolReport } from "../shared/replay/report.js";

export const recordings: readonly RecordingFormat[] = [
  csvFormat("csv-bbo-venuethree", "timestamp,bid_price,bid_size,ask_price,ask_size,market_id", (symbol) =>
    rowsOf(symbol, (cells, rowId) => bboToTicker(cells, symbol, rowId)),
  ),
  csvFormat("csv-trades-venuethree", "timestamp,price,size,side,trade_id,usd_amount", (symbol) =>
    rowsOf(symbol, tradeToPrint),
  ),
  {
    isFrame: (frame, isTimed) => !isTimed && isOwnFrame(frame),
    open: ({ symbol }) => new VenuethreeLinesPlayer(symbol),
  },
];

function isOwnFrame(parsed: Readonly<Record<string, unknown>>): boolean {
  const { channel } = parsed;
  // Its channels name their market: `order_book:36`.
  return (
    (typeof channel === "string" && channel.includes(":")) ||
    "order_book" in parsed ||
    typeof parsed["type"] === "string"
  );
}

interface PlayedMarket {
  readonly marketId: number;
  readonly chain: BookChain;
  readonly touch: Touch;
}

class VenuethreePlayer {
  readonly counts = emptyCounts();
  readonly decoder = new VenuethreeDecoder();
  /** Decimals by the market's number as text. */
  readonly #scan = new DecimalScan();
  readonly #names = new Map<string, string>();
  readonly #booked = new Set<string>();
  /** By decoder slot. */
  readonly #markets: PlayedMarket[] = [];
  readonly #fileSymbol: string;
  #frameCount = 0;
  #levelUpdates = 0;
  #crossings = 0;

  constructor(fileSymbol: string) {
    this.#fileSymbol = fileSymbol;
  }

  /** First pass over one frame. */
  scan(bytes: Buffer, start: number, end: number): void {
    const parsed = parseJson(bytes, start, end);
    if (!isFields(parsed) || typeof parsed["channel"] !== "string") return;
    const channel = readChannel(parsed["channel"]);
    if (channel === null || channel.marketId < 0 || channel.marketId > MAX_MARKET_ID) return;
    const key = String(channel.marketId);
    const { order_book: book, ticker, trades } = parsed;
    if (isFields(book)) {
      this.#booked.add(key);
      this.#noteAll(key, book["asks"]);
      this.#noteAll(key, book["bids"]);
    } else if (isFields(ticker)) {
      if (typeof ticker["s"] === "string") this.#names.set(key, ticker["s"]);
      this.#noteAll(key, [ticker["a"], ticker["b"]]);
    } else {
      this.#noteAll(key, trades);
    }
  }

  prepare(): void {
    for (const key of this.#scan.symbols()) {
      const marketId = Number(key);
      const slot = this.decoder.register(marketId, this.#scan.price(key), this.#scan.qty(key));
      const chain = new BookChain(new Book());
      chain.beginSync();
      this.#markets[slot] = { marketId, chain, touch: new Touch() };
    }
  }

  /** Null where the recording has no such market. */
  book(marketId: number): Book | null {
    return this.#markets[this.decoder.markets.slotOf(marketId)]?.chain.book ?? null;
  }

  play(bytes: Buffer, start: number, end: number, tsRecvNs: number): void {
    const { decoder, counts } = this;
    const kind = decoder.decodeFrame(bytes, start, end);
    if (kind === FRAME_OTHER) {
      this.#playSlow(bytes.toString("utf8", start, end));
      return;
    }
    if (kind === FRAME_MALFORMED) {
      counts.malformed++;
      return;
    }
    this.#frameCount++;
    const frame = decoder.frame;
    const market = this.#markets[frame.slot];
    if (market === undefined || kind === FRAME_FOREIGN) {
      counts.others++;
    } else if (kind === FRAME_TICKER) {
      counts.touches++;
      const { touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, nonce, tsVenueMs } = frame;
      if (nonce < market.touch.seq) counts.ignored++;
      else market.touch.set(touchBidTicks, touchBidLots, touchAskTicks, touchAskLots, nonce, tsVenueMs, tsRecvNs);
    } else if (kind === FRAME_DRIFT) {
      counts.drifts++;
      if (!frame.isTicker) market.chain.invalidate(INVALID_DECODE);
    } else {
      counts.books++;
      this.#levelUpdates += frame.bids.count + frame.asks.count;
      const { chain } = market;
      const result = kind === FRAME_SNAPSHOT ? chain.onSnapshot(frame, tsRecvNs) : chain.onUpdate(frame, tsRecvNs);
      if (result === CHAIN_BROKEN && chain.book.invalidReason === INVALID_CROSSED) this.#crossings++;
    }
  }

  outcome(): PlayOutcome {
    const symbols: Record<string, SymbolReport> = {};
    let gaps = 0;
    for (const { marketId, chain } of this.#markets) {
      const key = String(marketId);
      symbols[this.#nameOf(key)] = reportBook(chain.book, this.#scan.price(key), this.#scan.qty(key));
      gaps += chain.gapCount;
      this.counts.ignored += chain.ignoredCount;
    }
    return { frames: this.#frameCount, levelUpdates: this.#levelUpdates, gaps, crossings: this.#crossings, symbols };
  }

  #playSlow(text: string): void {
    const frame = decodeSlowFrame(text);
    if (frame.kind === "malformed" || frame.kind === "unknown") {
      this.counts.malformed++;
      return;
    }
    this.#frameCount++;
    if (frame.kind !== "trades") {
      this.counts.others++;
      return;
    }
    this.counts.trades += frame.trades.length;
    this.counts.malformed += frame.brokenCount;
  }

  #nameOf(key: string): string {
    const name = this.#names.get(key);
    if (name !== undefined) return name;
    const nameless = this.#scan.symbols().filter((other) => !this.#names.has(other));
    const isOnly = nameless.length === 1 || (this.#booked.size === 1 && this.#booked.has(key));
    return isOnly ? this.#fileSymbol : key;
  }

  #noteAll(key: string, levels: unknown): void {
    if (!Array.isArray(levels)) return;
    for (const level of levels as unknown[]) {
      if (!isFields(level)) continue;
      const { price, size } = level;
      if (typeof price === "string" && typeof size === "string") this.#scan.note(key, price, size);
    }
  }
}

/** Format `jsonl-frames`. */
class VenuethreeLinesPlayer implements Player {
  readonly format = "jsonl-frames (venuethree)";
  readonly venue: VenuethreePlayer;

  constructor(fileSymbol: string) {
    this.venue = new VenuethreePlayer(fileSymbol);
  }

  get counts() {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    this.venue.scan(bytes, start, end);
  }

  prepare(): void {
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const parsed = parseJson(bytes, start, end);
    const timestamp = isFields(parsed) ? parsed["timestamp"] : undefined;
    return typeof timestamp === "number" ? timestamp : NO_TIME;
  }

  play(bytes: Buffer, start: number, end: number): void {
    const timeMs = this.timeMs(bytes, start, end);
    this.venue.play(bytes, start, end, Number.isNaN(timeMs) ? 0 : timeMs * 1e6);
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }
}

// ---------------------------------------------------------------- rows

function rowsOf(symbol: string, frame: CsvRows["frame"]): CsvRows {
  const player = new VenuethreePlayer(symbol);
  return {
    counts: player.counts,
    frame,
    timeMs: (cells) => isoMs(cells[0] ?? ""),
    scan: (bytes) => player.scan(bytes, 0, bytes.length),
    prepare: () => player.prepare(),
    play: (bytes, tsRecvNs) => player.play(bytes, 0, bytes.length, tsRecvNs),
    outcome: () => player.outcome(),
  };
}

/** Number of the one market of such a file: not every row, nor every file, says it. */
const ONLY_MARKET_ID = 0;

/** csv-bbo-venuethree row → ticker; `rowId` takes the place of the nonce, so that rows keep their order. */
function bboToTicker(row: readonly string[], symbol: string, rowId: number): string | null {
  const timestamp = isoMs(row[0] ?? "");
  const [bid, bidSize, ask, askSize] = [figure(row[1]), figure(row[2]), figure(row[3]), figure(row[4])];
  if (bid === null || bidSize === null || ask === null || askSize === null) return null;
  if (Number.isNaN(timestamp)) return null;
  const ticker = { s: symbol, a: { price: ask, size: askSize }, b: { price: bid, size: bidSize } };
  const channel = `ticker:${ONLY_MARKET_ID}`;
  return JSON.stringify({ channel, nonce: rowId, ticker, timestamp, type: "update/ticker" });
}

/** csv-trades-venuethree row → trade of one. */
function tradeToPrint(row: readonly string[]): string | null {
  const timestamp = isoMs(row[0] ?? "");
  const price = figure(row[1]);
  const size = figure(row[2]);
  const tradeId = row[4] ?? "";
  if (Number.isNaN(timestamp) || price === null || size === null || !/^\d{1,20}$/.test(tradeId)) return null;
  if (row[3] !== "buy" && row[3] !== "sell") return null;
  const print = { trade_id_str: tradeId, type: "trade", size, price, is_maker_ask: row[3] === "buy", timestamp };
  return JSON.stringify({
    channel: `trade:${ONLY_MARKET_ID}`,
    liquidation_trades: [],
    trades: [print],
    type: "update/trade",
  });
}
