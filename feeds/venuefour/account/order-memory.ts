/**
 * What passed through this process about the orders of each account: which order id a client id became, which orders are
 * an account's own, the newest state a stream reported. The venue has no lookup by client id, and shows any order of
 * any account by its id: without this each question costs a walk through the histories.
 *
 * A hint, never the only answer: what is not remembered is looked for at the venue.
 */
import { LRUCache } from "lru-cache";
import { type Clock, delay } from "../../../engine/domain/clock.js";
import type { VenueOrder } from "../../../engine/domain/order.js";

/** Orders remembered; the least recently used goes. */
const MAX_ORDERS = 32_768;
/** Callers who wait for the end of an order at one time; more of them do not wait. */
const MAX_WATCHED = 4_096;

export class OrderMemory {
  readonly #clock: Clock;
  /** By account and order id: the client id, "" for none. */
  readonly #clientIds = new LRUCache<string, string>({ max: MAX_ORDERS });
  /** By account and client id. */
  readonly #orderIds = new LRUCache<string, string>({ max: MAX_ORDERS });
  readonly #watchers = new Map<string, Set<(order: VenueOrder) => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(accountId: string, orderId: string, clientId: string | null): void {
    this.#clientIds.set(`${accountId} ${orderId}`, clientId ?? "");
    if (clientId !== null) this.#orderIds.set(`${accountId} ${clientId}`, orderId);
  }

  isOwn(accountId: string, orderId: string): boolean {
    return this.#clientIds.get(`${accountId} ${orderId}`) !== undefined;
  }

  orderIdOf(accountId: string, clientId: string): string | null {
    return this.#orderIds.get(`${accountId} ${clientId}`) ?? null;
  }

  /** A stream reported an order. */
  reported(accountId: string, order: VenueOrder): void {
    this.note(accountId, order.venueOrderId, order.venueClientOrderId);
    for (const watcher of this.#watchers.get(`${accountId} ${order.venueOrderId}`) ?? []) watcher(order);
  }

  /**
   * The end of an order as a stream reports it, for at most `maxMs`; null if none came. What a stream reported before
   * this is called is not seen.
   */
  async endOf(accountId: string, orderId: string, maxMs: number): Promise<VenueOrder | null> {
    const key = `${accountId} ${orderId}`;
    if (this.#watchers.size >= MAX_WATCHED || maxMs <= 0) return null;
    const watchers = this.#watchers.get(key) ?? new Set();
    let watcher: (order: VenueOrder) => void = () => undefined;
    const ended = new Promise<VenueOrder>((resolve) => {
      watcher = (order) => {
        if (isEnded(order)) resolve(order);
      };
    });
    watchers.add(watcher);
    this.#watchers.set(key, watchers);
    try {
      return await Promise.race([ended, delay(this.#clock, maxMs).then(() => null)]);
    } finally {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(key);
    }
  }
}

export function isEnded(order: VenueOrder): boolean {
  return order.status === "FILLED" || order.status === "CANCELED" || order.status === "REJECTED";
}
