/**
 * Who took over the rows that were made without a key: nobody, or one owner for good. One durable row, written in the
 * commit that creates the owner's key, and read once at the start. The rows themselves are unchanged: whoever reads
 * them asks here (engine/domain/owner.ts).
 */
import {
  decodeJson,
  encodeJson,
  type StateStore,
  type StateWrite,
  storeUnavailable,
} from "../../engine/storage/state-store.js";

const NAMESPACE = "owner";
const KEY = "local-adopted-by";

export interface LocalRows {
  /** Null while nobody did. */
  adoptedBy(): string | null;
  /** What makes it durable. */
  adopt(ownerId: string): readonly StateWrite[];
  /** Those writes are durable. */
  adopted(ownerId: string): void;
}

export class StoredLocalRows implements LocalRows {
  #ownerId: string | null;

  private constructor(ownerId: string | null) {
    this.#ownerId = ownerId;
  }

  static async open(store: StateStore): Promise<StoredLocalRows> {
    const value = await store.get(NAMESPACE, KEY);
    const ownerId = value === null ? null : decodeJson(value);
    // Taken for "nobody", a damaged row would hand the same rows to a second owner.
    if (ownerId !== null && typeof ownerId !== "string") throw storeUnavailable("READ_FAILED");
    return new StoredLocalRows(ownerId);
  }

  adoptedBy(): string | null {
    return this.#ownerId;
  }

  adopt(ownerId: string): readonly StateWrite[] {
    return [{ namespace: NAMESPACE, key: KEY, value: encodeJson(ownerId) }];
  }

  adopted(ownerId: string): void {
    this.#ownerId = ownerId;
  }
}
