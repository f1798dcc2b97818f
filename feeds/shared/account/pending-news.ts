/**
 * Orders and fills that a reconcile over REST found and no listener has received yet. They outlive a reconcile that fails half-way:
 * the account's state has taken them, so the next one finds nothing new in them.
 *
 * Bound: MAX_EVENTS; the oldest goes, and the present state of its order says the same.
 */
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { AccountEvent } from "../../../engine/ports.js";

const MAX_EVENTS = 4_096;

export class PendingNews {
  readonly #events: AccountEvent[] = [];

  add(events: readonly AccountEvent[]): void {
    this.#events.push(...events);
    this.#events.splice(0, Math.max(0, this.#events.length - MAX_EVENTS));
  }

  /** Returns all of it and forgets it. `isNewest` is false for an order of which frames reported more meanwhile: it is left out. */
  take(isNewest: (order: VenueOrder) => boolean): readonly AccountEvent[] {
    return this.#events.splice(0).filter((event) => event.kind !== "order" || isNewest(event.order));
  }
}
