/**
 * A party's next certificate (`unwind custody certificate`): made beside the present one, taken up once the other party
 * pins it, and the former one kept. Each step is a file that takes another's place, durable before the next one; a process
 * that starts between any two of them finds a key and its certificate (party-certificate.ts).
 *
 * Invariants, by what a kill leaves. The next key is made before its certificate: `link.key.next` alone is nothing, and
 * need not be whole. It is taken up before its certificate, too: `link.crt.next` alone is that of `link.key`.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import {
  nextOf,
  type PartyCertificate,
  PartyCertificateError,
  type PartyFiles,
  pinOfCertificateFile,
  readPartyCertificate,
  syncFolder,
  writeNew,
  writePartyCertificate,
} from "./party-certificate.js";
import { formatPin } from "./pins.js";

const FORMER_SUFFIX = ".old";

/** Pins as the configuration has them. */
interface PartyPins {
  /** Of the certificate that this party shows from its next start on. */
  readonly pin: string;
  /** Of the one that is made and not taken up; absent: there is none. */
  readonly nextPin?: string;
}

export type MadeCertificate = Required<PartyPins>;

export interface UsedCertificate extends Pick<PartyPins, "pin"> {
  /** Of the one before it. */
  readonly formerPin: string;
}

/** Throws PartyCertificateError. */
export function pinsOfParty(files: PartyFiles): PartyPins {
  const next = nextFilesOf(files);
  const stage = stageOf(files);
  const pin = pinOfCertificateFile(stage === "cut short" ? next.certFile : files.certFile);
  return stage === "made" ? { pin, nextPin: pinOfCertificateFile(next.certFile) } : { pin };
}

/** Makes the next certificate, or names the one that is there. Throws PartyCertificateError. */
export function makeNextCertificate(files: PartyFiles, party: Party): MadeCertificate {
  const next = nextFilesOf(files);
  const stage = stageOf(files);
  if (stage === "cut short")
    throw new PartyCertificateError("CUT_SHORT", `${next.certFile} is half taken up: --use ends that`);
  const pin = pinOf(files);
  if (stage === "made") return { pin, nextPin: pinOf(next) };
  const made = { ...next, certFile: temporaryOf(next.certFile) };
  // Of a command that was killed: nobody has heard of it.
  for (const path of [made.keyFile, made.certFile]) rmSync(path, { force: true });
  const nextPin = formatPin(writePartyCertificate(made, party));
  renamed(made.certFile, next.certFile);
  return { pin, nextPin };
}

/** The next certificate takes the place of the present one. Throws PartyCertificateError; the party starts all the same. */
export function useNextCertificate(files: PartyFiles): UsedCertificate {
  const next = nextFilesOf(files);
  const stage = stageOf(files);
  if (stage === "none")
    throw new PartyCertificateError("NO_NEXT", `${next.certFile} is not there: make it first, without --use`);
  const pin = pinOf(stage === "made" ? next : { ...files, certFile: next.certFile });
  const formerPin = pinOfCertificateFile(files.certFile);
  if (stage === "made") {
    keep(files, { certFile: formerOf(files.certFile), keyFile: formerOf(files.keyFile) });
    renamed(next.keyFile, files.keyFile);
  }
  renamed(next.certFile, files.certFile);
  return { pin, formerPin };
}

/** `cut short`: the next key was taken up, and its certificate was not. */
function stageOf(files: PartyFiles): "none" | "made" | "cut short" {
  const next = nextFilesOf(files);
  if (!existsSync(next.certFile)) return "none";
  return existsSync(next.keyFile) ? "made" : "cut short";
}

function nextFilesOf({ certFile, keyFile }: PartyFiles): PartyFiles {
  return { certFile: nextOf(certFile), keyFile: nextOf(keyFile) };
}

function formerOf(path: string): string {
  return `${path}${FORMER_SUFFIX}`;
}

/** Written whole under it before the file has its name. */
function temporaryOf(path: string): string {
  return `${path}.tmp`;
}

/** The key and its certificate fit. */
function pinOf(files: PartyFiles): string {
  return withCertificate(files, ({ pin }) => formatPin(pin));
}

/** Copies, so that the present files stay in their place until others take it. */
function keep(files: PartyFiles, former: PartyFiles): void {
  withCertificate(files, ({ key, certificate }) => {
    replace(former.keyFile, key, 0o600);
    replace(former.certFile, certificate, 0o644);
  });
}

function withCertificate<Result>(files: PartyFiles, act: (read: PartyCertificate) => Result): Result {
  const read = readPartyCertificate(files);
  try {
    return act(read);
  } finally {
    read.key.fill(0);
  }
}

function replace(path: string, bytes: Buffer, mode: number): void {
  const temporary = temporaryOf(path);
  rmSync(temporary, { force: true });
  writeNew(temporary, bytes, mode);
  renamed(temporary, path);
}

/** Durable when it returns. */
function renamed(from: string, to: string): void {
  try {
    renameSync(from, to);
    syncFolder(dirname(to));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
    throw new PartyCertificateError("FILE_UNWRITABLE", `${to} cannot be replaced (${code})`);
  }
}
