/**
 * The rows of a wallet at one party (docs/mpc.md, 5.4): for each epoch a share row (tag 32 ‖ P 33 ‖ sealed record) and
 * an epoch row with the same tag and P, under the same key; and the state row. A start reads epoch rows, which have 65
 * bytes where a share row has 25 kB. Invariant: a record opens only in the row of its own wallet, party, epoch and key.
 */
import { ServiceError } from "../../domain/errors.js";
import type { StateRow as StoredRow } from "../../storage/state-store.js";
import { isSame } from "../mpc/base/bits.js";
import { fault } from "../mpc/base/outcome.js";
import { HASH_BYTES, type Party, POINT_BYTES } from "../mpc/base/parameters.js";
import { OpenShare, shareContext } from "../mpc/state/share-record.js";
import { decodeStateRow, type StateRow } from "../mpc/state/state-row.js";
import type { SealedPlace } from "../sealing/sealed-rows.js";
import type { Sealer } from "../sealing/sealer.js";
import type { EpochName, StoredShare } from "./party-store.js";

export const SHARE_NAMESPACE = "custody-share";
export const EPOCH_NAMESPACE = "custody-epoch";
export const STATE_NAMESPACE = "custody-state";

const RECORD_AT = HASH_BYTES + POINT_BYTES;
const EPOCH_DIGITS = 10;
const EPOCH_MAX = 2 ** 32 - 1;
const SHARE_KEY = /^([0-9a-f]{32})\/(\d{10})$/;
const STATE_KEY = /^[0-9a-f]{32}$/;

export interface ShareKey {
  readonly walletId: Buffer;
  readonly epoch: number;
}

export function stateKey(walletId: Uint8Array): string {
  return Buffer.from(walletId).toString("hex");
}

/** What the keys of all share rows, and of all epoch rows, of a wallet begin with. */
export function sharePrefix(walletId: Uint8Array): string {
  return `${stateKey(walletId)}/`;
}

export function shareKey(walletId: Uint8Array, epoch: number): string {
  return sharePrefix(walletId) + String(epoch).padStart(EPOCH_DIGITS, "0");
}

/** Of a share row or an epoch row. Throws STORE_UNAVAILABLE with the row's name. */
export function readShareKey(key: string, namespace = SHARE_NAMESPACE): ShareKey {
  const [, walletId, digits] = SHARE_KEY.exec(key) ?? [];
  const epoch = Number(digits);
  if (walletId === undefined || epoch < 1 || epoch > EPOCH_MAX) throw unreadable(namespace, key);
  return { walletId: Buffer.from(walletId, "hex"), epoch };
}

export function encodeShareRow({ tag, publicKey, record }: StoredShare): Buffer {
  return Buffer.concat([tag, publicKey, record]);
}

export function encodeEpochRow({ tag, publicKey }: EpochName): Buffer {
  return Buffer.concat([tag, publicKey]);
}

/** Throws STORE_UNAVAILABLE with the row's name. */
export function readEpochRow({ key, value }: StoredRow): EpochName {
  const { epoch } = readShareKey(key, EPOCH_NAMESPACE);
  if (value.byteLength !== RECORD_AT) throw unreadable(EPOCH_NAMESPACE, key);
  return { epoch, ...nameIn(value) };
}

/** Throws STORE_UNAVAILABLE with the row's name. */
export function readShareRow({ key, value }: StoredRow): StoredShare {
  const { epoch } = readShareKey(key);
  if (value.byteLength <= RECORD_AT) throw unreadable(SHARE_NAMESPACE, key);
  return { epoch, ...nameIn(value), record: Buffer.from(value.subarray(RECORD_AT)) };
}

/** Copies, so that a name keeps no page of the store in memory. */
function nameIn(value: Uint8Array): Omit<EpochName, "epoch"> {
  const copy = (from: number, to: number) => Buffer.from(value.subarray(from, to));
  return { tag: copy(0, HASH_BYTES), publicKey: copy(HASH_BYTES, RECORD_AT) };
}

/** Throws STORE_UNAVAILABLE with the row's name. */
export function readStateRow({ key, value }: StoredRow): StateRow {
  const row = STATE_KEY.test(key) ? decodeStateRow(value) : null;
  if (row === null) throw unreadable(STATE_NAMESPACE, key);
  return row;
}

/** Throws a fault for a record of another wallet, party, epoch, key or tag; the caller wipes the share. */
export function openStoredShare(
  sealer: Pick<Sealer, "open">,
  walletId: Uint8Array,
  party: Party,
  stored: StoredShare,
): OpenShare {
  const name = { walletId, party, epoch: stored.epoch, publicKey: stored.publicKey };
  let record: Buffer;
  try {
    record = sealer.open(shareContext(name), stored.record);
  } catch (error) {
    throw fault(error);
  }
  const share = new OpenShare(record, name);
  if (isSame(share.tag, stored.tag)) return share;
  share.wipe();
  throw fault(new Error("tag of a share row"));
}

/** For the rotation of a party's KEK. `rewrapped`: a row has a new value; it must not throw. */
export function sealedShares(party: Party, rewrapped: (key: ShareKey) => void = () => {}): SealedPlace {
  return {
    namespace: SHARE_NAMESPACE,
    prefix: "",
    partsOf(key, value) {
      const { walletId } = readShareKey(key);
      const { epoch, publicKey, record } = readShareRow({ key, value });
      return [{ context: shareContext({ walletId, party, epoch, publicKey }), record }];
    },
    withRecords(_key, value, [record]) {
      return record === undefined ? value : Buffer.concat([value.subarray(0, RECORD_AT), record]);
    },
    rewrapped: (key) => rewrapped(readShareKey(key)),
  };
}

export function unreadable(namespace: string, key: string): ServiceError {
  return new ServiceError("STORE_UNAVAILABLE", { reason: "READ_FAILED", row: `${namespace}/${key}` });
}
