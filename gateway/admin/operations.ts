/**
 * The administrative operations over their ports. The admin socket runs them for the CLI in the service, the CLI runs
 * them itself while no service does; both go through this class, so both decide alike.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { AuditLog, AuditRow } from "../auth/audit.js";
import type { KeyAdmin } from "../auth/key-admin.js";
import { ADMIN_OPERATIONS, AdminRefusal, type AdminOperation } from "./protocol.js";
import {
  readKeyId,
  readKeyWish,
  readNextKeyFile,
  readNothing,
  readInventoryWish,
  readForce,
  readPage,
  readRefresh,
  readRestore,
  readRestoreWish,
  readRotation,
  readWalletId,
} from "./parameters.js";
import type { ReconcileAdmin } from "./reconcile-port.js";
import type { WalletActReport, WalletAdmin } from "./wallet-admin.js";

/** Who acts, in the audit rows of what is done here. */
const ADMIN = "admin";

export interface AdminStatus {
  readonly running: boolean;
  readonly version: string;
  readonly profile: string;
  readonly authMode: string;
  /** Null while no service runs. */
  readonly url: string | null;
  readonly pid: number;
  readonly startedAtMs: number | null;
  /** Id of the key-encryption key in use; no secret. Null without one. */
  readonly kekId: string | null;
  readonly tls: CertificateView | null;
}

export interface CertificateView {
  /** Upper-case hex, as clients show it. */
  readonly serial: string;
  readonly subject: string;
  readonly validFromMs: number;
  readonly validUntilMs: number;
}

/** Counts of one pass over all sealed rows (engine/custody/sealing). */
export interface SealReport {
  /** Id of the key-encryption key that seals from now on. */
  readonly kekId: string;
  /** Nothing needs the former key any more. */
  readonly isDone: boolean;
  readonly rewrappedRows: number;
  readonly leftRows: number;
  readonly foreignRows: number;
}

export interface SealRotation {
  /**
   * `nextKeyFile`: begins a rotation to the key in that file, which its owner alone may read. Null: goes on with the one
   * that a start with KEK_FORMER_* or an earlier call began. A kill leaves some rows for the next run.
   */
  rotate(nextKeyFile: string | null): Promise<SealReport>;
}

export interface TlsReload {
  /** Rejects with AdminRefusal TLS_RELOAD_FAILED where the files cannot be used; then the former certificate stays. */
  reload(): Promise<CertificateView & { readonly changed: boolean }>;
}

export interface AdminPorts {
  readonly keys: KeyAdmin;
  readonly audit: AuditLog;
  status(): AdminStatus;
  /** Null without a key-encryption key. */
  readonly sealRotation: SealRotation | null;
  /** Null where the service does not speak TLS itself, and while none runs. */
  readonly tls: TlsReload | null;
  /** Null where there are no wallets, and while no service runs. */
  readonly wallets: WalletAdmin | null;
  /** Null while no service runs. */
  readonly reconcile: ReconcileAdmin | null;
}

type Params = Readonly<Record<string, unknown>>;
type Run = (params: Params) => Promise<unknown>;

export class AdminOperations {
  readonly #ports: AdminPorts;
  readonly #logger: Logger;
  readonly #runs: Readonly<Record<AdminOperation, Run>>;

  constructor(ports: AdminPorts, logger: Logger) {
    this.#ports = ports;
    this.#logger = logger;
    this.#runs = this.#table();
  }

  /** Rejects with ServiceError or AdminRefusal. */
  async run(op: string, params: Params): Promise<unknown> {
    const known = ADMIN_OPERATIONS.find((name) => name === op);
    if (known === undefined)
      throw new AdminRefusal("UNKNOWN_OPERATION", `Unknown operation; known: ${ADMIN_OPERATIONS.join(", ")}`);
    return await this.#runs[known](params);
  }

  #table(): Readonly<Record<AdminOperation, Run>> {
    const { keys, audit, sealRotation, tls } = this.#ports;
    return {
      status: async (params) => {
        readNothing(params);
        return this.#ports.status();
      },
      "keys.create": async (params) => await keys.create(readKeyWish(params)),
      "keys.list": async (params) => {
        readNothing(params);
        return { keys: await keys.list() };
      },
      "keys.rotate": async (params) => {
        const { keyId, overlapMs } = readRotation(params);
        return await keys.rotate(keyId, overlapMs);
      },
      "keys.revoke": async (params) => await keys.revoke(readKeyId(params)),
      "audit.page": async (params) => {
        const { limit, cursor } = readPage(params);
        return await audit.page(limit, cursor);
      },
      "seal.rotate": async (params) => {
        const nextKeyFile = readNextKeyFile(params);
        if (sealRotation === null) throw notAvailable("there is no key-encryption key (KEK_FILE)");
        return await this.#audited("seal.rotate", sealRotation.rotate(nextKeyFile), ({ kekId, ...counts }) => [
          kekId,
          counts,
        ]);
      },
      "tls.reload": async (params) => {
        readNothing(params);
        if (tls === null) throw notAvailable("no running service speaks TLS itself (TLS_CERT_FILE)");
        return await this.#audited("tls.reload", tls.reload(), ({ serial, changed }) => [serial, { changed }]);
      },
      ...this.#reconcileTable(),
      ...this.#walletTable(),
    };
  }

  #reconcileTable(): Readonly<Record<Extract<AdminOperation, `reconcile.${string}`>, Run>> {
    const ledger = (): ReconcileAdmin => {
      const { reconcile } = this.#ports;
      if (reconcile === null) throw notAvailable("no service runs: chains, venues and the co-signer are asked by it");
      return reconcile;
    };
    return {
      "reconcile.begin": async (params) => {
        readNothing(params);
        return ledger().begin();
      },
      "reconcile.view": async (params) => {
        readNothing(params);
        return ledger().view();
      },
      // Its row of the audit log is in the commit that releases the store.
      "reconcile.release": async (params) => await ledger().release(readForce(params)),
    };
  }

  #walletTable(): Readonly<Record<Extract<AdminOperation, `wallets.${string}`>, Run>> {
    return {
      "wallets.list": async (params) => {
        readNothing(params);
        return { wallets: await this.#wallets().list() };
      },
      "wallets.refresh": async (params) => {
        const { walletId, afterRestore } = readRefresh(params);
        return await this.#walletAct("refresh", walletId, (wallets) => wallets.refresh(walletId, afterRestore));
      },
      "wallets.unfreeze": async (params) => {
        const walletId = readWalletId(params);
        return await this.#walletAct("unfreeze", walletId, (wallets) => wallets.unfreeze(walletId));
      },
      "wallets.inventory": async (params) => {
        const { walletId, backups } = readInventoryWish(params);
        return await this.#wallets().inventory(walletId, backups);
      },
      "wallets.restoreKey": async (params) => {
        const { walletId, backups, peer } = readRestoreWish(params);
        return await this.#wallets().beginRestore(walletId, backups, peer);
      },
      "wallets.restore": async (params) => {
        const { walletId, file } = readRestore(params);
        return await this.#walletAct("restore", walletId, (wallets) => wallets.restore(walletId, file));
      },
    };
  }

  #wallets(): WalletAdmin {
    const { wallets } = this.#ports;
    if (wallets === null) throw notAvailable("no running service has server wallets (CUSTODY_DIR)");
    return wallets;
  }

  async #walletAct(
    act: "refresh" | "unfreeze" | "restore",
    walletId: string,
    run: (wallets: WalletAdmin) => Promise<WalletActReport>,
  ): Promise<WalletActReport> {
    const done = run(this.#wallets());
    return await this.#audited(`wallet.${act}`, done, ({ epoch, state }) => [walletId, { epoch, state }], walletId);
  }

  /** Keys keep their own rows; these acts have theirs from here. A row that cannot be written takes nothing back. */
  async #audited<T>(
    what: string,
    act: Promise<T>,
    rowOf: (result: T) => readonly [subject: string, details: AuditRow["details"]],
    refusedSubject = "",
  ): Promise<T> {
    try {
      const result = await act;
      const [subject, details] = rowOf(result);
      await this.#append({ who: ADMIN, what, subject, outcome: "done", details });
      return result;
    } catch (error) {
      const isKnown = error instanceof AdminRefusal || error instanceof ServiceError;
      const code = isKnown ? error.code : "INTERNAL";
      const outcome = isKnown ? "refused" : "failed";
      await this.#append({ who: ADMIN, what, subject: refusedSubject, outcome, details: { code } });
      throw error;
    }
  }

  async #append(row: Omit<AuditRow, "atMs">): Promise<void> {
    try {
      await this.#ports.audit.append(row);
    } catch (error) {
      this.#logger.error("admin.audit_failed", {
        what: row.what,
        errorName: error instanceof Error ? error.name : "unknown",
      });
    }
  }
}

function notAvailable(why: string): AdminRefusal {
  return new AdminRefusal("NOT_AVAILABLE", `Not available: ${why}`);
}
