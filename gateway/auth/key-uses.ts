/**
 * When each key was last used: noted in memory by every request, stored at most once a minute, all keys together. A
 * crash loses a minute of it.
 */
import { decodeJson, encodeJson, type StateStore } from "../../engine/storage/state-store.js";
import { USED_NAMESPACE } from "./key-rows.js";
import type { KeyTable, LiveKey } from "./key-table.js";

/** Rows of one commit. */
const BATCH_ROWS = 250;

/** The stored time; null: none, or one that cannot be read, which must not stop a start. */
export async function storedUse(store: StateStore, keyId: string): Promise<number | null> {
  const value = await store.get(USED_NAMESPACE, keyId);
  try {
    const atMs = value === null ? null : decodeJson(value);
    return typeof atMs === "number" ? atMs : null;
  } catch {
    return null;
  }
}

export class KeyUses {
  readonly #store: StateStore;
  readonly #table: KeyTable;
  #flushing: Promise<void> | null = null;

  constructor(store: StateStore, table: KeyTable) {
    this.#store = store;
    this.#table = table;
  }

  /** Rejects with STORE_UNAVAILABLE; what was not stored is stored by the next one. */
  flush(): Promise<void> {
    this.#flushing ??= this.#writeAll().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #writeAll(): Promise<void> {
    const unsaved = [...this.#table.entries()].filter(([, key]) => key.isUseUnsaved);
    for (let from = 0; from < unsaved.length; from += BATCH_ROWS)
      await this.#write(unsaved.slice(from, from + BATCH_ROWS));
  }

  async #write(batch: readonly [string, LiveKey][]): Promise<void> {
    const writes = batch.map(([keyId, key]) => {
      key.isUseUnsaved = false;
      return { namespace: USED_NAMESPACE, key: keyId, value: encodeJson(key.lastUsedAtMs) };
    });
    try {
      await this.#store.commit({ writes });
    } catch (error) {
      for (const [, key] of batch) key.isUseUnsaved = true;
      throw error;
    }
  }
}
