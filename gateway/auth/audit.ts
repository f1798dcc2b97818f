/**
 * The append-only record of administrative acts, refused policies and signings: who, what, when, outcome. No secret.
 */
import type { StateWrite } from "../../engine/storage/state-store.js";

export interface AuditRow {
  readonly atMs: number;
  /** `admin` (the admin socket), a key id, `local` (a caller without a key), or `service`. */
  readonly who: string;
  /** Fixed word such as `key.create`. */
  readonly what: string;
  /** What it was done to: a key id, an owner; "" for nothing. */
  readonly subject: string;
  /** `pending`: none of them yet; somebody outside decides, or has not said. */
  readonly outcome: "done" | "refused" | "failed" | "pending";
  /** Short plain fields; never a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

export interface AuditPage {
  readonly rows: readonly (AuditRow & { readonly id: string })[];
  readonly nextCursor: string | null;
}

/** Over the store that other rows are in, too. */
export interface AuditLedger extends AuditLog {
  /** The writes that make the row durable: commit them with what the row tells of. */
  auditWrites(row: Omit<AuditRow, "atMs">): readonly StateWrite[];
}

export interface AuditLog {
  /** Durable when it resolves. Rows are never changed or removed. */
  append(row: Omit<AuditRow, "atMs">): Promise<void>;
  /** Newest first. */
  page(limit: number, cursor: string | null): Promise<AuditPage>;
}
