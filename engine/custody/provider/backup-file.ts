/**
 * A backup of an epoch: the share of one party, sealed to its offline key (docs/mpc.md, section 13).
 *
 *   0     4       5     6        22    26     58 91            123 135
 *   magic version party walletId epoch key id P  ephemeral key IV  ciphertext … tag 16
 *
 * Invariants: the header up to the ephemeral key is authenticated, and the ciphertext reaches to the end; a file is
 * opened under its own name alone; the share is copied from secret buffer to secret buffer, and each is wiped.
 */
import { hkdfSync } from "node:crypto";
import { Arena } from "../mpc/base/arena.js";
import { frame } from "../mpc/base/hash.js";
import { HASH_BYTES, POINT_BYTES, WALLET_ID_BYTES } from "../mpc/base/parameters.js";
import { labelled, type RandomSource } from "../mpc/base/random.js";
import type { OpenShare } from "../mpc/state/share-record.js";
import { GCM_IV_BYTES, GCM_KEY_BYTES, GCM_TAG_BYTES, gcmOpen, gcmSeal, type GcmParts } from "../sealing/gcm.js";
import { agreed, BACKUP_KEY_BYTES, type BackupPublicKey, backupPublicKey } from "./backup-key.js";
import { type BackupName, nameFits } from "./backup-name.js";
import { type BackupOwner, OpenBackup } from "./open-backup.js";

const MAGIC = Buffer.from("U2BK", "ascii");
const VERSION = 1;
const INFO = Buffer.from("u2e/1/backup", "ascii");

const PARTY_AT = MAGIC.byteLength + 1;
const WALLET_AT = PARTY_AT + 1;
const EPOCH_AT = WALLET_AT + WALLET_ID_BYTES;
const KEY_ID_AT = EPOCH_AT + 4;
const POINT_AT = KEY_ID_AT + HASH_BYTES;
const EPHEMERAL_AT = POINT_AT + POINT_BYTES;
const IV_AT = EPHEMERAL_AT + BACKUP_KEY_BYTES;
const CIPHERTEXT_AT = IV_AT + GCM_IV_BYTES;
/** Far above any: the names of a wallet's owner are bounded. */
export const BACKUP_FILE_BYTES_MAX = 8_192;

export interface BackupInput {
  readonly share: OpenShare;
  readonly ctr: bigint;
  /** Of S's wallet; null at C, which knows none. */
  readonly owner: BackupOwner | null;
  readonly key: BackupPublicKey;
  readonly random: RandomSource;
}

/** Of the form `sealBackup` of the ports of a session. */
export function sealBackupFile({ share, ctr, owner, key, random }: BackupInput): Buffer {
  const plain = OpenBackup.of(share, ctr, owner);
  try {
    return resealBackup(plain, key, random);
  } finally {
    plain.wipe();
  }
}

/** To another key: that of a process which takes the share over, so that it crosses no socket in the open. */
export function resealBackup(backup: OpenBackup, key: BackupPublicKey, random: RandomSource): Buffer {
  return backup.sealedBy((plaintext) => {
    const file = Buffer.alloc(CIPHERTEXT_AT + plaintext.byteLength + GCM_TAG_BYTES);
    const arena = new Arena();
    try {
      const source = labelled(random, `backup/${backup.party}/${backup.epoch}/`);
      const ephemeral = arena.take(BACKUP_KEY_BYTES);
      source.fill("ephemeral", ephemeral);
      writeHeader(file, backup, key, backupPublicKey(ephemeral).bytes);
      source.fill("iv", file.subarray(IV_AT, CIPHERTEXT_AT));
      const derived = fileKey(ephemeral, key.bytes, file, key.bytes, arena);
      if (derived === null) throw new Error("a backup key of low order");
      gcmSeal(derived, partsOf(file), plaintext);
      return file;
    } finally {
      arena.wipe();
    }
  });
}

export type BackupRefusal =
  | "LENGTH"
  /** Not a backup, or of a later version. */
  | "FORM"
  /** The file says something else than its name. */
  | "NAME"
  /** Sealed to another key. */
  | "KEY"
  | "BROKEN"
  /** Sealed rightly, and yet no share of this wallet. */
  | "CONTENT";

export type OpenedBackup =
  | { readonly ok: true; readonly backup: OpenBackup }
  | { readonly ok: false; readonly reason: BackupRefusal };

/** `privateKey` stays the caller's to wipe, and so does what is opened. */
export function openBackupFile(name: BackupName, file: Uint8Array, privateKey: Uint8Array): OpenedBackup {
  const refusal = refusalOf(name, file);
  if (refusal !== null) return { ok: false, reason: refusal };
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const own = backupPublicKey(privateKey);
  if (!bytes.subarray(KEY_ID_AT, POINT_AT).equals(own.id)) return { ok: false, reason: "KEY" };
  const arena = new Arena();
  try {
    const derived = fileKey(privateKey, bytes.subarray(EPHEMERAL_AT, IV_AT), bytes, own.bytes, arena);
    const plaintext = derived === null ? null : gcmOpen(derived, partsOf(bytes));
    if (plaintext === null) return { ok: false, reason: "BROKEN" };
    const backup = OpenBackup.read(plaintext, name, bytes.subarray(POINT_AT, EPHEMERAL_AT));
    return backup === null ? { ok: false, reason: "CONTENT" } : { ok: true, backup };
  } finally {
    arena.wipe();
  }
}

function refusalOf(name: BackupName, file: Uint8Array): BackupRefusal | null {
  const { byteLength } = file;
  if (byteLength < CIPHERTEXT_AT + GCM_TAG_BYTES || byteLength > BACKUP_FILE_BYTES_MAX) return "LENGTH";
  const bytes = Buffer.from(file.buffer, file.byteOffset, byteLength);
  const party = bytes.readUInt8(PARTY_AT);
  if (!bytes.subarray(0, MAGIC.byteLength).equals(MAGIC) || bytes.readUInt8(MAGIC.byteLength) !== VERSION)
    return "FORM";
  if (party !== 0 && party !== 1) return "FORM";
  const walletId = bytes.subarray(WALLET_AT, EPOCH_AT);
  return nameFits(name, { walletId, party, epoch: bytes.readUInt32BE(EPOCH_AT) }) ? null : "NAME";
}

function writeHeader(file: Buffer, backup: OpenBackup, key: BackupPublicKey, ephemeralKey: Uint8Array): void {
  file.set(MAGIC);
  file.writeUInt8(VERSION, MAGIC.byteLength);
  file.writeUInt8(backup.party, PARTY_AT);
  file.set(backup.walletId, WALLET_AT);
  file.writeUInt32BE(backup.epoch, EPOCH_AT);
  file.set(key.id, KEY_ID_AT);
  file.set(backup.publicKey, POINT_AT);
  file.set(ephemeralKey, EPHEMERAL_AT);
}

/** Null: a zero result. The salt is ephemeral key ‖ backup key, whichever of the two is private here. */
function fileKey(
  privateKey: Uint8Array,
  otherKey: Uint8Array,
  file: Buffer,
  backupKey: Uint8Array,
  arena: Arena,
): Buffer | null {
  const shared = agreed(privateKey, otherKey);
  if (shared === null) return null;
  const salt = Buffer.concat([file.subarray(EPHEMERAL_AT, IV_AT), backupKey]);
  return arena.moved(new Uint8Array(hkdfSync("sha256", arena.moved(shared), salt, INFO, GCM_KEY_BYTES)));
}

function partsOf(file: Buffer): GcmParts {
  const tagAt = file.byteLength - GCM_TAG_BYTES;
  return {
    iv: file.subarray(IV_AT, CIPHERTEXT_AT),
    data: frame(INFO, file.subarray(0, IV_AT)),
    ciphertext: file.subarray(CIPHERTEXT_AT, tagAt),
    tag: file.subarray(tagAt),
  };
}
