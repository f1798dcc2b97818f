/**
 * Fills the table from the store at the start, with all secrets opened. A single row that does not open is logged, and
 * its key is unknown: one damaged key must not stop the exits of all.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { IpList } from "./ip-list.js";
import type { KeyRow } from "./key-rows.js";
import type { KeySeals } from "./key-seals.js";
import { type KeyStore, logBrokenKey } from "./key-store.js";
import { type KeyTable, LiveKey, overlapUntil } from "./key-table.js";
import { storedUse } from "./key-uses.js";

/**
 * A clock that is wrong at a start is set right within this time. Until then an overlap that is over by it is not ended in
 * the store; it would be for good.
 */
const MISTAKEN_CLOCK_MS = 10 * 60_000;

export interface KeyLoading {
  readonly store: StateStore;
  readonly rows: KeyStore;
  readonly seals: KeySeals;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Rejects where the store cannot be read, or secrets are sealed under a key that is not loaded. */
export async function loadKeys(parts: KeyLoading, table: KeyTable): Promise<void> {
  for await (const row of parts.rows.all()) {
    const ips = IpList.parse(row.ips);
    // Without its list a key would be valid from anywhere.
    if (typeof ips === "number") {
      logBrokenKey(parts.logger, row.keyId);
      continue;
    }
    const live = new LiveKey({ ...row, ips }, null);
    live.revokedAtMs = row.revokedAtMs ?? 0;
    live.lastUsedAtMs = (await storedUse(parts.store, row.keyId)) ?? 0;
    if (!live.isRevoked) openSecrets(parts, row, live);
    table.add(row.keyId, live);
  }
}

function openSecrets({ seals, clock, logger }: KeyLoading, row: KeyRow, live: LiveKey): void {
  try {
    live.present = seals.openSigning(row, "present");
    if (row.formerUntilMs === null) return;
    if (clock.wallMs() > row.formerUntilMs) {
      live.outliveFormer(clock.monoNs() + MISTAKEN_CLOCK_MS * 1e6);
      return;
    }
    // A clock set back since the rotation leaves no more than what was chosen.
    const chosenMs = row.formerUntilMs - (row.rotatedAtMs ?? row.formerUntilMs);
    const untilMs = Math.min(row.formerUntilMs, clock.wallMs() + chosenMs);
    live.keepFormer(seals.openSigning(row, "former"), overlapUntil(clock, untilMs));
  } catch (error) {
    live.wipe();
    if (!(error instanceof ServiceError) || error.code !== "SEAL_BROKEN") throw error;
    logBrokenKey(logger, row.keyId);
  }
}
