/**
 * The keys of one wallet at one venue as they are stored: one row, so that what belongs together changes in one commit.
 *
 * Invariant: a secret opens only as the key it was sealed for: of this wallet, venue, account, address, name and end.
 */
import type { RoutableVenue } from "../../domain/venue.js";
import { ServiceError } from "../../domain/errors.js";
import type { VenueKey, WalletAct } from "../../key-registrar.js";
import { decodeJson, encodeJson } from "../../storage/state-store.js";
import type { SealContext } from "../sealing/sealer.js";
import type { SealedPlace } from "../sealing/sealed-rows.js";

export const KEY_NAMESPACE = "venue-key";

/**
 * NEW: nothing of it has left. SENT: its approval was, or is about to be, sent; the venue may have it. ACTIVE: requests
 * trade with it. RETIRING: a newer one took its place; it lives to its end. REVOKING: no request uses it, and the venue
 * is asked to drop it until it has.
 */
export type KeyState = "NEW" | "SENT" | "ACTIVE" | "RETIRING" | "REVOKING";

/** An approval or a revocation. */
export interface StoredAct extends WalletAct {
  /** `0x` hex of 65 bytes; null: not signed yet. */
  readonly signature: string | null;
}

export interface StoredKey extends VenueKey {
  /** Grows with each key of the row. */
  readonly serial: number;
  /** `issued`: made by the venue, which has no call that deletes it. */
  readonly flow: "agent" | "issued";
  /** Unix epoch, integer ms. */
  readonly createdAtMs: number;
  readonly state: KeyState;
  /** A reply told the caller of it, with the secret where the interface shows it. */
  readonly isAnswered: boolean;
  /** Id of the request that asked for it first. */
  readonly requestId: string;
  /** Id of the request whose reply told of it: another one where the first was not told what became of it. */
  readonly answeredId?: string;
  readonly act: StoredAct | null;
  /** The sealed secret, base64. */
  readonly sealed: string;
}

/** Whose keys. */
export interface KeyPlace {
  /** UUID, lower case. */
  readonly walletId: string;
  readonly venue: RoutableVenue;
}

export interface KeyRow extends KeyPlace {
  readonly keys: readonly StoredKey[];
}

export function rowKey({ walletId, venue }: KeyPlace): string {
  return `${walletId}/${venue}`;
}

export function sealContext({ walletId, venue }: KeyPlace, key: Omit<StoredKey, "sealed">): SealContext {
  const { account, signer, name, expiresAtMs, flow, serial } = key;
  return {
    purpose: "venue-key",
    parts: [walletId, venue, flow, account, signer, name, String(expiresAtMs ?? "")],
    recordVersion: serial,
  };
}

export function encodeKeyRow(row: KeyRow): Uint8Array {
  return encodeJson(row);
}

/** Throws SEAL_BROKEN for a row that is not whole. */
export function decodeKeyRow(key: string, value: Uint8Array): KeyRow {
  let row: Partial<KeyRow> | null;
  try {
    row = decodeJson(value) as Partial<KeyRow> | null;
  } catch (cause) {
    throw new ServiceError("SEAL_BROKEN", { row: key }, { cause });
  }
  if (row === null || typeof row !== "object" || !isWhole(row) || rowKey(row) !== key)
    throw new ServiceError("SEAL_BROKEN", { row: key });
  return row;
}

/** For a rotation of the sealing key: all else of a row stays. */
export const SEALED_VENUE_KEYS = {
  namespace: KEY_NAMESPACE,
  prefix: "",
  partsOf(key, value) {
    const row = decodeKeyRow(key, value);
    return row.keys.map((one) => ({ context: sealContext(row, one), record: Buffer.from(one.sealed, "base64") }));
  },
  withRecords(key, value, records) {
    const row = decodeKeyRow(key, value);
    const keys = row.keys.map((one, index) => {
      const record = records[index];
      return record === undefined ? one : { ...one, sealed: Buffer.from(record).toString("base64") };
    });
    return encodeKeyRow({ ...row, keys });
  },
} as const satisfies SealedPlace;

const STATES: ReadonlySet<unknown> = new Set<KeyState>(["NEW", "SENT", "ACTIVE", "RETIRING", "REVOKING"]);
const FLOWS: ReadonlySet<unknown> = new Set<StoredKey["flow"]>(["agent", "issued"]);

function isWhole(row: Partial<KeyRow>): row is KeyRow {
  return (
    typeof row.walletId === "string" &&
    typeof row.venue === "string" &&
    Array.isArray(row.keys) &&
    row.keys.every((key: Partial<StoredKey> | null) => key !== null && typeof key === "object" && isWholeKey(key))
  );
}

function isWholeKey(key: Partial<StoredKey>): boolean {
  const texts = [key.account, key.signer, key.name, key.requestId, key.sealed];
  return (
    texts.every((text) => typeof text === "string") &&
    STATES.has(key.state) &&
    FLOWS.has(key.flow) &&
    Number.isSafeInteger(key.serial) &&
    Number.isSafeInteger(key.createdAtMs) &&
    (key.expiresAtMs === null || Number.isSafeInteger(key.expiresAtMs)) &&
    typeof key.isAnswered === "boolean" &&
    (key.answeredId === undefined || typeof key.answeredId === "string") &&
    (key.act === null || (key.act !== undefined && isWholeAct(key.act)))
  );
}

function isWholeAct({ toSign, request, validUntilMs, signature }: Partial<StoredAct>): boolean {
  return (
    typeof toSign?.text === "string" &&
    (toSign.kind === "typedData" || toSign.kind === "message") &&
    typeof request === "string" &&
    Number.isSafeInteger(validUntilMs) &&
    (signature === null || typeof signature === "string")
  );
}
