/**
 * What a backup holds, opened: one secret buffer, and `wipe` is the end of it.
 *
 *   0     32       48    49    53  61  93  125 158 191 224
 *   suite walletId party epoch ctr tag x_i P   P_0 P_1 S: ownerId, userId, createdAt, each with its length before it
 */
import { isSame } from "../mpc/base/bits.js";
import { HASH_BYTES, type Party, POINT_BYTES, SCALAR_BYTES, SUITE, WALLET_ID_BYTES } from "../mpc/base/parameters.js";
import { encodeRestoredRecord, OpenShare } from "../mpc/state/share-record.js";
import { secretBuffer } from "../sealing/secret-bytes.js";
import { type BackupName, nameFits } from "./backup-name.js";

const WALLET_AT = HASH_BYTES;
const PARTY_AT = WALLET_AT + WALLET_ID_BYTES;
const EPOCH_AT = PARTY_AT + 1;
const CTR_AT = EPOCH_AT + 4;
const TAG_AT = CTR_AT + 8;
const SHARE_AT = TAG_AT + HASH_BYTES;
const KEY_AT = SHARE_AT + SCALAR_BYTES;
const OWNER_AT = KEY_AT + 3 * POINT_BYTES;

const LENGTH_BYTES = 4;
const TIME_BYTES = 8;
/** UTF-8 of an owner or a user id. */
const OWNER_TEXT_BYTES_MAX = 2_048;
const EPOCH_TIME_MS_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** What S knows of a wallet beside its key. */
export interface BackupOwner {
  /** Null: made without a key. */
  readonly ownerId: string | null;
  readonly userId: string;
  /** Unix epoch, integer ms. */
  readonly createdAt: number;
}

export class OpenBackup {
  readonly walletId: Buffer;
  readonly party: Party;
  readonly epoch: number;
  /** Of the state row when the file was made. */
  readonly ctr: bigint;
  readonly tag: Buffer;
  /** P, 33 bytes. */
  readonly publicKey: Buffer;
  /** Null at C. */
  readonly owner: BackupOwner | null;
  readonly #plaintext: Buffer;
  #wiped = false;

  private constructor(plaintext: Buffer, party: Party, owner: BackupOwner | null) {
    this.#plaintext = plaintext;
    this.walletId = Buffer.from(plaintext.subarray(WALLET_AT, PARTY_AT));
    this.party = party;
    this.epoch = plaintext.readUInt32BE(EPOCH_AT);
    this.ctr = plaintext.readBigUInt64BE(CTR_AT);
    this.tag = Buffer.from(plaintext.subarray(TAG_AT, SHARE_AT));
    this.publicKey = Buffer.from(plaintext.subarray(KEY_AT, KEY_AT + POINT_BYTES));
    this.owner = owner;
  }

  /** Of a share that is open; S names the owner of the wallet, C has none to name. */
  static of(share: OpenShare, ctr: bigint, owner: BackupOwner | null): OpenBackup {
    if ((owner === null) !== (share.party === 1)) throw new Error("owner of a backup");
    const rest = owner === null ? [] : ownerFields(owner);
    const plaintext = secretBuffer(OWNER_AT + rest.reduce((sum, field) => sum + LENGTH_BYTES + field.byteLength, 0));
    plaintext.set(SUITE);
    plaintext.set(share.walletId, WALLET_AT);
    plaintext.writeUInt8(share.party, PARTY_AT);
    plaintext.writeUInt32BE(share.epoch, EPOCH_AT);
    plaintext.writeBigUInt64BE(ctr, CTR_AT);
    plaintext.set(share.tag, TAG_AT);
    share.copyShare(plaintext, SHARE_AT);
    const points = [share.key, ...share.publicShares];
    for (const [at, { bytes }] of points.entries()) plaintext.set(bytes, KEY_AT + at * POINT_BYTES);
    let at = OWNER_AT;
    for (const field of rest) {
      at = plaintext.writeUInt32BE(field.byteLength, at);
      plaintext.set(field, at);
      at += field.byteLength;
    }
    return new OpenBackup(plaintext, share.party, owner);
  }

  /**
   * Takes the plaintext of a file over: it is wiped where it is not what name and header say, or holds no share of the
   * key that it names. Null then.
   */
  static read(plaintext: Buffer, name: BackupName, publicKey: Uint8Array): OpenBackup | null {
    const backup = readPlaintext(plaintext, (party, owner) => new OpenBackup(plaintext, party, owner));
    if (backup !== null && nameFits(name, backup) && isSame(backup.publicKey, publicKey) && backup.#isWhole())
      return backup;
    plaintext.fill(0);
    return null;
  }

  /** The share without OT state, good for a refresh alone; the caller wipes it. */
  toShare(): OpenShare {
    const { walletId, party, epoch, tag, publicKey } = this;
    const point = (at: number) => this.#secret().subarray(KEY_AT + at * POINT_BYTES, KEY_AT + (at + 1) * POINT_BYTES);
    const name = { walletId, party, epoch, publicKey };
    const parts = { ...name, tag, publicShares: [point(1), point(2)] as const };
    return new OpenShare(encodeRestoredRecord(parts, this.#secret().subarray(SHARE_AT, KEY_AT)), name);
  }

  sealedBy<Result>(seal: (plaintext: Buffer) => Result): Result {
    return seal(this.#secret());
  }

  wipe(): void {
    this.#wiped = true;
    this.#plaintext.fill(0);
  }

  toJSON(): never {
    throw new Error("a share is not serialised");
  }

  #secret(): Buffer {
    if (this.#wiped) throw new Error("backup is wiped");
    return this.#plaintext;
  }

  #isWhole(): boolean {
    try {
      this.toShare().wipe();
      return true;
    } catch {
      // The share refuses what is no share; what it says of it is for nobody.
      return false;
    }
  }
}

function readPlaintext(
  plaintext: Buffer,
  made: (party: Party, owner: BackupOwner | null) => OpenBackup,
): OpenBackup | null {
  if (plaintext.byteLength < OWNER_AT || !plaintext.subarray(0, WALLET_AT).equals(SUITE)) return null;
  const party = plaintext.readUInt8(PARTY_AT);
  if (party === 1) return plaintext.byteLength === OWNER_AT ? made(1, null) : null;
  const owner = readOwner(plaintext.subarray(OWNER_AT));
  return party === 0 && owner !== null ? made(0, owner) : null;
}

function ownerFields({ ownerId, userId, createdAt }: BackupOwner): Buffer[] {
  const time = Buffer.alloc(TIME_BYTES);
  time.writeBigUInt64BE(BigInt(createdAt));
  const texts = [ownerId ?? "", userId].map((text) => Buffer.from(text, "utf8"));
  // What could not be read back must not be written.
  if (ownerId === "" || userId === "" || texts.some(({ byteLength }) => byteLength > OWNER_TEXT_BYTES_MAX))
    throw new RangeError("owner of a backup");
  return [...texts, time];
}

function readOwner(source: Buffer): BackupOwner | null {
  const fields: Buffer[] = [];
  let at = 0;
  while (at < source.byteLength && fields.length < 3) {
    if (at + LENGTH_BYTES > source.byteLength) return null;
    const end = at + LENGTH_BYTES + source.readUInt32BE(at);
    if (end > source.byteLength) return null;
    fields.push(source.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  const [owner, user, time] = fields;
  if (at !== source.byteLength || owner === undefined || user === undefined || time?.byteLength !== TIME_BYTES)
    return null;
  const [ownerId, userId] = [textOf(owner), textOf(user)];
  const createdAt = time.readBigUInt64BE(0);
  if (ownerId === null || userId === null || userId === "" || createdAt > EPOCH_TIME_MS_MAX) return null;
  return { ownerId: ownerId === "" ? null : ownerId, userId, createdAt: Number(createdAt) };
}

function textOf(bytes: Buffer): string | null {
  if (bytes.byteLength > OWNER_TEXT_BYTES_MAX) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
