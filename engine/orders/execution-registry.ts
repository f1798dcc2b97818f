/**
 * What became of each close, by routeId: for `GET /api/trade/executions/{routeId}` and for the list of orders of
 * unknown outcome in the status.
 *
 * Recent ones are in memory (MAX_RECENT, the oldest fall out). Those that a caller may ask for after a
 * restart, with an idempotency key or of unknown outcome, are in the store too, for RETENTION_MS. The list of
 * unknown ones holds MAX_UNKNOWN_LISTED; beyond it they are counted only, and still found by routeId.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../domain/clock.js";
import type { RoutableVenue } from "../domain/venue.js";
import { decodeJson, encodeJson, type StateStore } from "../storage/state-store.js";
import type { CloseData } from "./close-types.js";
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
  readonly data: CloseData;
  readonly expiresAtMs: number;
}

export class ExecutionRegistry {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #recent: LRUCache<string, Entry>;
  readonly #unknown = new Map<string, UnknownExecution>();
  #unlistedCount = 0;

  constructor(store: StateStore, clock: Clock, maxRecent = MAX_RECENT) {
    this.#store = store;
    this.#clock = clock;
    this.#recent = new LRUCache({ max: maxRecent });
  }

  /** Remembers the current state in memory, at once. */
  remember(data: CloseData): void {
    const known = this.#recent.peek(data.routing.routeId);
    this.#recent.set(data.routing.routeId, {
      data,
      expiresAtMs: known?.expiresAtMs ?? this.#clock.wallMs() + RETENTION_MS,
    });
  }

  /** Remembers it durably as well. Off the reply's path. */
  async persist(data: CloseData): Promise<void> {
    this.remember(data);
    const expiresAtMs = this.#recent.peek(data.routing.routeId)?.expiresAtMs ?? this.#clock.wallMs() + RETENTION_MS;
    const entry: Entry = { data, expiresAtMs };
    await this.#store.commit({
      writes: expiringWrites(NAMESPACE, data.routing.routeId, encodeJson(entry), expiresAtMs),
    });
  }

  async get(routeId: string): Promise<CloseData | null> {
    const recent = this.#recent.get(routeId);
    if (recent !== undefined) return recent.data;
    const row = await this.#store.get(NAMESPACE, routeId);
    if (row === null) return null;
    const entry = decodeJson(row) as Entry;
    this.#recent.set(routeId, entry);
    return entry.data;
  }

  markUnknown(unknown: UnknownExecution): void {
    if (this.#unknown.size >= MAX_UNKNOWN_LISTED && !this.#unknown.has(unknown.routeId)) {
      this.#unlistedCount += 1;
      return;
    }
    this.#unknown.set(unknown.routeId, unknown);
  }

  /** Only for routes that were marked unknown: the ones beyond the list are told apart by count alone. */
  markKnown(routeId: string): void {
    if (!this.#unknown.delete(routeId) && this.#unlistedCount > 0) this.#unlistedCount -= 1;
  }

  isUnknown(routeId: string): boolean {
    return this.#unknown.has(routeId);
  }

  /** Oldest first. */
  listUnknown(): readonly UnknownExecution[] {
    return [...this.#unknown.values()];
  }

  get unknownCount(): number {
    return this.#unknown.size + this.#unlistedCount;
  }

  /** One bounded round; true when there may be more to do. */
  async sweep(): Promise<boolean> {
    return (await sweepExpired(this.#store, NAMESPACE, this.#clock.wallMs())) === SWEEP_MAX_ROWS;
  }
}
