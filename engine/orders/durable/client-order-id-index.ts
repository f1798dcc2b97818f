/**
 * What callers call their orders: the clientOrderId of an owner's account names one order for UNIQUE_MS, and finds it, and
 * is found for it, for RETENTION_MS, across restarts. The rows are written in the batch of the order's intent.
 *
 * Invariant: two single orders never share a name: the batch holds only while the row is as it was read. A trade of the
 * router is never refused for its name, since it may be an exit: among trades the newest order has it, and that of a
 * single order stays where it is. Rows hold keyed hashes of the account and the name, and the name itself as the caller
 * gave it. Bound: SHOWN_MAX names in memory, for lists that cannot wait for the store.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import {
  decodeJson,
  encodeJson,
  MAX_SCAN_ROWS,
  type StateCondition,
  type StateStore,
  type StateWrite,
} from "../../storage/state-store.js";
import type { AccountSession } from "../../ports.js";
import { expiringRemovals, expiringWrites, SWEEP_MAX_ROWS, sweepExpired } from "./expiring-rows.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";
import { accountHashOf } from "../accounts.js";

const BY_NAME = "order-name";
/** What the venue saw as client id: how an order that was read there finds its caller's name. */
const BY_VENUE_NAME = "order-venue-name";
const UNIQUE_MS = 24 * 3_600_000;
const RETENTION_MS = 7 * 24 * 3_600_000;

/** Of the references of single orders (route-ids.ts). */
const SINGLE_PREFIX = "or_";
/** Names shown in lists: those of a week, where an account gives some thousand a day. */
const SHOWN_MAX = 50_000;

export interface OwnOrder {
  /** Of owner and account alone, as accountHashOf has it; absent on rows of earlier versions. */
  readonly account?: string;
  readonly clientIdHex: string;
  readonly venueClientOrderId: string;
  readonly routeId: string;
  readonly symbol: string;
  readonly clientOrderId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Whose name it was before; it is that order's again if no venue takes this one. */
  readonly replaced?: OwnOrder;
}

/** An order of a trade under the name of the trade. */
export interface TradeName extends Omit<OwnOrder, "expiresAtMs" | "replaced"> {
  /** Of the session: whose names these are. */
  readonly accountHash: string;
}

/** A name as it is now; it is taken on condition that it has not changed. */
export interface NameClaim {
  readonly row: Uint8Array | null;
  readonly before: OwnOrder | null;
}

export class ClientOrderIdIndex {
  readonly #store: StateStore;
  readonly #hash: KeyedHash;
  readonly #lifetime: LifetimeClock;
  readonly #shown = new LRUCache<string, string>({ max: SHOWN_MAX });

  constructor(store: StateStore, hash: KeyedHash, clock: Clock) {
    this.#store = store;
    this.#hash = hash;
    this.#lifetime = new LifetimeClock(clock);
  }

  /** `accountHashes`: the account as each owner's whose names the caller reaches, its own first. */
  async byName(accountHashes: readonly string[], clientOrderId: string): Promise<OwnOrder | null> {
    return this.#first(BY_NAME, accountHashes, clientOrderId);
  }

  async byVenueName(accountHashes: readonly string[], venueClientOrderId: string): Promise<OwnOrder | null> {
    return this.#first(BY_VENUE_NAME, accountHashes, venueClientOrderId);
  }

  async #first(namespace: string, accountHashes: readonly string[], name: string): Promise<OwnOrder | null> {
    for (const accountHash of accountHashes) {
      const own = this.#live(await this.#store.get(namespace, this.#nameKey(accountHash, name)));
      if (own !== null) return own;
    }
    return null;
  }

  /** Before lists are shown: what earlier processes named. */
  async load(): Promise<void> {
    const nowMs = this.#lifetime.nowMs();
    let after: string | null = null;
    for (let left = SHOWN_MAX; left > 0; left -= MAX_SCAN_ROWS) {
      const page = { prefix: "", limit: MAX_SCAN_ROWS, ...(after === null ? {} : { after }) };
      const rows = await this.#store.scan(BY_VENUE_NAME, page);
      for (const { value } of rows) {
        const own = decodeJson(value) as OwnOrder;
        if (own.expiresAtMs > nowMs) this.#show(own);
      }
      if (rows.length < MAX_SCAN_ROWS) return;
      after = rows.at(-1)?.key ?? null;
    }
  }

  /** `owners`: those whose names the caller reaches. Null means nothing that is remembered. */
  shownName(
    { venue, accountId }: Pick<AccountSession, "venue" | "accountId">,
    venueClientOrderId: string,
    owners: readonly (string | null)[],
  ): string | null {
    for (const owner of owners) {
      const name = this.#shown.get(`${accountHashOf(this.#hash, venue, accountId, owner)}|${venueClientOrderId}`);
      if (name !== undefined) return name;
    }
    return null;
  }

  /** For the batch of a trade's intents: each order under the trade's name. */
  async tradeRows(orders: readonly TradeName[]): Promise<readonly StateWrite[]> {
    const writes: StateWrite[] = [];
    for (const { accountHash, ...order } of orders) {
      const own: OwnOrder = { ...order, expiresAtMs: order.createdAtMs + RETENTION_MS };
      const value = encodeJson(own);
      const key = this.#nameKey(accountHash, order.clientOrderId);
      const row = await this.#store.get(BY_NAME, key);
      const before = row === null ? null : (decodeJson(row) as OwnOrder);
      if (before === null || !this.#isHeldBySingle(before)) {
        if (before !== null) writes.push(...expiringRemovals(BY_NAME, key, before.expiresAtMs));
        writes.push(...expiringWrites(BY_NAME, key, encodeJson(inPlaceOf(own, before)), own.expiresAtMs));
      }
      const venueKey = this.#nameKey(accountHash, order.venueClientOrderId);
      writes.push(...expiringWrites(BY_VENUE_NAME, venueKey, value, own.expiresAtMs));
      this.#show(own);
    }
    return writes;
  }

  #isHeldBySingle({ routeId, createdAtMs }: OwnOrder): boolean {
    return routeId.startsWith(SINGLE_PREFIX) && createdAtMs + UNIQUE_MS > this.#lifetime.nowMs();
  }

  #show({ account, venueClientOrderId, clientOrderId }: OwnOrder): void {
    if (account !== undefined) this.#shown.set(`${account}|${venueClientOrderId}`, clientOrderId);
  }

  /**
   * Null: the name is another order's. `accountHashes`: the account under which it is claimed, then others that must not
   * have it. `routeIds`: the order's own, and that of a refused one it takes the place of.
   */
  async claim(
    accountHashes: readonly string[],
    clientOrderId: string,
    ...routeIds: readonly string[]
  ): Promise<NameClaim | null> {
    let claim: NameClaim | null = null;
    for (const accountHash of accountHashes) {
      const row = await this.#store.get(BY_NAME, this.#nameKey(accountHash, clientOrderId));
      const before = row === null ? null : (decodeJson(row) as OwnOrder);
      const isTaken =
        before !== null &&
        !routeIds.includes(before.routeId) &&
        before.createdAtMs + UNIQUE_MS > this.#lifetime.nowMs();
      if (isTaken) return null;
      claim ??= { row, before };
    }
    return claim;
  }

  /** For the batch of the order's intent. */
  claimRows(
    accountHash: string,
    claim: NameClaim,
    order: Omit<OwnOrder, "expiresAtMs" | "replaced">,
  ): { readonly condition: StateCondition; readonly writes: readonly StateWrite[] } {
    const key = this.#nameKey(accountHash, order.clientOrderId);
    const own: OwnOrder = { ...order, expiresAtMs: order.createdAtMs + RETENTION_MS };
    const value = encodeJson(own);
    this.#show(own);
    return {
      condition: { namespace: BY_NAME, key, expected: claim.row },
      writes: [
        // Before the put: the old row's index row would otherwise take the new one with it.
        ...(claim.before === null ? [] : expiringRemovals(BY_NAME, key, claim.before.expiresAtMs)),
        ...expiringWrites(BY_NAME, key, encodeJson(inPlaceOf(own, claim.before)), own.expiresAtMs),
        ...expiringWrites(BY_VENUE_NAME, this.#nameKey(accountHash, order.venueClientOrderId), value, own.expiresAtMs),
      ],
    };
  }

  /**
   * The rows that free the name of an order that never came to the venue, or return it to the order that had it
   * before; none when it names another by now.
   */
  async freeRows(
    accountHash: string,
    clientOrderId: string,
    routeId: string,
  ): Promise<{ readonly conditions: readonly StateCondition[]; readonly writes: readonly StateWrite[] }> {
    const key = this.#nameKey(accountHash, clientOrderId);
    const row = await this.#store.get(BY_NAME, key);
    const own = row === null ? null : (decodeJson(row) as OwnOrder);
    if (own === null || own.routeId !== routeId) return { conditions: [], writes: [] };
    const { replaced } = own;
    const isKept = replaced !== undefined && replaced.expiresAtMs > this.#lifetime.nowMs();
    const writes = [
      ...expiringRemovals(BY_NAME, key, own.expiresAtMs),
      ...(isKept ? expiringWrites(BY_NAME, key, encodeJson(replaced), replaced.expiresAtMs) : []),
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

/** A run may send several orders under its name, so that what it replaced is carried on. */
function inPlaceOf(own: OwnOrder, before: OwnOrder | null): OwnOrder {
  if (before === null) return own;
  const { replaced, ...order } = before;
  const former = before.routeId === own.routeId ? replaced : order;
  return former === undefined ? own : { ...own, replaced: former };
}
