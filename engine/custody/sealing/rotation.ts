/**
 * Rotation of the KEK, which a kill cannot halve. One commit names the new key as the present and the old as the former
 * one; each row is rewrapped in a commit of its own, on condition that it is as it was read; one commit retires the
 * former key once no record is left under it. Between any two commits the store opens with both keys, and
 * `finishRotation` goes on from there.
 */
import type { Clock } from "../../domain/clock.js";
import { delay } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { StateRow, StateStore } from "../../storage/state-store.js";
import type { KekSource } from "./kek.js";
import { readKeyRow, writeKeyRow } from "./key-row.js";
import { keyRefused } from "./key-refused.js";
import type { Keyring } from "./keyring.js";
import { beginRotation, kekOf, type KeyringSetup, withSecret } from "./load-keyring.js";
import { recordKekId } from "./record.js";
import { rowsOf, type SealedPart, type SealedPlace } from "./sealed-rows.js";

/**
 * A record that was sealed under the former key just before the rotation may be on its way to the store for so long:
 * the former key is not retired before.
 */
const SETTLE_MS = 60_000;
/** Passes that find rows changed under their hands. */
const MAX_PASSES = 16;
/** Tries of one row within a pass. */
const MAX_ROW_TRIES = 4;
/** Names of rows in a report. */
const MAX_NAMED_ROWS = 20;

export type RotationSetup = Pick<KeyringSetup, "store" | "clock" | "random" | "readFile" | "scrypt"> & {
  readonly ring: Keyring;
};

/**
 * From here on the ring seals under the key of `next`. Durable when it resolves; a repeat with the same key after a
 * crash, or after a reply that was lost, goes on. Rejects with SEAL_KEY_REFUSED, with nothing changed, or
 * STORE_UNAVAILABLE.
 */
export async function startRotation(setup: RotationSetup, next: KekSource): Promise<void> {
  const { store, ring } = setup;
  const stored = await readKeyRow(store);
  if (stored === null) throw keyRefused("KEY_ROW_MISSING", "the row of sealing keys is missing from the store");
  const { present, former } = stored.row;
  await withSecret(setup, next, async (secret) => {
    const again = await kekOf(setup, secret, present);
    if (again !== null && former !== null) {
      // The commit of an earlier call went through, though its caller may not know.
      if (ring.kekId === former.id) ring.advance(again);
      else again.wipe();
      return;
    }
    again?.wipe();
    if (again !== null) throw keyRefused("SAME_KEY", `the new key is the present one, ${present.id}`);
    if (former !== null)
      throw keyRefused("ROTATION_UNFINISHED", `the rotation from ${former.id} to ${present.id} is unfinished`);
    if (present.id !== ring.kekId)
      throw keyRefused("KEY_WRONG", `the store names ${present.id} as its key, this process has ${ring.kekId}`);
    // The store names no former key, so a retirement went through that its caller does not know of.
    ring.dropFormer();
    await beginRotation(setup, ring, stored, secret);
  });
}

export interface RotationReport {
  /** Nothing needs the former key: it is retired, or there is none. */
  readonly isDone: boolean;
  readonly rewrappedRows: number;
  /** Rows that cannot be rewrapped, or that kept changing; the former key stays while there is one. */
  readonly leftRows: number;
  /** Some of them, as `namespace/key`. */
  readonly leftNames: readonly string[];
  /** Rows with a record under neither key, which no rotation can help. */
  readonly foreignRows: number;
}

export interface RotationWork {
  readonly store: StateStore;
  readonly ring: Keyring;
  readonly places: readonly SealedPlace[];
  readonly clock: Clock;
}

/**
 * Rewraps what is left and retires the former key; does nothing where no rotation runs. Restartable at any point.
 * Rejects with STORE_UNAVAILABLE, and with SEAL_KEY_REFUSED where the ring is not the store's.
 */
export async function finishRotation(work: RotationWork): Promise<RotationReport> {
  const { store, ring, clock } = work;
  const formerId = await formerKeyId(store, ring);
  if (formerId === null) {
    ring.dropFormer();
    return { ...NOTHING_FOUND, isDone: true };
  }
  let rewrappedRows = 0;
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    const found = await rewrapAll(work, formerId);
    rewrappedRows += found.rewrappedRows;
    const { contestedRows, ...counts } = found;
    const isLast = pass === MAX_PASSES || (counts.leftRows > 0 && contestedRows === 0);
    if (isLast && (counts.leftRows > 0 || counts.rewrappedRows > 0)) return { ...counts, rewrappedRows, isDone: false };
    if (counts.leftRows > 0) continue;
    const waitMs = SETTLE_MS - (ring.formerIdleMs() ?? SETTLE_MS);
    if (waitMs > 0) await delay(clock, Math.ceil(waitMs));
    // Only a whole pass that found nothing, long enough after the last seal, shows that none is left.
    else if (counts.rewrappedRows === 0) {
      await retire(store, ring, formerId);
      return { ...counts, rewrappedRows, isDone: true };
    }
  }
  return { ...NOTHING_FOUND, rewrappedRows, isDone: false };
}

interface Found {
  rewrappedRows: number;
  leftRows: number;
  /** Among the rows left: those that changed under our hands. */
  contestedRows: number;
  readonly leftNames: string[];
  foreignRows: number;
}

const NOTHING_FOUND = { rewrappedRows: 0, leftRows: 0, leftNames: [], foreignRows: 0 } as const;

/** One pass over all places. */
async function rewrapAll(work: RotationWork, formerId: string): Promise<Found> {
  const found: Found = { ...NOTHING_FOUND, contestedRows: 0, leftNames: [] };
  for (const place of work.places) {
    for await (const row of rowsOf(work.store, place)) {
      const outcome = await rewrapRow(work, place, row, formerId);
      if (outcome === "rewrapped") found.rewrappedRows += 1;
      if (outcome === "foreign") found.foreignRows += 1;
      if (outcome === "contested") found.contestedRows += 1;
      if (outcome !== "unreadable" && outcome !== "contested") continue;
      found.leftRows += 1;
      if (found.leftNames.length < MAX_NAMED_ROWS) found.leftNames.push(`${place.namespace}/${row.key}`);
    }
  }
  return found;
}

type RowOutcome = "fine" | "rewrapped" | "foreign" | "unreadable" | "contested";

async function rewrapRow(
  { store, ring }: RotationWork,
  place: SealedPlace,
  row: StateRow,
  formerId: string,
): Promise<RowOutcome> {
  let value: Uint8Array | null = row.value;
  for (let attempt = 0; attempt < MAX_ROW_TRIES && value !== null; attempt++) {
    let next: Uint8Array | "fine" | "foreign";
    try {
      next = rewrappedValue(ring, place, row.key, value, formerId);
    } catch {
      // The row's own code or its records fail: the row stays as it is, and its name is reported.
      return "unreadable";
    }
    if (next === "fine" || next === "foreign") return next;
    if (await store.compareAndSet(place.namespace, row.key, value, next)) {
      place.rewrapped?.(row.key, next);
      return "rewrapped";
    }
    value = await store.get(place.namespace, row.key);
  }
  return value === null ? "fine" : "contested";
}

function rewrappedValue(
  ring: Keyring,
  place: SealedPlace,
  key: string,
  value: Uint8Array,
  formerId: string,
): Uint8Array | "fine" | "foreign" {
  const parts = place.partsOf(key, value);
  const kekIds = parts.map(({ record }) => recordKekId(record));
  if (!kekIds.includes(formerId)) return kekIds.every((kekId) => kekId === ring.kekId) ? "fine" : "foreign";
  const records = parts.map((part, index) => (kekIds[index] === formerId ? rewrapped(ring, part) : part.record));
  const next = place.withRecords(key, value, records);
  const written = place.partsOf(key, next);
  if (written.length !== records.length || !written.every(({ record }, index) => isSame(record, records[index])))
    throw new ServiceError("INTERNAL", { problem: "sealing: RECORD_NOT_WRITTEN" });
  return next;
}

function rewrapped(ring: Keyring, { context, record }: SealedPart): Uint8Array {
  return ring.rewrap(context, record) ?? record;
}

function isSame(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}

/** Null where the store names no former key. */
async function formerKeyId(store: StateStore, ring: Keyring): Promise<string | null> {
  const stored = await readKeyRow(store);
  if (stored === null) return null;
  const { present, former } = stored.row;
  // Another ring would take the records under the former key for its own, and they would be lost with it.
  if (ring.kekId !== present.id)
    throw keyRefused("KEY_WRONG", `the store names ${present.id} as its key, this process has ${ring.kekId}`);
  return former?.id ?? null;
}

async function retire(store: StateStore, ring: Keyring, formerId: string): Promise<void> {
  const stored = await readKeyRow(store);
  if (stored !== null && stored.row.former?.id === formerId) {
    const isWritten = await writeKeyRow(store, stored, { present: stored.row.present, former: null });
    // Another call of this process retires it too: then the row differs, and is as it should be.
    if (!isWritten && (await formerKeyId(store, ring)) === formerId)
      throw new ServiceError("STORE_UNAVAILABLE", { reason: "CONTENDED" });
  }
  if (ring.formerKekId === formerId) ring.dropFormer();
}
