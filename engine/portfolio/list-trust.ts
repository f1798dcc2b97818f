/**
 * Decides whether the open orders of a watched account can be trusted, by comparing each list with the events that were
 * received in the same time. A difference means frames that are lost or late.
 *
 * The orders are trusted while all of these hold: the last list was requested and adopted in this run of the stream; it
 * surely includes everything before events were received, and everything the room doubts; it is not old; the end of
 * every order that it left out is known; the lists before it found nothing that events had not reported.
 */
import type { Clock } from "../domain/clock.js";
import { orderKey, type VenueOrder } from "../domain/order.js";
import { LIST_LAG_MS, type OpenOrders } from "./open-orders.js";

/** Number of lists in a row without unreported changes that restores trust. */
const CLEAN_LISTS = 2;
/** A list older than this many intervals proves nothing about the present. */
const LIST_INTERVALS_MAX = 3;

/** What it needs to know of the watch. */
export interface ListTrustHost {
  readonly clock: Clock;
  /**
   * The number of the stream's run; null if it is not LIVE. Within one run events report everything but what was lost
   * unseen.
   */
  liveRun(): number | null;
  /** Monotonic ms since which the room knows that its order events are incomplete. */
  doubtMs(): number | null;
  /** Time between two reads of the list. */
  intervalMs(): number;
}

/** When a list was requested. */
export interface ListRequest {
  readonly run: number | null;
  /** Monotonic. */
  readonly beganMs: number;
}

export class ListTrust {
  readonly #host: ListTrustHost;
  /** Monotonic ms since which events are received and kept. */
  #eventsSinceMs = 0;
  /** Monotonic ms of the request of the last list. */
  #beganMs = 0;
  /** The run of the stream in which the last list was requested and adopted. */
  #listRun: number | null = null;
  /** Number of lists since the last one that showed something events had not. */
  #cleanCount = CLEAN_LISTS;
  #cleanBefore = CLEAN_LISTS;
  /** Shown by the last list alone; a late event may still report it. */
  readonly #unreported = new Set<string>();
  /** Missing from the last list. They are shown until their end is known, or an event reports them open. */
  readonly #leftOut = new Map<string, VenueOrder>();

  constructor(host: ListTrustHost) {
    this.#host = host;
  }

  /** Whether events and the last list together are, as far as can be known, what the venue has. */
  covers(orders: OpenOrders): boolean {
    const run = this.#host.liveRun();
    if (run === null || run !== this.#listRun || !orders.isKnown || !this.isComplete) return false;
    if (this.#cleanCount < CLEAN_LISTS) return false;
    for (const order of this.#leftOut.values()) if (orders.has(order)) return false;
    if (this.#nowMs() - this.#beganMs > LIST_INTERVALS_MAX * this.#host.intervalMs()) return false;
    const doubtMs = this.#host.doubtMs();
    return doubtMs === null || this.#beganMs >= doubtMs + LIST_LAG_MS;
  }

  /** Whether the last list was requested late enough to include everything before events were received. */
  get isComplete(): boolean {
    return this.#beganMs >= this.#eventsSinceMs + LIST_LAG_MS;
  }

  /** Time until a list can be requested that is complete. */
  get completeInMs(): number {
    return Math.max(0, this.#eventsSinceMs + LIST_LAG_MS - this.#nowMs());
  }

  /** Events are received from now on. */
  follow(): void {
    this.#eventsSinceMs = this.#nowMs();
  }

  /** Call when a list is requested. */
  request(): ListRequest {
    return { run: this.#host.liveRun(), beganMs: this.#nowMs() };
  }

  /** Compares an adopted list with the events. `news`, `gone`: see OpenOrders.adopt. */
  judge({ run, beganMs }: ListRequest, news: readonly VenueOrder[], gone: readonly VenueOrder[]): void {
    const wasComplete = this.isComplete;
    this.#beganMs = beganMs;
    const isCovered = run !== null && run === this.#host.liveRun() && run === this.#listRun && wasComplete;
    this.#listRun = run !== null && run === this.#host.liveRun() ? run : null;
    this.#leftOut.clear();
    for (const order of gone) this.#leftOut.set(orderKey(order), order);
    this.#unreported.clear();
    if (!isCovered) return;
    if (news.length + gone.length === 0) {
      this.#cleanCount = Math.min(CLEAN_LISTS, this.#cleanCount + 1);
      return;
    }
    this.#cleanBefore = this.#cleanCount;
    this.#cleanCount = 0;
    for (const order of [...news, ...gone]) this.#unreported.add(orderKey(order));
  }

  /** An event of this order came. One that the last list had shown alone was late, not lost. */
  explain(order: VenueOrder): void {
    const key = orderKey(order);
    this.#leftOut.delete(key);
    if (!this.#unreported.delete(key) || this.#unreported.size > 0) return;
    if (this.#nowMs() - this.#beganMs <= LIST_LAG_MS) this.#cleanCount = this.#cleanBefore;
  }

  /** The list was dropped. */
  forget(): void {
    this.#listRun = null;
    this.#cleanCount = CLEAN_LISTS;
    this.#unreported.clear();
    this.#leftOut.clear();
  }

  #nowMs(): number {
    return this.#host.clock.monoNs() / 1e6;
  }
}
