/**
 * What an account did on venuefour, newest first, over the venue's own pages. The venue's cursor says where its next page
 * begins, whatever comes on top meanwhile, so pages neither repeat nor skip; ours is that cursor under the list's name.
 *
 * The venue filters fills by symbol and time, orders and payments by nothing: those pages are sifted here, and one call
 * reads a bounded number of them, so it may end with few rows and a cursor.
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
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { decodeWith, type Fields } from "../../shared/room/wire-fields.js";
import { normalizeFill, normalizeFunding, normalizeOrder } from "./normalize.js";
import type { AccountRest } from "./rest.js";
import {
  decodeFillPage,
  decodeFundingPage,
  decodeOrderPage,
  type VenuefourWireFill,
  type VenuefourWireFunding,
  type VenuefourWireOrder,
  type VenuefourWirePage,
} from "./wire.js";
import { HISTORY_CREDITS, HISTORY_PAGE_ROWS, READ_CREDITS } from "../rules/limits.js";
import { VenuefourSession } from "./session.js";

export interface VenuefourHistoryDeps {
  readonly rest: AccountRest;
  readonly instruments: InstrumentIndex;
  readonly clock: Clock;
}

/** Pages of the venue that one call reads. */
const MAX_PAGES = 10;
const CURSOR = /^([a-z]+)~([\w.~=+/-]{1,200})$/;

interface List<Wire, T> {
  /** Names the list in its cursors: a cursor of another list is refused. */
  readonly kind: string;
  readonly path: string;
  readonly credits: number;
  readonly query: Readonly<Record<string, string>>;
  readonly decode: (envelope: Fields) => VenuefourWirePage<Wire>;
  readonly symbolOf: (wire: Wire) => string;
  readonly tsOf: (wire: Wire) => number;
  readonly normalize: (wire: Wire, instrument: Instrument) => T;
  /** Rows come by falling time, so one that is too old is followed by none that is not. */
  readonly isByTime: boolean;
}

export class VenuefourHistory implements AccountHistory {
  readonly #deps: VenuefourHistoryDeps;

  constructor(deps: VenuefourHistoryDeps) {
    this.#deps = deps;
  }

  /** By the order's creation; the time of a row, which the bounds are about, is that of its last change. */
  readOrders(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueOrder>>> {
    const list: List<VenuefourWireOrder, VenueOrder> = {
      kind: "orders",
      path: "/orders/history",
      credits: HISTORY_CREDITS,
      query: {},
      decode: decodeOrderPage,
      symbolOf: (wire) => wire.symbol,
      tsOf: (wire) => wire.updatedMs,
      normalize: normalizeOrder,
      isByTime: false,
    };
    return this.#walk(session, list, query, options);
  }

  readFills(session: AccountSession, query: HistoryQuery, options: CallOptions): Promise<Read<HistoryPage<VenueFill>>> {
    const { instrument, sinceMs, untilMs } = query;
    const list: List<VenuefourWireFill, VenueFill> = {
      kind: "fills",
      path: "/trades/history",
      credits: HISTORY_CREDITS,
      query: {
        ...(instrument === null ? {} : { symbol: instrument.nativeSymbol }),
        ...(sinceMs === null ? {} : { start_time: String(sinceMs) }),
        ...(untilMs === null ? {} : { end_time: String(untilMs) }),
      },
      decode: decodeFillPage,
      symbolOf: (wire) => wire.symbol,
      tsOf: (wire) => wire.tsMs,
      normalize: normalizeFill,
      isByTime: true,
    };
    return this.#walk(session, list, query, options);
  }

  readFunding(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<FundingPayment>>> {
    const list: List<VenuefourWireFunding, FundingPayment> = {
      kind: "funding",
      path: "/funding/history",
      credits: READ_CREDITS,
      query: {},
      decode: decodeFundingPage,
      symbolOf: (wire) => wire.symbol,
      tsOf: (wire) => wire.tsMs,
      normalize: normalizeFunding,
      isByTime: true,
    };
    return this.#walk(session, list, query, options);
  }

  async #walk<Wire, T>(
    session: AccountSession,
    list: List<Wire, T>,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<T>>> {
    if (!(session instanceof VenuefourSession)) return failedRead("AUTH", "session of another venue");
    const given = query.cursor === null ? null : CURSOR.exec(query.cursor);
    if (query.cursor !== null && given?.[1] !== list.kind) return failedRead("BAD_CURSOR", "not a cursor of this list");
    const deadline = new Deadline(this.#deps.clock, options);
    let cursor = given?.[2] ?? null;
    let asOfMs = 0;
    const rows: T[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const left = deadline.left();
      if (left === null && pages > 0) break;
      if (left === null) return failedRead("TIMEOUT", "no time left");
      // Never more than is still wanted: the venue's cursor knows no middle of a page.
      const limit = Math.min(HISTORY_PAGE_ROWS, query.limit - rows.length);
      const params = { ...list.query, limit: String(limit), ...(cursor === null ? {} : { cursor }) };
      const read = await this.#deps.rest.read(session, list.path, params, list.credits, list.decode, left);
      // What was found is a page; without it the failure is the answer.
      if (!read.ok && pages > 0) break;
      if (!read.ok) return read;
      asOfMs = read.asOfMs;
      const sifted = decodeWith(null, () => this.#sift(list, query, read.value.rows));
      if (!sifted.ok) return failedRead("BAD_RESPONSE", `${list.kind}: ${sifted.problem}`);
      rows.push(...sifted.value.rows);
      cursor = sifted.value.isOver ? null : read.value.nextCursor;
      if (cursor === null || rows.length >= query.limit) break;
    }
    const nextCursor = cursor === null ? null : `${list.kind}~${cursor}`;
    return { ok: true, value: { rows, nextCursor }, asOfMs, source: "venue" };
  }

  #sift<Wire, T>(
    list: List<Wire, T>,
    { instrument, sinceMs, untilMs }: HistoryQuery,
    wires: readonly Wire[],
  ): { readonly rows: readonly T[]; readonly isOver: boolean } {
    const rows: T[] = [];
    for (const wire of wires) {
      const tsMs = list.tsOf(wire);
      if (sinceMs !== null && tsMs < sinceMs) {
        if (list.isByTime) return { rows, isOver: true };
        continue;
      }
      if (untilMs !== null && tsMs > untilMs) continue;
      const symbol = list.symbolOf(wire);
      // Spot pairs and contracts that are gone have no instrument here.
      const listed = this.#deps.instruments.byNativeSymbol(symbol);
      if (listed === null || (instrument !== null && symbol !== instrument.nativeSymbol)) continue;
      rows.push(list.normalize(wire, listed));
    }
    return { rows, isOver: false };
  }
}
