/**
 * Rows that live for a stated time. Each row has an index row whose key begins with the
 * expiry, in the same batch, so a sweep reads the oldest first and touches nothing that still lives.
 *
 * Bounds: a sweep removes at most SWEEP_MAX_ROWS rows; what is left waits for the next one.
 */
import type { StateStore, StateWrite } from "../../storage/state-store.js";

export const SWEEP_MAX_ROWS = 100;
/** Digits of a millisecond time, until the year 5138. */
const TIME_DIGITS = 14;
const SEPARATOR = "|";

/** The writes that put the row with its expiry. An overwrite with the same expiry adds no index row. */
export function expiringWrites(namespace: string, key: string, value: Uint8Array, expiresAtMs: number): StateWrite[] {
  return [
    { namespace, key, value },
    { namespace: indexNamespace(namespace), key: timeText(expiresAtMs) + SEPARATOR + key, value: EMPTY },
  ];
}

/** The writes that remove such a row before its time. */
export function expiringRemovals(namespace: string, key: string, expiresAtMs: number): StateWrite[] {
  return [
    { namespace, key, value: null },
    { namespace: indexNamespace(namespace), key: timeText(expiresAtMs) + SEPARATOR + key, value: null },
  ];
}

/** Removes rows past their time; returns how many index rows it handled (SWEEP_MAX_ROWS: there may be more). */
export async function sweepExpired(store: StateStore, namespace: string, nowMs: number): Promise<number> {
  const index = indexNamespace(namespace);
  const due = (await store.scan(index, { prefix: "", limit: SWEEP_MAX_ROWS })).filter(
    (row) => row.key.slice(0, TIME_DIGITS) < timeText(nowMs),
  );
  if (due.length === 0) return 0;
  await store.commit({
    writes: due.flatMap((row) => [
      { namespace: index, key: row.key, value: null },
      { namespace, key: row.key.slice(TIME_DIGITS + SEPARATOR.length), value: null },
    ]),
  });
  return due.length;
}

/** Fixed width, so that text order is time order. */
export function timeText(timeMs: number): string {
  return String(Math.max(0, Math.trunc(timeMs))).padStart(TIME_DIGITS, "0");
}

function indexNamespace(namespace: string): string {
  return `${namespace}-expiry`;
}

const EMPTY = new Uint8Array(0);
