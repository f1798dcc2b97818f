/** What the administration does with the ledger and a restored store. */
import type { Restored } from "../../engine/storage/instance/instance-mark.js";
import type { ReconcileView } from "../../engine/transfers/reconcile/reconciliation.js";

export interface ReconcileState extends ReconcileView {
  /** Null: the store is no restored backup, or was released. */
  readonly restored: Restored | null;
}

export interface ReconcileAdmin {
  /** Begins a comparison where none runs; it goes on by itself. */
  begin(): ReconcileState;
  view(): ReconcileState;
  /** `force`: parts that could not be read. Rejects with AdminRefusal RELEASE_REFUSED, or STORE_UNAVAILABLE. */
  release(force: readonly string[]): Promise<{ readonly blocks: number; readonly rows: number }>;
}
