/**
 * Pages that the state file has and its engine does not use yet: room for the writes to come, which nobody else on the
 * volume can take.
 *
 * lmdb takes pages that it freed before, or the next ones after the last it used; it asks the volume for more only
 * where the file ends. With the file ahead of it, a transaction needs nothing of a volume that is full. (Volumes that
 * copy what is overwritten need space all the same: volume.ts.)
 *
 * Invariant: the file grows only while no transaction is open, which the caller sees to: zeros written beside one could
 * meet its pages.
 */
import { statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Written at once: a fraction of a millisecond of whoever waits, and of the flush that follows. */
export const GROWTH_BYTES = 256 << 10;
const ZEROS = Buffer.alloc(GROWTH_BYTES);

/** What lmdb knows of its file; see `pagesFor`. */
export interface PageUse {
  readonly pageBytes: number;
  /** Pages of the file that were ever used. */
  readonly usedPages: number;
  readonly branchPages: number;
  readonly depth: number;
  /** Of the list of free pages. */
  readonly freeListPages: number;
}

/**
 * Most new pages that a transaction of so many rows can take, beside those of large values. Each row touches a leaf,
 * may split it, and may split what is above; what else is copied of the path to it there is once only.
 */
export function pagesFor(rows: number, { branchPages, depth, freeListPages }: PageUse): number {
  return 3 * rows + Math.min(rows * depth, branchPages) + 2 * freeListPages + FIXED_PAGES;
}

/** Root, lists and the like. */
const FIXED_PAGES = 32;
/** lmdb puts a value apart from half a page on; earlier is on the safe side. */
const LARGE_SHARE = 4;

/** Of what lmdb says of its file: undocumented, so that a figure that is missing must not pass for none. */
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
  /** At most, since `#seen`. */
  #takenBytes = 0;

  constructor(path: string, use: () => PageUse) {
    this.#path = path;
    this.#use = use;
    this.#seen = use();
    this.#fileBytes = statSync(path).size;
  }

  /** At least so much can be written without asking the volume. */
  get leftBytes(): number {
    return this.#fileBytes - this.#seen.usedPages * this.#seen.pageBytes - this.#takenBytes;
  }

  /** As `leftBytes`, when it was last looked at: what was written since may have taken less than it could. */
  get leftWhenSeenBytes(): number {
    return this.leftBytes + this.#takenBytes;
  }

  /** At most what a transaction takes, in bytes: of so many rows, and so many pages of large values. */
  bytesFor(rows: number, largePages: number): number {
    return (pagesFor(rows, this.#seen) + largePages) * this.#seen.pageBytes;
  }

  /** A large value has pages of its own, which lie side by side. */
  largePagesOf(valueBytes: number): number {
    const { pageBytes } = this.#seen;
    return valueBytes > pageBytes / LARGE_SHARE ? Math.ceil(valueBytes / pageBytes) + 1 : 0;
  }

  /** A transaction of at most so many bytes was written. */
  took(bytes: number): void {
    this.#takenBytes += bytes;
  }

  /** What is left, to the page: asks lmdb, which takes 10 µs. */
  look(): void {
    this.#seen = this.#use();
    this.#takenBytes = 0;
  }

  /** Lengthens the file until so much is left; false: the volume did not give it all. */
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
      // Full, or taken away: what there is stays.
      return false;
    } finally {
      await file?.close().catch(() => {});
    }
  }
}
