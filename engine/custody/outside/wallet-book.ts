/**
 * Wallets of the outside signer: their rows in the store, and in memory by every name, since look-ups do not wait.
 *
 * Invariant: a change is durable before memory shows it. A wallet is found by its names once it was acknowledged.
 */
import type { Owners } from "../../domain/owner.js";
import { allRows, type StateStore, type StateWrite } from "../../storage/state-store.js";
import { WalletRows } from "../provider/wallet-rows.js";
import type { Wallet, WalletPage } from "../provider/wallet-provider.js";
import { encodeWalletRow, OUTSIDE_WALLETS, type OutsideWalletRow, readWalletRow } from "./wallet-row.js";

export class OutsideWalletBook {
  readonly #store: Pick<StateStore, "scan" | "commit">;
  readonly #owners: Owners;
  readonly #byId = new Map<string, OutsideWalletRow>();
  /** ASKED and MADE: few at any time. */
  readonly #underWay = new Map<string, OutsideWalletRow>();
  #activeCount = 0;
  /** Of acknowledged wallets. */
  readonly #names: WalletRows;
  /** Lower case, of every key that is known. */
  readonly #addresses = new Map<string, string>();

  constructor(store: Pick<StateStore, "scan" | "commit">, owners: Owners) {
    this.#store = store;
    this.#owners = owners;
    this.#names = new WalletRows(owners);
  }

  /** Rejects where a row cannot be read. */
  async load(): Promise<void> {
    for await (const { key, value } of allRows(this.#store, OUTSIDE_WALLETS)) this.#show(readWalletRow(key, value));
  }

  get(walletId: string): OutsideWalletRow | null {
    return this.#byId.get(walletId) ?? null;
  }

  get underWayCount(): number {
    return this.#underWay.size;
  }

  get activeCount(): number {
    return this.#activeCount;
  }

  /** Durable when it resolves, with what is beside it. */
  async put(row: OutsideWalletRow, beside: readonly StateWrite[] = []): Promise<void> {
    const write = { namespace: OUTSIDE_WALLETS, key: row.walletId, value: encodeWalletRow(row) };
    await this.#store.commit({ writes: [write, ...beside] });
    this.#show(row);
  }

  /** Another wallet has this key. */
  isTaken(address: string, walletId: string): boolean {
    const holder = this.#addresses.get(address.toLowerCase());
    return holder !== undefined && holder !== walletId;
  }

  find(name: string, ownerId: string | null): Wallet | null {
    const row = this.#names.find(name, ownerId);
    return row === null ? null : this.#walletOf(row.walletId);
  }

  /** The acknowledged wallet in the way of a new one. */
  inTheWay(userId: string, ownerId: string | null): OutsideWalletRow | null {
    const row = this.#names.inTheWay(userId, ownerId);
    return row === null ? null : this.get(row.walletId);
  }

  /** Under way for the same user, also by an owner that is in effect the same. */
  underWay(userId: string, ownerId: string | null): OutsideWalletRow | null {
    const owners = new Set([...this.#owners.reachedBy(ownerId), ...this.#owners.sameAs(ownerId)]);
    for (const row of this.#underWay.values()) if (row.userId === userId && owners.has(row.ownerId)) return row;
    return null;
  }

  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    const wallets: Wallet[] = [];
    for (const { walletId } of this.#names.after(after, ownerId)) {
      const wallet = this.#walletOf(walletId);
      if (wallet === null) continue;
      if (wallets.length === limit) return { wallets, next: wallets.at(-1)?.walletId ?? null };
      wallets.push(wallet);
    }
    return { wallets, next: null };
  }

  *all(): Generator<Wallet> {
    for (const walletId of this.#byId.keys()) {
      const wallet = this.#walletOf(walletId);
      if (wallet !== null) yield wallet;
    }
  }

  #walletOf(walletId: string): Wallet | null {
    const row = this.get(walletId);
    return row === null ? null : walletOf(row);
  }

  #show(row: OutsideWalletRow): void {
    const { walletId, ownerId, userId, made, createdAt } = row;
    const isActive = row.state === "ACTIVE" && made !== null;
    if (isActive && this.#byId.get(walletId)?.state !== "ACTIVE") this.#activeCount++;
    this.#byId.set(walletId, row);
    if (row.state === "ASKED" || row.state === "MADE") this.#underWay.set(walletId, row);
    else this.#underWay.delete(walletId);
    if (made !== null) this.#addresses.set(made.address.toLowerCase(), walletId);
    if (isActive) this.#names.put({ walletId, ownerId, userId, address: made.address, createdAt });
  }
}

/** Null: not acknowledged. The signer keeps the key: there are no shares here, and no versions of them. */
export function walletOf({ walletId, ownerId, userId, state, made, createdAt }: OutsideWalletRow): Wallet | null {
  if (state !== "ACTIVE" || made === null) return null;
  const { address, publicKey } = made;
  return { ownerId, walletId, userId, address, publicKey, createdAt, state: "ACTIVE", epoch: 1 };
}
