/** Who waits for the end of an order of ours, which this venue reports only over its streams. */
import type { VenueOrder } from "../../../engine/domain/order.js";

/** Orders followed at once; one more is looked up instead. */
const MAX_FOLLOWED = 1_024;

export class OwnOrders {
  /** By client order id. */
  readonly #followers = new Map<string, (order: VenueOrder) => void>();

  /** The stream reports that an order has ended. */
  noteEnd(order: VenueOrder): void {
    const id = order.venueClientOrderId;
    if (id === null) return;
    const follower = this.#followers.get(id);
    this.#followers.delete(id);
    follower?.(order);
  }

  /**
   * `onEnd` is called at most once. Returns what ends the wait; null where too many wait, or where this order is
   * followed already.
   */
  follow(clientOrderId: string, onEnd: (order: VenueOrder) => void): (() => void) | null {
    if (this.#followers.size >= MAX_FOLLOWED || this.#followers.has(clientOrderId)) return null;
    this.#followers.set(clientOrderId, onEnd);
    return () => {
      if (this.#followers.get(clientOrderId) === onEnd) this.#followers.delete(clientOrderId);
    };
  }
}
