/**
 * Did the order events of a stream report all that we know to have happened? Pure state that causes no read: the code that
 * shows open orders compares it with the time at which the last list was asked for (engine/portfolio/watched-orders.ts).
 *
 *   order that rests, or a cancel ──► awaited ──► answered ──► reported ──► nothing is in doubt
 *                                                    └── not reported for SURELY_LATER_MS: in doubt since its answer
 *
 * Positions that agree prove nothing of it: an order that rests moves none.
 *
 * Bound: MAX_AWAITED; beyond it the one awaited longest is a doubt of all.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { VenueOrder } from "../../../engine/domain/order.js";

/** Frames of the same moment come within a block or two; lists lag as long (streamed-reads.ts). */
const TOLD_WITHIN_MS = 1_500;
const MAX_AWAITED = 1_024;

interface Awaited {
  /** Monotonic ms; null before its answer. */
  answeredMs: number | null;
  /** How many of ours are under way to it. */
  pendingCount: number;
}

export class UnconfirmedOrders {
  readonly #clock: Clock;
  /** By the id that we know of the order and what is awaited of it, in the order they were sent. */
  readonly #awaited = new Map<string, Awaited>();
  #doubtMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#awaited.size;
  }

  /** Something goes out that the stream is to report. `id`: the venue's, or the client id that the venue sees. */
  expect(id: string, isEnd: boolean): void {
    const key = keyOf(id, isEnd);
    const before = this.#awaited.get(key);
    // Awaited already: one more awaits the same.
    if (before !== undefined) {
      before.pendingCount++;
      return;
    }
    this.#awaited.set(key, { answeredMs: null, pendingCount: 1 });
    if (this.#awaited.size <= MAX_AWAITED) return;
    const oldest = this.#awaited.keys().next();
    if (oldest.done !== true) this.#awaited.delete(oldest.value);
    this.doubt();
  }

  /** The venue has done it: unless it was reported already, it is to be reported now. */
  answered(id: string, isEnd: boolean): void {
    const awaited = this.#awaited.get(keyOf(id, isEnd));
    if (awaited === undefined) return;
    awaited.answeredMs = this.#nowMs();
    awaited.pendingCount--;
  }

  /** It had no effect; what the stream owes another of ours of the same order is still awaited. */
  forget(id: string, isEnd: boolean): void {
    const key = keyOf(id, isEnd);
    const awaited = this.#awaited.get(key);
    if (awaited === undefined) return;
    awaited.pendingCount--;
    if (awaited.pendingCount <= 0 && awaited.answeredMs === null) this.#awaited.delete(key);
  }

  told({ status, venueClientOrderId, venueOrderId }: VenueOrder): void {
    if (this.#awaited.size === 0) return;
    const isEnd = status === "FILLED" || status === "CANCELED" || status === "REJECTED";
    for (const id of [venueOrderId, venueClientOrderId]) {
      if (id === null) continue;
      this.#awaited.delete(keyOf(id, false));
      if (isEnd) this.#awaited.delete(keyOf(id, true));
    }
  }

  /** Anything may have happened to any order. */
  doubt(): void {
    this.#doubtMs = this.#nowMs();
  }

  /** Monotonic ms since which something was not reported; returns null when all that we know of was. */
  sinceMs(): number | null {
    const untilMs = this.#nowMs() - TOLD_WITHIN_MS;
    let sinceMs = this.#doubtMs;
    for (const { answeredMs } of this.#awaited.values())
      if (answeredMs !== null && answeredMs <= untilMs) sinceMs = Math.max(sinceMs ?? answeredMs, answeredMs);
    return sinceMs;
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }
}

/** Of one order its end, and any state of it, are awaited apart. */
function keyOf(id: string, isEnd: boolean): string {
  return `${isEnd ? "end" : "any"} ${id}`;
}
