/**
 * One order of an account by either id. The venue shows any order of anybody by its order id and has no lookup by client
 * id, so an order is the account's own only if this process saw it become so, or if one of the account's lists holds it.
 *
 * Invariant: "no such order" is the answer only when all that was searched was readable; a search that had to stop
 * before the end of a young history is a failure, because an order may lie beyond.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { CallOptions, OrderRef, Read } from "../../../engine/ports.js";
import { failedRead, noSuchOrder } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import { normalizeOrder, normalizeOrderEvents } from "./normalize.js";
import type { AccountRest } from "./rest.js";
import { decodeOpenOrders, decodeOrderEvents, decodeOrderPage, type VenuefourWireOrder } from "./wire.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import { uuidOf } from "./client-id.js";
import { HISTORY_CREDITS, HISTORY_PAGE_ROWS, READ_CREDITS } from "../rules/limits.js";
import type { OrderMemory } from "./order-memory.js";
import type { VenuefourSession } from "./session.js";

export interface OrderSearchDeps {
  readonly rest: AccountRest;
  readonly memory: OrderMemory;
  readonly instruments: InstrumentIndex;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
  readonly logger: Logger;
}

/** Pages of the history of orders that one search reads. */
const MAX_PAGES = 4;
/** A history cut short is to reach back so far where nothing turns on the order; of one of ours, to before its send. */
const YOUNG_MS = 15 * 60_000;
/** By its status or by its words: which status those come with was never recorded. */
const NOT_FOUND = /HTTP 404|ORDER_NOT_FOUND/;

type Wanted = { readonly orderId: string } | { readonly clientId: string };

export class OrderSearch {
  readonly #deps: OrderSearchDeps;

  constructor(deps: OrderSearchDeps) {
    this.#deps = deps;
  }

  /** Of any symbol where `instrument` is null. */
  async find(
    session: VenuefourSession,
    instrument: Instrument | null,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    const wanted = wantedOf(ref);
    if (wanted === null) return noSuchOrder(this.#deps.clock.wallMs());
    const { memory } = this.#deps;
    const { accountId } = session;
    const deadline = new Deadline(this.#deps.clock, options);
    const knownId = "orderId" in wanted ? wanted.orderId : memory.orderIdOf(accountId, wanted.clientId);
    if (knownId !== null && memory.isOwn(accountId, knownId)) {
      const read = await this.glance(session, instrument, knownId, options);
      // The history of one order lags behind the order; the lists are asked then.
      if (!read.ok || read.value !== null) return read;
    }
    return this.#inLists(session, instrument, ref, wanted, deadline);
  }

  /**
   * An order of the account by its events alone, for one credit. Returns null while they are not known, which soon
   * after a send is nothing but lag.
   */
  async glance(
    session: VenuefourSession,
    instrument: Instrument | null,
    orderId: string,
    options: CallOptions,
  ): Promise<Read<VenueOrder | null>> {
    const query = { order_id: orderId };
    const path = "/orders/history_by_id";
    const events = await this.#deps.rest.read(session, path, query, READ_CREDITS, decodeOrderEvents, options);
    if (!events.ok && events.code === "VENUE_ERROR" && NOT_FOUND.test(events.message))
      return { ok: true, value: null, asOfMs: this.#deps.clock.wallMs(), source: "venue" };
    if (!events.ok) return events;
    const [first] = events.value;
    const listed = first === undefined ? null : (instrument ?? this.#instrument(first.order.symbol));
    if (first === undefined || listed === null) return { ...events, value: null };
    if (first.order.symbol !== listed.nativeSymbol) return { ...events, value: null };
    const decoded = decodeWith(events.value, () => normalizeOrderEvents(events.value, listed));
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `order events: ${decoded.problem}`);
    if (decoded.value.venueOrderId !== orderId) return failedRead("BAD_RESPONSE", "events of another order");
    this.#reportUnknown(decoded.value);
    return { ...events, value: decoded.value };
  }

  /** Open orders first: cheap, and an order that ends meanwhile is in the history by then. */
  async #inLists(
    session: VenuefourSession,
    instrument: Instrument | null,
    ref: OrderRef,
    wanted: Wanted,
    deadline: Deadline,
  ): Promise<Read<VenueOrder | null>> {
    const { rest } = this.#deps;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left");
    const open = await rest.read(session, "/orders", {}, READ_CREDITS, decodeOpenOrders, left);
    if (!open.ok) return open;
    const found = open.value.find((row) => isWanted(row, wanted));
    if (found !== undefined) return this.#found(session, instrument, found, open.asOfMs);
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const time = deadline.left();
      if (time === null) return failedRead("TIMEOUT", "no time left");
      const query: Record<string, string> = {
        limit: String(HISTORY_PAGE_ROWS),
        ...(cursor === null ? {} : { cursor }),
      };
      const page = await rest.read(session, "/orders/history", query, HISTORY_CREDITS, decodeOrderPage, time);
      if (!page.ok) return page;
      const row = page.value.rows.find((candidate) => isWanted(candidate, wanted));
      if (row !== undefined) return this.#found(session, instrument, row, page.asOfMs);
      cursor = page.value.nextCursor;
      const oldestMs = page.value.rows.at(-1)?.createdMs ?? Number.NEGATIVE_INFINITY;
      if (cursor === null) return { ...page, value: null };
      const sinceMs = "clientIdHex" in ref ? ref.sentAfterVenueMs : undefined;
      if (pages === MAX_PAGES - 1 && oldestMs < (sinceMs ?? this.#venueNowMs() - YOUNG_MS))
        return { ...page, value: null };
    }
    return failedRead("VENUE_ERROR", "too many orders to look through");
  }

  #found(
    session: VenuefourSession,
    instrument: Instrument | null,
    wire: VenuefourWireOrder,
    asOfMs: number,
  ): Read<VenueOrder | null> {
    const listed = instrument ?? this.#instrument(wire.symbol);
    if (listed === null || wire.symbol !== listed.nativeSymbol)
      return { ok: true, value: null, asOfMs, source: "venue" };
    const decoded = decodeWith(wire, () => normalizeOrder(wire, listed));
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `order: ${decoded.problem}`);
    this.#deps.memory.note(session.accountId, wire.orderId, wire.clientOrderId);
    this.#reportUnknown(decoded.value);
    return { ok: true, value: decoded.value, asOfMs, source: "venue" };
  }

  #instrument(nativeSymbol: string): Instrument | null {
    return this.#deps.instruments.byNativeSymbol(nativeSymbol);
  }

  #venueNowMs(): number {
    return this.#deps.clock.wallMs() + this.#deps.clockOffsetMs();
  }

  #reportUnknown(order: VenueOrder): void {
    if (order.status === "UNKNOWN")
      this.#deps.logger.error("venuefour.order.status", { word: order.venueStatus.slice(0, 64) });
  }
}

function wantedOf(ref: OrderRef): Wanted | null {
  if ("clientIdHex" in ref) return isClientIdHex(ref.clientIdHex) ? { clientId: uuidOf(ref.clientIdHex) } : null;
  return /^\d{1,19}$/.test(ref.venueOrderId) ? { orderId: ref.venueOrderId } : null;
}

function isWanted(row: VenuefourWireOrder, wanted: Wanted): boolean {
  return "orderId" in wanted ? row.orderId === wanted.orderId : row.clientOrderId?.toLowerCase() === wanted.clientId;
}
