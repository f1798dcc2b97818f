/**
 * Which owner adopted the rows of public mode: one row of the state store. It is written once, in the batch of the key that
 * adopts them, and never changes.
 *
 * Invariant: what is shown here is durable, so that no restart takes rows away from the owner that has seen them.
 */
import type { LocalAdoption } from "../domain/owner.js";
import { decodeJson, encodeJson, type StateBatch, type StateStore, storeUnavailable } from "./state-store.js";

const NAMESPACE = "owner";
const KEY = "local-adopted-by";

/** For the batch of the adopting key: it holds only where nobody adopted them before. */
export function adoptionBatch(ownerId: string): StateBatch {
  const value = encodeJson(ownerId);
  return {
    conditions: [{ namespace: NAMESPACE, key: KEY, expected: null }],
    writes: [{ namespace: NAMESPACE, key: KEY, value }],
  };
}

export class StoredAdoption implements LocalAdoption {
  readonly #store: StateStore;
  #ownerId: string | null = null;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** At the start, and after the batch of an adoption is durable. Rejects with STORE_UNAVAILABLE. */
  async load(): Promise<void> {
    const row = await this.#store.get(NAMESPACE, KEY);
    const ownerId = row === null ? null : decodeJson(row);
    // Taken for "nobody", a damaged row would hand the same rows to a second owner.
    if (ownerId !== null && typeof ownerId !== "string") throw storeUnavailable("READ_FAILED");
    this.#ownerId = ownerId;
  }

  adoptedBy(): string | null {
    return this.#ownerId;
  }
}
