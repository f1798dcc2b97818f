/**
 * API keys: their administration, and the table that requests are checked against.
 *
 * Each act is one commit with its audit row, and changes the table when that is durable; a revocation changes the table
 * first, because a key that should end must not outlive a store that fails. All secrets are opened at the start, since a
 * signature is checked with the secret itself; they are wiped when a key is revoked and at the stop.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Sealer } from "../../engine/custody/sealing/sealer.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { ActQueue } from "./act-queue.js";
import type { AuditStore } from "./audit-store.js";
import type { KeyAdmin, KeyView, KeyWish, NewSecret } from "./key-admin.js";
import { KeyHousekeeping } from "./key-housekeeping.js";
import { loadKeys } from "./key-loading.js";
import { type KeyRow, viewOf } from "./key-rows.js";
import { KeySeals } from "./key-seals.js";
import { isRowChanged, KeyStore, removalOf } from "./key-store.js";
import { KeyTable, LiveKey, overlapUntil } from "./key-table.js";
import { KeyUses } from "./key-uses.js";
import { checkOverlap, checkWish } from "./key-wish.js";
import type { LocalRows } from "./local-rows.js";
import { type FillRandom, mintKeyId, mintOwnerId, mintSecret } from "./secret-text.js";
import { SigningSecret } from "./signing-secret.js";

/** Keys that are not revoked. */
export const LIVE_KEYS_MAX = 10_000;
/** Beyond it the longest revoked one is forgotten, and is unknown from then on. */
export const REVOKED_KEYS_MAX = 10_000;
const ADMIN = "admin";

export interface ApiKeysParts {
  readonly store: StateStore;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fillRandom: FillRandom;
  readonly audit: Pick<AuditStore, "auditWrites" | "append">;
  readonly localRows: LocalRows;
  /** A test passes smaller ones. */
  readonly bounds?: { readonly live: number; readonly revoked: number };
}

export class ApiKeys implements KeyAdmin {
  readonly table = new KeyTable();
  readonly #parts: ApiKeysParts;
  readonly #rows: KeyStore;
  readonly #seals: KeySeals;
  readonly #acts = new ActQueue();
  readonly #housekeeping: KeyHousekeeping;

  private constructor(parts: ApiKeysParts) {
    const { store, audit, logger, sealer, clock } = parts;
    this.#parts = parts;
    this.#rows = new KeyStore(store, audit, logger);
    this.#seals = new KeySeals(sealer);
    const uses = new KeyUses(store, this.table);
    const shared = { acts: this.#acts, rows: this.#rows, seals: this.#seals, table: this.table };
    this.#housekeeping = new KeyHousekeeping({ clock, logger, uses, ...shared });
  }

  /** Rejects where the store cannot be read, or secrets are sealed under a key that is not loaded. */
  static async open(parts: ApiKeysParts): Promise<ApiKeys> {
    const keys = new ApiKeys(parts);
    await loadKeys({ ...parts, rows: keys.#rows, seals: keys.#seals }, keys.table);
    keys.#housekeeping.start();
    return keys;
  }

  create(wish: KeyWish): Promise<NewSecret> {
    return this.#act("key.create", wish.ownerId ?? "", () => this.#create(wish));
  }

  async list(): Promise<readonly KeyView[]> {
    const views: KeyView[] = [];
    for await (const row of this.#rows.all()) views.push(this.#view(row));
    return views.sort((left, right) => left.createdAtMs - right.createdAtMs || (left.keyId < right.keyId ? -1 : 1));
  }

  rotate(keyId: string, overlapMs: number): Promise<NewSecret> {
    return this.#act("key.rotate", keyId, () => this.#rotate(keyId, overlapMs));
  }

  revoke(keyId: string): Promise<KeyView> {
    // In this turn, not after the acts before it.
    for (const fault of this.table.revoke(keyId, this.#parts.clock.wallMs()))
      this.#parts.logger.error("auth.revoke_fault", { errorName: fault instanceof Error ? fault.name : "unknown" });
    return this.#act("key.revoke", keyId, () => this.#revoke(keyId));
  }

  /** Wipes all secrets, when the acts under way have ended. No key is known afterwards. */
  async stop(): Promise<void> {
    this.#housekeeping.stop();
    await this.#acts.close();
    await this.#housekeeping.flushUses();
    this.table.wipe();
  }

  async #create(wish: KeyWish): Promise<NewSecret> {
    const { clock, fillRandom, localRows } = this.#parts;
    const { label, scopes, ips, adoptLocal, ...asked } = checkWish(wish);
    this.#requireRoom();
    const ownerId = asked.ownerId ?? mintOwnerId(fillRandom);
    const adopted = localRows.adoptedBy();
    if (adoptLocal && adopted !== null && adopted !== ownerId) throw new ServiceError("LOCAL_ROWS_ADOPTED");
    const isAdopting = adoptLocal && adopted === null;
    const facts = { keyId: mintKeyId(fillRandom), ownerId, label, scopes, ips: ips.texts(), version: 1 };
    const times = { createdAtMs: clock.wallMs(), rotatedAtMs: null, formerUntilMs: null, revokedAtMs: null };
    const secret = mintSecret(fillRandom);
    try {
      const row = this.#seals.seal({ ...facts, ...times }, secret, null);
      const details = { ownerId, scopes, ips: facts.ips, adoptLocal: isAdopting };
      const others = isAdopting ? localRows.adopt(ownerId) : [];
      await this.#rows.commit(null, row, { what: "key.create", who: ADMIN, details }, others);
      if (isAdopting) localRows.adopted(ownerId);
      const live = new LiveKey({ ...facts, ips }, new SigningSecret(secret));
      live.isPresentNew = true;
      this.table.add(facts.keyId, live);
      return { key: this.#view(row), secret: secret.toString("latin1") };
    } finally {
      secret.fill(0);
    }
  }

  async #rotate(keyId: string, overlapMs: number): Promise<NewSecret> {
    checkOverlap(overlapMs);
    const { before, row } = await this.#rows.read(keyId);
    const live = this.table.get(keyId);
    if (row.revokedAtMs !== null || live === undefined || live.isRevoked) throw new ServiceError("KEY_REVOKED");
    const nowMs = this.#parts.clock.wallMs();
    // Opened without an overlap too: what a changed row says may not be sealed again as if it were ours.
    const opened = this.#seals.open(row, "present");
    const former = overlapMs === 0 ? null : opened;
    const formerUntilMs = former === null ? null : nowMs + overlapMs;
    const overlap = formerUntilMs === null ? null : overlapUntil(this.#parts.clock, formerUntilMs);
    const secret = mintSecret(this.#parts.fillRandom);
    try {
      const facts = { ...row, rotatedAtMs: nowMs, formerUntilMs, version: row.version + 1 };
      const next = this.#seals.seal(facts, secret, former);
      const details = { overlapMs };
      await this.#rows.commit(before, next, { what: "key.rotate", who: ADMIN, details });
      // It may have been revoked while this was committed; its row is changed by the next act then.
      if (!live.isRevoked) live.rotate(new SigningSecret(secret), overlap);
      return { key: this.#view(next), secret: secret.toString("latin1") };
    } finally {
      secret.fill(0);
      opened.fill(0);
    }
  }

  async #revoke(keyId: string): Promise<KeyView> {
    const { before, row } = await this.#rows.read(keyId);
    if (row.revokedAtMs !== null) return this.#view(row);
    const revokedAtMs = this.table.get(keyId)?.revokedAtMs ?? this.#parts.clock.wallMs();
    const next: KeyRow = { ...row, revokedAtMs, formerUntilMs: null, version: row.version + 1, secrets: {} };
    const forgotten = this.#longestRevoked(keyId);
    const others = forgotten === null ? [] : removalOf(forgotten);
    await this.#rows.commit(before, next, { what: "key.revoke", who: ADMIN, details: {} }, others);
    if (forgotten !== null) this.table.delete(forgotten);
    return this.#view(next);
  }

  /** In order with all other acts. A refusal or failure has its audit row too. */
  #act<T>(what: string, subject: string, run: () => Promise<T>): Promise<T> {
    return this.#acts.run(async () => {
      try {
        return await run().catch((error: unknown) => (isRowChanged(error) ? run() : Promise.reject(error)));
      } catch (error) {
        await this.#noteRefusal(what, subject, error);
        throw error;
      }
    });
  }

  async #noteRefusal(what: string, subject: string, error: unknown): Promise<void> {
    const known = error instanceof ServiceError ? error : new ServiceError("INTERNAL");
    const outcome = known.status < 500 ? "refused" : "failed";
    try {
      await this.#parts.audit.append({ who: ADMIN, what, subject, outcome, details: { code: known.code } });
    } catch {
      // The act itself says that the store is unavailable.
      this.#parts.logger.warn("auth.audit_failed", { code: known.code });
    }
  }

  #requireRoom(): void {
    const limit = this.#parts.bounds?.live ?? LIVE_KEYS_MAX;
    let count = 0;
    for (const [, key] of this.table.entries()) if (!key.isRevoked) count++;
    if (count >= limit) throw new ServiceError("KEY_LIMIT", { limit });
  }

  /** Null while there is room for one more revoked key beside the others. */
  #longestRevoked(keyId: string): string | null {
    const revoked = [...this.table.entries()].filter(([id, key]) => key.isRevoked && id !== keyId);
    if (revoked.length < (this.#parts.bounds?.revoked ?? REVOKED_KEYS_MAX)) return null;
    revoked.sort(([, left], [, right]) => left.revokedAtMs - right.revokedAtMs);
    return revoked[0]?.[0] ?? null;
  }

  #view(row: KeyRow): KeyView {
    const live = this.table.get(row.keyId);
    const lastUsedAtMs = live === undefined || live.lastUsedAtMs === 0 ? null : live.lastUsedAtMs;
    // A revocation that is not durable yet is in force all the same.
    const revokedAtMs = live?.isRevoked ? live.revokedAtMs : row.revokedAtMs;
    return viewOf({ ...row, revokedAtMs }, lastUsedAtMs);
  }
}
