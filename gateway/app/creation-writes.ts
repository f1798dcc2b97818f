/** The rows of creations of wallets in the audit log, for the commits of a provider. */
import type { CreationWrites } from "../../engine/custody/provider/wallet-provider.js";
import type { AuditLedger } from "../auth/audit.js";

export function creationWritesOf(audit: Pick<AuditLedger, "auditWrites">): CreationWrites {
  return ({ who, walletId, isMade }) => {
    const row = { who, what: "wallet.create", subject: walletId };
    if (isMade) return audit.auditWrites({ ...row, outcome: "done", details: {} });
    return audit.auditWrites({ ...row, outcome: "failed", details: { code: "SIGNER_UNAVAILABLE" } });
  };
}
