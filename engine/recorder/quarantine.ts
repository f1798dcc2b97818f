/**
 * Batches set aside for a person: refused by the server, or damaged. They are never sent again.
 *
 * Bounds: `keepingBytesMax` of copies on their way to the disk (beyond it no copy is kept); QUARANTINE_BYTES_MAX on
 * disk (beyond it the oldest files are removed). Counting the rows is the caller's.
 */
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Batch } from "./batch.js";
import { byteLength, encodeSpoolFile, parseSpoolFileName, removeQuietly, type SpoolName } from "./spool-file.js";

const QUARANTINE_BYTES_MAX = 64 << 20;

export class Quarantine {
  readonly #directory: string;
  readonly #keepingBytesMax: number;
  readonly #writeFile: (path: string, parts: readonly Uint8Array[]) => Promise<void>;
  /** Oldest first. */
  readonly #files: { readonly path: string; readonly byteCount: number }[] = [];
  #fileBytes = 0;
  /** Bytes of copies on their way to the disk. */
  #keepingBytes = 0;

  constructor(
    directory: string,
    keepingBytesMax: number,
    writeFile: (path: string, parts: readonly Uint8Array[]) => Promise<void>,
  ) {
    this.#directory = directory;
    this.#keepingBytesMax = keepingBytesMax;
    this.#writeFile = writeFile;
  }

  /** Throws where the folder cannot be made. */
  makeDirectory(): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
  }

  /** Adopts what an earlier start left. `onName` is called with each name that is taken. */
  openSync(onName: (name: SpoolName) => void): void {
    for (const fileName of readdirSync(this.#directory).sort()) {
      const path = join(this.#directory, fileName);
      const name = parseSpoolFileName(fileName);
      if (name !== null) onName(name);
      this.#note(path, statSync(path).size);
    }
  }

  /** Writes a copy of a batch, if there is room. */
  async keep(batch: Batch, makeName: () => string): Promise<void> {
    if (this.#keepingBytes + batch.bytes.length > this.#keepingBytesMax) return;
    this.#keepingBytes += batch.bytes.length;
    const path = join(this.#directory, makeName());
    const parts = encodeSpoolFile(batch);
    try {
      await this.#writeFile(path, parts);
      this.#note(path, byteLength(parts));
    } catch {
      // A copy for a person is worth only one try.
      await unlink(path).catch(() => {});
    }
    this.#keepingBytes -= batch.bytes.length;
  }

  /** Moves a file here under its own name; removes it where that fails. */
  async takeFile(from: string, fileName: string, byteCount: number): Promise<void> {
    const path = join(this.#directory, fileName);
    try {
      await rename(from, path);
      this.#note(path, byteCount);
    } catch {
      removeQuietly(from);
    }
  }

  #note(path: string, byteCount: number): void {
    this.#files.push({ path, byteCount });
    this.#fileBytes += byteCount;
    while (this.#fileBytes > QUARANTINE_BYTES_MAX) {
      const oldest = this.#files.shift();
      if (oldest === undefined) return;
      this.#fileBytes -= oldest.byteCount;
      removeQuietly(oldest.path);
    }
  }
}
