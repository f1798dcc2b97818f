/** What a page's `nextCursor` holds: opaque text to a caller, and read strictly when it comes back. */

/** Where the vendor's pages of closed trades go on. */
export interface OlderMark {
  /** From 1. */
  readonly page: number;
  /** Rows of this time, but those that were shown, and of before. */
  readonly beforeMs: number;
  /** Ids of rows of exactly that time that were shown. */
  readonly shown: readonly string[];
}

export type PageCursor =
  /** `after`: the place of the last row, newest first. */
  { readonly kind: "trades" | "orders"; readonly after: string } | { readonly kind: "older"; readonly mark: OlderMark };

const PLACE = /^\d{12}-\d{8}$/;
const CURSOR_CHARS_MAX = 2_000;
const PAGE_MAX = 1_000_000;
/** More rows of one millisecond than this were closed by no trader. */
export const SHOWN_MAX = 20;

/** Of what is older than the index: a row of its first block is in it. */
export function firstOlder(sinceMs: number): OlderMark {
  return { page: 1, beforeMs: sinceMs - 1, shown: [] };
}

export function encodePageCursor(cursor: PageCursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** Null: not one of ours. */
export function decodePageCursor(text: string): PageCursor | null {
  if (text.length > CURSOR_CHARS_MAX || !/^[\w-]+$/.test(text)) return null;
  const value = parsed(Buffer.from(text, "base64url").toString("utf8"));
  const { kind, after, mark } = fieldsOf(value);
  if (kind === "trades" || kind === "orders")
    return typeof after === "string" && PLACE.test(after) ? { kind, after } : null;
  const older = kind === "older" ? markOf(mark) : null;
  return older === null ? null : { kind: "older", mark: older };
}

function markOf(value: unknown): OlderMark | null {
  const { page, beforeMs, shown } = fieldsOf(value);
  if (!isCount(page, PAGE_MAX) || page < 1 || !isCount(beforeMs, Number.MAX_SAFE_INTEGER)) return null;
  if (!Array.isArray(shown) || shown.length > SHOWN_MAX || shown.some((id) => typeof id !== "string")) return null;
  return { page, beforeMs, shown: shown as string[] };
}

function isCount(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= max;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: none of ours.
    return null;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
