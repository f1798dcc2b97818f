/**
 * The count of an instance in a small file outside of the data folder, so that a backup of the folder has none of it. It is
 * replaced by a rename, so a kill leaves the count before or this one.
 */
import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { type FileReading, type InstanceCount, readCount } from "./instance-mark.js";

export interface CountFile {
  read(): Promise<FileReading>;
  /** Durable when it resolves. Rejects with the system's error. */
  write(count: InstanceCount): Promise<void>;
}

const FORMAT = 1;
const MODE = 0o600;

export function countFileAt(path: string): CountFile {
  return {
    async read() {
      let text: string;
      try {
        text = await readFile(path, "utf8");
      } catch (error) {
        return { kind: isMissing(error) ? "missing" : "unreadable" };
      }
      const value = countOf(text);
      return value === null ? { kind: "unreadable" } : { kind: "count", value };
    },
    async write({ id, count }) {
      const next = `${path}.next`;
      await writeDurably(next, `${JSON.stringify({ format: FORMAT, id, count })}\n`);
      await rename(next, path);
      await syncFolder(dirname(path));
    },
  };
}

function countOf(text: string): InstanceCount | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // No file of ours: its text is of no use to anybody.
    return null;
  }
  const isOurs = typeof value === "object" && value !== null && "format" in value && value.format === FORMAT;
  return isOurs ? readCount(value) : null;
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, "w", MODE);
  try {
    await file.writeFile(text, "utf8");
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
