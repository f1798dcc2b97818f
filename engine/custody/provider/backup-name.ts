/**
 * The name of a backup file: `<walletId>.<party>.<epoch>.<first 16 hex digits of the tag>.bk`. The tag is in it because
 * the number of an epoch that was dropped is used again (docs/mpc.md, section 13).
 */
import { WALLET_ID_BYTES, type Party } from "../mpc/base/parameters.js";

export const TAG_PREFIX_BYTES = 8;
const NAME = /^([0-9a-f]{32})\.([01])\.([1-9]\d{0,9})\.([0-9a-f]{16})\.bk$/;
const EPOCH_MAX = 2 ** 32 - 1;

export interface BackupName {
  /** 16 bytes. */
  readonly walletId: Uint8Array;
  readonly party: Party;
  readonly epoch: number;
  /** The tag, or its first 8 bytes where nothing but the name is known. */
  readonly tag: Uint8Array;
}

export function backupFileName({ walletId, party, epoch, tag }: BackupName): string {
  if (walletId.byteLength !== WALLET_ID_BYTES || tag.byteLength < TAG_PREFIX_BYTES || epoch < 1 || epoch > EPOCH_MAX)
    throw new RangeError("name of a backup");
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  return `${hex(walletId)}.${party}.${epoch}.${hex(tag.subarray(0, TAG_PREFIX_BYTES))}.bk`;
}

/** Null: not the name of a backup. */
export function parseBackupFileName(text: string): BackupName | null {
  const [, walletId, party, epochText, tag] = NAME.exec(text) ?? [];
  const epoch = Number(epochText);
  if (walletId === undefined || tag === undefined || epoch > EPOCH_MAX) return null;
  return {
    walletId: Buffer.from(walletId, "hex"),
    party: party === "0" ? 0 : 1,
    ...{ epoch, tag: Buffer.from(tag, "hex") },
  };
}

/** Whether a file or a share is what the name says; a tag is compared as far as both know it. */
export function nameFits(name: BackupName, found: Omit<BackupName, "tag"> & { readonly tag?: Uint8Array }): boolean {
  const isSame = (left: Uint8Array, right: Uint8Array) => Buffer.compare(left, right) === 0;
  return (
    isSame(name.walletId, found.walletId) &&
    name.party === found.party &&
    name.epoch === found.epoch &&
    (found.tag === undefined || isSame(found.tag.subarray(0, name.tag.byteLength), name.tag))
  );
}
