/** What the index has of a trader, an order, a transaction: of blocks up to its cursor alone. */
import { decodeJson, type StateStore } from "../../../engine/storage/state-store.js";
import type { EventBook } from "./event-book.js";
import { isOfOrder, type OrderEvent, type VenuefiveEvent } from "./event.js";
import type { OrderEvents } from "./fold.js";
import { fromBlockDown, LIST_NAMESPACE, type OrderSlot, type Place, readPlace, type RowKeys } from "./row-keys.js";

/** `key`: where the list goes on behind it. */
export interface ListedEvent {
  readonly key: string;
  readonly event: VenuefiveEvent;
}

/** Events of one transaction or order: more are not read. */
const EVENTS_MAX = 500;

export class EventReader {
  readonly #store: StateStore;
  readonly #keys: RowKeys;
  readonly #book: EventBook;

  constructor(store: StateStore, keys: RowKeys, book: EventBook) {
    this.#store = store;
    this.#keys = keys;
    this.#book = book;
  }

  /** Newest first, behind `after`; null: from the newest. */
  closings(trader: string, after: string | null, limit: number): Promise<readonly ListedEvent[]> {
    return this.#listed(this.#keys.closings(trader), after, limit);
  }

  /** First events of limit orders, newest first. */
  orders(trader: string, after: string | null, limit: number): Promise<readonly ListedEvent[]> {
    return this.#listed(this.#keys.orders(trader), after, limit);
  }

  /** Null: its block vanished meanwhile. */
  async order(slot: OrderSlot, start: Place): Promise<OrderEvents | null> {
    const newest = await this.#listed(this.#keys.order(slot, start), null, 2);
    const [latest, before] = newest.map(({ event }) => event).filter(isOfOrder);
    const first = await this.#orderEvent(start);
    return latest === undefined || first === null ? null : { start: first, latest, before: before ?? null };
  }

  /** The newest order of the slot that began in that block or below, if an event of that block is of it. */
  async orderOf(slot: OrderSlot, block: number): Promise<OrderEvents | null> {
    const prefix = this.#keys.slot(slot);
    const [row] = await this.#places(prefix, fromBlockDown(Math.min(block, this.#top())), 1);
    const start = row === undefined ? null : await this.#startOf(row.place);
    if (start === null) return null;
    const [at] = await this.#places(this.#keys.order(slot, start), fromBlockDown(block), 1);
    return at !== undefined && readPlace(at.place).block === block ? this.order(slot, start) : null;
  }

  /** First, last but one and last event of the slot's newest order; empty: it has had none. */
  async newestOrder(slot: OrderSlot): Promise<readonly OrderEvent[]> {
    const [row] = await this.#places(this.#keys.slot(slot), fromBlockDown(this.#top()), 1);
    const start = row === undefined ? null : await this.#startOf(row.place);
    const order = start === null ? null : await this.order(slot, start);
    if (order === null) return [];
    return [order.start, ...(order.before === null ? [] : [order.before]), order.latest];
  }

  /** Oldest first. */
  ofTransaction(hash: string): Promise<readonly VenuefiveEvent[]> {
    return this.#all(this.#keys.transaction(hash));
  }

  ofMarketOrder(orderId: string): Promise<readonly VenuefiveEvent[]> {
    return this.#all(this.#keys.marketOrder(orderId));
  }

  /** Of the order that the event belongs to. */
  async orderOfEvent(event: OrderEvent, place: Place): Promise<OrderEvents | null> {
    const start = await this.#startOf(place);
    return start === null ? null : this.order(event, start);
  }

  #top(): number {
    return this.#book.cursor?.block ?? -1;
  }

  async #startOf(place: Place): Promise<Place | null> {
    return (await this.#book.eventAt(place))?.start ?? null;
  }

  async #orderEvent(place: Place): Promise<OrderEvent | null> {
    const kept = await this.#book.eventAt(place);
    return kept !== null && isOfOrder(kept.event) ? kept.event : null;
  }

  async #listed(prefix: string, after: string | null, limit: number): Promise<readonly ListedEvent[]> {
    const rows = await this.#places(prefix, after ?? fromBlockDown(this.#top()), limit);
    const listed: ListedEvent[] = [];
    for (const { key, place } of rows) {
      const kept = await this.#book.eventAt(place);
      if (kept !== null) listed.push({ key, event: kept.event });
    }
    return listed;
  }

  async #all(prefix: string): Promise<readonly VenuefiveEvent[]> {
    const rows = await this.#store.scan(LIST_NAMESPACE, { prefix, limit: EVENTS_MAX });
    const events: VenuefiveEvent[] = [];
    for (const { value } of rows) {
      const place = decodeJson(value) as Place;
      const kept = readPlace(place).block <= this.#top() ? await this.#book.eventAt(place) : null;
      if (kept !== null) events.push(kept.event);
    }
    return events;
  }

  /** `after`: the part of the key behind the prefix, exclusive. */
  async #places(
    prefix: string,
    after: string,
    limit: number,
  ): Promise<readonly { readonly key: string; readonly place: Place }[]> {
    const rows = await this.#store.scan(LIST_NAMESPACE, { prefix, after: `${prefix}${after}`, limit });
    return rows.map(({ key, value }) => ({ key: key.slice(prefix.length), place: decodeJson(value) as Place }));
  }
}
