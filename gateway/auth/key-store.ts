/** The rows of the keys in the state store: read page by page, changed in one commit with the audit row of the change. */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import { allRows, type StateStore, type StateWrite } from "../../engine/storage/state-store.js";
import type { AuditRow } from "./audit.js";
import type { AuditStore } from "./audit-store.js";
import { decodeKeyRow, encodeKeyRow, KEY_NAMESPACE, type KeyRow, USED_NAMESPACE } from "./key-rows.js";

const KEY_ID = /^pk_[0-9A-Za-z]{22}$/;

export interface StoredKey {
  /** The value as it was read: a change is conditional on it. */
  readonly before: Uint8Array;
  readonly row: KeyRow;
}

export type KeyAct = Pick<AuditRow, "what" | "who" | "details">;

export class KeyStore {
  readonly #store: StateStore;
  readonly #audit: Pick<AuditStore, "auditWrites">;
  readonly #logger: Logger;

  constructor(store: StateStore, audit: Pick<AuditStore, "auditWrites">, logger: Logger) {
    this.#store = store;
    this.#audit = audit;
    this.#logger = logger;
  }

  /** In the order of their ids. A row that cannot be read is logged and left out. */
  async *all(): AsyncGenerator<KeyRow> {
    for await (const { key, value } of allRows(this.#store, KEY_NAMESPACE)) {
      const row = this.#decoded(key, value);
      if (row !== null) yield row;
    }
  }

  /** Rejects with KEY_NOT_FOUND, and with SEAL_BROKEN for a row that cannot be read. */
  async read(keyId: string): Promise<StoredKey> {
    const before = KEY_ID.test(keyId) ? await this.#store.get(KEY_NAMESPACE, keyId) : null;
    if (before === null) throw new ServiceError("KEY_NOT_FOUND");
    return { before, row: decodeKeyRow(keyId, before) };
  }

  /** `before` null: the row is new. Rejects with STORE_UNAVAILABLE; `isRowChanged` where it was not as read. */
  async commit(before: Uint8Array | null, row: KeyRow, act: KeyAct, others: readonly StateWrite[] = []): Promise<void> {
    const { keyId } = row;
    const committed = await this.#store.commit({
      conditions: [{ namespace: KEY_NAMESPACE, key: keyId, expected: before }],
      writes: [
        { namespace: KEY_NAMESPACE, key: keyId, value: encodeKeyRow(row) },
        ...others,
        ...this.#audit.auditWrites({ ...act, subject: keyId, outcome: "done" }),
      ],
    });
    if (!committed) throw new ServiceError("STORE_UNAVAILABLE", { reason: ROW_CHANGED });
  }

  #decoded(keyId: string, value: Uint8Array): KeyRow | null {
    try {
      return decodeKeyRow(keyId, value);
    } catch {
      logBrokenKey(this.#logger, keyId);
      return null;
    }
  }
}

const ROW_CHANGED = "ROW_CHANGED";

/** Acts follow one another, so only a rotation of the sealing key comes between: done again, the act reads the new row. */
export function isRowChanged(error: unknown): boolean {
  return error instanceof ServiceError && error.context["reason"] === ROW_CHANGED;
}

/** What takes a key out of the store. */
export function removalOf(keyId: string): readonly StateWrite[] {
  return [KEY_NAMESPACE, USED_NAMESPACE].map((namespace) => ({ namespace, key: keyId, value: null }));
}

/** A key that is damaged or was changed in the store. */
export function logBrokenKey(logger: Logger, keyId: string): void {
  logger.error("auth.key_broken", { keyId });
}
