/**
 * Room for the writes of the state store: the pages that its file still has (page-reserve.ts), and the free space of
 * the volume under it (volume.ts), which is read beside the commits, never by them.
 *
 * Invariant: no transaction begins that could need more pages than the file has; `makeRoom` decides how much of a group
 * may be written. The file grows in `makeRoom` and `growAsPlanned` only, which the caller calls while no transaction is
 * open.
 */
import { join } from "node:path";
import type { Clock, TimerHandle } from "../domain/clock.js";
import { GROWTH_BYTES, PageReserve, type PageUse } from "./page-reserve.js";
import type { Space, StateBatch, StoreStatus } from "./state-store.js";
import { readVolume, reserveBytes, spaceOf, volumeNow, type VolumeState } from "./volume.js";

const VOLUME_READ_MS = 1_000;
/** While the reserve grows, one piece is added in this time. */
const GROWTH_MS = 100;
/** The commits of one close may take half of it. */
const FULL_BYTES = 2 * GROWTH_BYTES;
/** A group grows the file itself by at most this much; beyond it, the group is made smaller. */
const GROUP_GROWTH_BYTES = 4 << 20;

export interface StoreSpaceOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Reads the state of the volume; a test passes its own. */
  readonly volume?: () => Promise<VolumeState>;
  /** Reads the engine's figures of its file. */
  readonly pageUse: () => PageUse;
  /** Whether the store takes no more writes. */
  readonly hasEnded: () => boolean;
  /** Whether no commit is under way. */
  readonly isIdle: () => boolean;
  /** Growth is planned: `growAsPlanned` is to be called before the next commit, or now where there is none. */
  readonly onGrowth: () => void;
}

export class StoreSpace {
  readonly #options: StoreSpaceOptions;
  readonly #readVolume: () => Promise<VolumeState>;
  readonly #reserve: PageReserve;
  /** Null when it could not be read; the space is then unchanged. */
  #volume: VolumeState | null = null;
  #space: Space = "AMPLE";
  /** The volume granted the last growth. */
  #grows = true;
  /** Bytes that the reserve should have after the next commit. */
  #growTo = 0;
  #timer: TimerHandle | null = null;

  constructor(options: StoreSpaceOptions) {
    const { directory, volume, pageUse } = options;
    this.#options = options;
    this.#readVolume = volume ?? (() => readVolume(directory));
    this.#reserve = new PageReserve(join(directory, "data.mdb"), pageUse);
    if (volume === undefined) this.#noteVolume(volumeNow(directory));
    this.#scheduleWatch(GROWTH_MS);
  }

  status(): Pick<StoreStatus, "space" | "freeBytes" | "reserveBytes"> {
    return {
      space: this.#isFull() ? "FULL" : this.#space,
      freeBytes: this.#volume?.freeBytes ?? null,
      reserveBytes: Math.max(0, this.#reserve.leftBytes),
    };
  }

  stop(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
  }

  get isGrowthPlanned(): boolean {
    return this.#growTo > 0;
  }

  async growAsPlanned(): Promise<void> {
    const bytes = this.#growTo;
    this.#growTo = 0;
    if (bytes > 0) this.#grows = await this.#reserve.growTo(bytes);
  }

  /**
   * Returns how many of the first `wanted` batches may be written in one transaction, and counts their pages as taken.
   * Zero means that there is no room for the first. `batchAt` is read again after each growth.
   */
  async makeRoom(wanted: number, batchAt: (index: number) => StateBatch): Promise<number> {
    let fitting = this.#fitting(wanted, batchAt);
    if (fitting.count < wanted) {
      this.#reserve.look();
      fitting = this.#fitting(wanted, batchAt);
    }
    // A group may be smaller than possible and still hold many batches.
    if (fitting.count < wanted && fitting.nextBytes < GROUP_GROWTH_BYTES) {
      this.#grows = await this.#reserve.growTo(GROUP_GROWTH_BYTES);
      fitting = this.#fitting(wanted, batchAt);
    }
    if (fitting.count === 0) {
      this.#grows = await this.#reserve.growTo(fitting.nextBytes);
      fitting = this.#fitting(1, batchAt);
    }
    if (fitting.count === 0 || this.#space === "FULL") return 0;
    this.#reserve.took(fitting.bytes);
    return fitting.count;
  }

  /** Call after each commit. Writes are counted at their most, so a few could seem to use up all that is left. */
  committed(): void {
    if (this.#reserve.leftBytes < FULL_BYTES) this.#reserve.look();
  }

  /** Counts how many of the first `wanted` batches fit the pages there are, what they take, and what one more would. */
  #fitting(
    wanted: number,
    batchAt: (index: number) => StateBatch,
  ): { readonly count: number; readonly bytes: number; readonly nextBytes: number } {
    const left = this.#reserve.leftBytes;
    const fitting = { count: 0, bytes: 0, nextBytes: 0 };
    let rows = 0;
    let largePages = 0;
    for (let index = 0; index < wanted; index++) {
      const { writes } = batchAt(index);
      rows += writes.length;
      for (const { value } of writes) if (value !== null) largePages += this.#reserve.largePagesOf(value.byteLength);
      fitting.nextBytes = this.#reserve.bytesFor(rows, largePages);
      if (fitting.nextBytes > left) return fitting;
      fitting.count++;
      fitting.bytes = fitting.nextBytes;
    }
    return fitting;
  }

  /** Whether the rest may be too little for the rows of a close, and cannot grow. */
  #isFull(): boolean {
    return !this.#grows && this.#reserve.leftWhenSeenBytes < FULL_BYTES;
  }

  #scheduleWatch(delayMs: number): void {
    this.#timer = this.#options.clock.setTimer(() => {
      void this.#watch();
    }, delayMs);
  }

  /** Runs beside the commits: reads the free space and brings the reserve one piece closer to its target. */
  async #watch(): Promise<void> {
    const { hasEnded, isIdle, onGrowth } = this.#options;
    try {
      this.#noteVolume(await this.#readVolume());
    } catch {
      this.#noteVolume(null);
    }
    if (hasEnded()) return;
    if (isIdle()) this.#reserve.look();
    const left = this.#reserve.leftBytes;
    const isShort = this.#volume !== null && left < reserveBytes(this.#volume);
    if (isShort || this.#isFull()) {
      this.#growTo = left + GROWTH_BYTES;
      onGrowth();
    }
    const hasRoom = this.#volume !== null && this.#volume.freeBytes > GROWTH_BYTES;
    this.#scheduleWatch(isShort && hasRoom ? GROWTH_MS : VOLUME_READ_MS);
  }

  #noteVolume(volume: VolumeState | null): void {
    this.#volume = volume;
    // A failed read leaves the last value: openings must not come back because of it.
    if (volume !== null) this.#space = spaceOf(volume, this.#space);
  }
}
