/**
 * What a party keeps of an epoch (docs/mpc.md, 5.4): 24,920 bytes, sealed in place. A record that is opened is one
 * secret buffer, and `wipe` is the end of it. Invariant: a record that does not say what its context says, or whose
 * share is not that of its public share, opens no session: a fault.
 */
import { isSame } from "../base/bits.js";
import { fault } from "../base/outcome.js";
import {
  HASH_BYTES,
  type Party,
  PAD_PAIRS_BYTES,
  PADS_BYTES,
  SCALAR_BYTES,
  SUITE,
  WALLET_ID_BYTES,
} from "../base/parameters.js";
import { baseTimes, decodePoint, type PublicPoint, samePoint, sum } from "../base/point.js";
import { ORDER, readScalar, writeScalar } from "../base/scalar.js";
import type { SealContext, Sealer } from "../../sealing/sealer.js";
import { secretBuffer } from "../../sealing/secret-bytes.js";

export const SHARE_RECORD_BYTES = 24_920;
const POINT = 33;

const WALLET_AT = 32;
const PARTY_AT = WALLET_AT + WALLET_ID_BYTES;
const EPOCH_AT = PARTY_AT + 1;
const SID_AT = EPOCH_AT + 4;
const TAG_AT = SID_AT + HASH_BYTES;
const SHARE_AT = TAG_AT + HASH_BYTES;
const KEY_AT = SHARE_AT + HASH_BYTES;
const SEEDS_AT = KEY_AT + 3 * POINT;
const DELTA_AT = SEEDS_AT + 2 * HASH_BYTES;
const PADS_AT = DELTA_AT + HASH_BYTES;
const PAIRS_AT = PADS_AT + PADS_BYTES;

/** Drawn with chance 2^-256, so it marks a record without OT state. */
const NO_DELTA = Buffer.alloc(HASH_BYTES);

/** What a record says of itself without being opened. */
export interface ShareName {
  readonly walletId: Uint8Array;
  readonly party: Party;
  readonly epoch: number;
  /** P, 33 bytes. */
  readonly publicKey: Uint8Array;
}

export interface ShareParts extends ShareName {
  /** gsid, or rsid of the refresh that made the epoch. */
  readonly sid: Uint8Array;
  readonly tag: Uint8Array;
  readonly share: bigint;
  readonly publicShares: readonly [Uint8Array, Uint8Array];
  readonly gadgetSeeds: readonly [Uint8Array, Uint8Array];
  readonly delta: Uint8Array;
  /** s_0, s_1, … */
  readonly pads: Uint8Array;
  /** s0_0, s1_0, s0_1, … */
  readonly padPairs: Uint8Array;
}

/** What a backup holds of an epoch: all but the OT state. */
export type RestoredParts = Pick<ShareParts, keyof ShareName | "tag" | "publicShares">;

export function shareContext({ walletId, party, epoch, publicKey }: ShareName): SealContext {
  const epochBytes = Buffer.alloc(4);
  epochBytes.writeUInt32BE(epoch);
  return { purpose: "share", parts: [walletId, Uint8Array.of(party), epochBytes, publicKey], recordVersion: epoch };
}

/** A secret buffer that the caller seals and wipes. */
export function encodeShareRecord(parts: ShareParts): Buffer {
  const record = secretBuffer(SHARE_RECORD_BYTES);
  writeNames(record, parts);
  record.set(parts.sid, SID_AT);
  writeScalar(parts.share, record, SHARE_AT);
  for (const [at, seed] of parts.gadgetSeeds.entries()) record.set(seed, SEEDS_AT + at * HASH_BYTES);
  record.set(parts.delta, DELTA_AT);
  record.set(parts.pads, PADS_AT);
  record.set(parts.padPairs, PAIRS_AT);
  return record;
}

/**
 * The record of a restored wallet: zeros in place of sid, gadget seeds and OT state. `share` is x_i, 32 bytes. It is good
 * for a refresh alone, which reads none of them; a signature would show x_i under pads of zeros, so they are not given
 * out. A secret buffer that the caller seals and wipes.
 */
export function encodeRestoredRecord(parts: RestoredParts, share: Uint8Array): Buffer {
  const record = secretBuffer(SHARE_RECORD_BYTES);
  writeNames(record, parts);
  record.set(share.subarray(0, SCALAR_BYTES), SHARE_AT);
  return record;
}

function writeNames(record: Buffer, parts: RestoredParts): void {
  record.set(SUITE);
  record.set(parts.walletId, WALLET_AT);
  record.writeUInt8(parts.party, PARTY_AT);
  record.writeUInt32BE(parts.epoch, EPOCH_AT);
  record.set(parts.tag, TAG_AT);
  for (const [at, point] of [parts.publicKey, ...parts.publicShares].entries()) record.set(point, KEY_AT + at * POINT);
}

export class OpenShare implements ShareName {
  readonly walletId: Buffer;
  readonly party: Party;
  readonly epoch: number;
  readonly sid: Buffer;
  readonly tag: Buffer;
  readonly key: PublicPoint;
  readonly publicShares: readonly [PublicPoint, PublicPoint];
  readonly gadgetSeeds: readonly [Buffer, Buffer];
  readonly #record: Buffer;
  #wiped = false;

  /** Takes the buffer over: it is wiped at `wipe`, and at once where this throws. */
  constructor(record: Buffer, name: ShareName) {
    this.#record = record;
    try {
      assertNamed(record, name);
      const point = (at: number) => decodePoint(Buffer.from(record.subarray(at, at + POINT)), "record");
      this.walletId = Buffer.from(name.walletId);
      this.party = name.party;
      this.epoch = name.epoch;
      this.sid = Buffer.from(record.subarray(SID_AT, TAG_AT));
      this.tag = Buffer.from(record.subarray(TAG_AT, SHARE_AT));
      this.key = point(KEY_AT);
      this.publicShares = [point(KEY_AT + POINT), point(KEY_AT + 2 * POINT)];
      this.gadgetSeeds = [
        Buffer.from(record.subarray(SEEDS_AT, SEEDS_AT + HASH_BYTES)),
        Buffer.from(record.subarray(SEEDS_AT + HASH_BYTES, DELTA_AT)),
      ];
      this.#assertOwnShare();
    } catch (error) {
      record.fill(0);
      throw fault(error);
    }
  }

  get publicKey(): Buffer {
    return this.key.bytes;
  }

  /** x_i */
  get share(): bigint {
    return readScalar(this.#secret(SHARE_AT, HASH_BYTES), 0);
  }

  /** x_i as bytes, into a secret buffer of the caller's: for a backup, which so needs no number of it. */
  copyShare(target: Buffer, at: number): void {
    this.#secret(SHARE_AT, SCALAR_BYTES).copy(target, at);
  }

  get delta(): Buffer {
    return this.#otState(DELTA_AT, HASH_BYTES);
  }

  get pads(): Buffer {
    return this.#otState(PADS_AT, PADS_BYTES);
  }

  get padPairs(): Buffer {
    return this.#otState(PAIRS_AT, PAD_PAIRS_BYTES);
  }

  /** Out of a backup, without OT state. */
  get isRestored(): boolean {
    return isSame(this.#secret(DELTA_AT, HASH_BYTES), NO_DELTA);
  }

  sealedBy(sealer: Pick<Sealer, "seal">, context: SealContext): Uint8Array {
    return sealer.seal(context, this.#secret(0, SHARE_RECORD_BYTES));
  }

  get isWiped(): boolean {
    return this.#wiped;
  }

  wipe(): void {
    this.#wiped = true;
    this.#record.fill(0);
  }

  toJSON(): never {
    throw new Error("a share is not serialised");
  }

  #otState(at: number, byteLength: number): Buffer {
    if (this.isRestored) throw new Error("a restored share has no OT state");
    return this.#secret(at, byteLength);
  }

  #secret(at: number, byteLength: number): Buffer {
    if (this.#wiped) throw new Error("share is wiped");
    return this.#record.subarray(at, at + byteLength);
  }

  #assertOwnShare(): void {
    const share = this.share;
    const [first, second] = this.publicShares;
    if (share === 0n || share >= ORDER) throw new Error("share of a record");
    if (!samePoint(sum(first.point, second.point), this.key.point)) throw new Error("sum of a record");
    if (!samePoint(baseTimes(share), this.publicShares[this.party].point)) throw new Error("public share of a record");
  }
}

function assertNamed(record: Buffer, name: ShareName): void {
  if (record.byteLength !== SHARE_RECORD_BYTES) throw new Error("length of a record");
  const epoch = record.readUInt32BE(EPOCH_AT);
  const isNamed =
    record.subarray(0, WALLET_AT).equals(SUITE) &&
    record.subarray(WALLET_AT, PARTY_AT).equals(name.walletId) &&
    record.readUInt8(PARTY_AT) === name.party &&
    epoch === name.epoch &&
    record.subarray(KEY_AT, KEY_AT + POINT).equals(name.publicKey);
  if (!isNamed) throw new Error("name of a record");
}
