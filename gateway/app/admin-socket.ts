/** The admin socket of a running service, over its administration and its server. */
import type { Clock } from "../../engine/domain/clock.js";
import { AdminServer, AdminSocketError } from "../admin/admin-server.js";
import { AdminOperations, type AdminPorts, type TlsReload } from "../admin/operations.js";
import { AdminRefusal } from "../admin/protocol.js";
import type { ReconcileAdmin } from "../admin/reconcile-port.js";
import { socketPath } from "../admin/socket-path.js";
import type { WalletAdmin } from "../admin/wallet-admin.js";
import { StartError } from "../children/start-error.js";
import type { Administration } from "./administration.js";
import type { Config } from "./config.js";
import type { ServiceLogger } from "./log.js";
import type { Server } from "./server.js";
import { TlsRefusal } from "./tls-files.js";

export interface AdminSocketParts {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: ServiceLogger;
  readonly administration: Administration;
  readonly server: Server;
  /** Null: there are no server wallets. */
  readonly wallets: WalletAdmin | null;
  readonly reconcile: ReconcileAdmin;
}

/** Rejects with StartError. */
export async function openAdminSocket(parts: AdminSocketParts): Promise<AdminServer> {
  const { config, clock, logger } = parts;
  const place = socketPath(config.dataDir, config.adminSocket);
  if (!place.ok) throw new StartError([place.problem]);
  const operations = new AdminOperations(portsOf(parts), logger);
  const server = new AdminServer({ path: place.path, operations, clock, logger });
  try {
    await server.start();
  } catch (error) {
    throw error instanceof AdminSocketError ? new StartError([error.message]) : error;
  }
  return server;
}

function portsOf({
  config,
  version,
  clock,
  logger,
  administration,
  server,
  wallets,
  reconcile,
}: AdminSocketParts): AdminPorts {
  const { keys, audit, sealRotation } = administration;
  const startedAtMs = clock.wallMs();
  return {
    keys,
    audit,
    sealRotation,
    wallets,
    reconcile,
    tls: config.tls === null ? null : tlsReload(server, logger),
    status: () => ({
      running: true,
      version,
      profile: config.profile,
      authMode: config.authMode,
      url: server.url,
      pid: process.pid,
      startedAtMs,
      kekId: administration.kekId,
      tls: server.certificate,
    }),
  };
}

/** For the admin socket and for SIGHUP: logs either end. */
export function tlsReload(server: Pick<Server, "reloadTls">, logger: ServiceLogger): TlsReload {
  return {
    async reload() {
      try {
        const { view, changed } = await server.reloadTls();
        logger.info("tls.reloaded", { serial: view.serial, outcome: changed ? "changed" : "same" });
        return { ...view, changed };
      } catch (error) {
        if (!(error instanceof TlsRefusal)) throw error;
        logger.error("tls.reload_failed", { reason: error.reason, problem: error.message });
        const text = `The certificate before stays: ${error.message}`;
        throw new AdminRefusal("TLS_RELOAD_FAILED", text, { reason: error.reason });
      }
    },
  };
}
