/**
 * Keys, audit rows and seals over an open store: what the admin socket of the service offers, and what the CLI does
 * itself while no service runs.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import type { AdminPorts } from "../admin/operations.js";
import { AdminRefusal } from "../admin/protocol.js";
import type { AccessConfig } from "./config-access.js";

export interface Administration extends Pick<AdminPorts, "keys" | "audit" | "sealRotation"> {
  /** Id of the key-encryption key in use; null without one. */
  readonly kekId: string | null;
  /** Writes what waits and wipes keys; the store stays open. */
  close(): Promise<void>;
}

export interface AdministrationParts {
  readonly store: StateStore;
  readonly access: Pick<AccessConfig, "authMode" | "kek" | "formerKek">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type OpenAdministration = (parts: AdministrationParts) => Promise<Administration>;

/** Rejects with StartError or ServiceError where the store and the configured keys do not fit. */
export const openAdministration: OpenAdministration = async () => {
  const refuse = () => Promise.reject(new AdminRefusal("NOT_AVAILABLE", "Not available: this build has no API keys"));
  return {
    keys: { create: refuse, list: refuse, rotate: refuse, revoke: refuse },
    audit: { append: refuse, page: refuse },
    sealRotation: null,
    kekId: null,
    close: async () => {},
  };
};
