/**
 * Batches of market data on disk while the store is away: one file each, oldest first, sent later with the same token
 * and bytes.
 *
 * Bounds: `bytesMax` and SPOOL_FILES_MAX on disk (beyond them the oldest files are dropped). `memoryBytesMax` waiting
 * for the disk (beyond it the oldest waiting batch is dropped). As much again of refused batches (beyond it no copy is
 * kept). QUARANTINE_BYTES_MAX of refused and torn files kept for a person. Every dropped row is counted. A full disk
 * refuses only the present batch; the next batch tries again.
 *
 * A file appears under its name by a rename, so a dying process leaves it complete or not at all; the checksum reveals
 * a file torn by a power loss. Nothing is synced: durable rows never come here (outbox.ts).
 */
import { mkdirSync, readdirSync, statSync, unlinkSync } from "node:fs";
import { open, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../domain/logger.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batch } from "./batch.js";
import type { DropReason, TableCounts } from "./counters.js";
import { decodeSpoolFile, encodeSpoolFile, parseSpoolFileName, spoolFileName, type SpoolName } from "./spool-file.js";

export const DEFAULT_SPOOL_BYTES = 1 << 30;
export const DEFAULT_SPOOL_MEMORY_BYTES = 64 << 20;
/** Small batches reach this bound before the one in bytes. */
export const SPOOL_FILES_MAX = 20_000;
const QUARANTINE_BYTES_MAX = 64 << 20;
/** File numbers count up from here; those of batches that go first count down. */
const ORDER_MIDDLE = 500_000_000_000;
/** Market data: where room is short it is not kept for later. */
const GIVING_WAY: ReadonlySet<RecordTableName> = new Set(["ticks", "trades", "book_snapshots"]);
const FULL_CODES = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

export interface SpoolOptions {
  readonly directory: string;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly logger: Logger;
  readonly bytesMax?: number;
  readonly memoryBytesMax?: number;
  /** Writes a whole new file; a test passes one that fails. */
  readonly writeFile?: (path: string, parts: readonly Uint8Array[]) => Promise<void>;
}

interface SpoolFile extends SpoolName {
  readonly fileName: string;
  readonly byteCount: number;
}

export interface SpooledBatch {
  readonly batch: Batch;
  readonly file: SpoolFile;
}

export class Spool {
  readonly #directory: string;
  readonly #quarantineDirectory: string;
  readonly #counts: SpoolOptions["counts"];
  readonly #logger: Logger;
  readonly #bytesMax: number;
  readonly #memoryBytesMax: number;
  readonly #writeFile: (path: string, parts: readonly Uint8Array[]) => Promise<void>;
  /** Oldest first. */
  readonly #files: SpoolFile[] = [];
  #fileBytes = 0;
  /** Batches waiting for the disk; the first may be being written. */
  readonly #waiting: { readonly batch: Batch; readonly first: boolean }[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | null = null;
  /** Set while ticks are being removed for lack of room. */
  #giving: Promise<void> | null = null;
  #nextOrder = ORDER_MIDDLE;
  #firstOrder = ORDER_MIDDLE - 1;
  /** The file whose batch is being sent: it must not be removed during the send. */
  #taken: SpoolFile | null = null;
  #quarantineBytes = 0;
  /** Bytes of refused batches on their way to the disk. */
  #keepingBytes = 0;
  #quarantined: { path: string; byteCount: number }[] = [];
  #isFull = false;
  #isVolumeShort = false;
  tornFiles = 0;

  constructor(options: SpoolOptions) {
    this.#directory = options.directory;
    this.#quarantineDirectory = join(options.directory, "quarantine");
    this.#counts = options.counts;
    this.#logger = options.logger;
    this.#bytesMax = options.bytesMax ?? DEFAULT_SPOOL_BYTES;
    this.#memoryBytesMax = options.memoryBytesMax ?? DEFAULT_SPOOL_MEMORY_BYTES;
    this.#writeFile = options.writeFile ?? writeWhole;
  }

  /**
   * Call before the first batch: makes the folder and adopts what an earlier start left. Throws where there can be no
   * spool.
   */
  openSync(): void {
    mkdirSync(this.#quarantineDirectory, { recursive: true, mode: 0o700 });
    for (const fileName of readdirSync(this.#directory).sort()) {
      const path = join(this.#directory, fileName);
      // The process died before the rename; the rows were lost with its memory.
      if (fileName.endsWith(".part")) {
        removeQuietly(path);
        this.tornFiles += 1;
        continue;
      }
      const name = parseSpoolFileName(fileName);
      if (name === null) continue;
      this.#passOrder(name);
      const byteCount = statSync(path).size;
      this.#files.push({ ...name, fileName, byteCount });
      this.#fileBytes += byteCount;
      this.#counts[name.table].recovered += name.rowCount;
    }
    for (const fileName of readdirSync(this.#quarantineDirectory).sort()) {
      const path = join(this.#quarantineDirectory, fileName);
      const name = parseSpoolFileName(fileName);
      // Files that are set aside move here under their own name, and two of one name would be one file.
      if (name !== null) this.#passOrder(name);
      this.#noteQuarantined(path, statSync(path).size);
    }
    this.#evict();
  }

  get fileCount(): number {
    return this.#files.length;
  }

  get byteCount(): number {
    return this.#fileBytes + this.#waitingBytes;
  }

  /** Rows in the spool, on disk or waiting for it. */
  pendingRows(table: RecordTableName): number {
    let rows = 0;
    for (const file of this.#files) if (file.table === table) rows += file.rowCount;
    for (const { batch } of this.#waiting) if (batch.table === table) rows += batch.rowCount;
    return rows;
  }

  /**
   * Takes the batch over and counts its outcome. `first`: it was sent already and may be in the store; it goes before
   * all others, while the store still knows its token.
   */
  put(batch: Batch, first = false): void {
    if (this.#isVolumeShort && GIVING_WAY.has(batch.table)) {
      this.#drop(batch, "room");
      return;
    }
    this.#waiting.push({ batch, first });
    this.#waitingBytes += batch.bytes.length;
    // The first may be half written.
    while (this.#waitingBytes > this.#memoryBytesMax && this.#waiting.length > 1) {
      const oldest = this.#waiting.splice(1, 1)[0];
      if (oldest === undefined) break;
      this.#waitingBytes -= oldest.batch.bytes.length;
      this.#drop(oldest.batch, "memory");
    }
    this.#writing ??= this.#writeAll();
  }

  /** Where the volume is short, market data does not go to the disk, and the ticks on it are removed. */
  noteVolume(isShort: boolean): void {
    const isNew = isShort && !this.#isVolumeShort;
    this.#isVolumeShort = isShort;
    if (!isNew) return;
    // The first is being written.
    for (const { batch } of this.#waiting.slice(1)) if (GIVING_WAY.has(batch.table)) this.#dropWaiting(batch);
    this.#giving ??= this.#giveTicks().finally(() => {
      this.#giving = null;
    });
  }

  /** Resolves when what waits for the disk now is on it, or counted as dropped. */
  async settled(): Promise<void> {
    while (this.#writing !== null || this.#giving !== null) await (this.#writing ?? this.#giving);
  }

  /**
   * Reads back the oldest batch; null when there is none. The caller ends it with `sent` or `setAside`, or takes it
   * again.
   */
  async oldest(): Promise<SpooledBatch | null> {
    for (let file = this.#files[0]; file !== undefined; file = this.#files[0]) {
      this.#taken = file;
      const batch = await this.#read(file);
      if (batch !== null) return { batch, file };
      this.tornFiles += 1;
      this.#counts[file.table].dropped.torn += file.rowCount;
      this.#logger.error("spool_file_torn", { name: file.table, count: file.rowCount });
      await this.#moveAside(file);
    }
    this.#taken = null;
    return null;
  }

  /** The store has it. */
  async sent(spooled: SpooledBatch): Promise<void> {
    this.#forget(spooled.file);
    // If the file cannot be removed, the next start sends it again under its token, and the store ignores the repeat.
    await unlink(join(this.#directory, spooled.file.fileName)).catch(() => {});
  }

  /** The server will never accept it: it is set aside for a person. The caller counts it. */
  async setAside(spooled: SpooledBatch): Promise<void> {
    await this.#moveAside(spooled.file);
  }

  /** Like setAside, for a batch that never was in the spool. */
  async keepRefused(batch: Batch): Promise<void> {
    if (this.#keepingBytes + batch.bytes.length > this.#memoryBytesMax) return;
    this.#keepingBytes += batch.bytes.length;
    const fileName = spoolFileName({ order: this.#nextOrder++, table: batch.table, rowCount: batch.rowCount });
    const path = join(this.#quarantineDirectory, fileName);
    const parts = encodeSpoolFile(batch);
    try {
      await this.#writeFile(path, parts);
      this.#noteQuarantined(path, byteLength(parts));
    } catch {
      // A copy for a person is worth only one try.
      await unlink(path).catch(() => {});
    }
    this.#keepingBytes -= batch.bytes.length;
  }

  /** No new file may take a name that a file of an earlier start has. */
  #passOrder({ order }: SpoolName): void {
    this.#nextOrder = Math.max(this.#nextOrder, order + 1);
    this.#firstOrder = Math.min(this.#firstOrder, order - 1);
  }

  /**
   * Removes one file after another, because exits may come at the same moment: thousands of files at once take a
   * second.
   */
  async #giveTicks(): Promise<void> {
    while (this.#isVolumeShort) {
      const file = this.#files.find((one) => one.table === "ticks" && one !== this.#taken);
      if (file === undefined) break;
      this.#forget(file);
      this.#counts[file.table].dropped.room += file.rowCount;
      // The next start finds what cannot be removed now.
      await unlink(join(this.#directory, file.fileName)).catch(() => {});
    }
  }

  async #writeAll(): Promise<void> {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { batch, first } = next;
      const order = first ? this.#firstOrder-- : this.#nextOrder++;
      const name = { order, table: batch.table, rowCount: batch.rowCount };
      const fileName = spoolFileName(name);
      const parts = encodeSpoolFile(batch);
      const byteCount = byteLength(parts);
      const part = join(this.#directory, `${fileName}.part`);
      let failure: unknown = null;
      try {
        await this.#writeFile(part, parts);
        await rename(part, join(this.#directory, fileName));
      } catch (error) {
        failure = error ?? new Error("write failed");
        await unlink(part).catch(() => {});
      }
      this.#waiting.shift();
      this.#waitingBytes -= batch.bytes.length;
      if (failure === null) {
        const file = { ...name, fileName, byteCount };
        if (first) this.#files.unshift(file);
        else this.#files.push(file);
        this.#fileBytes += byteCount;
        this.#counts[batch.table].spooled += batch.rowCount;
        this.#isFull = false;
        // It was being written when the volume became short.
        if (this.#isVolumeShort && batch.table === "ticks") this.#remove(file, "room");
        this.#evict();
      } else this.#refusedByDisk(batch, failure);
    }
    // In the same turn as the last check of the queue.
    this.#writing = null;
  }

  #refusedByDisk(batch: Batch, failure: unknown): void {
    const code = failure instanceof Error && "code" in failure ? String(failure.code) : "unknown";
    this.#drop(batch, FULL_CODES.has(code) ? "disk-full" : "disk-error");
    if (!this.#isFull) this.#logger.error("spool_write_failed", { reason: code, name: batch.table });
    this.#isFull = true;
  }

  async #read(file: SpoolFile): Promise<Batch | null> {
    let batch: Batch | null = null;
    try {
      batch = decodeSpoolFile(await readFile(join(this.#directory, file.fileName)));
    } catch {
      // An unreadable file counts as torn.
    }
    return batch !== null && batch.table === file.table && batch.rowCount === file.rowCount ? batch : null;
  }

  #evict(): void {
    while (this.#fileBytes > this.#bytesMax || this.#files.length > SPOOL_FILES_MAX) {
      const victim = this.#files.find((file) => file !== this.#taken);
      if (victim === undefined) return;
      this.#remove(victim, "spool-full");
    }
  }

  #remove(file: SpoolFile, reason: DropReason): void {
    this.#forget(file);
    this.#counts[file.table].dropped[reason] += file.rowCount;
    removeQuietly(join(this.#directory, file.fileName));
  }

  async #moveAside(file: SpoolFile): Promise<void> {
    this.#forget(file);
    const path = join(this.#quarantineDirectory, file.fileName);
    try {
      await rename(join(this.#directory, file.fileName), path);
      this.#noteQuarantined(path, file.byteCount);
    } catch {
      removeQuietly(join(this.#directory, file.fileName));
    }
  }

  #noteQuarantined(path: string, byteCount: number): void {
    this.#quarantined.push({ path, byteCount });
    this.#quarantineBytes += byteCount;
    while (this.#quarantineBytes > QUARANTINE_BYTES_MAX) {
      const oldest = this.#quarantined.shift();
      if (oldest === undefined) return;
      this.#quarantineBytes -= oldest.byteCount;
      removeQuietly(oldest.path);
    }
  }

  #forget(file: SpoolFile): void {
    const at = this.#files.indexOf(file);
    if (at >= 0) {
      this.#files.splice(at, 1);
      this.#fileBytes -= file.byteCount;
    }
    if (this.#taken === file) this.#taken = null;
  }

  #dropWaiting(batch: Batch): void {
    this.#waiting.splice(
      this.#waiting.findIndex((one) => one.batch === batch),
      1,
    );
    this.#waitingBytes -= batch.bytes.length;
    this.#drop(batch, "room");
  }

  #drop(batch: Batch, reason: DropReason): void {
    this.#counts[batch.table].dropped[reason] += batch.rowCount;
  }
}

function byteLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

async function writeWhole(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for (const part of parts) await file.writeFile(part);
  } finally {
    await file.close();
  }
}

/** The next start finds what cannot be removed now. */
function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone already, or may not be removed.
  }
}
