/**
 * What an account did on venuethree: orders, fills, funding, over the venue's own pages (newest first, a cursor that
 * names a row). The venue's cursor is asked for with as many rows as are still wanted, so that it always points behind
 * the last row of our page.
 *
 * Orders come from two lists, and an order moves from one to the other when it ends. A first read fixes a moment: the
 * newest end in the ended list. What is active, or ended after it, counts as active and is listed first, newest first
 * by creation; then what had ended by then, newest end first. So no order is listed twice or left out, whatever ends
 * between two pages.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type { FundingPayment } from "../../../engine/domain/position.js";
import type {
  AccountHistory,
  AccountSession,
  CallOptions,
  HistoryPage,
  HistoryQuery,
  Read,
} from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import type { OpenedAccount, VenuethreeAccount } from "./reader.js";
import { createdMsOf, fundingMsOf, normalizeFill, normalizeFunding, normalizeOrder } from "./normalize.js";
import type { PageQuery, VenuethreeAccountRest } from "./rest.js";
import type { VenuethreePage, VenuethreeWireOrder } from "./wire.js";
import { type ListCursor, type OrdersCursor, readListCursor, readOrdersCursor, writeCursor } from "./history-cursor.js";
import { MAX_PAGE_ROWS } from "../rules/limits.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";

/** Calls one page of ours may cost; what is left comes with the next. */
const MAX_READS = 12;
/** Pages of orders that ended since the first page was read. */
const MAX_RECENT_PAGES = 10;

export interface VenuethreeHistoryDeps {
  readonly account: VenuethreeAccount;
  readonly rest: VenuethreeAccountRest;
  readonly instruments: InstrumentIndex;
  readonly clock: Clock;
}

/** One list of the venue, read page by page. */
interface PagedList<W, T> {
  readonly name: string;
  readonly fetch: (page: PageQuery, token: string, options: CallOptions) => Promise<Read<VenuethreePage<W>>>;
  readonly marketIdOf: (wire: W) => number;
  readonly msOf: (wire: W) => number;
  /** Null means not a row of this list. */
  readonly normalize: (wire: W, instrument: Instrument) => T | null;
}

interface Collected<T> {
  readonly rows: T[];
  /** Null when there is nothing older. */
  readonly next: { readonly venueCursor: string | null } | null;
  readonly asOfMs: number;
}

export class VenuethreeHistory implements AccountHistory {
  readonly #deps: VenuethreeHistoryDeps;

  constructor(deps: VenuethreeHistoryDeps) {
    this.#deps = deps;
  }

  async readFills(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueFill>>> {
    return this.#readList(session, query, options, "fills", (accountIndex) => ({
      name: "trades",
      fetch: (page, token, left) => this.#deps.rest.trades(page, token, left),
      marketIdOf: (wire) => wire.market_id,
      msOf: (wire) => wire.timestamp,
      normalize: (wire, instrument) => normalizeFill(wire, accountIndex, instrument),
    }));
  }

  async readFunding(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<FundingPayment>>> {
    return this.#readList(session, query, options, "funding", () => ({
      name: "positionFunding",
      fetch: (page, token, left) => this.#deps.rest.positionFunding(page, token, left),
      marketIdOf: (wire) => wire.market_id,
      msOf: fundingMsOf,
      normalize: normalizeFunding,
    }));
  }

  async readOrders(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueOrder>>> {
    const cursor = query.cursor === null ? null : readOrdersCursor(query.cursor);
    if (query.cursor !== null && cursor === null) return BAD_CURSOR;
    const deadline = new Deadline(this.#deps.clock, options, session.payer);
    const opened = await this.#deps.account.open(session, options);
    if (!opened.ok) return opened;
    const scope = scopeOf(opened.value, query);
    if (cursor !== null && cursor.scope !== scope) return BAD_CURSOR;
    const rows: VenueOrder[] = [];
    let place = cursor;
    let asOfMs = opened.asOfMs;
    if (place === null || place.phase === "active") {
      const active = await this.#activePart(opened.value, query, place, deadline);
      if (!active.ok) return active;
      asOfMs = active.asOfMs;
      rows.push(...active.value.rows);
      place = { ...active.value.place, scope };
    }
    if (place.phase === "active" || rows.length >= query.limit) return pageOf(rows, writeCursor(place), asOfMs);
    const { fixedUs } = place;
    const list: PagedList<VenuethreeWireOrder, VenueOrder> = {
      name: "accountInactiveOrders",
      fetch: (page, token, left) => this.#deps.rest.inactiveOrders(page, token, left),
      marketIdOf: (wire) => wire.market_index,
      msOf: (wire) => Math.floor(wire.transaction_time / 1_000),
      normalize: (wire, instrument) => (wire.transaction_time > fixedUs ? null : normalizeOrder(wire, instrument)),
    };
    const ended = await this.#collect(list, opened.value, query, place.venueCursor, rows, deadline);
    if (!ended.ok) return ended;
    const { next } = ended.value;
    const nextCursor = next === null ? null : writeCursor({ ...place, venueCursor: next.venueCursor });
    return pageOf(ended.value.rows, nextCursor, ended.value.asOfMs);
  }

  /** Orders that were active when the first page was read, from the place on, and where to go on. */
  async #activePart(
    opened: OpenedAccount,
    query: HistoryQuery,
    from: (OrdersCursor & { readonly phase: "active" }) | null,
    deadline: Deadline,
  ): Promise<Read<{ readonly rows: readonly VenueOrder[]; readonly place: OrdersPlace }>> {
    const { rest, account } = this.#deps;
    const { key, token } = opened;
    const marketId = query.instrument?.nativeId ?? null;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the open orders");
    const active = await rest.activeOrders(key.accountIndex, marketId, token, left);
    if (!active.ok) return account.noteFailure(key, active);
    const recent = await this.#endedSince(opened, marketId, from?.fixedUs ?? null, deadline);
    if (!recent.ok) return recent;
    const fixedUs = from?.fixedUs ?? recent.value.newestUs;
    // What is in both lists ended between the two reads.
    const byId = new Map(active.value.rows.map((wire) => [wire.order_id, wire]));
    for (const wire of recent.value.rows) {
      if (wire.transaction_time > fixedUs) byId.set(wire.order_id, wire);
      else byId.delete(wire.order_id);
    }
    const wanted = [...byId.values()].filter((wire) => from === null || isBelow(wire, from)).sort(newestFirst);
    const shown = wanted.slice(0, query.limit);
    const last = shown.at(-1);
    const place: OrdersPlace =
      last !== undefined && wanted.length > shown.length
        ? { phase: "active", fixedUs, createdMs: createdMsOf(last), orderId: last.order_id }
        : { phase: "ended", fixedUs, venueCursor: null };
    const decoded = decodeWith(null, () => {
      const rows: VenueOrder[] = [];
      for (const wire of shown) {
        const instrument = this.#instrumentOf(wire.market_index, query.instrument);
        if (instrument === null) continue;
        const order = normalizeOrder(wire, instrument);
        if (isWithin(order.tsVenueMs, query)) rows.push(order);
      }
      return rows;
    });
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `accountActiveOrders: ${decoded.problem}`);
    return { ...active, value: { rows: decoded.value, place } };
  }

  /** The newest ended orders: one page, or as many as hold all that ended after `sinceUs`. */
  async #endedSince(
    { key, token }: OpenedAccount,
    marketId: number | null,
    sinceUs: number | null,
    deadline: Deadline,
  ): Promise<Read<{ readonly rows: readonly VenuethreeWireOrder[]; readonly newestUs: number }>> {
    const { rest, account } = this.#deps;
    const rows: VenuethreeWireOrder[] = [];
    let cursor: string | null = null;
    for (let pageIndex = 0; pageIndex < MAX_RECENT_PAGES; pageIndex++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the orders that ended lately");
      const query: PageQuery = { accountIndex: key.accountIndex, marketId, limit: MAX_PAGE_ROWS, cursor };
      const page: OrdersRead = await rest.inactiveOrders(query, token, left);
      if (!page.ok) return account.noteFailure(key, page);
      rows.push(...page.value.rows);
      cursor = page.value.nextCursor;
      const oldest = page.value.rows.at(-1);
      if (cursor === null || sinceUs === null || oldest === undefined || oldest.transaction_time <= sinceUs) {
        const newestUs = rows.reduce((newest, wire) => Math.max(newest, wire.transaction_time), 0);
        return { ...page, value: { rows, newestUs } };
      }
    }
    return failedRead("VENUE_ERROR", "too many orders ended since the first page");
  }

  async #readList<W, T>(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
    kind: ListCursor["kind"],
    listFor: (accountIndex: number) => PagedList<W, T>,
  ): Promise<Read<HistoryPage<T>>> {
    const cursor = query.cursor === null ? null : readListCursor(kind, query.cursor);
    if (query.cursor !== null && cursor === null) return BAD_CURSOR;
    const deadline = new Deadline(this.#deps.clock, options, session.payer);
    const opened = await this.#deps.account.open(session, options);
    if (!opened.ok) return opened;
    const scope = scopeOf(opened.value, query);
    if (cursor !== null && cursor.scope !== scope) return BAD_CURSOR;
    const list = listFor(opened.value.key.accountIndex);
    const collected = await this.#collect(list, opened.value, query, cursor?.venueCursor ?? null, [], deadline);
    if (!collected.ok) return collected;
    const { rows, next, asOfMs } = collected.value;
    const nextCursor = next === null ? null : writeCursor({ kind, scope, venueCursor: next.venueCursor });
    return pageOf(rows, nextCursor, asOfMs);
  }

  /** Adds rows of one list until the page is full, the list or its bounds end, or the calls are spent. */
  async #collect<W, T>(
    list: PagedList<W, T>,
    { key, token }: OpenedAccount,
    query: HistoryQuery,
    from: string | null,
    rows: T[],
    deadline: Deadline,
  ): Promise<Read<Collected<T>>> {
    const { clock, account } = this.#deps;
    const marketId = query.instrument?.nativeId ?? null;
    let venueCursor = from;
    let asOfMs = clock.wallMs();
    for (let reads = 0; reads < MAX_READS && rows.length < query.limit; reads++) {
      const left = deadline.left();
      if (left === null) {
        if (rows.length > 0) break;
        return failedRead("TIMEOUT", `no time left for ${list.name}`);
      }
      const limit = Math.min(MAX_PAGE_ROWS, query.limit - rows.length);
      const page = await list.fetch(
        { accountIndex: key.accountIndex, marketId, limit, cursor: venueCursor },
        token,
        left,
      );
      if (!page.ok) {
        // What was found is a page; without it the failure is the answer.
        if (rows.length > 0) break;
        return account.noteFailure(key, page);
      }
      asOfMs = page.asOfMs;
      const decoded = decodeWith(null, () => this.#append(list, page.value.rows, query, rows));
      if (!decoded.ok) return failedRead("BAD_RESPONSE", `${list.name}: ${decoded.problem}`);
      venueCursor = page.value.nextCursor;
      if (venueCursor === null || decoded.value === "older" || page.value.rows.length === 0)
        return { ok: true, value: { rows, next: null, asOfMs }, asOfMs, source: "venue" };
    }
    return { ok: true, value: { rows, next: { venueCursor }, asOfMs }, asOfMs, source: "venue" };
  }

  #append<W, T>(list: PagedList<W, T>, wires: readonly W[], query: HistoryQuery, rows: T[]): "older" | "more" {
    for (const wire of wires) {
      const ms = list.msOf(wire);
      if (query.sinceMs !== null && ms < query.sinceMs) return "older";
      if (!isWithin(ms, query)) continue;
      const instrument = this.#instrumentOf(list.marketIdOf(wire), query.instrument);
      const row = instrument === null ? null : list.normalize(wire, instrument);
      if (row !== null) rows.push(row);
    }
    return "more";
  }

  /** Null means another market, or one that is not listed (spot). */
  #instrumentOf(marketId: number, wanted: Instrument | null): Instrument | null {
    if (wanted === null) return this.#deps.instruments.byNativeId(marketId);
    return wanted.nativeId === marketId ? wanted : null;
  }
}

type OrdersRead = Read<VenuethreePage<VenuethreeWireOrder>>;
type OrdersPlace = Place<OrdersCursor>;
type Place<C> = C extends unknown ? Omit<C, "scope"> : never;

const BAD_CURSOR = failedRead("BAD_CURSOR", "not a cursor of this list");

/** A cursor of another account or market is refused. */
function scopeOf({ key }: OpenedAccount, { instrument }: HistoryQuery): string {
  return `${key.accountIndex}.${instrument?.nativeId ?? "all"}`;
}

function isWithin(ms: number, { sinceMs, untilMs }: HistoryQuery): boolean {
  return (sinceMs === null || ms >= sinceMs) && (untilMs === null || ms <= untilMs);
}

function newestFirst(left: VenuethreeWireOrder, right: VenuethreeWireOrder): number {
  return createdMsOf(right) - createdMsOf(left) || compareIds(right.order_id, left.order_id);
}

function isBelow(wire: VenuethreeWireOrder, place: { readonly createdMs: number; readonly orderId: string }): boolean {
  const ms = createdMsOf(wire);
  return ms < place.createdMs || (ms === place.createdMs && compareIds(wire.order_id, place.orderId) < 0);
}

/** Digits of any length, as numbers. */
function compareIds(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : left > right ? 1 : 0);
}

function pageOf<T>(rows: readonly T[], nextCursor: string | null, asOfMs: number): Read<HistoryPage<T>> {
  return { ok: true, value: { rows, nextCursor }, asOfMs, source: "venue" };
}
