/**
 * Which owner adopted the rows of public mode: one row of the state store. It is written once, in the batch of the key that
 * adopts them, and never changes.
 *
 * Invariant: what is shown here is durable, so that no restart takes rows away from the owner that has seen them.
 */
import type { LocalAdoption } from "../domain/owner.js";
import { decodeJson, encodeJson, type StateBatch, type StateStore } from "./state-store.js";

const NAMESPACE = "owner";
const KEY = "local-adopted-by";

interface AdoptionRow {
  readonly ownerId: string;
}

/** For the batch of the adopting key: it holds only where nobody adopted them before. */
export function adoptionBatch(ownerId: string): StateBatch {
  const value = encodeJson({ ownerId } satisfies AdoptionRow);
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
    this.#ownerId = row === null ? null : (decodeJson(row) as AdoptionRow).ownerId;
  }

  adoptedBy(): string | null {
    return this.#ownerId;
  }
}
