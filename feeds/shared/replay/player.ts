/**
 * A player turns the lines of one recording format into frames of a venue and feeds them to that
 * venue's own decoder and books. It sees the file twice: first to learn how many decimals each symbol
 * is printed with, then to play it.
 */
import { formatScaled } from "../../../engine/domain/decimal.js";
import type { Book } from "../../../engine/market/book.js";
import type { PrintedLevel, ReplayCounts, SymbolReport } from "./report.js";

/** Receive time of a line that has none. */
export const NO_TIME = Number.NaN;

export interface Player {
  readonly format: string;
  readonly counts: ReplayCounts;
  /** First pass. */
  scan(bytes: Buffer, start: number, end: number): void;
  /** Between the passes. */
  prepare(): void;
  /** Receive time of a line, ms since the epoch; NO_TIME if it has none. For pacing. */
  timeMs(bytes: Buffer, start: number, end: number): number;
  /** Second pass. Never throws on content. */
  play(bytes: Buffer, start: number, end: number): void;
  /** After the last line. */
  outcome(): PlayOutcome;
}

/** One file to play. */
export interface RecordingFile {
  readonly path: string;
  /** What the file is named after: rows do not say. */
  readonly symbol: string;
  /** For people, added to while it is opened. */
  readonly notes: string[];
}

/** How a room's recordings are recognised, and who plays them. Formats are asked in the order of the rooms. */
export interface RecordingFormat {
  /** What the first line begins with. */
  readonly header?: string;
  /** By the first lines. */
  isHead?(lines: readonly string[]): boolean;
  /** By one line's frame; `isTimed`: its receive time comes before it. */
  isFrame?(frame: Readonly<Record<string, unknown>>, isTimed: boolean): boolean;
  open(file: RecordingFile): Player | Promise<Player>;
}

/** A room's player of frames whose books need snapshots, as REST answers them. */
export interface DiffPlayer {
  readonly counts: ReplayCounts;
  /** Those of the recording, after `prepare`. */
  readonly symbols: readonly string[];
  /** First pass over one frame. A snapshot without a symbol belongs to the symbol of the recording. */
  scan(bytes: Buffer, start: number, end: number, snapshotSymbol: string | null): void;
  prepare(): void;
  playFrame(bytes: Buffer, start: number, end: number, tsRecvNs: number): void;
  playSnapshot(bytes: Buffer, start: number, end: number, symbol: string, tsRecvNs: number): void;
  /** A snapshot that no diff follows: it is the book. False: it is none, or its market is unknown. */
  playAnswer(bytes: Buffer, start: number, end: number, symbol: string, tsRecvNs: number): boolean;
  outcome(): PlayOutcome;
}

export interface PlayOutcome {
  readonly frames: number;
  readonly levelUpdates: number;
  readonly gaps: number;
  readonly crossings: number;
  readonly symbols: Readonly<Record<string, SymbolReport>>;
}

/** Most decimals seen per symbol. */
export class DecimalScan {
  readonly #bySymbol = new Map<string, { price: number; qty: number }>();

  note(symbol: string, priceText: string, qtyText: string): void {
    let seen = this.#bySymbol.get(symbol);
    if (seen === undefined) {
      seen = { price: 0, qty: 0 };
      this.#bySymbol.set(symbol, seen);
    }
    seen.price = Math.max(seen.price, printedDecimals(priceText));
    seen.qty = Math.max(seen.qty, printedDecimals(qtyText));
  }

  symbols(): readonly string[] {
    return [...this.#bySymbol.keys()];
  }

  price(symbol: string): number {
    return this.#bySymbol.get(symbol)?.price ?? 0;
  }

  qty(symbol: string): number {
    return this.#bySymbol.get(symbol)?.qty ?? 0;
  }
}

/** Decimals as printed, trailing zeros counted: a book is shown the way its recording writes it. */
function printedDecimals(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/** Integer → text with exactly `decimals` places. */
export function printPadded(value: number, decimals: number): string {
  const text = formatScaled(value, decimals);
  if (decimals <= 0) return text;
  const point = text.indexOf(".");
  return point < 0 ? `${text}.${"0".repeat(decimals)}` : text.padEnd(point + 1 + decimals, "0");
}

export function reportBook(book: Book, priceDecimals: number, qtyDecimals: number): SymbolReport {
  const level = (ticks: number, lots: number): PrintedLevel => [
    printPadded(ticks, priceDecimals),
    printPadded(lots, qtyDecimals),
  ];
  const { bidCount, askCount } = book;
  return {
    bestBid: bidCount > 0 ? level(book.bidTicks(0), book.bidLots(0)) : null,
    bestAsk: askCount > 0 ? level(book.askTicks(0), book.askLots(0)) : null,
    bidLevels: bidCount,
    askLevels: askCount,
    lastU: bidCount + askCount > 0 ? book.seq : null,
  };
}

/** Position of the first `byte` in [start, end), -1 if none. */
export function indexOfByte(bytes: Buffer, byte: number, start: number, end: number): number {
  for (let at = start; at < end; at++) if (bytes[at] === byte) return at;
  return -1;
}

/** The JSON in [start, end); undefined when it is none. */
export function parseJson(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString("utf8", start, end));
  } catch {
    // Garbage in a recording is counted by the caller.
    return undefined;
  }
}

export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
