/**
 * Orders that reading the venue can still end, as the status lists them. Oldest first.
 *
 * Bounds: MAX_LISTED rows; beyond them they are counted only, up to MAX_UNLISTED.
 */
import type { RoutableVenue } from "../domain/venue.js";

export const MAX_LISTED = 1_000;
const MAX_UNLISTED = 10_000;

export interface ListedOrder {
  readonly routeId: string;
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly venueClientOrderId: string;
  readonly sinceMs: number;
  /** It was sent by an earlier start of the service: only its caller's credentials can resolve it. */
  readonly fromEarlierStart: boolean;
  /** Null: made without a key. */
  readonly ownerId: string | null;
}

/** One row per execution. */
export class ListedOrders {
  readonly #rows = new Map<string, ListedOrder>();
  /** Beyond the list: whose each is. */
  readonly #unlisted = new Map<string, string | null>();

  add(order: ListedOrder): void {
    const { ownerId, routeId } = order;
    if (this.#rows.size >= MAX_LISTED && !this.#rows.has(routeId)) {
      if (this.#unlisted.size < MAX_UNLISTED) this.#unlisted.set(routeId, ownerId);
      return;
    }
    this.#unlisted.delete(routeId);
    this.#rows.set(routeId, order);
  }

  remove(routeId: string): void {
    if (!this.#rows.delete(routeId)) this.#unlisted.delete(routeId);
  }

  has(routeId: string): boolean {
    return this.#rows.has(routeId) || this.#unlisted.has(routeId);
  }

  list(): readonly ListedOrder[] {
    return [...this.#rows.values()];
  }

  get count(): number {
    return this.#rows.size + this.#unlisted.size;
  }

  /** Of those whose owner counts, listed or not. */
  countOf(isCounted: (ownerId: string | null) => boolean): number {
    let count = 0;
    for (const { ownerId } of this.#rows.values()) if (isCounted(ownerId)) count++;
    for (const ownerId of this.#unlisted.values()) if (isCounted(ownerId)) count++;
    return count;
  }
}
