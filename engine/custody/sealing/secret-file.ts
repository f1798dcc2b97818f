/**
 * Reads a mounted secret. What is checked is the file that was opened, so nobody can exchange it in between: a regular
 * file, of this user or root, closed to group and others, and short.
 *
 * A symbolic link is followed: orchestrators mount a secret as a link into a folder that they exchange as a whole. The
 * checks hold for the file at its end, so a link can only lead to a file that this user or root has closed to others.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { keyRefused } from "./key-refused.js";
import { secretBuffer } from "./secret-bytes.js";

/** Longer than any key or passphrase; a file above it is something else. */
export const MAX_SECRET_FILE_BYTES = 1_026;

/** Returns a buffer that the caller wipes. Throws SEAL_KEY_REFUSED. */
export type ReadSecretFile = (path: string) => Buffer;

export const readSecretFile: ReadSecretFile = (path) => {
  let descriptor: number;
  try {
    // A pipe without a writer would hold the open forever; a pipe is refused below.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw keyRefused("FILE_UNREADABLE", `${path} cannot be opened (${codeOf(cause)})`, { path });
  }
  try {
    assertPrivate(path, fstatSync(descriptor));
    return readAll(path, descriptor);
  } finally {
    closeSync(descriptor);
  }
};

function assertPrivate(path: string, stats: Stats): void {
  if (!stats.isFile()) throw keyRefused("FILE_NOT_REGULAR", `${path} is not a regular file`, { path });
  const userId = process.getuid?.();
  if (userId !== undefined && stats.uid !== userId && stats.uid !== 0)
    throw keyRefused("FILE_OWNER", `${path} belongs to another user; it must belong to this one or to root`, { path });
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  if ((stats.mode & 0o077) !== 0)
    throw keyRefused("FILE_MODE", `${path} has mode ${mode}; group and others must have no access (0400 or 0600)`, {
      ...{ path, mode },
    });
  if (stats.size === 0 || stats.size > MAX_SECRET_FILE_BYTES)
    throw keyRefused("FILE_SIZE", `${path} has ${stats.size} bytes; 1 to ${MAX_SECRET_FILE_BYTES} are allowed`, {
      path,
    });
}

function readAll(path: string, descriptor: number): Buffer {
  // One byte more than allowed, so that a file that grows after the check is seen.
  const scratch = secretBuffer(MAX_SECRET_FILE_BYTES + 1);
  try {
    let byteCount = 0;
    while (byteCount < scratch.byteLength) {
      const readCount = readSync(descriptor, scratch, byteCount, scratch.byteLength - byteCount, null);
      if (readCount === 0) break;
      byteCount += readCount;
    }
    if (byteCount === 0 || byteCount > MAX_SECRET_FILE_BYTES)
      throw keyRefused("FILE_SIZE", `${path} changed while it was read`, { path });
    const secret = secretBuffer(byteCount);
    scratch.copy(secret, 0, 0, byteCount);
    return secret;
  } catch (error) {
    if (error instanceof Error && "syscall" in error)
      throw keyRefused("FILE_UNREADABLE", `${path} cannot be read (${codeOf(error)})`, { path });
    throw error;
  } finally {
    scratch.fill(0);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
