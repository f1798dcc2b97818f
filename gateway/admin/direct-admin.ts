/**
 * The administration without a service: the same operations on a store that this process has opened. The store's own
 * lock decides that no service runs meanwhile (engine/storage/lmdb-owner.ts).
 */
import type { Admin } from "./admin-client.js";
import type { AdminOperations } from "./operations.js";
import { refusalOf } from "./protocol.js";

/** `close` releases the store. */
export function directAdmin(operations: Pick<AdminOperations, "run">, close: () => Promise<void>): Admin {
  return {
    async call(op, params) {
      try {
        return { id: null, ok: true, result: await operations.run(op, params) };
      } catch (error) {
        return refusalOf(null, error);
      }
    },
    close,
  };
}
