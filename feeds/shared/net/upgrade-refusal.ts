/** A venue's HTTP answer that refuses a WebSocket upgrade, and how long it makes us wait. */
import { parseRetryAfterMs } from "./retry-after.js";

export interface UpgradeRefusal {
  readonly status: number;
  /** The header `Retry-After` as it came. */
  readonly retryAfter: string | undefined;
}

/** Limited, banned, overloaded: the statuses whose `Retry-After` is about our address. */
const WAITING_STATUSES: ReadonlySet<number> = new Set([429, 418, 503]);
/**
 * Longest wait believed. A ban lasts up to three days, but a broken or hostile header must not keep every
 * book of a venue away for a day, and one connect in five minutes is no load.
 */
const MAX_TOLD_MS = 300_000;

/** Time to wait before the next connect, ms; 0 when the refusal names none. */
export function namedWaitMs({ status, retryAfter }: UpgradeRefusal, nowWallMs: number): number {
  if (!WAITING_STATUSES.has(status)) return 0;
  return Math.min(parseRetryAfterMs(retryAfter, nowWallMs) ?? 0, MAX_TOLD_MS);
}
