/**
 * Single orders that reading the venue can still end: of unknown outcome, or accepted and working when last seen. For
 * the list in the status, and for a caller who asks again, also after a restart.
 *
 * Bounds: as many ends being stored as conclusions are; MAX_LISTED orders; beyond it they are counted only, and are settled by a retry with their idempotency key or
 * given up with their intent.
 */
import type { ListedOrder } from "../listed-orders.js";
import { isWorking, ownerOf } from "../run.js";
import { lastAttempt, type SingleRun } from "./single-run.js";

const MAX_LISTED = 1_000;

type IsShown = (ownerId: string | null) => boolean;

export interface UnsettledOrder {
  readonly run: SingleRun;
  /** Of its idempotency record, null without one. */
  readonly recordKey: string | null;
  readonly fromEarlierStart: boolean;
}

export class UnsettledOrders {
  readonly #orders = new Map<string, UnsettledOrder>();
  /** The same orders by owner's account and what the venue, or the caller, calls them. */
  readonly #byName = new Map<string, UnsettledOrder>();
  /** Ended, and the end not durable yet: their record in the store still has them unsettled. */
  readonly #ending = new Map<string, SingleRun>();
  readonly #maxListed: number;
  readonly #unlisted = new WeakSet<SingleRun>();
  /** By owner. */
  readonly #unlistedCounts = new Map<string | null, number>();

  constructor(maxListed = MAX_LISTED) {
    this.#maxListed = maxListed;
  }

  add(order: UnsettledOrder): void {
    const id = idOf(order.run);
    if (id === null || this.#orders.has(id) || this.#unlisted.has(order.run)) return;
    if (this.#orders.size < this.#maxListed) {
      this.#orders.set(id, order);
      for (const name of namesOf(order.run)) this.#byName.set(name, order);
      return;
    }
    this.#unlisted.add(order.run);
    this.#countUnlisted(ownerOf(order.run), 1);
  }

  remove(run: SingleRun): void {
    const id = idOf(run);
    if (id !== null && this.#orders.delete(id)) {
      for (const name of namesOf(run)) this.#byName.delete(name);
      return;
    }
    if (this.#unlisted.delete(run)) this.#countUnlisted(ownerOf(run), -1);
  }

  #countUnlisted(ownerId: string | null, change: number): void {
    const count = (this.#unlistedCounts.get(ownerId) ?? 0) + change;
    if (count === 0) this.#unlistedCounts.delete(ownerId);
    else this.#unlistedCounts.set(ownerId, count);
  }

  /** Removes the order; `sharedRun` knows it until the end is stored, however that ends. */
  async removeWhile(run: SingleRun, storing: Promise<unknown>): Promise<void> {
    const id = idOf(run);
    this.remove(run);
    if (id !== null) this.#ending.set(id, run);
    try {
      await storing;
    } finally {
      if (id !== null && this.#ending.get(id) === run) this.#ending.delete(id);
    }
  }

  /** The one run of an order that all its readers share; null: it is not one of these. */
  sharedRun(clientIdHex: string): SingleRun | null {
    return this.#ending.get(clientIdHex) ?? this.#orders.get(clientIdHex)?.run ?? null;
  }

  /** By the caller's id or the venue's form of ours; of these owners' account only. */
  find(accountHashes: readonly string[], name: string): UnsettledOrder | null {
    for (const accountHash of accountHashes) {
      const found = this.#byName.get(nameKey(accountHash, name));
      if (found !== undefined) return found;
    }
    return null;
  }

  /** Of unknown outcome, with those beyond the list, whatever they are. `isShown`: of whose orders it is asked. */
  unknownCount(isShown: IsShown): number {
    let count = this.list("UNKNOWN", isShown).length;
    for (const [ownerId, unlisted] of this.#unlistedCounts) if (isShown(ownerId)) count += unlisted;
    return count;
  }

  /** Oldest first. OPEN: acknowledged, and their end not seen. */
  list(kind: "UNKNOWN" | "OPEN", isShown: IsShown): ListedOrder[] {
    return [...this.#orders.values()].flatMap(({ run, fromEarlierStart }) => {
      const attempt = lastAttempt(run);
      const ownerId = ownerOf(run);
      if (attempt === null || isWorking(attempt) !== (kind === "OPEN") || !isShown(ownerId)) return [];
      const { routeId, venue, symbol } = run;
      const { venueClientOrderId, intentAtMs } = attempt;
      return [{ routeId, venue, symbol, venueClientOrderId, sinceMs: intentAtMs, fromEarlierStart, ownerId }];
    });
  }
}

function namesOf(run: SingleRun): string[] {
  const names = [lastAttempt(run)?.venueClientOrderId ?? null, run.clientOrderId];
  return names.flatMap((name) => (name === null ? [] : [nameKey(run.accountHash, name)]));
}

function nameKey(accountHash: string, name: string): string {
  return `${accountHash}|${name}`;
}

function idOf(run: SingleRun): string | null {
  return lastAttempt(run)?.clientIdHex ?? null;
}
