/**
 * Reads of the record that run for a key, so that they end in the turn in which it is revoked: an export takes as long as
 * its reader does. Bound: as many as may run at once (records-reader.ts).
 */
import type { Revocations } from "../http/caller.js";

export class ReadsOfKeys {
  /** What ends each, by key. */
  readonly #running = new Map<string, Set<() => void>>();

  /** `revocations` null: there are no keys. */
  constructor(revocations: Revocations | null) {
    revocations?.onRevoked((keyId) => {
      for (const end of [...(this.#running.get(keyId) ?? [])]) end();
    });
  }

  /** `end` must not throw. Returns what is to be called when the read is over. */
  add(keyId: string | null, end: () => void): () => void {
    if (keyId === null) return () => {};
    const ends = this.#running.get(keyId) ?? new Set();
    this.#running.set(keyId, ends.add(end));
    return () => {
      ends.delete(end);
      if (ends.size === 0 && this.#running.get(keyId) === ends) this.#running.delete(keyId);
    };
  }
}
