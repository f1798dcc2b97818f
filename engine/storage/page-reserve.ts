/**
 * Pages that the state file has and its engine does not use yet: room for writes to come, which nothing else on the
 * volume can take.
 *
 * lmdb takes pages that it freed before, or the next ones after the last it used; it requests space from the volume
 * only where the file ends. With the file longer than that, a transaction needs no space from a full volume. (Volumes
 * that copy what is overwritten need space all the same: volume.ts.)
 *
 * Invariant: the file grows only while no transaction is open, which the caller ensures: zeros written beside one could
 * hit its pages.
 */
import { statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Written at once. It delays the waiting caller, and the flush that follows, by a fraction of a millisecond. */
export const GROWTH_BYTES = 256 << 10;
const ZEROS = Buffer.alloc(GROWTH_BYTES);

/** lmdb's figures of its file; see `pagesFor`. */
export interface PageUse {
  readonly pageBytes: number;
  /** Pages of the file that were ever used. */
  readonly usedPages: number;
  readonly branchPages: number;
  readonly depth: number;
  /** Pages that the list of free pages takes. */
  readonly freeListPages: number;
}

/**
 * Returns the most new pages that a transaction of this many rows can take, without those of large values. Each row
 * changes a leaf, may split it, and may split the pages above; the rest of the path to it is copied only once.
 */
export function pagesFor(rows: number, { branchPages, depth, freeListPages }: PageUse): number {
  return 3 * rows + Math.min(rows * depth, branchPages) + 2 * freeListPages + FIXED_PAGES;
}

/** Root, lists and similar pages. */
const FIXED_PAGES = 32;
/** lmdb stores a value apart from half a page on; a lower limit is on the safe side. */
const LARGE_SHARE = 4;

/** Reads lmdb's figures of its file. They are undocumented, so a missing figure must not count as zero. */
export function pageUseOf(stats: object): PageUse {
  const { pageSize, lastPageNumber, treeDepth, treeBranchPageCount, free } = stats as FileStats;
  const use: PageUse = {
    pageBytes: pageSize,
    usedPages: lastPageNumber + 1,
    branchPages: treeBranchPageCount,
    depth: treeDepth,
    freeListPages: free.treeBranchPageCount + free.treeLeafPageCount + free.overflowPages,
  };
  if (!Object.values(use).every(Number.isSafeInteger)) throw new TypeError("lmdb says nothing of its pages");
  return use;
}

interface FileStats {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly free: {
    readonly treeBranchPageCount: number;
    readonly treeLeafPageCount: number;
    readonly overflowPages: number;
  };
}

export class PageReserve {
  readonly #path: string;
  readonly #use: () => PageUse;
  #fileBytes: number;
  #seen: PageUse;
  /** Upper bound on the bytes taken since `#seen`. */
  #takenBytes = 0;

  constructor(path: string, use: () => PageUse) {
    this.#path = path;
    this.#use = use;
    this.#seen = use();
    this.#fileBytes = statSync(path).size;
  }

  /** At least this much can be written without space from the volume. */
  get leftBytes(): number {
    return this.#fileBytes - this.#seen.usedPages * this.#seen.pageBytes - this.#takenBytes;
  }

  /** `leftBytes` at the last exact count: writes since then may have taken less than their bound. */
  get leftWhenSeenBytes(): number {
    return this.leftBytes + this.#takenBytes;
  }

  /** Upper bound in bytes for a transaction of this many rows and this many pages of large values. */
  bytesFor(rows: number, largePages: number): number {
    return (pagesFor(rows, this.#seen) + largePages) * this.#seen.pageBytes;
  }

  /** A large value has pages of its own, side by side. */
  largePagesOf(valueBytes: number): number {
    const { pageBytes } = this.#seen;
    return valueBytes > pageBytes / LARGE_SHARE ? Math.ceil(valueBytes / pageBytes) + 1 : 0;
  }

  /** Records a written transaction of at most this many bytes. */
  took(bytes: number): void {
    this.#takenBytes += bytes;
  }

  /** Counts exactly how many pages are left: reads lmdb's figures, which takes 10 µs. */
  look(): void {
    this.#seen = this.#use();
    this.#takenBytes = 0;
  }

  /** Lengthens the file until this much is left; returns false if the volume did not grant all of it. */
  async growTo(leftBytes: number): Promise<boolean> {
    if (this.leftBytes >= leftBytes) return true;
    let file: FileHandle | null = null;
    try {
      file = await open(this.#path, "r+");
      this.#fileBytes = Math.max((await file.stat()).size, this.#seen.usedPages * this.#seen.pageBytes);
      while (this.leftBytes < leftBytes) {
        const { bytesWritten } = await file.write(ZEROS, 0, GROWTH_BYTES, this.#fileBytes);
        this.#fileBytes += bytesWritten;
        if (bytesWritten < GROWTH_BYTES) return this.leftBytes >= leftBytes;
      }
      return true;
    } catch {
      // The volume is full, or gone: the present size is kept.
      return false;
    } finally {
      await file?.close().catch(() => {});
    }
  }
}
