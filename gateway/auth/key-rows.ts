/**
 * A key as it is stored: JSON whose secrets are sealed.
 *
 * The seal of each secret is bound to its key, its slot, the version of the row, and all that the key may do. So a row
 * that was changed in the store (more scopes, another owner, a longer overlap), or a secret that was put into another
 * row, does not open. Every version of a row has its secrets sealed again.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { SealContext } from "../../engine/custody/sealing/sealer.js";
import { decodeJson, encodeJson } from "../../engine/storage/state-store.js";
import { SCOPES } from "../../schemas/operation.js";
import type { KeyIdentity, KeyView } from "./key-admin.js";

export const KEY_NAMESPACE = "api-key";
/** When each key was last used: apart, so that no act on a key waits for it. */
export const USED_NAMESPACE = "api-key-used";

export type Slot = "present" | "former";

export interface KeyFactsRow extends KeyIdentity {
  /** With the time up to which the former secret works; null: there is none. */
  readonly formerUntilMs: number | null;
  /** Grows with each change. */
  readonly version: number;
}

export interface KeyRow extends KeyFactsRow {
  /** Sealed, base64. A revoked key has none. */
  readonly secrets: Readonly<Partial<Record<Slot, string>>>;
}

const SLOTS: readonly Slot[] = ["present", "former"];

export function sealContext(row: KeyFactsRow, slot: Slot): SealContext {
  const { keyId, ownerId, label, scopes, ips, createdAtMs, rotatedAtMs, formerUntilMs, version } = row;
  const facts = JSON.stringify([ownerId, label, scopes, ips, createdAtMs, rotatedAtMs, formerUntilMs]);
  return { purpose: "api-key", parts: [keyId, slot, facts], recordVersion: version };
}

export function encodeKeyRow(row: KeyRow): Uint8Array {
  return encodeJson(row);
}

/** Throws SEAL_BROKEN for a row that is not whole. */
export function decodeKeyRow(keyId: string, value: Uint8Array): KeyRow {
  let row: Partial<KeyRow> | null;
  try {
    row = decodeJson(value) as Partial<KeyRow> | null;
  } catch (cause) {
    throw new ServiceError("SEAL_BROKEN", { keyId }, { cause });
  }
  if (row === null || typeof row !== "object" || row.keyId !== keyId || !isWhole(row))
    throw new ServiceError("SEAL_BROKEN", { keyId });
  return row;
}

export function viewOf(row: KeyFactsRow, lastUsedAtMs: number | null): KeyView {
  const { keyId, ownerId, label, scopes, ips, createdAtMs, rotatedAtMs, formerUntilMs, revokedAtMs } = row;
  return {
    ...{ keyId, ownerId, label, scopes, ips, createdAtMs, rotatedAtMs },
    ...{ formerSecretUntilMs: formerUntilMs, revokedAtMs, lastUsedAtMs },
  };
}

/** The sealed records of the rows, for a rotation of the sealing key: all else of a row stays. */
export const SEALED_KEY_ROWS = {
  namespace: KEY_NAMESPACE,
  prefix: "",
  partsOf(key: string, value: Uint8Array): readonly { context: SealContext; record: Uint8Array }[] {
    const row = decodeKeyRow(key, value);
    return sealedSlots(row).map(([slot, text]) => ({
      context: sealContext(row, slot),
      record: Buffer.from(text, "base64"),
    }));
  },
  withRecords(key: string, value: Uint8Array, records: readonly Uint8Array[]): Uint8Array {
    const row = decodeKeyRow(key, value);
    const secrets: Partial<Record<Slot, string>> = {};
    for (const [index, [slot, text]] of sealedSlots(row).entries()) {
      const record = records[index];
      secrets[slot] = record === undefined ? text : Buffer.from(record).toString("base64");
    }
    return encodeKeyRow({ ...row, secrets });
  },
};

function sealedSlots(row: KeyRow): [Slot, string][] {
  return SLOTS.flatMap((slot): [Slot, string][] => {
    const text = row.secrets[slot];
    return text === undefined ? [] : [[slot, text]];
  });
}

function isWhole(row: Partial<KeyRow>): row is KeyRow {
  const times = [row.rotatedAtMs, row.formerUntilMs, row.revokedAtMs];
  return (
    typeof row.ownerId === "string" &&
    typeof row.label === "string" &&
    Array.isArray(row.scopes) &&
    row.scopes.every((scope) => SCOPES.includes(scope)) &&
    Array.isArray(row.ips) &&
    row.ips.every((ip) => typeof ip === "string") &&
    Number.isSafeInteger(row.createdAtMs) &&
    times.every((time) => time === null || Number.isSafeInteger(time)) &&
    Number.isSafeInteger(row.version) &&
    typeof row.secrets === "object" &&
    row.secrets !== null
  );
}
