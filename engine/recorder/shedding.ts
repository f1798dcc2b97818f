/**
 * What of the market data is not recorded for want of room: on the volume that the state store shares, or in an
 * embedded store that has reached its size. Ticks give way first. Fills, orders and decisions never do.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { QueryBounds, RecordsStore } from "../storage/records/records-store.js";
import type { Space, StateStore } from "../storage/state-store.js";

export type Shed = "NOTHING" | "TICKS" | "MARKET";

const ASK_MS = 10_000;
/** Of the size, in tenths: from here on without ticks. */
const TICKS_TENTHS = 9;
/** Parts that were merged away are there for minutes more. */
const SIZE_SQL = "SELECT sum(bytes_on_disk) AS bytes FROM system.parts";
const SIZE_BOUNDS: QueryBounds = { timeoutMs: 5_000, rowsMax: 1, bytesMax: 1_024 };

export interface SheddingOptions {
  readonly store: RecordsStore;
  readonly stateStore: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Null when the store is another's, who looks after its disk. */
  readonly storeBytesMax: number | null;
}

export class Shedding {
  readonly #options: SheddingOptions;
  #bytes: number | null = null;
  #askedNs = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #shed: Shed = "NOTHING";
  #isVolumeShort = false;

  constructor(options: SheddingOptions) {
    this.#options = options;
  }

  /** As it was at the last `look`. */
  get now(): Shed {
    return this.#shed;
  }

  /** Not even batches on their way to the store may lie on the disk. */
  get isVolumeShort(): boolean {
    return this.#isVolumeShort;
  }

  /** Of the embedded store's tables on disk; null: not known, or another's store. */
  get storeBytes(): number | null {
    return this.#bytes;
  }

  /** Asks for the size now and then, without waiting for the answer. */
  look(): void {
    const { stateStore, logger } = this.#options;
    void this.#ask();
    const { space } = stateStore.status();
    const shed = shedOf(space, this.#fill());
    this.#isVolumeShort = space === "LOW" || space === "FULL";
    if (shed === this.#shed) return;
    this.#shed = shed;
    logger.warn("recording_shed", { state: shed, reason: space === "AMPLE" ? "store size" : `volume ${space}` });
  }

  /** Of the store's size in tenths. */
  #fill(): number {
    const { storeBytesMax } = this.#options;
    return this.#bytes === null || storeBytesMax === null ? 0 : (this.#bytes / storeBytesMax) * 10;
  }

  async #ask(): Promise<void> {
    const { store, storeBytesMax, clock } = this.#options;
    const nowNs = clock.monoNs();
    if (storeBytesMax === null || this.#isAsking || nowNs - this.#askedNs < ASK_MS * 1e6) return;
    if (store.state().state !== "on") return;
    this.#askedNs = nowNs;
    this.#isAsking = true;
    const answer = await store.query(SIZE_SQL, {}, SIZE_BOUNDS);
    this.#isAsking = false;
    const bytes = answer.ok ? Number(answer.rows[0]?.["bytes"]) : Number.NaN;
    // Unknown is as it was.
    if (Number.isFinite(bytes)) this.#bytes = bytes;
  }
}

function shedOf(space: Space, tenths: number): Shed {
  if (space === "LOW" || space === "FULL" || tenths >= 10) return "MARKET";
  return space === "TIGHT" || tenths >= TICKS_TENTHS ? "TICKS" : "NOTHING";
}
