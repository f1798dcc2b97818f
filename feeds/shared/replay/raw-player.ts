/**
 * Format `raw-ws-lines` with frames of a dialect of diffs: `<receive time, ns> <frame>`, one frame per
 * line, REST depth snapshots (no symbol in them) as lines between.
 */
import { type DiffPlayer, indexOfByte, isFields, NO_TIME, parseJson, type PlayOutcome, type Player } from "./player.js";

const SPACE = 0x20;
const SNAPSHOT_MARK = Buffer.from('"lastUpdateId"');
/** A snapshot names itself near its start. */
const MARK_WITHIN_BYTES = 200;

export class RawPlayer<Venue extends DiffPlayer> implements Player {
  readonly format = "raw-ws-lines";
  readonly venue: Venue;
  /** Snapshots scanned before any frame named the symbol. */
  #snapshots: { readonly bytes: Buffer }[] = [];
  #symbol: string | null = null;

  constructor(venue: Venue) {
    this.venue = venue;
  }

  get counts() {
    return this.venue.counts;
  }

  scan(bytes: Buffer, start: number, end: number): void {
    const at = frameStart(bytes, start, end);
    if (at < 0) return;
    if (isSnapshot(bytes, at, end)) {
      if (this.#snapshots.length < 16) this.#snapshots.push({ bytes: Buffer.from(bytes.subarray(at, end)) });
      return;
    }
    this.venue.scan(bytes, at, end, null);
    this.#symbol ??= symbolOf(parseJson(bytes, at, end));
  }

  prepare(): void {
    for (const { bytes } of this.#snapshots) {
      this.venue.scan(bytes, 0, bytes.length, snapshotSymbol(bytes, 0, bytes.length) ?? this.#symbol);
    }
    this.#snapshots = [];
    this.venue.prepare();
  }

  timeMs(bytes: Buffer, start: number, end: number): number {
    const at = frameStart(bytes, start, end);
    return at < 0 ? NO_TIME : receiveNs(bytes, start, at) / 1e6;
  }

  play(bytes: Buffer, start: number, end: number): void {
    const at = frameStart(bytes, start, end);
    if (at < 0) {
      this.counts.malformed++;
      return;
    }
    const tsRecvNs = receiveNs(bytes, start, at);
    if (!isSnapshot(bytes, at, end)) {
      this.venue.playFrame(bytes, at, end, tsRecvNs);
      return;
    }
    // Without a symbol of its own it can only be that of a recording of one symbol.
    const symbol =
      snapshotSymbol(bytes, at, end) ?? (this.venue.symbols.length === 1 ? this.venue.symbols[0] : undefined);
    if (symbol === undefined) this.counts.others++;
    else this.venue.playSnapshot(bytes, at, end, symbol, tsRecvNs);
  }

  outcome(): PlayOutcome {
    return this.venue.outcome();
  }
}

/** Position of the frame behind `<digits> `, -1 when the line is not one of this format. */
export function frameStart(bytes: Buffer, start: number, end: number): number {
  const space = indexOfByte(bytes, SPACE, start, Math.min(end, start + 24));
  if (space <= start || space + 1 >= end) return -1;
  for (let at = start; at < space; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x30 || byte > 0x39) return -1;
  }
  return space + 1;
}

/** Nineteen digits of ns are beyond 2^53: exact to about 256 ns, which is enough for ages. */
function receiveNs(bytes: Buffer, start: number, frameAt: number): number {
  let value = 0;
  for (let at = start; at < frameAt - 1; at++) value = value * 10 + ((bytes[at] as number) - 0x30);
  return value;
}

function isSnapshot(bytes: Buffer, at: number, end: number): boolean {
  // Streams begin with `{"stream"` or `{"e"`; only what may be a snapshot is searched.
  if (bytes[at + 2] === 0x73 /* s */ && bytes[at + 3] === 0x74 /* t */) return false;
  const markAt = bytes.subarray(at, Math.min(end, at + MARK_WITHIN_BYTES)).indexOf(SNAPSHOT_MARK);
  return markAt >= 0;
}

/** COIN-M style snapshots carry their symbol. */
function snapshotSymbol(bytes: Buffer, at: number, end: number): string | null {
  const head = bytes.toString("latin1", at, Math.min(end, at + MARK_WITHIN_BYTES));
  return /"symbol":"([^"]+)"/.exec(head)?.[1] ?? null;
}

function symbolOf(parsed: unknown): string | null {
  if (!isFields(parsed)) return null;
  const data = isFields(parsed["data"]) ? parsed["data"] : parsed;
  return typeof data["s"] === "string" ? data["s"] : null;
}
