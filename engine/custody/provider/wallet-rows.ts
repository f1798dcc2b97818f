/**
 * S's own row of a wallet: whose it is and by which user id, beside its state row and in the same commits, so that one
 * user id has one wallet whatever is killed (docs/mpc.md, section 11). A row that is not to the letter is not read.
 */
import type { Owners } from "../../domain/owner.js";
import { ServiceError } from "../../domain/errors.js";
import { allRows, decodeJson, encodeJson, type StateStore, type StateWrite } from "../../storage/state-store.js";
import { SortedRows } from "./sorted-rows.js";
import { walletIdBytes } from "./wallet-names.js";

export const WALLET_NAMESPACE = "custody-wallet";

export interface WalletRow {
  /** UUID, lower case. */
  readonly walletId: string;
  /** Null: made without an API key. */
  readonly ownerId: string | null;
  readonly userId: string;
  /** EIP-55. */
  readonly address: string;
  /** Unix epoch, integer ms. */
  readonly createdAt: number;
}

export class WalletRows {
  readonly #owners: Owners;
  readonly #byId = new Map<string, WalletRow>();
  readonly #byAddress = new Map<string, WalletRow>();
  /** By owner of the row and user id: the owner that adopted rows without one is asked for by both. */
  readonly #byUser = new Map<string, WalletRow>();
  readonly #byOwner = new Map<string, SortedRows<WalletRow>>();

  constructor(owners: Owners) {
    this.#owners = owners;
  }

  async load(store: Pick<StateStore, "scan">): Promise<void> {
    for await (const { key, value } of allRows(store, WALLET_NAMESPACE)) this.#add(readRow(key, value));
  }

  get(walletId: string): WalletRow | null {
    return this.#byId.get(walletId) ?? null;
  }

  /** In memory from now on; the caller puts the write into its commit. */
  put(row: WalletRow): StateWrite {
    this.#add(row);
    return { namespace: WALLET_NAMESPACE, key: row.walletId, value: encodeJson(row) };
  }

  remove(walletId: string): StateWrite {
    const row = this.#byId.get(walletId);
    if (row !== undefined) {
      this.#byId.delete(walletId);
      this.#byAddress.delete(row.address.toLowerCase());
      const user = userKey(row.ownerId, row.userId);
      if (this.#byUser.get(user) === row) this.#byUser.delete(user);
      this.#byOwner.get(ownerKey(row.ownerId))?.remove(walletId);
    }
    return { namespace: WALLET_NAMESPACE, key: walletId, value: null };
  }

  /** By user id, wallet id or address, among those that the caller reaches. */
  find(name: string, ownerId: string | null): WalletRow | null {
    const named = this.#byId.get(name.toLowerCase()) ?? this.#byAddress.get(name.toLowerCase());
    if (named !== undefined) return this.#owners.reaches(ownerId, named.ownerId) ? named : null;
    return this.#ofUser(name, this.#owners.reachedBy(ownerId));
  }

  /**
   * The wallet in the way of a new one: also that of the adopter, where nobody's is asked for. One that the caller reaches
   * goes first, as there may be two since the adoption.
   */
  inTheWay(userId: string, ownerId: string | null): WalletRow | null {
    return this.#ofUser(userId, [...this.#owners.reachedBy(ownerId), ...this.#owners.sameAs(ownerId)]);
  }

  #ofUser(userId: string, owners: readonly (string | null)[]): WalletRow | null {
    for (const owner of owners) {
      const found = this.#byUser.get(userKey(owner, userId));
      if (found !== undefined) return found;
    }
    return null;
  }

  /** In ascending order of wallet id, from behind `after`. */
  *after(walletId: string | null, ownerId: string | null): Generator<WalletRow> {
    const [first, second] = this.#owners
      .reachedBy(ownerId)
      .map((owner) => (this.#byOwner.get(ownerKey(owner)) ?? NO_ROWS).after(walletId));
    if (first === undefined) return;
    if (second === undefined) yield* first;
    else yield* merged(first, second);
  }

  all(): Iterable<WalletRow> {
    return this.#byId.values();
  }

  #add(row: WalletRow): void {
    if (this.#byId.has(row.walletId)) this.remove(row.walletId);
    this.#byId.set(row.walletId, row);
    this.#byAddress.set(row.address.toLowerCase(), row);
    const user = userKey(row.ownerId, row.userId);
    const known = this.#byUser.get(user);
    // A restored wallet may have the user id of one that was made since: what the user id means does not change by it.
    if (known === undefined || isLater(row, known)) this.#byUser.set(user, row);
    const owner = ownerKey(row.ownerId);
    const rows = this.#byOwner.get(owner) ?? new SortedRows<WalletRow>();
    this.#byOwner.set(owner, rows);
    rows.add(row);
  }
}

/** The same at each start, whatever the order of the rows. */
function isLater(row: WalletRow, other: WalletRow): boolean {
  return row.createdAt > other.createdAt || (row.createdAt === other.createdAt && row.walletId > other.walletId);
}

const NO_ROWS = new SortedRows<WalletRow>();

function ownerKey(ownerId: string | null): string {
  return ownerId === null ? "-" : `+${ownerId}`;
}

function userKey(ownerId: string | null, userId: string): string {
  return `${ownerKey(ownerId)}\0${userId}`;
}

/** Two lists in order as one; no row is in both. */
function* merged(one: Generator<WalletRow>, two: Generator<WalletRow>): Generator<WalletRow> {
  let [left, right] = [one.next(), two.next()];
  while (left.done !== true || right.done !== true) {
    if (right.done === true || (left.done !== true && left.value.walletId < right.value.walletId)) {
      if (left.done !== true) yield left.value;
      left = one.next();
    } else {
      yield right.value;
      right = two.next();
    }
  }
}

function readRow(key: string, value: Uint8Array): WalletRow {
  const read = tryJson(value);
  if (typeof read !== "object" || read === null) throw unreadable(key);
  const { walletId, ownerId, userId, address, createdAt, ...rest } = read as Readonly<Record<string, unknown>>;
  if (walletId !== key || walletIdBytes(key) === null || Object.keys(rest).length > 0) throw unreadable(key);
  if (ownerId !== null && (typeof ownerId !== "string" || ownerId === "")) throw unreadable(key);
  if (typeof userId !== "string" || userId === "") throw unreadable(key);
  if (typeof address !== "string" || !/^0x[0-9a-fA-F]{40}$/.test(address)) throw unreadable(key);
  if (typeof createdAt !== "number" || !Number.isSafeInteger(createdAt) || createdAt < 0) throw unreadable(key);
  return { walletId: key, ownerId, userId, address, createdAt };
}

function tryJson(value: Uint8Array): unknown {
  try {
    return decodeJson(value);
  } catch {
    return null;
  }
}

function unreadable(key: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `custody: wallet row ${key} cannot be read` });
}
