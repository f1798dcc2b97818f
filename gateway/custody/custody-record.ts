/**
 * What a signing party tells its operator: rows of the audit log for what was done, refused or frozen, lines of the log
 * for what he should look at. What a caller or an operator of this party asked for is a line alone: the row is that of
 * the act, which says who asked. No check, no field of the protocol and no secret is in an event.
 */
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import type { CustodyEvent, CustodyEvents } from "../../engine/custody/provider/custody-events.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { AuditLog, AuditRow } from "../auth/audit.js";
import { PARTY_NAMES } from "./party-names.js";

export interface CustodyRecordParts {
  readonly audit: Pick<AuditLog, "append">;
  readonly logger: Logger;
}

export class CustodyRecord implements CustodyEvents {
  readonly #parts: CustodyRecordParts;

  constructor(parts: CustodyRecordParts) {
    this.#parts = parts;
  }

  emit(party: Party, event: CustodyEvent): void {
    const { logger } = this.#parts;
    const who = PARTY_NAMES[party];
    switch (event.kind) {
      case "violation":
        logger.warn("custody.violation", { part: who });
        return;
      case "alert":
        logger.error("custody.alert", { part: who, what: event.alert });
        return;
      case "refused":
        if (event.isAsked) logger.info("custody.refused", { part: who, what: event.code });
        else this.#act(rowOf(who, event), false);
        return;
      case "frozen":
        this.#act(rowOf(who, event), false);
        return;
      default:
        this.#act(rowOf(who, event), event.isAsked);
    }
  }

  #act(row: Omit<AuditRow, "atMs">, isAsked: boolean): void {
    const { audit, logger } = this.#parts;
    logger.info("custody.act", { what: row.what, outcome: row.outcome });
    if (isAsked) return;
    audit.append(row).catch((error: unknown) =>
      logger.error("admin.audit_failed", {
        what: row.what,
        errorName: error instanceof Error ? error.name : "unknown",
      }),
    );
  }
}

function rowOf(who: string, event: Exclude<CustodyEvent, { kind: "violation" | "alert" }>): Omit<AuditRow, "atMs"> {
  const row = { who, what: `wallet.${event.kind}`, subject: event.walletId, outcome: "done" as const };
  switch (event.kind) {
    case "created":
      return { ...row, details: {} };
    case "refreshed":
      return { ...row, details: { epoch: event.epoch, ...(event.mode === null ? {} : { mode: event.mode }) } };
    case "restored":
      return { ...row, details: { epoch: event.epoch } };
    case "frozen":
      return { ...row, details: event.by === "cheat" ? { class: "cheat" } : { by: "peer" } };
    case "refused":
      return { ...row, outcome: "refused", details: { code: event.code, rule: event.rule } };
  }
}
