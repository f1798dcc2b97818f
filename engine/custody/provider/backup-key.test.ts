/** The backup key of a party: its two texts, what is refused, and the private half. */
import { describe, expect, it } from "vitest";
import { systemRandom } from "../mpc/base/random.js";
import { seededRandom } from "../mpc/test/seeded-random.js";
import { agreed, backupPublicKey, makeBackupPair, parseBackupPublicKey, readBackupPrivateKey } from "./backup-key.js";
import { slowX25519 } from "./test/slow-backup.js";

/** Points of low order in all their reduced forms, and forms above the field (RFC 7748, cr.yp.to/ecdh.html). */
const LOW_ORDER = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  `ec${"ff".repeat(30)}7f`,
];
const NOT_REDUCED = [`ed${"ff".repeat(30)}7f`, `ee${"ff".repeat(30)}7f`, "ff".repeat(32), `09${"00".repeat(30)}80`];

describe("a public backup key", () => {
  it("is read from hex and from Base64 for URLs, with the id of its bytes", () => {
    const { publicKey } = makeBackupPair(seededRandom("backup-key"));
    const hex = publicKey.bytes.toString("hex");
    for (const text of [hex, hex.toUpperCase(), publicKey.bytes.toString("base64url")])
      expect(parseBackupPublicKey(text)).toEqual({ ok: true, key: publicKey });
  });

  it.each(["", "00", "g".repeat(64), `${"0a".repeat(32)} `, "A".repeat(42), "A".repeat(44), `${"A".repeat(42)}B`])(
    "is refused as the text '%s'",
    (text) => {
      expect(parseBackupPublicKey(text)).toMatchObject({ ok: false, problem: expect.stringContaining("32 bytes") });
    },
  );

  it.each(LOW_ORDER)("is refused as the point of low order %s", (hex) => {
    expect(parseBackupPublicKey(hex)).toMatchObject({ ok: false, problem: expect.stringContaining("low order") });
    expect(agreed(Buffer.alloc(32, 9), Buffer.from(hex, "hex"))).toBeNull();
  });

  it.each(NOT_REDUCED)("is refused in the second form %s, which would have an id of its own", (hex) => {
    expect(parseBackupPublicKey(hex)).toMatchObject({ ok: false, problem: expect.stringContaining("one form") });
  });
});

describe("a private backup key", () => {
  it("has the public key that a plain ladder gives, and agrees as it does", () => {
    for (const seed of ["a", "b", "c"]) {
      const { privateKey, publicKey } = makeBackupPair(seededRandom(seed));
      const other = makeBackupPair(seededRandom(`${seed}/other`));
      expect(publicKey.bytes).toEqual(slowX25519(privateKey, Buffer.from(`09${"00".repeat(31)}`, "hex")));
      expect(agreed(privateKey, other.publicKey.bytes)).toEqual(slowX25519(privateKey, other.publicKey.bytes));
      expect(agreed(privateKey, other.publicKey.bytes)).toEqual(agreed(other.privateKey, publicKey.bytes));
    }
  });

  it("is new each time", () => {
    expect(makeBackupPair(systemRandom).publicKey.id).not.toEqual(makeBackupPair(systemRandom).publicKey.id);
  });

  it("is read raw, and from hex digits with a line end or without", () => {
    const { privateKey, publicKey } = makeBackupPair(seededRandom("file"));
    const written = Buffer.from(`${privateKey.toString("hex")}\n`, "latin1");
    for (const content of [privateKey, written, written.subarray(0, -1)]) {
      const read = readBackupPrivateKey(content);
      expect(read !== null && backupPublicKey(read).id.equals(publicKey.id)).toBe(true);
    }
  });

  it.each([0, 31, 33, 63, 66])("is refused with %i bytes", (byteLength) => {
    expect(readBackupPrivateKey(Buffer.alloc(byteLength, 0x61))).toBeNull();
  });

  it("is refused where all its bytes are equal", () => {
    expect(readBackupPrivateKey(Buffer.alloc(32))).toBeNull();
    expect(readBackupPrivateKey(Buffer.from("00".repeat(32)))).toBeNull();
  });
});
