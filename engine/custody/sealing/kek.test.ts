import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { scryptSync } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { deriveKek, Kek, type KekSource, readKekSource } from "./kek.js";
import { newScryptParameters, SCRYPT_POLICY, type ScryptParameters } from "./passphrase.js";
import { MAX_SECRET_FILE_BYTES, readSecretFile } from "./secret-file.js";
import { errorOf, FAST_SCRYPT, refusalOf, seededRandom } from "./test/sealing-doubles.js";

const folder = mkdtempSync(join(tmpdir(), "unwind-kek-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RAW = Buffer.alloc(32);
seededRandom(5)(RAW);
const HEX = RAW.toString("hex");

let fileCount = 0;
function fileOf(content: string | Uint8Array, mode = 0o600): string {
  const path = join(folder, `secret-${fileCount++}`);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const read = (source: KekSource): string => readKekSource(source, readSecretFile).bytes.toString("hex");
const refused = (source: KekSource): Promise<string> => refusalOf((async () => read(source))());

describe("a key file", () => {
  it.each([
    ["32 raw bytes", RAW],
    ["64 hex digits", HEX],
    ["capital hex digits", HEX.toUpperCase()],
    ["hex digits and a line end", `${HEX}\n`],
    ["hex digits and a line end of another system", `${HEX}\r\n`],
  ])("may hold %s", (_name, content) => {
    expect(read({ kind: "file", path: fileOf(content) })).toBe(HEX);
    expect(read({ kind: "file", path: fileOf(content, 0o400) })).toBe(HEX);
  });

  it.each([
    ["31 bytes", RAW.subarray(1), "KEY_FORM"],
    ["33 bytes", Buffer.concat([RAW, RAW.subarray(0, 1)]), "KEY_FORM"],
    ["raw bytes and a line end", Buffer.concat([RAW, Buffer.from("\n")]), "KEY_FORM"],
    ["two line ends", `${HEX}\n\n`, "KEY_FORM"],
    ["a space before", ` ${HEX}`, "KEY_FORM"],
    ["a letter that is no digit", `${HEX.slice(1)}g`, "KEY_FORM"],
    ["a sign that is no digit", `${HEX.slice(1)}@`, "KEY_FORM"],
    ["half a hex key", HEX.slice(32), "KEY_WEAK"],
    ["a password of 32 characters", "correct horse battery staple 123", "KEY_WEAK"],
    ["a password of 31 characters and a line end", "correct horse battery staple 12\n", "KEY_WEAK"],
    ["zeros", Buffer.alloc(32), "KEY_WEAK"],
    ["the digits of one byte", "ab".repeat(32), "KEY_WEAK"],
    ["nothing", "", "FILE_SIZE"],
    ["far too much", Buffer.alloc(MAX_SECRET_FILE_BYTES + 1, 7), "FILE_SIZE"],
  ])("is refused with %s in it", async (_name, content, reason) => {
    expect(await refused({ kind: "file", path: fileOf(content) })).toBe(`SEAL_KEY_REFUSED ${reason}`);
  });

  it.each([0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o666, 0o777])("is refused with mode %o", async (mode) => {
    const source = { kind: "file", path: fileOf(HEX, mode) } as const;
    expect(await refused(source)).toBe("SEAL_KEY_REFUSED FILE_MODE");
    const error = errorOf(() => read(source));
    expect(String(error)).toContain(`has mode 0${mode.toString(8)}`);
    expect(String(error)).not.toContain(HEX.slice(0, 8));
  });

  it.skipIf(process.getuid?.() !== 0)("is refused where it belongs to another user (checked as root)", async () => {
    const path = fileOf(HEX);
    chownSync(path, 65_534, 65_534);
    expect(await refused({ kind: "file", path })).toBe("SEAL_KEY_REFUSED FILE_OWNER");
  });

  it("is refused where it is a folder, a device, a pipe or missing", async () => {
    const inner = join(folder, "inner");
    mkdirSync(inner, { mode: 0o700 });
    const pipe = join(folder, "pipe");
    expect(spawnSync("mkfifo", ["-m", "600", pipe]).status).toBe(0);
    expect(await refused({ kind: "file", path: inner })).toBe("SEAL_KEY_REFUSED FILE_NOT_REGULAR");
    expect(await refused({ kind: "file", path: "/dev/zero" })).toBe("SEAL_KEY_REFUSED FILE_NOT_REGULAR");
    expect(await refused({ kind: "file", path: pipe })).toBe("SEAL_KEY_REFUSED FILE_NOT_REGULAR");
    expect(await refused({ kind: "file", path: join(folder, "none") })).toBe("SEAL_KEY_REFUSED FILE_UNREADABLE");
    expect(await refused({ kind: "file", path: `${folder}/a\0b` })).toBe("SEAL_KEY_REFUSED FILE_UNREADABLE");
  });

  it("may be reached by a link, and is itself what is checked", async () => {
    const good = join(folder, "good-link");
    const open = join(folder, "open-link");
    symlinkSync(fileOf(HEX), good);
    symlinkSync(fileOf(HEX, 0o644), open);
    expect(read({ kind: "file", path: good })).toBe(HEX);
    expect(await refused({ kind: "file", path: open })).toBe("SEAL_KEY_REFUSED FILE_MODE");
  });
});

describe("a key of the environment", () => {
  it("is 64 hex digits and nothing else", async () => {
    expect(read({ kind: "environment", hex: HEX })).toBe(HEX);
    // The last looks like digits where only the low byte of each character is taken.
    for (const hex of ["", HEX.slice(1), `${HEX}0`, `${HEX}\n`, ` ${HEX.slice(1)}`, "\u0130\u0131".repeat(32)])
      expect(await refused({ kind: "environment", hex })).toBe("SEAL_KEY_REFUSED KEY_FORM");
    expect(await refused({ kind: "environment", hex: "00".repeat(32) })).toBe("SEAL_KEY_REFUSED KEY_WEAK");
  });
});

describe("a passphrase", () => {
  const salt = Buffer.alloc(32, 4);
  const passphrase = Buffer.from("correct horse battery staple");

  it("is taken as its bytes, from a file without its line end", () => {
    expect(read({ kind: "passphrase", passphrase })).toBe(passphrase.toString("hex"));
    for (const end of ["", "\n", "\r\n"])
      expect(read({ kind: "passphrase-file", path: fileOf(`${passphrase.toString()}${end}`) })).toBe(
        passphrase.toString("hex"),
      );
    expect(read({ kind: "passphrase-file", path: fileOf(`${passphrase.toString()} \n\n`) })).toBe(
      Buffer.from(`${passphrase.toString()} \n`).toString("hex"),
    );
  });

  it("that is too short or too long is refused", async () => {
    for (const length of [0, 11, 1_025])
      expect(await refused({ kind: "passphrase", passphrase: Buffer.alloc(length, 97) })).toBe(
        "SEAL_KEY_REFUSED PASSPHRASE_LENGTH",
      );
    expect(await refused({ kind: "passphrase-file", path: fileOf("12345678901\n") })).toBe(
      "SEAL_KEY_REFUSED PASSPHRASE_LENGTH",
    );
  });

  it("makes its key with scrypt, N = 2^17, r = 8, p = 1, and a salt of 32 bytes", async () => {
    const drawn = newScryptParameters(SCRYPT_POLICY, seededRandom(6));
    expect([drawn.log2N, drawn.r, drawn.p, drawn.salt.byteLength]).toEqual([17, 8, 1, 32]);
    const kek = await deriveKek({ kind: "passphrase", bytes: passphrase }, drawn, SCRYPT_POLICY);
    const expected = scryptSync(passphrase, drawn.salt, 32, { N: 131_072, r: 8, p: 1, maxmem: 1 << 28 });
    expect(kek?.key.equals(expected)).toBe(true);
  });

  it.each<[string, Partial<ScryptParameters>]>([
    ["an N of 2^16", { log2N: 16 }],
    ["an N of 2^19", { log2N: 19 }],
    ["an N of 2^1000", { log2N: 1_000 }],
    ["a fraction of N", { log2N: 17.5 }],
    ["no N", { log2N: Number.NaN }],
    ["an r of 1", { r: 1 }],
    ["an r of 2^20", { r: 2 ** 20 }],
    ["a p of 0", { p: 0 }],
    ["a p of 5", { p: 5 }],
    ["a short salt", { salt: Buffer.alloc(8) }],
    ["a long salt", { salt: Buffer.alloc(64) }],
  ])("is not derived with %s from the store", async (_name, wrong) => {
    const parameters = { log2N: 17, r: 8, p: 1, salt, ...wrong };
    const secret = { kind: "passphrase", bytes: passphrase } as const;
    expect(await refusalOf(deriveKek(secret, parameters, SCRYPT_POLICY))).toBe("SEAL_KEY_REFUSED KEY_ROW_DAMAGED");
  });

  it("is never taken for a key, nor a key for a passphrase", async () => {
    const parameters = newScryptParameters(FAST_SCRYPT, seededRandom(7));
    expect(await deriveKek({ kind: "passphrase", bytes: passphrase }, null, FAST_SCRYPT)).toBeNull();
    expect(await deriveKek({ kind: "key", bytes: RAW }, parameters, FAST_SCRYPT)).toBeNull();
  });
});

describe("the id of a KEK", () => {
  it("differs for keys that differ in one bit, and holds no byte of the key in order", () => {
    const twin = Buffer.from(RAW);
    twin[31] = (twin[31] ?? 0) ^ 1;
    const [kek, other] = [new Kek(Buffer.from(RAW)), new Kek(twin)];
    expect(kek.id).toMatch(/^[0-9a-f]{16}$/);
    expect(kek.id).not.toBe(other.id);
    expect(HEX).not.toContain(kek.id.slice(0, 8));
  });
});
