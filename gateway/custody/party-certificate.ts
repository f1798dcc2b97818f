/**
 * The certificate and key by which a party shows itself to the other: made by the set-up command, read at the start.
 *
 * The certificate is a wrapper that TLS wants around a key: its names, dates and signature decide nothing (docs/mpc.md,
 * 3.1), so it is one fixed shape, written by der.ts, and claims all of time. Invariant: a key file is of mode 0600 from
 * its first moment, is never overwritten, and is not taken where others can read it.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import { readSecretFile } from "../../engine/custody/sealing/secret-file.js";
import { ServiceError } from "../../engine/domain/errors.js";
import {
  derBitString,
  derExplicit,
  derGeneralizedTime,
  derInteger,
  derObjectId,
  derOctetString,
  derSequence,
  derSetOf,
  derTrue,
  derUtcTime,
  derUtf8,
} from "./der.js";
import { formatPin, pinOf } from "./pins.js";

export interface PartyFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface PartyCertificate {
  /** PEM. */
  readonly certificate: Buffer;
  /** PEM; whoever holds it wipes it. */
  readonly key: Buffer;
  /** What the other party pins. */
  readonly pin: Buffer;
}

export type CertificateProblem =
  | "FILE_EXISTS"
  | "FILE_UNWRITABLE"
  /** Not readable, not of this user or root, open to others, or no short regular file. */
  | "KEY_FILE"
  | "CERT_UNREADABLE"
  | "CERT_INVALID"
  | "KEY_INVALID"
  | "MISMATCH"
  /** There is no next certificate to take up. */
  | "NO_NEXT"
  /** One is half taken up. */
  | "CUT_SHORT"
  /** The pin of the other party is the own one. */
  | "SAME_KEY";

/** The message is for the operator; it quotes paths and nothing of the files. */
export class PartyCertificateError extends Error {
  override readonly name = "PartyCertificateError";
  readonly reason: CertificateProblem;

  constructor(reason: CertificateProblem, problem: string) {
    super(problem);
    this.reason = reason;
  }
}

const NAMES = ["unwind custody service", "unwind custody co-signer"] as const;
const OID = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
} as const;
const SERIAL_BYTES = 16;
/** A certificate of ours has about 500. */
const CERT_BYTES_MAX = 64 * 1024;

/** A new EC P-256 key and its certificate, in memory. */
export function createPartyCertificate(party: Party): PartyCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificate = pem("CERTIFICATE", selfSigned(NAMES[party], publicKey, privateKey));
  // A string that cannot be wiped: the set-up command ends right behind it, and the key protects a link, not a share.
  const key = Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" }).toString(), "ascii");
  return { certificate, key, pin: pinOf(publicKey) };
}

/** Makes both files; returns the pin. Throws PartyCertificateError, and leaves neither file of its own then. */
export function writePartyCertificate(files: PartyFiles, party: Party): Buffer {
  const made = createPartyCertificate(party);
  try {
    writeNew(files.keyFile, made.key, 0o600);
    try {
      writeNew(files.certFile, made.certificate, 0o644);
    } catch (error) {
      rmSync(files.keyFile, { force: true });
      throw error;
    }
    return made.pin;
  } finally {
    made.key.fill(0);
  }
}

/** Where the next certificate, or its key, lies until it is taken up. */
export function nextOf(path: string): string {
  return `${path}.next`;
}

/**
 * Throws PartyCertificateError. The caller wipes the key. The key decides: while the next certificate is taken up, which
 * a kill may leave half done, it may be that of the key already.
 */
export function readPartyCertificate({ certFile, keyFile }: PartyFiles): PartyCertificate {
  const present = readParsed(certFile);
  const key = readKey(keyFile);
  try {
    const problem = `${keyFile} holds no private key in PEM form without a passphrase`;
    const privateKey = tried("KEY_INVALID", problem, () => createPrivateKey(key));
    const fits = ({ parsed }: ReadCertificate) => parsed.checkPrivateKey(privateKey);
    const found = fits(present) ? present : candidatesOf(certFile).find(fits);
    if (found === undefined)
      throw new PartyCertificateError(
        "MISMATCH",
        `the key in ${keyFile} is not that of the certificate in ${certFile}`,
      );
    return { certificate: found.certificate, key, pin: pinOf(found.parsed.publicKey) };
  } catch (error) {
    key.fill(0);
    throw error;
  }
}

interface ReadCertificate {
  readonly certificate: Buffer;
  readonly parsed: X509Certificate;
}

function readParsed(certFile: string): ReadCertificate {
  const certificate = readCertificate(certFile);
  const parsed = tried("CERT_INVALID", `${certFile} holds no certificate in PEM form`, () => {
    return new X509Certificate(certificate);
  });
  return { certificate, parsed };
}

/** Where the present one was read before it was replaced, the second look has it. */
function candidatesOf(certFile: string): readonly ReadCertificate[] {
  const next = nextOf(certFile);
  return [...(existsSync(next) ? [next] : []), certFile].map(readParsed);
}

/** The pin of a certificate file, in the form of the configuration. Throws PartyCertificateError. */
export function pinOfCertificateFile(certFile: string): string {
  return formatPin(pinOf(readParsed(certFile).parsed.publicKey));
}

/** X.509 v3 (RFC 5280): an end entity whose key signs handshakes, from 2000 until the end of all dates. */
function selfSigned(name: string, publicKey: KeyObject, privateKey: KeyObject): Buffer {
  const algorithm = derSequence(derObjectId(OID.ecdsaWithSha256));
  const distinguishedName = derSequence(derSetOf(derSequence(derObjectId(OID.commonName), derUtf8(name))));
  const serial = randomBytes(SERIAL_BYTES);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const body = derSequence(
    derExplicit(0, derInteger(Uint8Array.of(2))),
    derInteger(serial),
    algorithm,
    distinguishedName,
    // "No well-defined expiration" of RFC 5280, 4.1.2.5.
    derSequence(derUtcTime("000101000000Z"), derGeneralizedTime("99991231235959Z")),
    distinguishedName,
    publicKey.export({ type: "spki", format: "der" }),
    derExplicit(
      3,
      derSequence(
        criticalExtension(OID.basicConstraints, derSequence()),
        // Bit 0: digitalSignature.
        criticalExtension(OID.keyUsage, derBitString(Uint8Array.of(0x80), 7)),
      ),
    ),
  );
  return derSequence(body, algorithm, derBitString(sign("sha256", body, privateKey)));
}

function criticalExtension(objectId: string, value: Buffer): Buffer {
  return derSequence(derObjectId(objectId), derTrue(), derOctetString(value));
}

function pem(label: string, der: Buffer): Buffer {
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return Buffer.from(`-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`, "ascii");
}

/** Durable with its name when it returns. */
export function writeNew(path: string, bytes: Buffer, mode: number): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, "wx", mode);
  } catch (error) {
    if (codeOf(error) === "EEXIST")
      throw new PartyCertificateError("FILE_EXISTS", `${path} exists already; nothing is overwritten`);
    throw new PartyCertificateError("FILE_UNWRITABLE", `${path} cannot be made (${codeOf(error)})`);
  }
  try {
    for (let at = 0; at < bytes.byteLength; ) at += writeSync(descriptor, bytes, at);
    fsyncSync(descriptor);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(path, { force: true });
    throw new PartyCertificateError("FILE_UNWRITABLE", `${path} cannot be written (${codeOf(error)})`);
  } finally {
    closeSync(descriptor);
  }
}

export function syncFolder(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function readKey(keyFile: string): Buffer {
  try {
    return readSecretFile(keyFile);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new PartyCertificateError("KEY_FILE", String(error.context["problem"]));
  }
}

function readCertificate(certFile: string): Buffer {
  try {
    // A pipe or a device would hold the start.
    const stats = statSync(certFile);
    if (!stats.isFile() || stats.size === 0 || stats.size > CERT_BYTES_MAX)
      throw new PartyCertificateError("CERT_UNREADABLE", `${certFile} is no file of 1 to ${CERT_BYTES_MAX} bytes`);
    return readFileSync(certFile);
  } catch (error) {
    if (error instanceof PartyCertificateError) throw error;
    throw new PartyCertificateError("CERT_UNREADABLE", `${certFile} cannot be read (${codeOf(error)})`);
  }
}

function tried<T>(reason: CertificateProblem, problem: string, run: () => T): T {
  try {
    return run();
  } catch {
    // Messages of the parser may quote what they read.
    throw new PartyCertificateError(reason, problem);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
}
