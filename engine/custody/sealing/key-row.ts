/**
 * What the store knows of its KEKs: one row, so that every step of a rotation is one commit. For each KEK it holds a
 * key check (a sealed record of known content, so a wrong key is found at the start) and, for a passphrase, salt and
 * cost.
 *
 * Invariant: `present` seals every new record; while `former` is not null, records under it may exist.
 */
import { ServiceError } from "../../domain/errors.js";
import { decodeJson, encodeJson, type StateStore } from "../../storage/state-store.js";
import type { Kek } from "./kek.js";
import { keyRefused } from "./key-refused.js";
import type { ScryptParameters } from "./passphrase.js";
import { openRecord, sealRecord } from "./record.js";
import type { SealContext } from "./sealer.js";
import type { SecretRandom } from "./secret-bytes.js";

const SEALING_NAMESPACE = "sealing";
const KEY_ROW = "keys";
const ROW_FORMAT = 1;
const CHECK_TEXT = Buffer.from("unwind/seal/key-check", "utf8");
const HEX_MAX = 1_024;

export interface KekEntry {
  readonly id: string;
  /** Null for a key that is no passphrase. */
  readonly scrypt: ScryptParameters | null;
  readonly check: Buffer;
  /** Wall ms of its first use. */
  readonly sinceMs: number;
}

export interface KeyRow {
  readonly present: KekEntry;
  readonly former: KekEntry | null;
}

export interface StoredKeyRow {
  readonly row: KeyRow;
  /** As it lies in the store: the condition of the next change. */
  readonly bytes: Uint8Array;
}

/** Returns null in a store that has sealed nothing. Throws SEAL_KEY_REFUSED for a row that cannot be read. */
export async function readKeyRow(store: StateStore): Promise<StoredKeyRow | null> {
  const bytes = await store.get(SEALING_NAMESPACE, KEY_ROW);
  return bytes === null ? null : { row: decodeRow(bytes), bytes };
}

/** Returns false when the row is no longer as it was read (null: absent); it is then unchanged. */
export function writeKeyRow(store: StateStore, expected: StoredKeyRow | null, row: KeyRow): Promise<boolean> {
  return store.compareAndSet(SEALING_NAMESPACE, KEY_ROW, expected?.bytes ?? null, encodeRow(row));
}

export function newEntry(kek: Kek, scrypt: ScryptParameters | null, sinceMs: number, random: SecretRandom): KekEntry {
  return { id: kek.id, scrypt, check: sealRecord(kek, checkContext(kek.id), CHECK_TEXT, random), sinceMs };
}

/** Whether this is the whole key of the entry, not only one with its id. */
export function opensCheck(kek: Kek, entry: KekEntry): boolean {
  if (kek.id !== entry.id) return false;
  try {
    return openRecord(kek, checkContext(entry.id), entry.check).equals(CHECK_TEXT);
  } catch (error) {
    // The id is derived from the key, so a check that does not open was changed.
    if (error instanceof ServiceError && (error.code === "SEAL_BROKEN" || error.code === "SEAL_KEY_UNKNOWN"))
      throw damaged("the key check does not open under its own key");
    throw error;
  }
}

function checkContext(kekId: string): SealContext {
  return { purpose: "key-check", parts: [kekId], recordVersion: 1 };
}

function encodeRow({ present, former }: KeyRow): Uint8Array {
  return encodeJson({
    format: ROW_FORMAT,
    present: entryJson(present),
    former: former === null ? null : entryJson(former),
  });
}

function entryJson({ id, scrypt, check, sinceMs }: KekEntry): unknown {
  return {
    ...{ id, sinceMs, check: check.toString("hex") },
    scrypt: scrypt === null ? null : { ...scrypt, salt: scrypt.salt.toString("hex") },
  };
}

function decodeRow(bytes: Uint8Array): KeyRow {
  let json: unknown;
  try {
    json = decodeJson(bytes);
  } catch {
    throw damaged("the row of sealing keys is not JSON");
  }
  const fields = fieldsOf(json);
  const { format } = fields;
  if (typeof format === "number" && Number.isInteger(format) && format > ROW_FORMAT)
    throw keyRefused("KEY_ROW_NEWER", "a newer program wrote the row of sealing keys", { format });
  if (format !== ROW_FORMAT) throw damaged("the row of sealing keys has no format");
  const present = decodeEntry(fields["present"]);
  const former = fields["former"] === null ? null : decodeEntry(fields["former"]);
  if (former?.id === present.id) throw damaged("present and former sealing key are one");
  return { present, former };
}

function decodeEntry(json: unknown): KekEntry {
  const { id, scrypt, check, sinceMs } = fieldsOf(json);
  if (typeof id !== "string" || !/^[0-9a-f]{16}$/.test(id)) throw damaged("a sealing key has no id");
  if (!Number.isSafeInteger(sinceMs)) throw damaged("a sealing key has no time");
  return {
    ...{ id, check: hexField(check), sinceMs: Number(sinceMs) },
    scrypt: scrypt === null ? null : decodeScrypt(scrypt),
  };
}

/** Its values are bounded where they are used (passphrase.ts). */
function decodeScrypt(json: unknown): ScryptParameters {
  const { log2N, r, p, salt } = fieldsOf(json);
  if (typeof log2N !== "number" || typeof r !== "number" || typeof p !== "number")
    throw damaged("a sealing key has no scrypt parameters");
  return { log2N, r, p, salt: hexField(salt) };
}

function fieldsOf(json: unknown): Readonly<Record<string, unknown>> {
  if (typeof json !== "object" || json === null) throw damaged("the row of sealing keys has another form");
  return { ...json };
}

function hexField(text: unknown): Buffer {
  if (typeof text !== "string" || text.length > HEX_MAX || !/^(?:[0-9a-f]{2})+$/.test(text))
    throw damaged("a field of the row of sealing keys is no hex");
  return Buffer.from(text, "hex");
}

function damaged(problem: string): ServiceError {
  return keyRefused("KEY_ROW_DAMAGED", problem);
}
