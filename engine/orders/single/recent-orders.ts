/**
 * Orders that their venue confirmed a moment ago. A venue may answer "no such order" about one that it has just
 * accepted; for that moment our own record of it is the better answer.
 *
 * Bounds: MAX_RECENT orders, the least recently used one goes; each speaks for INDEXING_LAG_MS after its confirmation.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import { INDEXING_LAG_MS } from "../absence-proof.js";
import { lastAttempt, type SingleRun } from "./single-run.js";

const MAX_RECENT = 10_000;

export class RecentOrders {
  readonly #clock: Clock;
  readonly #byName = new LRUCache<string, SingleRun>({ max: MAX_RECENT });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(run: SingleRun): void {
    const attempt = lastAttempt(run);
    if (attempt === null || attempt.outcome !== "CONFIRMED" || attempt.order === null) return;
    for (const name of [attempt.order.venueOrderId, attempt.venueClientOrderId, run.clientOrderId]) {
      if (name !== null && name !== "") this.#byName.set(`${run.accountHash}|${name}`, run);
    }
  }

  /** Null: it is not one of them, or old enough that the venue must know it. */
  find(accountHash: string, name: string): SingleRun | null {
    const run = this.#byName.get(`${accountHash}|${name}`);
    const ackAtMs = run === undefined ? null : (lastAttempt(run)?.ackAtMs ?? null);
    if (run === undefined || ackAtMs === null) return null;
    return this.#clock.wallMs() <= ackAtMs + INDEXING_LAG_MS ? run : null;
  }
}
