/**
 * Keys, audit rows and seals over an open store: what the admin socket of the service offers, and what the CLI does
 * itself while no service runs.
 *
 * Invariant: after `close` no secret of a key and no key-encryption key is in memory.
 */
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { SEALED_VENUE_KEYS } from "../../engine/custody/registration/key-row.js";
import { sealedShares } from "../../engine/custody/provider/share-row.js";
import type { SealedPlace } from "../../engine/custody/sealing/sealed-rows.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import type { AdminPorts } from "../admin/operations.js";
import { AdminRefusal } from "../admin/protocol.js";
import { continueRotation, openKeyring, rotationOf } from "../admin/seals.js";
import { ApiKeys } from "../auth/api-keys.js";
import type { AuditLedger } from "../auth/audit.js";
import { AuditStore } from "../auth/audit-store.js";
import type { KeyAdmin } from "../auth/key-admin.js";
import { SEALED_KEY_ROWS } from "../auth/key-rows.js";
import { KeyTable } from "../auth/key-table.js";
import { StoredLocalRows } from "../auth/local-rows.js";
import { systemFillRandom } from "../auth/secret-text.js";
import { type AccessConfig, forgetKek } from "./config-access.js";

export interface Administration extends Pick<AdminPorts, "keys" | "sealRotation"> {
  readonly audit: AuditLedger;
  /** Seals shares; null without a key-encryption key. */
  readonly ring: Keyring | null;
  /** Id of the key-encryption key in use; null without one. */
  readonly kekId: string | null;
  /** What requests are checked against; empty without a key-encryption key. */
  readonly table: KeyTable;
  readonly localRows: StoredLocalRows;
  /** Called with each row of a venue key that a rotation of the sealing key has written. Must not throw. */
  watchVenueKeys(rewrapped: (key: string, value: Uint8Array) => void): void;
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

type Rewrapped = (key: string, value: Uint8Array) => void;

/** Every place where sealed records lie: one that is missing here is lost with the key before. */
function sealedPlaces(venueKeyRewrapped: Rewrapped): readonly SealedPlace[] {
  return [SEALED_KEY_ROWS, sealedShares(0), { ...SEALED_VENUE_KEYS, rewrapped: venueKeyRewrapped }];
}

/** Rejects with SEAL_KEY_REFUSED where the store and the configured keys do not fit, or with STORE_UNAVAILABLE. */
export const openAdministration: OpenAdministration = async (parts) => {
  const { store, clock } = parts;
  const audit = await AuditStore.open(store, clock, systemFillRandom);
  const localRows = await StoredLocalRows.open(store);
  let watcher: Rewrapped = () => {};
  const watchVenueKeys = (next: Rewrapped): void => {
    watcher = next;
  };
  const places = sealedPlaces((key, value) => watcher(key, value));
  const sealed = { store, clock, kek: parts.access.kek, formerKek: parts.access.formerKek, places };
  // The configuration lives as long as the service, and holds no key.
  const ring = await openKeyring(sealed).finally(() => {
    forgetKek(sealed.kek);
    forgetKek(sealed.formerKek);
  });
  if (ring === null) {
    const withoutKeys = { table: new KeyTable(), ring: null, kekId: null, sealRotation: null, close: async () => {} };
    return { keys: NO_KEYS, audit, localRows, watchVenueKeys, ...withoutKeys };
  }
  try {
    const keys = await ApiKeys.open({
      ...{ store, sealer: ring, clock, logger: parts.logger, audit, localRows },
      fillRandom: systemFillRandom,
    });
    continueRotation(sealed, ring, parts.logger);
    const close = async () => {
      await keys.stop();
      ring.close();
    };
    return {
      keys,
      audit,
      localRows,
      watchVenueKeys,
      table: keys.table,
      ring,
      get kekId() {
        return ring.kekId;
      },
      sealRotation: rotationOf(sealed, ring),
      close,
    };
  } catch (error) {
    ring.close();
    throw error;
  }
};

const refuse = () =>
  Promise.reject(new AdminRefusal("NOT_AVAILABLE", "Not available: there is no key-encryption key (KEK_FILE)"));

const NO_KEYS: KeyAdmin = { create: refuse, list: refuse, rotate: refuse, revoke: refuse };
