/** Doubles of the ports of the administration: keys and audit rows in memory. */
import type { AuditLedger, AuditPage, AuditRow } from "../../auth/audit.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { KeyAdmin, KeyView, KeyWish, NewSecret } from "../../auth/key-admin.js";
import type { AdminPorts } from "../operations.js";

export class MemoryKeys implements KeyAdmin {
  readonly keys: KeyView[] = [];
  readonly wishes: KeyWish[] = [];

  async create(wish: KeyWish): Promise<NewSecret> {
    this.wishes.push(wish);
    const keyId = `pk_${this.keys.length + 1}`;
    const key: KeyView = {
      keyId,
      ownerId: wish.ownerId ?? `owner-${keyId}`,
      label: wish.label,
      scopes: wish.scopes,
      ips: wish.ips,
      createdAtMs: 1_790_000_000_000,
      rotatedAtMs: null,
      formerSecretUntilMs: null,
      revokedAtMs: null,
      lastUsedAtMs: null,
    };
    this.keys.push(key);
    return { key, secret: `sk_of_${keyId}` };
  }

  async list(): Promise<readonly KeyView[]> {
    return this.keys;
  }

  async rotate(keyId: string, overlapMs: number): Promise<NewSecret> {
    const key = { ...this.#of(keyId), rotatedAtMs: 1, formerSecretUntilMs: 1 + overlapMs };
    return { key, secret: `sk_again_of_${keyId}` };
  }

  async revoke(keyId: string): Promise<KeyView> {
    return { ...this.#of(keyId), revokedAtMs: 2 };
  }

  #of(keyId: string): KeyView {
    const key = this.keys.find((one) => one.keyId === keyId);
    if (key === undefined) throw new ServiceError("NOT_FOUND", { keyId });
    return key;
  }
}

export class MemoryAudit implements AuditLedger {
  readonly rows: Omit<AuditRow, "atMs">[] = [];

  async append(row: Omit<AuditRow, "atMs">): Promise<void> {
    this.rows.push(row);
  }

  auditWrites(row: Omit<AuditRow, "atMs">): readonly [] {
    this.rows.push(row);
    return [];
  }

  async page(limit: number, cursor: string | null): Promise<AuditPage> {
    const start = cursor === null ? 0 : Number(cursor);
    const newest = this.rows.toReversed();
    const rows = newest
      .slice(start, start + limit)
      .map((row, index) => ({ ...row, atMs: 1_790_000_000_000, id: String(start + index) }));
    return { rows, nextCursor: start + limit < newest.length ? String(start + limit) : null };
  }
}

export function memoryPorts(changes: Partial<AdminPorts> = {}) {
  const keys = new MemoryKeys();
  const audit = new MemoryAudit();
  const ports: AdminPorts = {
    keys,
    audit,
    wallets: null,
    reconcile: null,
    status: () => ({
      running: true,
      version: "0.1.0",
      profile: "serve",
      authMode: "signed",
      url: "http://127.0.0.1:8080",
      pid: 1,
      startedAtMs: 1_790_000_000_000,
      kekId: null,
      tls: null,
    }),
    sealRotation: null,
    tls: null,
    ...changes,
  };
  return { keys, audit, ports };
}
