/**
 * What callers call their orders: the clientOrderId of an account names one order for UNIQUE_MS, and finds it, and is
 * found for it, for RETENTION_MS, across restarts. The rows are written in the batch of the order's intent.
 *
 * Invariant: two orders never share a name: the batch holds only while the row is as it was read. Rows hold keyed
 * hashes of the account and the name, and the name itself as the caller gave it.
 */
import type { Clock } from "../../domain/clock.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import {
  decodeJson,
  encodeJson,
  type StateCondition,
  type StateStore,
  type StateWrite,
} from "../../storage/state-store.js";
import { expiringRemovals, expiringWrites, SWEEP_MAX_ROWS, sweepExpired } from "../expiring-rows.js";
import { LifetimeClock } from "../lifetime-clock.js";

const BY_NAME = "order-name";
/** What the venue saw as client id: how an order that was read there finds its caller's name. */
const BY_VENUE_NAME = "order-venue-name";
const UNIQUE_MS = 24 * 3_600_000;
const RETENTION_MS = 7 * 24 * 3_600_000;

interface OwnOrder {
  readonly clientIdHex: string;
  readonly venueClientOrderId: string;
  readonly routeId: string;
  readonly symbol: string;
  readonly clientOrderId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A name as it stands, to be taken on condition that it still does. */
export interface NameClaim {
  readonly row: Uint8Array | null;
  readonly before: OwnOrder | null;
}

export class OrderNames {
  readonly #store: StateStore;
  readonly #hash: KeyedHash;
  readonly #lifetime: LifetimeClock;

  constructor(store: StateStore, hash: KeyedHash, clock: Clock) {
    this.#store = store;
    this.#hash = hash;
    this.#lifetime = new LifetimeClock(clock);
  }

  async byName(accountHash: string, clientOrderId: string): Promise<OwnOrder | null> {
    return this.#live(await this.#store.get(BY_NAME, this.#nameKey(accountHash, clientOrderId)));
  }

  async byVenueName(accountHash: string, venueClientOrderId: string): Promise<OwnOrder | null> {
    return this.#live(await this.#store.get(BY_VENUE_NAME, this.#nameKey(accountHash, venueClientOrderId)));
  }

  /** Null: the name is another order's. `routeIds`: the order's own, and that of a refused one it takes the place of. */
  async claim(accountHash: string, clientOrderId: string, ...routeIds: readonly string[]): Promise<NameClaim | null> {
    const row = await this.#store.get(BY_NAME, this.#nameKey(accountHash, clientOrderId));
    const before = row === null ? null : (decodeJson(row) as OwnOrder);
    const isTaken =
      before !== null && !routeIds.includes(before.routeId) && before.createdAtMs + UNIQUE_MS > this.#lifetime.nowMs();
    return isTaken ? null : { row, before };
  }

  /** For the batch of the order's intent. */
  claimRows(
    accountHash: string,
    claim: NameClaim,
    order: Omit<OwnOrder, "expiresAtMs">,
  ): { readonly condition: StateCondition; readonly writes: readonly StateWrite[] } {
    const key = this.#nameKey(accountHash, order.clientOrderId);
    const own: OwnOrder = { ...order, expiresAtMs: order.createdAtMs + RETENTION_MS };
    const value = encodeJson(own);
    return {
      condition: { namespace: BY_NAME, key, expected: claim.row },
      writes: [
        // Before the put: the old row's index row would otherwise take the new one with it.
        ...(claim.before === null ? [] : expiringRemovals(BY_NAME, key, claim.before.expiresAtMs)),
        ...expiringWrites(BY_NAME, key, value, own.expiresAtMs),
        ...expiringWrites(BY_VENUE_NAME, this.#nameKey(accountHash, order.venueClientOrderId), value, own.expiresAtMs),
      ],
    };
  }

  /** The rows that free the name of an order that never came to the venue; none when it names another by now. */
  async freeRows(
    accountHash: string,
    clientOrderId: string,
    routeId: string,
  ): Promise<{ readonly conditions: readonly StateCondition[]; readonly writes: readonly StateWrite[] }> {
    const key = this.#nameKey(accountHash, clientOrderId);
    const row = await this.#store.get(BY_NAME, key);
    const own = row === null ? null : (decodeJson(row) as OwnOrder);
    if (own === null || own.routeId !== routeId) return { conditions: [], writes: [] };
    const writes = [
      ...expiringRemovals(BY_NAME, key, own.expiresAtMs),
      ...expiringRemovals(BY_VENUE_NAME, this.#nameKey(accountHash, own.venueClientOrderId), own.expiresAtMs),
    ];
    // Another order may take the name meanwhile; then the rows are its own.
    return { conditions: [{ namespace: BY_NAME, key, expected: row }], writes };
  }

  /** One bounded round; true when there may be more to do. */
  async sweep(): Promise<boolean> {
    const nowMs = this.#lifetime.nowMs();
    const names = await sweepExpired(this.#store, BY_NAME, nowMs);
    const venueNames = await sweepExpired(this.#store, BY_VENUE_NAME, nowMs);
    return names === SWEEP_MAX_ROWS || venueNames === SWEEP_MAX_ROWS;
  }

  #live(row: Uint8Array | null): OwnOrder | null {
    if (row === null) return null;
    const own = decodeJson(row) as OwnOrder;
    return own.expiresAtMs > this.#lifetime.nowMs() ? own : null;
  }

  #nameKey(accountHash: string, name: string): string {
    return `${accountHash}|${this.#hash.hmacHex("order-name", [name])}`;
  }
}
