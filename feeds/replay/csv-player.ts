/** Plays the collectors' CSV files: each row becomes a frame of its venue and goes through that venue's decoder. */
import {
  bboToBookTicker,
  bboToTicker,
  book10ToSnapshot,
  book20ToL2Book,
  type CsvFormat,
  figure,
  isoMs,
  tradeToAggTrade,
  tradeToPrint,
  tradeToTrades,
} from "./csv-rows.js";
import type { PlayOutcome, Player } from "./player.js";
import type { ReplayCounts } from "./report.js";
import { VenueonePlayer } from "./venueone-player.js";
import { VenuethreePlayer } from "./venuethree-player.js";
import { VenuetwoPlayer } from "./venuetwo-player.js";

export function createCsvPlayer(format: CsvFormat, symbol: string): Player {
  switch (format) {
    case "csv-book10":
    case "csv-bbo":
    case "csv-trades":
      return new VenuetwoCsvPlayer(format, symbol);
    case "csv-book20":
    case "csv-bbo-sided":
    case "csv-trades-venueone":
      return new VenueoneCsvPlayer(format, symbol);
    case "csv-bbo-venuethree":
    case "csv-trades-venuethree":
      return new VenuethreeCsvPlayer(format, symbol);
  }
}

/** Cells of a row; null for the header and for rows that are none. */
function cellsOf(bytes: Buffer, start: number, end: number): string[] | null {
  const text = bytes.toString("utf8", start, end);
  return /^\d/.test(text) ? text.split(",") : null;
}

function isHeader(bytes: Buffer, start: number): boolean {
  const byte = bytes[start] ?? 0;
  return byte >= 0x61 && byte <= 0x7a;
}

class VenuetwoCsvPlayer implements Player {
  readonly format: CsvFormat;
  readonly venue = new VenuetwoPlayer();
  readonly #symbol: string;
  #rowCount = 0;

  constructor(format: CsvFormat, symbol: string) {
    this.format = format;
    this.#symbol = symbol;
  }

  get counts(): ReplayCounts {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end, 0);
    if (frame !== null) this.venue.scan(frame, 0, frame.length, this.#symbol);
  }

  prepare(): void {
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const cells = cellsOf(bytes, start, end);
    return this.format === "csv-trades" ? Number(cells?.[1]) : Number(cells?.[0]) * 1000;
  }

  play(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end, ++this.#rowCount);
    if (frame === null) {
      if (!isHeader(bytes, start)) this.counts.malformed++;
      return;
    }
    const tsRecvNs = this.timeMs(bytes, start, end) * 1e6;
    if (this.format === "csv-book10") this.venue.playWhole(frame, 0, frame.length, this.#symbol, tsRecvNs);
    else this.venue.playFrame(frame, 0, frame.length, tsRecvNs);
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }

  #frame(bytes: Buffer, start: number, end: number, rowId: number): Buffer | null {
    const cells = cellsOf(bytes, start, end);
    if (cells === null) return null;
    let text: string | null;
    if (this.format === "csv-book10") text = book10ToSnapshot(cells);
    else if (this.format === "csv-bbo") text = bboToBookTicker(cells, this.#symbol, rowId);
    else text = tradeToAggTrade(cells, this.#symbol);
    return text === null ? null : Buffer.from(text, "utf8");
  }
}

class VenueoneCsvPlayer implements Player {
  readonly format: CsvFormat;
  readonly venue = new VenueonePlayer();
  readonly #coin: string;
  /** csv-bbo-sided has a row per side; a frame is the latest of both. */
  #bid: { px: string; sz: string; n: number } | null = null;
  #ask: { px: string; sz: string; n: number } | null = null;

  constructor(format: CsvFormat, coin: string) {
    this.format = format;
    this.#coin = coin;
  }

  get counts(): ReplayCounts {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end);
    if (frame !== null) this.venue.scan(frame);
  }

  prepare(): void {
    this.#bid = null;
    this.#ask = null;
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    return Number(cellsOf(bytes, start, end)?.[0]) * 1000;
  }

  play(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end);
    if (frame !== null) this.venue.play(frame, this.timeMs(bytes, start, end) * 1e6);
    else if (!isHeader(bytes, start)) this.counts.malformed++;
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }

  #frame(bytes: Buffer, start: number, end: number): Buffer | null {
    const cells = cellsOf(bytes, start, end);
    if (cells === null) return null;
    let text: string | null;
    if (this.format === "csv-book20") text = book20ToL2Book(cells, this.#coin);
    else if (this.format === "csv-trades-venueone") text = tradeToTrades(cells, this.#coin);
    else text = this.#bboFrame(cells);
    return text === null ? null : Buffer.from(text, "utf8");
  }

  /** Both sides come in rows of their own; a pair of one exchange time is one update, here sent after each row. */
  #bboFrame(cells: readonly string[]): string | null {
    const px = figure(cells[1]);
    const sz = figure(cells[2]);
    const time = Number(cells[4]);
    if (px === null || sz === null || !Number.isSafeInteger(time)) return null;
    if (cells[3] === "bid") this.#bid = { px, sz, n: 1 };
    else if (cells[3] === "ask") this.#ask = { px, sz, n: 1 };
    else return null;
    return JSON.stringify({ channel: "bbo", data: { coin: this.#coin, time, bbo: [this.#bid, this.#ask] } });
  }
}

class VenuethreeCsvPlayer implements Player {
  readonly format: CsvFormat;
  readonly venue: VenuethreePlayer;
  readonly #symbol: string;
  #rowCount = 0;

  constructor(format: CsvFormat, symbol: string) {
    this.format = format;
    this.#symbol = symbol;
    this.venue = new VenuethreePlayer(symbol);
  }

  get counts(): ReplayCounts {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end, 0);
    if (frame !== null) this.venue.scan(frame, 0, frame.length);
  }

  prepare(): void {
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    return isoMs(cellsOf(bytes, start, end)?.[0] ?? "");
  }

  play(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end, ++this.#rowCount);
    if (frame !== null) this.venue.play(frame, 0, frame.length, this.timeMs(bytes, start, end) * 1e6);
    else if (!isHeader(bytes, start)) this.counts.malformed++;
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }

  #frame(bytes: Buffer, start: number, end: number, rowId: number): Buffer | null {
    const cells = cellsOf(bytes, start, end);
    if (cells === null) return null;
    const text = this.format === "csv-bbo-venuethree" ? bboToTicker(cells, this.#symbol, rowId) : tradeToPrint(cells);
    return text === null ? null : Buffer.from(text, "utf8");
  }
}
