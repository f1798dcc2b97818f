/**
 * The keyring of a store and its rotation, for every process that seals: the service with its keys and shares, the
 * co-signer with its shares.
 */
import type { KekSource } from "../../engine/custody/sealing/kek.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { assertNothingSealed, loadKeyring } from "../../engine/custody/sealing/load-keyring.js";
import { finishRotation, type RotationReport, startRotation } from "../../engine/custody/sealing/rotation.js";
import type { SealedPlace } from "../../engine/custody/sealing/sealed-rows.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import type { SealReport, SealRotation } from "./operations.js";

export interface SealParts {
  readonly store: StateStore;
  /** Null: nothing may be sealed here. */
  readonly kek: KekSource | null;
  readonly formerKek: KekSource | null;
  /** Every place of the store where sealed records lie: one that is missing here is lost with the key before. */
  readonly places: readonly SealedPlace[];
  readonly clock: Clock;
}

/** Null without a key. Rejects with SEAL_KEY_REFUSED where the store and the keys do not fit. */
export async function openKeyring(parts: SealParts): Promise<Keyring | null> {
  const { store, kek, formerKek, places, clock } = parts;
  if (kek === null) {
    await assertNothingSealed(store, places);
    return null;
  }
  const former = formerKek === null ? {} : { former: formerKek };
  return await loadKeyring({ ...{ store, source: kek, ...former, places, clock }, random: systemSecretRandom });
}

/** A rotation that an earlier process began, or this start by a former key, goes on beside the service. */
export function continueRotation(parts: SealParts, ring: Keyring, logger: Logger): void {
  if (ring.formerKekId === null) return;
  const { store, places, clock } = parts;
  finishRotation({ store, ring, places, clock }).then(
    ({ isDone, rewrappedRows, leftRows }) =>
      logger.info("seal.rotation", { outcome: isDone ? "done" : "unfinished", rewrappedRows, leftRows }),
    (error: unknown) =>
      logger.error("seal.rotation_failed", { errorName: error instanceof Error ? error.name : "unknown" }),
  );
}

export function rotationOf({ store, places, clock }: SealParts, ring: Keyring): SealRotation {
  return {
    async rotate(nextKeyFile): Promise<SealReport> {
      const random = systemSecretRandom;
      if (nextKeyFile !== null)
        await startRotation({ store, ring, clock, random }, { kind: "file", path: nextKeyFile });
      return reportOf(ring, await finishRotation({ store, ring, places, clock }));
    },
  };
}

function reportOf({ kekId }: Keyring, report: RotationReport): SealReport {
  const { isDone, rewrappedRows, leftRows, foreignRows } = report;
  return { kekId, isDone, rewrappedRows, leftRows, foreignRows };
}
