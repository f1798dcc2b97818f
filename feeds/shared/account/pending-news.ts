/**
 * Orders and fills that a reconcile over REST found and no listener has received yet. They outlive a reconcile that fails half-way:
 * the account's state has taken them, so the next one finds nothing new in them. Of an order only its newest state is kept.
 *
 * Bound: MAX_EVENTS. The oldest order goes first, the account's state has it; then the oldest fill, which is lost to
 * whoever counts fills. Both are reported.
 */
import { orderKey, type VenueOrder } from "../../../engine/domain/order.js";
import type { AccountEvent } from "../../../engine/ports.js";

export const MAX_EVENTS = 4_096;

export class PendingNews {
  /** In the order in which listeners receive them. */
  readonly #events = new Map<string, AccountEvent>();
  readonly #onDropped: (count: number) => void;
  #fillCount = 0;
  #droppedCount = 0;

  /** `onDropped`: so many events went before anybody received them. Called with the next `take`. */
  constructor(onDropped: (count: number) => void) {
    this.#onDropped = onDropped;
  }

  add(events: readonly AccountEvent[]): void {
    for (const event of events) {
      const key = event.kind === "order" ? `order ${orderKey(event.order)}` : `fill ${this.#fillCount++}`;
      this.#events.delete(key);
      this.#events.set(key, event);
      if (this.#events.size > MAX_EVENTS) this.#drop();
    }
  }

  /** Returns all of it and forgets it. `isNewest` is false for an order of which frames reported more meanwhile: it is left out. */
  take(isNewest: (order: VenueOrder) => boolean): readonly AccountEvent[] {
    const events = [...this.#events.values()];
    this.#events.clear();
    const droppedCount = this.#droppedCount;
    this.#droppedCount = 0;
    if (droppedCount > 0) this.#onDropped(droppedCount);
    return events.filter((event) => event.kind !== "order" || isNewest(event.order));
  }

  #drop(): void {
    let oldest: string | undefined;
    for (const [key, { kind }] of this.#events) {
      oldest ??= key;
      if (kind !== "order") continue;
      oldest = key;
      break;
    }
    if (oldest !== undefined) this.#events.delete(oldest);
    this.#droppedCount++;
  }
}
