/** The backup file: known answers of two other programs, what it gives back, and every way in which it is refused. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Party } from "../mpc/base/parameters.js";
import { systemRandom } from "../mpc/base/random.js";
import { seededBytes, seededRandom } from "../mpc/test/seeded-random.js";
import { type BackupInput, openBackupFile, resealBackup, sealBackupFile } from "./backup-file.js";
import { makeBackupPair } from "./backup-key.js";
import { backupFileName, type BackupName, parseBackupFileName } from "./backup-name.js";
import { OpenBackup } from "./open-backup.js";
import {
  CTR,
  KEYS,
  openShare,
  OTHER_PRIVATE_KEY,
  OWNER,
  PRIVATE_KEY,
  PUBLIC_KEY,
  SHARES,
  TAG,
  WALLET_ID,
} from "./test/backups.js";
import { slowBackupFile } from "./test/slow-backup.js";

const SEED = "backup-kat";
const HEADER_BYTES = 135;
const name = (party: Party): BackupName => ({ walletId: WALLET_ID, party, epoch: 7, tag: TAG });

function sealed(party: Party, more: Partial<BackupInput> = {}): Buffer {
  const given = { share: openShare(party), ctr: CTR, owner: party === 0 ? OWNER : null, key: PUBLIC_KEY };
  return sealBackupFile({ ...given, random: seededRandom(SEED), ...more });
}

function reasonOf(party: Party, file: Uint8Array, of = name(party), key: Uint8Array = PRIVATE_KEY): string {
  const opened = openBackupFile(of, file, key);
  return opened.ok ? "opened" : opened.reason;
}

function opened(party: Party, file: Uint8Array, key: Uint8Array = PRIVATE_KEY): OpenBackup {
  const result = openBackupFile(name(party), file, key);
  if (!result.ok) throw new Error(result.reason);
  return result.backup;
}

describe("a backup file", () => {
  /** SHA-256 of the whole file, by a script in another language with a library of its own. */
  const KNOWN = [
    "ccef385db6ead687285a0b1eb1596c24d87f49d9c958b5610aefeb91992c2e81",
    "de9aa6acd77a6eec3cef49421a8a90fec508a255c24f9119d369b5d64e89cd57",
  ];

  it.each([0, 1] as const)("of party %i is byte for byte what two other programs make of it", (party) => {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(OWNER.createdAt));
    const slow = slowBackupFile({
      ...{ party, walletId: WALLET_ID, epoch: 7, ctr: CTR, tag: TAG, share: SHARES[party], points: KEYS },
      owner: party === 0 ? [Buffer.from(OWNER.ownerId), Buffer.from(OWNER.userId), time] : [],
      backupKey: PUBLIC_KEY.bytes,
      ephemeral: seededBytes(SEED, `backup/${party}/7/ephemeral`, 32),
      iv: seededBytes(SEED, `backup/${party}/7/iv`, 12),
    });
    const file = sealed(party);
    expect(file.toString("hex")).toBe(slow.toString("hex"));
    expect(createHash("sha256").update(file).digest("hex")).toBe(KNOWN[party]);
  });

  it.each([0, 1] as const)("of party %i gives back the share, and whose wallet it is", (party) => {
    const backup = opened(party, sealed(party));
    const { walletId, epoch, ctr, tag, publicKey, owner } = backup;
    expect({ walletId, epoch, ctr, tag, publicKey, owner, party: backup.party }).toEqual({
      ...{ walletId: WALLET_ID, epoch: 7, ctr: CTR, tag: TAG, publicKey: KEYS[0], party },
      owner: party === 0 ? OWNER : null,
    });
    const share = backup.toShare();
    const bytes = Buffer.alloc(32);
    share.copyShare(bytes, 0);
    expect([bytes, share.isRestored, share.tag]).toEqual([SHARES[party], true, TAG]);
  });

  it("keeps a wallet that was made without a key, and texts of any script", () => {
    const owner = { ownerId: null, userId: "利用者\u0000\ufeff'", createdAt: 0 };
    expect(opened(0, sealed(0, { owner })).owner).toEqual(owner);
  });

  it("is not made where its owner could not be read back, or the party has none", () => {
    const bad = [{ ownerId: "" }, { userId: "" }, { userId: "u".repeat(2_049) }, { createdAt: -1 }];
    for (const more of bad) expect(() => sealed(0, { owner: { ...OWNER, ...more } })).toThrow();
    expect(() => sealed(0, { owner: null })).toThrow();
    expect(() => sealed(1, { owner: OWNER })).toThrow();
  });

  it("is another file each time, sealed to the same key", () => {
    const files = [0, 1].map(() => sealed(1, { random: systemRandom }));
    expect(files[0]).not.toEqual(files[1]);
    expect(files.map((file) => reasonOf(1, file))).toEqual(["opened", "opened"]);
  });

  it("leaves the share of the session open, and holds no byte of it in the open", () => {
    const share = openShare(1);
    const file = sealed(1, { share });
    expect(share.isWiped).toBe(false);
    expect(file.includes(SHARES[1])).toBe(false);
    expect(file.includes(Buffer.from(SHARES[1]).reverse())).toBe(false);
  });

  it("is handed on under another key without a share in the open", () => {
    const pair = makeBackupPair(seededRandom("process"));
    const backup = opened(0, sealed(0));
    const file = resealBackup(backup, pair.publicKey, seededRandom("again"));
    expect(reasonOf(0, file)).toBe("KEY");
    const again = opened(0, file, pair.privateKey);
    expect([again.owner, again.ctr, again.tag]).toEqual([OWNER, CTR, TAG]);
    backup.wipe();
    expect(() => resealBackup(backup, pair.publicKey, systemRandom)).toThrow("wiped");
    expect(() => backup.toShare()).toThrow("wiped");
    expect(() => JSON.stringify(again)).toThrow();
  });
});

describe("a backup file is refused", () => {
  it.each([0, 1] as const)("of party %i, with any byte of the header or the ciphertext changed", (party) => {
    const file = sealed(party);
    const reasons = new Map<string, number>();
    for (let at = 0; at < file.byteLength; at++) {
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at & 7));
      const reason = reasonOf(party, changed);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    // Magic and version; party, wallet and epoch; key id; the rest is authenticated. The party's low bit is flipped to
    // the other party, so it is the name that does not fit, or to none.
    expect(Object.fromEntries(reasons)).toEqual({
      ...{ FORM: 6, NAME: 20, KEY: 32 },
      BROKEN: file.byteLength - 6 - 20 - 32,
    });
    expect(file.byteLength - HEADER_BYTES).toBeGreaterThan(224);
  });

  it("cut or lengthened anywhere", () => {
    const file = sealed(0);
    for (let byteLength = 0; byteLength < file.byteLength; byteLength++)
      expect(["LENGTH", "BROKEN"]).toContain(reasonOf(0, file.subarray(0, byteLength)));
    expect(reasonOf(0, Buffer.concat([file, Buffer.alloc(1)]))).toBe("BROKEN");
    expect(reasonOf(0, Buffer.alloc(10_000))).toBe("LENGTH");
  });

  it("under another key, and under another name", () => {
    const file = sealed(0);
    expect(reasonOf(0, file, name(0), OTHER_PRIVATE_KEY)).toBe("KEY");
    expect(reasonOf(0, file, name(1))).toBe("NAME");
    expect(reasonOf(0, file, { ...name(0), epoch: 8 })).toBe("NAME");
    expect(reasonOf(0, file, { ...name(0), walletId: Buffer.alloc(16, 1) })).toBe("NAME");
    // The tag is inside the seal alone.
    expect(reasonOf(0, file, { ...name(0), tag: Buffer.alloc(8, 1) })).toBe("CONTENT");
    expect(reasonOf(0, file, { ...name(0), tag: TAG.subarray(0, 8) })).toBe("opened");
  });

  it("with another key id in place of the right one, as a file for another key is", () => {
    const other = makeBackupPair(seededRandom("other"));
    const file = sealed(0);
    const moved = Buffer.from(sealed(0, { key: other.publicKey }));
    file.copy(moved, 26, 26, 58);
    expect(reasonOf(0, moved)).toBe("BROKEN");
  });

  it("with an ephemeral key of low order", () => {
    const file = sealed(1);
    file.fill(0, 91, 123);
    expect(reasonOf(1, file)).toBe("BROKEN");
  });

  const content: readonly (readonly [string, (plaintext: Buffer) => Buffer])[] = [
    ["of another suite", (plain) => changedAt(plain, 0)],
    ["of another wallet", (plain) => changedAt(plain, 32)],
    ["of another party", (plain) => changedAt(plain, 48)],
    ["of another epoch", (plain) => changedAt(plain, 52)],
    ["of another tag", (plain) => changedAt(plain, 61)],
    ["whose share is another", (plain) => changedAt(plain, 124)],
    ["whose share is zero", (plain) => Buffer.concat([plain]).fill(0, 93, 125)],
    ["of another key", (plain) => changedAt(plain, 130)],
    ["whose public shares are others", (plain) => changedAt(plain, 160)],
    ["with a field of the owner cut", (plain) => plain.subarray(0, -1)],
    ["with a byte after the owner", (plain) => Buffer.concat([plain, Buffer.alloc(1)])],
    ["with a length beyond the end", (plain) => changedAt(plain, 226)],
    ["whose owner is no text", (plain) => Buffer.concat([plain]).fill(0xff, 228, 229)],
  ];
  it.each(content)("sealed rightly, and yet %s; what was opened is wiped", (_, change) => {
    const backup = opened(0, sealed(0));
    const plaintext = change(backup.sealedBy((bytes) => Buffer.concat([bytes])));
    expect(OpenBackup.read(plaintext, name(0), KEYS[0])).toBeNull();
    expect(plaintext.every((byte) => byte === 0)).toBe(true);
  });
});

describe("the name of a backup file", () => {
  it("says wallet, party, epoch and sixteen digits of the tag", () => {
    const text = backupFileName(name(1));
    expect(text).toBe("000102030405060708090a0b0c0d0e0f.1.7.6465666768696a6b.bk");
    expect(parseBackupFileName(text)).toEqual({ ...name(1), tag: TAG.subarray(0, 8) });
  });

  it.each([
    "000102030405060708090a0b0c0d0e0f.2.7.6465666768696a6b.bk",
    "000102030405060708090a0b0c0d0e0f.1.0.6465666768696a6b.bk",
    "000102030405060708090a0b0c0d0e0f.1.07.6465666768696a6b.bk",
    "000102030405060708090a0b0c0d0e0f.1.4294967296.6465666768696a6b.bk",
    "000102030405060708090a0b0c0d0e0F.1.7.6465666768696a6b.bk",
    ".000102030405060708090a0b0c0d0e0f.1.7.6465666768696a6b.bk.tmp",
    "000102030405060708090a0b0c0d0e0f.1.7.6465666768696a.bk",
    "notes.txt",
  ])("is not %s", (text) => {
    expect(parseBackupFileName(text)).toBeNull();
  });
});

function changedAt(plaintext: Buffer, at: number): Buffer {
  const changed = Buffer.concat([plaintext]);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}
