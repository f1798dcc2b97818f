/**
 * The listeners of one watched account, and what each listens for.
 *
 * Invariant: a listener that throws does not affect the others. Bound: LISTENERS_MAX.
 */
import type { Logger } from "../domain/logger.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountChange, AccountListener } from "./portfolio-types.js";

/** Most subscriptions with identical credentials. */
const LISTENERS_MAX = 1_000;

export class WatchListeners {
  readonly #logger: Logger;
  readonly #venue: RoutableVenue;
  /** The listener, and whether it wants open orders. */
  readonly #listeners = new Map<AccountListener, boolean>();

  constructor(venue: RoutableVenue, logger: Logger) {
    this.#venue = venue;
    this.#logger = logger;
  }

  get count(): number {
    return this.#listeners.size;
  }

  get wantOrders(): boolean {
    for (const wants of this.#listeners.values()) if (wants) return true;
    return false;
  }

  /** Returns false when there is no room for another one. */
  add(listener: AccountListener, wantsOrders: boolean): boolean {
    if (this.#listeners.size >= LISTENERS_MAX) return false;
    this.#listeners.set(listener, wantsOrders);
    return true;
  }

  remove(listener: AccountListener): void {
    this.#listeners.delete(listener);
  }

  clear(): void {
    this.#listeners.clear();
  }

  emit(change: AccountChange): void {
    for (const listener of [...this.#listeners.keys()]) {
      try {
        listener(change);
      } catch (error) {
        this.#logger.error("portfolio.listener_failed", {
          venue: this.#venue,
          errorName: error instanceof Error ? error.name : "unknown",
        });
      }
    }
  }
}
