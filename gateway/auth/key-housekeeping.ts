/**
 * Once a minute: ends former secrets whose overlap is over by the monotonic clock, in memory and in the store, so that a
 * clock set back does not bring one back after a restart; and stores when keys were last used.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { ActQueue } from "./act-queue.js";
import type { KeySeals } from "./key-seals.js";
import type { KeyStore } from "./key-store.js";
import type { KeyTable } from "./key-table.js";
import type { KeyUses } from "./key-uses.js";

const HOUSEKEEPING_MS = 60_000;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly acts: ActQueue;
  readonly rows: KeyStore;
  readonly seals: KeySeals;
  readonly table: KeyTable;
  readonly uses: KeyUses;
}

export class KeyHousekeeping {
  readonly #parts: HousekeepingParts;
  #timer: TimerHandle | null = null;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = this.#parts.clock.setTimer(() => {
      void this.#run();
    }, HOUSEKEEPING_MS);
  }

  stop(): void {
    if (this.#timer !== null) this.#parts.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  /** Never rejects; what fails is tried again in a minute. */
  async flushUses(): Promise<void> {
    await this.#parts.uses.flush().catch(() => this.#parts.logger.warn("auth.uses_failed"));
  }

  async #run(): Promise<void> {
    const { table, acts, logger, clock } = this.#parts;
    for (const [keyId, key] of table.entries()) {
      // A clock set forward by mistake ends no secret for good.
      if (!key.isFormerOver(clock.monoNs())) continue;
      // Its time refuses it already.
      await acts.run(() => this.#endFormer(keyId)).catch(() => logger.warn("auth.former_end_failed", { keyId }));
    }
    await this.flushUses();
    if (this.#timer !== null) this.start();
  }

  async #endFormer(keyId: string): Promise<void> {
    const { rows, seals, table, clock } = this.#parts;
    const { before, row } = await rows.read(keyId);
    // It may have been rotated again, or revoked, while this waited for its turn.
    if (row.formerUntilMs === null || table.get(keyId)?.isFormerOver(clock.monoNs()) !== true) return;
    const present = seals.open(row, "present");
    try {
      const next = seals.seal({ ...row, formerUntilMs: null, version: row.version + 1 }, present, null);
      await rows.commit(before, next, { what: "key.former-end", who: "service", details: {} });
    } finally {
      present.fill(0);
    }
    table.get(keyId)?.dropFormer();
  }
}
