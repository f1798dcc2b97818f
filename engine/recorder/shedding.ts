/**
 * Decides which market data is not recorded for lack of room, on the volume shared with the state store or in an
 * embedded store that has reached its size. Ticks are shed first. Fills, orders and decisions never are.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { QueryBounds, RecordsStore } from "../storage/records/records-store.js";
import type { Space, StateStore } from "../storage/state-store.js";

export type Shed = "NOTHING" | "TICKS" | "MARKET";

const QUERY_MS = 10_000;
/** In tenths of the size: from here on ticks are not recorded. */
const TICKS_TENTHS = 9;
/** Merged parts are kept for some minutes more. */
const SIZE_SQL = "SELECT sum(bytes_on_disk) AS bytes FROM system.parts";
const SIZE_BOUNDS: QueryBounds = { timeoutMs: 5_000, rowsMax: 1, bytesMax: 1_024 };

export interface SheddingOptions {
  readonly store: RecordsStore;
  readonly stateStore: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Null for a server of the operator's, who manages its disk. */
  readonly storeBytesMax: number | null;
}

export class Shedding {
  readonly #options: SheddingOptions;
  #bytes: number | null = null;
  #queriedNs = Number.NEGATIVE_INFINITY;
  #isQuerying = false;
  #shed: Shed = "NOTHING";
  #isVolumeShort = false;

  constructor(options: SheddingOptions) {
    this.#options = options;
  }

  /** The state at the last `look`. */
  get now(): Shed {
    return this.#shed;
  }

  /** Whether even batches on their way to the store must not be put on the disk. */
  get isVolumeShort(): boolean {
    return this.#isVolumeShort;
  }

  /** Size of the embedded store's tables on disk; null if not known, or for a server of the operator's. */
  get storeBytes(): number | null {
    return this.#bytes;
  }

  /** Queries the size at intervals, without waiting for the reply. */
  look(): void {
    const { stateStore, logger } = this.#options;
    void this.#querySize();
    const { space } = stateStore.status();
    const shed = shedOf(space, this.#fill());
    this.#isVolumeShort = space === "LOW" || space === "FULL";
    if (shed === this.#shed) return;
    this.#shed = shed;
    logger.warn("recording_shed", { state: shed, reason: space === "AMPLE" ? "store size" : `volume ${space}` });
  }

  /** How full the store is, in tenths of its size. */
  #fill(): number {
    const { storeBytesMax } = this.#options;
    return this.#bytes === null || storeBytesMax === null ? 0 : (this.#bytes / storeBytesMax) * 10;
  }

  async #querySize(): Promise<void> {
    const { store, storeBytesMax, clock } = this.#options;
    const nowNs = clock.monoNs();
    if (storeBytesMax === null || this.#isQuerying || nowNs - this.#queriedNs < QUERY_MS * 1e6) return;
    if (store.state().state !== "on") return;
    this.#queriedNs = nowNs;
    this.#isQuerying = true;
    const answer = await store.query(SIZE_SQL, {}, SIZE_BOUNDS);
    this.#isQuerying = false;
    const bytes = answer.ok ? Number(answer.rows[0]?.["bytes"]) : Number.NaN;
    // An unknown size leaves the last one.
    if (Number.isFinite(bytes)) this.#bytes = bytes;
  }
}

function shedOf(space: Space, tenths: number): Shed {
  if (space === "LOW" || space === "FULL" || tenths >= 10) return "MARKET";
  return space === "TIGHT" || tenths >= TICKS_TENTHS ? "TICKS" : "NOTHING";
}
