/**
 * Batches of market data on disk while the store is away: one file each, oldest first, sent later with the same token
 * and bytes.
 *
 * The folder is in spool-folder.ts, what waits for it in spool-queue.ts, what is kept for a person in quarantine.ts.
 *
 * Bounds: `bytesMax` and SPOOL_FILES_MAX on disk (beyond them the oldest files are dropped). `memoryBytesMax` waiting
 * for the disk, and as much again of refused batches on their way into the quarantine. Every dropped row is counted.
 */
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../domain/logger.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batch } from "./batch.js";
import type { DropReason, TableCounts } from "./counters.js";
import { Quarantine } from "./quarantine.js";
import { removeQuietly, spoolFileName } from "./spool-file.js";
import { SpoolQueue } from "./spool-queue.js";
import { type SpoolFile, SpoolFolder, type WriteFile, writeWhole } from "./spool-folder.js";

export const DEFAULT_SPOOL_BYTES = 1 << 30;
export const DEFAULT_SPOOL_MEMORY_BYTES = 64 << 20;
/** Small batches reach this bound before the one in bytes. */
export const SPOOL_FILES_MAX = 20_000;
/** Where room is short these are not kept for later. */
const MARKET_TABLES: ReadonlySet<RecordTableName> = new Set(["ticks", "trades", "book_snapshots"]);

export interface SpoolOptions {
  readonly directory: string;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly logger: Logger;
  readonly bytesMax?: number;
  readonly memoryBytesMax?: number;
  /** Writes a whole new file; a test passes one that fails. */
  readonly writeFile?: WriteFile;
}

export interface SpooledBatch {
  readonly batch: Batch;
  readonly file: SpoolFile;
}

export class Spool {
  readonly #folder: SpoolFolder;
  readonly #queue: SpoolQueue;
  readonly #quarantine: Quarantine;
  readonly #counts: SpoolOptions["counts"];
  readonly #logger: Logger;
  readonly #bytesMax: number;
  /** Set while ticks are being removed for lack of room. */
  #removing: Promise<void> | null = null;
  /** The file whose batch is being sent: it must not be removed during the send. */
  #taken: SpoolFile | null = null;
  #isVolumeShort = false;
  tornFiles = 0;

  constructor(options: SpoolOptions) {
    const { directory, counts, logger, writeFile = writeWhole } = options;
    const { bytesMax = DEFAULT_SPOOL_BYTES, memoryBytesMax = DEFAULT_SPOOL_MEMORY_BYTES } = options;
    const folder = new SpoolFolder(directory, writeFile);
    this.#counts = counts;
    this.#logger = logger;
    this.#bytesMax = bytesMax;
    this.#folder = folder;
    this.#queue = new SpoolQueue({
      ...{ folder, counts, logger, bytesMax: memoryBytesMax },
      onWritten: (file, first) => this.#wrote(file, first),
    });
    this.#quarantine = new Quarantine(join(directory, "quarantine"), memoryBytesMax, writeFile);
  }

  /**
   * Call before the first batch: makes the folder and adopts what an earlier start left. Throws where there can be no
   * spool.
   */
  openSync(): void {
    this.#quarantine.makeDirectory();
    this.tornFiles += this.#folder.openSync();
    for (const { table, rowCount } of this.#folder.files) this.#counts[table].recovered += rowCount;
    // Files that are set aside move there under their own name, and two of one name would be one file.
    this.#quarantine.openSync((name) => this.#folder.passOrder(name));
    this.#evict();
  }

  get fileCount(): number {
    return this.#folder.files.length;
  }

  get byteCount(): number {
    return this.#folder.byteCount + this.#queue.byteCount;
  }

  /** Rows in the spool, on disk or waiting for it. */
  pendingRows(table: RecordTableName): number {
    return this.#folder.rows(table) + this.#queue.rows(table);
  }

  /**
   * Takes the batch over and counts its outcome. `first`: it was sent already and may be in the store; it goes before
   * all others, while the store still knows its token.
   */
  put(batch: Batch, first = false): void {
    if (this.#isVolumeShort && MARKET_TABLES.has(batch.table)) {
      this.#counts[batch.table].dropped.room += batch.rowCount;
      return;
    }
    this.#queue.push(batch, first);
  }

  /** Where the volume is short, market data does not go to the disk, and the ticks on it are removed. */
  noteVolume(isShort: boolean): void {
    const isNew = isShort && !this.#isVolumeShort;
    this.#isVolumeShort = isShort;
    if (!isNew) return;
    this.#queue.drop(MARKET_TABLES, "room");
    this.#removing ??= this.#removeTicks().finally(() => {
      this.#removing = null;
    });
  }

  /** Resolves when what waits for the disk now is on it, or counted as dropped. */
  async settled(): Promise<void> {
    while (this.#queue.writing !== null || this.#removing !== null) await (this.#queue.writing ?? this.#removing);
  }

  /**
   * Reads back the oldest batch; null when there is none. The caller ends it with `sent` or `setAside`, or takes it
   * again.
   */
  async oldest(): Promise<SpooledBatch | null> {
    for (let file = this.#folder.files[0]; file !== undefined; file = this.#folder.files[0]) {
      this.#taken = file;
      const batch = await this.#folder.read(file);
      if (batch !== null) return { batch, file };
      this.tornFiles += 1;
      this.#counts[file.table].dropped.torn += file.rowCount;
      this.#logger.error("spool_file_torn", { name: file.table, count: file.rowCount });
      await this.setAside({ file });
    }
    this.#taken = null;
    return null;
  }

  /** The store has it. */
  async sent(spooled: SpooledBatch): Promise<void> {
    this.#forget(spooled.file);
    // If the file cannot be removed, the next start sends it again under its token, and the store ignores the repeat.
    await unlink(this.#folder.pathOf(spooled.file)).catch(() => {});
  }

  /** The server will never accept it: it is set aside for a person. The caller counts it. */
  async setAside({ file }: Pick<SpooledBatch, "file">): Promise<void> {
    this.#forget(file);
    await this.#quarantine.takeFile(this.#folder.pathOf(file), file.fileName, file.byteCount);
  }

  /** Like setAside, for a batch that never was in the spool. */
  keepRefused(batch: Batch): Promise<void> {
    return this.#quarantine.keep(batch, () => spoolFileName(this.#folder.newName(batch, false)));
  }

  /**
   * Removes one file after another, because exits may come at the same moment: thousands of files at once take a
   * second.
   */
  async #removeTicks(): Promise<void> {
    while (this.#isVolumeShort) {
      const file = this.#folder.files.find((one) => one.table === "ticks" && one !== this.#taken);
      if (file === undefined) break;
      this.#forget(file);
      this.#counts[file.table].dropped.room += file.rowCount;
      // The next start finds what cannot be removed now.
      await unlink(this.#folder.pathOf(file)).catch(() => {});
    }
  }

  #wrote(file: SpoolFile, first: boolean): void {
    this.#folder.add(file, first);
    this.#counts[file.table].spooled += file.rowCount;
    // It was being written when the volume became short.
    if (this.#isVolumeShort && file.table === "ticks") this.#remove(file, "room");
    this.#evict();
  }

  #evict(): void {
    while (this.#folder.byteCount > this.#bytesMax || this.fileCount > SPOOL_FILES_MAX) {
      const victim = this.#folder.files.find((file) => file !== this.#taken);
      if (victim === undefined) return;
      this.#remove(victim, "spool-full");
    }
  }

  #remove(file: SpoolFile, reason: DropReason): void {
    this.#forget(file);
    this.#counts[file.table].dropped[reason] += file.rowCount;
    removeQuietly(this.#folder.pathOf(file));
  }

  #forget(file: SpoolFile): void {
    this.#folder.forget(file);
    if (this.#taken === file) this.#taken = null;
  }
}
