/**
 * The certificate and key of the service: read whole, checked against each other, and named by the descriptors that were
 * checked, so that what is taken up is what was looked at, also where the files are exchanged one after the other.
 */
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { CertificateView } from "../admin/operations.js";

export interface TlsPaths {
  readonly certFile: string;
  readonly keyFile: string;
}

export type TlsProblem =
  | "CERT_UNREADABLE"
  | "KEY_UNREADABLE"
  | "KEY_OPEN_TO_OTHERS"
  | "CERT_INVALID"
  | "KEY_INVALID"
  | "MISMATCH"
  | "EXPIRED"
  | "REFUSED_BY_SERVER";

/** `problem` is for the operator; it quotes paths and nothing of the files. */
export class TlsRefusal extends Error {
  override readonly name = "TlsRefusal";
  readonly reason: TlsProblem;

  constructor(reason: TlsProblem, problem: string) {
    super(problem);
    this.reason = reason;
  }
}

export interface TlsFiles {
  readonly view: CertificateView;
  /** Of both files: alike for the same content. */
  readonly fingerprint: string;
  /** Readable until `close`. */
  readonly certPath: string;
  readonly keyPath: string;
  close(): void;
}

/** A long chain is a tenth of it. */
const PEM_BYTES_MAX = 256 * 1024;
const OPEN_TO_OTHERS = 0o037;

/** Throws TlsRefusal. The caller closes the result. `nowMs`: an expired certificate is refused, null takes it. */
export function openTlsFiles({ certFile, keyFile }: TlsPaths, nowMs: number | null): TlsFiles {
  const cert = openPem(certFile, "CERT_UNREADABLE");
  try {
    const key = openPem(keyFile, "KEY_UNREADABLE");
    try {
      const view = checkPair(certFile, keyFile, cert, key);
      if (nowMs !== null && view.validUntilMs <= nowMs)
        throw new TlsRefusal("EXPIRED", `the certificate in ${certFile} has expired`);
      return {
        view,
        fingerprint: createHash("sha256").update(cert.bytes).update("\0").update(key.bytes).digest("hex"),
        certPath: cert.path,
        keyPath: key.path,
        close() {
          closeSync(cert.descriptor);
          closeSync(key.descriptor);
        },
      };
    } catch (error) {
      closeSync(key.descriptor);
      throw error;
    } finally {
      key.bytes.fill(0);
    }
  } catch (error) {
    closeSync(cert.descriptor);
    throw error;
  }
}

interface OpenPem {
  readonly descriptor: number;
  readonly mode: number;
  readonly bytes: Buffer;
  readonly path: string;
}

function openPem(path: string, reason: TlsProblem): OpenPem {
  let descriptor: number;
  try {
    // Without O_NONBLOCK a pipe would hold the service.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new TlsRefusal(reason, `${path} cannot be opened (${codeOf(error)})`);
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size === 0 || stats.size > PEM_BYTES_MAX)
      throw new TlsRefusal(reason, `${path} is no file of 1 to ${PEM_BYTES_MAX} bytes`);
    const bytes = Buffer.alloc(stats.size);
    let filled = 0;
    for (let count = -1; count !== 0 && filled < bytes.length; filled += count)
      count = readSync(descriptor, bytes, filled, bytes.length - filled, filled);
    // The same file by its descriptor, whatever its name leads to by then.
    const byDescriptor = `/proc/self/fd/${descriptor}`;
    return { descriptor, mode: stats.mode, bytes, path: existsSync(byDescriptor) ? byDescriptor : path };
  } catch (error) {
    closeSync(descriptor);
    if (error instanceof TlsRefusal) throw error;
    throw new TlsRefusal(reason, `${path} cannot be read (${codeOf(error)})`);
  }
}

function checkPair(certFile: string, keyFile: string, cert: OpenPem, key: OpenPem): CertificateView {
  if ((key.mode & OPEN_TO_OTHERS) !== 0)
    throw new TlsRefusal("KEY_OPEN_TO_OTHERS", `others can read ${keyFile}: chmod 640 it`);
  const certificate = tried("CERT_INVALID", `${certFile} holds no certificate in PEM form`, () => {
    // A file that only begins like one, or has another kind of block first, is none.
    return new X509Certificate(cert.bytes);
  });
  const privateKey = tried("KEY_INVALID", `${keyFile} holds no private key in PEM form without a passphrase`, () =>
    createPrivateKey(key.bytes),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new TlsRefusal("MISMATCH", `the key in ${keyFile} is not that of the certificate in ${certFile}`);
  tried("CERT_INVALID", `the chain in ${certFile} cannot be used`, () =>
    createSecureContext({ cert: cert.bytes, key: key.bytes }),
  );
  return {
    serial: certificate.serialNumber,
    subject: certificate.subject.replaceAll("\n", ", "),
    validFromMs: Date.parse(certificate.validFrom),
    validUntilMs: Date.parse(certificate.validTo),
  };
}

function tried<T>(reason: TlsProblem, problem: string, run: () => T): T {
  try {
    return run();
  } catch {
    // Messages of the parser may quote what they read.
    throw new TlsRefusal(reason, problem);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
}
