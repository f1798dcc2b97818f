/**
 * Plays frames of venuetwo and of the dialect it descends from: decoder → book sync → book, exactly
 * the code the live room runs. One book per symbol; a gap leaves the book INVALID until a snapshot in
 * the recording bridges again, as there is nobody to ask for one.
 */
import { Book, INVALID_CROSSED, INVALID_DECODE } from "../../engine/market/book.js";
import { Touch } from "../../engine/market/touch.js";
import { BookSync, DIFF_BROKEN } from "../venuetwo/market/sync.js";
import { VenuetwoDecoder } from "../venuetwo/market/decode.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH, FRAME_DRIFT, FRAME_MALFORMED, FRAME_TRADE } from "../venuetwo/market/frame.js";
import { DecimalScan, isFields, parseJson, type PlayOutcome, reportBook } from "./player.js";
import { emptyCounts, type SymbolReport } from "./report.js";

interface PlayedMarket {
  readonly symbol: string;
  readonly book: Book;
  readonly sync: BookSync;
  readonly touch: Touch;
}

export class VenuetwoPlayer {
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
