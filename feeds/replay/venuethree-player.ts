/**
 * Plays frames of venuethree through that room's decoders and its chain of books: `jsonl-frames`, one received frame per
 * line without a receive time, for which the frame's own `timestamp` stands.
 *
 * Frames name a market by number; only tickers say its name too. Where one market has a book and no ticker names it,
 * it is the one the recording is named after.
 */
import { Book, INVALID_CROSSED, INVALID_DECODE } from "../../engine/market/book.js";
import { Touch } from "../../engine/market/touch.js";
import { BookChain, CHAIN_BROKEN } from "../venuethree/market/sync.js";
import { readChannel } from "../venuethree/market/channel.js";
import { VenuethreeDecoder } from "../venuethree/market/decode.js";
import { decodeSlowFrame } from "../venuethree/market/decode-slow.js";
import {
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_SNAPSHOT,
  FRAME_TICKER,
} from "../venuethree/market/frame.js";
import { MAX_MARKET_ID } from "../venuethree/market/market-table.js";
import { DecimalScan, isFields, NO_TIME, parseJson, type PlayOutcome, type Player, reportBook } from "./player.js";
import { emptyCounts, type SymbolReport } from "./report.js";

interface PlayedMarket {
  readonly marketId: number;
  readonly chain: BookChain;
  readonly touch: Touch;
}

export class VenuethreePlayer {
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
export class VenuethreeLinesPlayer implements Player {
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
