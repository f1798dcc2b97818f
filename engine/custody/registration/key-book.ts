/**
 * All rows of venue keys, in memory as they are in the store. Secrets stay sealed.
 *
 * Invariant: a change is in memory once it is durable, and not before. Rows change in the turn of their place alone
 * (key-turns.ts), but for a rotation of the sealing key, which may write a row between its read and its write.
 */
import { ServiceError } from "../../domain/errors.js";
import { allRows, type StateStore } from "../../storage/state-store.js";
import {
  decodeKeyRow,
  encodeKeyRow,
  KEY_NAMESPACE,
  type KeyPlace,
  type KeyRow,
  rowKey,
  type StoredKey,
} from "./key-row.js";

/** Of one row: more than any venue grants one account of keys that it can drop. */
export const KEYS_MAX = 16;
/** A rotation writes a row once. */
const TRIES_MAX = 4;

interface Held {
  readonly row: KeyRow;
  readonly value: Uint8Array | null;
}

export class KeyBook {
  readonly #store: StateStore;
  readonly #rows = new Map<string, Held>();
  readonly #byWallet = new Map<string, Set<string>>();
  /** By wallet; called after a change is durable. */
  readonly #listeners = new Map<string, Set<() => void>>();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Rejects with STORE_UNAVAILABLE, or SEAL_BROKEN for a row that cannot be read. */
  async load(): Promise<void> {
    for await (const { key, value } of allRows(this.#store, KEY_NAMESPACE)) this.#hold(decodeKeyRow(key, value), value);
  }

  keysOf(place: KeyPlace): readonly StoredKey[] {
    return this.#rows.get(rowKey(place))?.row.keys ?? [];
  }

  rowsOf(walletId: string): readonly KeyRow[] {
    return [...(this.#byWallet.get(walletId) ?? [])].flatMap((key) => this.#rows.get(key)?.row ?? []);
  }

  /** Called after each change of the wallet's keys; must not throw. Call the result to end it. */
  listen(walletId: string, hear: () => void): () => void {
    const ofWallet = this.#listeners.get(walletId) ?? new Set();
    this.#listeners.set(walletId, ofWallet.add(hear));
    return () => {
      if (ofWallet.delete(hear) && ofWallet.size === 0) this.#listeners.delete(walletId);
    };
  }

  *rows(): Generator<KeyRow> {
    for (const { row } of this.#rows.values()) yield row;
  }

  /**
   * Durable when it resolves. Rejects with STORE_UNAVAILABLE: then the change may be found after a restart. `change` may
   * be called again with the same keys under other seals.
   */
  async update(place: KeyPlace, change: (keys: readonly StoredKey[]) => readonly StoredKey[]): Promise<void> {
    const key = rowKey(place);
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      const held = this.#rows.get(key) ?? { row: { ...place, keys: [] }, value: null };
      const keys = change(held.row.keys);
      if (keys.length > KEYS_MAX) throw new ServiceError("INTERNAL", { problem: "registration: TOO_MANY_KEYS" });
      const row: KeyRow = { walletId: place.walletId, venue: place.venue, keys };
      const value = keys.length === 0 ? null : encodeKeyRow(row);
      if (await this.#store.compareAndSet(KEY_NAMESPACE, key, held.value, value)) {
        this.#hold(row, value);
        return;
      }
      await this.reload(place);
    }
    throw new ServiceError("STORE_UNAVAILABLE", { reason: "CONTENDED" });
  }

  /** A rotation of the sealing key wrote the row. */
  rewrapped(key: string, value: Uint8Array): void {
    if (this.#rows.has(key)) this.#hold(decodeKeyRow(key, value), value);
  }

  /** Takes the row as it is in the store. */
  async reload(place: KeyPlace): Promise<void> {
    const key = rowKey(place);
    const stored = await this.#store.get(KEY_NAMESPACE, key);
    this.#hold(stored === null ? { ...place, keys: [] } : decodeKeyRow(key, stored), stored);
  }

  #hold(row: KeyRow, value: Uint8Array | null): void {
    const key = rowKey(row);
    const ofWallet = this.#byWallet.get(row.walletId) ?? new Set();
    if (value === null) {
      this.#rows.delete(key);
      ofWallet.delete(key);
    } else {
      this.#rows.set(key, { row, value });
      ofWallet.add(key);
    }
    if (ofWallet.size === 0) this.#byWallet.delete(row.walletId);
    else this.#byWallet.set(row.walletId, ofWallet);
    for (const hear of [...(this.#listeners.get(row.walletId) ?? [])]) hear();
  }
}
