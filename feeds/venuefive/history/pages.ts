/**
 * Pages of what the index has, newest first. A cursor names the row that a page ended with, by its place on the chain, so
 * rows that come in meanwhile repeat none and hide none. A page that ends before its limit may have a next one: with a
 * symbol, so many rows are looked at and no more.
 */
import type {
  ChainHistoryPage,
  ChainHistoryQuery,
  ChainRead,
  ChainReadFailure,
  ClientSignedOrder,
  ClosedTrade,
} from "../../../engine/client-signed-room.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { IndexCursor } from "./cursor.js";
import type { EventBook } from "./event-book.js";
import type { EventReader, ListedEvent } from "./event-reader.js";
import { isClosing, isOfOrder } from "./event.js";
import { type DollarBased, foldClosing, foldOrder, type SymbolOf } from "./fold.js";
import type { OlderTrades } from "./older-trades.js";
import { decodePageCursor, encodePageCursor, firstOlder, type PageCursor } from "./page-cursor.js";
import { placeOf } from "./row-keys.js";

interface HistoryPagesParts {
  readonly book: EventBook;
  readonly reader: EventReader;
  readonly symbolOf: SymbolOf;
  readonly isDollarBased: DollarBased;
  /** Null: what is older than the index is missing. */
  readonly older: OlderTrades | null;
  /** When the cursor's block was kept, wall ms. */
  readonly seenAtMs: () => number;
}

const LIMIT_MAX = 1_000;
/** Rows that one page looks at for its symbol. */
const LOOKED_AT_MAX = 2_000;
const LOOK_ROWS = 200;
/** A page that was read while its blocks vanished is read again. */
const ATTEMPTS_MAX = 3;
const RETRY_MS = 2_000;
const ADDRESS = /^0x[0-9a-f]{40}$/;

interface Listed<T> {
  readonly rows: T[];
  /** Behind the last row that was looked at; null: there is no more. */
  readonly after: string | null;
}

interface List<T> {
  read(trader: string, after: string | null, limit: number): Promise<readonly ListedEvent[]>;
  /** Null: its block vanished meanwhile. */
  fold(listed: ListedEvent): Promise<T | null>;
}

export class HistoryPages {
  readonly #parts: HistoryPagesParts;
  readonly #trades: List<ClosedTrade>;
  readonly #orders: List<ClientSignedOrder>;

  constructor(parts: HistoryPagesParts) {
    this.#parts = parts;
    const { reader, symbolOf, isDollarBased } = parts;
    this.#trades = {
      read: (trader, after, limit) => reader.closings(trader, after, limit),
      fold: async ({ event }) => (isClosing(event) ? foldClosing(event, symbolOf, isDollarBased) : null),
    };
    this.#orders = {
      read: (trader, after, limit) => reader.orders(trader, after, limit),
      async fold({ event }) {
        const events = isOfOrder(event) ? await reader.order(event, placeOf(event)) : null;
        return events === null ? null : foldOrder(events, symbolOf, isDollarBased);
      },
    };
  }

  async trades(
    address: string,
    query: ChainHistoryQuery,
    options: CallOptions,
  ): Promise<ChainRead<ChainHistoryPage<ClosedTrade>>> {
    const trader = address.toLowerCase();
    const cursor = readQuery(trader, query);
    const began = this.#parts.book.cursor;
    if (cursor === undefined) return badQuery();
    if (began === null) return notYet();
    if (cursor !== null && cursor.kind === "orders") return badQuery();
    const { older } = this.#parts;
    const isOlder = cursor?.kind === "older";
    const page = isOlder ? null : await this.#page(this.#trades, trader, query, cursor ?? null);
    const listed: Listed<ClosedTrade> = page ?? { rows: [], after: null };
    const at = page?.at ?? began;
    if (listed.after !== null || older === null)
      return this.#ok(at, listed.rows, listed.after === null ? null : { kind: "trades", after: listed.after }, older);
    const mark = cursor?.kind === "older" ? cursor.mark : firstOlder(at.since.timeMs);
    if (listed.rows.length >= query.limit) return this.#ok(at, listed.rows, { kind: "older", mark }, older);
    const limit = query.limit - listed.rows.length;
    const found = await older.read(trader, mark, { limit, symbol: query.symbol }, options);
    if (found.ok) {
      const next: PageCursor | null = found.next === null ? null : { kind: "older", mark: found.next };
      return this.#ok(at, [...listed.rows, ...found.rows], next, older);
    }
    // What the index has is shown, and the next page asks again.
    return listed.rows.length > 0 ? this.#ok(at, listed.rows, { kind: "older", mark }, older) : found;
  }

  async orders(address: string, query: ChainHistoryQuery): Promise<ChainRead<ChainHistoryPage<ClientSignedOrder>>> {
    const trader = address.toLowerCase();
    const cursor = readQuery(trader, query);
    const began = this.#parts.book.cursor;
    if (cursor === undefined || (cursor !== null && cursor.kind !== "orders")) return badQuery();
    if (began === null) return notYet();
    const { rows, after, at = began } = await this.#page(this.#orders, trader, query, cursor);
    return this.#ok(at, rows, after === null ? null : { kind: "orders", after }, null);
  }

  async #page<T extends { readonly symbol: string }>(
    list: List<T>,
    trader: string,
    query: ChainHistoryQuery,
    cursor: Extract<PageCursor, { kind: "trades" | "orders" }> | null,
  ): Promise<Listed<T> & { readonly at?: IndexCursor }> {
    const { book } = this.#parts;
    for (let attempt = 1; ; attempt++) {
      const { generation, cursor: at } = book;
      const listed = await listedOf(list, trader, query, cursor?.after ?? null);
      // Blocks that were taken back meanwhile are not in it, whatever the cursor was before.
      if (at !== null && (book.generation === generation || attempt === ATTEMPTS_MAX)) return { ...listed, at };
    }
  }

  #ok<T>(
    at: IndexCursor,
    rows: readonly T[],
    next: PageCursor | null,
    older: OlderTrades | null,
  ): ChainRead<ChainHistoryPage<T>> {
    const value: ChainHistoryPage<T> = {
      rows,
      nextCursor: next === null ? null : encodePageCursor(next),
      since: at.since,
      older: older === null ? null : "history-url",
      toBlock: at.block,
    };
    return { ok: true, value, asOfMs: this.#parts.seenAtMs(), block: at.block };
  }
}

async function listedOf<T extends { readonly symbol: string }>(
  list: List<T>,
  trader: string,
  { limit, symbol }: ChainHistoryQuery,
  from: string | null,
): Promise<Listed<T>> {
  const rows: T[] = [];
  let after = from;
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX && rows.length < limit; ) {
    const asked = symbol === null ? Math.min(LOOK_ROWS, limit - rows.length) : LOOK_ROWS;
    const listed = await list.read(trader, after, asked);
    for (const one of listed) {
      if (rows.length === limit) break;
      after = one.key;
      lookedAt++;
      const row = await list.fold(one);
      if (row !== null && (symbol === null || row.symbol === symbol)) rows.push(row);
    }
    if (listed.length < asked && after === (listed.at(-1)?.key ?? after)) return { rows, after: null };
  }
  const hasMore = (await list.read(trader, after, 1)).length > 0;
  return { rows, after: hasMore ? after : null };
}

/** Undefined: not one that a page returned, or not a query. */
function readQuery(trader: string, { cursor, limit }: ChainHistoryQuery): PageCursor | null | undefined {
  if (!ADDRESS.test(trader) || !Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) return undefined;
  return cursor === null ? null : (decodePageCursor(cursor) ?? undefined);
}

export function failedChainRead(
  code: ChainReadFailure,
  message: string,
  retryAfterMs: number | null = null,
): Extract<ChainRead<never>, { ok: false }> {
  return { ok: false, code, message, retryAfterMs };
}

function badQuery(): Extract<ChainRead<never>, { ok: false }> {
  return failedChainRead("BAD_CURSOR", "the cursor is not one that a page returned");
}

export function notYet(): Extract<ChainRead<never>, { ok: false }> {
  return failedChainRead("VENUE_ERROR", "the index has no block yet", RETRY_MS);
}
