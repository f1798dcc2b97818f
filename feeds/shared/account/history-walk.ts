/**
 * Pages of an account's history, newest first, over endpoints that answer a span of time and cut off what is too much
 * for one answer.
 *
 * Rows have one order that never changes: by venue time, then by id. A cursor is a place in that order, so a page
 * neither repeats nor skips a row, also where many rows share an instant. An answer that was cut is not used: the same
 * end is asked for again with a shorter span. Both the reads of one page and the rows it holds are bounded; a page that
 * ran out of reads ends early, with a cursor.
 */
import type { HistoryPage, HistoryQuery, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";

export interface HistoryRow<T> {
  /** Venue time of what happened; never changes afterwards. */
  readonly tsMs: number;
  /** Unique among the rows of one instant; letters and digits of any script, and `:._-`. */
  readonly id: string;
  readonly value: T;
}

export interface HistorySpan<T> {
  /** In any order; rows outside the span are left out by the walk. */
  readonly rows: readonly HistoryRow<T>[];
  /** False when the venue cut the answer: rows of the span are missing. */
  readonly isWhole: boolean;
}

export interface HistoryWalk<T> {
  /** Names the list in its cursors: a cursor of another list is refused. */
  readonly kind: string;
  readonly query: Pick<HistoryQuery, "sinceMs" | "untilMs" | "limit" | "cursor">;
  readonly nowVenueMs: number;
  /** Nothing is older than this. */
  readonly oldestMs: number;
  /** Span of the first read; it grows while little is found. */
  readonly firstSpanMs: number;
  readonly maxSpanMs: number;
  readonly maxReads: number;
  /** Bounds inclusive. */
  readonly readSpan: (fromMs: number, untilMs: number) => Promise<Read<HistorySpan<T>>>;
}

/** Rows may carry a time slightly beyond our estimate of the venue's now. */
const NOW_SLACK_MS = 60_000;
const SHRINK = 8;
const GROW = 4;
const MAX_CURSOR_CHARS = 256;

/** Everything from here on downwards is still to be read; `id` null: the whole instant is. */
interface Place {
  readonly ms: number;
  readonly id: string | null;
  readonly spanMs: number;
}

export async function walkHistory<T>(walk: HistoryWalk<T>): Promise<Read<HistoryPage<HistoryRow<T>>>> {
  const { query, firstSpanMs, maxSpanMs, maxReads, nowVenueMs } = walk;
  const floorMs = Math.max(walk.oldestMs, query.sinceMs ?? walk.oldestMs);
  const topMs = Math.min(query.untilMs ?? Number.MAX_SAFE_INTEGER, nowVenueMs + NOW_SLACK_MS);
  const given = query.cursor === null ? null : parseCursor(walk.kind, query.cursor);
  if (query.cursor !== null && given === null) return failedRead("BAD_CURSOR", "not a cursor of this list");
  let place: Place = given ?? { ms: topMs, id: null, spanMs: firstSpanMs };
  if (place.ms > topMs) place = { ...place, ms: topMs, id: null };
  const rows: HistoryRow<T>[] = [];
  let asOfMs = nowVenueMs;
  for (let reads = 0; reads < maxReads && place.ms >= floorMs; reads++) {
    const untilMs = place.ms;
    const fromMs = Math.max(floorMs, untilMs - Math.min(place.spanMs, maxSpanMs) + 1);
    const read = await walk.readSpan(fromMs, untilMs);
    // What was found is a page; without it the failure is the answer.
    if (!read.ok && rows.length > 0) break;
    if (!read.ok) return read;
    asOfMs = read.asOfMs;
    if (!read.value.isWhole) {
      if (fromMs === untilMs) return failedRead("BAD_RESPONSE", "more rows at one instant than the venue shows");
      place = { ...place, spanMs: Math.max(1, Math.floor((untilMs - fromMs + 1) / SHRINK)) };
      continue;
    }
    for (const row of newestFirst(read.value.rows)) {
      if (row.tsMs < fromMs || !isBelow(row, place)) continue;
      if (rows.length >= query.limit) return page(walk.kind, rows, place, asOfMs);
      rows.push(row);
      place = { ms: row.tsMs, id: row.id, spanMs: place.spanMs };
    }
    place = { ms: fromMs - 1, id: null, spanMs: Math.min(maxSpanMs, place.spanMs * GROW) };
  }
  return page(walk.kind, rows, place.ms < floorMs ? null : place, asOfMs);
}

/** The page as the port wants it: values without their places. */
export function pageOf<T>(read: Read<HistoryPage<HistoryRow<T>>>): Read<HistoryPage<T>> {
  if (!read.ok) return read;
  return { ...read, value: { rows: read.value.rows.map((row) => row.value), nextCursor: read.value.nextCursor } };
}

/** The cursor after this row, for a page that is cut short. */
export function cursorAfter(kind: string, row: HistoryRow<unknown>, spanMs: number): string {
  return writeCursor(kind, { ms: row.tsMs, id: row.id, spanMs });
}

function page<T>(
  kind: string,
  rows: readonly HistoryRow<T>[],
  place: Place | null,
  asOfMs: number,
): Read<HistoryPage<HistoryRow<T>>> {
  const nextCursor = place === null ? null : writeCursor(kind, place);
  return { ok: true, value: { rows, nextCursor }, asOfMs, source: "venue" };
}

function writeCursor(kind: string, { ms, id, spanMs }: Place): string {
  // A cursor goes through headers and addresses: what is not ASCII is escaped.
  const place = id === null ? [] : [id.replace(/[^\w:.-]+/gu, encodeURIComponent)];
  return [kind, ms, spanMs, ...place].join("~");
}

function parseCursor(kind: string, text: string): Place | null {
  if (text.length > MAX_CURSOR_CHARS) return null;
  const match = /^([a-z]+)~(\d{1,16})~(\d{1,16})(?:~([\p{L}\p{M}\p{N}_:.%-]+))?$/u.exec(text);
  const ms = Number(match?.[2]);
  const spanMs = Number(match?.[3]);
  if (match?.[1] !== kind || !Number.isSafeInteger(ms) || !Number.isSafeInteger(spanMs) || spanMs < 1) return null;
  const id = match[4] === undefined ? null : unescaped(match[4]);
  return id === "" ? null : { ms, id, spanMs };
}

/** Empty where an escape is cut or is none. */
function unescaped(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    // Not one of ours.
    return "";
  }
}

function newestFirst<T>(rows: readonly HistoryRow<T>[]): readonly HistoryRow<T>[] {
  return [...rows].sort((left, right) => right.tsMs - left.tsMs || compareIds(right.id, left.id));
}

function isBelow(row: HistoryRow<unknown>, place: Place): boolean {
  if (row.tsMs !== place.ms) return row.tsMs < place.ms;
  return place.id === null || compareIds(row.id, place.id) < 0;
}

/** A total order that counts numbers of any length right. */
function compareIds(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left === right ? 0 : left < right ? -1 : 1;
}
