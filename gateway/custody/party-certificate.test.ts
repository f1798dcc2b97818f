import { spawnSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { hasOpenssl } from "../test/certificates.js";
import { derInteger, derObjectId, derOctetString } from "./der.js";
import { identityOf, openIdentity } from "./link-tls.js";
import {
  createPartyCertificate,
  type PartyFiles,
  pinOfCertificateFile,
  readPartyCertificate,
  writePartyCertificate,
} from "./party-certificate.js";
import { formatPin } from "./pins.js";
import { COSIGNER, SERVICE } from "./test/link-doubles.js";
import { certificateProblem } from "./test/certificate-problem.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function place(): PartyFiles {
  const folder = mkdtempSync(join(tmpdir(), "unwind-party-"));
  folders.push(folder);
  return { certFile: join(folder, "party.crt"), keyFile: join(folder, "party.key") };
}

describe("a party's certificate", () => {
  it("holds the key it is made with, signs itself, and claims all of time", () => {
    const made = createPartyCertificate(1);
    const certificate = new X509Certificate(made.certificate);
    expect(certificate.checkPrivateKey(createPrivateKey(made.key))).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.issuer).toBe(certificate.subject);
    expect(certificate.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
    expect(certificate.subject).toBe("CN=unwind custody co-signer");
    expect(new X509Certificate(SERVICE.certificate).subject).toBe("CN=unwind custody service");
    expect(certificate.ca).toBe(false);
    expect([certificate.validFrom, certificate.validTo]).toEqual([
      "Jan  1 00:00:00 2000 GMT",
      "Dec 31 23:59:59 9999 GMT",
    ]);
  });

  it("is another one each time", () => {
    const made = Array.from({ length: 20 }, () => createPartyCertificate(0));
    const parsed = made.map(({ certificate }) => new X509Certificate(certificate));
    expect(new Set(made.map(({ pin }) => formatPin(pin))).size).toBe(20);
    expect(new Set(parsed.map(({ serialNumber }) => serialNumber)).size).toBe(20);
    // Positive and of full length: the first bits are 01.
    expect(parsed.every(({ serialNumber }) => /^[4-7][0-9A-F]{31}$/.test(serialNumber))).toBe(true);
  });

  it.skipIf(!hasOpenssl)("is taken by openssl's strict reading, where openssl is installed", () => {
    const files = place();
    writePartyCertificate(files, 0);
    const { certFile } = files;
    const verified = spawnSync("openssl", ["verify", "-x509_strict", "-CAfile", certFile, "-partial_chain", certFile], {
      encoding: "utf8",
    });
    expect(verified.stdout + verified.stderr).toBe(`${certFile}: OK\n`);
    const shown = spawnSync("openssl", ["x509", "-in", certFile, "-noout", "-text"], { encoding: "utf8" }).stdout;
    for (const text of ["Version: 3 (0x2)", "CA:FALSE", "Digital Signature", "ecdsa-with-SHA256", "NIST CURVE: P-256"])
      expect(shown).toContain(text);
  });

  it("is written with a key file for its owner alone, and read back", () => {
    const files = place();
    const mask = process.umask(0);
    let pin: Buffer;
    try {
      pin = writePartyCertificate(files, 1);
    } finally {
      process.umask(mask);
    }
    expect(statSync(files.keyFile).mode & 0o777).toBe(0o600);
    const read = readPartyCertificate(files);
    expect(read.pin).toEqual(pin);
    expect(read.certificate).toEqual(readFileSync(files.certFile));
    expect(read.key).toEqual(readFileSync(files.keyFile));
    expect(pinOfCertificateFile(files.certFile)).toBe(formatPin(pin));
  });

  it("overwrites neither file, and leaves no key where the certificate could not be written", () => {
    const files = place();
    writePartyCertificate(files, 0);
    const before = [readFileSync(files.certFile), readFileSync(files.keyFile)];
    expect(certificateProblem(() => writePartyCertificate(files, 0))).toBe("FILE_EXISTS");
    expect([readFileSync(files.certFile), readFileSync(files.keyFile)]).toEqual(before);
    const { certFile } = files;
    const keyFile = `${files.keyFile}.next`;
    expect(certificateProblem(() => writePartyCertificate({ certFile, keyFile }, 0))).toBe("FILE_EXISTS");
    expect(existsSync(keyFile)).toBe(false);
    expect(readFileSync(certFile)).toEqual(before[0]);
    const missing = { certFile, keyFile: join(files.keyFile, "below", "a.key") };
    expect(certificateProblem(() => writePartyCertificate(missing, 0))).toBe("FILE_UNWRITABLE");
  });

  it("does not follow a link that stands where a file is to be made", () => {
    const files = place();
    symlinkSync(join(folders[0] ?? "", "elsewhere"), files.keyFile);
    expect(certificateProblem(() => writePartyCertificate(files, 0))).toBe("FILE_EXISTS");
    expect(existsSync(join(folders[0] ?? "", "elsewhere"))).toBe(false);
  });
});

describe("reading a party's files", () => {
  const CASES: readonly (readonly [what: string, reason: string, spoil: (files: PartyFiles) => void])[] = [
    ["a key that the group can read", "KEY_FILE", ({ keyFile }) => chmodSync(keyFile, 0o640)],
    ["a key that others can read", "KEY_FILE", ({ keyFile }) => chmodSync(keyFile, 0o604)],
    ["no key", "KEY_FILE", ({ keyFile }) => rmSync(keyFile)],
    ["an empty key", "KEY_FILE", ({ keyFile }) => writeFileSync(keyFile, "")],
    ["a key file that is too long", "KEY_FILE", ({ keyFile }) => writeFileSync(keyFile, Buffer.alloc(1_027))],
    ["text for a key", "KEY_INVALID", ({ keyFile }) => writeFileSync(keyFile, "no key")],
    ["half of the key", "KEY_INVALID", ({ keyFile }) => writeFileSync(keyFile, readFileSync(keyFile).subarray(0, 99))],
    ["the key of another", "MISMATCH", ({ keyFile }) => writeFileSync(keyFile, COSIGNER.key)],
    ["no certificate", "CERT_UNREADABLE", ({ certFile }) => rmSync(certFile)],
    ["an empty certificate", "CERT_UNREADABLE", ({ certFile }) => writeFileSync(certFile, "")],
    ["a long certificate", "CERT_UNREADABLE", ({ certFile }) => writeFileSync(certFile, Buffer.alloc(65_537))],
    ["text for a certificate", "CERT_INVALID", ({ certFile }) => writeFileSync(certFile, "none")],
    ["a key for a certificate", "CERT_INVALID", ({ certFile }) => writeFileSync(certFile, COSIGNER.key)],
  ];

  it.each(CASES)("refuses %s (%s), and quotes nothing of it", (_, reason, spoil) => {
    const files = place();
    writePartyCertificate(files, 0);
    const secret = readFileSync(files.keyFile, "utf8").split("\n")[1] ?? "";
    spoil(files);
    expect(certificateProblem(() => readPartyCertificate(files))).toBe(reason);
    expect(certificateProblem(() => openIdentity(files, [COSIGNER.pin]))).toBe(reason);
    expect(() => readPartyCertificate(files)).not.toThrow(secret);
  });

  it("refuses a key of another kind than the certificate's", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const files = place();
    writePartyCertificate(files, 0);
    writeFileSync(files.keyFile, privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(certificateProblem(() => readPartyCertificate(files))).toBe("MISMATCH");
  });

  it("refuses a peer's pin that is the own one", () => {
    expect(certificateProblem(() => identityOf(SERVICE, [COSIGNER.pin, SERVICE.pin]))).toBe("SAME_KEY");
    expect(certificateProblem(() => identityOf(SERVICE, [COSIGNER.pin]))).toBe("none");
  });
});

describe("DER", () => {
  it("writes integers shortest and positive", () => {
    const hex = (...bytes: number[]) => derInteger(Uint8Array.from(bytes)).toString("hex");
    expect([hex(), hex(0), hex(0, 0), hex(1), hex(0x7f), hex(0x80), hex(0, 0x80), hex(0, 0, 1, 2)]).toEqual([
      ...["020100", "020100", "020100", "020101", "02017f", "02020080", "02020080", "02020102"],
    ]);
  });

  it("writes lengths in the shortest form", () => {
    const start = (length: number) => derOctetString(Buffer.alloc(length)).subarray(0, 5).toString("hex");
    expect([start(127), start(128), start(255), start(256), start(65_535)]).toEqual([
      ...["047f000000", "0481800000", "0481ff0000", "0482010000", "0482ffff00"],
    ]);
    expect(derOctetString(Buffer.alloc(65_536)).subarray(0, 5).toString("hex")).toBe("0483010000");
  });

  it("writes the object identifiers of the standards", () => {
    // RFC 5758, 3.2; RFC 5280, 4.2.1.9.
    expect(derObjectId("1.2.840.10045.4.3.2").toString("hex")).toBe("06082a8648ce3d040302");
    expect(derObjectId("2.5.29.19").toString("hex")).toBe("0603551d13");
  });
});
