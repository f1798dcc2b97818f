/** The record of an epoch, and that of a restored wallet: each opens under its own name alone. */
import { describe, expect, it } from "vitest";
import { HASH_BYTES, PAD_PAIRS_BYTES, PADS_BYTES, type Party } from "../base/parameters.js";
import { baseTimes, encodePublic } from "../base/point.js";
import { encodeScalar } from "../base/scalar.js";
import { seededBytes } from "../test/seeded-random.js";
import {
  encodeRestoredRecord,
  encodeShareRecord,
  OpenShare,
  SHARE_RECORD_BYTES,
  type ShareName,
  type ShareParts,
} from "./share-record.js";

const SHARES = [5n, 7n] as const;
const POINTS = [encodePublic(baseTimes(5n)).bytes, encodePublic(baseTimes(7n)).bytes] as const;
const KEY = encodePublic(baseTimes(12n)).bytes;

function bytes(label: string, byteLength: number): Buffer {
  return seededBytes("share-record", label, byteLength);
}

function parts(party: Party = 0, more: Partial<ShareParts> = {}): ShareParts {
  return {
    ...{ walletId: bytes("wallet", 16), party, epoch: 3, publicKey: KEY, sid: bytes("sid", HASH_BYTES) },
    ...{ tag: bytes("tag", HASH_BYTES), share: SHARES[party], publicShares: POINTS, delta: bytes("delta", HASH_BYTES) },
    gadgetSeeds: [bytes("gs0", HASH_BYTES), bytes("gs1", HASH_BYTES)],
    ...{ pads: bytes("pads", PADS_BYTES), padPairs: bytes("pairs", PAD_PAIRS_BYTES), ...more },
  };
}

const OTHER_NAMES: readonly (readonly [string, Partial<ShareName>])[] = [
  ["wallet", { walletId: bytes("other wallet", 16) }],
  ["party", { party: 1 }],
  ["epoch", { epoch: 4 }],
  ["key", { publicKey: POINTS[0] }],
];

describe("a share record", () => {
  it("gives back what was put in, for each party", () => {
    for (const party of [0, 1] as const) {
      const given = parts(party);
      const share = new OpenShare(encodeShareRecord(given), given);
      expect([share.sid, share.tag, share.delta, share.pads, share.padPairs]).toEqual([
        ...[given.sid, given.tag, given.delta, given.pads, given.padPairs],
      ]);
      expect([share.share, share.epoch, share.party, share.isRestored]).toEqual([SHARES[party], 3, party, false]);
      const copy = Buffer.alloc(40);
      share.copyShare(copy, 4);
      expect(copy.subarray(4, 36)).toEqual(encodeScalar(SHARES[party]));
    }
  });

  it.each(OTHER_NAMES)("does not open under the name of another %s, and is zeros then", (_, other) => {
    const record = encodeShareRecord(parts());
    expect(() => new OpenShare(record, { ...parts(), ...other })).toThrow("fault");
    expect(record.every((byte) => byte === 0)).toBe(true);
  });

  it.each([
    ["a share that is not that of its public share", { share: 6n }],
    ["a share of zero", { share: 0n }],
    ["public shares that do not add up", { publicShares: [POINTS[0], KEY] as const }],
  ])("does not open with %s", (_, more) => {
    expect(() => new OpenShare(encodeShareRecord(parts(0, more)), parts())).toThrow("fault");
  });

  it("gives nothing out once it is wiped, and is never serialised", () => {
    const share = new OpenShare(encodeShareRecord(parts()), parts());
    expect(() => JSON.stringify(share)).toThrow();
    share.wipe();
    expect(() => share.share).toThrow("wiped");
    expect(() => share.copyShare(Buffer.alloc(32), 0)).toThrow("wiped");
    expect(() => share.isRestored).toThrow("wiped");
  });

  it("of a restored wallet has its share and names, and gives out no OT state", () => {
    const { share: _, ...given } = parts(1);
    const record = encodeRestoredRecord(given, encodeScalar(SHARES[1]));
    expect(record.byteLength).toBe(SHARE_RECORD_BYTES);
    const share = new OpenShare(record, given);
    expect([share.share, share.isRestored, share.tag]).toEqual([SHARES[1], true, given.tag]);
    expect(share.publicShares.map((point) => point.bytes)).toEqual(POINTS);
    expect(() => share.delta).toThrow("no OT state");
    expect(() => share.pads).toThrow("no OT state");
    expect(() => share.padPairs).toThrow("no OT state");
  });
});
