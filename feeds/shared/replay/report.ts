/** What a replay found, and the JSON object that closes its output. */

/** Price and quantity as the recording prints them, with all its decimals. */
export type PrintedLevel = readonly [price: string, qty: string];

export interface SymbolReport {
  /** null: the side is empty, or the book was not LIVE at the end. */
  readonly bestBid: PrintedLevel | null;
  readonly bestAsk: PrintedLevel | null;
  readonly bidLevels: number;
  readonly askLevels: number;
  /** Venue sequence of the last change applied; null when the book was not LIVE at the end, or the venue has none. */
  readonly lastU: number | null;
}

/** Keys and order are the interface of `npm run replay`. */
export interface ReplayReport {
  readonly frames: number;
  /** Levels in depth frames: the changes of diffs, all levels of partial books; REST snapshots are not counted. */
  readonly levelUpdates: number;
  readonly framesPerSecond: number;
  readonly gaps: number;
  readonly crossings: number;
  readonly symbols: Readonly<Record<string, SymbolReport>>;
}

/** Counts beside the report, for the lines above it. */
export interface ReplayCounts {
  /** Whole books or diffs, best bid and offer, trades, and frames of kinds that no book needs. */
  books: number;
  touches: number;
  trades: number;
  others: number;
  /** Lines that are no frame. */
  malformed: number;
  drifts: number;
  /** Frames that came twice or late. */
  ignored: number;
}

export interface ReplayResult {
  readonly format: string;
  readonly counts: Readonly<ReplayCounts>;
  readonly report: ReplayReport;
  /** Things a reader should know: a missing companion, a cut file. */
  readonly notes: readonly string[];
}

export function emptyCounts(): ReplayCounts {
  return { books: 0, touches: 0, trades: 0, others: 0, malformed: 0, drifts: 0, ignored: 0 };
}
