/** The file of the lmdb store: its options, its permissions, and the meaning of its refusals. */
import { chmodSync } from "node:fs";
import { constants as system } from "node:os";
import { join } from "node:path";
import { open, type RootDatabase, type RootDatabaseOptions } from "lmdb";

/** The options of the file, for the service and for programs that inspect it first. */
export const STATE_FILE_OPTIONS = {
  keyEncoding: "binary",
  encoding: "binary",
  overlappingSync: false,
  cache: false,
  // Its hidden per-turn promise would reject unhandled after a failed commit.
  eventTurnBatching: false,
  maxDbs: 1,
} as const satisfies RootDatabaseOptions;

/**
 * Opens the file for this user only, because it holds the installation's secret, which no other user may read at any
 * moment (SECURITY.md). A folder of another user keeps its mode, and only the files are closed. Throws where they
 * cannot be closed to others.
 */
export function openPrivately(directory: string): RootDatabase<Buffer, Buffer> {
  try {
    chmodSync(directory, 0o700);
  } catch {
    // The folder belongs to another user.
  }
  // lmdb creates its files readable by group and others; a process that opened one then could read later writes.
  const before = process.umask(0o077);
  try {
    const database = open<Buffer, Buffer>({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
    for (const name of ["data.mdb", "lock.mdb"]) chmodSync(join(directory, name), 0o600);
    return database;
  } finally {
    process.umask(before);
  }
}

/** lmdb passes on the system's error number. */
export function isOutOfSpace(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && FULL_ERRNOS.has(cause.code);
}

const FULL_ERRNOS = new Set<unknown>([system.errno.ENOSPC, system.errno.EDQUOT]);
