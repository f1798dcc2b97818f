/**
 * Keys, audit rows and seals over an open store: what the admin socket of the service offers, and what the CLI does
 * itself while no service runs.
 *
 * Invariant: after `close` no secret of a key and no key-encryption key is in memory.
 */
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { assertNothingSealed, loadKeyring } from "../../engine/custody/sealing/load-keyring.js";
import { finishRotation, type RotationReport, startRotation } from "../../engine/custody/sealing/rotation.js";
import type { SealedPlace } from "../../engine/custody/sealing/sealed-rows.js";
import { systemSecretRandom } from "../../engine/custody/sealing/secret-bytes.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import type { AdminPorts, SealReport, SealRotation } from "../admin/operations.js";
import { AdminRefusal } from "../admin/protocol.js";
import { ApiKeys } from "../auth/api-keys.js";
import { AuditStore } from "../auth/audit-store.js";
import type { KeyAdmin } from "../auth/key-admin.js";
import { SEALED_KEY_ROWS } from "../auth/key-rows.js";
import { KeyTable } from "../auth/key-table.js";
import { StoredLocalRows } from "../auth/local-rows.js";
import { systemFillRandom } from "../auth/secret-text.js";
import { type AccessConfig, forgetKek } from "./config-access.js";

export interface Administration extends Pick<AdminPorts, "keys" | "audit" | "sealRotation"> {
  /** Id of the key-encryption key in use; null without one. */
  readonly kekId: string | null;
  /** What requests are checked against; empty without a key-encryption key. */
  readonly table: KeyTable;
  readonly localRows: StoredLocalRows;
  /** Writes what waits and wipes keys; the store stays open. */
  close(): Promise<void>;
}

export interface AdministrationParts {
  readonly store: StateStore;
  readonly access: Pick<AccessConfig, "kek" | "formerKek">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type OpenAdministration = (parts: AdministrationParts) => Promise<Administration>;

/** Every place where sealed records lie: one that is missing here is lost with the key before. */
const SEALED_PLACES: readonly SealedPlace[] = [SEALED_KEY_ROWS];

/** Rejects with SEAL_KEY_REFUSED where the store and the configured keys do not fit, or with STORE_UNAVAILABLE. */
export const openAdministration: OpenAdministration = async (parts) => {
  const { store, clock } = parts;
  const audit = await AuditStore.open(store, clock, systemFillRandom);
  const localRows = await StoredLocalRows.open(store);
  const ring = await openKeyring(parts);
  if (ring === null) {
    const withoutKeys = { table: new KeyTable(), kekId: null, sealRotation: null, close: async () => {} };
    return { keys: NO_KEYS, audit, localRows, ...withoutKeys };
  }
  try {
    const keys = await ApiKeys.open({
      ...{ store, sealer: ring, clock, logger: parts.logger, audit, localRows },
      fillRandom: systemFillRandom,
    });
    continueRotation(parts, ring);
    const close = async () => {
      await keys.stop();
      ring.close();
    };
    return {
      keys,
      audit,
      localRows,
      table: keys.table,
      kekId: ring.kekId,
      sealRotation: rotationOf(parts, ring),
      close,
    };
  } catch (error) {
    ring.close();
    throw error;
  }
};

/** Null without a configured key; then nothing may be sealed in the store. The configuration forgets its keys. */
async function openKeyring({ store, access, clock }: AdministrationParts): Promise<Keyring | null> {
  if (access.kek === null) {
    await assertNothingSealed(store, SEALED_PLACES);
    return null;
  }
  const former = access.formerKek === null ? {} : { former: access.formerKek };
  try {
    return await loadKeyring({
      ...{ store, source: access.kek, ...former, places: SEALED_PLACES, clock },
      random: systemSecretRandom,
    });
  } finally {
    forgetKek(access.kek);
    forgetKek(access.formerKek);
  }
}

/** A rotation that an earlier process began, or this start by KEK_FORMER_*, goes on beside the service. */
function continueRotation({ store, clock, logger }: AdministrationParts, ring: Keyring): void {
  if (ring.formerKekId === null) return;
  finishRotation({ store, ring, places: SEALED_PLACES, clock }).then(
    ({ isDone, rewrappedRows, leftRows }) =>
      logger.info("seal.rotation", { outcome: isDone ? "done" : "unfinished", rewrappedRows, leftRows }),
    (error: unknown) =>
      logger.error("seal.rotation_failed", { errorName: error instanceof Error ? error.name : "unknown" }),
  );
}

function rotationOf({ store, clock }: AdministrationParts, ring: Keyring): SealRotation {
  return {
    async rotate(nextKeyFile): Promise<SealReport> {
      const random = systemSecretRandom;
      if (nextKeyFile !== null)
        await startRotation({ store, ring, clock, random }, { kind: "file", path: nextKeyFile });
      const report = await finishRotation({ store, ring, places: SEALED_PLACES, clock });
      return reportOf(ring, report);
    },
  };
}

function reportOf({ kekId }: Keyring, report: RotationReport): SealReport {
  const { isDone, rewrappedRows, leftRows, foreignRows } = report;
  return { kekId, isDone, rewrappedRows, leftRows, foreignRows };
}

const refuse = () =>
  Promise.reject(new AdminRefusal("NOT_AVAILABLE", "Not available: there is no key-encryption key (KEK_FILE)"));

const NO_KEYS: KeyAdmin = { create: refuse, list: refuse, rotate: refuse, revoke: refuse };
