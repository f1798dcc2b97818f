/**
 * Where sealed records lie. A rotation and the checks of the start know nothing of the rows but what is handed in here;
 * the list must be whole: a record that no place names is not rewrapped, and is lost with the former key.
 */
import { allRows, type StateRow, type StateStore } from "../../storage/state-store.js";
import { recordKekId } from "./record.js";
import type { SealContext } from "./sealer.js";

export interface SealedPart {
  readonly context: SealContext;
  readonly record: Uint8Array;
}

/**
 * Rows with sealed records. Everybody who writes them does so by compareAndSet on the value that was read: a value from
 * memory would put a record under the former key back.
 */
export interface SealedPlace {
  readonly namespace: string;
  /** Only keys that start with it; "" for all. */
  readonly prefix: string;
  /** In a fixed order; empty where the row holds none. Throws for a row that cannot be read. */
  partsOf(key: string, value: Uint8Array): readonly SealedPart[];
  /** The row with these records in place of its own, in the same order; all else stays. */
  withRecords(key: string, value: Uint8Array, records: readonly Uint8Array[]): Uint8Array;
  /** A row was rewrapped: whoever keeps it in memory takes the new value. Must not throw. */
  rewrapped?(key: string, value: Uint8Array): void;
}

/** Rows of a page: small, so that a row of a mebibyte does not make a page of a gibibyte. */
const PAGE_ROWS = 64;

/** All rows of a place. Rows that are added meanwhile may be missing. */
export function rowsOf(store: StateStore, { namespace, prefix }: SealedPlace): AsyncGenerator<StateRow> {
  return allRows(store, namespace, { prefix, pageRows: PAGE_ROWS });
}

/** Finds a sealed record, under the KEK of this id (null: under any). A row that cannot be read may hold one. */
export async function holdsSealed(
  store: StateStore,
  places: readonly SealedPlace[],
  kekId: string | null,
): Promise<boolean> {
  for (const place of places) {
    for await (const row of rowsOf(store, place)) {
      const kekIds = kekIdsOf(place, row);
      if (kekIds === null || (kekId === null ? kekIds.length > 0 : kekIds.includes(kekId))) return true;
    }
  }
  return false;
}

/** KEK ids of a row's records; null: it cannot be read. */
export function kekIdsOf(place: SealedPlace, { key, value }: StateRow): readonly string[] | null {
  try {
    return place.partsOf(key, value).map(({ record }) => recordKekId(record));
  } catch {
    return null;
  }
}
