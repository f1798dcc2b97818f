/**
 * The outcome of each close, by routeId: for `GET /api/trade/executions/{routeId}` and for the lists of the status:
 * orders of unknown outcome, and acknowledged ones whose end was not seen.
 *
 * Recent ones are in memory (MAX_RECENT, the oldest fall out). Those that a caller may ask for after a
 * restart, with an idempotency key or of unknown outcome, are in the store too, for RETENTION_MS. Beyond
 * the bound of a list (listed-orders.ts) an order is counted only, and still found by routeId.
 *
 * Invariants: of a run whose orders are at work there is one copy, also where it fell out of memory and is read again. A
 * caller who does not reach an execution gets what an unknown routeId gets, after the same look-ups, and moves nothing in
 * memory by asking.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import type { Owners } from "../../domain/owner.js";
import { decodeJson, encodeJson, type StateStore, type StateWrite } from "../../storage/state-store.js";
import { ListedOrders, type ListedOrder } from "../listed-orders.js";
import { ownerOf, unknownAttempt, unsettledAttempt, type TradeRun } from "../run.js";
import type { TradeData } from "../types.js";
import { expiringWrites, SWEEP_MAX_ROWS, sweepExpired } from "./expiring-rows.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";

const NAMESPACE = "execution";
export const MAX_RECENT = 10_000;
const RETENTION_MS = 24 * 3_600_000;

interface Entry {
  readonly data: TradeData;
  /** While an order of it can still be ended by reading the venue: what that needs. Null after. */
  readonly run: TradeRun | null;
  readonly expiresAtMs: number;
  /** Absent in rows of versions before: made without a key. */
  readonly ownerId?: string | null;
}

/** Who asks for a list or an execution. */
export interface Asker {
  readonly ownerId: string | null;
  /** The API key that asks: it pays for what is read for it. Null: the accounts themselves do. */
  readonly payer: string | null;
  /** An administrator: what anybody made. */
  readonly seesAll: boolean;
}

/** The counts include what is beyond the bound of the lists. */
export interface ListedExecutions {
  readonly unknown: readonly ListedOrder[];
  readonly unknownCount: number;
  readonly open: readonly ListedOrder[];
  readonly openCount: number;
}

export class ExecutionRegistry {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #owners: Owners;
  readonly #lifetime: LifetimeClock;
  readonly #recent: LRUCache<string, Entry>;
  /** Runs with orders at work, by routeId, as long as anybody has them: a copy of one would go a way of its own. */
  readonly #atWork = new Map<string, WeakRef<TradeRun>>();
  readonly #collected = new FinalizationRegistry<string>((routeId) => {
    if (this.#atWork.get(routeId)?.deref() === undefined) this.#atWork.delete(routeId);
  });
  readonly #unknown = new ListedOrders();
  readonly #open = new ListedOrders();

  constructor(store: StateStore, clock: Clock, owners: Owners, maxRecent = MAX_RECENT) {
    this.#store = store;
    this.#clock = clock;
    this.#owners = owners;
    this.#lifetime = new LifetimeClock(clock);
    this.#recent = new LRUCache({ max: maxRecent });
  }

  /** Remembers the current state in memory, at once. */
  remember(data: TradeData, run: TradeRun): Entry {
    const { routeId } = data.routing;
    const expiresAtMs = this.#recent.peek(routeId)?.expiresAtMs ?? this.#clock.wallMs() + RETENTION_MS;
    const unsettled = unsettledAttempt(run) === null ? null : run;
    const entry: Entry = { data, run: unsettled, expiresAtMs, ownerId: ownerOf(run) };
    this.#recent.set(routeId, entry);
    this.#keep(routeId, entry.run);
    return entry;
  }

  /** Remembers it in memory, and returns the writes that make it durable. Off the reply's path. */
  persistWrites(data: TradeData, run: TradeRun): StateWrite[] {
    const entry = this.remember(data, run);
    return expiringWrites(NAMESPACE, data.routing.routeId, encodeJson(entry), entry.expiresAtMs);
  }

  /** For callers. Null means not known to this one. */
  async dataFor(routeId: string, asker: Asker): Promise<TradeData | null> {
    return (await this.#entryFor(routeId, asker))?.data ?? null;
  }

  /** For callers. Null means not known to this one, or nothing of it is left to be looked up. */
  async unsettledRunFor(routeId: string, asker: Asker): Promise<TradeRun | null> {
    return (await this.#entryFor(routeId, asker))?.run ?? null;
  }

  /** For whoever holds the run already. */
  async get(routeId: string): Promise<TradeData | null> {
    return (await this.#entry(routeId))?.data ?? null;
  }

  /** The same. Null means not known, or nothing of it is left to be looked up. */
  async unsettledRun(routeId: string): Promise<TradeRun | null> {
    return (await this.#entry(routeId))?.run ?? null;
  }

  /** Lists the order of the run that reading its venue can still end: of unknown outcome, or accepted and working. */
  track(run: TradeRun, fromEarlierStart = false): void {
    const { routeId } = run;
    const unknown = unknownAttempt(run);
    const attempt = unknown ?? unsettledAttempt(run);
    if (unknown === null) this.#unknown.remove(routeId);
    if (attempt === null || unknown !== null) this.#open.remove(routeId);
    if (attempt !== null)
      (unknown === null ? this.#open : this.#unknown).add({
        routeId,
        venue: attempt.venue,
        symbol: run.symbol,
        venueClientOrderId: attempt.venueClientOrderId,
        sinceMs: attempt.intentAtMs,
        fromEarlierStart,
        ownerId: ownerOf(run),
      });
  }

  /** Of an order whose run is lost. */
  markUnknown(unknown: ListedOrder): void {
    this.#unknown.add(unknown);
  }

  /** What the asker may see of orders of unknown outcome, and of those that are acknowledged and not seen to end. */
  listed(asker: Asker): ListedExecutions {
    const isShown = (ownerId: string | null): boolean => this.#isShownTo(asker, ownerId);
    return {
      unknown: this.#unknown.list().filter(({ ownerId }) => isShown(ownerId)),
      unknownCount: this.#unknown.countOf(isShown),
      open: this.#open.list().filter(({ ownerId }) => isShown(ownerId)),
      openCount: this.#open.countOf(isShown),
    };
  }

  #isShownTo({ ownerId, seesAll }: Asker, rowOwner: string | null | undefined): boolean {
    return seesAll || this.#owners.reaches(ownerId, rowOwner);
  }

  async #entryFor(routeId: string, asker: Asker): Promise<Entry | null> {
    const recent = this.#recent.peek(routeId);
    if (recent !== undefined && this.#isShownTo(asker, recent.ownerId)) return this.#entry(routeId);
    // Read for a stranger too: what another owner has in memory takes as long as what nobody has.
    const row = await this.#store.get(NAMESPACE, routeId);
    if (row === null || !this.#isShownTo(asker, (decodeJson(row) as Entry).ownerId)) return null;
    return this.#entry(routeId);
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
    const shared = { ...entry, run: entry.run === null ? null : (this.#atWork.get(routeId)?.deref() ?? entry.run) };
    this.#recent.set(routeId, shared);
    this.#keep(routeId, shared.run);
    return shared;
  }

  #keep(routeId: string, run: TradeRun | null): void {
    if (run === null) this.#atWork.delete(routeId);
    else if (this.#atWork.get(routeId)?.deref() !== run) {
      this.#atWork.set(routeId, new WeakRef(run));
      this.#collected.register(run, routeId);
    }
  }

  /** One bounded round; true when there may be more to do. */
  async sweep(): Promise<boolean> {
    return (await sweepExpired(this.#store, NAMESPACE, this.#lifetime.nowMs())) === SWEEP_MAX_ROWS;
  }
}
