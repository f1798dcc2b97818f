/**
 * Makes the folders of both parties (`unwind custody init`): certificates that pin each other, the co-signer's own
 * key-encryption key, and, where no public backup keys are given, two pairs whose private halves lie in a third folder
 * and have to leave the machine. Nothing that exists is written over; what was made is removed again where a step fails.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type BackupPublicKey, makeBackupPair } from "../../engine/custody/provider/backup-key.js";
import type { RandomSource } from "../../engine/custody/mpc/base/random.js";
import { secretBuffer } from "../../engine/custody/sealing/secret-bytes.js";
import { CONFIG_FILE, filesOf, partyConfigText } from "./party-config.js";
import { writePartyCertificate } from "./party-certificate.js";
import { PARTY_NAMES, type PartyName } from "./party-names.js";
import { formatPin } from "./pins.js";

const KEK_BYTES = 32;
const OWNER_ALONE = 0o700;

export interface PartySetup {
  /** Made, with the folders in it. */
  readonly directory: string;
  /** Null: a pair is made. */
  readonly backupKeys: Readonly<Record<PartyName, BackupPublicKey | null>>;
  readonly random: RandomSource;
}

export interface MadeParty {
  readonly directory: string;
  readonly pin: string;
  readonly backupPublicKey: string;
  /** Null: its private half was not made here. */
  readonly backupPrivateFile: string | null;
}

/** The folder exists already, or cannot be written; a text for the operator. */
export class SetupError extends Error {
  override readonly name = "SetupError";
}

export function makeParties({ directory, backupKeys, random }: PartySetup): Readonly<Record<PartyName, MadeParty>> {
  try {
    mkdirSync(directory, { recursive: true, mode: OWNER_ALONE });
  } catch (error) {
    throw refused(directory, error);
  }
  const undo: (() => void)[] = [];
  try {
    const [service, cosigner] = PARTY_NAMES.map((party) => newParty(directory, party, backupKeys[party], random, undo));
    if (service === undefined || cosigner === undefined) throw new RangeError("two parties");
    if (service.backupKey.id.equals(cosigner.backupKey.id))
      throw new SetupError("the two backup keys are one key: whoever has it has both shares");
    writeConfig(directory, "service", cosigner.pin, service.backupKey);
    writeConfig(directory, "cosigner", service.pin, cosigner.backupKey);
    const kek = secretBuffer(KEK_BYTES);
    random.fill("kek", kek);
    writeNew(join(directory, "cosigner", "kek"), kek);
    kek.fill(0);
    return { service: madeOf(service), cosigner: madeOf(cosigner) };
  } catch (error) {
    for (const step of undo.reverse()) step();
    throw error instanceof SetupError ? error : refused(directory, error);
  }
}

interface NewParty {
  readonly directory: string;
  readonly pin: Buffer;
  readonly backupKey: BackupPublicKey;
  readonly privateFile: string | null;
}

function newParty(
  root: string,
  party: PartyName,
  given: BackupPublicKey | null,
  random: RandomSource,
  undo: (() => void)[],
): NewParty {
  const directory = join(root, party);
  mkdirSync(directory, { mode: OWNER_ALONE });
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "backups"), { mode: OWNER_ALONE });
  const pin = writePartyCertificate(filesOf(directory), party === "service" ? 0 : 1);
  if (given !== null) return { directory, pin, backupKey: given, privateFile: null };
  const offline = join(root, "offline");
  mkdirSync(offline, { recursive: true, mode: OWNER_ALONE });
  const { file, key } = writeBackupPair(join(offline, `${party}-backup.key`), random);
  undo.push(() => rmSync(file, { force: true }));
  return { directory, pin, backupKey: key, privateFile: file };
}

/** A new pair: the private half goes into a file for its owner alone. Throws where the file exists. */
export function writeBackupPair(
  file: string,
  random: RandomSource,
): { readonly file: string; readonly key: BackupPublicKey } {
  const { privateKey, publicKey } = makeBackupPair(random);
  try {
    writeNew(file, privateKey);
  } finally {
    privateKey.fill(0);
  }
  return { file, key: publicKey };
}

function writeConfig(root: string, party: PartyName, peerPin: Uint8Array, backupKey: BackupPublicKey): void {
  writeNew(join(root, party, CONFIG_FILE), Buffer.from(partyConfigText(party, peerPin, backupKey), "utf8"));
}

function writeNew(path: string, bytes: Uint8Array): void {
  const descriptor = openSync(path, "wx", 0o600);
  try {
    writeSync(descriptor, bytes);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function madeOf({ directory, pin, backupKey, privateFile }: NewParty): MadeParty {
  return {
    directory,
    pin: formatPin(pin),
    backupPublicKey: backupKey.bytes.toString("hex"),
    backupPrivateFile: privateFile,
  };
}

function refused(directory: string, error: unknown): SetupError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return new SetupError(
    code === "EEXIST"
      ? `${directory} holds a party's folder already: name a new folder`
      : `${directory} cannot be written (${code})`,
  );
}
