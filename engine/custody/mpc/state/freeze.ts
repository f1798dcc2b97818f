/**
 * What a freeze does to a row (docs/mpc.md, section 10). It belongs to the epoch that was active; a prepared epoch is
 * dropped with it at S, and waits for section 11 at C, since S may have decided already.
 */
import { droppedRow, type StateRow } from "./state-row.js";

export interface FreezeChange {
  readonly row: StateRow;
  /** Epochs whose share rows go in the same commit. */
  readonly erase: readonly number[];
}

/** Null: no epoch is active, so there is nothing to freeze. A wallet that is frozen keeps its time. */
export function freezeChange(self: 0 | 1, row: StateRow, nowMs: number): FreezeChange | null {
  if (row.activeEpoch === 0) return null;
  const drops = self === 0 && row.preparedEpoch !== 0;
  const rest = drops ? droppedRow(row) : row;
  if (rest === null) return null;
  return { row: frozenRow(rest, nowMs), erase: drops ? [row.preparedEpoch] : [] };
}

/** A cheat in the test signature of a refresh: the prepared epoch goes at this party, which has not decided. */
export function freezeDroppingPrepared(row: StateRow, nowMs: number): FreezeChange | null {
  const rest = droppedRow(row);
  if (rest === null) return null;
  return { row: frozenRow(rest, nowMs), erase: row.preparedEpoch === 0 ? [] : [row.preparedEpoch] };
}

function frozenRow(row: StateRow, nowMs: number): StateRow {
  if (row.status === "frozen") return row;
  // A clock before 1970 must not make a row that is not frozen.
  return { ...row, status: "frozen", frozenAtMs: Math.max(1, Math.floor(nowMs)) };
}

export type FreezeNotice =
  | { readonly verdict: "freeze"; readonly change: FreezeChange }
  | { readonly verdict: "frozen already" }
  | { readonly verdict: "violation" };

/** A notice of the authenticated peer is obeyed without a reason; one of another epoch is a violation. */
export function onFreezeNotice(self: 0 | 1, row: StateRow, epoch: number, nowMs: number): FreezeNotice {
  if (row.activeEpoch === 0 || row.activeEpoch !== epoch) return { verdict: "violation" };
  const change = freezeChange(self, row, nowMs);
  if (change === null) return { verdict: "violation" };
  if (row.status === "frozen" && change.erase.length === 0) return { verdict: "frozen already" };
  return { verdict: "freeze", change };
}
