/**
 * What became of each close, by routeId: for `GET /api/trade/executions/{routeId}` and for the list of orders of
 * unknown outcome in the status.
 *
 * Recent ones are in memory (MAX_RECENT, the oldest fall out). Those that a caller may ask for after a
 * restart, with an idempotency key or of unknown outcome, are in the store too, for RETENTION_MS. The list of
 * unknown ones holds MAX_UNKNOWN_LISTED; beyond it they are counted only (up to MAX_RECENT), and still found by routeId.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../domain/clock.js";
import type { RoutableVenue } from "../domain/venue.js";
import { decodeJson, encodeJson, type StateStore, type StateWrite } from "../storage/state-store.js";
import { unsettledAttempt, type TradeRun } from "./trade-run.js";
import type { TradeData } from "./trade-types.js";
import { expiringWrites, SWEEP_MAX_ROWS, sweepExpired } from "./expiring-rows.js";

const NAMESPACE = "execution";
export const MAX_RECENT = 10_000;
export const MAX_UNKNOWN_LISTED = 1_000;
const RETENTION_MS = 24 * 3_600_000;

/** One order of unknown outcome, as the status lists it. */
export interface UnknownExecution {
  readonly routeId: string;
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly venueClientOrderId: string;
  readonly sinceMs: number;
  /** It was sent by an earlier start of the service: only its caller's credentials can resolve it. */
  readonly fromEarlierStart: boolean;
}

interface Entry {
  readonly data: TradeData;
  /** While an order of it can still be ended by reading the venue: what that needs. Null after. */
  readonly run: TradeRun | null;
  readonly expiresAtMs: number;
}

export class ExecutionRegistry {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #recent: LRUCache<string, Entry>;
  readonly #unknown = new Map<string, UnknownExecution>();
  /** Beyond the list. */
  readonly #unlisted = new Set<string>();

  constructor(store: StateStore, clock: Clock, maxRecent = MAX_RECENT) {
    this.#store = store;
    this.#clock = clock;
    this.#recent = new LRUCache({ max: maxRecent });
  }

  /** Remembers the current state in memory, at once. */
  remember(data: TradeData, run: TradeRun): Entry {
    const { routeId } = data.routing;
    const expiresAtMs = this.#recent.peek(routeId)?.expiresAtMs ?? this.#clock.wallMs() + RETENTION_MS;
    const entry: Entry = { data, run: unsettledAttempt(run) === null ? null : run, expiresAtMs };
    this.#recent.set(routeId, entry);
    return entry;
  }

  /** Remembers it in memory, and returns the writes that make it durable. Off the reply's path. */
  persistWrites(data: TradeData, run: TradeRun): StateWrite[] {
    const entry = this.remember(data, run);
    return expiringWrites(NAMESPACE, data.routing.routeId, encodeJson(entry), entry.expiresAtMs);
  }

  async get(routeId: string): Promise<TradeData | null> {
    return (await this.#entry(routeId))?.data ?? null;
  }

  /** Null: not known, or nothing of it is left to be looked up. */
  async unsettledRun(routeId: string): Promise<TradeRun | null> {
    return (await this.#entry(routeId))?.run ?? null;
  }

  markUnknown(unknown: UnknownExecution): void {
    if (this.#unknown.size >= MAX_UNKNOWN_LISTED && !this.#unknown.has(unknown.routeId)) {
      if (this.#unlisted.size < MAX_RECENT) this.#unlisted.add(unknown.routeId);
      return;
    }
    this.#unlisted.delete(unknown.routeId);
    this.#unknown.set(unknown.routeId, unknown);
  }

  markKnown(routeId: string): void {
    if (!this.#unknown.delete(routeId)) this.#unlisted.delete(routeId);
  }

  isUnknown(routeId: string): boolean {
    return this.#unknown.has(routeId) || this.#unlisted.has(routeId);
  }

  /** Oldest first. */
  listUnknown(): readonly UnknownExecution[] {
    return [...this.#unknown.values()];
  }

  get unknownCount(): number {
    return this.#unknown.size + this.#unlisted.size;
  }

  async #entry(routeId: string): Promise<Entry | null> {
    const recent = this.#recent.get(routeId);
    if (recent !== undefined) return recent;
    const row = await this.#store.get(NAMESPACE, routeId);
    if (row === null) return null;
    const entry = decodeJson(row) as Entry;
    // Two readers of one row must share one run: what one finds out the other must see.
    const meanwhile = this.#recent.get(routeId);
    if (meanwhile !== undefined) return meanwhile;
    this.#recent.set(routeId, entry);
    return entry;
  }

  /** One bounded round; true when there may be more to do. */
  async sweep(): Promise<boolean> {
    return (await sweepExpired(this.#store, NAMESPACE, this.#clock.wallMs())) === SWEEP_MAX_ROWS;
  }
}
