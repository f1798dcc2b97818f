/**
 * The open orders of one account, from events and whole lists. Pure state.
 *
 * Invariants: lists lag behind events, so a list neither adds nor removes an order that had an event after the list was
 * requested, or up to LIST_LAG_MS before. Fills never decrease. At most OPEN_ORDERS_MAX are kept; beyond that the
 * oldest is dropped and counted.
 */
import { orderKey, type VenueOrder } from "../domain/order.js";

/** Venues allow up to 5000. */
export const OPEN_ORDERS_MAX = 5_000;
/** A list requested this soon after an event need not include it: the venues' reads lag by up to 1.1 s, as measured. */
export const LIST_LAG_MS = 1_500;
/** Most ends remembered while a list is being read. */
const ENDED_MAX = 5_000;

interface Held {
  readonly order: VenueOrder;
  /** Known from a fill only: the order's own event still counts as new. */
  readonly isOfFill: boolean;
}

export class OpenOrders {
  readonly #open = new Map<string, Held>();
  /**
   * Monotonic ms of the last event of each order that had one since the pending list was requested, or shortly before.
   */
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

  /** Marks the start of a list request: events from here on are newer than the list. */
  beginList(): void {
    const untilMs = this.#nowMs() - LIST_LAG_MS;
    for (const [key, atMs] of this.#touched) if (atMs < untilMs) this.#touched.delete(key);
  }

  /** Reports whether an event of this order came since the last list was requested, or shortly before. */
  isTouched(order: VenueOrder): boolean {
    return this.#touched.has(orderKey(order));
  }

  /**
   * Applies an order from an event; UNKNOWN ends it here, like every status that is not open. Returns true when
   * anything is new.
   */
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

  /** Applies the order of a fill. Returns its present state, which may be newer. */
  applyFill(order: VenueOrder): VenueOrder {
    // A fill of an order without details: too little is known to list it or to end it.
    if (order.status === "UNKNOWN") return order;
    return this.apply(order, true) ? order : (this.#open.get(orderKey(order))?.order ?? order);
  }

  /**
   * Applies a whole list. `news`: new or changed orders; `gone`: orders held but missing from it, whose end must be
   * looked up.
   */
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
