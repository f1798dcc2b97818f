/** The file of the lmdb store: how it is opened, for whom, and what its refusals mean. */
import { chmodSync } from "node:fs";
import { constants as system } from "node:os";
import { join } from "node:path";
import { open, type RootDatabase, type RootDatabaseOptions } from "lmdb";

/** How the file is opened, by the service and by whoever looks at it before. */
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
 * SECURITY.md: the installation's secret lies here, and nobody else may read it at any moment. A folder that belongs to
 * somebody else, who lets us use it, keeps its mode: then it is the files. Throws where those cannot be closed to others.
 */
export function openPrivately(directory: string): RootDatabase<Buffer, Buffer> {
  try {
    chmodSync(directory, 0o700);
  } catch {
    // Not ours.
  }
  // lmdb makes its files for the group and everybody; whoever opened one then would read what is written later.
  const before = process.umask(0o077);
  try {
    const database = open<Buffer, Buffer>({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
    for (const name of ["data.mdb", "lock.mdb"]) chmodSync(join(directory, name), 0o600);
    return database;
  } finally {
    process.umask(before);
  }
}

/** lmdb passes the system's error number on. */
export function isOutOfSpace(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && FULL_ERRNOS.has(cause.code);
}

const FULL_ERRNOS = new Set<unknown>([system.errno.ENOSPC, system.errno.EDQUOT]);
