/** Shares and keys for tests of backups. */
import { HASH_BYTES, PAD_PAIRS_BYTES, PADS_BYTES, type Party } from "../../mpc/base/parameters.js";
import { baseTimes, encodePublic, sum } from "../../mpc/base/point.js";
import { readScalar } from "../../mpc/base/scalar.js";
import { encodeShareRecord, OpenShare, type ShareParts } from "../../mpc/state/share-record.js";
import { seededBytes } from "../../mpc/test/seeded-random.js";
import { backupPublicKey } from "../backup-key.js";

export const PRIVATE_KEY = Buffer.concat([Buffer.alloc(31, 0x21), Buffer.of(0x22)]);
export const OTHER_PRIVATE_KEY = Buffer.concat([Buffer.alloc(31, 0x21), Buffer.of(0x23)]);
export const PUBLIC_KEY = backupPublicKey(PRIVATE_KEY);

export const WALLET_ID = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
export const TAG = Buffer.from(Array.from({ length: HASH_BYTES }, (_, index) => 100 + index));
export const CTR = 0x0102030405060708n;
export const OWNER = { ownerId: "own_1", userId: "Ünäme", createdAt: 1_764_000_000_000 };

/** x_0 and x_1, 32 bytes. */
export const SHARES = [
  Buffer.from("0123456789abcdef".repeat(4), "hex"),
  // fedcba9876543210… mod n
  Buffer.from("fedcba9876543210".repeat(4), "hex"),
] as const;

const POINTS = SHARES.map((share) => encodePublic(baseTimes(readScalar(share, 0))));
const [first, second] = POINTS;
if (first === undefined || second === undefined) throw new Error("no points");
const KEY = encodePublic(sum(first.point, second.point)).bytes;
/** P, P_0, P_1. */
export const KEYS = [KEY, first.bytes, second.bytes] as const;

export function shareParts(party: Party, more: Partial<ShareParts> = {}): ShareParts {
  const bytes = (label: string, byteLength: number) => seededBytes("backups", label, byteLength);
  return {
    ...{ walletId: WALLET_ID, party, epoch: 7, publicKey: KEY, sid: bytes("sid", HASH_BYTES), tag: TAG },
    ...{ share: readScalar(SHARES[party], 0), publicShares: [KEYS[1], KEYS[2]], delta: bytes("delta", HASH_BYTES) },
    gadgetSeeds: [bytes("gs0", HASH_BYTES), bytes("gs1", HASH_BYTES)],
    ...{ pads: bytes("pads", PADS_BYTES), padPairs: bytes("pairs", PAD_PAIRS_BYTES), ...more },
  };
}

export function openShare(party: Party, more: Partial<ShareParts> = {}): OpenShare {
  const parts = shareParts(party, more);
  return new OpenShare(encodeShareRecord(parts), parts);
}
