/**
 * The open orders of one account as events and whole lists tell them. Pure state.
 *
 * Invariants: an order that an event spoke of after a list was asked for, or LIST_LAG_MS before, is neither brought back
 * nor taken away by it (lists lag behind events); fills never go down; at most
 * OPEN_ORDERS_MAX are held, beyond that the oldest is forgotten and counted.
 */
import type { VenueOrder } from "../domain/order.js";

/** Venues allow up to 5000. */
export const OPEN_ORDERS_MAX = 5_000;
/** A list asked for so soon after an event need not tell of it: the venues' reads lag by up to 1.1 s, as measured. */
export const LIST_LAG_MS = 1_500;
/** Ends remembered while a list is on its way. */
const ENDED_MAX = 5_000;

interface Held {
  readonly order: VenueOrder;
  /** Known by a fill: the order's own event is still news. */
  readonly isOfFill: boolean;
}

export class OpenOrders {
  readonly #open = new Map<string, Held>();
  /** Orders an event spoke of since the list in flight was asked for, or shortly before: monotonic ms. */
  readonly #touched = new Map<string, number>();
  readonly #nowMs: () => number;
  #isKnown = false;
  forgottenCount = 0;

  /** `nowMs`: monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** False before the first whole list. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  has(order: VenueOrder): boolean {
    return this.#open.has(orderKey(order));
  }

  list(): readonly VenueOrder[] {
    return Array.from(this.#open.values(), ({ order }) => order);
  }

  /** A list is asked for now: what events say from here on is newer. */
  beginList(): void {
    const untilMs = this.#nowMs() - LIST_LAG_MS;
    for (const [key, atMs] of this.#touched) if (atMs < untilMs) this.#touched.delete(key);
  }

  /** Has an event spoken of it since the last list was asked for, or shortly before? */
  isTouched(order: VenueOrder): boolean {
    return this.#touched.has(orderKey(order));
  }

  /** An order as an event tells it; UNKNOWN ends it here, as every status that is not open does. True when it is news. */
  apply(order: VenueOrder, isOfFill = false): boolean {
    const key = orderKey(order);
    const known = this.#open.get(key);
    if (this.#touched.size >= ENDED_MAX) this.#touched.clear();
    this.#touched.set(key, this.#nowMs());
    if (!isOpen(order)) {
      this.#open.delete(key);
      return true;
    }
    if (known !== undefined && isOld(order, known.order)) return false;
    if (known !== undefined && !known.isOfFill && isSame(order, known.order)) return false;
    this.#hold(key, { order, isOfFill });
    return true;
  }

  /** The order of a fill. Returns it as it stands now, which may be newer. */
  applyFill(order: VenueOrder): VenueOrder {
    // The order of a fill that nobody described: too little is known to list it, or to end it.
    if (order.status === "UNKNOWN") return order;
    return this.apply(order, true) ? order : (this.#open.get(orderKey(order))?.order ?? order);
  }

  /** The whole list. `news`: new or changed ones; `gone`: held and not in it, whose end is to be learnt. */
  adopt(rows: readonly VenueOrder[]): { readonly news: readonly VenueOrder[]; readonly gone: readonly VenueOrder[] } {
    const news: VenueOrder[] = [];
    const listed = new Set<string>();
    for (const row of rows) {
      const key = orderKey(row);
      listed.add(key);
      if (this.#touched.has(key)) continue;
      const known = this.#open.get(key);
      if (known !== undefined && (isOld(row, known.order) || isSame(row, known.order))) continue;
      this.#hold(key, { order: row, isOfFill: false });
      news.push(row);
    }
    const gone: VenueOrder[] = [];
    for (const [key, { order }] of this.#open) if (!listed.has(key) && !this.#touched.has(key)) gone.push(order);
    this.#isKnown = true;
    return { news, gone };
  }

  #hold(key: string, held: Held): void {
    this.#open.delete(key);
    this.#open.set(key, held);
    if (this.#open.size <= OPEN_ORDERS_MAX) return;
    const oldest = this.#open.keys().next();
    if (oldest.done !== true) this.#open.delete(oldest.value);
    this.forgottenCount++;
  }
}

export function isOpen(order: VenueOrder): boolean {
  return order.status === "OPEN" || order.status === "PARTIALLY_FILLED";
}

function orderKey(order: VenueOrder): string {
  return `${order.nativeSymbol}|${order.venueOrderId}`;
}

function isOld(order: VenueOrder, known: VenueOrder): boolean {
  return order.filledLots < known.filledLots;
}

function isSame(left: VenueOrder, right: VenueOrder): boolean {
  return (
    left.status === right.status &&
    left.filledLots === right.filledLots &&
    left.qtyLots === right.qtyLots &&
    left.priceTicks === right.priceTicks &&
    left.triggerPrice === right.triggerPrice
  );
}
