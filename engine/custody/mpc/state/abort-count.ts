/**
 * Unexplained aborts, counted ahead (docs/mpc.md, section 10): the commit before the first message of a session counts
 * it as aborted, an end that is explained takes that back in memory, and the next commit writes it. A crash between a
 * failed check and its freeze is worth one bit of Delta to the other party; so is a fault there.
 */
import { ABORTS_PER_EPOCH, SESSIONS_PER_EPOCH } from "../base/parameters.js";
import type { StateRow } from "./state-row.js";

/** A greater step would leave no room for later sessions. */
export const CTR_STEP_MAX = 2n ** 20n;
export const CTR_MAX = 2n ** 64n - 1n;

/** The row that is made durable before the first byte of a session leaves. A test signature counts in no epoch. */
export function sessionBegun(row: StateRow, ctr: bigint, isTest: boolean): StateRow {
  if (ctr <= row.ctr) throw new RangeError("ctr only grows");
  if (isTest) return { ...row, ctr };
  return { ...row, ctr, openAborts: row.openAborts + 1, sessions: row.sessions + 1 };
}

/** The row in memory after an end that is explained. The epoch is the one that the session belonged to. */
export function sessionExplained(row: StateRow, epoch: number, isTest: boolean): StateRow {
  if (isTest || row.activeEpoch !== epoch || row.openAborts === 0) return row;
  return { ...row, openAborts: row.openAborts - 1 };
}

/** The counts of the epoch allow no further session. */
export function isRefreshDue(row: StateRow): boolean {
  return row.openAborts >= ABORTS_PER_EPOCH || row.sessions >= SESSIONS_PER_EPOCH;
}

export function isCtrAccepted(stored: bigint, offered: bigint): boolean {
  return offered > stored && offered <= stored + CTR_STEP_MAX;
}
