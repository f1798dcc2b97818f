/**
 * The backup folder of a party (docs/mpc.md, section 13). A file is durable under its name, whole, or not there under
 * it: temporary name, fsync, rename, fsync of the folder.
 *
 * Invariant: a file is never overwritten. The party's store has one owner, so nobody else writes a name of this party
 * between the look and the rename. The folder is not made here: one that is missing is a volume that is not mounted, and
 * a backup beside it would be lost with the machine.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, open, opendir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BACKUP_FILE_BYTES_MAX } from "../../engine/custody/provider/backup-file.js";
import { backupFileName, type BackupName, parseBackupFileName } from "../../engine/custody/provider/backup-name.js";
import { walletIdText } from "../../engine/custody/provider/wallet-names.js";
import type { BackupFolder } from "../../engine/custody/provider/party-store.js";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";

const FILE_MODE = 0o600;
/** Others who may write could take a backup away, or put another in its place. */
const OTHERS_WRITE = 0o022;
/** A network volume that hangs must not hold a wallet: a session ends by then. */
const WRITE_TIMEOUT_MS = 10_000;
/** Of a listing: 100,000 wallets with a hundred epochs each. */
const LISTED_MAX = 10_000_000;
const TEMPORARY_SUFFIX = ".tmp";

/** `reason` of a STORE_UNAVAILABLE, with the path. */
type FolderProblem =
  | "BACKUP_FOLDER_MISSING"
  | "BACKUP_FOLDER_MODE"
  | "BACKUP_FOLDER_READ_ONLY"
  | "BACKUP_DISK_FULL"
  | "BACKUP_EXISTS"
  | "BACKUP_TIMEOUT"
  | "BACKUP_FAILED";

export interface BackupFolderOptions {
  readonly path: string;
  readonly party: Party;
  readonly clock: Clock;
}

/**
 * Removes what an earlier process left half written. Rejects with STORE_UNAVAILABLE and a reason for the operator: the
 * folder is missing, others may write to it, or it cannot be written to.
 */
export async function openBackupFolder({ path, party, clock }: BackupFolderOptions): Promise<BackupFolder> {
  await translated(path, async () => {
    const { mode } = await assertFolder(path);
    if ((mode & OTHERS_WRITE) !== 0) throw problem("BACKUP_FOLDER_MODE", path);
    await assertWritable(path, party);
    for await (const name of namesIn(path)) if (isLeftover(name, party)) await rm(join(path, name), { force: true });
  });
  return {
    async write(name, file) {
      const target = join(path, backupFileName({ ...name, party }));
      await within(clock, path, () => translated(target, () => writeDurably(path, target, file)));
    },
  };
}

/** The backups of a party, by their names; whatever else lies there is left out. For a restore. */
export async function listBackups(path: string, party: Party): Promise<readonly BackupName[]> {
  const found: BackupName[] = [];
  await translated(path, async () => {
    await assertFolder(path);
    for await (const text of namesIn(path)) {
      const name = parseBackupFileName(text);
      if (name?.party === party) found.push(name);
    }
  });
  return found;
}

/** UUIDs of the wallets that a party has a backup of. */
export async function backedUpIn(path: string, party: Party): Promise<ReadonlySet<string>> {
  return new Set((await listBackups(path, party)).map(({ walletId }) => walletIdText(walletId)));
}

export async function readBackup(path: string, name: BackupName): Promise<Buffer> {
  const target = join(path, backupFileName(name));
  return await translated(target, () => readWhole(target));
}

async function writeDurably(folder: string, target: string, file: Uint8Array): Promise<void> {
  if (await isThere(target)) {
    // A commit that is made again after its reply was lost. The name may not be durable yet.
    if (!(await readWhole(target)).equals(file)) throw problem("BACKUP_EXISTS", target);
    await syncFile(target);
  } else {
    const temporary = join(folder, temporaryName(target.slice(folder.length + 1)));
    await rm(temporary, { force: true });
    await writeTemporary(temporary, file);
    await rename(temporary, target);
  }
  await syncFolder(folder);
}

async function writeTemporary(temporary: string, file: Uint8Array): Promise<void> {
  // Exclusive, so that no link of another's leads elsewhere.
  const handle = await open(temporary, "wx", FILE_MODE);
  try {
    await handle.writeFile(file);
    await handle.sync();
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  } finally {
    await handle.close();
  }
}

async function readWhole(target: string): Promise<Buffer> {
  const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await handle.stat();
    // A longer one is no backup; its first bytes are enough to say so.
    return await readBytes(handle, Math.min(size, BACKUP_FILE_BYTES_MAX + 1));
  } finally {
    await handle.close();
  }
}

async function readBytes(handle: FileHandle, byteLength: number): Promise<Buffer> {
  const target = Buffer.alloc(byteLength);
  let at = 0;
  while (at < byteLength) {
    const { bytesRead } = await handle.read(target, at, byteLength - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return target.subarray(0, at);
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function assertFolder(path: string): Promise<{ readonly mode: number }> {
  const found = await stat(path);
  if (!found.isDirectory()) throw problem("BACKUP_FOLDER_MISSING", path);
  return found;
}

/** A folder that is read-only shows here, not at the first wallet. */
async function assertWritable(path: string, party: Party): Promise<void> {
  const probe = join(path, `.probe.${party}${TEMPORARY_SUFFIX}`);
  await rm(probe, { force: true });
  const handle = await open(probe, "wx", FILE_MODE);
  await handle.close();
  await rm(probe, { force: true });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

async function* namesIn(path: string): AsyncGenerator<string> {
  let count = 0;
  for await (const entry of await opendir(path)) {
    if (++count > LISTED_MAX) throw problem("BACKUP_FAILED", path);
    yield entry.name;
  }
}

function temporaryName(fileName: string): string {
  return `.${fileName}${TEMPORARY_SUFFIX}`;
}

function isLeftover(name: string, party: Party): boolean {
  if (!name.startsWith(".") || !name.endsWith(TEMPORARY_SUFFIX)) return false;
  return parseBackupFileName(name.slice(1, -TEMPORARY_SUFFIX.length))?.party === party;
}

/** A write that is late may still be done: its name and bytes are the same when it is tried again. */
async function within(clock: Clock, path: string, run: () => Promise<void>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = clock.setTimer(() => reject(problem("BACKUP_TIMEOUT", path)), WRITE_TIMEOUT_MS);
    void run()
      .then(resolve, reject)
      .finally(() => clock.clearTimer(timer));
  });
}

async function translated<Result>(path: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw problem(reasonOf(codeOf(error)), path, error);
  }
}

/** What the operator is told, by the code of the system. */
export function reasonOf(code: string): FolderProblem {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return "BACKUP_FOLDER_MISSING";
    case "EROFS":
    case "EACCES":
    case "EPERM":
      return "BACKUP_FOLDER_READ_ONLY";
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return "BACKUP_DISK_FULL";
    default:
      return "BACKUP_FAILED";
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function problem(reason: FolderProblem, path: string, cause?: unknown): ServiceError {
  return new ServiceError("STORE_UNAVAILABLE", { reason, path }, cause === undefined ? {} : { cause });
}
