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

interface Recent {
  readonly run: SingleRun;
  readonly ackAtMs: number;
  /** Monotonic: the wall clock may be set meanwhile. */
  readonly untilNs: number;
}

export class RecentOrders {
  readonly #clock: Clock;
  readonly #byName = new LRUCache<string, Recent>({ max: MAX_RECENT });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(run: SingleRun): void {
    const attempt = lastAttempt(run);
    if (attempt === null || attempt.outcome !== "CONFIRMED" || attempt.order === null) return;
    const { ackAtMs } = attempt;
    if (ackAtMs === null) return;
    const leftMs = Math.max(0, Math.min(INDEXING_LAG_MS, ackAtMs + INDEXING_LAG_MS - this.#clock.wallMs()));
    const untilNs = this.#clock.monoNs() + leftMs * 1e6;
    for (const name of [attempt.order.venueOrderId, attempt.venueClientOrderId, run.clientOrderId]) {
      if (name === null || name === "") continue;
      const key = `${run.accountHash}|${name}`;
      const before = this.#byName.get(key);
      // Told of again, which is no new confirmation.
      this.#byName.set(key, { run, ackAtMs, untilNs: before?.ackAtMs === ackAtMs ? before.untilNs : untilNs });
    }
  }

  /** Null: it is not one of them, or old enough that the venue must know it. */
  find(accountHash: string, name: string): SingleRun | null {
    const recent = this.#byName.get(`${accountHash}|${name}`);
    return recent !== undefined && this.#clock.monoNs() <= recent.untilNs ? recent.run : null;
  }
}
