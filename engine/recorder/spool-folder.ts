/**
 * The files of the spool, oldest first, and the names of new ones.
 *
 * A file appears under its name by a rename, so a dying process leaves it complete or not at all; the checksum reveals
 * a file torn by a power loss. Nothing is synced: durable rows never come here (outbox.ts).
 *
 * Invariant: `files` and `byteCount` change in the turn in which the caller counts the rows, never during a file call:
 * `write` does not add the file, and `forget` comes before its removal.
 */
import { readdirSync, statSync } from "node:fs";
import { open, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batch } from "./batch.js";
import {
  byteLength,
  decodeSpoolFile,
  encodeSpoolFile,
  parseSpoolFileName,
  removeQuietly,
  spoolFileName,
  type SpoolName,
} from "./spool-file.js";

/** File numbers count up from here; those of batches that go first count down. */
const ORDER_MIDDLE = 500_000_000_000;

export interface SpoolFile extends SpoolName {
  readonly fileName: string;
  readonly byteCount: number;
}

export type WriteFile = (path: string, parts: readonly Uint8Array[]) => Promise<void>;

export class SpoolFolder {
  readonly #directory: string;
  readonly #writeFile: WriteFile;
  readonly #files: SpoolFile[] = [];
  #byteCount = 0;
  #nextOrder = ORDER_MIDDLE;
  #firstOrder = ORDER_MIDDLE - 1;

  constructor(directory: string, writeFile: WriteFile) {
    this.#directory = directory;
    this.#writeFile = writeFile;
  }

  /** Adopts what an earlier start left; returns the number of files that were torn, and removed. */
  openSync(): number {
    let tornCount = 0;
    for (const fileName of readdirSync(this.#directory).sort()) {
      const path = join(this.#directory, fileName);
      // The process died before the rename; the rows were lost with its memory.
      if (fileName.endsWith(".part")) {
        removeQuietly(path);
        tornCount += 1;
        continue;
      }
      const name = parseSpoolFileName(fileName);
      if (name === null) continue;
      this.passOrder(name);
      this.add({ ...name, fileName, byteCount: statSync(path).size }, false);
    }
    return tornCount;
  }

  /** Oldest first. */
  get files(): readonly SpoolFile[] {
    return this.#files;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  rows(table: RecordTableName): number {
    let rows = 0;
    for (const file of this.#files) if (file.table === table) rows += file.rowCount;
    return rows;
  }

  pathOf(file: SpoolFile): string {
    return join(this.#directory, file.fileName);
  }

  /** No new file may take a name that a file of an earlier start has. */
  passOrder({ order }: SpoolName): void {
    this.#nextOrder = Math.max(this.#nextOrder, order + 1);
    this.#firstOrder = Math.min(this.#firstOrder, order - 1);
  }

  /** Returns a name that no file has. `first`: before all others. */
  newName({ table, rowCount }: Batch, first: boolean): SpoolName {
    return { order: first ? this.#firstOrder-- : this.#nextOrder++, table, rowCount };
  }

  /** Writes a new file, which the caller adds. Rejects with the cause, and leaves no file, where it could not. */
  async write(batch: Batch, first: boolean): Promise<SpoolFile> {
    const name = this.newName(batch, first);
    const fileName = spoolFileName(name);
    const parts = encodeSpoolFile(batch);
    const part = join(this.#directory, `${fileName}.part`);
    try {
      await this.#writeFile(part, parts);
      await rename(part, join(this.#directory, fileName));
    } catch (error) {
      await unlink(part).catch(() => {});
      throw error;
    }
    return { ...name, fileName, byteCount: byteLength(parts) };
  }

  add(file: SpoolFile, first: boolean): void {
    if (first) this.#files.unshift(file);
    else this.#files.push(file);
    this.#byteCount += file.byteCount;
  }

  /** Returns null for a file that is torn, unreadable, or not what its name says. */
  async read(file: SpoolFile): Promise<Batch | null> {
    let batch: Batch | null = null;
    try {
      batch = decodeSpoolFile(await readFile(this.pathOf(file)));
    } catch {
      // An unreadable file counts as torn.
    }
    return batch !== null && batch.table === file.table && batch.rowCount === file.rowCount ? batch : null;
  }

  forget(file: SpoolFile): void {
    const at = this.#files.indexOf(file);
    if (at < 0) return;
    this.#files.splice(at, 1);
    this.#byteCount -= file.byteCount;
  }
}

/** Writes a whole new file. */
export async function writeWhole(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for (const part of parts) await file.writeFile(part);
  } finally {
    await file.close();
  }
}
