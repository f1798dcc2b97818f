/**
 * Plays the collectors' CSV files: each row becomes the frame that its venue would have sent and goes through that venue's
 * decoder. Nothing is quoted in these files. Collectors pad figures to six decimals; the padding is dropped, so the
 * decimals counted are real.
 */
import { decimalPlaces, isPlainDecimal, plainFromVenueNumber } from "../../../engine/domain/decimal.js";
import type { PlayOutcome, Player, RecordingFormat } from "./player.js";
import type { ReplayCounts } from "./report.js";

/** What a room makes of the rows of one file. */
export interface CsvRows {
  readonly counts: ReplayCounts;
  /** `rowId`: 0 in the first pass, then one more with each row. Null: a figure is broken. */
  frame(cells: readonly string[], rowId: number): string | null;
  timeMs(cells: readonly string[]): number;
  scan(frame: Buffer): void;
  /** Between the passes. */
  prepare(): void;
  play(frame: Buffer, tsRecvNs: number): void;
  outcome(): PlayOutcome;
}

export function csvFormat(format: string, header: string, open: (symbol: string) => CsvRows): RecordingFormat {
  return { header, open: ({ symbol }) => new CsvPlayer(format, open(symbol)) };
}

class CsvPlayer implements Player {
  readonly format: string;
  readonly #rows: CsvRows;
  #rowCount = 0;

  constructor(format: string, rows: CsvRows) {
    this.format = format;
    this.#rows = rows;
  }

  get counts(): ReplayCounts {
    return this.#rows.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end, 0);
    if (frame !== null) this.#rows.scan(frame);
  }

  prepare(): void {
    this.#rows.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const cells = cellsOf(bytes, start, end);
    return cells === null ? Number.NaN : this.#rows.timeMs(cells);
  }

  play(bytes: Buffer, start: number, end: number): void {
    const frame = this.#frame(bytes, start, end, ++this.#rowCount);
    if (frame !== null) this.#rows.play(frame, this.timeMs(bytes, start, end) * 1e6);
    else if (!isHeader(bytes, start)) this.counts.malformed++;
  }

  outcome(): PlayOutcome {
    return this.#rows.outcome();
  }

  #frame(bytes: Buffer, start: number, end: number, rowId: number): Buffer | null {
    const cells = cellsOf(bytes, start, end);
    const text = cells === null ? null : this.#rows.frame(cells, rowId);
    return text === null ? null : Buffer.from(text, "utf8");
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

/** A figure without padding; null when it is none. */
export function figure(text: string | undefined): string | null {
  if (text === undefined) return null;
  const plain = isPlainDecimal(text) ? text : plainFromVenueNumber(text);
  if (plain === null || plain.startsWith("-")) return null;
  const places = decimalPlaces(plain);
  const point = plain.indexOf(".");
  if (point < 0) return plain;
  return places === 0 ? plain.slice(0, point) : plain.slice(0, point + 1 + places);
}

/** `Date` text without a zone is taken as UTC. */
export function isoMs(text: string): number {
  return Date.parse(`${text}Z`);
}

/** Levels of one side out of a row; null when a figure is broken. Empty cells end the side. */
export function sideOf(
  row: readonly string[],
  firstColumn: number,
  stride: number,
  count: number,
): [string, string][] | null {
  const levels: [string, string][] = [];
  for (let index = 0; index < count; index++) {
    const column = firstColumn + index * stride;
    if ((row[column] ?? "") === "") break;
    const price = figure(row[column]);
    const qty = figure(row[column + 1]);
    if (price === null || qty === null) return null;
    levels.push([price, qty]);
  }
  return levels;
}
