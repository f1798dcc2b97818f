/** What the rules of the configuration ask of the machine: files and their owners. A test passes its own. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";

export interface FileFacts {
  readonly kind: "file" | "folder" | "other";
  /** Permission bits. */
  readonly mode: number;
  readonly userId: number;
  readonly isReadable: boolean;
}

export interface Machine {
  /** Null where the system has no users. */
  readonly userId: number | null;
  /** The system's error code where there is no such file, or it cannot be looked at. */
  factsOf(path: string): FileFacts | string;
  /** The absolute path with all links followed; as far as it is known where there is no such file. */
  realPathOf(path: string): string;
}

export const systemMachine: Machine = {
  userId: process.getuid?.() ?? null,
  factsOf(path) {
    try {
      const stats = statSync(path);
      const kind = stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other";
      return { kind, mode: stats.mode & 0o777, userId: stats.uid, isReadable: canRead(path) };
    } catch (error) {
      return error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN";
    }
  },
  realPathOf(path) {
    try {
      return realpathSync(path);
    } catch {
      return resolve(path);
    }
  },
};

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
