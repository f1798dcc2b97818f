/** How parts of the service leave rows in the audit log. */
import type { CreationWrites } from "../../engine/custody/provider/wallet-provider.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { AuditLedger, AuditLog } from "../auth/audit.js";

/** Rows of creations of wallets, for the commits of a provider. */
export function creationWritesOf(audit: Pick<AuditLedger, "auditWrites">): CreationWrites {
  return ({ who, walletId, isMade }) => {
    const row = { who, what: "wallet.create", subject: walletId };
    if (isMade) return audit.auditWrites({ ...row, outcome: "done", details: {} });
    return audit.auditWrites({ ...row, outcome: "failed", details: { code: "SIGNER_UNAVAILABLE" } });
  };
}

/** Never rejects: what was done is done. */
export async function appendOrLog(
  audit: AuditLog,
  logger: Logger,
  row: Parameters<AuditLog["append"]>[0],
): Promise<void> {
  try {
    await audit.append(row);
  } catch (error) {
    logger.error("admin.audit_failed", {
      what: row.what,
      errorName: error instanceof Error ? error.name : "unknown",
    });
  }
}
